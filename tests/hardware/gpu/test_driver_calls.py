"""Calls of the CUDA driver that compiled code makes, with a driver that works on the host."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("numba_cuda")

from gpu_tools.hardware.cpu.foreign import address_of
from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu import driver_calls
from gpu_tools.hardware.gpu.driver_calls import CudaAPIError

pytestmark = pytest.mark.skipif(simulated(), reason="the simulator has no such calls")
NUMBER = ctypes.c_int64
STREAM = SimpleNamespace(handle=77)


class Array(driver_calls.Placed):
    """What stands for an array of a GPU, in the host's memory."""

    def __init__(self, values):
        self.values = values
        memory = SimpleNamespace(device_pointer_value=values.ctypes.data)
        what = {"dtype": values.dtype, "size": values.size}
        what |= {"shape": values.shape, "strides": values.strides}
        kind = values.dtype, values.ndim
        super().__init__(SimpleNamespace(gpu_data=memory, _numba_type_=kind, **what))


class Kernel:
    """A kernel that numba has compiled for some arrays, or not yet."""

    def __init__(self, number, *arrays):
        function = SimpleNamespace(handle=number)
        code = SimpleNamespace(get_cufunc=lambda: function)
        kinds = tuple(array.kind for array in arrays)
        self.overloads = {kinds: SimpleNamespace(_codelibrary=code)} if arrays else {}
        self.by_numba = []

    def __getitem__(self, shape):
        return lambda *arrays: self.by_numba.append((shape, arrays))


@pytest.fixture
def made(monkeypatch):
    """What the driver was asked, in order; copies are made, and it fails where it waits for 13."""
    asked = []

    def function(name, count):
        @ctypes.CFUNCTYPE(ctypes.c_int32, *[NUMBER] * count)
        def called(*given):
            asked.append((name, *given))
            if "Memcpy" in name:
                ctypes.memmove(*given[:3])
            if name == driver_calls.FILL:
                ctypes.memset(*given[:3])
            if name == driver_calls.MEMORY:
                for place, size in zip(given, (3 << 40, 4 << 40), strict=True):
                    NUMBER.from_address(place).value = size
            if name == driver_calls.LAUNCH:
                places = (NUMBER * 100).from_address(given[9])
                n_words = sum(5 + 2 * array.values.ndim for array in of_kernels[given[0]])
                words = [NUMBER.from_address(places[k]).value for k in range(n_words)]
                asked[-1] = (name, *given[:9], words, given[10])
            return 700 if name == driver_calls.WAIT and given[1] == 13 else 0

        return called

    counts = {
        "cuMemcpyHtoDAsync_v2": 4, "cuMemcpyDtoHAsync_v2": 4, "cuMemsetD8Async": 4,
        "cuLaunchKernel": 11, "cuEventRecord": 2, "cuStreamWaitEvent": 3, "cuStreamSynchronize": 1,
        "cuMemGetInfo_v2": 2,
    }  # fmt: skip
    functions = {name: function(name, count) for name, count in counts.items()}
    addresses = {name: address_of(function) for name, function in functions.items()}
    monkeypatch.setattr(driver_calls, "_driver", lambda: addresses)
    of_kernels = {}
    yield SimpleNamespace(asked=asked, of_kernels=of_kernels)
    del functions


def test_nothing_happens_before_the_start(made):
    calls = driver_calls.Calls(STREAM)
    array, found = Array(np.zeros(4, np.int32)), np.empty(2, np.int32)
    values = np.arange(3, dtype=np.int32)
    calls.copy_in(array, values)
    calls.copy_out(found, array)
    assert made.asked == []
    values[:] = 5, 6, 7
    calls.start()
    assert array.values.tolist() == [5, 6, 7, 0]
    assert found.tolist() == [5, 6]
    calls.start()
    assert len(made.asked) == 2


