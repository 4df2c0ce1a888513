"""Compiles a kernel of list mode without starting it, as a program of its own."""

from __future__ import annotations

import sys

from numba import cuda, int16, int32, int64, uint8

from gpu_tools.spliced.gpu.sweep import sweep_warp_tiles
from gpu_tools.spliced.gpu.traceback import trace_chains

_TABLE, _ROWS, _WORDS = int64[:, ::1], int32[:, ::1], int32[::1]
_BEST, _CELLS, _BYTES = int64[::1], int16[::1], uint8[::1]

KERNELS = {
    "sweep": (
        sweep_warp_tiles,
        (_TABLE, *[_WORDS] * 3, _BYTES, _WORDS, _CELLS, *[_WORDS] * 2),
    ),
    "trace": (
        trace_chains,
        (_TABLE, _ROWS, _BYTES, _WORDS, _BYTES, _CELLS, _BEST, *[_WORDS] * 4),
    ),
}
"""Each part's kernel, and the types of what it is started with."""


def compile_part(name: str, device: str = "cuda:0") -> None:
    """Compile a kernel of `KERNELS` for the kind of a GPU."""
    kernel, types = KERNELS[name]
    cuda.select_device(int(device.partition(":")[2] or 0))
    kernel.compile(types)


if __name__ == "__main__":
    compile_part(*sys.argv[1:])
