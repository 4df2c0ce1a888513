"""The best segment's position, from the four numbers of each tile of the values.

These are the sum of the tile and the largest sums of a beginning, of an end and of any part of it.
One or two tiles are read again for the position.
"""

from __future__ import annotations

import numpy as np
from numba import int64
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit

TOTAL, PREFIX, SUFFIX, BEST = range(4)
"""Columns of summaries."""


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


def _first_in_tile(units: NDArray[np.int64], best: int) -> tuple[int, int | None, int]:
    """Return start and end of the segment of sum `best` that begins in a tile, first by start.

    The end is None if it lies behind the tile; the third number is the sum that is missing then.
    """
    prefix = np.append(0, np.cumsum(units))
    full = np.flatnonzero(prefix - np.minimum.accumulate(prefix) == best)
    end = int(full[0]) if full.size else None
    start = int(np.argmin(prefix[:end]))
    return start, end, best - int(prefix[-1] - prefix[start])


def locate(
    values: NDArray, scale, summaries: NDArray[np.int64], tile_length: int
) -> tuple[int, int, int] | None:
    """Return the best segment: the first by start, then the shortest.

    Parameters
    ----------
    values : array
        All values, or something that gives a tile's values when sliced.
    scale : int64 or float64
        See `gpu_tools.segments.units`.
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

    def units_of(k: int) -> NDArray[np.int64]:
        return (values[k * tile_length : (k + 1) * tile_length] * scale).astype(np.int64)

    start, end, missing = _first_in_tile(units_of(tile), best)
    last = tile
    if end is None:
        last += 1
        while summaries[last, PREFIX] < missing:
            missing -= summaries[last, TOTAL]
            last += 1
        end = int(np.argmax(np.cumsum(units_of(last)) == missing)) + 1
    return tile * tile_length + start, last * tile_length + end, int(best)
