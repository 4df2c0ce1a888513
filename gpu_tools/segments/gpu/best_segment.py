"""The best segment on GPUs: four numbers a tile, one block a tile; the host finds the positions.

A thread owns a run of neighbouring values (`gpu_tools.segments.gpu.staging`).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numba import cuda, float32, float64, int32, int64
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.dispatch import map_gpus
from gpu_tools.segments import recurrence as core
from gpu_tools.segments.gpu.staging import (
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
_RUNS = (4, THREADS)
_PIECE = int32(PIECE)

to_units = cuda.jit(device=True)(core.to_units)
extend = cuda.jit(device=True)(core.extend)
join = cuda.jit(device=True)(core.join)


@cuda.jit(device=True)
def _join_block(four, runs):
    """Join the four numbers of all threads' runs; the result is valid in thread 0."""
    thread = cuda.threadIdx.x
    for k in range(4):
        runs[k, thread] = four[k]
    width = 1
    while width < THREADS:
        cuda.syncthreads()
        if thread % (2 * width) == 0:
            other = thread + width
            right = (runs[0, other], runs[1, other], runs[2, other], runs[3, other])
            four = join(four, right)
            for k in range(4):
                runs[k, thread] = four[k]
        width *= 2
    return four


@cuda.jit(device=True)
def _run_from_memory(values, scale, begin):
    """Return the four numbers of a run in 64 bits, read where it lies."""
    total, prefix, suffix, best = int64(0), int64(0), int64(0), int64(0)
    for k in range(begin, min(begin + RUN, len(values))):
        value = to_units(values[k], scale)
        total, prefix, suffix, best = extend(total, prefix, suffix, best, value)
    return total, prefix, suffix, best


@cuda.jit
def summarise_narrow_block(values, scale, summaries):
    """Write the four numbers of one tile of int32 a block, shape (tiles, 4).

    Runs are summed up in 32 bits; a thread that meets too large a value sums its run up again.
    """
    stage = cuda.shared.array(STAGED, int32)
    runs = cuda.shared.array(_RUNS, int64)
    thread, first = cuda.threadIdx.x, int64(cuda.blockIdx.x) * TILE
    whole = first + TILE <= len(values)
    total, prefix, suffix, best = int32(0), int32(0), int32(0), int32(0)
    largest = int32(0)
    fetched, begin = fetch(values, first, whole), int32(thread * STRIDE)
    for piece in range(1, PIECES + 1):
        put(stage, fetched)
        if piece < PIECES:
            fetched = fetch(values, first + piece * PIECE, whole)
        for k in range(_PIECE):
            value = int32(stage[begin + k])
            largest = max(largest, max(value, int32(-value - int32(1))))
            total = int32(total + value)
            prefix = max(prefix, total)
            suffix = max(int32(suffix + value), int32(0))
            best = max(best, suffix)
    if largest < NARROW:
        four = (int64(total), int64(prefix), int64(suffix), int64(best))
    else:
        four = _run_from_memory(values, scale, first + thread * RUN)
    four = _join_block(four, runs)
    if thread == 0:
        for k in range(4):
            summaries[cuda.blockIdx.x, k] = four[k]


def _wide_kernel(dtype):
    @cuda.jit
    def summarise_wide_block(values, scale, summaries):
        """Write the four numbers of one tile a block, shape (tiles, 4), in 64 bits throughout."""
        stage = cuda.shared.array(STAGED, dtype)
        runs = cuda.shared.array(_RUNS, int64)
        thread, first = cuda.threadIdx.x, int64(cuda.blockIdx.x) * TILE
        whole = first + TILE <= len(values)
        total, prefix, suffix, best = int64(0), int64(0), int64(0), int64(0)
        fetched, begin = fetch(values, first, whole), int32(thread * STRIDE)
        for piece in range(1, PIECES + 1):
            put(stage, fetched)
            if piece < PIECES:
                fetched = fetch(values, first + piece * PIECE, whole)
            for k in range(_PIECE):
                value = to_units(stage[begin + k], scale)
                total, prefix, suffix, best = extend(total, prefix, suffix, best, value)
        four = _join_block((total, prefix, suffix, best), runs)
        if thread == 0:
            for k in range(4):
                summaries[cuda.blockIdx.x, k] = four[k]

    return summarise_wide_block


KERNELS = {np.dtype(np.int32): summarise_narrow_block} | {
    np.dtype(str(kind)): _wide_kernel(kind) for kind in (int64, float32, float64)
}


def summarise(values, scale):
    """Launch the kernel for an array on the current GPU; return the tiles' numbers, there too."""
    tiles = -(-len(values) // TILE)
    found = cuda.device_array((tiles, 4), np.int64)
    KERNELS[values.dtype][tiles, THREADS](values, scale, found)
    return found


def summaries(values: NDArray, scale, ordinals: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the four numbers of every tile, shape (tiles, 4); each GPU takes an equal share."""
    tiles = -(-len(values) // TILE)
    bounds = [TILE * (tiles * k // len(ordinals)) for k in range(len(ordinals) + 1)]
    parts = [values[a:b] for a, b in pairwise(bounds)]

    def work(part: NDArray) -> NDArray[np.int64]:
        if not len(part):
            return np.empty((0, 4), np.int64)
        return summarise(cuda.to_device(part), scale).copy_to_host()

    return np.concatenate(map_gpus(ordinals, work, parts))
