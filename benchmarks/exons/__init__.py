"""Benchmarks of exons."""
