"""Programs for a machine with a real GPU, not for pytest: its faults, and compute-sanitizer."""
