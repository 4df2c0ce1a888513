"""Steps for the packed kernel: the operations of a row plan, in a form that is always the same.

The lanes of that kernel are at different boundaries at a time, so each of them does all that any
boundary may need. A *step* takes two boundaries, the *early* and the *late* one, as far as there
are any: at each, the row is advanced by a nucleotide and raised to the empty chain's row. Then a
slot is set to the maximum over itself and the row or another slot plus a bonus. Last, the row is
set to the maximum over itself and a slot plus a bonus. What a step does not need is done with slots
that nobody reads.

A boundary with operations is a late one, and its operations beyond the first take further steps.
Operations among slots alone move to earlier steps that have nothing else to do. Where an exon ends,
the row is raised to the empty chain's only behind the slot's operation, as to a slot.

All slots that are ever read lie in shared memory. What a traceback reads of them is copied to
device memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.sites.cpu.state import Sites
from gpu_tools.sites.gpu.row_plan import (
    LAST,
    NO_SYMBOL,
    SPECIAL,
    RowPlan,
    TracebackSlots,
    compile_for_registers,
)
from gpu_tools.sites.operations import BEGIN, CLEAR, LOWER, PUT, RAISE
from gpu_tools.sites.table import FIRST_ENTRY, LAST_EXIT

ZERO, LOWEST, LEAST, NOWHERE = range(4)
"""Slots of rows that never change, and one that is never read."""
_OWN_SLOTS = 4
FROM_ROW = 8
"""Added to a step's first word if its slot is raised to the row; the source is `ZERO` then."""
LATE_AT, SOURCE_AT, OLD_AT, TO_AT, COPY_AT = 4, 8, 16, 24, 8
"""First bits of the late symbol, of the slots that a step's maximum is of, and of the one that is
set to it; first bit of the copy's number.
"""
_NO_BEGIN = -0x8000
_NO_EXIT = -(2**30)
IDLE = (
    NO_SYMBOL | NO_SYMBOL << LATE_AT | ZERO << SOURCE_AT | LEAST << OLD_AT | NOWHERE << TO_AT,
    0, LEAST, _NO_BEGIN << 16 | 0x8000,
)  # fmt: skip
"""A step that does nothing."""


class StepTable(NamedTuple):
    """A compiled table for the packed kernel.

    Attributes
    ----------
    words : ndarray of int32, shape (4, steps)
        Of each step: both symbols, `FROM_ROW` and three slots; the bonus of the slot in the lower
        half and that of the row in the upper one; the slot that the row is raised to, and the
        number of the copy in device memory, 0 if there is none; both first entries' scores. Idle
        steps follow, so that the last lane is done when a whole group of `WARP` steps is.
    numbers : ndarray of int32, shape (m + 1,)
        Each boundary's number: twice its step's, plus one if it is a late one.
    last_exits : ndarray of int32, shape (2 * steps,)
        Scores of last exits by border word. That of a boundary lies `WARP` - 1 steps behind its
        number.
    n_hot : int
        Slots in shared memory.
    first_copy : int
        Slot of copy number 0, which is not used; the copies in device memory follow it.
    traceback : TracebackSlots
    """

    words: NDArray[np.int32]
    numbers: NDArray[np.int32]
    last_exits: NDArray[np.int32]
    n_hot: int
    first_copy: int
    traceback: TracebackSlots

    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return what the kernel reads: the steps' first two words, and the other two."""
        return self.words[:2].ravel(), self.words[2:].ravel()

    def boundary_at(self, border_word: int) -> int:
        """Return the boundary that a border word belongs to."""
        number = border_word - 2 * (WARP - 1)
        return int(np.searchsorted(self.numbers, number, side="right")) - 1


class _Made(NamedTuple):
    """Steps so far: their words, and of each slot the last steps that write, put and read it.

    `marks` are the first step of the boundary and the last one of all, the last ones of the
    boundary that read the row and that raise it, and whether the last one can take a late boundary.
    """

    words: NDArray[np.int32]
    writes: NDArray[np.int64]
    puts: NDArray[np.int64]
    reads: NDArray[np.int64]
    marks: NDArray[np.int64]


