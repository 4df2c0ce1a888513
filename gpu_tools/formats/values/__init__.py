"""Numbers: arrays, matrices, scales and tracks."""
