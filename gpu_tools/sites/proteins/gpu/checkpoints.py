"""Checkpoints of the kernel of proteins: all rows before a boundary, from which a CPU goes on."""

from __future__ import annotations

import numpy as np
from numba import cuda, int32, int64
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.intrinsics.rows import further, load_row, store_row
from gpu_tools.hardware.gpu.intrinsics.words import WARP, address
from gpu_tools.sites.gpu.packed_columns import WIDE
from gpu_tools.sites.proteins.gpu.operations import make_slot_place
from gpu_tools.sites.proteins.gpu.plan import BEFORE, FRAMES, WAITING, WAITS, ProteinStrand
from gpu_tools.splicing.proteins.rows import SPLITS


def rows_of_checkpoint(n_slots: int, ring: int) -> int:
    """Return the rows of a checkpoint: three of each kind, slots, and those of exits."""
    return 2 * FRAMES + n_slots + FRAMES * ring


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


def columns_in_rows(job, width: int) -> NDArray[np.int64]:
    """Return where the columns of a job lie in a row of a checkpoint, -1 for those it lacks.

    The first column of a strip is that of the strip before.
    """
    strip, column = np.divmod(np.arange(width), 2 * WIDE * WARP - 1)
    lane, column = np.divmod(column + 1, 2 * WIDE)
    half, column = np.divmod(column, WIDE)
    quad, word = np.divmod(column, 4)
    places = ((quad * WARP + lane) * 4 + word) * 2 + half + 2 * job.checkpoint_stride * strip
    return np.where(strip < job.strips, places, -1)


def rows_of_states(strand: ProteinStrand) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return which rows of a checkpoint are those that wait, those before entries, and exits.

    Those before entries are -1 for symbols that the strand lacks; of exits it is the first row.
    """
    most, symbols = (SPLITS - 1) // 2, strand.symbols
    own = np.array([0, *range(1, 1 + symbols), *range(1 + most, 1 + most + symbols)])
    groups = strand.n_maxima // strand.splits
    before = np.full((groups, SPLITS), -1)
    before[:, own] = 2 * FRAMES + BEFORE + np.arange(strand.n_maxima).reshape(groups, -1)
    return 2 * FRAMES + WAITING + np.arange(WAITS), before.ravel(), 2 * FRAMES + strand.n_slots
