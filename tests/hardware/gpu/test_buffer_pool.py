"""Buffers that calls use again, on a GPU or on numba's simulator."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpu_tools import spliced_align
from tests.cases import WORKED_EXAMPLE

pytest.importorskip("numba_cuda")

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.dispatch import Buffers, borrowed_pools

pytestmark = pytest.mark.cuda


def test_an_array_is_made_anew_when_it_is_too_small():
    buffers = Buffers()
    first = buffers.array("some", 10, np.int32)
    assert buffers.array("some", 4, np.int32) is first
    assert len(buffers.array("some", 11, np.int32)) == 11
    assert buffers.bytes == 44


def test_arrays_lie_in_reserved_space_while_there_is_some():
    buffers = Buffers()
    buffers.reserve(4_000)
    reserved = buffers.bytes
    values = [np.arange(100, dtype=np.int32), np.arange(12, dtype=np.int64).reshape(4, 3)]
    made = [buffers.copy(str(k), each) for k, each in enumerate(values)]
    buffers.filled("filled", 400, np.int16, 7)
    buffers.stream.synchronize()
    assert all((a.copy_to_host() == b).all() for a, b in zip(made, values, strict=True))
    assert buffers.array("0", 90, np.int32) is made[0]
    assert buffers.bytes == reserved
    buffers.array("large", 1_000, np.int32)
    assert buffers.bytes == reserved + 4_000
    buffers.reserve(3_000)
    assert buffers.array("0", 90, np.int32) is not made[0]
    assert buffers.bytes == reserved + 4_000


def test_staged_values_are_copied_at_their_length_and_type():
    """Pinned memory and arrays that an earlier call has left are larger, or of another type."""
    buffers = Buffers()
    for values in (np.arange(9.0), np.arange(5, dtype=np.int32), np.arange(7, dtype=np.int64)):
        on_gpu = buffers.staged("values", values)
        buffers.stream.synchronize()
        assert on_gpu.dtype == values.dtype
        assert on_gpu.copy_to_host().tolist() == values.tolist()
    assert buffers.fetch("staged", on_gpu, 3).tolist() == [0, 1, 2]


def test_arrays_that_are_copied_together_keep_type_and_shape():
    buffers = Buffers()
    values = [
        np.arange(5, dtype=np.uint8), np.zeros(0, np.int64), np.arange(12.0).reshape(4, 3),
        np.arange(30, dtype=np.int32).reshape(2, 3, 5)[:, ::2],
    ]  # fmt: skip
    for each, copy in zip(values, buffers.together("some", values), strict=True):
        assert (copy.dtype, copy.shape) == (each.dtype, each.shape)
        assert copy.copy_to_host().tolist() == each.tolist()


def test_a_pool_is_retained_for_the_next_call_and_never_shared():
    with borrowed_pools((0, 0)) as (one, other):
        assert one is not other
    with borrowed_pools((0,)) as (again,):
        assert again in (one, other)


def test_a_call_that_fails_leaves_no_pool_behind():
    with pytest.raises(KeyError), borrowed_pools((0,)) as (failed,):
        failed.resident.array("some", 10, np.int32)
        raise KeyError
    assert failed.bytes == 0
    with borrowed_pools((0,)) as (pool,):
        assert pool is not failed


_ALL_GPUS = """
from gpu_tools import spliced_align
from tests.cases import WORKED_EXAMPLE

print([result.score for result in spliced_align([WORKED_EXAMPLE.case()] * 8, device="cuda")])
"""


@pytest.mark.skipif(simulated(), reason="a new process takes the simulator long")
def test_a_process_that_has_used_all_gpus_ends():
    command, root = [sys.executable, "-c", _ALL_GPUS], Path(__file__).parents[3]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    assert ended.returncode == 0, ended.stderr
    assert (
        ended.stdout == f"{[spliced_align([WORKED_EXAMPLE.case()], device='cpu')[0].score] * 8}\n"
    )
