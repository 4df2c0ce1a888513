"""Site mode for proteins on GPUs."""
