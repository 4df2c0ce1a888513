"""Maximum segment by five numbers a processor (Alves, Cáceres and Song; da Luz 2013 on a GPU).

One launch of 90 blocks of 128 threads. Each thread reduces its share of the values to five numbers
with the same largest sums: best beginning, gap, best, gap, best end. The five numbers of a block's
threads lie in shared memory and are solved again, and so are those of all blocks, by the host.
Sums are 32-bit integers, as in the source.
"""

from __future__ import annotations

import numpy as np
from numba import cuda, int32
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated

BLOCKS, THREADS = (2, 4) if simulated() else (90, 128)
PIECE = 32
_STRIDE = PIECE + 1
_STAGED = THREADS * _STRIDE
_FIVES = 5 * THREADS


@cuda.jit
def five_numbers_block(values, share, fives):
    """Write the five numbers of each block's values, shape (blocks, 5); `share` values a thread."""
    stage = cuda.shared.array(_STAGED, int32)
    shared = cuda.shared.array(_FIVES, int32)
    thread, first = int32(cuda.threadIdx.x), cuda.blockIdx.x * THREADS * share
    total, prefix, suffix, best = int32(0), int32(0), int32(0), int32(0)
    for piece in range(0, share, PIECE):
        for k in range(thread, THREADS * PIECE, THREADS):
            owner, place = k // PIECE, k % PIECE
            at = first + owner * share + piece + place
            inside = piece + place < share and at < len(values)
            stage[owner * _STRIDE + place] = values[at] if inside else int32(0)
        cuda.syncthreads()
        for k in range(PIECE):
            value = stage[int32(thread * _STRIDE + k)]
            total = int32(total + value)
            prefix = max(prefix, total)
            suffix = max(int32(suffix + value), int32(0))
            best = max(best, suffix)
        cuda.syncthreads()
    shared[5 * thread], shared[5 * thread + 1], shared[5 * thread + 2] = prefix, -best, best
    shared[5 * thread + 3], shared[5 * thread + 4] = int32(total - prefix - suffix), suffix
    cuda.syncthreads()
    if thread == 0:
        total, prefix, suffix, best = int32(0), int32(0), int32(0), int32(0)
        for k in range(_FIVES):
            total = int32(total + shared[k])
            prefix = max(prefix, total)
            suffix = max(int32(suffix + shared[k]), int32(0))
            best = max(best, suffix)
        block = cuda.blockIdx.x
        fives[block, 0], fives[block, 1], fives[block, 2] = prefix, -best, best
        fives[block, 3], fives[block, 4] = int32(total - prefix - suffix), suffix


def launch(values, fives) -> None:
    """Run the kernel on a device array of int32."""
    share = -(-len(values) // (BLOCKS * THREADS))
    five_numbers_block[BLOCKS, THREADS](values, share, fives)


def solve(fives: NDArray) -> int:
    """Return the largest sum of the blocks' numbers."""
    best = running = 0
    for value in fives.ravel().tolist():
        running = max(running + value, 0)
        best = max(best, running)
    return best


def best_sum(values) -> int:
    """Return the largest sum of a segment of a device array of int32; 0 if none is positive."""
    fives = cuda.device_array((BLOCKS, 5), np.int32)
    launch(values, fives)
    return solve(fives.copy_to_host())
