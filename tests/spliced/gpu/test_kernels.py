"""The kernels of spliced alignment compile for a GPU, also where there is none."""

import pytest
from numba import from_dtype, types

from tests.kernels import array

pytest.importorskip("numba_cuda")

from gpu_tools.spliced.gpu import launch, sweep, sweep32, traceback

INT16, INT32, INT64, UINT8 = (
    array(getattr(types, n)) for n in ("int16", "int32", "int64", "uint8")
)
JOBS, EXITS = array(types.int64, 2), array(types.int32, 2)


SWEEP = JOBS, INT32, INT32, INT32, UINT8, INT32, INT16, INT32, INT32
TRACE = JOBS, EXITS, UINT8, INT32, UINT8, INT16, INT64, INT32, INT32, INT32, INT32


@pytest.mark.parametrize(
    ("kernel", "arguments"),
    [
        (launch.write_job_inputs, (JOBS, INT32, UINT8, INT32, INT32, INT32)),
        (traceback.find_ends, (JOBS, EXITS, INT16, INT64, INT32)),
        (traceback.gather, (INT32, INT32, JOBS, INT32, INT32, INT32)),
        (sweep32.sweep_warp, (array(from_dtype(sweep32.JOB)), UINT8, INT32, INT32, INT32, INT32)),
    ],
    ids=["write_job_inputs", "find_ends", "gather", "sweep_warp"],
)
def test_compiles(kernel, arguments, to_ptx):
    assert ".entry" in to_ptx(kernel, *arguments)


def test_the_packed_sweep_keeps_its_rows_in_registers(to_ptx):
    ptx = to_ptx(sweep.sweep_warp_tiles, *SWEEP)
    assert "max.s16x2" in ptx
    assert ".local" not in ptx


def test_the_search_for_chains_keeps_its_rows_in_registers(to_ptx):
    assert ".local" not in to_ptx(traceback.trace_chains, *TRACE)
