"""What the search for the maximum submatrix shares between devices.

The *lines* of a matrix are its rows or its columns, whichever are fewer; the other kind are
*steps*. A rectangle is a pair of line indices g < h and a run of steps: its sum is that of the run
over ``prefix[step, h] - prefix[step, g]``, the prefix sums across the lines. All pairs of lines are
tried, each with one pass over the steps.

Of disjoint rectangles the next best one lies in a *region* that holds no cell of those before: one
of the largest rectangles of free cells, which overlap. A rectangle that is taken cuts each region
that it overlaps into the parts above, left of, below and right of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
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


Rectangle = tuple[int, int, int, int]
"""Row start, column start, row end, column end: ties go by this order."""
_INWARDS = np.array([1, 1, -1, -1])


class _Region(NamedTuple):
    """A region and its best rectangle; or, if that is not known, a bound of its sum.

    The least one is to be looked at next: ties are broken when all regions with the sum are known.
    """

    less: float  # than nothing: the sum or its bound, negative
    is_known: bool
    rectangle: Rectangle  # the region itself as long as the best one is not known
    bounds: Rectangle

    def part(self, bounds: Rectangle) -> _Region:
        """Return a part of the region, of which the best rectangle is known if it lies inside."""
        if self.is_known and _within(self.rectangle, bounds):
            return self._replace(bounds=bounds)
        return _Region(self.less, False, bounds, bounds)


def disjoint_rectangles(
    shape: tuple[int, int], search: Callable[[Rectangle], tuple[int, Rectangle] | None]
) -> Iterator[tuple[int, Rectangle]]:
    """Yield the best rectangle, then the best of those that share no cell with any before, ...

    `search` gives the best rectangle of a region and its sum, or None if no sum is positive.
    """
    whole = 0, 0, *shape
    regions = [_Region(-math.inf, False, whole, whole)]
    while regions:
        first = min(regions)
        if first.is_known:
            yield -first.less, first.rectangle
            regions = _without(regions, first.rectangle)
            continue
        regions.remove(first)
        found = search(first.bounds)
        if found is not None:
            regions.append(_Region(-found[0], True, found[1], first.bounds))


def _within(inner: Rectangle, outer: Rectangle) -> bool:
    return all(a <= b for a, b in zip(outer[:2] + inner[2:], inner[:2] + outer[2:], strict=True))


def _without(regions: list[_Region], taken: Rectangle) -> list[_Region]:
    """Return the regions of the cells that are still free when a rectangle is taken."""
    top, left, bottom, right = taken
    kept, parts = [], {}
    for region in regions:
        r0, c0, r1, c1 = region.bounds
        if bottom <= r0 or r1 <= top or right <= c0 or c1 <= left:
            kept.append(region)
            continue
        around = (r0, c0, top, c1), (r0, c0, r1, left), (bottom, c0, r1, c1), (r0, right, r1, c1)
        for bounds in around:
            if bounds[0] < bounds[2] and bounds[1] < bounds[3]:
                part = region.part(bounds)
                parts[bounds] = max(part, parts.get(bounds, part))  # the least bound of the sum
    everything = np.array([region.bounds for region in kept] + list(parts)).reshape(-1, 4)
    inwards = everything * _INWARDS
    return kept + [
        part for bounds, part in parts.items()
        # one of them is the part itself
        if np.count_nonzero((inwards <= bounds * _INWARDS).all(axis=1)) == 1
    ]  # fmt: skip
