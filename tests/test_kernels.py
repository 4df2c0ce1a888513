"""Kernels of the other tools compile for a GPU, also where there is none; see `tests.kernels`."""

import pytest
from numba import types

from tests.kernels import array

pytest.importorskip("numba_cuda")

from gpu_tools.local import cuda_packed as local_packed
from gpu_tools.matching.cuda import find_words
from gpu_tools.matching.cuda_costs import find_costs
from gpu_tools.spliced import cuda_packed as spliced_packed
from gpu_tools.spliced import cuda_wide as spliced_wide

INT32, INT64, INT16 = array(types.int32), array(types.int64), array(types.int16)
UINT8, UINT32, UINT64 = array(types.uint8), array(types.uint32), array(types.uint64)
TABLE32, TABLE64 = array(types.int32, 2), array(types.int64, 2)


def test_packed_sweep_of_listed_exons(to_ptx):
    given = TABLE64, INT32, INT32, INT32, UINT8, INT32, INT16, INT32, INT32
    assert "max.s16x2" in to_ptx(spliced_packed.sweep_pieces, *given)


def test_wide_sweep_of_listed_exons(to_ptx):
    given = TABLE64, UINT8, INT32, INT32, INT32, INT32
    assert ".entry" in to_ptx(spliced_wide.sweep_warp, *given)


@pytest.mark.parametrize("level", [False, True])
def test_packed_fill_of_local_alignment(level, to_ptx):
    borders = types.UniTuple(INT64, 3)
    given = TABLE64, TABLE32, INT32, INT32, borders, INT32, INT32
    kernel = local_packed.make_kernel(max(local_packed.ROWS), level)
    assert "max.s16x2" in to_ptx(kernel, *given)


@pytest.mark.parametrize("words", [1, 4])
def test_matching_with_unit_costs(words, to_ptx):
    given = UINT64, TABLE64, UINT32, TABLE32, types.int64, TABLE32, TABLE64, INT32
    assert ".entry" in to_ptx(find_words(words, 5), *given)


def test_matching_with_costs(to_ptx):
    given = UINT64, TABLE64, array(types.int32, 3), INT32, TABLE32, TABLE64, INT32
    assert "min.s16x2" in to_ptx(find_costs(8, 8), *given)
