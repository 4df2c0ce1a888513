"""A step of the packed kernel of chains that translate: operations, then three boundaries."""

from __future__ import annotations

from numba import cuda, int32, int64

from gpu_tools.hardware.gpu.intrinsics.rows import (
    at_least,
    best_sum,
    filled,
    further,
    load_row,
    raised,
    ramp,
    store_row,
)
from gpu_tools.hardware.gpu.intrinsics.words import WARP, max2, permute
from gpu_tools.sites.gpu.codon_borders import next_words, put_words
from gpu_tools.sites.gpu.codon_operations import make_exit_place, make_operate, make_slot_place
from gpu_tools.sites.gpu.codon_plan import (
    BEGIN,
    ENTER,
    ENTERED,
    EVENT_BITS,
    EVENTS_AT,
    EXIT,
    FINAL,
    HAS_OPERATIONS,
    JOIN,
    JOINING,
    JOINS,
    STOP,
    SYMBOL_BITS,
)
from gpu_tools.sites.gpu.codon_rows import (
    HIGH_TWICE,
    HIGHS,
    LOW_SIGNED,
    SWAPPED,
    advance_tracks,
    settled_carry,
)
from gpu_tools.sites.gpu.steps import BEST_END
from gpu_tools.splicing.codons import FRAMES


def make_happen(size: int):
    """Return the device function that does the events of a boundary."""
    load, stride = load_row(size), size * WARP
    slot_place, exit_place = make_slot_place(size), make_exit_place(size)

    @cuda.jit(device=True)
    def noted(row, leaving, boundary, best, drops, cells):
        """Return score and boundary of the lane's best end; a better one's row is stored."""
        top = best_sum(row, ramp(row, drops[0], drops[1]))
        top = max2(top, permute(top, top, int32(SWAPPED)))
        score, (best_score, best_boundary) = int32(permute(top, top, int32(LOW_SIGNED))), best
        score = int32(score + leaving)
        if score > best_score:
            best_score, best_boundary = score, boundary
            store_row(further(cells, int64(BEST_END * stride)), row)
        return best_score, best_boundary

    @cuda.jit(device=True)
    def leave(row, rows, carries, track, exit, stored):
        """Store the rows of an exit: that of a track, and the two behind it with their carries."""
        second, third = int32((track + 1) % FRAMES), int32((track + 2) % FRAMES)
        store_row(exit_place(exit, int32(track), stored), row)
        store_row(exit_place(exit, second, stored), at_least(rows[1], carries[1]))
        store_row(exit_place(exit, third, stored), at_least(rows[2], carries[2]))

    @cuda.jit(device=True)
    def happen(events, track, boundary, rows, carries, left, notes, strip):
        """Do the events of a boundary whose codons are the first row's.

        `notes` are the number of the next operand, that operand, the exits so far, and the best
        end. Return the first row, its carry, and the notes.
        """
        fixed, places, _, _, stored, (operands, drops) = strip
        at, operand, exits, best = notes
        row = at_least(rows[0], carries[0])
        if events & int32(FINAL):
            best = noted(row, operand, boundary, best, drops, stored[0])
            at = int32(at + 1)
            operand = operands[at]
        if events & int32(STOP):
            row = filled(row, fixed[1])
        if events & int32(JOIN):
            slot = int32(JOINING + boundary % int32(JOINS))
            row = raised(row, load(slot_place(slot, places)), int32(0))
        if events & int32(BEGIN):
            slot, bonus = (
                int32(operand & int32(0xFFFF)),
                permute(operand, operand, int32(HIGH_TWICE)),
            )
            row = raised(row, load(slot_place(slot, places)), bonus)
            at = int32(at + 1)
            operand = operands[at]
        if events & int32(EXIT):
            leave(row, rows, carries, track, exits, stored)
            exits = int32(exits + 1)
        if events & int32(ENTER):
            row = raised(row, load(slot_place(int32(ENTERED + track), places)), int32(0))
        carry = settled_carry(row[-1], left, fixed[2], fixed[4])
        return row, carry, (at, operand, exits, best)

    return happen


def make_codon_step(size: int):
    """Return the device function that does a step.

    The state is the three rows, the first of them that of the next boundary; their carries; the
    cursor of border words; and what `happen` notes.
    """
    happen, operate = make_happen(size), make_operate(size)

    @cuda.jit(device=True)
    def cross(track, info, step, state, strip):
        """Advance all rows by a nucleotide, and do what happens at the boundary behind it."""
        fixed, _, borders, (lane, is_last), _, _ = strip
        rows, carries, cursor, notes = state
        words, at, cursor = next_words(cursor, borders, fixed[3], lane)
        symbol = int32((info >> int32(SYMBOL_BITS * track)) & int32(7))
        rows, carries = advance_tracks(rows, carries, symbol, words, fixed)
        first, second = max2(rows[0][-1], carries[0]), max2(rows[1][-1], carries[1])
        third = max2(rows[2][-1], carries[2])
        leaving, row, carry = permute(first, second, int32(HIGHS)), rows[0], carries[0]
        events = int32((info >> int32(EVENTS_AT + EVENT_BITS * track)) & int32(63))
        if events != 0:
            boundary = int32(FRAMES * step + track)
            row, carry, notes = happen(
                events, track, boundary, rows, carries, words[1], notes, strip
            )
            first = row[-1]
        put_words(fixed[3], at, (leaving, permute(third, first, int32(HIGHS))), is_last)
        return (rows[1], rows[2], row), (carries[1], carries[2], carry), cursor, notes

    @cuda.jit(device=True)
    def do_step(state, info, step, following, todo, strip):
        """Do a step; return the state, and the next operation with its number.

        `strip` are what advances need; the places of slots; borders; the lane and whether it is the
        last one; rows in device memory; and operands with what columns drop.
        """
        if info & int32(HAS_OPERATIONS):
            rows, carries, cursor, notes = state
            following, cursor = operate(following, todo, cursor, strip)
            state = rows, carries, cursor, notes
        state = cross(0, info, step, state, strip)
        state = cross(1, info, step, state, strip)
        state = cross(2, info, step, state, strip)
        return state, following

    return do_step
