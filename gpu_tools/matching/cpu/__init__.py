"""Pattern matching on a CPU."""
