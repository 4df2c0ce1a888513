"""Segments and submatrices of maximum sum."""

from gpu_tools.segments.api import max_segment, max_segments, max_submatrix

__all__ = ["max_segment", "max_segments", "max_submatrix"]
