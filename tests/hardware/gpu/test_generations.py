"""Kernels become machine code of every generation of GPUs, also where there is none."""

import pytest
from numba import types

from tests.hardware.gpu.test_kernels import COMPILED, WITHOUT_LOCAL_MEMORY
from tests.kernels import array, assembled

pytest.importorskip("numba_cuda")

from gpu_tools.hardware.gpu.intrinsics import words
from gpu_tools.sites.gpu.sweep32 import sweep32_warp

INT32, INT64, UINT8 = array(types.int32), array(types.int64), array(types.uint8)
JOBS, STRIPS, ENDS = array(types.int64, 2), array(types.int32, 2), array(types.int32, 3)
SITES = {
    "site mode in 32 bits": (
        sweep32_warp, (JOBS, STRIPS, INT32, INT32, UINT8, INT32, INT64, ENDS, INT32)
    ),
}  # fmt: skip
ALL = {
    **{name: (make, signature, code) for name, (make, signature, code) in COMPILED.items()},
    **{
        name: (lambda kernel=kernel: kernel, signature, code)
        for name, (kernel, signature, code) in WITHOUT_LOCAL_MEMORY.items()
    },
    **{
        name: (lambda kernel=kernel: kernel, signature, "")
        for name, (kernel, signature) in SITES.items()
    },
}
PACKED = {name for name, (_, _, code) in ALL.items() if "s16x2" in code}
LONG = {"chains"}
"""What takes seconds to compile, and has no instruction that others lack."""
OLDEST, BEFORE = (7, 5), ((8, 0), (8, 6), (8, 9))
SAMPLE, PACKED_SAMPLE = "unit costs on lanes", "costs"
"""A kernel of each kind that takes little time to compile."""
CASES = [
    *((name, OLDEST) for name in sorted(set(ALL) - PACKED - LONG)),
    *((SAMPLE, capability) for capability in BEFORE),
    *((PACKED_SAMPLE, capability) for capability in ((9, 0), (10, 0), (12, 0))),
]


@pytest.mark.parametrize(("name", "capability"), CASES)
def test_a_kernel_is_assembled(name, capability, to_ptx):
    make, signature, _ = ALL[name]
    assert assembled(to_ptx(make(), *signature, capability=capability), capability) > 0


def test_packed_kernels_need_what_they_say(to_ptx):
    make, signature, _ = ALL[PACKED_SAMPLE]
    before = (8, 9)
    assert before < words.PACKED_CAPABILITY
    ptx = to_ptx(make(), *signature, capability=before)
    with pytest.raises(Exception, match="PTX"):
        assembled(ptx, before)
