"""The best segment on GPUs: the sums of each tile, from which the host finds its position.

A thread block is a warp and owns a tile. Each lane owns a run of neighbouring values of the tile.
The runs pass through shared memory stage by stage, so that the lanes read whole lines of memory.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
from numba import cuda, float32, float64, int32, int64
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.buffer_pool import BufferPool, Buffers, borrowed_pools
from gpu_tools.hardware.gpu.dispatch import map_buffers, map_gpus
from gpu_tools.hardware.gpu.intrinsics.words import WARP, kernel
from gpu_tools.segments import recurrence as core
from gpu_tools.segments.gpu.batches import batches_of

STAGE = 32
"""Values of a run that are in shared memory at a time; a line of 128 bytes holds 32 of 4 bytes."""
RUN = STAGE * (2 if simulated() else 8)
TILE = WARP * RUN
_STRIDE = STAGE + 1  # runs begin in different banks of shared memory
_STAGED = WARP * _STRIDE
_RUNS = (4, WARP)

to_units = cuda.jit(device=True)(core.to_units)
extend = cuda.jit(device=True)(core.extend)
join = cuda.jit(device=True)(core.join)


@cuda.jit(device=True)
def _fill_stage(stage, values, first):
    """Bring the next values of all runs to shared memory, zeros behind the last value.

    `first` is the position of the first of them.
    """
    cuda.syncthreads()
    for k in range(cuda.threadIdx.x, WARP * STAGE, WARP):
        at = first + k // STAGE * RUN + k % STAGE
        value = values[at] if at < len(values) else values.dtype.type(0)
        stage[k // STAGE * _STRIDE + k % STAGE] = value
    cuda.syncthreads()


@cuda.jit(device=True)
def _join_warp(four, runs):
    """Join the four numbers of all lanes' runs; the result is valid in lane 0."""
    lane = cuda.threadIdx.x
    for k in range(4):
        runs[k, lane] = four[k]
    width = 1
    while width < WARP:
        cuda.syncthreads()
        if lane % (2 * width) == 0:
            other = lane + width
            right = (runs[0, other], runs[1, other], runs[2, other], runs[3, other])
            four = join(four, right)
            for k in range(4):
                runs[k, lane] = four[k]
        width *= 2
    return four


def _kernel(dtype):
    @kernel(dtype)
    def summarise_warp(values, scale, summaries):
        """Write the four numbers of one tile a warp, shape (tiles, 4)."""
        stage = cuda.shared.array(_STAGED, dtype)
        runs = cuda.shared.array(_RUNS, int64)
        lane, first = cuda.threadIdx.x, int64(cuda.blockIdx.x) * TILE
        total, prefix, suffix, best = int64(0), int64(0), int64(0), int64(0)
        for begin in range(0, RUN, STAGE):
            _fill_stage(stage, values, first + begin)
            for k in range(lane * _STRIDE, lane * _STRIDE + STAGE):
                value = to_units(stage[k], scale)
                total, prefix, suffix, best = extend(total, prefix, suffix, best, value)
        four = _join_warp((total, prefix, suffix, best), runs)
        if lane == 0:
            for k in range(4):
                summaries[cuda.blockIdx.x, k] = four[k]

    return summarise_warp


KERNELS = {np.dtype(str(kind)): _kernel(kind) for kind in (int32, int64, float32, float64)}


def summarise(values, scale, found, stream=0) -> None:
    """Launch the kernel for an array on the current GPU; `found` takes the tiles' numbers."""
    tiles = -(-len(values) // TILE)
    KERNELS[values.dtype][tiles, WARP, stream](values, scale, found)


def summaries(
    values: NDArray, scale, ordinals: tuple[int, ...], threads: int = 1
) -> NDArray[np.int64]:
    """Return the four numbers of every tile, shape (tiles, 4).

    Each GPU takes an equal share; `threads` of the host copy the values.
    """
    tiles, n_gpus = -(-len(values) // TILE), len(ordinals)
    bounds = [TILE * (tiles * k // n_gpus) for k in range(n_gpus + 1)]
    shares = [values[a:b] for a, b in pairwise(bounds)]

    def work(share: NDArray, pool: BufferPool) -> list[NDArray[np.int64]]:
        streams = pool.staging[: max(threads // n_gpus, 1)]
        batches = [share[a * TILE : b * TILE] for a, b in batches_of(share, TILE)]
        return map_buffers(streams, partial(_summarise_batch, scale), batches)

    with borrowed_pools(ordinals) as pools:
        found = map_gpus(ordinals, work, shares, pools)
    return np.concatenate([batch for batches in found for batch in batches])


def _summarise_batch(scale, buffers: Buffers, values: NDArray) -> NDArray[np.int64]:
    """Return the four numbers of every tile of values on the host."""
    tiles = -(-len(values) // TILE)
    found = buffers.array("summaries", tiles, np.int64, 4)
    summarise(buffers.staged("values", values), scale, found, buffers.stream)
    on_host = buffers.fetch("summaries", found, 4 * tiles)
    buffers.stream.synchronize()
    return on_host.reshape(-1, 4).copy()
