"""Steps for the packed kernel: what happens at each boundary, in a form that is always the same.

All that is special about site mode happens column by column: a row is stored, raised to another
row plus a bonus, or cleared. So a kernel knows nothing of exons and introns. A *slot* is a numbered
row of cells. Exits share a slot with those before them if no entry can tell them apart, that is, if
no entry lies between the boundaries from which on they may precede one. Such exits are a *group*.

The lanes of the kernel are at different boundaries at a time, so each of them does all that any
boundary may need. A *step* takes two boundaries, the *early* and the *late* one, as far as there
are any: at each, the row is advanced by a nucleotide, looked at as the end of a chain, and raised
to the empty chain's row. Then a slot is set to the maximum over itself and the row or another slot
plus a bonus. Last, the row is set to the maximum over itself and a slot plus a bonus. What a step
does not need is done with slots that nobody reads.

A boundary with sites or a border is a late one, and its operations beyond the first take further
steps. Operations among slots alone move to earlier steps that have nothing else to do. Where an
exon ends, the row is raised to the empty chain's only behind the slot's operation, as to a slot.

Slots lie in shared memory. A step may copy a row to device memory for the traceback: the row that
its slot is raised to, or the slot that the row is raised to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.sites.gpu.strand_sites import (
    NO_SYMBOL,
    ListedSites,
    StoredRows,
    count,
    kept_slots,
    lay_out,
    most_pending,
    n_maxima,
)
from gpu_tools.sites.introns import BORDER, RAISE, is_border, most_operations, write_border
from gpu_tools.sites.table import FIRST_ENTRY, INNER_ENTRY, INNER_EXIT, LAST_EXIT

ZERO, START, LOWEST, LEAST, NOWHERE = range(5)
"""Slots of rows that never change, the empty chain's among them, and one that is never read."""
OWN_SLOTS = 5
"""Slots that no step sets, or that nobody reads."""
FROM_ROW = 8
"""Added to a step's first word if its slot is raised to the row; the source is `ZERO` then."""
LATE_AT, SOURCE_AT, OLD_AT, TO_AT, COPY_AT = 4, 8, 16, 24, 8
"""First bits of the late symbol, of the slots that a step's maximum is of, and of the one that is
set to it; first bit of the copy's number.
"""
BEST_END, FIRST_STORED = 1, 2
"""Numbers of copies: the row with a lane's best end, and the first row that is stored."""
_CLOSED = -0x8000
WORDS = 5
"""Words of a step: both symbols, `FROM_ROW` and three slots; the bonus of the slot in the lower
half and that of the row in the upper one; the slot that the row is raised to, and the number of a
copy in device memory; both first entries' scores; both last exits' scores. A copy above 0 is one of
the row, one below 0 of the slot that the row is raised to.
"""
IDLE = (
    NO_SYMBOL | NO_SYMBOL << LATE_AT | ZERO << SOURCE_AT | LEAST << OLD_AT | NOWHERE << TO_AT,
    0, LEAST, _CLOSED << 16 | 0x8000, _CLOSED << 16 | 0x8000,
)  # fmt: skip
"""A step that does nothing."""


