"""Work shared among processes: order, who works, and errors of and ends of processes."""

import os
import signal
import time
from multiprocessing import active_children

import pytest

from gpu_tools.errors import DeviceError, InputError
from gpu_tools.hardware.processes import map_on_processes


def test_results_are_in_order_and_others_work_after_the_first_item():
    known = []

    def square(item):
        time.sleep(0.01 * (item % 3))
        known.append(item)  # what it holds is inherited
        return item**2, os.getpid(), known[0]

    squares, owners, firsts = zip(*map_on_processes(2, square, range(10)), strict=True)
    assert squares == tuple(k**2 for k in range(10))
    assert owners[0] == os.getpid()
    assert os.getpid() not in owners[1:]
    assert firsts == (0,) * 10


def test_one_process_does_all():
    assert [*map_on_processes(1, lambda item: os.getpid(), range(3))] == [os.getpid()] * 3


def test_an_error_arrives_and_no_process_is_left():
    def check(item):
        if item:
            raise InputError("bad", record=f"r{item}")

    with pytest.raises(InputError, match="record r1: bad"):
        list(map_on_processes(2, check, range(9)))
    assert not active_children()


def test_a_killed_process_is_told():
    def end(item):
        if item:
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(DeviceError, match="memory is short"):
        list(map_on_processes(2, end, range(3)))


def test_who_stops_early_waits_for_nothing():
    began = time.monotonic()
    next(results := map_on_processes(2, lambda item: time.sleep(60 * (item > 1)), range(4)))
    next(results)
    results.close()
    assert time.monotonic() - began < 10
    assert not active_children()
