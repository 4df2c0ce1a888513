"""The kernels of spliced alignment compile for a GPU, also where there is none."""

import pytest
from numba import types

from tests.kernels import array

pytest.importorskip("numba_cuda")

from gpu_tools.spliced.gpu import best_ends as cuda_ends
from gpu_tools.spliced.gpu import programs as cuda_programs
from gpu_tools.spliced.gpu import sweep as cuda_packed
from gpu_tools.spliced.gpu import sweep32 as cuda_wide
from gpu_tools.spliced.gpu import traceback as cuda_trace

INT16, INT32, INT64, UINT8 = (
    array(getattr(types, n)) for n in ("int16", "int32", "int64", "uint8")
)
JOBS, EXITS = array(types.int64, 2), array(types.int32, 2)


SWEEP = JOBS, INT32, INT32, INT32, UINT8, INT32, INT16, INT32, INT32
TRACE = JOBS, EXITS, UINT8, INT32, UINT8, INT16, INT64, INT32, INT32, INT32, INT32


@pytest.mark.parametrize(
    ("kernel", "arguments"),
    [
        (cuda_programs.place_sources, (JOBS, INT32, UINT8, INT32, INT32, INT32)),
        (cuda_ends.find_ends, (JOBS, EXITS, INT16, INT64, INT32)),
        (cuda_ends.join_halves, (JOBS, EXITS, INT16, INT64, INT32)),
        (cuda_trace.gather, (INT32, INT32, JOBS, INT32, INT32, INT32)),
        (cuda_wide.sweep_warp, (JOBS, UINT8, INT32, INT32, INT32, INT32)),
    ],
    ids=["place_sources", "find_ends", "join_halves", "gather", "sweep_warp"],
)
def test_compiles(kernel, arguments, to_ptx):
    assert ".entry" in to_ptx(kernel, *arguments)


def test_the_packed_sweep_keeps_its_rows_in_registers(to_ptx):
    ptx = to_ptx(cuda_packed.sweep_pieces, *SWEEP)
    assert "max.s16x2" in ptx
    assert ".local" not in ptx


def test_the_search_for_chains_keeps_its_rows_in_registers(to_ptx):
    assert ".local" not in to_ptx(cuda_trace.trace_chains, *TRACE)
