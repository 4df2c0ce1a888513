"""List mode for proteins on a CPU."""
