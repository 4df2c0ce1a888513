"""A gene set from a genome and the proteins or cDNAs of related genes."""

import gpu_tools.hardware.compile_cache  # noqa: F401  (compiled functions on disk: one process at a time)
