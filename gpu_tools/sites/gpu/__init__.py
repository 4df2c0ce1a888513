"""Site mode on GPUs."""
