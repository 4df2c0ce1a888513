"""Exact local alignment, the k best, and global alignment, with affine gaps, in linear space."""

from gpu_tools.local.api import global_align, local_align

__all__ = ["global_align", "local_align"]
