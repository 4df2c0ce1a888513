"""Words, hits and chains on a CPU."""
