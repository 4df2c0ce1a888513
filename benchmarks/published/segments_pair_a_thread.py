"""Maximum submatrix with one pair of columns a thread (da Luz 2013).

Each thread walks down the rows with the prefix sums of its two columns and keeps the largest
running sum; neighbouring threads have neighbouring right columns. Sums are 32-bit integers.
"""

from __future__ import annotations

import numpy as np
from numba import cuda, int32

from gpu_tools.hardware.device import simulated

THREADS = 4 if simulated() else 256


@cuda.jit
def pair_thread(prefix, bests):
    """Raise ``bests[block x]`` to the largest sum of the block's pairs.

    Parameters
    ----------
    prefix : int32 array, shape (rows, columns + 1)
        Sums of the values before each column of a row.
    bests : int32 array
        Zeros; one for each block of right columns.
    """
    left = int32(cuda.blockIdx.y)
    right = int32(cuda.blockIdx.x * THREADS + cuda.threadIdx.x)
    if right <= left or right >= prefix.shape[1]:
        return
    running, best = int32(0), int32(0)
    for row in range(prefix.shape[0]):
        gain = int32(prefix[row, right] - prefix[row, left])
        running = max(int32(running + gain), int32(0))
        best = max(best, running)
    cuda.atomic.max(bests, cuda.blockIdx.x, best)


def launch(prefix, bests) -> None:
    """Run the kernel on a device array of prefix sums."""
    lines = prefix.shape[1]
    pair_thread[(-(-lines // THREADS), lines - 1), THREADS](prefix, bests)


def best_sum(prefix) -> int:
    """Return the largest sum of a rectangle; 0 if none is positive."""
    bests = cuda.to_device(np.zeros(-(-prefix.shape[1] // THREADS), np.int32))
    launch(prefix, bests)
    return int(bests.copy_to_host().max())
