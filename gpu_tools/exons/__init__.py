"""Candidate exons: sets of them, their prediction and accuracy."""

from gpu_tools.exons.candidates import ExonSet

__all__ = ["ExonSet"]
