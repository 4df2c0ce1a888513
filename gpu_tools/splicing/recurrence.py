"""The recurrence of spliced alignment, written once and compiled for CPU and GPU.

Cells hold S'(i, j) = S(i, j) - gap * j, the score less the cost of putting all target symbols so
far into gaps. Then a step to the left is free, and a cell is the maximum of three numbers:
S'(i-1, j-1) + w - gap, S'(i-1, j) + gap and S'(i, j-1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Sweep(NamedTuple):
    """What a sweep leaves behind, as S', by strips of the target; see `splicing.rows`.

    `ends` is the best over the exons with that end, shape (strips, D, columns); `entries` holds the
    row from which each track starts, shape (strips, T, columns).
    """

    ends: NDArray
    entries: NDArray


def cell(diagonal, up, left, lifted_score, gap):
    """Return S'(i, j)."""
    return max(max(diagonal + lifted_score, up + gap), left)


def empty_chain(column, gap, free_ends):
    """Return S' of the empty chain at a column, the value from which a first exon starts.

    With free target ends the symbols before the first exon cost nothing (or gain, if gaps score
    above 0); with global ends they are all gaps, which S' counts as 0.
    """
    return max(-gap * column, 0) if free_ends else 0


def clipped_chain(column, gap, free_ends, cost):
    """Return `empty_chain` if leaving the symbols before the first exon out has a cost."""
    return max(-gap * column - cost, 0) if free_ends else 0


def empty_row(columns: NDArray[np.int64], gap: int, free_ends: bool) -> NDArray[np.int64]:
    """Return `empty_chain` of several columns."""
    return np.maximum(-gap * columns, 0) if free_ends else np.zeros_like(columns)
