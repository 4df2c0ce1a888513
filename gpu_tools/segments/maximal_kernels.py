"""Kernels that list maximal scoring segments and merge the lists; `maximal_cuda` says why.

Arrays that several kernels share:

words : uint32 array, shape (tiles, words of a tile)
    Bits of starts and of last values, by kind, piece and lane.
lists : int64 array, shape (lists, 3)
    Lists of open segments, those of the runs first, then level by level those that they are merged
    into: where they stand in the rows, how many they are, the sum of all their values.
rows : int64 array, shape (2, 4, capacity)
    Open segments of a level, of even and of odd number: start, end, sums before and after.
    Positions count from value 0, sums from the list's first value.
crossing : int64 array, shape (runs, 3)
    Start, end and sum of a segment beyond its run, by the run that it starts in; end 0 if there is
    none.
by_tile : int64 array, shape (4, tiles + 1)
    The largest end of segments in `crossing` that start in the tile; where the last one from the
    left ends; how many segments start in the tile, and how many before it.
counters : int64 array
    Whether a value is too large for the cells and whether a list is too long for shared memory;
    then how many rows each level takes.
deep : int64 array, shape (3, slots, runs)
    Room for long lists of runs: sums before and after, and spans. Most kernels have another array
    in its place, which they leave alone.
"""

from __future__ import annotations

import numpy as np
from numba import cuda, float32, float64, int32, int64, uint16, uint32

from gpu_tools.device import simulated
from gpu_tools.segments import core
from gpu_tools.segments.staging import (
    PIECE,
    PIECES,
    RUN,
    STAGED,
    STRIDE,
    THREADS,
    TILE,
    fetch,
    put,
)

NARROW = 2**30 // RUN
"""Values below this magnitude cannot overflow 32 bits within a run."""
WIDE = 2**63 - 1
FAN = 2 if simulated() else 8
"""Lists that one thread merges into one."""
KEPT = 2 * PIECES * THREADS
"""Words of a tile."""
_LIMITS = {} if simulated() else {"max_registers": 96}
"""More would leave a multiprocessor with fewer warps than shared memory has room for."""
DEPTH = 4 if simulated() else 16
"""Open segments of a run that shared memory has room for; random values seldom have 12."""
SLOTS = RUN // 2
"""Open segments that a run can have."""
_STACK = (DEPTH, THREADS)
_SPAN = 8  # bits of a place in a run
_START_MASK = (1 << _SPAN) - 1
START, END, LOW, HIGH = range(4)
OFFSET, COUNT, TOTAL = range(3)
TOO_LARGE, TOO_DEEP, USED = range(3)
CROSS_START, CROSS_END, CROSS_SCORE = range(3)
FARTHEST, ENTERS, COUNTS, OFFSETS = range(4)

to_units = cuda.jit(device=True)(core.to_units)
drop_closed = cuda.jit(device=True)(core.drop_closed)
append_open = cuda.jit(device=True)(core.append_open)


@cuda.jit(device=True)
def _as_it_is(value, scale):
    return value


@cuda.jit(device=True)
def slot(which, piece):
    """Return where a word of the lane's bits stands: starts (0) or last values (1) of a piece."""
    return uint32((uint32(which * PIECES) + piece) * uint32(THREADS) + uint32(cuda.threadIdx.x))


@cuda.jit(device=True)
def _bit(place):
    return uint32(uint32(1) << uint32(place % uint32(PIECE)))


