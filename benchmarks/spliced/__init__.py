"""Benchmarks of spliced."""
