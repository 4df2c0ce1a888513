"""The best segment on a CPU: four numbers a tile at memory speed, then the tile's positions.

A tile's four numbers are the total and the largest sums of a beginning, of an end and of any part
of it. Where 32 bits are enough, a vector's lanes own neighbouring runs of a tile; squares of the
tile are transposed in registers.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import int64, njit, types
from numba.extending import overload, register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.cpu import simd
from gpu_tools.segments import recurrence as core

LANES = 16
RUN = 256
"""Values of a tile that one lane owns."""
TILE = LANES * RUN
AHEAD = 2 * TILE
"""How far ahead memory is asked for values: early enough, and few enough for the cache."""
NARROW = 2**30 // RUN
"""Values below this magnitude cannot overflow a lane's 32 bits."""
CLAIM = 64
"""Tiles that a thread takes at a time: few, for threads do not start together."""
TOTAL, PREFIX, SUFFIX, BEST = range(4)

to_units = register_jitable(core.to_units)
extend = register_jitable(core.extend)
join = register_jitable(core.join)


@register_jitable
def _append(state, value, values, ahead):
    """Append one value to each lane's run, and have the line of values at `ahead` fetched.

    The state's last two are the largest and the smallest value of each lane. Lines are fetched one
    at a time, for a core waits for few at once.
    """
    total, prefix, suffix, best, high, low = state
    simd.prefetch(values, ahead)
    total = simd.add(total, value)
    suffix = simd.maximum(simd.add(suffix, value), simd.splat(np.int32(0)))
    return (
        total, simd.maximum(prefix, total), suffix, simd.maximum(best, suffix),
        simd.maximum(high, value), simd.minimum(low, value),
    )  # fmt: skip


@register_jitable
def _append_four(state, one, two, three, four, values, ahead):
    state = _append(state, one, values, ahead)
    state = _append(state, two, values, ahead + LANES)
    state = _append(state, three, values, ahead + 2 * LANES)
    return _append(state, four, values, ahead + 3 * LANES)


@register_jitable
def _append_square(state, values, begin, ahead):
    """Append the next `LANES` values to each lane's run."""
    a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q = simd.columns(values, begin, RUN)
    state = _append_four(state, a, b, c, d, values, ahead)
    state = _append_four(state, e, f, g, h, values, ahead + 4 * LANES)
    state = _append_four(state, i, j, k, m, values, ahead + 8 * LANES)
    return _append_four(state, n, o, p, q, values, ahead + 12 * LANES)


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
            # what is fetched ahead is in the order of memory
            ahead = begin + AHEAD + column * LANES
            state = _append_square(state, values, begin + column, ahead)
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


@register_jitable
def _summary(values, scale, begin, scratch):
    """Return the four numbers of the tile that begins at a value."""
    if begin + TILE <= len(values):
        fits, four = _narrow_summary(values, begin, scratch)
        if fits:
            return four
    total, prefix, suffix, best = int64(0), int64(0), int64(0), int64(0)
    for k in range(begin, min(begin + TILE, len(values))):
        value = to_units(values[k], scale)
        total, prefix, suffix, best = extend(total, prefix, suffix, best, value)
    return total, prefix, suffix, best


@njit(cache=True, nogil=True)
def summarise(values, scale, taken, summaries):
    """Write the four numbers of tiles, `CLAIM` at a time, as long as no other thread takes them.

    Parameters
    ----------
    values : array of int32, int64, float32 or float64
    scale : int64 or float64
        See `units`.
    taken : int64 array, shape (1,)
        How many tiles threads have taken.
    summaries : int64 array, shape (tiles, 4)
        Tile t begins at value t * `TILE`.
    """
    scratch = np.empty(6 * LANES, np.int32)
    first = simd.fetch_add(taken, 0, CLAIM)
    while first < len(summaries):
        for tile in range(first, min(first + CLAIM, len(summaries))):
            four = _summary(values, scale, tile * TILE, scratch)
            for k in range(4):
                summaries[tile, k] = four[k]
        first = simd.fetch_add(taken, 0, CLAIM)


def summaries(values: NDArray, scale, threads: int) -> NDArray[np.int64]:
    """Return the four numbers of every tile; see `summarise`."""
    tiles = -(-len(values) // TILE)
    found, taken = np.empty((tiles, 4), dtype=np.int64), np.zeros(1, np.int64)
    threads = max(min(threads, tiles // CLAIM), 1)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: summarise(values, scale, taken, found), range(threads)))
    return found
