"""Maximum submatrix with one pair of columns a thread (da Luz 2013).

Each thread walks down the rows with the prefix sums of its two columns and keeps the largest
running sum; neighbouring threads have neighbouring right columns. Sums are 32-bit integers.
"""

from __future__ import annotations

import numpy as np
from numba import cuda, int32

from gpu_tools.hardware.device import simulated

THREADS = 4 if simulated() else 256


@cuda.jit(device=True)
def _by_maxima(running, best, gain):
    """Return the running and the best sum after a value, by two maxima."""
    running = max(int32(running + gain), int32(0))
    return running, max(best, running)


@cuda.jit(device=True)
def _by_branches(running, best, gain):
    """Return the same by two branches, as Kadane's algorithm is written in a sequential program."""
    running = int32(running + gain)
    if running < 0:
        running = int32(0)
    elif running > best:
        best = running
    return running, best


def _pairs(step):
    """Return the kernel that takes a step down the rows in one way."""

    @cuda.jit
    def pair_thread(prefix, bests):
        left = int32(cuda.blockIdx.y)
        right = int32(cuda.blockIdx.x * THREADS + cuda.threadIdx.x)
        if right <= left or right >= prefix.shape[1]:
            return
        running, best = int32(0), int32(0)
        for row in range(prefix.shape[0]):
            gain = int32(prefix[row, right] - prefix[row, left])
            running, best = step(running, best, gain)
        cuda.atomic.max(bests, cuda.blockIdx.x, best)

    return pair_thread


KERNELS = {"maxima": _pairs(_by_maxima), "branches": _pairs(_by_branches)}
"""Kernels that raise ``bests[block x]`` to the largest sum of the block's pairs.

`prefix` is an int32 array, shape (rows, columns + 1), of the sums of the values before each column
of a row; `bests` are zeros, one for each block of right columns.
"""


def launch(prefix, bests, step: str = "maxima") -> None:
    """Run a kernel on a device array of prefix sums."""
    lines = prefix.shape[1]
    KERNELS[step][(-(-lines // THREADS), lines - 1), THREADS](prefix, bests)


def best_sum(prefix, step: str = "maxima") -> int:
    """Return the largest sum of a rectangle; 0 if none is positive."""
    bests = cuda.to_device(np.zeros(-(-prefix.shape[1] // THREADS), np.int32))
    launch(prefix, bests, step)
    return int(bests.copy_to_host().max())
