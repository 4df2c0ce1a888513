"""Exact local alignment, the k best, and global alignment, with affine gaps, in linear space."""

import gpu_tools.hardware.compile_cache  # noqa: F401  (one process at a time writes the cache)
from gpu_tools.local.api import global_align, local_align

__all__ = ["global_align", "local_align"]
