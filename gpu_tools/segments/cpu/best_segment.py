"""The best segment on a CPU: the sums of each tile, from which its position follows."""

from __future__ import annotations

import numpy as np
from numba import int64
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.segments import recurrence as core

TILE = 1 << 12
"""Values of a tile; the tile that holds the best segment is read twice."""

to_units = register_jitable(core.to_units)
extend = register_jitable(core.extend)


@njit(cache=True, nogil=True)
def summarise(values, scale, first, last, summaries):
    """Write the four numbers of the tiles `first` to ``last - 1``.

    Parameters
    ----------
    values : array of int32, int64, float32 or float64
    scale : int64 or float64
        See `gpu_tools.segments.units`.
    first, last : int
    summaries : int64 array, shape (tiles, 4)
        See `gpu_tools.segments.recurrence.extend`; tile t begins at value t * `TILE`.
    """
    for tile in range(first, last):
        total, prefix, suffix, best = int64(0), int64(0), int64(0), int64(0)
        for k in range(tile * TILE, min((tile + 1) * TILE, len(values))):
            value = to_units(values[k], scale)
            total, prefix, suffix, best = extend(total, prefix, suffix, best, value)
        four = total, prefix, suffix, best
        for k in range(4):
            summaries[tile, k] = four[k]


def summaries(values: NDArray, scale, threads: int) -> NDArray[np.int64]:
    """Return the four numbers of every tile, shape (tiles, 4); see `summarise`."""
    tiles = -(-len(values) // TILE)
    found = np.empty((tiles, 4), dtype=np.int64)
    bounds = [tiles * k // threads for k in range(threads + 1)]
    map_on_threads(
        threads, lambda a, b: summarise(values, scale, a, b, found), bounds[:-1], bounds[1:]
    )
    return found