class StepTable(NamedTuple):
    """A compiled table for the packed kernel.

    Attributes
    ----------
    words : ndarray of int32, shape (steps, 5)
        See `WORDS`. Idle steps follow, so that the last lane is done when a whole group of `WARP`
        steps is.
    numbers : ndarray of int32, shape (m + 1,)
        Each boundary's number: twice its step's, plus one if it is a late one.
    n_slots : int
        Slots, all in shared memory.
    stored : StoredRows
        What is copied to device memory, from number `FIRST_STORED` on.
    """

    words: NDArray[np.int32]
    numbers: NDArray[np.int32]
    n_slots: int
    stored: StoredRows
    start = ring = 0  # of a `CodonPlan` alone

    @property
    def n_bytes(self) -> int:
        """Bytes of what the kernel reads."""
        return self.words.nbytes

    def arrays(self) -> tuple[NDArray[np.int32]]:
        """Return what the kernel reads: the words, step by step."""
        return (self.words.ravel(),)

    def boundary_at(self, number: int) -> int:
        """Return the boundary that a number belongs to."""
        return int(np.searchsorted(self.numbers, np.int32(number)))

    def boundary_from(self, step: int) -> int:
        """Return the first boundary of a step or of those behind it."""
        return self.boundary_at(2 * step)

    def step_behind(self, boundary: int) -> int:
        """Return the step behind those that bring all lanes to a boundary; whole groups."""
        last = int(self.numbers[boundary]) // 2 + WARP
        return min(-(-last // WARP) * WARP, len(self.words))


def compile_steps(listed: ListedSites, cost: int = 0) -> StepTable:
    """Compile a table for the packed kernel, whose empty chain's row is higher by a cost."""
    words, numbers, n_slots, stored = _compiled(listed, cost)
    # a part of what there was space for: pages that nothing was written to take no memory
    return StepTable(words, numbers, n_slots, StoredRows(*stored))


@njit(cache=True, nogil=True)
def _compiled(listed, cost):
    """Compile a table in one call; return the elements of a `StepTable`."""
    sites = lay_out(listed)
    flags, introns, junctions = sites.flags, sites.introns, sites.junctions
    exits, entries = count(flags, INNER_EXIT), count(flags, INNER_ENTRY)
    through = OWN_SLOTS + n_maxima(sites)
    kept, first_group = kept_slots(junctions, through + 1, 1)
    past = first_group + most_pending(flags, introns.lengths)
    # a boundary or an operation adds a step at most
    most = len(flags) + through + (1 + len(introns.lengths)) * exits + 2 * WARP
    most += (1 + len(introns.kinds)) * entries
    most += count(flags, BORDER) * most_operations(sites.rising)
    most += len(junctions.donors) + 2 * len(junctions.acceptors)
    words, numbers = np.empty((most, WORDS), np.int32), np.empty(len(flags), np.int32)
    marks, of_slots = np.full(4, -1, np.int64), np.full((past, 3), -1, np.int64)
    groups, taken = np.empty((exits, 4), np.int64), np.zeros(1 + len(introns.lengths), np.int64)
    free = np.arange(past, first_group - 1, -1)
    free[0] = past - first_group
    slots, counts = (OWN_SLOTS, through), (exits, entries, 1)
    fewest = _write_steps(
        sites, cost, slots, counts, _joining(sites, exits, entries), kept, (groups, taken, free),
        np.empty((most_operations(sites.rising), 4), np.int32), numbers, (words, marks, of_slots),
    )  # fmt: skip
    n = marks[_NEWEST] + 1
    n_steps = -(-(n + WARP - 1) // WARP) * WARP
    _reached(words, marks, n_steps - 1)
    return words[:n_steps], numbers, past - fewest, counts


# Exits of a group, and what the maxima before entries take of them.


@njit
def _joining(sites, exits, entries):
    """Return which exits join the group of the one of their kind before, as no class minds."""
    flags, introns, joins = sites.flags, sites.introns, np.ones(exits, np.bool_)
    at_exits, at_entries = _flagged(flags, INNER_EXIT, exits), _flagged(flags, INNER_ENTRY, entries)
    for k in range(len(introns.lengths)):
        of_class = introns.class_kinds[k], introns.lengths[k], introns.number[k]
        _part(at_exits, sites.exit_kind, at_entries, sites.entry_kind, len(flags), joins, of_class,
              sites.rising)  # fmt: skip
    return joins


@njit
def _flagged(flags, bit, found):
    """Return the boundaries that have a flag, which are so many."""
    boundaries, n = np.empty(found + 1, np.int32), 0
    for i in range(len(flags)):
        boundaries[n] = i  # without a branch, which processors could not predict
        n += flags[i] & bit != 0
    return boundaries[:found]


@njit(makes_arrays=False)
def _part(exits, exit_kind, entries, entry_kind, boundaries, joins, of_class, rising):
    """Tell which exits join the group of the one of their kind before, as far as a class decides.

    They do if the class's maximum is not read between the boundaries from which on the two may
    precede an entry. It is read at entries of its kind and just before its borders.
    """
    kind, length, maximum = of_class
    # local names: an array read out of a tuple inside the loop costs an atomic reference count
    at, is_read, mark, marks = 0, True, 0, rising.boundaries
    for k in range(len(exits)):
        if exit_kind[exits[k]] != kind:
            continue
        until = min(exits[k] + length, boundaries)
        while at < len(entries) and entries[at] < until:
            is_read |= entry_kind[entries[at]] == kind
            at += 1
        while mark < len(marks) and marks[mark] <= until:
            is_read |= is_border(rising, maximum, mark)
            mark += 1
        joins[k] &= not is_read
        is_read = False


@njit(makes_arrays=False)
def _count_of(kinds, kind):
    """Return how many of some kinds are a certain one."""
    count = 0
    for other in kinds:
        count += other == kind
    return count


@njit(makes_arrays=False)
def _take(introns, k, first, boundary, pending, plan):
    """Raise the maximum of class `k` to the groups whose exits lie far enough behind a boundary.

    Pending are, of each group of exits so far, its last boundary, its slot, its kind, and how many
    classes have yet to take it. `taken` says how many groups there are, then how many each class
    has looked at. `free` are the slots of groups that are done, the last one to be used first;
    `free[0]` says how many.
    """
    groups, taken, free = pending
    kind, length, penalty = introns.class_kinds[k], introns.lengths[k], introns.penalties[k]
    to = first + introns.number[k]
    while taken[1 + k] < taken[0]:
        group = taken[1 + k]
        if groups[group, 2] == kind:
            if groups[group, 0] + length > boundary:
                break
            _set_to_slot(plan, groups[group, 1], to, to, -penalty)
            groups[group, 3] -= 1
            if groups[group, 3] == 0:
                free[0] += 1
                free[free[0]] = groups[group, 1]
        taken[1 + k] += 1


@njit(makes_arrays=False)
def _leave(boundary, kind, bonus, classes, joins, copy, pending, plan):
    """Raise the slot of an exit's group to the current row, or set a new one to it."""
    groups, taken, free = pending
    group = taken[0]
    if joins:
        group -= 1
        while groups[group, 2] != kind:
            group -= 1
        slot = old = groups[group, 1]
    else:
        slot, old = free[free[0]], LEAST
        free[0] -= 1
        taken[0] += 1
        groups[group, 1], groups[group, 2], groups[group, 3] = slot, kind, classes
    groups[group, 0] = boundary
    _set_to_row(plan, slot, old, bonus, copy)


# The steps that operations take. A plan is words, marks, and the last steps of each slot.


_FIRST, _NEWEST, _READ, _RAISED = range(4)
"""Marks: the first step of the boundary and the last one of all, the last ones of the boundary that
read the row and that raise it.
"""
_WRITES, _PUTS, _READS = range(3)
"""Of each slot, the last steps that write, put and read it."""


@njit(makes_arrays=False)
def _reached(words, marks, n):
    """Add steps up to `n`, and return it."""
    while marks[_NEWEST] < n:
        marks[_NEWEST] += 1
        for k in range(WORDS):
            words[marks[_NEWEST], k] = IDLE[k]
    return n


@njit(makes_arrays=False)
def _sets_slot(words, n):
    """Return whether a step sets a slot."""
    return words[n, 0] >> TO_AT != NOWHERE


@njit(makes_arrays=False)
def _copies(words, n):
    """Return whether a step copies a row."""
    return words[n, 2] >> COPY_AT != 0


@njit(makes_arrays=False)
def _raise_row(plan, source, bonus, copy):
    """Raise the row, at the current boundary, to a slot plus a bonus."""
    words, marks, of_slots = plan
    n = max(marks[_FIRST], marks[_READ], of_slots[source, _WRITES] + 1)
    while n <= marks[_NEWEST] and (words[n, 2] & 0xFF != LEAST or (copy and _copies(words, n))):
        n += 1
    n = _reached(words, marks, n)
    words[n, 1] = (words[n, 1] & 0xFFFF) | bonus << 16
    words[n, 2] = (words[n, 2] & ~0xFF) | source
    if copy:
        words[n, 2] = source | copy << COPY_AT
    of_slots[source, _READS] = max(of_slots[source, _READS], n)
    marks[_RAISED] = max(marks[_RAISED], n)


@njit(makes_arrays=False)
def _set_slot(plan, n, source, old, to, from_row, bonus):
    """Have step `n` set a slot."""
    words, _, of_slots = plan
    words[n, 0] = (words[n, 0] & 0x77) | from_row | source << SOURCE_AT | old << OLD_AT
    words[n, 0] |= to << TO_AT
    words[n, 1] = (words[n, 1] & ~0xFFFF) | bonus & 0xFFFF
    of_slots[source, _READS] = max(of_slots[source, _READS], n)
    of_slots[to, _WRITES] = max(of_slots[to, _WRITES], n)
    if old != to:
        of_slots[to, _PUTS] = max(of_slots[to, _PUTS], n)


@njit(makes_arrays=False)
def _set_to_row(plan, to, old, bonus, copy):
    """Set a slot to the current boundary's row, or raise it to that."""
    words, marks, of_slots = plan
    n = max(marks[_FIRST], marks[_RAISED] + 1, of_slots[to, _WRITES] + 1, of_slots[to, _READS])
    while n <= marks[_NEWEST] and (_sets_slot(words, n) or (copy and _copies(words, n))):
        n += 1
    n = marks[_READ] = _reached(words, marks, n)
    _set_slot(plan, n, ZERO, old, to, FROM_ROW, bonus)
    if copy:
        words[n, 2] |= copy << COPY_AT


@njit(makes_arrays=False)
def _set_to_slot(plan, source, old, to, bonus):
    """Set a slot to another one, or raise it, before the current boundary if a step can.

    It may be as early as what it needs is there: no row sees the difference.
    """
    words, marks, of_slots = plan
    before = of_slots[to, _PUTS] if old == to else of_slots[to, _WRITES]
    earliest = max(of_slots[source, _WRITES] + 1, before + 1, of_slots[to, _READS])
    n = marks[_FIRST] - 1
    while n >= earliest and _sets_slot(words, n):
        n -= 1
    if n < earliest:
        n = max(earliest, marks[_FIRST])
        while n <= marks[_NEWEST] and _sets_slot(words, n):
            n += 1
        _reached(words, marks, n)
    _set_slot(plan, n, source, old, to, 0, bonus)


# What happens at each boundary.


@njit(makes_arrays=False)
def _cross_border(rising, i, first, plain, plan):
    """Bring the maxima before entries up to date at a border; `plain` takes the operations."""
    for k in range(write_border(rising, i, 1, first, plain, 0)):
        kind, to, source, bonus = plain[k, 0], plain[k, 1], plain[k, 2], plain[k, 3]
        _set_to_slot(plan, source, to if kind == RAISE else LOWEST, to, bonus)


@njit(makes_arrays=False)
def _gather(sites, kept, join, slots, boundary, plan):
    """Return the slot of what may enter at an acceptor, and the number of the next junction.

    `join` is that of the first one. A maximum over several rows goes through a slot.
    """
    junctions, kinds, kind = sites.junctions, sites.introns.kinds, sites.entry_kind[boundary]
    acceptors, (first, through), source, old = junctions.acceptors, slots, LOWEST, LEAST
    alone = join == len(acceptors) or acceptors[join] != boundary
    alone = alone and _count_of(kinds, kind) == 1
    for k in range(len(kinds)):
        if kinds[k] == kind:
            source = first + k
            if not alone:
                _set_to_slot(plan, source, old, through, 0)
                source = old = through
    while join < len(acceptors) and acceptors[join] == boundary:
        penalty = junctions.penalties[join]
        _set_to_slot(plan, kept[junctions.kept[join]], old, through, -penalty)
        source, old, join = through, through, join + 1
    return source, join


@njit(makes_arrays=False)
def _put_half(words, n, which, late, value):
    """Set the half of a step's word that is the early or the late boundary's."""
    kept = words[n, which] & (0xFFFF if late else ~0xFFFF)
    words[n, which] = kept | (value & 0xFFFF) << (16 if late else 0)


@njit(makes_arrays=False)
def _begin_chains(late, score, plan):
    """Raise the row to the empty chain's at the current boundary; return whether a step is open."""
    words, marks, _ = plan
    n, is_open = marks[_FIRST], not late
    if late and marks[_READ] >= n:
        # behind what reads the row: in the next step's early half, or as to a slot
        if words[marks[_NEWEST], 2] & 0xFF == LEAST:
            _raise_row(plan, START, score, 0)
            return False
        n, late, is_open = _reached(words, marks, marks[_NEWEST] + 1), False, True
    _put_half(words, n, 3, late, score)
    return is_open


@njit(makes_arrays=False)
def _write_steps(sites, cost, slots, counts, joins, kept, pending, plain, numbers, plan):
    """Write the steps of all boundaries, each boundary's number too.

    `slots` are the first maximum and the one through which junctions go. Return how many slots of
    groups are always free.
    """
    codes, flags, junctions, rising = sites.codes, sites.flags, sites.junctions, sites.rising
    introns, inner_entry, entry_kind = sites.introns, sites.inner_entry, sites.entry_kind
    classes, inner_exit, exit_kind = introns.class_kinds, sites.inner_exit, sites.exit_kind
    (first, through), (n_exits, _, _), (words, marks, _) = slots, counts, plan
    free, fewest = pending[2], pending[2][0]
    keep, join, exits, copy, is_open = 0, 0, 0, FIRST_STORED + n_exits, False
    for i in range(len(flags)):
        flag = flags[i]
        late = is_open or i == 0 or flag & (BORDER | INNER_EXIT | INNER_ENTRY) != 0
        if not is_open:
            _reached(words, marks, marks[_NEWEST] + 1)
        n = marks[_FIRST] = marks[_NEWEST]
        is_open, symbol = not late, codes[i - 1] if i > 0 else NO_SYMBOL
        words[n, 0] ^= (symbol ^ NO_SYMBOL) << (LATE_AT if late else 0)
        numbers[i] = 2 * n + late
        if flag & LAST_EXIT:
            _put_half(words, n, 4, late, sites.last_exit[i])
        if i == 0:
            for slot in range(first, through):
                _set_to_slot(plan, LOWEST, LEAST, slot, 0)
        if flag & BORDER:
            for k in range(len(classes)):
                # others have no border here: exits may yet join a group that they look at
                if is_border(rising, introns.number[k], first_from(rising.boundaries, i)):
                    _take(introns, k, first, i - 1, pending, plan)
            _cross_border(rising, i, first, plain, plan)
        if flag & INNER_EXIT:
            kind, bonus, own = exit_kind[i], inner_exit[i], FIRST_STORED + exits
            takers = _count_of(classes, kind)
            if takers > 0:
                _leave(i, kind, bonus, takers, joins[exits], own, pending, plan)
                fewest = min(fewest, free[0])
            if keep < len(kept) and junctions.donors[keep] == i:
                own = 0 if takers > 0 else own
                _set_to_row(plan, kept[keep], LEAST, bonus, own)
                keep += 1
            exits += 1
        if flag & INNER_ENTRY:
            for k in range(len(classes)):
                if classes[k] == entry_kind[i]:
                    _take(introns, k, first, i, pending, plan)
            source, join = _gather(sites, kept, join, slots, i, plan)
            _raise_row(plan, source, inner_entry[i], -copy)
            copy += 1
        if flag & FIRST_ENTRY:
            score = np.int32(sites.first_entry[i] - cost)
            is_open = _begin_chains(late, score, plan)
    return fewest
