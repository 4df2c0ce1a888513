"""Words and chains on a CPU."""
