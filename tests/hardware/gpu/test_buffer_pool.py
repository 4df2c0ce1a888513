"""What calls on GPUs keep: threads and buffers, on a GPU or on numba's simulator."""

import subprocess
import sys
from concurrent.futures import Future
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from gpu_tools import spliced_align
from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.buffer_pool import KEPT, Room
from tests.cases import WORKED_EXAMPLE

pytestmark = pytest.mark.cuda


def test_gpus_work_beside_who_asks():
    begun, found = Event(), []

    def run(share, room):
        begun.set()
        found.append((share, told.result(), isinstance(room, Room)))

    told = Future()
    with KEPT.beside_gpus((0, 0), run, "ab"):
        assert begun.wait(60)
        assert found == []
        told.set_result(7)
    assert found == [("a", 7, True), ("b", 7, True)]


def test_gpus_end_before_an_error_of_who_asks_is_raised():
    told, found = Future(), []

    def fail():
        told.set_result(7)
        raise KeyError

    with (
        pytest.raises(KeyError),
        KEPT.beside_gpus((0,), lambda *_: found.append(told.result()), "a"),
    ):
        fail()
    assert found == [7]


def test_buffers_beyond_what_may_be_kept_are_given_back():
    room = Room()
    for buffers in (room.stays, room.turns[1]):
        buffers.copy("some", np.arange(10, dtype=np.int32))
    room.keep(80)
    assert room.stays.bytes == room.bytes == 40
    room.keep(79)
    assert room.stays.bytes == room.bytes == 0


@pytest.mark.skipif(simulated(), reason="the simulator's calls are numba's")
def test_what_numba_has_compiled_is_started_without_it():
    for _ in range(2):
        spliced_align([WORKED_EXAMPLE.case()], device="cuda:0")
    buffers = KEPT._rooms[0].turns[0]
    started = {
        kernel.py_func.__name__
        for calls in (buffers.calls, buffers.urgent)
        for kernel in calls._loaded
    }
    assert started >= {"place_sources", "sweep_pieces", "find_ends", "trace_chains", "gather"}


_ALL_GPUS = """
from gpu_tools import spliced_align
from tests.cases import WORKED_EXAMPLE

print([result.score for result in spliced_align([WORKED_EXAMPLE.case()] * 8, device="cuda")])
"""


def test_a_process_that_has_used_all_gpus_ends():
    command, root = [sys.executable, "-c", _ALL_GPUS], Path(__file__).parents[3]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    assert ended.returncode == 0, ended.stderr
    assert (
        ended.stdout == f"{[spliced_align([WORKED_EXAMPLE.case()], device='cpu')[0].score] * 8}\n"
    )
