"""Kernels that list maximal scoring segments and merge the lists; `maximal_cuda` says why.

Arrays that several kernels share:

spans : uint16 array, shape (runs, slots)
    First and last value of each segment that is maximal in its run, a byte each.
sums : int32 or int64 array, shape (runs, slots)
    Their sums.
lists : int64 array, shape (lists, 8)
    Lists of open segments, those of the runs first, then level by level those that they are merged
    into: where they stand in the rows, how many they are, the sum of all their values. Of runs
    only: how many segments are maximal in the run; start, end and sum of a segment that starts in
    it and goes on beyond its end, the end 0 if there is none; how many of the run's own are maximal
    in all values.
rows : int64 array, shape (2, capacity, 4)
    Open segments of a level, of even and of odd number: start, end, sums before and after.
    Positions count from value 0, sums from the list's first value.
by_tile : int64 array, shape (5, tiles)
    The largest end of segments across runs' ends that start in the tile; where the last one from
    the left ends; how many segments start in the tile, and how many before it; whether one of its
    lists was too long for shared memory.
counters : int64 array
    Whether a value is too large for the cells and whether a list is too long for shared memory; how
    many segments there are; then how many rows each level takes.
deep : int32 or int64 array, shape (3, slots, runs)
    Room for long lists of the runs of some tiles: sums before and after, and spans.
chosen : int64 array, shape (tiles,)
    Those tiles. Kernels without long lists leave this array alone, and the one before.
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
    fill,
)

NARROW = 2**30 // RUN
"""Values below this magnitude cannot overflow 32 bits within a run."""
FAN = 2 if simulated() else 8
"""Lists that one thread merges into one."""
SLOTS = RUN // 2
"""Segments that a run can have: between two of them lies a value that is not positive."""
DEPTH = 5 if simulated() else 12
"""Open segments of a run that shared memory has room for, and two places more."""
DEEPEST = SLOTS + 2
_STACK = (3, DEPTH, THREADS)
_REGISTERS = {int32: 80, int64: 128}
"""By type of the sums: more would leave fewer warps than shared memory has room for."""
BYTE = 8  # bits of a place in a run
START_BYTE, _START_AND_SLOT = 0xFF, 0xFF00FF
START, END, LOW, HIGH = range(4)
OFFSET, COUNT, TOTAL, SIZE, CROSS_START, CROSS_END, CROSS_SCORE, KEPT = range(8)
LIST_COLUMNS = 8
TOO_LARGE, TOO_DEEP, FOUND, USED = range(4)
FARTHEST, ENTERS, COUNTS, OFFSETS, DEEP = range(5)
TILE_ROWS = 5

to_units = cuda.jit(device=True)(core.to_units)
append_open = cuda.jit(device=True)(core.append_open)


@cuda.jit(device=True)
def _as_it_is(value, scale):
    return value


@cuda.jit(device=True)
def _too_large(value):
    return value >= NARROW or value <= -NARROW


@cuda.jit(device=True)
def _fits(value):
    return False


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
def _write_open(run, stack, chain, total, shared):
    """Write the open segments of the lanes' runs; lists without room are empty.

    `chain`: where it begins on the stack, behind two places that hold none, and how long it is.
    """
    lists, rows, counts, counters = shared
    begin, length = chain
    count = int64(begin + length)
    offset = _reserve(counts, counters, count)
    lists[run, OFFSET], lists[run, TOTAL] = offset, total
    if offset + count > rows.shape[1]:
        count = 0
    lists[run, COUNT] = count
    for k in range(count):
        low, high, info = _load(stack, uint32(k if k < begin else k + 2))
        rows[0, offset + k, START] = run * RUN + (info & START_BYTE)
        rows[0, offset + k, END] = run * RUN + (info >> BYTE & START_BYTE) + 1
        rows[0, offset + k, LOW], rows[0, offset + k, HIGH] = low, high


@cuda.jit(device=True)
def _in_shared_memory(shared, deep, chosen):
    """Return the block's tile, and where the lane's list is: an array and a column of it."""
    return int64(cuda.blockIdx.x), (shared, uint32(cuda.threadIdx.x))


@cuda.jit(device=True)
def _in_device_memory(shared, deep, chosen):
    return chosen[cuda.blockIdx.x], (deep, cuda.grid(1))


@cuda.jit(device=True)
def _load(stack, place):
    """Return a segment: the sums before and after it, and its description."""
    columns, lane = stack
    return columns[0, place, lane], columns[1, place, lane], int32(columns[2, place, lane])


@cuda.jit(device=True)
def _store(stack, place, segment):
    columns, lane = stack
    columns[0, place, lane], columns[1, place, lane], columns[2, place, lane] = segment


@cuda.jit(device=True)
def _describe(start, last, slot):
    return int32(start | last << int32(BYTE) | slot << int32(2 * BYTE))


@cuda.jit(device=True)
def _slot(info):
    return int32(info >> int32(2 * BYTE))


@cuda.jit(device=True)
def _ends_at(info, last):
    """Return the description of a segment with another last value."""
    return int32(info & int32(_START_AND_SLOT) | last << int32(BYTE))


@cuda.jit(device=True)
def _keep(spans, sums, segment):
    """Write a segment that is maximal in its run to its slot of the run's."""
    low, high, info = segment
    slot = uint32(_slot(info))
    spans[slot], sums[slot] = uint16(info), high - low


