"""Site mode on a CPU."""
