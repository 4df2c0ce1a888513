"""Kernels compiled without a GPU: what the simulator, which takes plain Python, cannot see."""

from types import SimpleNamespace

import pytest
from numba import types

from gpu_tools.hardware.device import simulated
from tests.programs import leave_out

HOPPER = 9, 0


def array(dtype, dimensions: int = 1):
    """Return the type of a contiguous array."""
    return types.Array(dtype, dimensions, "C")


def compiler_to_ptx(monkeypatch):
    """Return a function of a kernel and its arguments' types that compiles it to PTX."""
    if simulated():
        pytest.skip("the simulator compiles nothing")
    pytest.importorskip("numba_cuda")
    from numba import cuda
    from numba.cuda import compiler, dispatcher
    from numba.cuda.cudadrv import nvvm

    try:
        nvvm.NVVM()
    except Exception as error:
        leave_out(f"NVVM, which compiles kernels ({error})")
    device = SimpleNamespace(compute_capability=HOPPER, id=0)
    for module in (compiler, dispatcher):
        monkeypatch.setattr(module, "get_current_device", lambda: device)

    def compiled(kernel, *signature) -> str:
        ptx, _ = cuda.compile(
            kernel.py_func, signature, cc=HOPPER, device=False, output="ptx", abi="numba",
            abi_info={},
        )  # fmt: skip
        assert ".extern .func" not in ptx, "numba keeps no kernel that calls another library"
        return ptx

    return compiled
