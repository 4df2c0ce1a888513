"""Kernels that list the maximal scoring segments of runs; `maximal_cuda` says why.

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
by_tile : int64 array, shape (4, tiles)
    The largest end of segments across runs' ends that start in the tile; where the last one from
    the left ends; how many segments start in the tile, and how many before it.
counters : int64 array
    Whether a value is too large for the cells; how many lists are too long for shared memory; how
    many segments there are; then how many rows each level takes, but for the one after the runs'.
deep : int32 or int64 array, shape (3, slots, lists)
    Room for such lists: sums before and after, and spans.
"""

from __future__ import annotations

import numpy as np
from numba import cuda, float32, float64, int32, int64, uint16, uint32

from gpu_tools.hardware.device import simulated
from gpu_tools.segments import recurrence as core
from gpu_tools.segments.gpu.staging import (
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
TOO_LARGE, LONG, FOUND, USED = range(4)
FARTHEST, ENTERS, COUNTS, OFFSETS = range(4)
TILE_ROWS = 4

to_units = cuda.jit(device=True)(core.to_units)


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
def _load(stack, place):
    """Return a segment: the sums before and after it, and its description."""
    columns, lane, _ = stack
    return columns[0, place, lane], columns[1, place, lane], int32(columns[2, place, lane])


@cuda.jit(device=True)
def _store(stack, place, segment):
    columns, lane, _ = stack
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
def _keep(own, segment):
    """Write a segment that is maximal in its run to its slot of the run's."""
    low, high, info = segment
    spans, sums = own
    slot = uint32(_slot(info))
    spans[slot], sums[slot] = uint16(info), high - low


@cuda.jit(device=True)
def _step(stack, own, value, position, total, marks, last, second):
    """Take one step to append a value to the list of a run.

    The chain is that of `core.append_open`; its last two segments are in registers. A step takes at
    most one segment of it: the last, if the sum has fallen to its start, or the second last, if the
    last has outgrown it. Few values need a further step, so that lanes with much and with little to
    merge stay together.

    Parameters
    ----------
    stack : tuple
        Where the chain's others are: an array, a column of it, and how many places it has.
    own : tuple of arrays
        Spans and sums of the run's segments.
    value : int
        0 in a further step.
    position : int32
    total : int
        The sum up to the value.
    marks : tuple of int
        Where the chain begins, how many segments there are, the next slot, the largest sum so far.
    last, second : tuple of int
        The chain's last two segments.

    Returns
    -------
    marks, last, second : tuple of int
        Those after the step.
    again : bool
        Whether a further step is due.
    full : bool
        Whether there was no place for the value's segment, which is left out.
    """
    base, height, size, record = marks
    low, high, info = last
    full = False
    if value > 0 and high < total:
        high, info = total, _ends_at(info, position)
        size = int32(_slot(info) + 1)
    elif value > 0 and height == stack[2] - 2:
        full = True
    elif value > 0:
        _store(stack, uint32(height), second)
        second = low, high, info
        low, high = total - value, total
        info = _describe(position, position, size)
        height, size = int32(height + 1), int32(size + 1)
    if total <= low or second[1] < high:
        place, enters = uint32(height - 1), False
        if total <= low:
            _keep(own, (low, high, info))
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
    return (base, height, size, record), (low, high, info), second, again, full


def _list_kernel(dtype, cell, unit, too_large):
    # what stands where the chain has no segment: sums neither fall to its start nor exceed its end
    lowest, highest = int(np.iinfo(str(cell)).min), int(np.iinfo(str(cell)).max)

    @cuda.jit(device=True)
    def empty_list():
        none = cell(lowest), cell(highest), int32(0)
        return (int32(0), int32(0), int32(0), cell(0)), none, none

    @cuda.jit(device=True)
    def list_again(values, scale, first, stack, own):
        """List the lane's run, which begins at value `first`, on its own."""
        (marks, last, second), total = empty_list(), cell(0)
        for k in range(min(RUN, len(values) - first)):
            value, again = cell(unit(values[first + k], scale)), True
            value = cell(0) if too_large(value) else value
            total = cell(total + value)
            while again:
                marks, last, second, again, _ = _step(
                    stack, own, value, int32(k), total, marks, last, second
                )
                value = cell(0)
        return marks, last, second

    @cuda.jit(**({} if simulated() else {"max_registers": _REGISTERS[cell]}))
    def list_runs_warp(values, scale, spans, sums, lists, rows, by_tile, counters, deep):
        """List the maximal segments of the lanes' runs, one tile a block.

        A lane whose list gets too long for shared memory lists its run again in device memory.
        """
        stage = cuda.shared.array(STAGED, dtype)
        counts = cuda.shared.array(THREADS, int64)
        lane, tile = uint32(cuda.threadIdx.x), int64(cuda.blockIdx.x)
        short = (cuda.shared.array(_STACK, cell), lane, DEPTH)
        run, begin, first = tile * THREADS + lane, uint32(lane * STRIDE), tile * TILE
        own, whole = (spans[run], sums[run]), first + TILE <= len(values)
        if lane == 0:
            by_tile[FARTHEST, tile] = 0
        (marks, last, second), total, position = empty_list(), cell(0), int32(-1)
        again, too_long = False, False
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
                marks, last, second, again, full = _step(
                    short, own, value, position, total, marks, last, second
                )
                too_long = too_long or full
        stack = short
        if too_long:
            number = cuda.atomic.add(counters, LONG, 1)
            if number < deep.shape[2]:
                stack = (deep, uint32(number), DEEPEST)
                marks, last, second = list_again(values, scale, run * RUN, stack, own)
        base, height, size, _ = marks
        _store(stack, uint32(height), second)
        _store(stack, uint32(height + 1), last)
        for place in range(base + 2, height + 2):
            _keep(own, _load(stack, uint32(place)))
        lists[run, SIZE], lists[run, CROSS_END] = size, 0
        _write_open(run, stack, (base, height - base), total, (lists, rows, counts, counters))

    return list_runs_warp


KINDS = (int32, int64, float32, float64)
LIST_NARROW = _list_kernel(int32, int32, _as_it_is, _too_large)
LIST_WIDE = {np.dtype(str(kind)): _list_kernel(kind, int64, to_units, _fits) for kind in KINDS}
