"""Steps for the packed kernel: the operations of a row plan, in a form that is always the same.

The lanes of that kernel are at different boundaries at a time, so each of them does all that any
boundary may need. A *step* takes two boundaries, the *early* and the *late* one, as far as there
are any: at each, the row is advanced by a nucleotide, looked at as the end of a chain, and raised
to the empty chain's row. Then a slot is set to the maximum over itself and the row or another slot
plus a bonus. Last, the row is set to the maximum over itself and a slot plus a bonus. What a step
does not need is done with slots that nobody reads.

A boundary with operations is a late one, and its operations beyond the first take further steps.
Operations among slots alone move to earlier steps that have nothing else to do. Where an exon ends,
the row is raised to the empty chain's only behind the slot's operation, as to a slot.

Slots lie in shared memory. A step may copy a row to device memory for the traceback: the row that
its slot is raised to, or the slot that the row is raised to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.sites.gpu.row_plan import (
    LAST,
    NO_SYMBOL,
    SPECIAL,
    ListedSites,
    StoredRows,
    lay_out,
    write_plan,
)
from gpu_tools.sites.introns import CLEAR, LOWER, PUT, RAISE
from gpu_tools.sites.table import FIRST_ENTRY, LAST_EXIT

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
    n_hot : int
        Slots in shared memory.
    stored : StoredRows
        What is copied to device memory, from number `FIRST_STORED` on.
    """

    words: NDArray[np.int32]
    numbers: NDArray[np.int32]
    n_hot: int
    stored: StoredRows

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
    words, numbers, n_hot, stored = _compiled(listed, cost)
    # a part of what there was space for: pages that nothing was written to take no memory
    return StepTable(words, numbers, n_hot, StoredRows(*stored))


@njit(cache=True, nogil=True)
def _compiled(listed, cost):
    """Compile a table in one call; return the elements of a `StepTable`."""
    sites = lay_out(listed)
    boundaries, operations, stored, counts, n_hot = write_plan(sites, OWN_SLOTS)
    # a boundary or an operation adds a step at most
    words = np.empty((len(operations) + len(boundaries) + 2 * WARP, WORDS), np.int32)
    numbers = np.empty(len(boundaries), np.int32)
    marks, of_slots = np.full(4, -1, np.int64), np.full((stored, 3), -1, np.int64)
    n = _write_steps(
        boundaries, operations, sites.flags, sites.first_entry, sites.last_exit, words, numbers,
        cost, marks, of_slots,
    )  # fmt: skip
    n_steps = -(-(n + WARP - 1) // WARP) * WARP
    for step in range(n, n_steps):
        for k in range(WORDS):
            words[step, k] = IDLE[k]
    return words[:n_steps], numbers, n_hot, counts


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
def _raise_row(words, marks, of_slots, source, bonus, copy):
    """Raise the row, at the current boundary, to a slot plus a bonus."""
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
def _set_slot(words, of_slots, n, source, old, to, from_row, bonus):
    """Have step `n` set a slot."""
    words[n, 0] = (words[n, 0] & 0x77) | from_row | source << SOURCE_AT | old << OLD_AT
    words[n, 0] |= to << TO_AT
    words[n, 1] = (words[n, 1] & ~0xFFFF) | bonus & 0xFFFF
    of_slots[source, _READS] = max(of_slots[source, _READS], n)
    of_slots[to, _WRITES] = max(of_slots[to, _WRITES], n)
    if old != to:
        of_slots[to, _PUTS] = max(of_slots[to, _PUTS], n)


@njit(makes_arrays=False)
def _set_to_row(words, marks, of_slots, to, old, bonus, copy):
    """Set a slot to the current boundary's row, or raise it to that."""
    n = max(marks[_FIRST], marks[_RAISED] + 1, of_slots[to, _WRITES] + 1, of_slots[to, _READS])
    while n <= marks[_NEWEST] and (_sets_slot(words, n) or (copy and _copies(words, n))):
        n += 1
    n = marks[_READ] = _reached(words, marks, n)
    _set_slot(words, of_slots, n, ZERO, old, to, FROM_ROW, bonus)
    if copy:
        words[n, 2] |= copy << COPY_AT


@njit(makes_arrays=False)
def _set_to_slot(words, marks, of_slots, source, old, to, bonus):
    """Set a slot to another one, or raise it, before the current boundary if a step can.

    It may be as early as what it needs is there: no row sees the difference.
    """
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
    _set_slot(words, of_slots, n, source, old, to, 0, bonus)


@njit(makes_arrays=False)
def _operate(words, marks, of_slots, kind, to, source, bonus, copy):
    """Have a step do an operation."""
    old = to if kind == RAISE else LEAST
    if kind == LOWER:
        old = LOWEST
    if kind == CLEAR:
        source = LOWEST
    if to < 0:
        _raise_row(words, marks, of_slots, source, bonus, copy)
    elif source < 0:
        _set_to_row(words, marks, of_slots, to, old, bonus, copy)
    else:
        _set_to_slot(words, marks, of_slots, source, old, to, bonus)


@njit(makes_arrays=False)
def _write_steps(
    boundaries, operations, flags, firsts, lasts, words, numbers, cost, marks, of_slots
):  # fmt: skip
    """Write the steps of all boundaries, each boundary's number too; return how many steps."""
    stored = len(of_slots)
    k, is_open = 0, False
    for i in range(len(boundaries)):
        more, symbol = boundaries[i] & SPECIAL, boundaries[i] & (SPECIAL - 1)
        late = more != 0 or is_open
        if not is_open:
            _reached(words, marks, marks[_NEWEST] + 1)
        n = marks[_FIRST] = marks[_NEWEST]
        is_open = not late
        words[n, 0] ^= (symbol ^ NO_SYMBOL) << (LATE_AT if late else 0)
        shift, mask = (16, 0xFFFF) if late else (0, ~0xFFFF)
        if flags[i] & LAST_EXIT:
            words[n, 4] = (words[n, 4] & mask) | (lasts[i] & 0xFFFF) << shift
        numbers[i] = 2 * n + late
        copy = 0
        while more:
            code, to = operations[k, 0], operations[k, 1]
            source, bonus = operations[k, 2], operations[k, 3]
            kind, k = code & (LAST - 1), k + 1
            more = code & LAST == 0
            if kind == PUT and to >= stored:
                # the next operation reads the same row, and copies it
                copy = to - stored + FIRST_STORED
                copy = copy if source < 0 else -copy
                continue
            _operate(words, marks, of_slots, kind, to, source, bonus, copy)
            copy = 0
        if flags[i] & FIRST_ENTRY == 0:
            continue
        first = np.int32(firsts[i] - cost)
        if late and marks[_READ] >= n:
            # behind what reads the row: in the next step's early half, or as to a slot
            if words[marks[_NEWEST], 2] & 0xFF == LEAST:
                _raise_row(words, marks, of_slots, START, first, 0)
                continue
            n, late, is_open = _reached(words, marks, marks[_NEWEST] + 1), False, True
        shift, mask = (16, 0xFFFF) if late else (0, ~0xFFFF)
        words[n, 3] = (words[n, 3] & mask) | (first & 0xFFFF) << shift
    return marks[_NEWEST] + 1
