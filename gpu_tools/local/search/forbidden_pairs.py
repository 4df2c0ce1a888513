"""Pairs of symbols that earlier alignments use, and that no later one may use."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.results import CigarOperation

_BEHIND = 2**31 - 1
"""A row and a column behind all others."""
_COLUMN_BITS = 31


class ForbiddenPairs:
    """Aligned pairs that no further alignment may use: `pairs`, sorted by row, then column.

    These rows and columns begin with a pair before all others and end with a pair behind all
    others, so that loops need not check for the end.
    """

    def __init__(self):
        self.pairs = tuple(np.array([-1, _BEHIND], dtype=np.int64) for _ in range(2))

    def add(self, start: tuple[int, int], cigar: Iterable[CigarOperation]) -> None:
        """Forbid the pairs of an alignment that begins at `start`."""
        both = self.pairs, aligned_pairs(start, cigar)
        keys = [rows << _COLUMN_BITS | columns for rows, columns in both]
        merged = np.sort(np.concatenate(keys), kind="stable")  # both parts are sorted
        self.pairs = merged >> _COLUMN_BITS, merged & _BEHIND


def aligned_pairs(
    start: tuple[int, int], cigar: Iterable[CigarOperation]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns of the pairs of an alignment that begins at `start`."""
    operations, lengths = zip(*cigar, strict=True)
    letters = np.repeat(np.frombuffer("".join(operations).encode(), dtype=np.uint8), lengths)
    in_query, in_subject = letters != ord("D"), letters != ord("I")
    rows = start[0] + np.cumsum(in_query) - 1
    columns = start[1] + np.cumsum(in_subject) - 1
    paired = in_query & in_subject
    return rows[paired], columns[paired]
