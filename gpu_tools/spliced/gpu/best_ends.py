"""Best ends of chains in the rows that the packed sweep left on the GPU, and the table of exits.

A best end is one number, so that threads can agree on it: the largest is the one that ties want.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from gpu_tools.hardware.gpu.intrinsics.words import WARP, kernel
from gpu_tools.spliced.gpu.sweep import CELLS, COLUMNS, EXITS, FREE, GAP, N_EXITS, STRIDE, offset_of

FINDERS = WARP if WARP < 32 else 256
"""Threads that look for one job's best end."""

# columns of the table of exits, which are exons ordered by end, then start
ROW, BONUS, LENGTH, LAST_ROW, ENTRY, COMMITTED, FIRST, PAST = range(8)

# a best end is one number: score, the exits before its end, and its column, the last two reversed
_COLUMN_BITS, _EXIT_BITS = 16, 22
_BIAS = 1 << 24
_LAST_COLUMN, _LAST_EXIT = (1 << _COLUMN_BITS) - 1, (1 << _EXIT_BITS) - 1
COLUMNS_AT_MOST, EXITS_AT_MOST = 1 << _COLUMN_BITS, 1 << _EXIT_BITS
"""What such a number has room for."""


def score_of(best):
    """Return the scores in the numbers of best ends."""
    return (best >> (_COLUMN_BITS + _EXIT_BITS)) - _BIAS


def exit_of(best):
    """Return the first of the exits with the end, in the numbers of best ends."""
    return _LAST_EXIT - ((best >> _COLUMN_BITS) & _LAST_EXIT)


def column_of(best):
    """Return the columns in the numbers of best ends."""
    return _LAST_COLUMN - (best & _LAST_COLUMN)


@kernel()
def find_ends(jobs, exits, cells, best, scoring):
    """Raise the number of each job's best end; a block looks at one job."""
    number = cuda.blockIdx.x
    job = jobs[number]
    table, rows, stride = exits[job[EXITS] :], cells[job[CELLS] :], int32(job[STRIDE])
    last = int32(job[COLUMNS] - 1)
    first = int32(0) if scoring[FREE] else last
    columns = int64(last - first + 1)
    most = int64(0)
    for k in range(cuda.threadIdx.x, job[N_EXITS] * columns, cuda.blockDim.x):
        exit_, column = int64(k // columns), int32(first + k % columns)
        place = offset_of(table[exit_, ROW], stride)
        bonus, gaps = table[exit_, BONUS], column + table[exit_, LENGTH]
        score = int64(int32(rows[place + column]) + bonus + scoring[GAP] * gaps)
        before = int64(_LAST_EXIT - table[exit_, FIRST])
        key = ((score + _BIAS) << _EXIT_BITS | before) << _COLUMN_BITS
        most = max(most, key | int64(_LAST_COLUMN - column))
    cuda.atomic.max(best, number, most)
