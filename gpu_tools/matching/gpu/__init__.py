"""Pattern matching on GPUs."""
