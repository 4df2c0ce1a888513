"""Benchmarks of segments."""
