"""The best segment's position, from the four numbers of each tile of the values.

These are the sum of the tile and the largest sums of a beginning, of an end and of any part of it.
One or two tiles are read again for the position.
"""

from __future__ import annotations

import numpy as np
from numba import int64, njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.segments import recurrence as core

TOTAL, PREFIX, SUFFIX, BEST = range(4)
"""Columns of summaries."""

to_units = register_jitable(core.to_units)


@njit(cache=True, nogil=True)
def best_and_start_tile(summaries):
    """Return the largest sum and the first tile in which a segment of that sum begins."""
    best, best_tile = int64(0), 0
    running, running_tile = int64(0), 0
    for tile in range(len(summaries)):
        if summaries[tile, BEST] > best:
            best, best_tile = summaries[tile, BEST], tile
        across = running + summaries[tile, PREFIX]
        if across > best or (across == best and running_tile < best_tile):
            best, best_tile = across, running_tile
        # of ends of equal sum the longer one starts first
        running += summaries[tile, TOTAL]
        if summaries[tile, SUFFIX] > running:
            running, running_tile = summaries[tile, SUFFIX], tile
    return best, best_tile


@njit(cache=True, nogil=True)
def largest_after(summaries, tile):
    """Return the largest sum of a beginning, perhaps empty, of all that follows a tile."""
    total, largest = int64(0), int64(0)
    for k in range(tile + 1, len(summaries)):
        largest = max(largest, total + summaries[k, PREFIX])
        total += summaries[k, TOTAL]
    return largest


@njit(cache=True, nogil=True)
def first_start(values, scale, after, best):
    """Return the first index of a tile from which a segment of sum `best` starts.

    Parameters
    ----------
    values : array
        The tile's values.
    scale : int64 or float64
    after : int
        What `largest_after` returns.
    best : int

    Returns
    -------
    int
        0 to the tile's length, the end of the tile included.
    """
    reach, found = after, len(values)
    for k in range(len(values) - 1, -1, -1):
        # the reach is the largest sum of a segment that starts at value k
        reach = max(reach, int64(0)) + to_units(values[k], scale)
        if reach == best:
            found = k
    return found


@njit(cache=True, nogil=True)
def first_end(values, scale, remaining):
    """Return where the sum of the first values is `remaining`, and what is left of it.

    The position is the one after the last value, -1 if the array is too short.
    """
    for k in range(len(values)):
        remaining -= to_units(values[k], scale)
        if remaining == 0:
            return k + 1, remaining
    return -1, remaining


@njit(cache=True, nogil=True)
def end_tile(summaries, tile, remaining):
    """Return the first tile from `tile` on in which the sum reaches `remaining`, and the rest."""
    while summaries[tile, PREFIX] < remaining:
        remaining -= summaries[tile, TOTAL]
        tile += 1
    return tile, remaining


def locate(
    values: NDArray, scale, summaries: NDArray[np.int64], tile_length: int
) -> tuple[int, int, int] | None:
    """Return the best segment: the first by start, then the shortest.

    Parameters
    ----------
    values : array
        All values, or something that gives a tile's values when sliced.
    scale : int64 or float64
    summaries : int64 array, shape (tiles, 4)
    tile_length : int
        Values of a tile; the last one may have fewer.

    Returns
    -------
    tuple of (int, int, int) or None
        Start, end, sum in units; None if no sum is positive.
    """
    best, tile = best_and_start_tile(summaries)
    if best <= 0:
        return None

    def slice_of(k: int) -> NDArray:
        return values[k * tile_length : (k + 1) * tile_length]

    here = slice_of(tile)
    start = first_start(here, scale, largest_after(summaries, tile), best)
    end, remaining = first_end(here[start:], scale, best)
    if end > 0:
        return tile * tile_length + start, tile * tile_length + start + end, best
    last, remaining = end_tile(summaries, tile + 1, remaining)
    end, _ = first_end(slice_of(last), scale, remaining)
    return tile * tile_length + start, last * tile_length + end, best
