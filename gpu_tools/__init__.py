"""Exact sequence algorithms on a GPU, or without one, with the same answer."""

from gpu_tools.errors import DeviceError, GpuToolsError, InputError, OutputError, ScoringError
from gpu_tools.exons import ExonSet
from gpu_tools.results import Segment, Segments, SplicedAlignment, Submatrix
from gpu_tools.scoring import SplicedScoring
from gpu_tools.segments import max_segment, max_segments, max_submatrix
from gpu_tools.sequences import Sequence
from gpu_tools.sites import SiteCase, load_sites, site_align, tables_of
from gpu_tools.spliced import Case, spliced_align

__all__ = [
    "Case",
    "DeviceError",
    "ExonSet",
    "GpuToolsError",
    "InputError",
    "OutputError",
    "ScoringError",
    "Segment",
    "Segments",
    "Sequence",
    "SiteCase",
    "SplicedAlignment",
    "SplicedScoring",
    "Submatrix",
    "load_sites",
    "max_segment",
    "max_segments",
    "max_submatrix",
    "site_align",
    "spliced_align",
    "tables_of",
]
