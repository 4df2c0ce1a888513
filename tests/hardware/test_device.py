"""Which device does the work: what can be used, what fails, and what is too small for a GPU."""

import pytest

from gpu_tools.errors import DeviceError
from gpu_tools.estimate.figures import call_of
from gpu_tools.estimate.model import LIST
from gpu_tools.hardware import device
from gpu_tools.hardware.device import (
    Device,
    Gpu,
    resolve,
    unless_small,
    was_small,
    with_enough_work,
)
from tests.hardware.test_gpu_faults import CudaAPIError

START = 0.5
GPU, AUTO, CPU = Device("cuda", (0,)), Device("cuda", (0,), True), Device("cpu")


@pytest.fixture
def new_process(monkeypatch):
    monkeypatch.setattr(device, "_STATE", {"started": False, "small": False})
    monkeypatch.setattr(device, "simulated", lambda: False)
    monkeypatch.delenv(device.GPU_START, raising=False)


def test_small_inputs_take_the_cpu_where_the_user_leaves_the_choice(new_process):
    assert unless_small(AUTO, 0.01, START) == CPU
    assert was_small()
    assert unless_small(GPU, 0.01, START) == GPU
    assert unless_small(CPU, 100, START) == CPU


def test_large_inputs_start_the_gpu_and_small_ones_follow(new_process):
    assert unless_small(AUTO, 0.01, START) == CPU
    assert unless_small(AUTO, 10.0, START) == AUTO
    assert unless_small(AUTO, 0.01, START) == AUTO
    assert not was_small()


def test_timed_calls_take_the_gpu(new_process):
    call_of(LIST, [], "cpu")
    assert unless_small(AUTO, 0.01, START) == CPU
    call_of(LIST, [], "cuda:0")
    assert unless_small(AUTO, 0.01, START) == AUTO


@pytest.mark.parametrize(("value", "expected"), [("0", AUTO), ("20", CPU), ("nothing", AUTO)])
def test_the_environment_says_what_starting_takes(new_process, monkeypatch, value, expected):
    monkeypatch.setenv(device.GPU_START, value)
    assert unless_small(AUTO, 10.0, START) == expected


def test_the_simulator_is_always_used(new_process, monkeypatch):
    monkeypatch.setattr(device, "simulated", lambda: True)
    assert unless_small(AUTO, 0, START) == AUTO


class Cuda:
    """Stands for numba.cuda where there is no GPU, or none that can be used."""

    def __init__(self, available, gpus=(), error=""):
        self.available, self.gpus, self.error = available, gpus, error

    def is_available(self):
        return self.available

    def detect(self):
        raise RuntimeError(self.error)


H200 = Gpu(0, "NVIDIA H200", "9.0", 1, "13.0", "a")
V100 = Gpu(1, "Tesla V100", "7.0", 1, "13.0", "b")
OLD_DRIVER = Gpu(0, "NVIDIA H200", "9.0", 1, "12.4", "a")


@pytest.fixture
def machine(monkeypatch):
    """Return a function that has the machine hold some GPUs."""

    def hold(*gpus, available=True, error="", visible=None):
        monkeypatch.setattr(device, "simulated", lambda: False)
        monkeypatch.setattr(device, "_import_cuda", lambda: Cuda(available, gpus, error))
        monkeypatch.setattr(device, "_describe", lambda ordinal: gpus[ordinal])
        monkeypatch.setattr(device, "_needs_of_compiler", lambda: (13, (7, 5)))
        if visible is None:
            monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        else:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)

    return hold


NO_DEVICE = "Error at driver init: Call to cuInit results in CUDA_ERROR_NO_DEVICE (100)"
UNUSABLE = {
    "old driver": (
        ((OLD_DRIVER,), {}), "the driver is for CUDA 12.4; expected one for CUDA 13.0 or later"
    ),
    "old GPU": (
        ((V100,), {}), "Tesla V100 has compute capability 7.0; expected 7.5 or later"
    ),
    "hidden": (
        ((), {"available": False, "error": NO_DEVICE, "visible": ""}),
        "CUDA_VISIBLE_DEVICES is '', which names no GPU of this machine",
    ),
    "wrong number": (((), {"visible": "7"}), "CUDA_VISIBLE_DEVICES is '7', which names no GPU"),
    "none": (((), {}), "the CUDA driver reports none"),
    "too old for cuInit": (
        ((), {"available": False, "error": "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803):"}),
        "expected a restart after the driver's update",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNUSABLE)
def test_why_no_gpu_can_be_used(machine, case):
    (gpus, more), expected = UNUSABLE[case]
    machine(*gpus, **more)
    with pytest.raises(DeviceError) as error:
        resolve("cuda")
    assert str(error.value).startswith("no usable CUDA device: ")
    assert expected in str(error.value)
    assert resolve("auto").kind == "cpu"


def test_a_gpu_that_is_too_old_is_left_out(machine):
    machine(H200, V100)
    assert resolve("auto") == device.Device("cuda", (0,), True)
    with pytest.raises(DeviceError, match="there is no GPU 1"):
        resolve("cuda:1")


def test_a_gpu_that_fails_while_it_is_described(machine, monkeypatch):
    def lost(ordinal):
        raise CudaAPIError("Call to cuDeviceTotalMem results in CUDA_ERROR_DEVICE_LOST")

    machine(H200)
    monkeypatch.setattr(device, "_describe", lost)
    with pytest.raises(DeviceError, match="it has disappeared"):
        resolve("cuda")
    assert resolve("auto").kind == "cpu"


@pytest.mark.parametrize(
    ("cells", "expected"), [(0, (3,)), (19, (3,)), (20, (3, 1)), (99, (3, 1, 2))]
)
def test_gpus_with_little_to_do_are_left_out(cells, expected, monkeypatch):
    told: list[str] = []
    monkeypatch.setattr(device._log, "info", lambda text, *parts: told.append(text % parts))
    where = Device("cuda", (3, 1, 2))
    assert with_enough_work(where, cells, 10).ordinals == expected
    assert [text[:9] for text in told] == [f"{len(expected)} of 3 GP"] * (len(expected) < 3)
    assert with_enough_work(Device("cpu"), cells, 10) == Device("cpu")
