"""Segments and submatrices on GPUs."""
