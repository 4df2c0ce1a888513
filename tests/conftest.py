"""Which tests can run here: those marked cuda need a GPU or numba's simulator of one."""

import pytest

from gpu_tools.device import list_gpus, simulated
from gpu_tools.errors import DeviceError


def pytest_collection_modifyitems(items):
    for marker, reason in (("cuda", without_gpu()), ("cudasim", without_simulator())):
        for item in items:
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def without_gpu():
    """Return why there is no GPU to test on, None if there is one, real or simulated."""
    try:
        list_gpus()
    except DeviceError as error:
        return str(error)
    return None


def without_simulator():
    """Return why the simulator cannot be tested, None if it can."""
    return None if simulated() else "NUMBA_ENABLE_CUDASIM is not set"
