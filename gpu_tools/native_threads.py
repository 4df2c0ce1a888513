"""Threads that run compiled code alone, and threads of Python that wait in compiled code.

A thread of Python takes the interpreter's lock when it begins and when it ends, and to hand that on
takes longer than to make a thread: 50 to 80 us, one thread after the other. These begin as a tree:
each thread begins two others before it works.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache

import numpy as np
from numba import cfunc, njit, types
from numba.core.ccallback import CFunc
from numba.extending import register_jitable
from numpy.typing import NDArray

import gpu_tools.kernel_cache  # noqa: F401  (processes do not hinder each other)
from gpu_tools import simd
from gpu_tools.foreign import address_of, call_at, give_way

_LIBRARY = ctypes.CDLL(None)

# columns of the table of threads: what each is known by to the system, 0 if it could not be begun,
# its number, how many there are, what threads begin with, and the functions and numbers it needs
_HANDLE, _NUMBER, _COUNT, _BEGINNING, _CREATE, _FUNCTION, _GIVEN, _FIELDS = range(8)


@register_jitable
def wait_for(told):
    """Wait in compiled code until the first of some int64 is not 0.

    Awake: a thread that sleeps can take a millisecond to wake up.
    """
    while simd.fetch_add(told, 0, 0) == 0:
        give_way()


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
        self._task, self._threads = task, np.zeros((0, _FIELDS), dtype=np.int64)

    def begin(self, count: int) -> None:
        """Begin so many threads, or fewer if the system does not let them begin."""
        if count < 1:
            return
        self._threads = np.zeros((count, _FIELDS), dtype=np.int64)
        self._threads[:, _NUMBER] = np.arange(count)
        self._threads[:, _COUNT:] = (
            count, _beginning().address, address_of(_LIBRARY.pthread_create),
            self._task.function.address, self._task.address,
        )  # fmt: skip
        first = self._threads.__array_interface__["data"][0]
        given = map(ctypes.c_void_p, (first, 0, _beginning().address, first))
        if _LIBRARY.pthread_create(*given) != 0:
            self._threads = self._threads[:0]

    @property
    def rest(self) -> tuple[int, int, int, NDArray[np.int64]]:
        """What `do_rest` takes."""
        join = address_of(_LIBRARY.pthread_join)
        return self._task.function.address, self._task.address, join, self._threads

    def join(self) -> None:
        """Wait until all have ended."""
        _join(*self.rest[2:])


class Copy:
    """Values that a thread copies beside the one that asks for it, which must not change them."""

    def __init__(self, values: NDArray):
        self._copied = np.empty_like(values)
        begun = np.zeros(1, dtype=np.int64)
        copy = address_of(_LIBRARY.memcpy)
        self._task = Task(_copying(), (values, self._copied, begun), (copy,))
        self._thread = Helpers(self._task)
        self._thread.begin(1)

    def result(self) -> NDArray:
        """Return the copy, once it is made; from then on the values may change."""
        if self._task is not None:
            self._task.do()
            self._thread.join()
            self._task = None
        return self._copied


@cache
def _copying() -> CFunc:
    return cfunc(types.void(types.intp), cache=True)(_copy)


def _copy(address):
    values, size, copied, _, begun, _, copy = simd.bytes_at(address, 7 * 8).view(np.int64)
    if simd.fetch_add(simd.bytes_at(begun, 8).view(np.int64), 0, 1) == 0:
        call_at(copy, (copied, values, size))


@register_jitable
def do_rest(rest):
    """Do what is left of a task in compiled code, and wait for the threads that do it as well."""
    function, given, join, threads = rest
    call_at(function, (given,))
    join_all(join, threads)


@register_jitable
def join_all(join, threads):
    """Wait until threads have ended that were not waited for."""
    # a thread comes behind the one that begins it
    for k in range(len(threads)):
        if threads[k, _HANDLE] != 0:
            call_at(join, (threads[k, _HANDLE], 0))
            threads[k, _HANDLE] = 0


@njit(cache=True, nogil=True)
def _join(join, threads):
    join_all(join, threads)


@cache
def _beginning() -> CFunc:
    """Return what a thread calls with its row of the table, compiled when first asked for."""
    return cfunc(types.void(types.intp), cache=True)(_begin_others_and_work)


def _begin_others_and_work(address):
    own = simd.bytes_at(address, 8 * _FIELDS).view(np.int64)
    for other in range(2 * own[_NUMBER] + 1, min(2 * own[_NUMBER] + 3, own[_COUNT])):
        row = address + 8 * _FIELDS * (other - own[_NUMBER])
        if call_at(own[_CREATE], (row, 0, own[_BEGINNING], row)) != 0:
            simd.bytes_at(row, 8).view(np.int64)[0] = 0
    call_at(own[_FUNCTION], (own[_GIVEN],))
