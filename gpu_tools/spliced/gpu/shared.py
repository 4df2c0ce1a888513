"""What the GPUs of a call share: memory of the host that copies fast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numba import cuda
from numpy.typing import NDArray


class Arena:
    """Pinned arrays of the host that are made once and used again, by one call at a time.

    All GPUs copy from them.
    """

    def __init__(self):
        self._arrays: dict[str, NDArray[np.uint8]] = {}

    def array(self, name: str, count: int, dtype: type, ordinal: int) -> NDArray:
        """Return the array of a name; nothing is in it. A GPU's driver makes it."""
        size = max(int(count), 1) * np.dtype(dtype).itemsize
        if name not in self._arrays or len(self._arrays[name]) < size:
            with cuda.gpus[ordinal]:
                self._arrays[name] = cuda.pinned_array(size, dtype=np.uint8)
        return self._arrays[name][:size].view(dtype)[:count]


_ARENAS: list[Arena] = []


@contextmanager
def lent_arena() -> Iterator[Arena]:
    """Lend an arena that no other call uses."""
    try:
        arena = _ARENAS.pop()
    except IndexError:
        arena = Arena()
    try:
        yield arena
    finally:
        _ARENAS.append(arena)
