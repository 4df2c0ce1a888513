"""The kernels of site mode compile for a GPU, also where there is none, and use no local memory."""

import pytest
from numba import types

from tests.kernels import HOPPER, OLDEST, array, assembled

pytest.importorskip("numba_cuda")

from gpu_tools.sites.gpu.codon_sweep import sweep_codons_warp
from gpu_tools.sites.gpu.job_table import find_ends_warp
from gpu_tools.sites.gpu.sweep import sweep_packed_warp
from gpu_tools.sites.gpu.traceback import trace_packed_warp
from gpu_tools.sites.proteins.gpu.plan import plan_proteins
from gpu_tools.sites.proteins.gpu.sweep import sweep_proteins_warp
from gpu_tools.sites.proteins.gpu.traceback import trace_proteins_warp

INT32, INT64, UINT8 = array(types.int32), array(types.int64), array(types.uint8)
JOBS, STRIPS, ENDS = array(types.int64, 2), array(types.int32, 2), array(types.int32, 3)
WORDS, STRANDS = array(types.uint8, 3), (JOBS, INT32, UINT8, STRIPS, STRIPS)
SWEPT = INT32, INT32, UINT8, STRIPS, STRIPS, INT32, INT64


@pytest.mark.parametrize("capability", [OLDEST, HOPPER])
def test_packed_sweep(to_ptx, capability):
    signature = JOBS, STRIPS, INT32, UINT8, INT32, INT32, ENDS, INT32
    ptx = to_ptx(sweep_packed_warp, *signature, capability=capability)
    assert "ld.shared.v4" in ptx
    assert ("max.s16x2" in ptx) == (capability == HOPPER)
    assert ".local" not in ptx
    assert assembled(ptx, capability) > 0


def test_packed_sweep_of_chains_that_translate(to_ptx):
    ptx = to_ptx(
        sweep_codons_warp, JOBS, STRIPS, INT32, INT32, UINT8, INT32, INT64, INT32, ENDS, INT32
    )
    assert "max.s16x2" in ptx
    assert ".local" not in ptx


def test_packed_sweep_of_proteins(to_ptx):
    ptx = to_ptx(sweep_proteins_warp, JOBS, STRIPS, *SWEPT, *[INT32] * 4)
    assert "max.s16x2" in ptx
    assert ".local" not in ptx


def test_tracebacks_of_proteins(to_ptx):
    int16, cells = array(types.int16), array(types.int16, 2)
    tables = WORDS, JOBS, *[INT64] * 4
    ptx = to_ptx(
        trace_proteins_warp, JOBS, JOBS, *STRANDS, *SWEPT, *[INT32] * 3, int16, INT32, int16, cells,
        INT64, *tables, INT32, INT32, STRIPS, ENDS, ENDS, STRIPS,
    )  # fmt: skip
    assert "max.s16x2" in ptx


def test_plans_of_proteins(to_ptx):
    assert "st.v4" in to_ptx(
        plan_proteins, *STRANDS, WORDS, WORDS, INT32, INT32, INT64, types.int64
    )


def test_best_ends(to_ptx):
    assert ".local" not in to_ptx(find_ends_warp, JOBS, ENDS, STRIPS)


def test_tracebacks(to_ptx):
    inputs = *STRANDS, array(types.uint8, 4), UINT8, INT32
    ptx = to_ptx(trace_packed_warp, JOBS, JOBS, *inputs, INT32, INT32, INT32, ENDS, STRIPS)
    assert ".local" not in ptx


@pytest.mark.parametrize(
    "kernel",
    [
        find_ends_warp,
        plan_proteins,
        trace_proteins_warp,
        sweep_packed_warp,
        sweep_codons_warp,
        sweep_proteins_warp,
        trace_packed_warp,
    ],
)
def test_kernels_hold_no_other_functions(kernel):
    """Else no other process finds what was compiled."""
    assert kernel.py_func.__closure__ is None
