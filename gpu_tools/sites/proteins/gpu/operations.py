"""The operations in front of a boundary: rows in slots, and the rows of exits."""

from __future__ import annotations

from functools import partial

from numba import cuda, int32, int64

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.rows import filled, further, load_row, raised, store_row
from gpu_tools.hardware.gpu.intrinsics.words import WARP, load2, load4
from gpu_tools.sites.gpu.codon_rows import SHARED_SLOTS_AT, make_place_of_slot, settled_carry
from gpu_tools.sites.gpu.packed_strip import WIDE
from gpu_tools.sites.proteins.gpu.cells import paired
from gpu_tools.sites.proteins.gpu.plan import (
    BEFORE,
    CODON_BITS,
    CODON_MASK,
    FRAMES,
    FRESH,
    FRESH_NEXT,
    KIND_MASK,
    LAST,
    NO_CODONS,
    NO_SYMBOL,
    SYMBOL_BITS,
    TAKE,
    TO_AT,
    WAIT,
    WAITING,
    WAITS,
)

HOT_SLOTS = 6 if simulated() else BEFORE + 9
"""The first so many slots lie in shared memory, the others in device memory."""
make_slot_place = partial(make_place_of_slot, hot=HOT_SLOTS)
MOST_CODONS = 23
"""Rows of a profile, at most: amino acids, one for ambiguous codons, two for stop codons."""
PROFILE_AT = SHARED_SLOTS_AT + HOT_SLOTS * WIDE * WARP
PLAN_AT = PROFILE_AT + MOST_CODONS * WIDE // 2 * WARP
PLAN_RING = 2 * WARP
"""Boundaries in shared memory: a group that is crossed, and the next one."""
SHARED_WORDS = PLAN_AT + 4 * PLAN_RING


def make_exit_place(size: int):
    """Return the device function that says where a row of an exit lies."""
    stride = size * WARP

    @cuda.jit(device=True)
    def exit_place(exit, phase, places):
        """Return it; of `places` the third is the first exit's, the fourth a mask of numbers."""
        number = int32(exit & places[3])
        return further(places[2], int64(FRAMES * number + phase) * int64(stride))

    return exit_place


def make_profile_of(size: int):
    """Return the device function that loads the lane's scores of a codon."""
    words = size // 2

    @cuda.jit(device=True)
    def of_four(shared, codon, lane):
        return load4(shared, int32(PROFILE_AT + (codon * WARP + lane) * words))

    @cuda.jit(device=True)
    def of_two(shared, codon, lane):
        return load2(shared, int32(PROFILE_AT + (codon * WARP + lane) * words))

    return of_four if words == 4 else of_two


def make_put(size: int):
    """Return the device function that raises slots to others."""
    load, slot_place = load_row(size), make_slot_place(size)

    @cuda.jit(device=True)
    def put_one(to, source, fresh, bonus, strip):
        place, row = slot_place(to, strip[2]), load(slot_place(source, strip[2]))
        low = filled(row, strip[3])
        if fresh == 0:
            low = load(place)
        store_row(place, raised(low, row, bonus))

    @cuda.jit(device=True)
    def put_three(to, source, fresh, bonus, strip):
        places = strip[2]
        one, two = slot_place(to, places), slot_place(int32(to + 1), places)
        three = slot_place(int32(to + 2), places)
        # all are waited for at once
        first = load(slot_place(source, places))
        second = load(slot_place(int32(source + 1), places))
        third = load(slot_place(int32(source + 2), places))
        low = filled(first, strip[3])
        if fresh:
            store_row(one, raised(low, first, bonus))
            store_row(two, raised(low, second, bonus))
            store_row(three, raised(low, third, bonus))
        else:
            low, middle, high = load(one), load(two), load(three)
            store_row(one, raised(low, first, bonus))
            store_row(two, raised(middle, second, bonus))
            store_row(three, raised(high, third, bonus))

    @cuda.jit(device=True)
    def put(what, source, count, bonus, strip):
        to, fresh = int32(what >> int32(TO_AT)), int32(what & int32(FRESH))
        while count >= 3:
            put_three(to, source, fresh, bonus, strip)
            to, source, count = int32(to + 3), int32(source + 3), int32(count - 3)
        while count > 0:
            put_one(to, source, fresh, bonus, strip)
            to, source, count = int32(to + 1), int32(source + 1), int32(count - 1)

    return put


