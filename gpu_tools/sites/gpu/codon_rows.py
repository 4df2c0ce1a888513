"""Rows of chains that translate in packed cells: three current rows of which a warp owns columns.

All lanes of a warp work on the same boundary. The two halves of a lane's registers are two *virtual
lanes*, each with columns side by side. What a virtual lane's row owes to those before it is one
number for all its columns, the *carry*: a maximum over the lanes. It joins the row when that is
needed. The carry also stands to the upper left of the next row's first column, as it is the last
value of the virtual lane before.
"""

from __future__ import annotations

from functools import partial

from numba import cuda, int32, int64, uint32

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.rows import (
    at_least,
    filled,
    further,
    load_row,
    load_word,
    raised,
    store_row,
    store_word,
    tracks_moved,
)
from gpu_tools.hardware.gpu.intrinsics.words import (
    WARP,
    add2,
    address,
    any_lane,
    load2,
    load4,
    max2,
    permute,
    shuffle_up,
    shuffle_up_by,
    sync_lanes,
)
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
from gpu_tools.sites.gpu.packed_strip import NEVER
from gpu_tools.sites.gpu.plan import NO_SYMBOL
from gpu_tools.splicing.reading import FRAMES

LOWS, HIGHS = 0x5410, 0x7632
"""Selectors: the low halves of two words, and the high halves."""
LOW_TWICE, HIGH_TWICE, SWAPPED, LOW_SIGNED = 0x1010, 0x3232, 0x1032, 0x9910
HIGH_THEN_LOW, SECOND_THEN_LOW = 0x5432, 0x1054


@cuda.jit(device=True)
def maxima_before(value, scratch):
    """Return the packed maxima over a lane and all lanes before it."""
    # three shuffles at a time: each is waited for some thirty cycles
    one, two = shuffle_up_by(value, 1, scratch), shuffle_up_by(value, 2, scratch)
    three = shuffle_up_by(value, 3, scratch)
    value = max2(max2(value, one), max2(two, three))
    one, two = shuffle_up_by(value, 4, scratch), shuffle_up_by(value, 8, scratch)
    three = shuffle_up_by(value, 12, scratch)
    value = max2(max2(value, one), max2(two, three))
    return max2(value, shuffle_up_by(value, 16, scratch))


@cuda.jit(device=True)
def carry_of(maximum, last):
    """Return a carry: what comes from other lanes, and for the second half what the first one has.

    Both halves of `maximum` are what comes.
    """
    return max2(maximum, permute(last, int32(NEVER), int32(SECOND_THEN_LOW)))


@cuda.jit(device=True)
def settled_carry(last, left, is_first, scratch):
    """Return the carry of a row that owes nothing, from its last words.

    `left` has in its higher half what stands before the strip.
    """
    before = shuffle_up(last, scratch)
    if is_first:
        before = left
    return permute(before, last, int32(HIGH_THEN_LOW))


@cuda.jit(device=True)
def carries_of(tracks, words, is_first, scratch):
    """Return the carries of three rows that have just been advanced.

    `words` are what stands before the strip: in halves that of the first row, of the second one and
    of the third one.
    """
    first, second, third = tracks[0][-1], tracks[1][-1], tracks[2][-1]
    lows = permute(first, second, int32(LOWS))
    pair = max2(lows, permute(first, second, int32(HIGHS)))
    single = max2(third, permute(third, third, int32(SWAPPED)))
    pair, single = shuffle_up(pair, scratch), shuffle_up(single, scratch)
    if is_first:
        pair, single = words[0], permute(words[1], words[1], int32(LOW_TWICE))
    pair, single = maxima_before(pair, scratch), maxima_before(single, scratch)
    return (
        carry_of(permute(pair, pair, int32(LOW_TWICE)), first),
        carry_of(permute(pair, pair, int32(HIGH_TWICE)), second), carry_of(single, third),
    )  # fmt: skip


@cuda.jit(device=True)
def advance_tracks(tracks, carries, symbol, words, fixed):
    """Return three rows advanced by a nucleotide, and their carries."""
    chosen, floor, is_first, shared, scratch = fixed
    low, high, cost, _ = load4(shared, int32(4 * symbol))
    tracks = tracks_moved(tracks, chosen, (low, high), carries, floor, cost)
    return tracks, carries_of(tracks, words, is_first, scratch)


@cuda.jit(device=True)
def advance_alone(row, symbol, word, fixed):
    """Return a row that owes nothing, advanced by a nucleotide; and the border word of both.

    `word` has in its lower half what stands before the row, in its higher one what stands before
    the next row.
    """
    chosen, floor, is_first, shared, scratch = fixed
    low, high, cost, _ = load4(shared, int32(4 * symbol))
    before = row[-1]
    left = permute(word, word, int32(LOW_TWICE))
    carry = settled_carry(before, left, is_first, scratch)
    (row,) = tracks_moved((row,), chosen, (low, high), (carry,), floor, cost)
    last = row[-1]
    most = shuffle_up(max2(last, permute(last, last, int32(SWAPPED))), scratch)
    if is_first:
        most = permute(word, word, int32(HIGH_TWICE))
    row = at_least(row, carry_of(maxima_before(most, scratch), last))
    return row, permute(before, row[-1], int32(HIGHS))


