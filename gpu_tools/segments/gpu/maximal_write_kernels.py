"""Kernels that count and write maximal scoring segments, once it is known which cross runs' ends.

The arrays are those of `maximal_kernels`.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from gpu_tools.hardware.device import simulated
from gpu_tools.segments.gpu.maximal_kernels import (
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
from gpu_tools.segments.gpu.staging import RUN, THREADS

SCAN_THREADS = 4 if simulated() else 1024
WRITE_THREADS = THREADS if simulated() else 128
"""More than the lanes of a tile: writing waits for memory."""


def _scan_block(join):
    """Return a function that joins what the threads of a block have."""

    @cuda.jit(device=True)
    def scan(parts, own):
        """Return what the threads up to this one have, joined, and write it to `parts`."""
        thread, width = cuda.threadIdx.x, 1
        parts[thread] = own
        cuda.syncthreads()
        while width < SCAN_THREADS:
            other = parts[thread - width] if thread >= width else int64(0)
            cuda.syncthreads()
            own = join(other, own)
            parts[thread] = own
            cuda.syncthreads()
            width *= 2
        return own

    return scan


@cuda.jit(device=True)
def _larger(left, right):
    return max(left, right)


@cuda.jit(device=True)
def _sum(left, right):
    return left + right


_largest_so_far, _sum_so_far = _scan_block(_larger), _scan_block(_sum)


@cuda.jit(device=True)
def _share(tiles):
    """Return the thread's equal share of the tiles: the first, and the one behind the last."""
    share = (tiles + SCAN_THREADS - 1) // SCAN_THREADS
    first = cuda.threadIdx.x * share
    return min(first, tiles), min(first + share, tiles)


@cuda.jit
def enter_block(by_tile, seed):
    """Write for each tile where the last segment from the left ends; one block.

    `seed`: where one from before value 0 ends, 0 if there is none.
    """
    ends = cuda.shared.array(SCAN_THREADS, int64)
    thread, largest = cuda.threadIdx.x, int64(0)
    first, last = _share(by_tile.shape[1])
    for tile in range(first, last):
        largest = max(largest, by_tile[FARTHEST, tile])
    _largest_so_far(ends, largest)
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
    first, last = _share(by_tile.shape[1])
    total = int64(0)
    for tile in range(first, last):
        total += by_tile[COUNTS, tile]
    before = _sum_so_far(sums, total) - total
    for tile in range(first, last):
        by_tile[OFFSETS, tile] = before
        before += by_tile[COUNTS, tile]
    if cuda.threadIdx.x == SCAN_THREADS - 1:
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
def write_tile_block(spans, sums, lists, by_tile, counters, result):
    """Write the segments that start in one tile a block.

    `result`: room for all starts, then all ends, then all sums; without it nothing is written.
    """
    offsets = cuda.shared.array(THREADS, int32)
    kept = cuda.shared.array(THREADS, int32)
    firsts = cuda.shared.array(THREADS, int32)
    thread, tile, found = cuda.threadIdx.x, int64(cuda.blockIdx.x), counters[FOUND]
    if 3 * found > result.size:
        return
    if thread < THREADS:
        run = tile * THREADS + thread
        offsets[thread], kept[thread] = lists[run, OFFSET], lists[run, KEPT]
        firsts[thread] = lists[run, COUNT]
    cuda.syncthreads()
    to = by_tile[OFFSETS, tile]
    for place in range(thread, by_tile[COUNTS, tile], WRITE_THREADS):
        lane = _run_of(offsets, place)
        run, k, at = tile * THREADS + lane, int32(place - offsets[lane]), to + place
        if k < kept[lane]:
            slot = int32(firsts[lane] + k)
            span = spans[run, slot]
            result[at] = run * RUN + (span & START_BYTE)
            result[found + at] = run * RUN + (span >> BYTE) + 1
            result[2 * found + at] = sums[run, slot]
        else:
            for column in range(3):
                result[column * found + at] = lists[run, CROSS_START + column]
