"""A step of the kernel of proteins: the row of a boundary, and what happens there."""

from __future__ import annotations

from functools import cache, reduce

import numpy as np
from numba import cuda, int32, int64, types
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.rows import (
    filled,
    further,
    load_quads,
    load_row,
    raised,
    store_row,
    sum_of,
)
from gpu_tools.hardware.gpu.intrinsics.words import (
    WARP,
    add2,
    add_pairs,
    address,
    emit,
    load2,
    load4,
    max2,
    max_pairs,
    pack,
    permute,
    shuffle_up,
    store4,
    sync_lanes,
    unpack,
    with_twin,
)
from gpu_tools.sites.gpu import codon_rows
from gpu_tools.sites.gpu.packed_strip import WIDE
from gpu_tools.sites.proteins.gpu.plan import (
    CODON_BITS,
    CODON_MASK,
    ENTER,
    ENTER_PLACED,
    EXIT,
    FRAMES,
    FRESH,
    FRESH_NEXT,
    HAS_OPERATIONS,
    JOIN,
    JUNCTION,
    KEEP,
    KIND_MASK,
    LAST,
    NO_CODONS,
    NO_SYMBOL,
    OPERAND_SLOT_BITS,
    PLACED,
    SPECIAL,
    STARTED,
    STOP,
    SYMBOL_BITS,
    TAKE,
    TO_AT,
    WAIT,
    WAITING,
    WAITS,
)

# A row of a protein's cells from the three before it, in packed words of registers.
#
# Words hold two cells. The halves of a lane's words are two *virtual lanes*, each with columns side
# by side. Functions look scores up in a profile of bytes: two registers have their four in a word.


_EVEN, _ODD = 0x9180, 0xB3A2
"""Selectors: the first two bytes of a word as two cells, and the last two."""


