"""Approximate and exact matching of many patterns in texts of any size."""

from gpu_tools.matching.api import match_approximate, match_exact, scan_approximate, scan_exact
from gpu_tools.matching.index import Pattern, PatternSet
from gpu_tools.model.alphabets import ALPHABETS, Alphabet

__all__ = [
    "ALPHABETS",
    "Alphabet",
    "Pattern",
    "PatternSet",
    "match_approximate",
    "match_exact",
    "scan_approximate",
    "scan_exact",
]
