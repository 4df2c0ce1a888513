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
from numba import njit
from numpy.typing import NDArray

from gpu_tools.sites.gpu.layout import Sites
from gpu_tools.sites.gpu.row_plan import (
    NO_SYMBOL,
    StoredRows,
    count,
    most_pending,
    n_maxima,
)
from gpu_tools.sites.operations import RAISE
from gpu_tools.sites.rising import BORDER, most_operations, write_border
from gpu_tools.sites.table import FIRST_ENTRY, INNER_ENTRY, INNER_EXIT, LAST_EXIT
from gpu_tools.splicing.codons import FRAMES, SPLITS, completes, split_bases, split_class

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


def compile_codons(sites: Sites) -> CodonPlan:
    """Compile a table with stop codons, of introns of at least `SHORTEST` nucleotides."""
    words, operands, operations, slots, counts = _compiled(sites)
    start, n_slots, n_advances = slots
    pending = most_pending(sites.flags, sites.intron_lengths)
    stored = StoredRows(*counts, FRAMES, FRAMES)
    ring = 1 << int(pending).bit_length()
    return CodonPlan(
        words, operands.copy(), operations.copy(), start, n_slots, n_advances, ring, stored
    )


@njit(cache=True, nogil=True)
def _compiled(sites):
    """Compile a table; return words, operands, operations, slots, and exits and entries."""
    flags, classes = sites.flags, len(sites.intron_kinds)
    exits, entries = count(flags, INNER_EXIT), count(flags, INNER_ENTRY)
    firsts, finals = count(flags, FIRST_ENTRY), count(flags, LAST_EXIT)
    start = BEFORE + SPLITS * n_maxima(sites)
    borders = SPLITS * most_operations(sites.rising)
    most = classes * exits + (3 * classes + 8) * entries + start + FRAMES * _CODONS
    most += count(flags, BORDER) * borders
    operations = np.empty((most, 4), np.int32)
    operands = np.empty(firsts + finals + 1, np.int32)
    words = np.zeros(-(-len(flags) // FRAMES), np.int32)
    codon_slots = np.full(_CODONS, -1, np.int64)
    n, n_slots = _write_first(sites, start, codon_slots, operations)
    n, n_operands = _write_steps(
        sites, start, n, words, operands, operations, codon_slots, np.empty((borders, 4), np.int32)
    )
    advances = 0
    for k in range(n):
        advances += operations[k, 0] & 7 != NO_SYMBOL
    slots = start, n_slots, advances
    return words, operands[: n_operands + 1], operations[:n], slots, (exits, entries)


@njit
def _emit(operations, n, fresh, sources, bonuses, symbol, to, copy):
    """Append an operation with an old slot and a source; return how many there are."""
    operations[n, 0] = symbol | fresh | sources[0] << OLD_AT | to << TO_AT
    operations[n, 1], operations[n, 2] = sources[1], copy
    operations[n, 3] = bonuses[0] & 0xFFFF | bonuses[1] << 16
    return n + 1


@njit
def _codon_at(codes, i):
    """Return the number of the codon that begins at a boundary."""
    return (np.int64(codes[i]) * 5 + codes[i + 1]) * 5 + codes[i + 2]


@njit
def _begins(sites, i):
    """Return whether a chain may begin at a boundary."""
    codes, stops = sites.codes, sites.stops
    if i < 0 or sites.flags[i] & FIRST_ENTRY == 0 or i + FRAMES > len(codes):
        return False
    return not stops[codes[i], codes[i + 1], codes[i + 2]]


@njit
def _write_first(sites, start, codon_slots, operations):
    """Write what comes before all steps: maxima are cleared, rows behind first codons are made.

    `codon_slots` takes their slots. Return how many operations and slots there are.
    """
    n, n_slots, none = 0, start + 1, (NO_SLOT, NO_SOURCE)
    for slot in range(BEFORE, start):
        n = _emit(operations, n, FRESH, none, (0, 0), NO_SYMBOL, slot, 0)
    for i in range(len(sites.flags)):
        if not _begins(sites, i) or codon_slots[_codon_at(sites.codes, i)] >= 0:
            continue
        codon_slots[_codon_at(sites.codes, i)] = n_slots
        for k in range(FRAMES):
            sources = (NO_SLOT, start) if k == 0 else none
            to = n_slots if k == FRAMES - 1 else NO_SLOT
            fresh = FRESH if k == 0 else 0
            n = _emit(operations, n, fresh, sources, (0, 0), sites.codes[i + k], to, 0)
        n_slots += 1
    return n, n_slots


@njit
def _take_exits(sites, row, exit_rows, counts, operations, n):
    """Raise the maxima before entries to the exits that lie far enough behind `row`."""
    codes, kinds, lengths = sites.codes, sites.intron_kinds, sites.intron_lengths
    for k in range(len(kinds)):
        while counts[1 + k] < counts[0] and exit_rows[counts[1 + k]] + lengths[k] <= row:
            exit = counts[1 + k]
            boundary = exit_rows[exit]
            counts[1 + k] += 1
            if sites.exit_kind[boundary] != kinds[k]:
                continue
            n = _emit(operations, n, 0, (NO_SLOT, -1 - exit), (0, 0), NO_SYMBOL, NO_SLOT, -1)
            operations[n - 1, 3] = sites.inner_exit[boundary] << 16
            for frame in range(FRAMES):
                bases = (boundary - frame) % FRAMES
                if bases <= boundary:
                    to = BEFORE + k * SPLITS + split_class(codes, boundary, bases)
                    operations[n - 1, 2] ^= (TAKEN_MASK ^ to) << (TAKEN_BITS * frame)
    return n


@njit
def _cross_border(sites, i, operations, n, plain):
    """Write the operations of a border; `plain` takes them in the form of `rising` before."""
    for k in range(write_border(sites.rising, i, SPLITS, BEFORE, plain, 0)):
        kind, to, source, bonus = plain[k]
        sources = (to if kind == RAISE else NO_SLOT), source
        n = _emit(operations, n, FRESH, sources, (0, bonus), NO_SYMBOL, to, 0)
    return n


@njit
def _gather(sites, i, bases, operations, n):
    """Set the accumulator to what may enter a codon behind `bases` of its nucleotides.

    The last one of the operations is still to be completed. Return how many there are, and how many
    sources they have.
    """
    codes, kinds, found = sites.codes, sites.intron_kinds, 0
    n = _emit(operations, n, FRESH, (NO_SLOT, NO_SOURCE), (0, 0), NO_SYMBOL, NO_SLOT, 0)
    for split in range(SPLITS):
        if split_bases(split) != bases or not completes(codes, sites.stops, split, i):
            continue
        for k in range(len(kinds)):
            if kinds[k] != sites.entry_kind[i]:
                continue
            slot, bonus = BEFORE + k * SPLITS + split, sites.inner_entry[i]
            bonus -= sites.intron_penalties[k]
            if found % 2 == 0 and found > 0:
                none = NO_SLOT, NO_SOURCE
                n = _emit(operations, n, 0, none, (0, 0), NO_SYMBOL, NO_SLOT, 0)
            if found % 2 == 0:
                operations[n - 1, 1] = slot
                operations[n - 1, 3] |= bonus << 16
            else:
                operations[n - 1, 0] ^= (NO_SLOT ^ slot) << OLD_AT
                operations[n - 1, 3] |= bonus & 0xFFFF
            found += 1
    return n, found


@njit
def _enter(sites, i, copy, operations, n, waits):
    """Write what makes the rows of an entry; return how many operations there are.

    `copy` is the number of the entry's first stored row. A row that joins behind a codon that an
    intron splits is advanced there.
    """
    codes, none = sites.codes, (NO_SLOT, NO_SOURCE)
    for bases in range(FRAMES):
        n, found = _gather(sites, i, bases, operations, n)
        operations[n - 1, 2] = copy + bases
        if bases == 0:
            operations[n - 1, 0] ^= (NO_SLOT ^ (ENTERED + i % FRAMES)) << TO_AT
        if bases == 0 or found == 0:
            continue
        operations[n - 1, 0] ^= NO_SYMBOL ^ codes[i]
        at = i + FRAMES - bases
        to = JOINING + at % JOINS
        if at == i + 2:
            n = _emit(operations, n, 0, none, (0, 0), codes[i + 1], NO_SLOT, 0)
        if waits[at % JOINS]:
            n = _emit(operations, n, 0, (to, NO_SOURCE), (0, 0), NO_SYMBOL, NO_SLOT, 0)
        operations[n - 1, 0] ^= (NO_SLOT ^ to) << TO_AT
        waits[at % JOINS] = True
    return n


@njit
def _write_steps(sites, start, n, words, operands, operations, codon_slots, plain):
    """Write words, operands and operations of all steps; `n` operations are there already.

    Return how many operations and operands there are.
    """
    # local names: an array read out of a tuple inside the loop costs an atomic reference count
    flags, codes, stops = sites.flags, sites.codes, sites.stops
    last_exit, first_entry = sites.last_exit, sites.first_entry
    exits = count(flags, INNER_EXIT)
    exit_rows, counts = np.empty(exits, np.int64), np.zeros(1 + len(sites.intron_kinds), np.int64)
    waits, n_operands, before = np.zeros(JOINS, np.bool_), 0, 0
    copy = FIRST_STORED + FRAMES * exits
    for i in range(FRAMES * len(words)):
        symbol = codes[i - 1] if 0 < i <= len(codes) else NO_SYMBOL
        words[i // FRAMES] |= symbol << (SYMBOL_BITS * (i % FRAMES))
        events = 0
        if i < len(flags):
            flag = flags[i]
            if flag & BORDER:
                n = _take_exits(sites, i - 1, exit_rows, counts, operations, n)
                n = _cross_border(sites, i, operations, n, plain)
            if flag & LAST_EXIT:
                events |= FINAL
                operands[n_operands] = last_exit[i]
                n_operands += 1
            if i >= FRAMES and stops[codes[i - 3], codes[i - 2], codes[i - 1]]:
                events |= STOP
            if waits[i % JOINS]:
                events |= JOIN
                waits[i % JOINS] = False
            if _begins(sites, i - FRAMES):
                events |= BEGIN
                slot = codon_slots[_codon_at(codes, i - FRAMES)]
                operands[n_operands] = slot | first_entry[i - FRAMES] << SLOT_BITS
                n_operands += 1
            if flag & (INNER_EXIT | INNER_ENTRY):
                n = _take_exits(sites, i, exit_rows, counts, operations, n)
            if flag & INNER_EXIT:
                events |= EXIT
                exit_rows[counts[0]] = i
                counts[0] += 1
            if flag & INNER_ENTRY:
                events |= ENTER
                n = _enter(sites, i, copy, operations, n, waits)
                copy += FRAMES
        words[i // FRAMES] |= events << (EVENTS_AT + EVENT_BITS * (i % FRAMES))
        if i % FRAMES == FRAMES - 1 and n > before:
            words[i // FRAMES] |= HAS_OPERATIONS
            operations[n - 1, 0] |= LAST
            before = n
    return n, n_operands
