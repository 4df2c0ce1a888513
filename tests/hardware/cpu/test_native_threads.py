"""Threads of compiled code, and copies that one makes."""

import numpy as np
import pytest

pytest.importorskip("numba_cuda")

from numba import cfunc, types

from gpu_tools.hardware.cpu import native_threads, simd
from gpu_tools.hardware.cpu.foreign import address_of, call_at
from gpu_tools.hardware.cpu.native_threads import Copy, Helpers, Task, _begin_threads, _do_rest

USLEEP = address_of(native_threads._LIBRARY.usleep)


@cfunc(types.void(types.intp))
def sleep_often(address):
    """Begin with items until there is none left; each takes 2 ms before it counts as done."""
    given = simd.bytes_at(address, 4 * 8).view(np.int64)
    items = simd.bytes_at(given[0], given[1]).view(np.int64)
    while simd.fetch_add(items, 0, 1) < given[2]:
        call_at(given[3], (2000,))
        simd.fetch_add(items, 1, 1)


@pytest.mark.parametrize("begun", [0, 1, 2, 9])
def test_what_is_left_is_done_when_all_threads_have_done_theirs(begun):
    """They begin before there is a task, and are not joined before it is looked at."""
    items, helpers = np.zeros(2, np.int64), Helpers()
    helpers.begin(begun)
    _do_rest(helpers.give(Task(sleep_often, (items,), (30, USLEEP))))
    assert items[1] == 30
    helpers.join()
    assert items[1] == 30


def test_threads_without_a_task_end():
    helpers = Helpers()
    helpers.begin(5)
    helpers.join()
    helpers.join()


def test_nothing_goes_that_threads_use():
    items, helpers = np.zeros(2, np.int64), Helpers()
    helpers.begin(1)
    helpers.give(Task(sleep_often, (items,), (5, USLEEP)))
    del helpers
    assert items[1] == 5


@pytest.mark.parametrize("count", [0, 1, 5_000_000])
def test_a_copy_is_the_same(count):
    values = np.arange(count, dtype=np.int32)
    copy = Copy(values)
    _begin_threads(copy.threads)
    expected = values.copy()
    found = copy.result()
    values[:] = 7
    assert (found == expected).all()
    assert copy.result() is found
