"""The operations in front of a boundary: rows in slots, and the rows of exits."""

from __future__ import annotations

from numba import cuda, int32, int64

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.rows import filled, further, load_row, raised, store_row
from gpu_tools.hardware.gpu.intrinsics.words import WARP, load2, load4
from gpu_tools.sites.gpu.codon_borders import SHARED_SLOTS_AT
from gpu_tools.sites.gpu.codon_rows import settled_carry
from gpu_tools.sites.gpu.packed_columns import WIDE
from gpu_tools.sites.proteins.gpu.cells import paired
from gpu_tools.sites.proteins.gpu.plan import (
    BEFORE,
    CODON_AT,
    CODON_BITS,
    CODON_MASK,
    FRAMES,
    FRESH,
    LAST,
    NO_SYMBOL,
    PAIR,
    SYMBOL_BITS,
    TAKE,
    TO_AT,
)

HOT_SLOTS = 7 if simulated() else BEFORE + 9
"""The first so many slots lie in shared memory, the others in device memory."""
MOST_CODONS = 24
"""Rows of a profile, at most: amino acids, one for ambiguous codons, two for stop codons."""
PROFILE_AT = SHARED_SLOTS_AT + HOT_SLOTS * WIDE * WARP
SHARED_WORDS = PROFILE_AT + MOST_CODONS * WIDE // 2 * WARP
_KIND_MASK = 3


def make_slot_place(size: int):
    """Return the device function that says where a slot lies."""
    stride = size * WARP

    @cuda.jit(device=True)
    def slot_place(slot, places):
        """Return it; `places` are those of the first slots in shared and in device memory."""
        if slot < HOT_SLOTS:
            return further(places[0], int64(slot * stride))
        return further(places[1], int64(slot - HOT_SLOTS) * int64(stride))

    return slot_place


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


def make_operate(size: int):
    """Return the device function that does the operations before a boundary."""
    load, profile_of = load_row(size), make_profile_of(size)
    slot_place, exit_place = make_slot_place(size), make_exit_place(size)

    @cuda.jit(device=True)
    def shifted(row, codon, strip):
        """Return a row with a codon paired behind it."""
        (lane, is_first, _), (shared, scratch), none = strip[0], strip[1], strip[3]
        edge = settled_carry(row[-1], none, is_first, scratch)
        return paired(row, edge, profile_of(shared, codon, lane))

    @cuda.jit(device=True)
    def raise_slot(slot, row, bonus, places):
        place = slot_place(slot, places)
        store_row(place, raised(load(place), row, bonus))

    @cuda.jit(device=True)
    def take(what, exit, symbols_and_codons, bonus, strip):
        """Raise the maxima before entries to the rows of an exit."""
        places, symbols = strip[2], strip[4]
        to = int32(what >> int32(TO_AT))
        first = load(exit_place(exit, int32(0), places))
        second = load(exit_place(exit, int32(1), places))
        third = load(exit_place(exit, int32(2), places))
        raise_slot(to, first, bonus, places)
        symbol = int32(symbols_and_codons & int32(NO_SYMBOL))
        if symbol != NO_SYMBOL:
            raise_slot(int32(to + 1 + symbol), second, bonus, places)
        if what & int32(FRESH) == 0:
            codons = int32(symbols_and_codons >> int32(SYMBOL_BITS))
            for last in range(symbols):
                codon = int32(codons & int32(CODON_MASK))
                raise_slot(
                    int32(to + 1 + symbols + last), shifted(third, codon, strip), bonus, places
                )
                codons = int32(codons >> int32(CODON_BITS))

    @cuda.jit(device=True)
    def put(what, source, bonus, strip):
        """Raise a slot to another one."""
        places = strip[2]
        row = load(slot_place(source, places))
        if what & int32(_KIND_MASK) == PAIR:
            codon = int32((what >> int32(CODON_AT)) & int32(CODON_MASK))
            row = shifted(row, codon, strip)
        place = slot_place(int32(what >> int32(TO_AT)), places)
        if what & int32(FRESH):
            store_row(place, raised(filled(row, strip[3]), row, bonus))
        else:
            store_row(place, raised(load(place), row, bonus))

    @cuda.jit(device=True)
    def operate(following, n, todo, strip):
        """Do operations up to the last one before a boundary; return the next, and its number."""
        more = True
        while more:
            what, source, codons, bonus = following
            n = int32(n + 1)
            # read one ahead: memory is too far away to wait for it
            following = load4(todo, int64(4) * int64(n))
            if what & int32(_KIND_MASK) == TAKE:
                take(what, source, codons, bonus, strip)
            else:
                put(what, source, bonus, strip)
            more = what & int32(LAST) == 0
        return following, n

    return operate
