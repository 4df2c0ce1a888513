"""Plans for the packed kernel of chains that translate: what happens at three boundaries at a time.

A *step* takes three boundaries, the first of which is a multiple of three: so track f is the one
whose codons may end at the step's boundary f. A boundary has *events*, which concern the three
current rows alone, in this order: the end of a chain is looked for, the row of a stop codon is
cleared, exons join whose first codon is complete, the rows of an exit are stored, and an exon is
entered between two codons. All else concerns rows in slots, and no shorter intron than `SHORTEST`
is possible: so it is done in front of the step by *operations* on one row, the *accumulator*. They
bring the maxima before entries up to date, and make the rows of entries, also behind the codon that
an intron splits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.sites.gpu.strand_sites import (
    NO_SYMBOL,
    Sites,
    StoredRows,
    count,
    kept_slots,
    most_pending,
    n_maxima,
)
from gpu_tools.sites.introns import BORDER, RAISE, most_operations, write_border
from gpu_tools.sites.table import FIRST_ENTRY, INNER_ENTRY, INNER_EXIT, LAST_EXIT
from gpu_tools.splicing.codons import SPLITS, completes, split_class
from gpu_tools.splicing.reading import FRAMES

SHORTEST = FRAMES
"""Introns must have so many nucleotides: then no entry of a step reads an exit of the same step."""
FINAL, STOP, JOIN, BEGIN, EXIT, ENTER = (1 << k for k in range(6))
"""Events of a boundary, in the order in which they happen. Of them `FINAL` has an operand, the last
exit's score, and so does `BEGIN`: a slot, and above `SLOT_BITS` the first entry's score.
"""
SYMBOL_BITS, EVENTS_AT, EVENT_BITS, HAS_OPERATIONS = 3, 9, 6, 1 << 27
"""A step's word: three symbols, then the events of three boundaries, then a flag."""
SLOT_BITS = 16
NO_SLOT = 0x3FF
"""More than any slot's number."""
LAST, FRESH, OLD_AT, TO_AT = 8, 16, 8, 18
"""An operation's first word: a symbol, two flags and two slots. The accumulator is set to the floor
if it is `FRESH`, raised to the old slot and to a source, each plus a bonus, copied, advanced by the
symbol, and stored in the other slot. `LAST` is the last operation before a step.
"""
NO_SOURCE = NO_SLOT
"""The second word is the source, a slot. The third one is the number of a stored row, 0 for none;
the fourth one has the bonus of the old slot in its lower half, and that of the source in its upper
one.

If the second word is -1 less the number of an exit, the maxima before entries are raised to its
three rows plus the source's bonus: of each track the slot in the third word, `TAKEN_MASK` for none.
"""
TAKEN_BITS, TAKEN_MASK = 10, 0x3FF
JOINS = 2 * FRAMES
"""Slots of rows that join at a boundary, used in turn."""
ENTERED, JOINING = 0, FRAMES
BEFORE = JOINING + JOINS
"""First slots: of rows that are entered at a step's boundaries, of those that join, and of the
maxima before entries. The empty chain's row follows, and then the rows behind first codons.
"""
FIRST_STORED = 2
_CODONS = 125