def compile_steps(sites: Sites, blocks: list[tuple[int, int]]) -> StepTable:
    """Compile a table for the packed kernel."""
    plan, groups, stored = compile_for_registers(sites, blocks)
    opened = sites.flags & FIRST_ENTRY != 0
    # a boundary or an operation adds a step at most
    most = len(plan.operations) + len(opened)
    made = _Made(
        np.empty((4, most), np.int32), *np.full((3, plan.traceback.n_slots + _OWN_SLOTS), -1),
        np.array([-1, -1, -1, -1, 0]),
    )  # fmt: skip
    numbers, needed = np.empty(len(opened), np.int32), _needed(plan, groups)
    n, n_hot = _write_steps(
        plan.boundaries, plan.operations, (opened, sites.first_entry), (groups, stored), needed,
        (made, numbers),
    )  # fmt: skip
    n_steps = -(-(n + WARP - 1) // WARP) * WARP
    words = np.repeat(np.array(IDLE, dtype=np.int32)[:, None], n_steps, axis=1)
    words[:, :n] = made.words[:, :n]
    last_exits = np.full(2 * n_steps, _NO_EXIT, dtype=np.int32)
    closed = sites.flags & LAST_EXIT == 0
    last_exits[numbers + 2 * (WARP - 1)] = np.where(closed, _NO_EXIT, sites.last_exit)
    return StepTable(words, numbers, last_exits, n_hot, stored - 1, plan.traceback)


def _needed(plan: RowPlan, lasting: int) -> NDArray[np.bool_]:
    """Return of each operation whether the slot it sets, and its source, are needed later.

    Slots before `lasting` always are.
    """
    needed = np.ones((len(plan.operations), 2), dtype=np.bool_)
    _look_back(plan.operations, lasting, np.zeros(plan.traceback.n_slots, np.bool_), needed)
    return needed


@njit(cache=True, nogil=True)
def _look_back(operations, lasting, read, needed):
    for k in range(len(operations) - 1, -1, -1):
        code, to, source, _ = operations[k]
        kind = code & (LAST - 1)
        if to >= lasting:
            needed[k, 0] = read[to]
            read[to] = kind == RAISE
        if kind <= PUT and source >= lasting:
            needed[k, 1] = read[source]
            read[source] = True


FIRST, NEWEST, READ, RAISED, OPEN = range(5)


@njit
def _boundary(made, symbol, special):
    """Add a boundary, a late one if it is special; return its number."""
    words, marks = made.words, made.marks
    late = special or marks[OPEN]
    if not marks[OPEN]:
        _reached(made, marks[NEWEST] + 1)
    n = marks[FIRST] = marks[NEWEST]
    marks[OPEN] = not late
    words[0, n] ^= (symbol ^ NO_SYMBOL) << (LATE_AT if late else 0)
    return 2 * n + late


@njit
def _begin(made, number, score):
    """Raise the row to the empty chain's at the boundary of a number, behind what reads it.

    If a step reads the row and raises it to a slot, that is done in the next one's early half.
    """
    words, marks, n = made.words, made.marks, number >> 1
    if number & 1 and marks[READ] < n:
        words[3, n] = (words[3, n] & 0xFFFF) | score << 16
        return
    if number & 1:
        if words[2, marks[NEWEST]] & 0xFF == LEAST:
            _raise_row(made, ZERO, score)
            return
        n, marks[OPEN] = _reached(made, marks[NEWEST] + 1), True
    words[3, n] = (words[3, n] & ~0xFFFF) | score & 0xFFFF


@njit
def _is_free(words, n):
    """Return whether a step can set a slot."""
    return words[0, n] >> TO_AT == NOWHERE and words[2, n] >> COPY_AT == 0


@njit
def _with_slot_free(made, n):
    """Return the first step from `n` on that can set a slot; it may be a new one."""
    while n <= made.marks[NEWEST] and not _is_free(made.words, n):
        n += 1
    return _reached(made, n)


@njit
def _with_row_free(made, n):
    """Return the first step from `n` on that does not raise the row; it may be a new one."""
    while n <= made.marks[NEWEST] and made.words[2, n] & 0xFF != LEAST:
        n += 1
    return _reached(made, n)


@njit
def _reached(made, n):
    """Add steps up to `n`, and return it."""
    while made.marks[NEWEST] < n:
        made.marks[NEWEST] += 1
        for k in range(len(IDLE)):
            made.words[k, made.marks[NEWEST]] = IDLE[k]
    return n


@njit
def _raise_row(made, source, bonus):
    """Raise the row, at the current boundary, to a slot plus a bonus."""
    words, writes, _, reads, marks = made
    n = _with_row_free(made, max(marks[FIRST], marks[READ], writes[source] + 1))
    words[1, n] = (words[1, n] & 0xFFFF) | bonus << 16
    words[2, n] += source - LEAST
    reads[source], marks[RAISED] = max(reads[source], n), max(marks[RAISED], n)


@njit
def _set_slot(made, n, slots, flags, bonus, copy):
    """Have step `n` set a slot."""
    (words, writes, puts, reads, _), (source, old, to) = made, slots
    words[0, n] = (words[0, n] & 0x77) | flags | source << SOURCE_AT | old << OLD_AT | to << TO_AT
    words[1, n] = (words[1, n] & ~0xFFFF) | bonus & 0xFFFF
    words[2, n] |= copy << COPY_AT
    reads[source] = max(reads[source], n)
    writes[to] = max(writes[to], n)
    if old != to:
        puts[to] = max(puts[to], n)


@njit
def _set_to_row(made, to, old, bonus, copy):
    """Set a slot to the current boundary's row, or raise it to that."""
    _, writes, _, reads, marks = made
    n = max(marks[FIRST], marks[RAISED] + 1)
    if to != NOWHERE:
        n = max(n, writes[to] + 1, reads[to])
    n = marks[READ] = _with_slot_free(made, n)
    _set_slot(made, n, (ZERO, old, to), FROM_ROW, bonus, copy)


@njit
def _set_to_slot(made, slots, bonus, copy):
    """Set a slot to another one, or raise it, before the current boundary if a step can.

    It may be as early as what it needs is there: no row sees the difference.
    """
    words, writes, puts, reads, marks = made
    source, old, to = slots
    earliest, n = writes[source] + 1, marks[FIRST] - 1
    if to != NOWHERE:
        earliest = max(earliest, (puts if old == to else writes)[to] + 1, reads[to])
    while n >= earliest and not _is_free(words, n):
        n -= 1
    if n < earliest:
        n = _with_slot_free(made, max(earliest, marks[FIRST]))
    _set_slot(made, n, slots, 0, bonus, copy)


@njit
def _operation(made, operation, stored, aliases):
    """Have a step do an operation; `aliases` say where the slots lie."""
    code, to, source, bonus = operation
    kind, from_row = code & (LAST - 1), False
    if kind == CLEAR:
        source = LOWEST
    elif kind == BEGIN:
        source = ZERO
    elif source < 0:
        from_row = True
    else:
        source = aliases[source]
    if to < 0:
        _raise_row(made, source, bonus)
        return
    old, copy = aliases[to] if kind == RAISE else LEAST, to - stored + 1 if to >= stored else 0
    if kind == LOWER:
        old = LOWEST
    if from_row:
        _set_to_row(made, aliases[to], old, bonus, copy)
    else:
        _set_to_slot(made, (source, old, aliases[to]), bonus, copy)


@njit
def _assign_slot(to, aliases, free):
    """Assign a slot in shared memory to a slot of the row plan.

    `free` says how many can be used again, then which they are; its last element is the first one
    that has never been used.
    """
    if free[0] == 0:
        free[0], free[1] = 1, free[-1]
        free[-1] += 1
    aliases[to] = free[free[0]]
    free[0] -= 1


@njit
def _release_slot(slot, aliases, free):
    """Let the slot in shared memory be used for others."""
    free[0] += 1
    free[free[0]], aliases[slot] = aliases[slot], NOWHERE


@njit(cache=True, nogil=True)
def _write_steps(boundaries, operations, begins, slots, needed, made):
    """Write the steps of all boundaries; return how many, and the slots in shared memory.

    `slots` are the first one that groups use in turn, and the first one that a traceback reads.
    """
    (opened, scores), (made, numbers), (lasting, stored) = begins, made, slots
    aliases, free = np.full(len(made.writes), NOWHERE), np.zeros(len(made.writes) + 2, np.int64)
    aliases[:lasting] = np.arange(_OWN_SLOTS, _OWN_SLOTS + lasting)
    free[-1], k = _OWN_SLOTS + lasting, 0
    for i in range(len(boundaries)):
        more = boundaries[i] & SPECIAL
        numbers[i] = _boundary(made, boundaries[i] & (SPECIAL - 1), more != 0)
        while more:
            code, to, source, _ = operations[k]
            if needed[k, 0] and to >= 0 and aliases[to] == NOWHERE:
                _assign_slot(to, aliases, free)
            if needed[k, 0] or to >= stored:
                _operation(made, operations[k], stored, aliases)
            for slot, later in ((to, needed[k, 0]), (source, needed[k, 1])):
                if slot >= lasting and not later and aliases[slot] != NOWHERE:
                    _release_slot(slot, aliases, free)
            more, k = code & LAST == 0, k + 1
        if opened[i]:
            _begin(made, numbers[i], scores[i])
    return made.marks[NEWEST] + 1, free[-1]
