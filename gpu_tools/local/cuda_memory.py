"""One piece of GPU memory for all arrays of a launch: asking for it costs more than copying."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda
from numpy.typing import DTypeLike, NDArray

_ALIGNED = 256
"""Bytes at whose multiples arrays begin."""


def device_arrays(filled: list[NDArray], empty: list[tuple[int, DTypeLike]]) -> list[Any]:
    """Return arrays on the current GPU, one behind the other in memory.

    Parameters
    ----------
    filled : list of ndarray
        Arrays to copy there, all at once.
    empty : list of (int, dtype)
        Elements and type of arrays that nobody has written to.

    Returns
    -------
    list of DeviceNDArray
        Those that were copied, then the others.
    """
    kinds = [(a.shape, a.dtype) for a in filled] + [((n,), np.dtype(kind)) for n, kind in empty]
    sizes = [int(np.prod(shape)) * kind.itemsize for shape, kind in kinds]
    starts = np.cumsum([0] + [-(-size // _ALIGNED) * _ALIGNED for size in sizes]).tolist()
    memory = cuda.device_array(max(starts[-1], 1), dtype=np.uint8)
    staged = np.empty(starts[len(filled)], dtype=np.uint8)
    for array, start in zip(filled, starts, strict=False):
        staged[start : start + array.nbytes] = (
            np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        )
    memory[: len(staged)].copy_to_device(staged)
    return [
        memory[start : start + size].view(kind).reshape(shape)
        for (shape, kind), start, size in zip(kinds, starts, sizes, strict=False)
    ]
