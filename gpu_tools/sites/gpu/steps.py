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

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.sites.cpu.memory import most_pending
from gpu_tools.sites.gpu.plan import (
    NO_SYMBOL,
    TAKEN_AT,
    Plan,
    PlanForm,
    inlined,
    kept_slots,
    most_operations,
    n_maxima,
    plan_compiler,
    sites_of,
)
from gpu_tools.sites.introns import is_border
from gpu_tools.sites.table import CLOSED, SiteTable

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


@dataclass(frozen=True, eq=False)
class StepPlan(Plan):
    """The plan of a strand for the packed kernel.

    It is one array, see `WORDS`. Idle steps are the last ones, so that the last lane is done when a
    whole group of `WARP` steps is. Each boundary has a number: twice its step's, plus one if it is
    a late one.
    """

    numbers: NDArray[np.int32]

    def boundary_at(self, number: int) -> int:
        """Return the boundary that a number belongs to."""
        return int(np.searchsorted(self.numbers, np.int32(number)))

    def boundary_from(self, step: int) -> int:
        """Return the first boundary of a step or of those behind it."""
        return self.boundary_at(2 * step)

    def step_behind(self, boundary: int) -> int:
        """Return the step behind those that bring all lanes to a boundary; whole groups."""
        last = int(self.numbers[boundary]) // 2 + WARP
        return min(-(-last // WARP) * WARP, self.n_steps)


def compile_steps(codes, table: SiteTable, cost: int = 0) -> StepPlan:
    """Compile a strand for the packed kernel, whose empty chain's row is higher by a cost."""
    pending = most_pending(table) + len(table.introns) + 2
    words, numbers, n_slots = _compiled(sites_of(codes, table), cost, pending)
    # a part of what there was space for: pages that nothing was written to take no memory
    return StepPlan([words.ravel()], len(words), n_slots, START, 0, numbers)


class _Groups(NamedTuple):
    """Exits that share slots, and the slots.

    Of each exit: whether it is the last one of its group, its slot, and how many classes have yet
    to take it. `current` are the slots of groups that go on, by kind, -1 for none. `free` are the
    slots of groups that are done, the last one to be used first; its first elements say how many
    there are, and how many there were at least.
    """

    ends: NDArray[np.bool_]
    slot: NDArray[np.int64]
    takers: NDArray[np.int64]
    current: NDArray[np.int64]
    free: NDArray[np.int64]


class _Steps(NamedTuple):
    """Steps that are written, marks, and the last steps of each slot."""

    words: NDArray[np.int32]
    marks: NDArray[np.int64]
    of_slots: NDArray[np.int64]


class _StepPlan(NamedTuple):
    """A plan that is written: steps, and each boundary's number.

    Junctions go through a slot, before which the maxima lie; the empty chain's row is higher by a
    cost.
    """

    steps: _Steps
    numbers: NDArray[np.int32]
    groups: _Groups
    through: int
    cost: int


@njit(cache=True, nogil=True)
def _compiled(sites, cost, pending):
    """Compile a strand in one call; return steps, numbers of boundaries, and how many slots."""
    exits, entries = len(sites.donors[0]), len(sites.acceptors[0])
    boundaries, through = len(sites.codes) + 1, OWN_SLOTS + n_maxima(sites)
    first_group = kept_slots(sites.junctions, through + 1, 1, sites.slots)
    past, classes = first_group + pending, len(sites.introns.lengths)
    # a boundary or an operation adds a step at most
    most = boundaries + through + 2 * exits + (1 + classes) * entries + 2 * WARP
    most += 2 * len(sites.junctions.acceptors) + most_operations(sites)
    free = np.arange(past + 1, first_group - 1, -1)
    free[:2] = pending
    groups = _Groups(
        np.zeros(exits, np.bool_), np.empty(exits, np.int64), np.empty(exits, np.int64),
        np.full(256, -1), free,
    )  # fmt: skip
    for k in range(classes):
        _part(sites, k, groups.ends)
    words, numbers = np.empty((most, WORDS), np.int32), np.empty(boundaries, np.int32)
    steps = _Steps(words, np.full(5, -1), np.full((past, 3), -1))
    plan = _StepPlan(steps, numbers, groups, through, cost)
    _compile_plan(sites, 0, boundaries, np.zeros(TAKEN_AT + classes, np.int64), plan)
    n_steps = -(-(steps.marks[_NEWEST] + WARP) // WARP) * WARP
    _reached(words, steps.marks, n_steps - 1)
    return words[:n_steps], numbers, past - free[1]


@njit(makes_arrays=False)
def _part(sites, k, ends):
    """Tell which exits are the last ones of their group because a class decides so.

    It does if its maximum is read between the boundaries from which on the exit and the next one of
    its kind may precede an entry. It is read at entries of its kind and just before its borders.
    """
    (exits, _, exit_kinds), (entries, _, entry_kinds) = sites.donors, sites.acceptors
    introns, rising, marks = sites.introns, sites.rising, sites.rising.boundaries
    kind, length, maximum = introns.class_kinds[k], introns.lengths[k], introns.number[k]
    at, mark, is_read, last = 0, 0, False, -1
    for exit in range(len(exits)):
        if exit_kinds[exit] != kind:
            continue
        until = exits[exit] + length
        while at < len(entries) and entries[at] < until:
            is_read |= entry_kinds[at] == kind
            at += 1
        while mark < len(marks) and marks[mark] <= until:
            is_read |= is_border(rising, maximum, mark)
            mark += 1
        if last >= 0:
            ends[last] |= is_read
        last, is_read = exit, False
    if last >= 0:
        ends[last] = True


# The steps that operations take.


_FIRST, _NEWEST, _READ, _RAISED, _OPEN = range(5)
"""Marks: the first step of the boundary and the last one of all; the last ones of the boundary that
read the row and that raise it; and whether the last one of all has a late half left, else -1.
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
def _raise_row(steps, source, bonus, copy):
    """Raise the row, at the current boundary, to a slot plus a bonus."""
    words, marks, of_slots = steps
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
def _set_slot(steps, n, source, old, to, from_row, bonus):
    """Have step `n` set a slot."""
    words, _, of_slots = steps
    words[n, 0] = (words[n, 0] & 0x77) | from_row | source << SOURCE_AT | old << OLD_AT
    words[n, 0] |= to << TO_AT
    words[n, 1] = (words[n, 1] & ~0xFFFF) | bonus & 0xFFFF
    of_slots[source, _READS] = max(of_slots[source, _READS], n)
    of_slots[to, _WRITES] = max(of_slots[to, _WRITES], n)
    if old != to:
        of_slots[to, _PUTS] = max(of_slots[to, _PUTS], n)


@njit(makes_arrays=False)
def _set_to_row(steps, to, old, bonus, copy):
    """Set a slot to the current boundary's row, or raise it to that."""
    words, marks, of_slots = steps
    n = max(marks[_FIRST], marks[_RAISED] + 1, of_slots[to, _WRITES] + 1, of_slots[to, _READS])
    while n <= marks[_NEWEST] and (_sets_slot(words, n) or (copy and _copies(words, n))):
        n += 1
    n = marks[_READ] = _reached(words, marks, n)
    _set_slot(steps, n, ZERO, old, to, FROM_ROW, bonus)
    if copy:
        words[n, 2] |= copy << COPY_AT


@njit(makes_arrays=False)
def _set_to_slot(steps, source, old, to, bonus):
    """Set a slot to another one, or raise it, before the current boundary if a step can.

    It may be as early as what it needs is there: no row sees the difference.
    """
    words, marks, of_slots = steps
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
    _set_slot(steps, n, source, old, to, 0, bonus)


# What happens at each boundary.


@njit(makes_arrays=False)
def _count_of(kinds, kind):
    """Return how many of some kinds are a certain one."""
    count = 0
    for other in kinds:
        count += other == kind
    return count


@njit(makes_arrays=False)
def _put_half(words, n, which, late, value):
    """Set the half of a step's word that is the early or the late boundary's."""
    kept = words[n, which] & (0xFFFF if late else ~0xFFFF)
    words[n, which] = kept | (value & 0xFFFF) << (16 if late else 0)


@njit(makes_arrays=False)
def _begin_chains(late, score, steps):
    """Raise the row to the empty chain's at the current boundary; return whether a step is open."""
    words, marks, _ = steps
    n, is_open = marks[_FIRST], not late
    if late and marks[_READ] >= n:
        # behind what reads the row: in the next step's early half, or as to a slot
        if words[marks[_NEWEST], 2] & 0xFF == LEAST:
            _raise_row(steps, START, score, 0)
            return False
        n, late, is_open = _reached(words, marks, marks[_NEWEST] + 1), False, True
    _put_half(words, n, 3, late, score)
    return is_open


@inlined
def _open(sites, i, final, begins, is_busy, state, plan):
    """Begin a boundary in the early or the late half of a step; return whether it is the late one.

    First maxima are cleared.
    """
    words, marks, _ = plan.steps
    late = marks[_OPEN] > 0 or i == 0 or is_busy
    if marks[_OPEN] <= 0:
        _reached(words, marks, marks[_NEWEST] + 1)
    n = marks[_FIRST] = marks[_NEWEST]
    marks[_OPEN], symbol = not late, sites.codes[i - 1] if i > 0 else NO_SYMBOL
    words[n, 0] ^= (symbol ^ NO_SYMBOL) << (LATE_AT if late else 0)
    plan.numbers[i] = 2 * n + late
    if final != CLOSED:
        _put_half(words, n, 4, late, final)
    if i == 0:
        for slot in range(OWN_SLOTS, plan.through):
            _set_to_slot(plan.steps, LOWEST, LEAST, slot, 0)
    return late


@njit(makes_arrays=False)
def _keep(sites, k, exit, state, plan):
    """Set a slot of junctions to the row."""
    copy = 0 if plan.groups.takers[exit] > 0 else FIRST_STORED + exit
    _set_to_row(plan.steps, sites.slots[k], LEAST, sites.donors[1][exit], copy)


@inlined
def _take(sites, k, exit, state, plan):
    """Raise the maximum of class `k` to a group of exits."""
    (ends, slots, takers, _, free), to = plan.groups, OWN_SLOTS + sites.introns.number[k]
    if ends[exit]:
        _set_to_slot(plan.steps, slots[exit], to, to, -sites.introns.penalties[k])
        takers[exit] -= 1
        if takers[exit] == 0:
            free[0] += 1
            free[1 + free[0]] = slots[exit]


@inlined
def _raise_maximum(sites, to, source, bonus, is_fresh, state, plan):
    """Raise a maximum to another one."""
    to += OWN_SLOTS
    _set_to_slot(plan.steps, OWN_SLOTS + source, LOWEST if is_fresh else to, to, bonus)


@inlined
def _leave(sites, i, exit, late, state, plan):
    """Raise the slot of an exit's group to the row, or set a new one to it."""
    (ends, slots, takers, current, free), (_, scores, kinds) = plan.groups, sites.donors
    kind = kinds[exit]
    takers[exit] = _count_of(sites.introns.class_kinds, kind)
    if takers[exit] > 0:
        slot = old = current[kind]
        if slot < 0:
            slot, old = free[1 + free[0]], LEAST
            free[0] -= 1
            free[1] = min(free[0], free[1])
        _set_to_row(plan.steps, slot, old, scores[exit], FIRST_STORED + exit)
        slots[exit], current[kind] = slot, -1 if ends[exit] else slot
    return late


@inlined
def _enter(sites, i, entry, late, state, plan):
    """Raise the row to what enters, through a slot if that is a maximum over several rows."""
    (_, scores, entry_kinds), junctions, through = sites.acceptors, sites.junctions, plan.through
    kinds, kind, source, old = sites.introns.kinds, entry_kinds[entry], LOWEST, LEAST
    k, past = first_from(junctions.acceptors, i), first_from(junctions.acceptors, i + 1)
    alone = k == past and _count_of(kinds, kind) == 1
    for number in range(len(kinds)):
        if kinds[number] == kind:
            source = OWN_SLOTS + number
            if not alone:
                _set_to_slot(plan.steps, source, old, through, 0)
                source = old = through
    for junction in range(k, past):
        slot = sites.slots[junctions.kept[junction]]
        _set_to_slot(plan.steps, slot, old, through, -junctions.penalties[junction])
        source = old = through
    _raise_row(plan.steps, source, scores[entry], -(FIRST_STORED + len(sites.donors[0]) + entry))
    return late


@inlined
def _close(sites, i, begins, late, state, plan):
    """Let chains begin."""
    if begins != CLOSED:
        plan.steps.marks[_OPEN] = _begin_chains(late, np.int32(begins - plan.cost), plan.steps)


_compile_plan = plan_compiler(
    inlined, PlanForm(_open, _keep, _take, _raise_maximum, _leave, _enter, _close)
)
