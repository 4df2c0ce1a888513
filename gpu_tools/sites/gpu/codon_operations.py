"""The operations before a step of the packed kernel of chains that translate."""

from __future__ import annotations

from functools import partial

from numba import cuda, int32, int64

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.rows import filled, further, load_row, raised, store_row
from gpu_tools.hardware.gpu.intrinsics.words import WARP, load4, permute
from gpu_tools.sites.gpu.codon_borders import next_words, put_words
from gpu_tools.sites.gpu.codon_plan import (
    FIRST_STORED,
    FRESH,
    LAST,
    NO_SLOT,
    NO_SOURCE,
    OLD_AT,
    TAKEN_BITS,
    TAKEN_MASK,
    TO_AT,
)
from gpu_tools.sites.gpu.codon_rows import HIGH_TWICE, LOW_TWICE, advance_alone
from gpu_tools.sites.gpu.row_plan import NO_SYMBOL
from gpu_tools.sites.gpu.slots import make_place_of_slot
from gpu_tools.splicing.codons import FRAMES

HOT_SLOTS = 11 if simulated() else 21
"""The first so many slots lie in shared memory, the others in device memory."""
make_slot_place = partial(make_place_of_slot, hot=HOT_SLOTS)


def make_exit_place(size: int):
    """Return the device function that says where a row of an exit lies."""
    stride = size * WARP

    @cuda.jit(device=True)
    def exit_place(exit, track, stored):
        """Return it; see `make_operate` for `stored`."""
        of_exit = int32(int32(exit - stored[2]) & stored[1])
        number = int64(FIRST_STORED + track) + int64(FRAMES) * int64(of_exit)
        return further(stored[0], number * int64(stride))

    return exit_place


def make_operate(size: int):
    """Return the device function that does the operations before a step.

    The strip's rows in device memory are its first one's place; a mask of exits' numbers, -1 if all
    are there; and what is taken off the numbers of exits and of stored rows of entries.
    """
    load, stride = load_row(size), size * WARP
    slot_place, exit_place = make_slot_place(size), make_exit_place(size)

    @cuda.jit(device=True)
    def gathered(row, operation, places):
        """Return the accumulator with what an operation raises it to."""
        what, source, _, bonuses = operation
        old = int32((what >> int32(OLD_AT)) & int32(NO_SLOT))
        if old != NO_SLOT:
            bonus = permute(bonuses, bonuses, int32(LOW_TWICE))
            row = raised(row, load(slot_place(old, places)), bonus)
        if source != NO_SOURCE:
            bonus = permute(bonuses, bonuses, int32(HIGH_TWICE))
            row = raised(row, load(slot_place(source, places)), bonus)
        return row

    @cuda.jit(device=True)
    def raise_slot(slot, row, bonus, places):
        """Raise a slot, if it is one, to a row plus a bonus."""
        if slot != TAKEN_MASK:
            place = slot_place(slot, places)
            store_row(place, raised(load(place), row, bonus))

    @cuda.jit(device=True)
    def take(operation, places, stored):
        """Raise the maxima before entries to the rows of an exit."""
        _, source, slots, bonuses = operation
        exit, bonus = int32(~source), permute(bonuses, bonuses, int32(HIGH_TWICE))
        # all three are waited for at once
        first = load(exit_place(exit, int32(0), stored))
        second = load(exit_place(exit, int32(1), stored))
        third = load(exit_place(exit, int32(2), stored))
        raise_slot(int32(slots & int32(TAKEN_MASK)), first, bonus, places)
        slots = int32(slots >> int32(TAKEN_BITS))
        raise_slot(int32(slots & int32(TAKEN_MASK)), second, bonus, places)
        slots = int32(slots >> int32(TAKEN_BITS))
        raise_slot(int32(slots & int32(TAKEN_MASK)), third, bonus, places)

    @cuda.jit(device=True)
    def accumulate(row, operation, cursor, strip):
        """Do an operation on the accumulator; return that, and the cursor."""
        fixed, places, borders, lanes, stored, _ = strip
        chosen, floor, _, shared, _ = fixed
        what, _, copy, _ = operation
        if what & int32(FRESH):
            row = filled(chosen, floor)
        row = gathered(row, operation, places)
        if copy != 0 and stored[1] < 0:
            store_row(further(stored[0], int64(copy - stored[3]) * int64(stride)), row)
        symbol = int32(what & int32(7))
        if symbol != NO_SYMBOL:
            words, at, cursor = next_words(cursor, borders, shared, lanes[0])
            row, word = advance_alone(row, symbol, words[0], fixed)
            put_words(shared, at, (word, floor), lanes[1])
        to = int32((what >> int32(TO_AT)) & int32(NO_SLOT))
        if to != NO_SLOT:
            store_row(slot_place(to, places), row)
        return row, cursor

    @cuda.jit(device=True)
    def operate(following, todo, cursor, strip):
        """Do operations up to the last one; return the next one with its number, and the cursor."""
        (following, n), more = following, True
        row = filled(strip[0][0], strip[0][1])
        while more:
            operation, n = following, int32(n + 1)
            # read one ahead: memory is too far away to wait for it
            following = load4(todo, int64(4) * int64(n))
            if operation[1] < 0:
                take(operation, strip[1], strip[4])
            else:
                row, cursor = accumulate(row, operation, cursor, strip)
            more = operation[0] & int32(LAST) == 0
        return (following, n), cursor

    return operate