# Border words between strips of the packed kernel of chains that translate.
#
# Each advance of rows by a nucleotide has a pair of words, in the order in which a strip does them.
# Of the three current rows the pair has the last columns' values, and that of the first row again
# as events have left it; of the accumulator the first word has those before and behind its advance.
# Words come and go in groups of `WARP` through shared memory.


SHARED_ARRIVING_AT = 32
"""Shared memory begins with a quad a symbol: words of lifted scores, and what a step down costs.
Border words that come and that go follow, and then slots.
"""
SHARED_LEAVING_AT = SHARED_ARRIVING_AT + 2 * WARP
SHARED_SLOTS_AT = SHARED_LEAVING_AT + 2 * WARP
NEVER_PAIR = int64(-0x7F7F7F7F7F7F7F80)
"""A pair of border words that is not there yet."""


@cuda.jit(device=True)
def leave_group(number, borders, shared, lane):
    """Write the group of border words before `number` to memory, once there is place."""
    leaving, mask, wanted = borders[1]
    if not wanted:
        return
    at, place = uint32(int32(number - WARP + lane) & mask), int32(SHARED_LEAVING_AT + 2 * lane)
    low, high = load2(shared, place)
    if at < leaving.shape[0]:
        pair = (int64(high) << int64(32)) | (int64(low) & int64(0xFFFFFFFF))
        while mask >= 0 and load_word(leaving, at) != NEVER_PAIR:
            pass
        store_word(leaving, at, pair)


@cuda.jit(device=True)
def peek_pair(number, borders, lane):
    """Look at the lane's pair of the group from `number` on, without waiting."""
    (arriving, mask, wanted), _, _, _ = borders
    if not wanted:
        return NEVER_PAIR
    at = int32(int32(number + lane) & mask)
    return load_word(arriving, uint32(min(at, int32(arriving.shape[0] - 1))))


@cuda.jit(device=True)
def _receive_group(number, seen, borders, shared, lane):
    """Put the group from `number` on into shared memory once it is there; look at the next one."""
    (arriving, mask, wanted), _, lowered, floor = borders
    if not wanted:
        return seen
    while any_lane(seen == NEVER_PAIR):
        seen = peek_pair(number, borders, lane)
    at = uint32(SHARED_ARRIVING_AT + 2 * lane)
    shared[at] = max2(add2(int32(seen), lowered), floor)
    shared[at + uint32(1)] = max2(add2(int32(seen >> int64(32)), lowered), floor)
    if mask >= 0:  # others may follow in a ring
        store_word(arriving, uint32(int32(number + lane) & mask), NEVER_PAIR)
    return peek_pair(int32(number + WARP), borders, lane)


@cuda.jit(device=True)
def next_words(cursor, borders, shared, lane):
    """Return what stands before the strip at the next advance, that one's place, the new cursor.

    A cursor is the number of the next advance, and what was seen of the next group of words. The
    place is where the advance leaves its own words. `borders` are the words that come and those
    that leave, each with the mask of a ring, or -1, and whether there is another strip; what is
    added to words; and the least ones.
    """
    number, seen = cursor
    of_group = int32(number & int32(WARP - 1))
    if of_group == 0:
        sync_lanes()
        if number > 0:
            leave_group(number, borders, shared, lane)
        seen = _receive_group(number, seen, borders, shared, lane)
        sync_lanes()
    words = load2(shared, int32(SHARED_ARRIVING_AT + 2 * of_group))
    return words, int32(SHARED_LEAVING_AT + 2 * of_group), (int32(number + 1), seen)


@cuda.jit(device=True)
def put_words(shared, at, words, is_last):
    """Write the border words of an advance; those of the last lane count."""
    if is_last:
        shared[uint32(at)], shared[uint32(at) + uint32(1)] = words


# Where rows in slots lie, of kernels all of whose lanes work at one boundary.


def make_place_of_slot(size: int, hot: int):
    """Return the device function that says where a slot lies; `hot` are in shared memory."""
    stride = size * WARP

    @cuda.jit(device=True)
    def slot_place(slot, places):
        """Return it; `places` are those of the first slots in shared and in device memory."""
        if slot < hot:
            return further(places[0], int64(slot * stride))
        return further(places[1], int64(slot - hot) * int64(stride))

    return slot_place


# The operations before a step of the packed kernel of chains that translate.


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
            # prefetched: memory is too far away to wait for it
            following = load4(todo, int64(4) * int64(n))
            if operation[1] < 0:
                take(operation, strip[1], strip[4])
            else:
                row, cursor = accumulate(row, operation, cursor, strip)
            more = operation[0] & int32(LAST) == 0
        return (following, n), cursor

    return operate


# Checkpoints of the packed kernel of chains that translate: all rows before a step.
#
# Long jobs do not store the rows of all sites: they leave checkpoints, from which the part in front
# of the best end is swept again.


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
