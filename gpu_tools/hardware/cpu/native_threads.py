"""Threads that run compiled code alone, and threads of Python that wait in compiled code.

A thread of Python takes the interpreter's lock when it begins and when it ends, and to hand that on
takes longer than to make a thread: 50 to 80 us, one thread after the other. These begin as a tree:
each thread begins two others before it works. Fifteen still need a millisecond on a machine with
64 cores (`spliced-steps-h200.json`), so they may begin before there is something to do.
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

import gpu_tools.hardware.compile_cache  # noqa: F401  (processes do not hinder each other)
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.cpu.foreign import address_of, call_at, give_way

_LIBRARY = ctypes.CDLL(None)

# columns of the table of threads: what each is known by to the system, 0 if it could not be begun,
# its number; where the table is, how many there are, what they begin with, what makes them, and
# where their orders are
_HANDLE, _NUMBER, _PLACE, _COUNT, _BEGINNING, _CREATE, _ORDERS, _FIELDS = range(8)

# orders: whether there are some, the function to call and what it is given, the threads at work
_TOLD, _FUNCTION, _GIVEN, _AT_WORK, _N_ORDERS = range(5)


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


class Helpers:
    """Threads that do a task; until they have one they wait for it awake."""

    def __init__(self):
        self._orders, self._task = np.zeros(_N_ORDERS, dtype=np.int64), None
        self._threads = np.zeros((0, _FIELDS), dtype=np.int64)

    def begin(self, count: int) -> None:
        """Begin so many threads, or fewer if the system does not let them begin."""
        if count < 1:
            return
        _begin_threads(self.prepared(count))

    def prepared(self, count: int) -> NDArray[np.int64]:
        """Return what `begin_threads` takes to begin so many."""
        self._threads = np.zeros((count, _FIELDS), dtype=np.int64)
        self._threads[:, _NUMBER] = np.arange(count)
        self._threads[:, _PLACE:] = (
            self._threads.__array_interface__["data"][0], count, _beginning().address,
            address_of(_LIBRARY.pthread_create), self._orders.__array_interface__["data"][0],
        )  # fmt: skip
        return self._threads

    def give(self, task: Task) -> NDArray[np.int64]:
        """Have the threads do a task; return what `do_rest` takes."""
        self._task = task
        self._orders[_FUNCTION : _GIVEN + 1] = task.function.address, task.address
        _tell(self._orders)
        return self._orders

    def finish(self) -> None:
        """Do what is left of the task, and wait until all have ended."""
        _do_rest(self._orders)
        self.join()

    def join(self) -> None:
        """Wait until all have ended, which are left without a task if they have none."""
        _tell_and_join(self._orders, address_of(_LIBRARY.pthread_join), self._threads)
        self._threads = self._threads[:0]

    def __del__(self):
        # an error may have kept the owner from it, and they use what goes with this object
        if len(self._threads):
            self.join()


class Copy:
    """Values that a thread copies beside the one that asks for it, which must not change them.

    Attributes
    ----------
    threads : ndarray of int64
        What `begin_threads` takes to begin the one that copies.
    """

    def __init__(self, values: NDArray):
        self._copied = np.empty_like(values)
        begun = np.zeros(1, dtype=np.int64)
        copy = address_of(_LIBRARY.memcpy)
        self._thread: Helpers | None = Helpers()
        self._thread.give(Task(_copying(), (values, self._copied, begun), (copy,)))
        self.threads = self._thread.prepared(1)

    def result(self) -> NDArray:
        """Return the copy, once it is made; from then on the values may change."""
        if self._thread is not None:
            self._thread.finish()
            self._thread = None
        return self._copied


@cache
def _copying() -> CFunc:
    return cfunc(types.void(types.intp), cache=True)(_copy)


def _copy(address):
    values, size, copied, _, begun, _, copy = simd.bytes_at(address, 7 * 8).view(np.int64)
    if simd.fetch_add(simd.bytes_at(begun, 8).view(np.int64), 0, 1) == 0:
        call_at(copy, (copied, values, size))


@register_jitable
def do_rest(orders):
    """Do what is left of a task in compiled code, and wait for the threads that are at work."""
    call_at(orders[_FUNCTION], (orders[_GIVEN],))
    # one that comes to it from now on finds nothing left to begin
    while simd.fetch_add(orders, _AT_WORK, 0) != 0:
        give_way()


@njit(cache=True, nogil=True)
def _do_rest(orders):
    do_rest(orders)


@njit(cache=True)
def _tell(orders):
    simd.fetch_add(orders, _TOLD, 1)


@njit(cache=True, nogil=True)
def _tell_and_join(orders, join, threads):
    simd.fetch_add(orders, _TOLD, 1)
    # a thread comes behind the one that begins it
    for k in range(len(threads)):
        if threads[k, _HANDLE] != 0:
            call_at(join, (threads[k, _HANDLE], 0))


@cache
def _beginning() -> CFunc:
    """Return what a thread calls with its row of the table, compiled when first asked for."""
    return cfunc(types.void(types.intp), cache=True)(_begin_others_and_work)


@register_jitable
def begin_threads(threads):
    """Begin threads that were prepared, or fewer if the system does not let them begin."""
    if len(threads):
        _begin(threads[0], 0)


@njit(cache=True, nogil=True)
def _begin_threads(threads):
    begin_threads(threads)


@register_jitable
def _begin(own, number):
    """Begin the thread of a number, given any thread's row of the table."""
    row = own[_PLACE] + 8 * _FIELDS * number
    if call_at(own[_CREATE], (row, 0, own[_BEGINNING], row)) != 0:
        simd.bytes_at(row, 8).view(np.int64)[_HANDLE] = 0


def _begin_others_and_work(address):
    own = simd.bytes_at(address, 8 * _FIELDS).view(np.int64)
    for other in range(2 * own[_NUMBER] + 1, min(2 * own[_NUMBER] + 3, own[_COUNT])):
        _begin(own, other)
    orders = simd.bytes_at(own[_ORDERS], 8 * _N_ORDERS).view(np.int64)
    wait_for(orders)
    if orders[_FUNCTION] != 0:
        simd.fetch_add(orders, _AT_WORK, 1)
        call_at(orders[_FUNCTION], (orders[_GIVEN],))
        simd.fetch_add(orders, _AT_WORK, -1)
