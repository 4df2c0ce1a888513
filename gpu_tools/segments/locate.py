"""From the four numbers of tiles to the best segment's positions; the same for every device."""

from __future__ import annotations

import numpy as np
from numba import int64, njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.segments import recurrence as core
from gpu_tools.segments.cpu.best_segment import BEST, PREFIX, SUFFIX, TOTAL

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
        # of equal ends the longer one, for it starts first
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
        # sums are counted from index k on, so that every step shifts the reach
        reach = max(reach, int64(0)) + to_units(values[k], scale)
        if reach == best:
            found = k
    return found


@njit(cache=True, nogil=True)
def first_end(values, scale, remaining):
    """Return the first index where the sum from the array's start is `remaining`, -1 if none.

    Also returns what is left of `remaining` behind the array.
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
