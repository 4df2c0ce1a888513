"""The machine: which device does the work, one job a GPU, compiled code kept on disk, prefetch."""
