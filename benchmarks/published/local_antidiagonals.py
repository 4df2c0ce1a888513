"""Hucaljuk's forward pass: a launch for each anti-diagonal, a thread for each of its cells.

Every cell has the score of the best alignment that ends there, the scores of gaps in either
sequence, and where each of them starts. Three anti-diagonals of scores and two of gaps are kept, in
global memory.

J. Hucaljuk, *GPU implementation of a time-efficient local alignment algorithm with linear memory*
(FER Zagreb, 2012).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import cuda, int32, int64
from numpy.typing import NDArray

from gpu_tools import AffineScoring
from gpu_tools.hardware.device import simulated
from gpu_tools.model.sequences import OTHER

THREADS = 4 if simulated() else 128
NEVER = -(2**30)
_MATCH, _MISMATCH, _OPEN, _EXTEND = range(4)
_ROWS_IN_A_START = 32


class Best(NamedTuple):
    """Score of the best local alignment, its first pair, and the place behind its last pair."""

    score: int
    start: tuple[int, int]
    end: tuple[int, int]


@cuda.jit
def fill_antidiagonal(symbols, scoring, cells, gaps, bests, step):
    """Compute the cells of an anti-diagonal; thread t has the one in its row t.

    Parameters
    ----------
    symbols : tuple of uint8 array
        Codes of query and subject.
    scoring : int32 array, shape (4,)
        Match, mismatch, penalties of opening and extending a gap.
    cells : int64 array, shape (3, 2, rows + 1)
        Of three anti-diagonals, by row + 1: scores, and starts.
    gaps : int64 array, shape (2, 4, rows + 1)
        Of two anti-diagonals: scores and starts of gaps in the query, then in the subject.
    bests : int64 array, shape (3, rows)
        Of each row: its largest score, the start and the column, the first that has it.
    step : int
        Number of the anti-diagonal, the sum of row and column.
    """
    query, subject = symbols
    first = max(step - len(subject) + 1, 0)
    row = first + cuda.grid(1)
    column = step - row
    if row >= len(query) or column < 0:
        return
    here, before, diagonal = step % 3, (step + 2) % 3, (step + 1) % 3
    now, last = step & 1, 1 - (step & 1)
    opens, extends = scoring[_OPEN], scoring[_EXTEND]
    left, left_start = int64(0), int64(0)
    across, across_start = int64(NEVER), int64(0)
    if column > 0:
        left, left_start = cells[before, 0, row + 1], cells[before, 1, row + 1]
        across, across_start = gaps[last, 0, row + 1], gaps[last, 1, row + 1]
    if left - opens >= across - extends:
        across, across_start = left - opens, left_start
    else:
        across -= extends
    up, up_start, down, down_start = int64(0), int64(0), int64(NEVER), int64(0)
    if row > 0:
        up, up_start = cells[before, 0, row], cells[before, 1, row]
        down, down_start = gaps[last, 2, row], gaps[last, 3, row]
    if up - opens >= down - extends:
        down, down_start = up - opens, up_start
    else:
        down -= extends
    equal = query[row] == subject[column] and query[row] != OTHER
    score, start = int64(0), int64(row) << _ROWS_IN_A_START | int64(column)
    if row > 0 and column > 0 and cells[diagonal, 0, row] > 0:
        score, start = cells[diagonal, 0, row], cells[diagonal, 1, row]
    score += scoring[_MATCH] if equal else scoring[_MISMATCH]
    if across > score:
        score, start = across, across_start
    if down > score:
        score, start = down, down_start
    score = max(score, int64(0))
    cells[here, 0, row + 1], cells[here, 1, row + 1] = score, start
    gaps[now, 0, row + 1], gaps[now, 1, row + 1] = across, across_start
    gaps[now, 2, row + 1], gaps[now, 3, row + 1] = down, down_start
    if score > bests[0, row]:
        bests[0, row], bests[1, row], bests[2, row] = score, start, column


class Forward:
    """A pair of sequences of nucleotides in the memory of the current GPU.

    Parameters
    ----------
    query, subject : ndarray of uint8
        Codes.
    scoring : AffineScoring
    """

    def __init__(self, query: NDArray, subject: NDArray, scoring: AffineScoring):
        self.shape = len(query), len(subject)
        numbers = scoring.match, scoring.mismatch, scoring.gap_open, scoring.gap_extend
        self.symbols = cuda.to_device(query), cuda.to_device(subject)
        self.scoring = cuda.to_device(np.array(numbers, dtype=np.int32))
        self.cells, self.gaps, self.bests = (
            cuda.to_device(np.zeros(shape, dtype=np.int64))
            for shape in ((3, 2, len(query) + 1), (2, 4, len(query) + 1), (3, len(query)))
        )

    def run(self) -> None:
        """Launch the kernel for one anti-diagonal after the other."""
        rows, columns = self.shape
        for step in range(rows + columns - 1):
            longest = min(step, rows - 1) - max(step - columns + 1, 0) + 1
            fill_antidiagonal[-(-longest // THREADS), THREADS](
                self.symbols, self.scoring, self.cells, self.gaps, self.bests, int32(step)
            )

    def best(self) -> Best | None:
        """Return the best local alignment, None if none scores above 0."""
        scores, starts, columns = self.bests.copy_to_host()
        row = int(scores.argmax())
        if scores[row] == 0:
            return None
        start = divmod(int(starts[row]), 1 << _ROWS_IN_A_START)
        return Best(int(scores[row]), start, (row + 1, int(columns[row]) + 1))
