"""Benchmarks of matching."""
