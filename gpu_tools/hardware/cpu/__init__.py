"""Vectors of a CPU, and sweeps of several threads that follow each other."""
