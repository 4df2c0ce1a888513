"""What the search for the maximum submatrix shares between devices.

The *lines* of a matrix are its rows or its columns, whichever are fewer; the other kind are
*steps*. A rectangle is a pair of line indices g < h and a run of steps: its sum is that of the run
over ``prefix[step, h] - prefix[step, g]``, the prefix sums across the lines. All pairs of lines are
tried, each with one pass over the steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numba import int64
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd

LIMIT_INT32 = 2**31
LANES = simd.VECTOR_BYTES // 8


class Oriented(NamedTuple):
    """A matrix whose second dimension is the lines; `transposed` if these are its rows."""

    steps: NDArray
    transposed: bool

    @property
    def n_steps(self) -> int:
        """Values of a line."""
        return self.steps.shape[0]

    @property
    def n_lines(self) -> int:
        """Lines, of which all pairs are tried."""
        return self.steps.shape[1]


class Tile(NamedTuple):
    """Neighbouring line indices and their prefix sums over the steps, as int64."""

    first_low: int
    lows: NDArray[np.int64]
    first_high: int
    highs: NDArray[np.int64]


def orient(matrix: NDArray) -> Oriented:
    """Take the fewer of rows and columns as lines; the array is viewed, not copied."""
    rows, columns = matrix.shape
    return Oriented(matrix.T, True) if rows < columns else Oriented(matrix, False)


@njit(nogil=True)
def largest_of_pairs(lows, highs):
    """Return the largest sum of a run for each pair of lines, of a multiple of `LANES` upper ones.

    A vector's lanes are the pairs of a lower line with neighbouring upper ones.
    """
    width, zero = highs.shape[1], simd.splat(np.int64(0))
    largest = np.empty((lows.shape[1], width), np.int64)
    for low in range(lows.shape[1]):
        for high in range(0, width, LANES):
            running, best = zero, zero
            for step in range(lows.shape[0]):
                below = simd.splat(-lows[step, low])
                gain = simd.add(simd.load(highs, step * width + high), below)
                running = simd.maximum(simd.add(running, gain), zero)
                best = simd.maximum(best, running)
            simd.store(largest, low * width + high, best)
    return largest


@njit(cache=True, nogil=True)
def _runs_of_sum(lows, highs, first_low, first_high, lines, best):
    """Return the first run of sum `best` of each pair of a tile's lines that has one.

    Rows hold its start, the lower line index, its end, the upper line index; `lines` is the last
    line index that exists.
    """
    reach = largest_of_pairs(lows, highs)
    found, count = np.empty((reach.size, 4), np.int64), 0
    for low in range(lows.shape[1]):
        for high in range(highs.shape[1]):
            g, h = first_low + low, first_high + high
            if g >= h or h > lines or reach[low, high] != best:
                continue
            running, start = int64(0), 0
            for step in range(lows.shape[0]):
                running += highs[step, high] - lows[step, low]
                if running == best:
                    found[count, 0], found[count, 1] = start, g
                    found[count, 2], found[count, 3] = step + 1, h
                    count += 1
                    break
                if running < 0:  # not at 0: of equal sums the longer run starts first
                    running, start = int64(0), step + 1
    return found[:count]


def first_rectangle(
    tiles: Iterable[Tile], oriented: Oriented, best: int
) -> tuple[int, int, int, int]:
    """Return row start and end, column start and end of the first rectangle of sum `best`.

    The first by row start, then column start, row end, column end, of all `tiles` that hold one.
    """
    first = None
    for tile in tiles:
        runs = _runs_of_sum(
            tile.lows, tile.highs, tile.first_low, tile.first_high, oriented.n_lines, best
        )
        for start, low, end, high in runs.tolist():
            key = (low, start, high, end) if oriented.transposed else (start, low, end, high)
            first = key if first is None else min(first, key)
    row_start, column_start, row_end, column_end = first
    return row_start, row_end, column_start, column_end
