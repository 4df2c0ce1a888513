"""What the packed kernel keeps of a strip's columns beside their cells, and its shared memory."""

from __future__ import annotations

from numba import cuda, int32, uint32

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.rows import filled, load_quads, ramp, store_quads
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.sites.gpu.ends import LOWEST_SCORE
from gpu_tools.sites.gpu.steps import LEAST, LOWEST, NOWHERE, START, ZERO

NARROW, WIDE = 4, 8
"""Registers of cells a lane: of strips for the longest base sequences, and for all others."""
QUAD = 4
"""Neighbouring registers whose words lie side by side in a slot."""
HOT_SLOTS = {NARROW: 14, WIDE: 7} if simulated() else {NARROW: 42, WIDE: 21}
"""Slots in shared memory by registers a lane.

With these a multiprocessor of an H100 or H200 holds eight strips, two for each of its schedulers.
"""
OUTSIDE = 5
"""Byte of the words of lifted scores for columns without a symbol; 4 is for ambiguous symbols."""
_LEAST_WORD = -0x7FFF8000

# shared memory: five quads a step of two groups of steps, border words that come and that go. When
# the last step of a group is done, lanes also load the border words behind the group's. Nobody uses
# them, but they must be none that another lane has written: so a quad lies between.
_QUADS, SHARED_RING = 5, 8 * WARP
SHARED_BORDERS_AT = _QUADS * SHARED_RING
SHARED_OUTS_AT = SHARED_BORDERS_AT + 2 * WARP + QUAD
SHARED_SLOTS_AT = SHARED_OUTS_AT + 2 * WARP


def make_start(size: int):
    """Return the device function that fills the slots that never change, and begins a row."""
    stride = 4 * size * WARP

    @cuda.jit(device=True)
    def start(chosen, starts, floor, lane, own, shared):
        store_quads(shared, int32(own + ZERO * stride), filled(chosen, int32(0)))
        store_quads(shared, int32(own + START * stride), starts)
        store_quads(shared, int32(own + LOWEST * stride), filled(chosen, floor))
        store_quads(shared, int32(own + LEAST * stride), filled(chosen, int32(_LEAST_WORD)))
        best = int32(LOWEST_SCORE), int32(0)
        return filled(chosen, floor), floor, floor, floor, best, int32(-2 * lane)

    return start


def make_columns(size: int):
    """Return the device function that returns the empty chain's row and what columns drop.

    The latter turns cells into S; `gap` is that of free ends. `first` is counted from the strip's
    first column.
    """

    @cuda.jit(device=True)
    def columns(chosen, first, gap):
        low, high = int32(-gap * first), int32(-gap * (first + size))
        first_start = int32(int32(low & int32(0xFFFF)) | int32(high << int32(16)))
        first_drop = int32(int32(-low & int32(0xFFFF)) | int32(int32(-high) << int32(16)))
        step = int32(int32(gap & int32(0xFFFF)) | int32(gap << int32(16)))
        minus = int32(int32(-gap & int32(0xFFFF)) | int32(int32(-gap) << int32(16)))
        return ramp(chosen, first_start, minus), ramp(chosen, first_drop, step)

    return columns


def make_choose(size: int, slots_at: int = SHARED_SLOTS_AT, slot: int = NOWHERE):
    """Return the device function that makes the bytes that look the lane's lifted scores up.

    Slots begin at element `slots_at` of shared memory; nobody reads `slot`.
    """
    load, stride = load_quads(size), 4 * size * WARP

    @cuda.jit(device=True)
    def selector(target, column, columns):
        symbol = int32(OUTSIDE)
        if column >= 1 and column < columns:
            symbol = int32(target[column - 1])
        return int32(symbol | int32(int32(symbol | int32(8)) << int32(4)))

    @cuda.jit(device=True)
    def choose(target, first, columns, own, lane, shared):
        """Make them in that slot, and return them."""
        for k in range(size):
            low = selector(target, int32(first + k), columns)
            high = selector(target, int32(first + size + k), columns)
            at = (slot * size + (k // QUAD) * QUAD) * WARP + lane * QUAD + k % QUAD
            shared[uint32(slots_at + at)] = int32(low | int32(high << int32(8)))
        return load(shared, int32(own + slot * stride))

    return choose


def make_find_column(size: int):
    """Return the device function that finds the smallest column of a lane's best end."""

    @cuda.jit(device=True)
    def find_column(cells, first, gap):
        """`cells` begin with the row's first word of the lane, `first` is its first column."""
        best, column = int32(LOWEST_SCORE), first
        for half in range(2):
            for k in range(size):
                own = int32(first + half * size + k)
                word = cells[uint32((k // QUAD) * QUAD * WARP + k % QUAD)]
                value = int32(int32(word << int32(16 - 16 * half)) >> int32(16))
                if int32(value + gap * own) > best:
                    best, column = int32(value + gap * own), own
        return column

    return find_column
