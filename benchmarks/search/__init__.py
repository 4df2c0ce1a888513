"""Benchmarks of the search for windows."""
