"""Checkpoints of the packed kernel of chains that translate: all rows before a step.

Long jobs do not store the rows of all sites: they leave checkpoints, from which the part in front
of the best end is swept again.
"""

from __future__ import annotations

from numba import cuda, int32, int64, uint32

from gpu_tools.hardware.gpu.intrinsics.rows import at_least, further, load_row, store_row
from gpu_tools.hardware.gpu.intrinsics.words import WARP, address
from gpu_tools.sites.gpu.codon_operations import make_exit_place, make_slot_place
from gpu_tools.sites.gpu.codon_plan import FIRST_STORED
from gpu_tools.splicing.codons import FRAMES

NUMBERS = 8
"""Words of a lane before its rows: operations, operands and exits so far, and three carries."""


def rows_of_checkpoint(n_slots: int, ring: int) -> int:
    """Return the rows of a checkpoint: current rows, slots, and those of the last exits."""
    return FRAMES + n_slots + FRAMES * ring


def make_save(size: int):
    """Return the device function that writes a checkpoint."""
    load, stride, slot_place = load_row(size), size * WARP, make_slot_place(size)

    @cuda.jit(device=True)
    def save(area, rows, carries, numbers, counts, strip):
        """Write a checkpoint to an area; `counts` are slots, and exits whose rows there are."""
        _, places, _, (lane, _), stored, _ = strip
        (n_slots, ring), (n, at, exits) = counts, numbers
        own = uint32(lane)
        area[own], area[own + uint32(WARP)], area[own + uint32(2 * WARP)] = n, at, exits
        for k in range(FRAMES):
            carry = carries[0] if k == 0 else (carries[1] if k == 1 else carries[2])
            area[own + uint32((3 + k) * WARP)] = carry
        first = address(area[NUMBERS * WARP + 4 * lane :])
        store_row(first, at_least(rows[0], carries[0]))
        store_row(further(first, int64(stride)), at_least(rows[1], carries[1]))
        store_row(further(first, int64(2 * stride)), at_least(rows[2], carries[2]))
        for slot in range(n_slots):
            to = further(first, int64(FRAMES + slot) * int64(stride))
            store_row(to, load(slot_place(int32(slot), places)))
        for k in range(FRAMES * ring):
            source = further(stored[0], int64(FIRST_STORED + k) * int64(stride))
            to = further(first, int64(FRAMES + n_slots + k) * int64(stride))
            store_row(to, load(source))

    return save


def make_resume(size: int):
    """Return the device function that reads a checkpoint."""
    load, stride, slot_place = load_row(size), size * WARP, make_slot_place(size)
    exit_place = make_exit_place(size)

    @cuda.jit(device=True)
    def resume(area, counts, strip):
        """Bring back slots and exits; return rows, carries, and the numbers of operations etc."""
        _, places, _, (lane, _), stored, _ = strip
        (n_slots, ring), own = counts, uint32(lane)
        n, at, exits = area[own], area[own + uint32(WARP)], area[own + uint32(2 * WARP)]
        carries = (
            area[own + uint32(3 * WARP)], area[own + uint32(4 * WARP)],
            area[own + uint32(5 * WARP)],
        )  # fmt: skip
        first = address(area[NUMBERS * WARP + 4 * lane :])
        for slot in range(n_slots):
            source = further(first, int64(FRAMES + slot) * int64(stride))
            store_row(slot_place(int32(slot), places), load(source))
        for exit in range(max(int32(exits - ring), int32(0)), exits):
            for track in range(FRAMES):
                number = FRAMES + n_slots + FRAMES * (exit & (ring - 1)) + track
                source = further(first, int64(number) * int64(stride))
                store_row(exit_place(int32(exit), int32(track), stored), load(source))
        rows = (
            load(first), load(further(first, int64(stride))),
            load(further(first, int64(2 * stride))),
        )  # fmt: skip
        return rows, carries, (n, at, exits)

    return resume