def _score_twin(profile, k):
    return permute(profile[k // 2], 0, _ODD if k % 2 else _EVEN)


def _score(builder, profile, k):
    """Return the scores of register `k`, in code that generates code."""
    selector = _ODD if k % 2 else _EVEN
    return emit(builder, f"prmt.b32 $0, $1, 0, {selector};", profile[k // 2])


def _begun_twin(three, gaps, joined, profile, diagonal, bonus):
    cells = []
    for k, gap in enumerate(gaps):
        cell = max2(add2(diagonal, _score_twin(profile, k)), gap)
        cells.append(max2(cell, add2(joined[k], bonus)))
        diagonal = three[k]
    return tuple(cells)


@with_twin(_begun_twin)
def begun(typing_context, three, gaps, joined, profile, diagonal, bonus):
    """Return the part of a row that does not need the two rows before it.

    `three` is the third row before it, settled, and `diagonal` what stands before its virtual
    lanes; `gaps` the row of chains that leave out the codon that ends here; `joined` a row that
    joins with a bonus; `profile` are the lane's scores.
    """

    def generate(context, builder, signature, arguments):
        three, gaps, joined, profile = (unpack(builder, part) for part in arguments[:4])
        diagonal, bonus = arguments[4:]
        cells = []
        for k, gap in enumerate(gaps):
            cell = add_pairs(builder, diagonal, _score(builder, profile, k))
            cell = max_pairs(builder, cell, gap)
            cells.append(max_pairs(builder, cell, add_pairs(builder, joined[k], bonus)))
            diagonal = three[k]
        return pack(builder, cells)

    return gaps(three, gaps, joined, profile, diagonal, bonus), generate


def _advanced_twin(row, one, two, few, shifts, shifts_on):
    made = []
    for k, cell in enumerate(row):
        either = max2(one[k], two[k])
        cell = max2(add2(either, shifts), cell)
        made.append(max2(add2(few, shifts_on), cell))
        few = either
    return tuple(made)


@with_twin(_advanced_twin)
def advanced(typing_context, row, one, two, few, shifts, shifts_on):
    """Return a row that `begun` has made, with frameshifts.

    `one` and `two` are the two rows before it, settled, the last one first; `few` is the larger of
    what stands before their virtual lanes. Added are `shifts`, with a residue `shifts_on`.
    """

    def generate(context, builder, signature, arguments):
        row, one, two = (unpack(builder, part) for part in arguments[:3])
        (few, shifts, shifts_on), made = arguments[3:], []
        for k, cell in enumerate(row):
            either = max_pairs(builder, one[k], two[k])
            cell = max_pairs(builder, add_pairs(builder, either, shifts), cell)
            made.append(max_pairs(builder, add_pairs(builder, few, shifts_on), cell))
            few = either
        return pack(builder, made)

    return row(row, one, two, few, shifts, shifts_on), generate


def _settled_twin(row, left, opening):
    made = []
    for cell in row:
        made.append(max2(add2(left, opening), cell))
        left = max2(left, cell)
    return tuple(made)


@with_twin(_settled_twin)
def settled(typing_context, row, left, opening):
    """Return a row with residues left out; `left` is the largest cell before each virtual lane."""

    def generate(context, builder, signature, arguments):
        (left, opening), made = arguments[1:], []
        for cell in unpack(builder, arguments[0]):
            made.append(max_pairs(builder, add_pairs(builder, left, opening), cell))
            left = max_pairs(builder, left, cell)
        return pack(builder, made)

    return row(row, left, opening), generate


def _largest_of_twin(row):
    return reduce(max2, row)


@with_twin(_largest_of_twin)
def largest_of(typing_context, row):
    """Return the largest words of a row, by virtual lane."""

    def generate(context, builder, signature, arguments):
        words = unpack(builder, arguments[0])
        while len(words) > 1:
            pairs = zip(words[::2], words[1::2], strict=True)
            words = [max_pairs(builder, *pair) for pair in pairs]
        return words[0]

    return types.int32(row), generate


def _left_out_twin(gaps, row, opening, leaving):
    pairs = zip(gaps, row, strict=True)
    return tuple(add2(max2(add2(b, opening), a), leaving) for a, b in pairs)


@with_twin(_left_out_twin)
def left_out(typing_context, gaps, row, opening, leaving):
    """Return the next row of chains that leave a codon out, from that and the row before both."""

    def generate(context, builder, signature, arguments):
        gaps, row = (unpack(builder, part) for part in arguments[:2])
        made = [
            max_pairs(builder, add_pairs(builder, b, arguments[2]), a)
            for a, b in zip(gaps, row, strict=True)
        ]
        return pack(builder, [add_pairs(builder, each, arguments[3]) for each in made])

    return gaps(gaps, row, opening, leaving), generate


def _paired_twin(row, edge, profile):
    before = (edge, *row[:-1])
    return tuple(add2(here, _score_twin(profile, k)) for k, here in enumerate(before))


@with_twin(_paired_twin)
def paired(typing_context, row, edge, profile):
    """Return a row with a codon paired behind it; `edge` stands before the virtual lanes."""

    def generate(context, builder, signature, arguments):
        row, profile = unpack(builder, arguments[0]), unpack(builder, arguments[2])
        before = [arguments[1], *row[:-1]]
        return pack(
            builder,
            [
                add_pairs(builder, here, _score(builder, profile, k))
                for k, here in enumerate(before)
            ],
        )

    return row(row, edge, profile), generate


def _first_at_least_twin(row, value):
    return (max2(row[0], value), *row[1:])


@with_twin(_first_at_least_twin)
def first_at_least(typing_context, row, value):
    """Return a row whose first word is raised to a value."""

    def generate(context, builder, signature, arguments):
        words = unpack(builder, arguments[0])
        return pack(builder, [max_pairs(builder, words[0], arguments[1]), *words[1:]])

    return row(row, value), generate


@cuda.jit(device=True)
def with_residues_left_out(row, before, is_first, opening, scratch):
    """Return a row with residues left out, and the largest cell so far.

    `before` has in both halves the largest cell of the columns before the strip.
    """
    left = largest_of(row)
    own = max2(left, permute(left, left, int32(codon_rows.SWAPPED)))
    others = shuffle_up(own, scratch)
    if is_first:
        others = before
    others = codon_rows.maxima_before(others, scratch)
    return settled(row, codon_rows.carry_of(others, left), opening), max2(others, own)


# The operations in front of a boundary: rows in slots, and the rows of exits.


MOST_CODONS = 23
"""Rows of a profile, at most: amino acids, one for ambiguous codons, two for stop codons."""
PROFILE_AT = codon_rows.SHARED_SLOTS_AT
PLAN_AT = PROFILE_AT + MOST_CODONS * WIDE // 2 * WARP
PLAN_RING = 2 * WARP
"""Boundaries in shared memory: a group that is crossed, and the next one."""
SLOTS_AT = PLAN_AT + 4 * PLAN_RING
"""Where slots begin in shared memory: the first ones, the *hot* slots, others lie in device memory.
"""
LEAST_HOT = 6 if simulated() else 14
"""Hot slots, at least. With these a multiprocessor of an H100 or H200 holds eight strips."""
_MOST_WORDS, _WORDS_OF_SYSTEM = 12_256, 256
"""Words of shared memory that a kernel may use, and others that each of its blocks takes."""


def hot_slots(strips: int) -> int:
    """Return how many slots are hot on the current GPU, which sweeps so many strips.

    It sweeps as many at a time as it does with the fewest hot slots.
    """
    if simulated():
        return LEAST_HOT + strips % 2
    device = cuda.get_current_device()
    all_words, most = device.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR // 4, _MOST_WORDS - SLOTS_AT
    own = -(-strips // device.MULTIPROCESSOR_COUNT)
    own = min(max(own, 1), all_words // (_WORDS_OF_SYSTEM + SLOTS_AT + LEAST_HOT * WIDE * WARP))
    words = all_words // own - _WORDS_OF_SYSTEM - SLOTS_AT
    return min(words, most) // (WIDE * WARP)


def make_slot_place(size: int):
    """Return the device function that says where a slot lies."""
    stride = size * WARP

    @cuda.jit(device=True)
    def slot_place(slot, places):
        """Return it; `places` are those of the first hot and other slots, and how many are hot."""
        if slot < places[4]:
            return further(places[0], int64(slot * stride))
        return further(places[1], int64(slot - places[4]) * int64(stride))

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


def make_placed(size: int):
    """Return the device function that adds the points of introns at their places to a row."""
    stride, load = size * WARP, load_row(size)

    @cuda.jit(device=True)
    def placed(row, what, phase, places):
        """Return the row that exons begin with; the rows of points lie behind those of exits."""
        if what & int32(PLACED):
            number = int32(FRAMES * (places[3] + 1) + phase)
            row = sum_of(row, load(further(places[2], int64(number) * int64(stride))))
        return row

    return placed


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
    load, slot_place, placed = load_row(size), make_slot_place(size), make_placed(size)

    @cuda.jit(device=True)
    def put_one(to, source, what, bonus, strip):
        place, row = slot_place(to, strip[2]), load(slot_place(source, strip[2]))
        row = placed(row, what, int32(0), strip[2])
        low = filled(row, strip[3])
        if what & int32(FRESH) == 0:
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
            put_one(to, source, what, bonus, strip)
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
            edge = codon_rows.settled_carry(third[-1], none, is_first, scratch)
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
    placed = make_placed(size)

    @cuda.jit(device=True)
    def of_one(symbol, codons, source, strip):
        """Return the rows of introns behind one nucleotide, with their codon."""
        (lane, is_first, _), (shared, scratch) = strip[0], strip[1]
        row = load(slot_place(int32(source + 1 + symbol), strip[2]))
        codon = int32((codons >> int32(CODON_BITS * symbol)) & int32(CODON_MASK))
        edge = codon_rows.settled_carry(row[-1], strip[3], is_first, scratch)
        return paired(row, edge, profile_of(shared, codon, lane))

    @cuda.jit(device=True)
    def wait(what, source, symbol_and_codons, bonus, strip):
        places, none, symbols = strip[2], strip[3], strip[4]
        to = int32(what >> int32(TO_AT))
        symbol = int32(symbol_and_codons & int32(NO_SYMBOL))
        if symbol != NO_SYMBOL:
            place = slot_place(to, places)
            row = load(slot_place(int32(source + 1 + symbols + symbol), places))
            row = placed(row, what, int32(2), places)
            low = filled(row, none)
            if what & int32(FRESH) == 0:
                low = load(place)
            store_row(place, raised(low, row, bonus))
        if symbol_and_codons & int32(NO_CODONS) == 0:
            codons = int32(symbol_and_codons >> int32(SYMBOL_BITS))
            row = of_one(int32(0), codons, source, strip)
            for one in range(1, symbols):
                row = raised(row, of_one(int32(one), codons, source, strip), int32(0))
            row = placed(row, what, int32(1), places)
            following = int32(WAITING + ((to - WAITING + 1) & int32(WAITS - 1)))
            place, low = slot_place(following, places), filled(row, none)
            if what & int32(FRESH_NEXT) == 0:
                low = load(place)
            store_row(place, raised(low, row, bonus))

    return wait


def make_junction(size: int):
    """Return the device function of introns that have penalties of their own."""
    load, profile_of, placed = load_row(size), make_profile_of(size), make_placed(size)
    slot_place, exit_place = make_slot_place(size), make_exit_place(size)

    @cuda.jit(device=True)
    def junction(what, source, phase_and_codon, bonus, strip):
        (lane, is_first, _), (shared, scratch), places = strip[0], strip[1], strip[2]
        to, none = int32(what >> int32(TO_AT)), strip[3]
        if phase_and_codon == KEEP:
            for phase in range(FRAMES):
                row = load(exit_place(source, int32(phase), places))
                store_row(slot_place(int32(to + phase), places), row)
        else:
            row, place = load(slot_place(source, places)), slot_place(to, places)
            edge = codon_rows.settled_carry(row[-1], none, is_first, scratch)
            codon = int32(phase_and_codon & int32(CODON_MASK))
            row = paired(row, edge, profile_of(shared, codon, lane))
            row = placed(row, what, int32(phase_and_codon >> int32(CODON_BITS)), places)
            low = filled(row, none)
            if what & int32(FRESH) == 0:
                low = load(place)
            store_row(place, raised(low, row, bonus))

    return junction


def make_operate(size: int):
    """Return the device function that does the operations before a boundary."""
    put, take, wait = make_put(size), make_take(size), make_wait(size)
    junction = make_junction(size)

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
            elif kind == JUNCTION:
                junction(what, source, codons, bonus, strip)
            else:
                put(what, source, codons, bonus, strip)
            n, more = int32(n + 1), what & int32(LAST) == 0
            # the next one is some boundaries away, mostly, and memory is too
            following = load4(todo, int64(4) * int64(n))
        return following, n

    return operate


# Checkpoints of the kernel of proteins: all rows before a boundary, from which a warp goes on.


def _make_copy(size: int):
    """Return the device function that copies rows."""
    load, stride = load_row(size), size * WARP

    @cuda.jit(device=True)
    def copy(source, to, count):
        k = int64(0)
        while k + 2 <= count:
            # both are waited for at once
            one = load(further(source, k * int64(stride)))
            two = load(further(source, (k + int64(1)) * int64(stride)))
            store_row(further(to, k * int64(stride)), one)
            store_row(further(to, (k + int64(1)) * int64(stride)), two)
            k = int64(k + 2)
        if k < count:
            store_row(further(to, k * int64(stride)), load(further(source, k * int64(stride))))

    return copy


def make_save(size: int):
    """Return the device function that writes a checkpoint.

    Its rows are one of numbers, the next operation's and how many exits there were; the row that is
    begun; the three before it, and those of chains that leave a codon out; slots; and those of the
    latest exits.
    """
    copy, stride = _make_copy(size), size * WARP

    @cuda.jit(device=True)
    def save(area, state, counts, lane, places):
        """Write a checkpoint to an area; `counts` are slots, and exits whose rows there are."""
        row, (one, two, three), (gap, gap_one, gap_two) = state[0], state[1], state[2]
        if lane == 0:
            area[0], area[1] = state[6][1], state[6][2]
        first = address(area[stride + 4 * lane :])
        store_row(first, row)
        store_row(further(first, int64(stride)), one)
        store_row(further(first, int64(2 * stride)), two)
        store_row(further(first, int64(3 * stride)), three)
        store_row(further(first, int64(4 * stride)), gap)
        store_row(further(first, int64(5 * stride)), gap_one)
        store_row(further(first, int64(6 * stride)), gap_two)
        hot, to = int64(min(counts[0], places[4])), further(first, int64(7 * stride))
        copy(places[0], to, hot)
        copy(places[1], further(to, hot * int64(stride)), int64(counts[0]) - hot)
        to = further(to, int64(counts[0]) * int64(stride))
        copy(places[2], to, int64(FRAMES * counts[1]))

    return save


def make_resume(size: int):
    """Return the device function that goes on from a checkpoint."""
    copy, load, stride = _make_copy(size), load_row(size), size * WARP

    @cuda.jit(device=True)
    def resume(area, counts, plan, strip):
        """Return the state in front of the first boundary of a plan."""
        (lane, is_first, _), (_, scratch), places = strip[0], strip[1], strip[2]
        none, borders, todo = strip[3], strip[5], strip[7]
        first = address(area[stride + 4 * lane :])
        hot, source = int64(min(counts[0], places[4])), further(first, int64(7 * stride))
        copy(source, places[0], hot)
        copy(further(source, hot * int64(stride)), places[1], int64(counts[0]) - hot)
        source = further(source, int64(counts[0]) * int64(stride))
        copy(source, places[2], int64(FRAMES * counts[1]))
        row, one = load(first), load(further(first, int64(stride)))
        two, three = (
            load(further(first, int64(2 * stride))),
            load(further(first, int64(3 * stride))),
        )
        gaps = (
            load(further(first, int64(4 * stride))), load(further(first, int64(5 * stride))),
            load(further(first, int64(6 * stride))),
        )  # fmt: skip
        edges = (
            codon_rows.settled_carry(one[-1], none, is_first, scratch),
            codon_rows.settled_carry(two[-1], none, is_first, scratch),
            codon_rows.settled_carry(three[-1], none, is_first, scratch),
        )
        n, exits = int32(area[0]), int32(area[1])
        cursor = int32(0), codon_rows.peek_pair(int32(0), borders, lane)
        seen = load4(plan, int64(4) * int64(WARP + lane))
        return (
            row, (one, two, three), gaps, edges, filled(row, none), cursor,
            (load4(todo, int64(4) * int64(n)), n, exits),
            (load4(plan, int64(0)), load4(plan, int64(4)), seen),
        )  # fmt: skip

    return resume


@cache
def columns_in_rows(strips: int) -> NDArray[np.int32]:
    """Return where columns lie in the cells of a row, all strips side by side.

    The first column of a strip is that of the strip before.
    """
    each = 2 * WIDE * WARP
    strip, column = np.divmod(np.arange(strips * (each - 1)), each - 1)
    lane, column = np.divmod(column + 1, 2 * WIDE)
    half, column = np.divmod(column, WIDE)
    quad, word = np.divmod(column, 4)
    places = ((quad * WARP + lane) * 4 + word) * 2 + half + each * strip
    return places.astype(np.int32)


@cuda.jit(device=True)
def _next_boundary(number, prefetched, plan, shared, lane):
    """Return a boundary, the next one, and what is prefetched then.

    A group of boundaries is read while the one before is crossed.
    """
    here, following, seen = prefetched
    if number & int32(WARP - 1) == 0:
        sync_lanes()
        at = int32((number + WARP + lane) & int32(PLAN_RING - 1))
        store4(shared, int64(PLAN_AT + 4 * at), seen)
        sync_lanes()
        seen = load4(plan, int64(4) * int64(number + 2 * WARP + lane))
    at = int32((number + 2) & int32(PLAN_RING - 1))
    behind = load4(shared, int64(PLAN_AT + 4 * at))
    return here, following, (following, behind, seen)


def _make_happen(size: int):
    """Return the device function that does the events of a boundary."""
    load, load_start, exit_place = load_row(size), load_quads(size), make_exit_place(size)
    slot_place = make_slot_place(size)

    @cuda.jit(device=True)
    def happen(boundary, row, one, two, exits, halo, strip):
        """Return the row behind them, its largest cell so far, and how many exits there are.

        `halo` are the cell of the column before the strip, and the largest cell up to that. The
        largest cells are known where an exon is entered with points of introns at their places:
        there is more to leave residues out behind then.
        """
        (_, is_first, _), (shared, scratch), places = strip[0], strip[1], strip[2]
        word, _, begins, entered = boundary
        if word & int32(EXIT):
            store_row(exit_place(exits, int32(0), places), row)
            store_row(exit_place(exits, int32(1), places), one)
            store_row(exit_place(exits, int32(2), places), two)
            exits = int32(exits + 1)
            most = raised(raised(row, one, int32(0)), two, int32(0))
            score = permute(word, word, int32(codon_rows.HIGH_TWICE))
            store_row(strip[10], raised(load(strip[10]), most, score))
        begins = permute(begins, begins, int32(codon_rows.LOW_TWICE))
        row = raised(row, load_start(shared, strip[8]), begins)
        if word & int32(ENTER):
            slot = int32(entered & int32((1 << OPERAND_SLOT_BITS) - 1))
            bonus = permute(entered, entered, int32(codon_rows.HIGH_TWICE))
            row = raised(row, load(slot_place(slot, places)), bonus)
        row = first_at_least(row, halo[0])
        most = row[-1]
        if word & int32(ENTER_PLACED):
            opening = strip[6][0]
            row, most = with_residues_left_out(row, halo[1], is_first, opening, scratch)
        return row, most, exits

    return happen


def make_joining(size: int):
    """Return the device function that says what joins the row of a boundary."""
    load_hot, stride = load_quads(size), 4 * size * WARP

    @cuda.jit(device=True)
    def joining(boundary, number, three, diagonal, strip):
        """Return the third row before it and what stands before that; the place and bonus of a row.

        All that branches is done here. In the code behind it no instruction has to wait for one
        before it while there are others.
        """
        (_, is_first, _), (shared, scratch), weights = strip[0], strip[1], strip[6]
        word, _, bonus, _ = boundary
        place = strip[8]
        if word & int32(STARTED):
            points = permute(bonus, bonus, int32(codon_rows.HIGH_TWICE))
            bonus = permute(bonus, bonus, int32(codon_rows.LOW_TWICE))
            three = raised(three, load_hot(shared, place), points)
            diagonal = codon_rows.settled_carry(three[-1], strip[3], is_first, scratch)
        if word & int32(SPECIAL):
            bonus = weights[5]
            if word & int32(JOIN):
                bonus = int32(0)
                place = int32(place + stride * int32(WAITING + (number & int32(WAITS - 1))))
        return (three, diagonal), (place, bonus)

    return joining


def make_begin_row(size: int):
    """Return the device function that begins the row of a boundary, before the one in front is."""
    load_hot, profile_of = load_quads(size), make_profile_of(size)

    @cuda.jit(device=True)
    def begin_row(word, before, joined, gaps, strip):
        """Return that part of the row, and the row of chains that leave a codon out."""
        lane, shared, weights = strip[0][0], strip[1][0], strip[6]
        (three, diagonal), (place, bonus) = before, joined
        leaving = weights[1]
        if word & int32(STOP):
            leaving = weights[2]
        gap = left_out(gaps, three, weights[0], leaving)
        profile = profile_of(shared, int32(word & int32(CODON_MASK)), lane)
        return begun(three, gap, load_hot(shared, place), profile, diagonal, bonus), gap

    return begin_row


@cuda.jit(device=True)
def _keep_nothing(number, row, to):
    """Keep no row."""


def make_cross(size: int, keep=_keep_nothing):
    """Return the device function that goes on by a boundary.

    `keep` is called with the row before the events of a boundary.

    The state is the row that `begin_row` has begun; the three rows before it, the last one first;
    those of chains that leave a codon out, that of the boundary first; what stands before the
    rows; the best ends; the cursor of border words; the next operation, its number, and the exits
    so far; and the boundary, the next one, with one of those that a lane has prefetched.
    """
    operate, happen, begin_row = make_operate(size), _make_happen(size), make_begin_row(size)
    joining = make_joining(size)

    @cuda.jit(device=True)
    def cross(number, state, strip, to):
        row, (one, two, _), gaps, edges, ends, cursor, (operation, n, exits), plan = state
        (lane, is_first, is_last), (shared, scratch) = strip[0], strip[1]
        none, borders, weights = strip[3], strip[5], strip[6]
        here, following, plan = _next_boundary(number, plan, strip[9], shared, lane)
        word = here[0]
        if word & int32(HAS_OPERATIONS):
            operation, n = operate(operation, n, strip[7], strip)
        words, place, cursor = codon_rows.next_words(cursor, borders, shared, lane)
        third, joined = joining(following, int32(number + 1), two, edges[1], strip)
        few = max2(edges[0], edges[1])
        row = advanced(row, one, two, few, weights[3], weights[4])
        # the next row is begun here: exchanges between lanes take long
        next_row, next_gap = begin_row(following[0], third, joined, gaps[2], strip)
        before = permute(words[0], words[0], int32(codon_rows.HIGH_TWICE))
        row, most = with_residues_left_out(row, before, is_first, weights[0], scratch)
        inside, whole = none, none
        if is_first:
            inside = permute(words[0], none, int32(codon_rows.LOWS))
            whole = permute(words[1], none, int32(codon_rows.LOWS))
        row = first_at_least(row, inside)
        leaves = permute(row[-1], most, int32(codon_rows.HIGH_THEN_LOW))
        keep(number, row, to)
        largest = row[-1]
        ends = raised(ends, row, here[1])
        if word & int32(SPECIAL):
            halo = whole, permute(words[1], words[1], int32(codon_rows.HIGH_TWICE))
            row, largest, exits = happen(here, row, one, two, exits, halo, strip)
        behind = permute(row[-1], largest, int32(codon_rows.HIGH_THEN_LOW))
        codon_rows.put_words(shared, place, (leaves, behind), is_last)
        edge = codon_rows.settled_carry(row[-1], none, is_first, scratch)
        return (
            next_row, (row, one, two), (next_gap, gaps[0], gaps[1]), (edge, edges[0], edges[1]),
            ends, cursor, (operation, n, exits), plan,
        )  # fmt: skip

    return cross
