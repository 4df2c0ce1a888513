"""List mode on a CPU."""
