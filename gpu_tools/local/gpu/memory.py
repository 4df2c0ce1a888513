"""Memory that one GPU writes and another one reads."""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import CudaAPIError, device_memset

_ENABLED_BEFORE = 704
"""The driver's error if another library of the process has let a GPU write that memory."""


def row_between(writer: int, reader: int, width: int, is_direct: bool):
    """Return a row of `width` zeros, int64, that one GPU writes while another one reads it.

    It lies in the memory of the reader, which polls it, if the writer can write it directly, and in
    the host's memory if not, see `may_write`.
    """
    if is_direct:
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
