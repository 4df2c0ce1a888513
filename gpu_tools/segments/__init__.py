"""Segments and submatrices of maximum sum."""

from gpu_tools.segments.api import max_segment, max_segments, max_submatrix
from gpu_tools.segments.dot_plot import dot_plot

__all__ = ["dot_plot", "max_segment", "max_segments", "max_submatrix"]
