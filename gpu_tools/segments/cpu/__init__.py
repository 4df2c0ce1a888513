"""Segments and submatrices on a CPU."""