def make_take(size: int):
    """Return the device function that raises the maxima before entries to the rows of an exit."""
    load, profile_of = load_row(size), make_profile_of(size)
    slot_place, exit_place = make_slot_place(size), make_exit_place(size)

    @cuda.jit(device=True)
    def take(what, exit, symbols_and_codons, bonus, strip):
        (lane, is_first, _), (shared, scratch), places = strip[0], strip[1], strip[2]
        none, symbols, to = strip[3], strip[4], int32(what >> int32(TO_AT))
        first = load(exit_place(exit, int32(0), places))
        second = load(exit_place(exit, int32(1), places))
        third = load(exit_place(exit, int32(2), places))
        symbol = int32(symbols_and_codons & int32(NO_SYMBOL))
        place = slot_place(to, places)
        other = slot_place(int32(to + 1 + symbol), places)
        if symbol == NO_SYMBOL:
            store_row(place, raised(load(place), first, bonus))
        else:
            # both are waited for at once
            one, two = load(place), load(other)
            store_row(place, raised(one, first, bonus))
            store_row(other, raised(two, second, bonus))
        if symbols_and_codons & int32(NO_CODONS) == 0:
            edge = settled_carry(third[-1], none, is_first, scratch)
            codons = int32(symbols_and_codons >> int32(SYMBOL_BITS))
            for last in range(symbols):
                profile = profile_of(shared, int32(codons & int32(CODON_MASK)), lane)
                place = slot_place(int32(to + 1 + symbols + last), places)
                store_row(place, raised(load(place), paired(third, edge, profile), bonus))
                codons = int32(codons >> int32(CODON_BITS))

    return take


def make_wait(size: int):
    """Return the device function that lets rows wait for the end of split codons."""
    load, profile_of, slot_place = load_row(size), make_profile_of(size), make_slot_place(size)

    @cuda.jit(device=True)
    def of_one(symbol, codons, source, strip):
        """Return the rows of introns behind one nucleotide, with their codon."""
        (lane, is_first, _), (shared, scratch) = strip[0], strip[1]
        row = load(slot_place(int32(source + 1 + symbol), strip[2]))
        codon = int32((codons >> int32(CODON_BITS * symbol)) & int32(CODON_MASK))
        edge = settled_carry(row[-1], strip[3], is_first, scratch)
        return paired(row, edge, profile_of(shared, codon, lane))

    @cuda.jit(device=True)
    def wait(what, source, symbol_and_codons, bonus, strip):
        places, none, symbols = strip[2], strip[3], strip[4]
        to = int32(what >> int32(TO_AT))
        symbol = int32(symbol_and_codons & int32(NO_SYMBOL))
        if symbol != NO_SYMBOL:
            place = slot_place(to, places)
            row = load(slot_place(int32(source + 1 + symbols + symbol), places))
            low = filled(row, none)
            if what & int32(FRESH) == 0:
                low = load(place)
            store_row(place, raised(low, row, bonus))
        if symbol_and_codons & int32(NO_CODONS) == 0:
            codons = int32(symbol_and_codons >> int32(SYMBOL_BITS))
            row = of_one(int32(0), codons, source, strip)
            for one in range(1, symbols):
                row = raised(row, of_one(int32(one), codons, source, strip), int32(0))
            following = int32(WAITING + ((to - WAITING + 1) & int32(WAITS - 1)))
            place, low = slot_place(following, places), filled(row, none)
            if what & int32(FRESH_NEXT) == 0:
                low = load(place)
            store_row(place, raised(low, row, bonus))

    return wait


def make_operate(size: int):
    """Return the device function that does the operations before a boundary."""
    put, take, wait = make_put(size), make_take(size), make_wait(size)

    @cuda.jit(device=True)
    def operate(following, n, todo, strip):
        """Do operations up to the last one before a boundary; return the next, and its number."""
        more = True
        while more:
            what, source, codons, bonus = following
            kind = int32(what & int32(KIND_MASK))
            if kind == TAKE:
                take(what, source, codons, bonus, strip)
            elif kind == WAIT:
                wait(what, source, codons, bonus, strip)
            else:
                put(what, source, codons, bonus, strip)
            n, more = int32(n + 1), what & int32(LAST) == 0
            # the next one is some boundaries away, mostly, and memory is too
            following = load4(todo, int64(4) * int64(n))
        return following, n

    return operate