def _list_kernel(dtype, cell, unit, too_large, depth):
    where = _in_shared_memory if depth == DEPTH else _in_device_memory
    # what stands where the chain has no segment: sums neither fall to its start nor exceed its end
    lowest, highest = int(np.iinfo(str(cell)).min), int(np.iinfo(str(cell)).max)

    @cuda.jit(**({} if simulated() else {"max_registers": _REGISTERS[cell]}))
    def list_runs_warp(values, scale, spans, sums, lists, rows, by_tile, counters, deep, chosen):
        """List the maximal segments of the lanes' runs, one tile a block.

        The chain is that of `core.append_open`; its last two segments are in registers. A lane
        takes at most one of it a step: the last, if the sum has fallen to its start, or the second
        last, if the last has outgrown it. Few values need a further step, so that lanes with much
        and with little to merge stay together.
        """
        stage = cuda.shared.array(STAGED, dtype)
        counts = cuda.shared.array(THREADS, int64)
        tile, stack = where(cuda.shared.array(_STACK, cell), deep, chosen)
        run, begin = tile * THREADS + cuda.threadIdx.x, uint32(cuda.threadIdx.x * STRIDE)
        own_spans, own_sums, first = spans[run], sums[run], tile * TILE
        whole, again = first + TILE <= len(values), False
        if cuda.threadIdx.x == 0:
            by_tile[FARTHEST, tile], by_tile[DEEP, tile] = 0, 0
        base, height, size, position = int32(0), int32(0), int32(0), int32(-1)
        total, record = cell(0), cell(0)
        low, high, info = cell(lowest), cell(highest), int32(0)  # the chain's last
        second = low, high, info
        for piece in range(PIECES):
            fill(stage, values, first + piece * PIECE, whole)
            k = uint32(0)
            while again or k < uint32(PIECE):
                value = cell(0)
                if not again:
                    value = cell(unit(stage[uint32(begin + k)], scale))
                    if too_large(value):  # the search is done again
                        value, counters[TOO_LARGE] = cell(0), 1
                    k, position = uint32(k + uint32(1)), int32(position + 1)
                    total = cell(total + value)
                if value > 0 and high < total:
                    high, info = total, _ends_at(info, position)
                    size = int32(_slot(info) + 1)
                elif value > 0 and height == depth - 2:
                    by_tile[DEEP, tile], counters[TOO_DEEP] = 1, 1  # the tile is listed again
                elif value > 0:
                    _store(stack, uint32(height), second)
                    second = low, high, info
                    low, high = cell(total - value), total
                    info = _describe(position, position, size)
                    height, size = int32(height + 1), int32(size + 1)
                if total <= low or second[1] < high:
                    place, enters = uint32(height - 1), False
                    if total <= low:
                        _keep(own_spans, own_sums, (low, high, info))
                        enters = height == int32(base + 1) and high > record
                        if enters:  # it may grow to the left: it stays, though not in the chain
                            _store(stack, place, (low, high, info))
                            base, record = height, high
                        low, high, info = second
                    else:
                        low, info = second[0], _ends_at(second[2], position)
                        size = int32(_slot(info) + 1)
                    if not enters:
                        second, height = _load(stack, place), int32(height - 1)
                again = total <= low or second[1] < high
        _store(stack, uint32(height), second)
        _store(stack, uint32(height + 1), (low, high, info))
        for place in range(base + 2, height + 2):
            _keep(own_spans, own_sums, _load(stack, uint32(place)))
        lists[run, SIZE], lists[run, CROSS_END] = size, 0
        _write_open(run, stack, (base, height - base), total, (lists, rows, counts, counters))

    return list_runs_warp


