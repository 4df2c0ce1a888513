"""Benchmarks of sites."""
