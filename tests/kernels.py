"""Kernels compiled without a GPU: what the simulator, which takes plain Python, cannot see."""

from types import SimpleNamespace

import pytest
from numba import types

from gpu_tools.hardware.device import simulated
from tests.programs import leave_out

OLDEST, HOPPER = (7, 5), (9, 0)


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

    def compiled(kernel, *signature, capability=HOPPER) -> str:
        device = SimpleNamespace(compute_capability=capability, id=0)
        for module in (compiler, dispatcher):
            monkeypatch.setattr(module, "get_current_device", lambda: device)
        ptx, _ = cuda.compile(
            kernel.py_func, signature, cc=capability, device=False, output="ptx", abi="numba",
            abi_info={},
        )  # fmt: skip
        assert ".extern .func" not in ptx, "numba keeps no kernel that calls another library"
        return ptx

    return compiled


def assembled(ptx: str, capability: tuple[int, int]) -> int:
    """Return the size of the machine code of PTX for GPUs of a compute capability."""
    from cuda.bindings import nvjitlink
    from cuda.pathfinder import DynamicLibNotFoundError

    options = ["-arch=sm_{}{}".format(*capability)]
    try:
        linker = nvjitlink.create(len(options), options)
    except DynamicLibNotFoundError as error:
        leave_out(f"nvJitLink, which assembles kernels ({error})")
    try:
        text = ptx.encode()
        nvjitlink.add_data(linker, nvjitlink.InputType.PTX, text, len(text), "kernel")
        nvjitlink.complete(linker)
        return nvjitlink.get_linked_cubin_size(linker)
    finally:
        nvjitlink.destroy(linker)
