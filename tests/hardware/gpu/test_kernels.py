"""Kernels of the other tools compile for a GPU, also where there is none; see `tests.kernels`."""

import numpy as np
import pytest
from numba import types

from tests.kernels import array

pytest.importorskip("numba_cuda")

from gpu_tools.local.gpu import packed as local_packed
from gpu_tools.local.gpu import score_pass as local_score_pass32
from gpu_tools.matching import gpu as matching
from gpu_tools.segments import gpu
from gpu_tools.segments.gpu import PAIR_KERNELS as KERNELS

INT32, INT64 = array(types.int32), array(types.int64)
UINT32, UINT64 = array(types.uint32), array(types.uint64)
TABLE32, TABLE64 = array(types.int32, 2), array(types.int64, 2)


@pytest.mark.parametrize("level", [False, True])
def test_packed_fill_of_local_alignment(level, to_ptx):
    borders = types.UniTuple(INT64, 3)
    inputs = types.UniTuple(INT32, 2)
    given = TABLE64, TABLE32, inputs, borders, INT32, INT64, INT32
    kernel = local_packed.make_kernel(max(local_packed.ROWS), level)
    assert "max.s16x2" in to_ptx(kernel, *given)


def test_wide_fill_of_local_alignment(to_ptx):
    block, pruning = (
        types.NamedUniTuple(types.int32, len(kind._fields), kind)
        for kind in (local_score_pass32.BlockPosition, local_score_pass32.Pruning32)
    )
    symbols = types.UniTuple(array(types.uint8), 2)
    given = symbols, INT32, array(types.int32, 3), TABLE32, TABLE32, INT32, block, pruning
    assert "atom" in to_ptx(local_score_pass32.fill_blocks_warp, *given)


@pytest.mark.parametrize("words", [1, 4])
def test_matching_with_unit_costs(words, to_ptx):
    given = UINT64, TABLE64, UINT32, TABLE32, types.int64, TABLE32, TABLE64, INT32
    assert ".entry" in to_ptx(matching.find_words(words, 5), *given)


def test_matching_with_costs(to_ptx):
    given = UINT64, TABLE64, array(types.int32, 3), INT32, TABLE32, TABLE64, INT32
    assert "min.s16x2" in to_ptx(matching.find_costs(8, 8), *given)


@pytest.mark.parametrize("cell", ["float32", "int32", "int64"])
def test_submatrix(cell, to_ptx):
    cells = array(getattr(types, cell), 2)
    ptx = to_ptx(KERNELS[np.dtype(cell)], cells, types.UniTuple(types.int64, 2), cells)
    assert ".local" not in ptx
    assert ("add.sat.f32" in ptx) == (cell == "float32")


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_listing_of_maximal_segments(dtype, to_ptx):
    """Lists and sums lie in the memory of the GPU, all else in registers."""
    scale = types.int64 if dtype == "int32" else types.float64
    lists, sums = array(types.int16, 3), array(types.int64, 3)
    values = array(getattr(types, dtype))
    given = values, scale, types.int64, lists, sums, INT32, TABLE64, TABLE64
    assert ".local" not in to_ptx(gpu.list_runs_thread, *given)


def test_counting_and_writing_of_maximal_segments(to_ptx):
    lists, sums = array(types.int16, 3), array(types.int64, 3)
    given = lists, INT32, TABLE32, TABLE32
    assert ".local" not in to_ptx(gpu.count_remaining_thread, *given)
    given = lists, sums, TABLE64, types.UniTuple(types.int64, 2), INT64
    assert ".local" not in to_ptx(gpu.write_runs_thread, *given)
