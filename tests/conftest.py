"""Which tests can run here: those marked cuda need a GPU or numba's simulator of one."""

import pytest

from gpu_tools.device import list_gpus
from gpu_tools.errors import DeviceError


def pytest_collection_modifyitems(items):
    reason = without_cuda()
    for item in items:
        if reason and item.get_closest_marker("cuda"):
            item.add_marker(pytest.mark.skip(reason=reason))


def without_cuda():
    """Return why there is no GPU to test on, None if there is one, real or simulated."""
    try:
        list_gpus()
    except DeviceError as error:
        return str(error)
    return None
