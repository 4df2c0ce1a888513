"""Checkpoints of the kernel of proteins: all rows before a boundary, from which a CPU goes on."""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import cuda, int32, int64
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.intrinsics.rows import further, load_row, store_row
from gpu_tools.hardware.gpu.intrinsics.words import WARP, address
from gpu_tools.sites.gpu.packed_strip import WIDE
from gpu_tools.sites.proteins.gpu.operations import make_slot_place
from gpu_tools.sites.proteins.gpu.plan import FRAMES


def make_save(size: int):
    """Return the device function that writes a checkpoint."""
    load, stride, slot_place = load_row(size), size * WARP, make_slot_place(size)

    @cuda.jit(device=True)
    def save(area, rows, gaps, counts, lane, places):
        """Write a checkpoint to an area; `counts` are slots, and exits whose rows there are."""
        n_slots, ring = counts
        first = address(area[4 * lane :])
        for k in range(FRAMES):
            row = rows[0] if k == 0 else (rows[1] if k == 1 else rows[2])
            store_row(further(first, int64(k * stride)), row)
            gap = gaps[0] if k == 0 else (gaps[1] if k == 1 else gaps[2])
            store_row(further(first, int64((FRAMES + k) * stride)), gap)
        for slot in range(n_slots):
            to = further(first, int64(2 * FRAMES + slot) * int64(stride))
            store_row(to, load(slot_place(int32(slot), places)))
        for k in range(FRAMES * ring):
            source = further(places[2], int64(k) * int64(stride))
            to = further(first, int64(2 * FRAMES + n_slots + k) * int64(stride))
            store_row(to, load(source))

    return save


@cache
def columns_in_rows(strips: int, stride: int, width: int) -> NDArray[np.int64]:
    """Return where columns lie in a row of a checkpoint, -1 for those that the strips lack.

    The first column of a strip is that of the strip before; `stride` is the words of a strip's part
    of a checkpoint.
    """
    strip, column = np.divmod(np.arange(width), 2 * WIDE * WARP - 1)
    lane, column = np.divmod(column + 1, 2 * WIDE)
    half, column = np.divmod(column, WIDE)
    quad, word = np.divmod(column, 4)
    places = ((quad * WARP + lane) * 4 + word) * 2 + half + 2 * stride * strip
    return np.where(strip < strips, places, -1)
