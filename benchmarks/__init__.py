"""Benchmarks: each compares with a peer or a baseline in one run."""
