"""Exact spliced alignment of a target to chains of candidate exons."""

from gpu_tools.spliced.api import spliced_align, spliced_align_many, spliced_scores
from gpu_tools.spliced.case import Case, CaseColumns, case_columns

__all__ = [
    "Case",
    "CaseColumns",
    "case_columns",
    "spliced_align",
    "spliced_align_many",
    "spliced_scores",
]
