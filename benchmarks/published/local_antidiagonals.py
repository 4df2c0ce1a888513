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
from numba import cuda, int64
from numpy.typing import NDArray

from gpu_tools import AffineScoring
from gpu_tools.hardware.device import simulated
from gpu_tools.model.sequences import OTHER

THREADS = 4 if simulated() else 128
NEVER = -(2**30)
_GAPS, _BESTS, _LINES = 6, 14, 17
"""Lines of the state before those of gaps, before those of best scores, and all."""
_ROWS_IN_A_START = 32


class Best(NamedTuple):
    """Score of the best local alignment, its first pair, and the place behind its last pair."""

    score: int
    start: tuple[int, int]
    end: tuple[int, int]


@cuda.jit
def fill_antidiagonal(symbols, state, shape, scoring, step):
    """Compute the cells of an anti-diagonal; thread t has the one in its row t.

    Parameters
    ----------
    symbols : uint8 array
        Codes of the query, then of the subject. Few arguments make a launch short.
    state : int64 array, shape (17, rows + 1)
        By row + 1: of three anti-diagonals scores and starts; of two anti-diagonals scores and
        starts of gaps in the query, then in the subject; and of each row its largest score, the
        start and the column, the first that has it.
    shape : tuple of int32
        Rows and columns.
    scoring : tuple of int32
        Match, mismatch, penalties of opening and extending a gap.
    step : int32
        Number of the anti-diagonal, the sum of row and column.
    """
    rows, columns = shape
    match, mismatch, opens, extends = scoring
    row = max(step - columns + 1, 0) + cuda.grid(1)
    column = step - row
    if row >= rows or column < 0:
        return
    here, before, diagonal = 2 * (step % 3), 2 * ((step + 2) % 3), 2 * ((step + 1) % 3)
    now, last = _GAPS + 4 * (step & 1), _GAPS + 4 * (1 - (step & 1))
    left, left_start = int64(0), int64(0)
    across, across_start = int64(NEVER), int64(0)
    if column > 0:
        left, left_start = state[before, row + 1], state[before + 1, row + 1]
        across, across_start = state[last, row + 1], state[last + 1, row + 1]
    if left - opens >= across - extends:
        across, across_start = left - opens, left_start
    else:
        across -= extends
    up, up_start, down, down_start = int64(0), int64(0), int64(NEVER), int64(0)
    if row > 0:
        up, up_start = state[before, row], state[before + 1, row]
        down, down_start = state[last + 2, row], state[last + 3, row]
    if up - opens >= down - extends:
        down, down_start = up - opens, up_start
    else:
        down -= extends
    equal = symbols[row] == symbols[rows + column] and symbols[row] != OTHER
    score, start = int64(0), int64(row) << _ROWS_IN_A_START | int64(column)
    if row > 0 and column > 0 and state[diagonal, row] > 0:
        score, start = state[diagonal, row], state[diagonal + 1, row]
    score += match if equal else mismatch
    if across > score:
        score, start = across, across_start
    if down > score:
        score, start = down, down_start
    score = max(score, int64(0))
    state[here, row + 1], state[here + 1, row + 1] = score, start
    state[now, row + 1], state[now + 1, row + 1] = across, across_start
    state[now + 2, row + 1], state[now + 3, row + 1] = down, down_start
    if score > state[_BESTS, row + 1]:
        state[_BESTS, row + 1], state[_BESTS + 1, row + 1] = score, start
        state[_BESTS + 2, row + 1] = column


class Forward:
    """A pair of sequences of nucleotides in the memory of the current GPU.

    Parameters
    ----------
    query, subject : ndarray of uint8
        Codes.
    scoring : AffineScoring
    """

    def __init__(self, query: NDArray, subject: NDArray, scoring: AffineScoring):
        self.shape = np.int32(len(query)), np.int32(len(subject))
        numbers = scoring.match, scoring.mismatch, scoring.gap_open, scoring.gap_extend
        self.scoring = tuple(map(np.int32, numbers))
        self.symbols = cuda.to_device(np.concatenate([query, subject]))
        self.state = cuda.to_device(np.zeros((_LINES, len(query) + 1), dtype=np.int64))

    def run(self) -> None:
        """Launch the kernel for one anti-diagonal after the other."""
        rows, columns = map(int, self.shape)
        for step in range(rows + columns - 1):
            longest = min(step, rows - 1) - max(step - columns + 1, 0) + 1
            # few different numbers of blocks: a launch's configuration is kept with its number
            blocks = 1 << (-(-longest // THREADS) - 1).bit_length()
            fill_antidiagonal[blocks, THREADS](
                self.symbols, self.state, self.shape, self.scoring, np.int32(step)
            )

    def best(self) -> Best | None:
        """Return the best local alignment, None if none scores above 0."""
        scores, starts, columns = self.state.copy_to_host()[_BESTS:, 1:]
        row = int(scores.argmax())
        if scores[row] == 0:
            return None
        start = divmod(int(starts[row]), 1 << _ROWS_IN_A_START)
        return Best(int(scores[row]), start, (row + 1, int(columns[row]) + 1))
