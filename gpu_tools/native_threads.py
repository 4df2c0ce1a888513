"""Threads that run compiled code alone.

A thread of Python takes the interpreter's lock when it begins and when it ends, and to hand that on
takes longer than to make a thread: 50 to 80 us, one thread after the other.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
from numba.core.ccallback import CFunc
from numpy.typing import NDArray

_LIBRARY = ctypes.CDLL(None)
_LIBRARY.pthread_create.argtypes = [ctypes.c_void_p] * 4
_LIBRARY.pthread_join.argtypes = [ctypes.c_ulong, ctypes.c_void_p]


class Task:
    """What threads share among themselves.

    Parameters
    ----------
    function : CFunc
        Takes the address of int64 numbers: the address and the bytes of each array, then the other
        numbers. It does what nobody has begun with, until nothing is left to begin.
    arrays : sequence of ndarray
        C-contiguous.
    numbers : sequence of int
    """

    def __init__(self, function: CFunc, arrays: Sequence[NDArray], numbers: Sequence[int]):
        self.function, self._arrays = function, arrays
        places = [(a.__array_interface__["data"][0], a.nbytes) for a in arrays]
        self._given = np.array([*sum(places, ()), *numbers], dtype=np.int64)
        self.address = self._given.__array_interface__["data"][0]

    def do(self) -> None:
        """Do what is left to begin with, without Python's lock."""
        self.function.ctypes(self.address)


class Helpers:
    """Threads that do a task."""

    def __init__(self, task: Task):
        self._task, self._threads = task, []

    def begin(self, count: int) -> None:
        """Begin so many threads, or fewer if the system does not let them begin."""
        for _ in range(count):
            thread = ctypes.c_ulong()
            given = ctypes.addressof(thread), None, self._task.function.address, self._task.address
            if _LIBRARY.pthread_create(*given) == 0:
                self._threads.append(thread)

    def join(self) -> None:
        """Wait until all have ended."""
        while self._threads:
            _LIBRARY.pthread_join(self._threads.pop(), None)
