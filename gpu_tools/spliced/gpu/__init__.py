"""List mode on GPUs."""
