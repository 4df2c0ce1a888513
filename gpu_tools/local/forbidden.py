"""Pairs of symbols that earlier alignments have used up."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.model.results import CigarOperation

_END = 2**62
_LETTER_D, _LETTER_I = b"DI"


class ForbiddenPairs:
    """Aligned pairs that no further alignment may use, sorted by row, then column.

    `rows` and `columns` begin with a pair before, and end with a pair behind all others, so that
    loops need not look whether there is a next one.
    """

    def __init__(self):
        self.rows = np.array([-_END, _END], dtype=np.int64)
        self.columns = np.array([-_END, _END], dtype=np.int64)

    @property
    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows and columns."""
        return self.rows, self.columns

    def add(self, start: tuple[int, int], cigar: Iterable[CigarOperation]) -> None:
        """Forbid the pairs of an alignment that begins at `start`."""
        self.rows, self.columns = _merged(self.pairs, aligned_pairs(start, cigar))

    def add_pairs(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> None:
        """Forbid pairs in any order."""
        order = np.lexsort((columns, rows))
        self.rows, self.columns = _merged(self.pairs, (rows[order], columns[order]))


def aligned_pairs(
    start: tuple[int, int], cigar: Iterable[CigarOperation]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns of the pairs of an alignment that begins at `start`."""
    operations, lengths = zip(*cigar, strict=True)
    letters = np.frombuffer("".join(operations).encode(), dtype=np.uint8)
    return _pairs(start[0], start[1], letters, np.array(lengths, dtype=np.int64))


# what Python calls: see `gpu_tools.local.places` for what compiled functions do
@njit(cache=True, nogil=True)
def _pairs(row, column, letters, lengths):
    return pairs_of(row, column, letters, lengths)


@njit(cache=True, nogil=True)
def _merged(old, new):
    return merged(old, new)


@njit(cache=True, nogil=True)
def pairs_of(row, column, letters, lengths):
    """Return rows and columns of the pairs of an alignment from its CIGAR."""
    rows, columns = np.empty(lengths.sum(), np.int64), np.empty(lengths.sum(), np.int64)
    filled = 0
    for k in range(len(letters)):
        letter, n = letters[k], lengths[k]
        if letter != _LETTER_D and letter != _LETTER_I:
            rows[filled : filled + n] = np.arange(row, row + n)
            columns[filled : filled + n] = np.arange(column, column + n)
            filled += n
        row += n if letter != _LETTER_D else 0
        column += n if letter != _LETTER_I else 0
    return rows[:filled], columns[:filled]


@njit(cache=True, nogil=True)
def merged(old, new):
    """Return pairs by row, then column, of two sorted lists of them; the first never ends."""
    n = len(old[0]) + len(new[0])
    rows, columns = np.empty(n, np.int64), np.empty(n, np.int64)
    i = j = 0
    for k in range(n):
        if j == len(new[0]) or (old[0][i], old[1][i]) < (new[0][j], new[1][j]):
            rows[k], columns[k] = old[0][i], old[1][i]
            i += 1
        else:
            rows[k], columns[k] = new[0][j], new[1][j]
            j += 1
    return rows, columns
