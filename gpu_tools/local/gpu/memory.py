"""Memory of launches on GPUs."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import CudaAPIError, device_memset
from numpy.typing import DTypeLike, NDArray

_ALIGNED = 256
"""Bytes at whose multiples arrays begin."""
_ENABLED_BEFORE = 704
"""The driver's error if another library of the process has let a GPU write that memory."""


def device_arrays(filled: list[NDArray], empty: list[tuple[int, DTypeLike]]) -> list[Any]:
    """Return arrays on the current GPU, one behind the other in one allocation.

    An allocation costs more time than a copy.

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


def row_between(writer: int, reader: int, width: int):
    """Return a row of `width` zeros, int64, that one GPU writes while another one reads it.

    It lies in the memory of the reader, which polls it. If GPUs cannot write each other's memory,
    it lies in the host's.
    """
    if may_write(writer, reader):
        with cuda.gpus[reader]:
            row = cuda.device_array(width, dtype=np.int64)
            device_memset(row, 0, row.nbytes)
            cuda.synchronize()
    else:
        with cuda.gpus[writer]:
            row = cuda.mapped_array(width, dtype=np.int64, portable=True)
        row[:] = 0
    return row


@cache
def may_write(writer: int, reader: int) -> bool:
    """Let a GPU write another one's memory if it can; tell whether it can."""
    if writer == reader:
        return True
    with cuda.gpus[reader]:
        of_reader = cuda.current_context()
    with cuda.gpus[writer]:
        of_writer = cuda.current_context()
        return of_writer.can_access_peer(reader) and _enabled(of_writer, of_reader)


def _enabled(writer, reader) -> bool:
    """Let one context use another one's memory; tell whether it may."""
    try:
        writer.enable_peer_access(reader.handle)
    except CudaAPIError as error:
        return int(error.code) == _ENABLED_BEFORE
    return True
