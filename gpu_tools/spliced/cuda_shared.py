"""What the GPUs of a call share: memory of the host that copies fast, and work done by threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
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


@contextmanager
def helped(pool: ThreadPoolExecutor, count: int, work: Callable[[], None]) -> Iterator[None]:
    """Have other threads do what they and this one share among themselves.

    At the end it is all done if this thread calls ``work`` as well; a thread that comes too late is
    not waited for.
    """
    others = [pool.submit(work) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            if not other.cancel():
                other.result()
