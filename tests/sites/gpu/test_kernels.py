"""The kernels of site mode compile for a GPU, also where there is none, and use no local memory."""

import pytest
from numba import types

from tests.kernels import array

pytest.importorskip("numba_cuda")

from gpu_tools.sites.gpu.sweep import find_ends_thread, sweep_packed_warp
from gpu_tools.sites.gpu.sweep32 import sweep32_warp

INT32, INT64, UINT8 = array(types.int32), array(types.int64), array(types.uint8)
JOBS, STRIPS = array(types.int64, 2), array(types.int32, 2)


def test_packed_sweep(to_ptx):
    ptx = to_ptx(sweep_packed_warp, JOBS, STRIPS, INT32, INT32, INT32, INT32, INT32)
    assert "ld.shared.v4" in ptx
    assert "max.s16x2" in ptx
    assert ".local" not in ptx


def test_ends_of_the_packed_sweep(to_ptx):
    assert ".entry" in to_ptx(find_ends_thread, JOBS, INT32, INT32, INT64)


def test_sweep_in_32_bits(to_ptx):
    ends = array(types.int32, 3)
    ptx = to_ptx(sweep32_warp, JOBS, STRIPS, INT32, INT32, UINT8, INT32, INT64, ends, INT32)
    assert ".local" not in ptx
