"""A step of the kernel of proteins: the row of a boundary, and what happens there."""

from __future__ import annotations

from numba import cuda, int32, int64

from gpu_tools.hardware.gpu.intrinsics.rows import (
    at_least,
    load_quads,
    load_row,
    raised,
    store_row,
)
from gpu_tools.hardware.gpu.intrinsics.words import (
    WARP,
    load4,
    max2,
    permute,
    store4,
    sync_lanes,
)
from gpu_tools.sites.gpu.codon_rows import (
    HIGH_THEN_LOW,
    HIGH_TWICE,
    LOW_TWICE,
    LOWS,
    next_words,
    put_words,
    settled_carry,
)
from gpu_tools.sites.proteins.gpu.cells import (
    advanced,
    begun,
    first_at_least,
    left_out,
    residues_left_out,
)
from gpu_tools.sites.proteins.gpu.operations import (
    PLAN_AT,
    PLAN_RING,
    make_exit_place,
    make_operate,
    make_profile_of,
    make_slot_place,
)
from gpu_tools.sites.proteins.gpu.plan import (
    CLOSED,
    CODON_MASK,
    ENTER,
    EXIT,
    HAS_OPERATIONS,
    JOIN,
    OPERAND_SLOT_BITS,
    SPECIAL,
    STARTED,
    STOP,
    WAITING,
    WAITS,
)


@cuda.jit(device=True)
def _next_boundary(number, ahead, plan, shared, lane):
    """Return a boundary, the next one, and what is ahead then.

    A group of boundaries is read while the one before is crossed.
    """
    here, seen = ahead
    if number & int32(WARP - 1) == 0:
        sync_lanes()
        at = int32((number + WARP + lane) & int32(PLAN_RING - 1))
        store4(shared, int64(PLAN_AT + 4 * at), seen)
        sync_lanes()
        seen = load4(plan, int64(4) * int64(number + 2 * WARP + lane))
    at = int32((number + 1) & int32(PLAN_RING - 1))
    following = load4(shared, int64(PLAN_AT + 4 * at))
    return here, following, (following, seen)


def _make_happen(size: int):
    """Return the device function that does the events of a boundary."""
    load, load_start, exit_place = load_row(size), load_quads(size), make_exit_place(size)
    slot_place = make_slot_place(size)

    @cuda.jit(device=True)
    def happen(boundary, row, one, two, exits, halo, strip):
        """Return the row behind them, and how many exits there are so far."""
        (shared, _), places = strip[1], strip[2]
        word, _, begins, entered = boundary
        if word & int32(EXIT):
            store_row(exit_place(exits, int32(0), places), row)
            store_row(exit_place(exits, int32(1), places), one)
            store_row(exit_place(exits, int32(2), places), two)
            exits = int32(exits + 1)
        begins = permute(begins, begins, int32(LOW_TWICE))
        row = raised(row, load_start(shared, strip[8]), begins)
        if word & int32(ENTER):
            slot = int32(entered & int32((1 << OPERAND_SLOT_BITS) - 1))
            bonus = permute(entered, entered, int32(HIGH_TWICE))
            row = raised(row, load(slot_place(slot, places)), bonus)
        return first_at_least(row, halo), exits

    return happen


def make_ahead(size: int):
    """Return the device function that begins the row of a boundary, before the one in front is."""
    load_hot, profile_of, stride = load_quads(size), make_profile_of(size), 4 * size * WARP

    @cuda.jit(device=True)
    def ahead(boundary, number, three, gaps, diagonal, strip):
        """Return that part of the row, and the row of chains that leave a codon out."""
        (lane, is_first, _), (shared, scratch), weights = strip[0], strip[1], strip[6]
        word, _, bonus, _ = boundary
        place = strip[8]
        if word & int32(STARTED):
            points = permute(bonus, bonus, int32(HIGH_TWICE))
            bonus = permute(bonus, bonus, int32(LOW_TWICE))
            three = raised(three, load_hot(shared, place), points)
            diagonal = settled_carry(three[-1], strip[3], is_first, scratch)
        if word & int32(SPECIAL):
            bonus = weights[5]
            if word & int32(JOIN):
                bonus = int32(0)
                place = int32(place + stride * int32(WAITING + (number & int32(WAITS - 1))))
        leaving = weights[1]
        if word & int32(STOP):
            leaving = weights[2]
        gap = left_out(gaps, three, weights[0], leaving)
        profile = profile_of(shared, int32(word & int32(CODON_MASK)), lane)
        return begun(three, gap, load_hot(shared, place), profile, diagonal, bonus), gap

    return ahead


def make_cross(size: int):
    """Return the device function that goes on by a boundary.

    The state is the row that `ahead` has begun; the three rows before it, the last one first; those
    of chains that leave a codon out, that of the boundary first; what stands before the rows; the
    best ends; the cursor of border words; the next operation, its number, and the exits so far; and
    the boundary, with one of those that a lane has read ahead.
    """
    operate, happen, ahead = make_operate(size), _make_happen(size), make_ahead(size)

    @cuda.jit(device=True)
    def cross(number, state, strip):
        row, (one, two, _), gaps, edges, ends, cursor, (operation, n, exits), plan = state
        (lane, is_first, is_last), (shared, scratch) = strip[0], strip[1]
        none, borders, weights = strip[3], strip[5], strip[6]
        here, following, plan = _next_boundary(number, plan, strip[9], shared, lane)
        word = here[0]
        if word & int32(HAS_OPERATIONS):
            operation, n = operate(operation, n, strip[7], strip)
        words, place, cursor = next_words(cursor, borders, shared, lane)
        few = max2(edges[0], edges[1])
        made = advanced(row, one, two, few, (weights[0], weights[3], weights[4]), none)
        # the next row is begun here: exchanges between lanes take long
        next_row, next_gap = ahead(following, int32(number + 1), two, gaps[2], edges[1], strip)
        before = permute(words[0], words[0], int32(HIGH_TWICE))
        carry, most = residues_left_out(made[size], before, is_first, weights[0], scratch)
        inside, whole = none, none
        if is_first:
            inside = permute(words[0], none, int32(LOWS))
            whole = permute(words[1], none, int32(LOWS))
        row = first_at_least(at_least(made[:size], carry), inside)
        leaves = permute(row[-1], most, int32(HIGH_THEN_LOW))
        if word & int32(CLOSED) == 0:
            ends = raised(ends, row, here[1])
        if word & int32(SPECIAL):
            row, exits = happen(here, row, one, two, exits, whole, strip)
        put_words(shared, place, (leaves, permute(row[-1], row[-1], int32(HIGH_TWICE))), is_last)
        edge = settled_carry(row[-1], none, is_first, scratch)
        return (
            next_row, (row, one, two), (next_gap, gaps[0], gaps[1]), (edge, edges[0], edges[1]),
            ends, cursor, (operation, n, exits), plan,
        )  # fmt: skip

    return cross