def _list_kernels(dtype, *kind):
    """Return the kernel for all tiles, and the one for tiles that it cannot list."""
    return _list_kernel(dtype, *kind, DEPTH), _list_kernel(dtype, *kind, DEEPEST)


KINDS = (int32, int64, float32, float64)
LIST_NARROW = _list_kernels(int32, int32, _as_it_is, _too_large)
LIST_WIDE = {np.dtype(str(k)): _list_kernels(k, int64, to_units, _fits) for k in KINDS}


@cuda.jit(device=True)
def _note_crossing(segment, lists, by_tile):
    """Write a segment across runs' ends to the run that it starts in."""
    start, end, low, high = segment
    run = start // RUN
    lists[run, CROSS_START], lists[run, CROSS_END], lists[run, CROSS_SCORE] = start, end, high - low
    cuda.atomic.max(by_tile, (FARTHEST, start // TILE), end)


@cuda.jit(device=True)
def _row(rows, k):
    """Return an open segment; of none, some other one."""
    k = min(k, int64(rows.shape[0] - 1))
    return rows[k, START], rows[k, END], rows[k, LOW], rows[k, HIGH]


@cuda.jit
def merge_lists_thread(lists, rows, by_tile, counters, level):
    """Merge `FAN` neighbouring lists a thread, and tell which segments cross their ends.

    `level`: the level's number, its first list, the first one to be made and how many.
    """
    number, first_list, first_made, n_made = level
    group = int64(cuda.grid(1))
    if group >= n_made:
        return
    child, size = first_list + group * FAN, int64(0)
    behind = min(child + FAN, first_made)
    for other in range(child, behind):
        size += lists[other, COUNT]
    at = cuda.atomic.add(counters, USED + number + 1, size)
    given, made = rows[number % 2], rows[(number + 1) % 2]
    none = int64(0), int64(0), int64(0), int64(0)
    before, state, last, segment, done = int64(0), none, none, none, True
    start, k = int64(0), lists[child, OFFSET]
    end_of_list, coming = k + lists[child, COUNT], _row(given, k)
    while not done or child < behind:
        if done and k < end_of_list:
            start, end, low, high = coming
            segment, done = (start, end, before + low, before + high), False
            k += 1
            coming = _row(given, k)  # on its way while this one is worked on
        elif done:
            before, child = before + lists[child, TOTAL], child + 1
            start, segment, done = int64(0), (int64(0), int64(-1), before, before), child < behind
            if child < behind:
                k, end_of_list = lists[child, OFFSET], lists[child, OFFSET] + lists[child, COUNT]
                coming = _row(given, k)
        if not done:
            state, last, segment, done = append_open(made, at, state, last, segment)
            if done and segment[0] != start:
                _note_crossing(segment, lists, by_tile)
    lists[first_made + group, OFFSET], lists[first_made + group, COUNT] = at, state[2]
    lists[first_made + group, TOTAL] = before
