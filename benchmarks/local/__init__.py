"""Benchmarks of local."""
