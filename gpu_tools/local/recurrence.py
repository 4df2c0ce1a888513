"""The recurrence of pairwise alignment with affine gaps, compiled for CPU and GPU.

A cell (i, j) has three values: the best score of alignments that end there, of those that end in
a gap of the query (a subject symbol alone, D), and of those that end in a gap of the subject (a
query symbol alone, I).
"""

from __future__ import annotations

NEVER = -(2**30)
"""Stands for minus infinity; a gap's penalties can be taken off it once and again."""


def extended(best, gap, gap_open, gap_extend):
    """Return the best score that ends in a gap one symbol further on.

    Parameters
    ----------
    best, gap : int
        Of the neighbour: its best score, and that of ending in a gap in the same direction.
    gap_open, gap_extend : int
        Penalties.
    """
    return max(best - gap_open, gap - gap_extend)
