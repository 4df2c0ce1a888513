"""Pairwise alignment on a CPU."""