def test_calls_are_made_in_their_order(made):
    calls, others = driver_calls.Calls(STREAM), driver_calls.Calls(SimpleNamespace(handle=78))
    event, array = SimpleNamespace(handle=9), Array(np.zeros(5, np.uint8))
    calls.wait(event, others)
    calls.fill(array, 0xAB, 3)
    others.fill(array, 0xCD, 2)
    others.record(event)
    calls.finish()
    place = array.values.ctypes.data
    assert made.asked == [
        ("cuMemsetD8Async", place, 0xCD, 2, 78),
        ("cuEventRecord", 9, 78),
        ("cuStreamWaitEvent", 77, 9, 0),
        ("cuMemsetD8Async", place, 0xAB, 3, 77),
        ("cuStreamSynchronize", 77),
    ]
    assert array.values.tolist() == [0xAB] * 3 + [0] * 2


def test_a_kernel_is_told_what_arrays_are(made):
    calls = driver_calls.Calls(STREAM)
    flat, rows = Array(np.zeros(7, np.int16)), Array(np.zeros((2, 3), np.int64))
    made.of_kernels[5] = flat, rows
    kernel = Kernel(5, flat, rows)
    calls.launch(kernel, 40, (32, 2), flat, rows)
    calls.launch(kernel, 41, 128, flat, rows)
    calls.start()
    places = flat.values.ctypes.data, rows.values.ctypes.data
    words = [0, 0, 7, 2, places[0], 7, 2, 0, 0, 6, 8, places[1], 2, 3, 24, 8]
    assert made.asked == [
        ("cuLaunchKernel", 5, 40, 1, 1, 32, 2, 1, 0, 77, words, 0),
        ("cuLaunchKernel", 5, 41, 1, 1, 128, 1, 1, 0, 77, words, 0),
    ]
    assert kernel.by_numba == []


def test_numba_starts_what_it_has_not_compiled_yet(made):
    """Behind what was put down before it; an array of another type is another kernel."""
    calls = driver_calls.Calls(STREAM)
    some, other = Array(np.zeros(7, np.int16)), Array(np.zeros(7, np.int32))
    made.of_kernels[5] = (some,)
    kernel = Kernel(5, some)
    calls.launch(kernel, 1, 32, some)
    calls.launch(kernel, 2, 32, other)
    assert [call[0] for call in made.asked] == ["cuLaunchKernel"]
    assert kernel.by_numba == [((2, 32, STREAM), (other.array,))]


def test_memory_is_asked_for(made):
    calls, answer = driver_calls.Calls(STREAM), np.zeros(2, np.int64)
    calls.ask_memory(answer)
    calls.start()
    assert answer.tolist() == [3 << 40, 4 << 40]


def test_streams_are_started_together(made):
    one, other = (driver_calls.Calls(SimpleNamespace(handle=handle)) for handle in (5, 6))
    array = Array(np.zeros(5, np.uint8))
    other.fill(array, 2, 3)
    one.fill(array, 1, 1)
    driver_calls.start_together([one, other])
    assert [call[4] for call in made.asked] == [5, 6]
    assert array.values.tolist() == [2, 2, 2, 0, 0]


def test_many_launches_are_made_when_the_room_for_their_arrays_is_full(made):
    calls, array = driver_calls.Calls(STREAM), Array(np.zeros(7, np.int16))
    made.of_kernels[5] = (array,) * 10
    kernel = Kernel(5, *made.of_kernels[5])
    for blocks in range(100):
        calls.launch(kernel, blocks, 32, *made.of_kernels[5])
    assert 0 < len(made.asked) < 100
    calls.start()
    words = [0, 0, 7, 2, array.values.ctypes.data, 7, 2] * 10
    assert [call[2] for call in made.asked] == list(range(100))
    assert all(call[10] == words for call in made.asked)


def test_the_first_call_that_fails_is_named_and_ends_them(made):
    calls, array = driver_calls.Calls(STREAM), Array(np.zeros(5, np.uint8))
    others = driver_calls.Calls(STREAM)
    calls.wait(SimpleNamespace(handle=12), others)
    calls.wait(SimpleNamespace(handle=13), others)
    calls.fill(array, 1, 5)
    with pytest.raises(CudaAPIError, match="cuStreamWaitEvent failed with error 700"):
        calls.start()
    assert not array.values.any()
    assert [call[2] for call in made.asked] == [12, 13]
    calls.start()
    assert len(made.asked) == 2
