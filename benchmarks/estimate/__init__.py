"""Benchmarks of the time model."""
