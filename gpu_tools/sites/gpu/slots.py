"""Where rows in slots lie, of kernels all of whose lanes work at one boundary."""

from __future__ import annotations

from numba import cuda, int64

from gpu_tools.hardware.gpu.intrinsics.rows import further
from gpu_tools.hardware.gpu.intrinsics.words import WARP


def make_place_of_slot(size: int, hot: int):
    """Return the device function that says where a slot lies; `hot` are in shared memory."""
    stride = size * WARP

    @cuda.jit(device=True)
    def slot_place(slot, places):
        """Return it; `places` are those of the first slots in shared and in device memory."""
        if slot < hot:
            return further(places[0], int64(slot * stride))
        return further(places[1], int64(slot - hot) * int64(stride))

    return slot_place
