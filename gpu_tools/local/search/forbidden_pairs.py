"""Pairs of symbols that earlier alignments use, and that no later one may use."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.model.results import CigarOperation

_BEHIND = 2**31 - 1
"""A row and a column behind all others."""


class ForbiddenPairs:
    """Aligned pairs that no further alignment may use."""

    def __init__(self):
        self._rows, self._columns = (np.array([-1, _BEHIND], dtype=np.int64) for _ in range(2))
        self._count = 2

    @property
    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows and columns, sorted by row, then column; valid until pairs are added.

        They begin with a pair before all others and end with a pair behind all others, so that
        loops need not check for the end.
        """
        return self._rows[: self._count], self._columns[: self._count]

    def add(self, start: tuple[int, int], cigar: Iterable[CigarOperation]) -> None:
        """Forbid the pairs of an alignment that begins at `start`."""
        rows, columns = aligned_pairs(start, cigar)
        if self._count + len(rows) > len(self._rows):
            self._grow(2 * (self._count + len(rows)))
        _insert(self._rows, self._columns, self._count, rows, columns)
        self._count += len(rows)

    def _grow(self, size: int) -> None:
        """Make space for so many pairs: doubled, so that many alignments cost few copies."""
        for name in ("_rows", "_columns"):
            larger = np.empty(size, dtype=np.int64)
            larger[: self._count] = getattr(self, name)[: self._count]
            setattr(self, name, larger)


@njit(cache=True, nogil=True)
def _insert(rows, columns, count, new_rows, new_columns):
    """Insert sorted pairs into the first `count` of sorted ones, the last of which stays last."""
    at, new = count - 1, len(new_rows) - 1
    while new >= 0:
        row, column = rows[at], columns[at]
        to = at + new + 1
        if (row, column) > (new_rows[new], new_columns[new]):
            rows[to], columns[to] = row, column
            at -= 1
        else:
            rows[to], columns[to] = new_rows[new], new_columns[new]
            new -= 1


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
