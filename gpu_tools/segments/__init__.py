"""Segments and submatrices of maximum sum."""

import gpu_tools.hardware.compile_cache  # noqa: F401  (compiled functions on disk: one process at a time)
from gpu_tools.segments.api import dot_plot, max_segment, max_segments, max_submatrix

__all__ = ["dot_plot", "max_segment", "max_segments", "max_submatrix"]