class CodonPlan(NamedTuple):
    """A compiled table.

    Attributes
    ----------
    words : ndarray of int32, shape (S,)
        A word a step.
    operands : ndarray of int32
        In the order in which events need them.
    operations : ndarray of int32, shape (n, 4)
    start : int
        Slot of the empty chain's row.
    n_slots : int
    n_advances : int
        Advances of the accumulator.
    ring : int
        Exits whose rows may be needed at a time, a power of two.
    stored : StoredRows
        Numbers of stored rows begin with `FIRST_STORED`.
    """

    words: NDArray[np.int32]
    operands: NDArray[np.int32]
    operations: NDArray[np.int32]
    start: int
    n_slots: int
    n_advances: int
    ring: int
    stored: StoredRows

    @property
    def n_bytes(self) -> int:
        """Bytes of what the kernel reads."""
        return self.words.nbytes + self.operands.nbytes + self.operations.nbytes

    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return what the kernel reads: words and operands, and operations one after the other."""
        return np.concatenate([self.words, self.operands]), self.operations.ravel()

    def boundary_at(self, number: int) -> int:
        """Return the boundary that a number belongs to: the same."""
        return number

    def step_behind(self, boundary: int) -> int:
        """Return the step behind that of a boundary."""
        return boundary // FRAMES + 1


def compile_codons(sites: Sites, cost: int = 0) -> CodonPlan:
    """Compile a table with stop codons, of introns of at least `SHORTEST` nucleotides.

    The kernel's row of the empty chain is higher by a cost.
    """
    words, operands, operations, slots, counts = _compiled(sites, cost)
    start, n_slots, n_advances, pending = slots
    stored = StoredRows(*counts, FRAMES)
    ring = 1 << int(pending).bit_length()
    return CodonPlan(
        words, operands.copy(), operations.copy(), start, n_slots, n_advances, ring, stored
    )


@njit(cache=True, nogil=True, error_model="numpy")
def _compiled(sites, cost):
    """Compile a table; return words, operands, operations, slots, and exits and entries."""
    flags, classes = sites.flags, len(sites.introns.lengths)
    exits, entries = count(flags, INNER_EXIT), count(flags, INNER_ENTRY)
    firsts, finals = count(flags, FIRST_ENTRY), count(flags, LAST_EXIT)
    start = BEFORE + SPLITS * n_maxima(sites)
    borders = SPLITS * most_operations(sites.rising)
    junctions = sites.junctions
    most = classes * exits + (3 * classes + 8) * entries + start + FRAMES * _CODONS
    most += (1 + FRAMES) * len(junctions.donors) + FRAMES * len(junctions.acceptors)
    most += count(flags, BORDER) * borders
    operations = np.empty((most, 4), np.int32)
    operands = np.empty(firsts + finals + 1, np.int32)
    words = np.zeros(-(-len(flags) // FRAMES), np.int32)
    codon_slots = np.full(_CODONS, -1, np.int64)
    first = _write_first(flags, sites.codes, sites.stops, start, cost, codon_slots, operations)
    n, n_slots = first
    kept, n_slots = kept_slots(junctions, n_slots, FRAMES)
    plain = np.empty((borders, 4), np.int32)
    n, n_operands = _write_steps(
        sites, n, words, operands, operations, codon_slots, kept, plain
    )  # fmt: skip
    advances = 0
    for k in range(n):
        advances += operations[k, 1] >= 0 and operations[k, 0] & 7 != NO_SYMBOL
    slots = start, n_slots, advances, most_pending(flags, sites.introns.lengths)
    return words, operands[: n_operands + 1], operations[:n], slots, (exits, entries)


@njit(inline="always")
def _put(operations, n, fresh, old, source, bonus, symbol, to):
    """Append an operation; return how many there are."""
    operations[n, 0] = symbol | fresh | old << OLD_AT | to << TO_AT
    operations[n, 1], operations[n, 2], operations[n, 3] = source, 0, bonus << 16
    return n + 1


@njit(inline="always")
def _codon_at(codes, i):
    """Return the number of the codon that begins at a boundary."""
    return (np.int64(codes[i]) * 5 + codes[i + 1]) * 5 + codes[i + 2]


@njit(inline="always")
def _begins(flags, codes, stops, i):
    """Return whether a chain may begin at a boundary."""
    begins = i >= 0 and i + FRAMES <= len(codes) and flags[i] & FIRST_ENTRY != 0
    return begins and not stops[codes[i], codes[i + 1], codes[i + 2]]


@njit
def _write_first(flags, codes, stops, start, cost, codon_slots, operations):
    """Write what comes before all steps: maxima are cleared, rows behind first codons are made.

    `codon_slots` takes their slots. Return how many operations and slots there are.
    """
    n, n_slots = 0, start + 1
    for slot in range(BEFORE, start):
        n = _put(operations, n, FRESH, NO_SLOT, NO_SOURCE, 0, NO_SYMBOL, slot)
    for i in range(len(flags)):
        if not _begins(flags, codes, stops, i) or codon_slots[_codon_at(codes, i)] >= 0:
            continue
        codon_slots[_codon_at(codes, i)] = n_slots
        n = _put(operations, n, FRESH, NO_SLOT, start, -cost, codes[i], NO_SLOT)
        n = _put(operations, n, 0, NO_SLOT, NO_SOURCE, 0, codes[i + 1], NO_SLOT)
        n = _put(operations, n, 0, NO_SLOT, NO_SOURCE, 0, codes[i + 2], n_slots)
        n_slots += 1
    return n, n_slots


_BOUNDARY, _KIND, _BONUS, _SPLITS = range(4)
"""Of an exit: boundary, kind, score, and the classes of the codons that it splits."""


@njit
def _leave(codes, boundary, kind, bonus, exits, number):
    """Note an exit."""
    splits = 0
    for frame in range(FRAMES):
        bases = (boundary - frame) % FRAMES
        split = split_class(codes, boundary, bases) if bases <= boundary else SPLITS
        splits |= split << (3 * frame)
    exits[number, _BOUNDARY], exits[number, _KIND] = boundary, kind
    exits[number, _BONUS], exits[number, _SPLITS] = bonus, splits


@njit
def _take_exits(row, introns, exits, counts, operations, n):
    """Raise the maxima before entries to the exits that lie far enough behind `row`.

    `counts` says how many exits there are so far, then how many each class has taken.
    """
    kinds, lengths = introns.class_kinds, introns.lengths
    for k in range(len(kinds)):
        while counts[1 + k] < counts[0] and exits[counts[1 + k], _BOUNDARY] + lengths[k] <= row:
            exit = counts[1 + k]
            counts[1 + k] += 1
            if exits[exit, _KIND] != kinds[k]:
                continue
            slots, splits = 0, exits[exit, _SPLITS]
            for frame in range(FRAMES):
                split = splits >> (3 * frame) & 7
                slot = TAKEN_MASK
                if split < SPLITS:
                    slot = BEFORE + introns.number[k] * SPLITS + split
                slots |= slot << (TAKEN_BITS * frame)
            bonus = exits[exit, _BONUS] - introns.penalties[k]
            n = _put(operations, n, 0, NO_SLOT, -1 - exit, bonus, NO_SYMBOL, NO_SLOT)
            operations[n - 1, 2] = slots
    return n


@njit
def _keep(donors, numbers, exits, kept, boundary, keep, operations, n):
    """Put the rows of exits before a boundary, plus their scores, into slots of junctions.

    `numbers` are those of the exits; the first `keep` are kept already. Return how many operations
    there are, and how many are kept.
    """
    while keep < len(kept) and donors[keep] < boundary:
        slots, exit = 0, numbers[keep]
        for frame in range(FRAMES):
            slot = kept[keep] + frame
            n = _put(operations, n, FRESH, NO_SLOT, NO_SOURCE, 0, NO_SYMBOL, slot)
            slots |= slot << (TAKEN_BITS * frame)
        n = _put(operations, n, 0, NO_SLOT, -1 - exit, exits[exit, _BONUS], NO_SYMBOL, NO_SLOT)
        operations[n - 1, 2] = slots
        keep += 1
    return n, keep


@njit
def _cross_border(rising, i, operations, n, plain):
    """Write the operations of a border; `plain` takes them in the form of `rising` before."""
    for k in range(write_border(rising, i, SPLITS, BEFORE, plain, 0)):
        kind, to, source, bonus = plain[k]
        old = to if kind == RAISE else NO_SLOT
        n = _put(operations, n, FRESH, old, source, bonus, NO_SYMBOL, to)
    return n


@njit
def _add_source(slot, points, found, operations, n):
    """Add a slot plus some points to what the accumulator is raised to, `found` being there.

    Return how many operations there are.
    """
    if found % 2 == 1:
        operations[n - 1, 0] ^= (NO_SLOT ^ slot) << OLD_AT
        operations[n - 1, 3] |= points & 0xFFFF
    elif found == 0:
        operations[n - 1, 1], operations[n - 1, 3] = slot, points << 16
    else:
        n = _put(operations, n, 0, NO_SLOT, slot, points, NO_SYMBOL, NO_SLOT)
    return n


@njit
def _gather(splits, boundary, score, kind, sites, kept, operations, n):
    """Set the accumulator to what may enter behind the classes of codons in the mask `splits`.

    The last one of the operations is still to be completed. Return how many there are, and how many
    sources they have.
    """
    kinds, junctions = sites.introns.kinds, sites.junctions
    found, n = 0, _put(operations, n, FRESH, NO_SLOT, NO_SOURCE, 0, NO_SYMBOL, NO_SLOT)
    for split in range(SPLITS):
        if splits >> split & 1 == 0:
            continue
        for k in range(len(kinds)):
            if kinds[k] != kind:
                continue
            slot = BEFORE + k * SPLITS + split
            n, found = _add_source(slot, score, found, operations, n), found + 1
    k = first_from(junctions.acceptors, boundary)
    while k < len(junctions.acceptors) and junctions.acceptors[k] == boundary:
        donor, slot = np.int64(junctions.donors[junctions.kept[k]]), kept[junctions.kept[k]]
        for frame in range(FRAMES):
            bases = (donor - frame) % FRAMES
            if bases <= donor and splits >> split_class(sites.codes, donor, bases) & 1:
                points = score - junctions.penalties[k]
                n, found = _add_source(slot + frame, points, found, operations, n), found + 1
        k += 1
    return n, found


@njit
def _join(codes, i, bases, waits, operations, n):
    """Complete the operations of a row that joins behind a codon that an intron splits."""
    operations[n - 1, 0] ^= NO_SYMBOL ^ codes[i]
    at = i + FRAMES - bases
    to = JOINING + at % JOINS
    if at == i + 2:
        n = _put(operations, n, 0, NO_SLOT, NO_SOURCE, 0, codes[i + 1], NO_SLOT)
    if waits[at % JOINS]:
        n = _put(operations, n, 0, to, NO_SOURCE, 0, NO_SYMBOL, NO_SLOT)
    operations[n - 1, 0] ^= (NO_SLOT ^ to) << TO_AT
    waits[at % JOINS] = True
    return n


@njit
def _completed(codes, stops, i):
    """Return a mask of the classes of split codons that may be completed behind a boundary."""
    mask = 0
    for split in range(SPLITS):
        mask |= (1 if completes(codes, stops, split, i) else 0) << split
    return mask


_OF_BASES = np.array([0b000001, 0b000110, 0b111000])
"""The classes of split codons with no, one and two nucleotides before the intron, as masks."""


@njit(error_model="numpy")
def _write_steps(sites, n, words, operands, operations, codon_slots, kept, plain):
    """Write words, operands and operations of all steps; `n` operations are there already.

    `kept` are the first slots of donors of junctions, which are filled before the next step.
    Return how many operations and operands there are.
    """
    # local names: an array read out of a tuple inside the loop costs an atomic reference count
    flags, codes, stops, rising = sites.flags, sites.codes, sites.stops, sites.rising
    last_exit, first_entry = sites.last_exit, sites.first_entry
    inner_exit, exit_kind = sites.inner_exit, sites.exit_kind
    inner_entry, entry_kind = sites.inner_entry, sites.entry_kind
    introns, kept_donors = sites.introns, sites.junctions.donors
    at_kept, keep, mark = np.zeros(len(kept), np.int64), 0, 0
    exits = np.empty((count(flags, INNER_EXIT), 4), np.int64)
    counts = np.zeros(1 + len(introns.lengths), np.int64)
    waits, n_operands, before = np.zeros(JOINS, np.bool_), 0, 0
    copy = FIRST_STORED + FRAMES * len(exits)
    for i in range(FRAMES * len(words)):
        symbol = codes[i - 1] if 0 < i <= len(codes) else NO_SYMBOL
        words[i // FRAMES] |= symbol << (SYMBOL_BITS * (i % FRAMES))
        flag, events = flags[i] if i < len(flags) else np.uint8(0), 0
        if i % FRAMES == 0:
            n, keep = _keep(kept_donors, at_kept, exits, kept, i, keep, operations, n)
        if flag & BORDER:
            n = _take_exits(i - 1, introns, exits, counts, operations, n)
            n = _cross_border(rising, i, operations, n, plain)
        if flag & LAST_EXIT:
            events |= FINAL
            operands[n_operands] = last_exit[i]
            n_operands += 1
        if FRAMES <= i < len(flags) and stops[codes[i - 3], codes[i - 2], codes[i - 1]]:
            events |= STOP
        if waits[i % JOINS]:
            events |= JOIN
            waits[i % JOINS] = False
        if _begins(flags, codes, stops, i - FRAMES):
            events |= BEGIN
            slot = codon_slots[_codon_at(codes, i - FRAMES)]
            operands[n_operands] = slot | np.int64(first_entry[i - FRAMES]) << SLOT_BITS
            n_operands += 1
        if flag & (INNER_EXIT | INNER_ENTRY):
            n = _take_exits(i, introns, exits, counts, operations, n)
        if flag & INNER_EXIT:
            events |= EXIT
            _leave(codes, i, exit_kind[i], inner_exit[i], exits, counts[0])
            if mark < len(kept) and kept_donors[mark] == i:
                at_kept[mark], mark = counts[0], mark + 1
            counts[0] += 1
        if flag & INNER_ENTRY:
            events |= ENTER
            mask, score, kind = _completed(codes, stops, i), inner_entry[i], entry_kind[i]
            for bases in range(FRAMES):
                splits = mask & _OF_BASES[bases]
                n, found = _gather(splits, i, score, kind, sites, kept, operations, n)
                operations[n - 1, 2] = copy + bases
                if bases == 0:
                    operations[n - 1, 0] ^= (NO_SLOT ^ (ENTERED + i % FRAMES)) << TO_AT
                elif found > 0:
                    n = _join(codes, i, bases, waits, operations, n)
            copy += FRAMES
        words[i // FRAMES] |= events << (EVENTS_AT + EVENT_BITS * (i % FRAMES))
        if i % FRAMES == FRAMES - 1 and n > before:
            words[i // FRAMES] |= HAS_OPERATIONS
            operations[n - 1, 0] |= LAST
            before = n
    return n, n_operands
