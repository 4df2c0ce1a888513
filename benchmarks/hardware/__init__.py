"""Benchmarks of what all tools share: code that is compiled once a machine."""
