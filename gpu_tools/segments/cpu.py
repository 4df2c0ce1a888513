"""The best segment on a CPU: four numbers a tile at memory speed, then the tile's positions.

A tile's four numbers are the total and the largest sums of a beginning, of an end and of any part
of it. Where 32 bits are enough, a vector's lanes own neighbouring runs of a tile; squares of the
tile are transposed in registers.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numba import int64, njit, types
from numba.extending import overload, register_jitable
from numpy.typing import NDArray

from gpu_tools import simd
from gpu_tools.segments import core

LANES = 16
RUN = 256
"""Values of a tile that one lane owns."""
TILE = LANES * RUN
AHEAD = 2 * TILE
"""How far ahead memory is asked for values: early enough, and few enough for the cache."""
NARROW = 2**30 // RUN
"""Values below this magnitude cannot overflow a lane's 32 bits."""
SHARES_PER_THREAD = 4
"""More shares than threads, so that a thread that is held up holds up a part of its work only."""
TOTAL, PREFIX, SUFFIX, BEST = range(4)

to_units = register_jitable(core.to_units)
extend = register_jitable(core.extend)
join = register_jitable(core.join)


@register_jitable
def _append(state, value):
    """Append one value to each lane's run; the state's last two are the extremes of the values."""
    total, prefix, suffix, best, high, low = state
    total = simd.add(total, value)
    suffix = simd.maximum(simd.add(suffix, value), simd.splat(np.int32(0)))
    return (
        total, simd.maximum(prefix, total), suffix, simd.maximum(best, suffix),
        simd.maximum(high, value), simd.minimum(low, value),
    )  # fmt: skip


@register_jitable
def _append_four(state, one, two, three, four):
    return _append(_append(_append(_append(state, one), two), three), four)


@register_jitable
def _append_square(state, values, begin):
    """Append the next `LANES` values to each lane's run."""
    (one, two, three, four, five, six, seven, eight,
     nine, ten, eleven, twelve, thirteen, fourteen, fifteen, sixteen,
    ) = simd.columns(values, begin, RUN)  # fmt: skip
    state = _append_four(state, one, two, three, four)
    state = _append_four(state, five, six, seven, eight)
    state = _append_four(state, nine, ten, eleven, twelve)
    return _append_four(state, thirteen, fourteen, fifteen, sixteen)


def _narrow_summary(values, begin, scratch):
    raise NotImplementedError("only for jitted code")


@overload(_narrow_summary)
def _overload_narrow_summary(values, begin, scratch):
    """Return the four numbers of a whole tile of int32, and whether they can be trusted."""

    def not_narrow(values, begin, scratch):
        return False, (int64(0), int64(0), int64(0), int64(0))

    def by_lanes(values, begin, scratch):
        zero = simd.splat(np.int32(0))
        state = (zero, zero, zero, zero, zero, zero)
        for column in range(0, RUN, LANES):
            # in the order of memory, so that lines arrive while others are worked on
            ahead = begin + AHEAD + column * LANES
            for line in range(ahead, ahead + LANES * LANES, LANES):
                simd.prefetch(values, line)
            state = _append_square(state, values, begin + column)
        total, prefix, suffix, best, high, low = state
        simd.store(scratch, 0, total)
        simd.store(scratch, LANES, prefix)
        simd.store(scratch, 2 * LANES, suffix)
        simd.store(scratch, 3 * LANES, best)
        simd.store(scratch, 4 * LANES, high)
        simd.store(scratch, 5 * LANES, low)
        fits = (
            scratch[4 * LANES : 5 * LANES].max() < NARROW and scratch[5 * LANES :].min() > -NARROW
        )
        joined = (int64(0), int64(0), int64(0), int64(0))
        for lane in range(LANES):
            run = (
                int64(scratch[lane]), int64(scratch[LANES + lane]),
                int64(scratch[2 * LANES + lane]), int64(scratch[3 * LANES + lane]),
            )  # fmt: skip
            joined = join(joined, run)
        return fits, joined

    return by_lanes if values.dtype == types.int32 else not_narrow


@njit(cache=True, nogil=True)
def summarise(values, scale, first, last, summaries):
    """Write the four numbers of the tiles `first` to ``last - 1``.

    Parameters
    ----------
    values : array of int32, int64, float32 or float64
    scale : int64 or float64
        See `units`.
    first, last : int
        Tiles; tile t begins at value t * `TILE`.
    summaries : int64 array, shape (tiles, 4)
    """
    scratch = np.empty(6 * LANES, np.int32)
    for tile in range(first, last):
        begin, end = tile * TILE, min((tile + 1) * TILE, len(values))
        done = False
        four = (int64(0), int64(0), int64(0), int64(0))
        if end - begin == TILE:
            done, four = _narrow_summary(values, begin, scratch)
        if not done:
            total, prefix, suffix, best = int64(0), int64(0), int64(0), int64(0)
            for k in range(begin, end):
                value = to_units(values[k], scale)
                total, prefix, suffix, best = extend(total, prefix, suffix, best, value)
            four = (total, prefix, suffix, best)
        for k in range(4):
            summaries[tile, k] = four[k]


def in_shares(pool: ThreadPoolExecutor, threads: int, count: int, work) -> list:
    """Call ``work(first, last)`` on equal shares of `count`, in order; return what they return."""
    shares = SHARES_PER_THREAD * threads
    bounds = [count * k // shares for k in range(shares + 1)]
    pairs = [(a, b) for a, b in pairwise(bounds) if a < b]
    return list(pool.map(lambda pair: work(*pair), pairs))


def summaries(values: NDArray, scale, threads: int) -> NDArray[np.int64]:
    """Return the four numbers of every tile; see `summarise`."""
    tiles = -(-len(values) // TILE)
    found = np.empty((tiles, 4), dtype=np.int64)
    threads = max(min(threads, tiles // 64), 1)  # starting a thread costs more than a few tiles
    with ThreadPoolExecutor(threads) as pool:
        in_shares(pool, threads, tiles, lambda a, b: summarise(values, scale, a, b, found))
    return found
