"""Exact sequence algorithms on a GPU, or without one, with the same answer."""

from gpu_tools.errors import DeviceError, GpuToolsError, InputError, OutputError, ScoringError
from gpu_tools.exons import ExonSet
from gpu_tools.local import global_align, local_align
from gpu_tools.results import PairwiseAlignment, SplicedAlignment
from gpu_tools.scoring import AffineScoring, SplicedScoring, SubstitutionMatrix
from gpu_tools.sequences import ProteinSequence, Sequence
from gpu_tools.spliced import Case, spliced_align

__all__ = [
    "AffineScoring",
    "Case",
    "DeviceError",
    "ExonSet",
    "GpuToolsError",
    "InputError",
    "OutputError",
    "PairwiseAlignment",
    "ProteinSequence",
    "ScoringError",
    "Sequence",
    "SplicedAlignment",
    "SplicedScoring",
    "SubstitutionMatrix",
    "global_align",
    "local_align",
    "spliced_align",
]
