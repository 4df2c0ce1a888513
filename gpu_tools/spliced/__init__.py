"""Exact spliced alignment of a target to chains of candidate exons."""

from gpu_tools.spliced.api import spliced_align
from gpu_tools.spliced.case import Case

__all__ = ["Case", "spliced_align"]
