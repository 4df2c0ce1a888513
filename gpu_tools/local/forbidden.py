"""Pairs of symbols that earlier alignments have used up."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from gpu_tools.results import CigarOperation

_END = 2**62


class ForbiddenPairs:
    """Aligned pairs that no further alignment may use, sorted by row, then column.

    `rows` and `columns` begin with a pair before, and end with a pair behind all others, so that
    loops need not look whether there is a next one.
    """

    def __init__(self):
        self.rows = np.array([-_END, _END], dtype=np.int64)
        self.columns = np.array([-_END, _END], dtype=np.int64)

    def add(self, start: tuple[int, int], cigar: Iterable[CigarOperation]) -> None:
        """Forbid the pairs of an alignment that begins at `start`."""
        rows, columns = aligned_pairs(start, cigar)
        rows, columns = np.append(self.rows, rows), np.append(self.columns, columns)
        order = np.lexsort((columns, rows))
        self.rows, self.columns = rows[order], columns[order]


def aligned_pairs(
    start: tuple[int, int], cigar: Iterable[CigarOperation]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns of the pairs of an alignment that begins at `start`."""
    row, column = start
    rows, columns = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for operation, n in cigar:
        if operation in "=X":
            rows.append(np.arange(row, row + n))
            columns.append(np.arange(column, column + n))
        row += n if operation in "=XI" else 0
        column += n if operation in "=XD" else 0
    return np.concatenate(rows), np.concatenate(columns)
