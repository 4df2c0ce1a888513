"""Calls on several GPUs, or on numba's simulator."""

from threading import Barrier, current_thread

import numpy as np
import pytest

from gpu_tools import spliced_align
from gpu_tools.hardware.gpu.dispatch import map_buffers, map_gpus
from tests.cases import WORKED_EXAMPLE

pytestmark = pytest.mark.cuda


def doubled(values):
    """Return values that were on the current GPU, and whose thread did it."""
    from numba import cuda

    return 2 * cuda.to_device(values).copy_to_host(), current_thread().name


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_gpu_named_several_times_does_all_calls_in_one_thread(count):
    inputs = [np.arange(k + 1) for k in range(count)]
    found, threads = zip(*map_gpus([0] * count, doubled, inputs), strict=True)
    assert [values.tolist() for values in found] == [(2 * values).tolist() for values in inputs]
    assert set(threads) == {current_thread().name}


def test_buffers_are_used_by_one_call_at_a_time():
    """Two calls that wait for each other work side by side; no third one joins them."""
    from numba import cuda

    buffers, meeting, used = ["one", "other"], Barrier(2, timeout=60), set()

    def work(own, number):
        assert own not in used
        used.add(own)
        meeting.wait()
        used.remove(own)
        meeting.wait()
        return number * number

    with cuda.gpus[0]:
        assert map_buffers(buffers, work, range(6)) == [0, 1, 4, 9, 16, 25]


def test_a_launch_that_leaves_multiprocessors_idle_gives_no_warning(recwarn):
    spliced_align([WORKED_EXAMPLE.case()], device="cuda")
    assert [str(warning.message) for warning in recwarn] == []
