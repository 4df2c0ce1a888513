"""Kernels that count and write maximal scoring segments, once it is known which cross runs' ends.

The arrays are those of `maximal_kernels`.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from gpu_tools.device import simulated
from gpu_tools.segments.maximal_kernels import (
    BYTE,
    COUNT,
    COUNTS,
    CROSS_END,
    CROSS_START,
    ENTERS,
    FARTHEST,
    FOUND,
    KEPT,
    OFFSET,
    OFFSETS,
    SIZE,
    START_BYTE,
)
from gpu_tools.segments.staging import RUN, THREADS

SCAN_THREADS = 4 if simulated() else 1024


@cuda.jit
def enter_block(by_tile, seed):
    """Write for each tile where the last segment from the left ends; one block.

    `seed`: where one from before value 0 ends, 0 if there is none.
    """
    ends = cuda.shared.array(SCAN_THREADS, int64)
    thread, tiles = cuda.threadIdx.x, by_tile.shape[1]
    share = (tiles + SCAN_THREADS - 1) // SCAN_THREADS
    first, last = thread * share, min((thread + 1) * share, tiles)
    largest = int64(0)
    for tile in range(first, last):
        largest = max(largest, by_tile[FARTHEST, tile])
    ends[thread] = largest
    cuda.syncthreads()
    width = 1
    while width < SCAN_THREADS:
        other = ends[thread - width] if thread >= width else int64(0)
        cuda.syncthreads()
        ends[thread] = max(ends[thread], other)
        cuda.syncthreads()
        width *= 2
    largest = max(seed, ends[thread - 1] if thread > 0 else int64(0))
    for tile in range(first, last):
        by_tile[ENTERS, tile] = largest
        largest = max(largest, by_tile[FARTHEST, tile])


@cuda.jit(device=True)
def _before(spans, run, size, place):
    """Return how many of a run's `size` segments start before a place in the run."""
    low, high = int32(0), int32(size)
    while low < high:
        middle = int32((low + high) // 2)
        if spans[run, middle] & START_BYTE < place:
            low = int32(middle + 1)
        else:
            high = middle
    return low


@cuda.jit
def count_runs_warp(spans, lists, by_tile):
    """Count what lies in no segment across an end of its run, one tile a block.

    Of the run's list, which has been merged, the offset becomes the number of segments that start
    in the tile's earlier runs, and the count the first of its own that are kept.
    """
    ends = cuda.shared.array(THREADS, int64)
    sizes = cuda.shared.array(THREADS, int32)
    lane, tile, run = cuda.threadIdx.x, cuda.blockIdx.x, int64(cuda.grid(1))
    start, end, size = lists[run, CROSS_START], lists[run, CROSS_END], lists[run, SIZE]
    ends[lane] = end
    cuda.syncthreads()
    enter, begin = by_tile[ENTERS, tile], run * RUN
    for other in range(lane):
        enter = max(enter, ends[other])
    leaves = end > 0 and start >= enter
    first = _before(spans, run, size, enter - begin) if enter > begin else int32(0)
    if leaves:
        size = _before(spans, run, size, start - begin)
    size = max(size - first, 0)
    lists[run, COUNT], lists[run, KEPT] = first, size
    sizes[lane] = int32(size + (1 if leaves else 0))
    cuda.syncthreads()
    before = int32(0)
    for other in range(lane):
        before = int32(before + sizes[other])
    lists[run, OFFSET] = before
    if lane == THREADS - 1:
        by_tile[COUNTS, tile] = before + sizes[lane]


@cuda.jit
def offsets_block(by_tile, counters):
    """Write how many segments start before each tile, and how many there are; one block."""
    sums = cuda.shared.array(SCAN_THREADS, int64)
    thread, tiles = cuda.threadIdx.x, by_tile.shape[1]
    share = (tiles + SCAN_THREADS - 1) // SCAN_THREADS
    first, last = thread * share, min((thread + 1) * share, tiles)
    total = int64(0)
    for tile in range(first, last):
        total += by_tile[COUNTS, tile]
    sums[thread] = total
    cuda.syncthreads()
    width = 1
    while width < SCAN_THREADS:
        other = sums[thread - width] if thread >= width else int64(0)
        cuda.syncthreads()
        sums[thread] += other
        cuda.syncthreads()
        width *= 2
    before = sums[thread] - total
    for tile in range(first, last):
        by_tile[OFFSETS, tile] = before
        before += by_tile[COUNTS, tile]
    if thread == SCAN_THREADS - 1:
        counters[FOUND] = before


@cuda.jit(device=True)
def _run_of(offsets, place):
    """Return the last run whose segments begin at a place or before."""
    low, high = int32(0), int32(THREADS)
    while high - low > 1:
        middle = int32((low + high) // 2)
        if offsets[middle] <= place:
            low = middle
        else:
            high = middle
    return low


@cuda.jit
def write_tile_warp(spans, sums, lists, by_tile, result):
    """Write the segments that start in one tile a block: rows of starts, ends and sums."""
    offsets = cuda.shared.array(THREADS, int32)
    lane, tile = cuda.threadIdx.x, cuda.blockIdx.x
    offsets[lane] = lists[int64(cuda.grid(1)), OFFSET]
    cuda.syncthreads()
    to = by_tile[OFFSETS, tile]
    for place in range(lane, by_tile[COUNTS, tile], THREADS):
        lane_of_run = _run_of(offsets, place)
        run = int64(tile) * THREADS + lane_of_run
        k = place - offsets[lane_of_run]
        if k < lists[run, KEPT]:
            slot = lists[run, COUNT] + k
            span = spans[run, slot]
            result[0, to + place] = run * RUN + (span & START_BYTE)
            result[1, to + place] = run * RUN + (span >> BYTE) + 1
            result[2, to + place] = sums[run, slot]
        else:
            for column in range(3):
                result[column, to + place] = lists[run, CROSS_START + column]
