"""Spliced alignment with `Calls`, whose driver has the simulator's kernels and the host's memory.

On a GPU all tests go through them; here this one sees what they hand over.
"""

import ctypes
import time
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda

from gpu_tools import SplicedScoring, case_columns, spliced_align
from gpu_tools.hardware.cpu.foreign import address_of
from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu import buffer_pool as cuda_kept
from gpu_tools.hardware.gpu import driver_calls
from gpu_tools.spliced.gpu import batches as cuda_batches
from gpu_tools.spliced.gpu import schedule as cuda_schedule
from gpu_tools.spliced.gpu import work as cuda_work
from tests import cases

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not simulated(), reason="a GPU has a driver of its own"),
]
NUMBER = ctypes.c_int64
KERNELS: list[tuple] = []
"""Each with the types and dimensions of its arrays; its number is its function's handle."""


class HostPlaced(driver_calls.Placed):
    """An array of the simulator, as numba's kernels would take it."""

    def __init__(self, array):
        values = array._ary
        self.array, self.address = array, values.ctypes.data
        self.kind = values.dtype, values.ndim
        place = values.size, values.itemsize, self.address
        self.words = 0, 0, *place, *values.shape, *values.strides


class HostCalls(driver_calls.Calls):
    """Calls for a stream that only has a number, and for kernels of the simulator."""

    numbers = count(1)

    def __init__(self, stream):
        super().__init__(SimpleNamespace(handle=next(self.numbers)))

    def _function(self, kernel, kinds):
        if (kernel, kinds) not in KERNELS:
            KERNELS.append((kernel, kinds))
        return KERNELS.index((kernel, kinds))


def _launch(function, blocks, _, __, x, y, ___, ____, stream, given, _____):
    kernel, kinds = KERNELS[function]
    places = iter((NUMBER * 200).from_address(given))
    arrays = [_array(places, *kind) for kind in kinds]
    kernel[blocks, (x, y) if y > 1 else x](*arrays)


def _array(places, dtype, dimensions):
    """Return an array from the words that a kernel is given for it."""
    words = [NUMBER.from_address(next(places)).value for _ in range(5 + 2 * dimensions)]
    _, _, size, itemsize, address, *shape = words
    assert itemsize == dtype.itemsize
    memory = (ctypes.c_uint8 * (size * itemsize)).from_address(address)
    return np.frombuffer(memory, dtype=dtype).reshape(shape[:dimensions])


def _memory(free, total):
    for place in (free, total):
        NUMBER.from_address(place).value = 1 << 40


@pytest.fixture
def asked(monkeypatch):
    """The functions of the driver that were called, in order, with what they were given."""
    called, functions = [], {}
    work = {
        driver_calls.COPY_IN: (4, lambda to, values, size, _: ctypes.memmove(to, values, size)),
        driver_calls.COPY_OUT: (4, lambda to, values, size, _: ctypes.memmove(to, values, size)),
        driver_calls.FILL: (4, lambda to, byte, size, _: ctypes.memset(to, byte, size)),
        driver_calls.LAUNCH: (11, _launch),
        driver_calls.RECORD: (2, lambda *_: None),
        driver_calls.WAIT: (3, lambda *_: None),
        driver_calls.SYNCHRONIZE: (1, lambda *_: None),
        driver_calls.MEMORY: (2, _memory),
    }

    def function(name, parameters, do):
        @ctypes.CFUNCTYPE(ctypes.c_int32, *[NUMBER] * parameters)
        def called_by_compiled_code(*given):
            called.append((name, given))
            do(*given)
            return 0

        return called_by_compiled_code

    functions = {name: function(name, *own) for name, own in work.items()}
    addresses = {name: address_of(own) for name, own in functions.items()}
    monkeypatch.setattr(driver_calls, "_driver", lambda: addresses)
    monkeypatch.setattr(driver_calls, "simulated", lambda: False)
    monkeypatch.setattr(type(cuda.event()), "handle", 9, raising=False)
    for name, ours in (("Placed", HostPlaced), ("SimulatedCalls", HostCalls)):
        monkeypatch.setattr(cuda_kept, name, ours)
    monkeypatch.setattr(cuda_kept, "urgent_stream", lambda: None)
    monkeypatch.setattr(cuda_schedule, "KEPT", cuda_kept.Keeper())
    yield called
    del functions


def test_what_kernels_are_given(asked, monkeypatch):
    """Several batches, for which programs are laid out late; then the same once more."""
    lay_out = cuda_work.Work.lay_out
    monkeypatch.setattr(cuda_work.Work, "lay_out", lambda own: time.sleep(0.2) or lay_out(own))
    monkeypatch.setattr(cuda_batches, "BYTES_PER_BATCH", 1)
    rng = np.random.default_rng(17)
    few = cases.random_example(rng, 30, 6, 3, 8, n_rate=0.0)
    made = [example.case() for example in (cases.WORKED_EXAMPLE, few, cases.WORKED_EXAMPLE)]
    expected, columns = spliced_align(made, device="cpu"), case_columns(made)
    for _ in range(2):
        asked.clear()
        found = cuda_schedule.on_cuda(columns, SplicedScoring(), (0,), 1, lambda cells: None)
        assert list(found) == expected
        kernels = [KERNELS[g[0]][0].fn.__name__ for name, g in asked if name == driver_calls.LAUNCH]
        for name in ("place_sources", "sweep_pieces", "find_ends", "trace_chains", "gather"):
            assert kernels.count(name) == 3, name
    scores = cuda_schedule.scores_on_cuda(columns, SplicedScoring(), (0,), 1)
    assert scores.tolist() == [result.score for result in expected]
