"""The kernels of site mode compile for a GPU, also where there is none, and use no local memory."""

import pytest
from numba import types

from tests.kernels import array

pytest.importorskip("numba_cuda")

from gpu_tools.sites.gpu import packed as cuda_packed
from gpu_tools.sites.gpu import sweep as cuda_skewed
from gpu_tools.sites.gpu import sweep32 as cuda_wide

INT32, INT64, UINT8 = array(types.int32), array(types.int64), array(types.uint8)
JOBS, STRIPS = array(types.int64, 2), array(types.int32, 2)


@pytest.mark.parametrize("size", cuda_packed.HOT_PLACES)
def test_packed_sweep(size, to_ptx):
    ptx = to_ptx(cuda_packed.sweep_of(size), JOBS, STRIPS, INT32, INT32, INT32, INT32, INT32)
    assert "max.s16x2" in ptx
    assert ".local" not in ptx


def test_skewed_sweep(to_ptx):
    sweep = cuda_skewed.sweep_of(max(cuda_skewed.HOT_PLACES))
    ptx = to_ptx(sweep, JOBS, STRIPS, INT32, INT32, INT32, INT32, INT32)
    assert "ld.shared.v4" in ptx
    assert ".local" not in ptx


def test_ends_of_the_packed_sweep(to_ptx):
    assert ".entry" in to_ptx(cuda_packed.find_ends_thread, JOBS, INT32, INT32, INT64)


def test_wide_sweep(to_ptx):
    ends = array(types.int32, 3)
    ptx = to_ptx(cuda_wide.sweep_strips_warp, JOBS, STRIPS, INT32, UINT8, INT32, INT64, ends, INT32)
    assert ".local" not in ptx
