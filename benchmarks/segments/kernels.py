"""Searches of values on a GPU: the one module of these benchmarks that uses what is not public."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

ONE = np.int64(1)


def best_segment(resident) -> Callable[[], object]:
    """Return a function that starts the kernel of the best segment on values on the GPU."""
    from numba import cuda

    from gpu_tools.segments.gpu import TILE, summarise

    found = cuda.device_array((-(-len(resident) // TILE), 4), np.int64)
    return lambda: summarise(resident, ONE, found)


def submatrix_search(matrix) -> Callable[[], tuple[int, tuple]]:
    """Return a search of a matrix that is on the GPU; it finds score and rectangle."""
    from numba import cuda

    from gpu_tools.segments import gpu
    from gpu_tools.segments.submatrix import orient

    resident, oriented = cuda.to_device(matrix), orient(matrix)

    def search():
        return gpu.search(oriented, [gpu.measure(resident, ONE)], ONE, (0,))

    return search


def prefix_sums(matrix):
    """Return the prefix sums that the published design starts from, on the GPU."""
    from numba import cuda

    from gpu_tools.segments import gpu

    measured = gpu.measure(cuda.to_device(matrix), ONE)
    return gpu.prefix_of(measured, ONE, np.dtype(np.int32))
