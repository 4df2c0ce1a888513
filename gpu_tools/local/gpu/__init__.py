"""Pairwise alignment on GPUs."""
