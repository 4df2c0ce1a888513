"""Which tests can run here: those marked cuda need a GPU or its simulator. Kernels without one."""

import os

import pytest

from gpu_tools.cli.common.warming import IN_RUN
from gpu_tools.errors import DeviceError
from gpu_tools.hardware.device import list_gpus
from tests.kernels import compiler_to_ptx

# whatever the tests call may be the first to compile it, and then says so
os.environ[IN_RUN] = "1"


@pytest.fixture
def to_ptx(monkeypatch):
    """Return a function of a kernel and its arguments' types that compiles it to PTX."""
    return compiler_to_ptx(monkeypatch)


def pytest_collection_modifyitems(config, items):
    """Leave the tests marked cuda out where there is nothing to run them on."""
    if without_cuda():
        needy = [item for item in items if item.get_closest_marker("cuda")]
        config.hook.pytest_deselected(items=needy)
        items[:] = [item for item in items if not item.get_closest_marker("cuda")]


def pytest_report_header(config):
    """Say once why tests are left out."""
    reason = without_cuda()
    return f"CUDA: {f'none, its tests are left out ({reason})' if reason else 'yes'}"


def without_cuda():
    """Return why there is no GPU to test on, None if there is one, real or simulated."""
    try:
        list_gpus()
    except DeviceError as error:
        return str(error)
    return None
