"""Exact sequence algorithms on a GPU, or without one, with the same answer."""

from gpu_tools.errors import DeviceError, GpuToolsError, InputError, OutputError, ScoringError
from gpu_tools.exons import ExonSet
from gpu_tools.matching import (
    Pattern,
    PatternSet,
    match_approximate,
    match_exact,
    scan_approximate,
    scan_exact,
)
from gpu_tools.results import (
    ApproximateMatch,
    ExactMatches,
    Segment,
    Segments,
    SplicedAlignment,
    Submatrix,
)
from gpu_tools.scoring import EditCosts, SplicedScoring
from gpu_tools.segments import max_segment, max_segments, max_submatrix
from gpu_tools.sequences import Sequence, SequenceChunk
from gpu_tools.spliced import Case, spliced_align

__all__ = [
    "ApproximateMatch",
    "Case",
    "DeviceError",
    "EditCosts",
    "ExactMatches",
    "ExonSet",
    "GpuToolsError",
    "InputError",
    "OutputError",
    "Pattern",
    "PatternSet",
    "ScoringError",
    "Segment",
    "Segments",
    "Sequence",
    "SequenceChunk",
    "SplicedAlignment",
    "SplicedScoring",
    "Submatrix",
    "match_approximate",
    "match_exact",
    "max_segment",
    "max_segments",
    "max_submatrix",
    "scan_approximate",
    "scan_exact",
    "spliced_align",
]
