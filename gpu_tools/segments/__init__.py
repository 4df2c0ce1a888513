"""Segments and submatrices of maximum sum."""

from gpu_tools.segments.api import (
    dot_plot,
    max_segment,
    max_segments,
    max_submatrices,
    max_submatrix,
)

__all__ = ["dot_plot", "max_segment", "max_segments", "max_submatrices", "max_submatrix"]
