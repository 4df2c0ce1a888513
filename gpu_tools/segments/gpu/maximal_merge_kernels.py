"""The kernel that merges lists of open segments; the arrays are those of `maximal_kernels`."""

from __future__ import annotations

from numba import cuda, int64

from gpu_tools.hardware.device import simulated
from gpu_tools.segments import recurrence as core
from gpu_tools.segments.gpu.maximal_kernels import (
    COUNT,
    CROSS_END,
    CROSS_SCORE,
    CROSS_START,
    END,
    FARTHEST,
    HIGH,
    LOW,
    OFFSET,
    START,
    TOTAL,
    USED,
)
from gpu_tools.segments.gpu.staging import RUN, TILE

FAN = 2 if simulated() else 8
"""Lists that are merged into one, neighbours in a tile if they are those of runs."""
STAGED = 8 if simulated() else 128
"""Rows that shared memory has room for."""

append_open = cuda.jit(device=True)(core.append_open)


@cuda.jit(device=True)
def _note_crossing(segment, lists, by_tile):
    """Write a segment across runs' ends to the run that it starts in."""
    start, end, low, high = segment
    run = start // RUN
    lists[run, CROSS_START], lists[run, CROSS_END], lists[run, CROSS_SCORE] = start, end, high - low
    cuda.atomic.max(by_tile, (FARTHEST, start // TILE), end)


@cuda.jit(device=True)
def _set_row(rows, k, row):
    rows[k, START], rows[k, END], rows[k, LOW], rows[k, HIGH] = row


@cuda.jit(device=True)
def _row(rows, k):
    return rows[k, START], rows[k, END], rows[k, LOW], rows[k, HIGH]


@cuda.jit(device=True)
def _bring(staged, own, given, part):
    """Write those of a list's rows that belong to a part of its group's to shared memory.

    Parameters
    ----------
    staged : array
    own : tuple of int
        Where in the group's rows the list begins and ends, sums before and after the list, and
        where it begins in `given`. The last row is the list's end, as `core.append_open` takes it.
    given : array
    part : int
        Where in the group's rows the part begins.
    """
    begin, end, before, after, offset = own
    for k in range(max(begin, part), min(end, part + STAGED)):
        if k == end - 1:
            _set_row(staged, k - part, (int64(0), int64(-1), after, after))
        else:
            start, stop, low, high = _row(given, offset + k - begin)
            _set_row(staged, k - part, (start, stop, before + low, before + high))


@cuda.jit
def merge_lists_warp(lists, rows, by_tile, counters, level):
    """Merge `FAN` neighbouring lists a block, and tell which segments cross their ends.

    All lanes bring rows to shared memory, the first one merges them: where they are if all have
    room there, for there are never more merged rows than read ones.

    `level`: the level's number, its first list, and the first one to be made.
    """
    staged = cuda.shared.array((STAGED, 4), int64)
    counts = cuda.shared.array(FAN, int64)
    totals = cuda.shared.array(FAN, int64)
    number, first_list, first_made = level
    lane, child = cuda.threadIdx.x, first_list + int64(cuda.grid(1))
    given, made = rows[number % 2], rows[(number + 1) % 2]
    offset = int64(0)
    counts[lane], totals[lane] = 0, 0
    if child < first_made:
        offset = lists[child, OFFSET]
        counts[lane], totals[lane] = lists[child, COUNT] + 1, lists[child, TOTAL]
    cuda.syncthreads()
    begin, length, before, total = int64(0), int64(0), int64(0), int64(0)
    for other in range(FAN):
        begin += counts[other] if other < lane else 0
        before += totals[other] if other < lane else 0
        length, total = length + counts[other], total + totals[other]
    own = begin, begin + counts[lane], before, before + totals[lane], offset
    cuda.syncthreads()
    if lane == 0:  # runs of a tile have their rows side by side: there is as much room again
        size = length - min(int64(FAN), first_made - child)
        totals[0] = cuda.atomic.add(counters, USED + number, size) if number else offset
    state, part = (int64(0), int64(0), int64(0), int64(0)), int64(0)
    while part < length:
        cuda.syncthreads()
        _bring(staged, own, given, part)
        cuda.syncthreads()
        for k in range(min(length - part, STAGED) if lane == 0 else 0):
            row = _row(staged, k)
            if length <= STAGED:
                state, segment = append_open(staged, 0, state, row)
            else:
                state, segment = append_open(made, totals[0], state, row)
            if segment[0] != row[0]:
                _note_crossing(segment, lists, by_tile)
        part += STAGED
    if lane == 0:
        group = first_made + int64(cuda.blockIdx.x)
        lists[group, OFFSET], lists[group, COUNT], lists[group, TOTAL] = totals[0], state[2], total
        counts[0] = state[2]
    cuda.syncthreads()
    if length <= STAGED:
        for k in range(lane, counts[0], FAN):
            _set_row(made, totals[0] + k, _row(staged, k))
