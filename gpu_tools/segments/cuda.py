"""The best segment on GPUs: four numbers a tile, one block a tile; positions are found by the host.

A thread owns a run of neighbouring values; the runs pass through shared memory piece by piece, so
that a warp reads whole lines.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numba import cuda, float32, float64, int32, int64
from numpy.typing import NDArray

from gpu_tools.device import simulated
from gpu_tools.ptx import load4
from gpu_tools.segments import core

THREADS = 4 if simulated() else 128
PIECE = 4 if simulated() else 32
"""Values of a run in shared memory at a time; a line of 128 bytes holds 32 of 4 bytes."""
PIECES = 2 if simulated() else 4
RUN = PIECE * PIECES
TILE = THREADS * RUN
NARROW = 2**30 // RUN
"""Values below this magnitude cannot overflow 32 bits within a run."""
_STRIDE = PIECE + 1  # runs that begin in different banks
_FOURS = THREADS * PIECE // 4
_STAGED = THREADS * _STRIDE
_RUNS = (4, THREADS)

to_units = cuda.jit(device=True)(core.to_units)
extend = cuda.jit(device=True)(core.extend)
join = cuda.jit(device=True)(core.join)


@cuda.jit(device=True)
def _stage(values, first, whole, stage):
    """Copy one piece of every thread's run to shared memory; zeros behind the last value."""
    for four in range(cuda.threadIdx.x, _FOURS, THREADS):
        owner, place = (4 * four) // PIECE, (4 * four) % PIECE
        at, to = first + owner * RUN + place, owner * _STRIDE + place
        if whole:
            stage[to], stage[to + 1], stage[to + 2], stage[to + 3] = load4(values, at)
        else:
            for k in range(4):
                stage[to + k] = values[at + k] if at + k < len(values) else 0


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
    stage = cuda.shared.array(_STAGED, int32)
    runs = cuda.shared.array(_RUNS, int64)
    thread, first = cuda.threadIdx.x, int64(cuda.blockIdx.x) * TILE
    whole = first + TILE <= len(values)
    total, prefix, suffix, best = int32(0), int32(0), int32(0), int32(0)
    largest = int32(0)
    for piece in range(PIECES):
        _stage(values, first + piece * PIECE, whole, stage)
        cuda.syncthreads()
        for k in range(PIECE):
            value = int32(stage[int32(thread * _STRIDE + k)])
            largest = max(largest, max(value, int32(-value - int32(1))))
            total = int32(total + value)
            prefix = max(prefix, total)
            suffix = max(int32(suffix + value), int32(0))
            best = max(best, suffix)
        cuda.syncthreads()
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
        stage = cuda.shared.array(_STAGED, dtype)
        runs = cuda.shared.array(_RUNS, int64)
        thread, first = cuda.threadIdx.x, int64(cuda.blockIdx.x) * TILE
        whole = first + TILE <= len(values)
        total, prefix, suffix, best = int64(0), int64(0), int64(0), int64(0)
        for piece in range(PIECES):
            _stage(values, first + piece * PIECE, whole, stage)
            cuda.syncthreads()
            for k in range(PIECE):
                value = to_units(stage[int32(thread * _STRIDE + k)], scale)
                total, prefix, suffix, best = extend(total, prefix, suffix, best, value)
            cuda.syncthreads()
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

    def work(ordinal: int, part: NDArray) -> NDArray[np.int64]:
        if not len(part):
            return np.empty((0, 4), np.int64)
        with cuda.gpus[ordinal]:
            return summarise(cuda.to_device(part), scale).copy_to_host()

    with ThreadPoolExecutor(len(ordinals)) as pool:
        return np.concatenate(list(pool.map(work, ordinals, parts)))
