"""Small inputs take the CPU under auto, unless a GPU is at work already."""

import pytest

from gpu_tools.estimate.calibrate import call_of
from gpu_tools.estimate.model import LIST
from gpu_tools.hardware import device
from gpu_tools.hardware.device import Device, unless_small, was_small

START = 0.5
GPU, AUTO, CPU = Device("cuda", (0,)), Device("cuda", (0,), True), Device("cpu")


@pytest.fixture(autouse=True)
def _new_process(monkeypatch):
    monkeypatch.setattr(device, "_STATE", {"started": False, "small": False})
    monkeypatch.setattr(device, "simulated", lambda: False)
    monkeypatch.delenv(device.GPU_START, raising=False)


def test_small_inputs_take_the_cpu_where_the_user_leaves_the_choice():
    assert unless_small(AUTO, 0.01, START) == CPU
    assert was_small()
    assert unless_small(GPU, 0.01, START) == GPU
    assert unless_small(CPU, 100, START) == CPU


def test_large_inputs_start_the_gpu_and_small_ones_follow():
    assert unless_small(AUTO, 0.01, START) == CPU
    assert unless_small(AUTO, 10.0, START) == AUTO
    assert unless_small(AUTO, 0.01, START) == AUTO
    assert not was_small()


def test_timed_calls_take_the_gpu():
    call_of(LIST, [], "cpu")
    assert unless_small(AUTO, 0.01, START) == CPU
    call_of(LIST, [], "cuda:0")
    assert unless_small(AUTO, 0.01, START) == AUTO


@pytest.mark.parametrize(("value", "device"), [("0", AUTO), ("20", CPU), ("nothing", AUTO)])
def test_the_environment_says_what_starting_takes(monkeypatch, value, device):
    monkeypatch.setenv(device.GPU_START, value)
    assert unless_small(AUTO, 10.0, START) == device


def test_the_simulator_is_always_used(monkeypatch):
    monkeypatch.setattr(device, "simulated", lambda: True)
    assert unless_small(AUTO, 0, START) == AUTO