@cuda.jit(device=True)
def _mark(kept, filled, span):
    """Set the bits of a segment; return `filled`, whose bit k tells that piece k has any."""
    start, last = uint32(span & _START_MASK), uint32(uint32(span) >> uint32(_SPAN))
    first_piece, last_piece = uint32(start // uint32(PIECE)), uint32(last // uint32(PIECE))
    kept[slot(0, first_piece)] |= _bit(start)
    kept[slot(1, last_piece)] |= _bit(last)
    return uint32(filled | _bit(first_piece) | _bit(last_piece))


@cuda.jit(device=True)
def _clear(kept, filled, start):
    """Clear the bits from a value on; return `filled`."""
    piece = uint32(uint32(start) // uint32(PIECE))
    below = uint32(_bit(uint32(start)) - uint32(1))
    kept[slot(0, piece)] &= below
    kept[slot(1, piece)] &= below
    up_to_here = uint32(_bit(piece) * uint32(2) - uint32(1))
    if filled > up_to_here:
        for behind in range(piece + 1, PIECES):
            kept[slot(0, uint32(behind))] = uint32(0)
            kept[slot(1, uint32(behind))] = uint32(0)
    return uint32(filled & up_to_here)


@cuda.jit(device=True)
def _reserve(counts, counters, count):
    """Return where the lane's `count` rows begin, those of all lanes side by side."""
    lane = cuda.threadIdx.x
    counts[lane] = count
    cuda.syncthreads()
    before, total = 0, 0
    for other in range(THREADS):
        before += counts[other] if other < lane else 0
        total += counts[other]
    cuda.syncthreads()
    if lane == 0:
        counts[0] = cuda.atomic.add(counters, USED, total)
    cuda.syncthreads()
    return counts[0] + before


@cuda.jit(device=True)
def _write_open(columns, count, total, lists, rows, counts, counters):
    """Write the open segments of the lanes' runs; lists without room are empty."""
    lows, highs, spans = columns
    run, offset = int64(cuda.grid(1)), _reserve(counts, counters, count)
    lists[run, OFFSET], lists[run, TOTAL] = offset, total
    if offset + count > rows.shape[1]:
        count = 0
    lists[run, COUNT] = count
    for k in range(count):
        rows[START, offset + k] = run * RUN + (spans[k] & _START_MASK)
        rows[END, offset + k] = run * RUN + (spans[k] >> _SPAN) + 1
        rows[LOW, offset + k], rows[HIGH, offset + k] = lows[k], highs[k]


@cuda.jit(device=True)
def _in_shared_memory(lows, highs, spans, deep):
    """Return the lane's arrays for its list: a bank of its own, whichever place it is at."""
    lane = cuda.threadIdx.x
    return lows[:, lane], highs[:, lane], spans[:, lane]


@cuda.jit(device=True)
def _in_device_memory(lows, highs, spans, deep):
    run = cuda.grid(1)
    return deep[0, :, run], deep[1, :, run], deep[2, :, run]


def _list_kernel(dtype, cell, unit, limit, depth):
    stack = _in_shared_memory if depth == DEPTH else _in_device_memory

    @cuda.jit(**_LIMITS)
    def list_runs_warp(values, scale, words, lists, rows, crossing, by_tile, counters, deep):
        """List the maximal segments of the lanes' runs, one tile a block.

        The list is that of `core.append_open`; a lane makes one comparison a step, whichever value
        it is at, so that lanes with much and with little to merge stay together.
        """
        stage = cuda.shared.array(STAGED, dtype)
        kept = cuda.shared.array(KEPT, uint32)
        counts = cuda.shared.array(THREADS, int64)
        lows = cuda.shared.array(_STACK, cell)
        highs = cuda.shared.array(_STACK, cell)
        spans = cuda.shared.array(_STACK, uint16)  # start and last value
        lows, highs, spans = stack(lows, highs, spans, deep)
        for k in range(cuda.threadIdx.x, KEPT, THREADS):
            kept[k] = uint32(0)
        first, begin = int64(cuda.blockIdx.x) * TILE, uint32(cuda.threadIdx.x * STRIDE)
        whole, too_large, growing = first + TILE <= len(values), False, False
        base, entered, count, start = int32(0), int32(0), int32(0), int32(0)
        total, record, low, filled = cell(0), cell(0), cell(0), uint32(0)
        top_low, top_high, top_span = cell(0), cell(0), int32(0)  # the chain's last
        for piece in range(PIECES):
            put(stage, fetch(values, first + piece * PIECE, whole))
            k, position = uint32(0), int32(piece * PIECE - 1)  # of the value read last
            while growing or k < uint32(PIECE):
                if not growing:
                    value = cell(unit(stage[uint32(begin + k)], scale))
                    too_large |= value >= limit or value <= -limit
                    k, position = uint32(k + uint32(1)), int32(position + 1)
                    start, low, total = position, total, cell(total + value)
                    growing = value > 0
                if growing:
                    if count == base or (top_low < low and top_high >= total):
                        if count > base:
                            place = uint32(count - 1)
                            lows[place], highs[place], spans[place] = top_low, top_high, top_span
                        top_low, top_high = low, total
                        top_span = int32(start | position << _SPAN)
                        count, growing = int32(count + 1), False
                        if count > depth:  # the search is done again: go on somehow
                            count, base, entered = int32(0), int32(0), int32(0)
                            counters[TOO_DEEP] = 1
                        if total > record:
                            entered, record = int32(base + 1), total
                    else:
                        closed = top_low >= low
                        if closed:
                            filled = _mark(kept, filled, top_span)
                        else:
                            start, low = int32(top_span & _START_MASK), top_low
                            filled = _clear(kept, filled, start)
                        if closed and count == base + 1 and entered > base:
                            place = uint32(base)
                            lows[place], highs[place], spans[place] = top_low, top_high, top_span
                            base = int32(base + 1)
                        else:
                            count = int32(count - 1)
                            place = uint32(max(count - 1, 0))
                            top_low, top_high = cell(lows[place]), cell(highs[place])
                            top_span = int32(spans[place])
        if count > base:
            lows[count - 1], highs[count - 1], spans[count - 1] = top_low, top_high, top_span
        for k in range(base, count):
            filled = _mark(kept, filled, int32(spans[k]))
        state = drop_closed(lows, 0, (base, entered, count, record), total)
        if too_large:
            counters[TOO_LARGE] = 1
        for k in range(cuda.threadIdx.x, KEPT, THREADS):  # the lane's own words
            words[cuda.blockIdx.x, k] = kept[k]
        _write_open((lows, highs, spans), state[2], total, lists, rows[0], counts, counters)
        crossing[cuda.grid(1), CROSS_END] = 0
        if cuda.threadIdx.x == 0:
            by_tile[FARTHEST, cuda.blockIdx.x] = 0

    return list_runs_warp


KINDS = (int32, int64, float32, float64)
LIST_NARROW = _list_kernel(int32, int32, _as_it_is, NARROW, DEPTH)
LIST_WIDE = {np.dtype(str(k)): _list_kernel(k, int64, to_units, WIDE, DEPTH) for k in KINDS}
LIST_DEEP = {np.dtype(str(k)): _list_kernel(k, int64, to_units, WIDE, SLOTS) for k in KINDS}


@cuda.jit
def merge_lists_thread(lists, rows, crossing, by_tile, counters, level):
    """Merge `FAN` neighbouring lists a thread, and tell which segments cross their ends.

    `level`: the level's number, its first list, the first one to be made and how many.
    """
    number, first_list, first_made, n_made = level
    group = int64(cuda.grid(1))
    if group >= n_made:
        return
    first, size = first_list + group * FAN, int64(0)
    last = min(first + FAN, first_made)
    for child in range(first, last):
        size += lists[child, COUNT]
    at = cuda.atomic.add(counters, USED + number + 1, size)
    given, made = rows[number % 2], rows[(number + 1) % 2]
    columns = (made[START], made[END], made[LOW], made[HIGH])
    before, state = int64(0), (0, 0, 0, int64(0))
    for child in range(first, last):
        offset = lists[child, OFFSET]
        for k in range(offset, offset + lists[child, COUNT]):
            end, low, high = given[END, k], before + given[LOW, k], before + given[HIGH, k]
            state = drop_closed(columns[LOW], at, state, low)
            state, start = append_open(columns, at, state, (given[START, k], end, low, high))
            if start != given[START, k]:
                run = start // RUN
                crossing[run, CROSS_START], crossing[run, CROSS_END] = start, end
                crossing[run, CROSS_SCORE] = high - columns[LOW][at + state[2] - 1]
                cuda.atomic.max(by_tile, (FARTHEST, start // TILE), end)
        before += lists[child, TOTAL]
    state = drop_closed(columns[LOW], at, state, before)
    lists[first_made + group, OFFSET], lists[first_made + group, COUNT] = at, state[2]
    lists[first_made + group, TOTAL] = before
