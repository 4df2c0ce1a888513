"""Kernels that count and write maximal scoring segments, once it is known which cross runs' ends.

The arrays are those of `maximal_kernels`.
"""

from __future__ import annotations

import numpy as np
from numba import cuda, int32, int64, uint32

from gpu_tools.device import simulated
from gpu_tools.segments.maximal_kernels import (
    COUNTS,
    CROSS_END,
    CROSS_START,
    ENTERS,
    FARTHEST,
    KINDS,
    OFFSET,
    OFFSETS,
    slot,
    to_units,
)
from gpu_tools.segments.staging import PIECE, PIECES, RUN, STAGED, STRIDE, THREADS, TILE, fetch, put

SCAN_THREADS = 4 if simulated() else 1024


@cuda.jit
def enter_block(by_tile, seed):
    """Write for each tile where the last segment from the left ends; one block.

    `seed`: where one from before value 0 ends, 0 if there is none.
    """
    ends = cuda.shared.array(SCAN_THREADS, int64)
    thread, tiles = cuda.threadIdx.x, by_tile.shape[1] - 1
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
def _ones(first, after):
    """Return a word with the bits `first` to ``after - 1``, of any integers, as far as it goes."""
    low, high = min(max(first, int64(0)), int64(PIECE)), min(max(after, int64(0)), int64(PIECE))
    return uint32((int64(1) << high) - (int64(1) << low)) if low < high else uint32(0)


@cuda.jit
def count_runs_warp(words, lists, crossing, by_tile):
    """Mask what lies in a segment across an end of its run, and count the rest, one tile a block.

    The offset in a run's list becomes the number of segments that start in the tile's earlier runs.
    Of `crossing`, what lies within others gets the end 0.
    """
    ends = cuda.shared.array(THREADS, int64)
    sizes = cuda.shared.array(THREADS, int32)
    lane, tile, run = cuda.threadIdx.x, cuda.blockIdx.x, int64(cuda.grid(1))
    begin = run * RUN
    start, end = crossing[run, CROSS_START], crossing[run, CROSS_END]
    ends[lane] = end
    cuda.syncthreads()
    enter = by_tile[ENTERS, tile]
    for other in range(lane):
        enter = max(enter, ends[other])
    leave = begin + RUN
    if end > 0 and start < enter:
        crossing[run, CROSS_END] = 0
    elif end > 0:
        leave = start
    size = int32(1 if leave < begin + RUN else 0)
    for piece in range(PIECES):
        position = begin + piece * PIECE
        ones = _ones(enter - position, leave - position)
        starts = words[tile, slot(0, uint32(piece))] & ones
        words[tile, slot(0, uint32(piece))] = starts
        words[tile, slot(1, uint32(piece))] &= ones
        size = int32(size + int32(cuda.popc(starts)))
    sizes[lane] = size
    cuda.syncthreads()
    before = int32(0)
    for other in range(lane):
        before = int32(before + sizes[other])
    lists[run, OFFSET] = before
    if lane == THREADS - 1:
        by_tile[COUNTS, tile] = before + size


@cuda.jit
def offsets_block(by_tile):
    """Write how many segments start before each tile, and behind the last one; one block."""
    sums = cuda.shared.array(SCAN_THREADS, int64)
    thread, tiles = cuda.threadIdx.x, by_tile.shape[1] - 1
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
        by_tile[OFFSETS, tiles] = before


def _write_kernel(dtype):
    @cuda.jit
    def write_runs_warp(values, scale, words, lists, crossing, by_tile, result):
        """Write the segments that start in one tile a block: rows of starts, ends and sums."""
        stage = cuda.shared.array(STAGED, dtype)
        lane, tile, run = cuda.threadIdx.x, cuda.blockIdx.x, int64(cuda.grid(1))
        if by_tile[COUNTS, tile] == 0:
            return
        first, position = int64(tile) * TILE, run * RUN
        place = by_tile[OFFSETS, tile] + lists[run, OFFSET]
        whole, total = first + TILE <= len(values), int64(0)
        fetched = fetch(values, first, whole)
        for piece in range(PIECES):
            put(stage, fetched)
            if piece + 1 < PIECES:
                fetched = fetch(values, first + (piece + 1) * PIECE, whole)
            starts, lasts = (
                words[tile, slot(0, uint32(piece))],
                words[tile, slot(1, uint32(piece))],
            )
            for k in range(PIECE):
                if starts & uint32(1):
                    result[0, place], total = position, int64(0)
                total += to_units(stage[lane * STRIDE + k], scale)
                position += 1
                if lasts & uint32(1):
                    result[1, place], result[2, place] = position, total
                    place += 1
                starts, lasts = starts >> uint32(1), lasts >> uint32(1)
        if crossing[run, CROSS_END] > 0:
            for column in range(3):
                result[column, place] = crossing[run, column]

    return write_runs_warp


WRITE = {np.dtype(str(kind)): _write_kernel(kind) for kind in KINDS}
