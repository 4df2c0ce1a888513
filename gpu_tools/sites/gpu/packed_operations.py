"""Operations of the packed sweep of site mode: rows of cells that a boundary raises or keeps.

A row in registers is one of the rows; others have numbered places, the first ones in shared memory.
Operations lie one after the other in device memory, in the order in which a strip meets them.
"""

from __future__ import annotations

from numba import cuda, int32, uint32

from gpu_tools.hardware.gpu.intrinsics import WARP, any_lane, load4, sync_lanes
from gpu_tools.hardware.gpu.packed_rows import filled, load_words, raised, store_words
from gpu_tools.sites.gpu.program import BEGIN, LAST, PUT, RAISE

HOT, INTO_ROW = 16, 32
"""Added to the kind of an operation that raises or sets a place in shared memory to another one or
to the current row, or that raises the current row to such a place: nearly all do.
"""
LEAST = -0x7FFF8000
"""A word of which each half is the least of all."""

# shared memory: what rows need, what they leave to the next strip, operations, rows in places
OUTS_AT = 4 * WARP + 4
_OPERATIONS_AT = OUTS_AT + 2 * WARP
ROWS_AT = _OPERATIONS_AT + 4 * WARP


def make_operate(size: int, hot_places: int):
    """Return the device function that carries out a boundary's operations.

    Strips have `size` registers a lane, and `hot_places` rows in shared memory.
    """
    load, stride = load_words(size), size * WARP
    hot_at, cold_at = uint32(ROWS_AT), uint32(hot_places * stride)

    @cuda.jit(device=True)
    def rare(row, operation, stored, lane, floor):
        """Return the row after an operation of any kind; the fewer instructions, the better."""
        code, to, source, bonus = operation
        shared, cells = stored
        kind, other, old = code & int32(LAST - 1), row, filled(row, int32(LEAST))
        if any_lane(source >= 0):
            at = uint32(source * stride + lane)
            memory, at = (shared, at + hot_at) if source < hot_places else (cells, at - cold_at)
            other = load(memory, at, uint32(WARP))
        if any_lane(kind >= BEGIN):
            other = filled(row, bonus if kind == BEGIN else floor)
            bonus = int32(0)
        if any_lane(to < 0):
            return raised(row, other, bonus)
        at = uint32(to * stride + lane)
        memory, at = (shared, at + hot_at) if to < hot_places else (cells, at - cold_at)
        if any_lane(kind == RAISE):
            old = load(memory, at, uint32(WARP))
        store_words(memory, at, uint32(WARP), raised(old, other, bonus))
        return row

    @cuda.jit(device=True)
    def among(row, operation, shared, lane):
        """Carry out an operation that raises or sets a place in shared memory."""
        code, to, source, bonus = operation
        other, old = row, filled(row, int32(LEAST))
        if source >= 0:
            other = load(shared, uint32(ROWS_AT + source * stride + lane), uint32(WARP))
        at = uint32(ROWS_AT + to * stride + lane)
        if code & int32(PUT) == 0:
            old = load(shared, at, uint32(WARP))
        store_words(shared, at, uint32(WARP), raised(old, other, bonus))

    @cuda.jit(device=True)
    def operate(row, todo, following, stored, lane, floor):
        """Return the row after a boundary's operations, and what follows them."""
        shared, _ = stored
        while True:
            n, own, operation = following
            code, _, source, bonus = operation
            n, own = _turn_over(int32(n + 1), own, todo, shared, lane)
            if any_lane(code & int32(HOT) != 0):
                among(row, operation, shared, lane)
            elif any_lane(code & int32(INTO_ROW) != 0):
                other = load(shared, uint32(ROWS_AT + source * stride + lane), uint32(WARP))
                row = raised(row, other, bonus)
            else:
                row = rare(row, operation, stored, lane, floor)
            last = any_lane(code & int32(LAST) != 0)
            following = n, own, _laid_out(shared, n)
            if last:
                return row, following

    return operate


@cuda.jit(device=True)
def first_operations(todo, shared, lane):
    """Return the next operation's number, an operation a lane to lay out later, the next one.

    As many operations as there are lanes lie in shared memory, as many more in registers: memory
    is too far away for one to be fetched when it is needed.
    """
    sync_lanes()
    _lay_out(load4(todo, 4 * lane), shared, lane)
    # 0, but the compiler cannot know: registers of all lanes together would take longer
    n = int32(lane >> 5)
    return n, load4(todo, 4 * (lane + WARP)), _laid_out(shared, int32(0))


@cuda.jit(device=True)
def _turn_over(n, own, todo, shared, lane):
    """Lay out operations from number `n` on if none is left; return `n` and those that follow."""
    if any_lane(n & int32(WARP - 1) == 0):
        sync_lanes()
        _lay_out(own, shared, lane)
        own = load4(todo, 4 * (n + lane + WARP))
    return n, own


@cuda.jit(device=True)
def _laid_out(shared, n):
    """Return operation number `n`, which has been laid out."""
    return load4(shared, int32(_OPERATIONS_AT + 4 * (n & int32(WARP - 1))))


@cuda.jit(device=True)
def _lay_out(operation, shared, lane):
    at = uint32(_OPERATIONS_AT + 4 * lane)
    shared[at], shared[at + uint32(1)] = operation[0], operation[1]
    shared[at + uint32(2)], shared[at + uint32(3)] = operation[2], operation[3]
    sync_lanes()
