"""Warp intrinsics, each with a twin for numba's CUDA simulator.

The only room with assembly, and the only one that knows which of the two runs.
"""

from __future__ import annotations

from numba import cuda

from gpu_tools.device import simulated

WARP = 4 if simulated() else 32
"""Lanes of a warp; the simulator, a Python thread a lane, gets by with few."""
_ALL_LANES = 0xFFFFFFFF


def _shift_up_twin(value, scratch):
    lane = cuda.threadIdx.x
    scratch[lane] = value
    cuda.syncthreads()
    shifted = scratch[max(lane - 1, 0)]
    cuda.syncthreads()
    return shifted


def _shift_up(value, scratch):
    return cuda.shfl_up_sync(_ALL_LANES, value, 1)


shift_up = cuda.jit(device=True)(_shift_up_twin if simulated() else _shift_up)
"""``shift_up(value, scratch)``: the int32 `value` of the lane before; lane 0 keeps its own.

All lanes of a one-warp block must call it. `scratch` is a shared int32 array of `WARP`
elements, used by the twin only.
"""
