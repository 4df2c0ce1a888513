"""Programs for the skewed kernel: steps that are alike, whatever happens at a boundary.

The lanes of that kernel are at different boundaries at a time, so that what one does all must do.
A *step* takes two boundaries, the *early* and the *late* one, as far as there are any: at each the
row is moved on by a base and raised to the empty chain's. Then a place is set to the maximum over
itself and the row or another place plus a bonus; last, the row to the maximum over itself and a
place plus a bonus. Whatever a step does not need is done with places that nobody looks at. So a
boundary with operations is a late one, and those beyond the first take further steps; but what
happens among places only is done before, in steps that have nothing else to do. Where an exon ends,
the row must not be raised to the empty chain's before it is looked at: it is afterwards, like to a
place.

All places that are ever read lie in shared memory; what a traceback needs of them is a copy in
device memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.sites.cpu.state import Sites
from gpu_tools.sites.gpu.program import (
    BEGIN,
    CLEAR,
    LAST,
    NO_SYMBOL,
    PUT,
    RAISE,
    SPECIAL,
    Kept,
    Program,
    compile_packed,
    places_in_registers,
)
from gpu_tools.sites.table import FIRST_ENTRY

ZERO, LOWEST, LEAST, NOWHERE = range(4)
"""Places of rows that never change, and one that is never read."""
_OWN_PLACES = 4
FROM_ROW = 8
"""Added to a step's first word if its place is raised to the row; the source is `ZERO` then."""
LATE_AT, SOURCE_AT, OLD_AT, TO_AT, COPY_AT = 4, 8, 16, 24, 8
"""First bits of the late symbol, of the places that a step's maximum is of, and of the one that is
set to it; first bit of the copy's number.
"""
_NO_BEGIN = -0x8000
IDLE = (
    NO_SYMBOL | NO_SYMBOL << LATE_AT | ZERO << SOURCE_AT | LEAST << OLD_AT | NOWHERE << TO_AT,
    0, LEAST, _NO_BEGIN << 16 | 0x8000,
)  # fmt: skip
"""A step that does nothing."""


class StepTable(NamedTuple):
    """A compiled table: four words a step, where boundaries are, places.

    The words are both symbols, `FROM_ROW` and three places; the bonus of the place in the lower
    half and that of the row in the upper one; the place that the row is raised to, and the number
    of the copy in device memory, 0 if there is none; both first entries' scores. A boundary's
    number in `firsts` is twice its step's, and one more if it is a late one. The places in shared
    memory are `n_hot`; copies are numbered from `first` on.
    """

    words: NDArray[np.int32]
    firsts: NDArray[np.int64]
    n_hot: int
    first: int
    kept: Kept


class _Made(NamedTuple):
    """Steps so far: their words, and of each place the last steps that write, put and read it.

    `marks` are the first step of the boundary and the last one of all, the last ones of the
    boundary that read the row and that raise it, and whether the last one can take a late boundary.
    """

    words: NDArray[np.int32]
    writes: NDArray[np.int64]
    puts: NDArray[np.int64]
    reads: NDArray[np.int64]
    marks: NDArray[np.int64]


def compile_skewed(sites: Sites, blocks: list[tuple[int, int]]) -> StepTable:
    """Compile a table for the skewed kernel."""
    program = compile_packed(sites, blocks, 0)
    places, n_places = places_in_registers(sites, 0), program.kept.n_places
    opened = sites.flags & FIRST_ENTRY != 0
    # what a boundary or an operation adds is a step at most
    most = len(program.operations) + len(opened)
    made = _Made(
        np.empty((4, most), np.int32), *np.full((3, n_places + _OWN_PLACES), -1),
        np.array([-1, -1, -1, -1, 0]),
    )  # fmt: skip
    firsts, needed = np.empty(len(opened), np.int64), _needed(program, places.groups)
    n, n_hot = _steps(
        program.boundaries, program.operations, (opened, sites.first_entry),
        (places.groups, places.kept), needed, (made, firsts),
    )  # fmt: skip
    return StepTable(made.words[:, :n].copy(), firsts, n_hot, places.kept - 1, program.kept)


def _needed(program: Program, lasting: int) -> NDArray[np.bool_]:
    """Return of each operation whether the place it sets, and its source, are needed later.

    Places before `lasting` always are.
    """
    needed = np.ones((len(program.operations), 2), dtype=np.bool_)
    _look_back(program.operations, lasting, np.zeros(program.kept.n_places, np.bool_), needed)
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

    If a step reads the row and raises it to a place, that is done in the next one's early half.
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
    """Return whether a step can set a place."""
    return words[0, n] >> TO_AT == NOWHERE and words[2, n] >> COPY_AT == 0


@njit
def _with_place_free(made, n):
    """Return the first step from `n` on that can set a place; it may be a new one."""
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
    """Raise the row, at the current boundary, to a place plus a bonus."""
    words, writes, _, reads, marks = made
    n = _with_row_free(made, max(marks[FIRST], marks[READ], writes[source] + 1))
    words[1, n] = (words[1, n] & 0xFFFF) | bonus << 16
    words[2, n] += source - LEAST
    reads[source], marks[RAISED] = max(reads[source], n), max(marks[RAISED], n)


@njit
def _set_place(made, n, places, flags, bonus, copy):
    """Have step `n` set a place."""
    (words, writes, puts, reads, _), (source, old, to) = made, places
    words[0, n] = (words[0, n] & 0x77) | flags | source << SOURCE_AT | old << OLD_AT | to << TO_AT
    words[1, n] = (words[1, n] & ~0xFFFF) | bonus & 0xFFFF
    words[2, n] |= copy << COPY_AT
    reads[source] = max(reads[source], n)
    writes[to] = max(writes[to], n)
    if old == LEAST:
        puts[to] = max(puts[to], n)


@njit
def _set_to_row(made, to, old, bonus, copy):
    """Set a place to the current boundary's row, or raise it to that."""
    _, writes, _, reads, marks = made
    n = max(marks[FIRST], marks[RAISED] + 1)
    if to != NOWHERE:
        n = max(n, writes[to] + 1, reads[to])
    n = marks[READ] = _with_place_free(made, n)
    _set_place(made, n, (ZERO, old, to), FROM_ROW, bonus, copy)


@njit
def _set_to_place(made, places, bonus, copy):
    """Set a place to another one, or raise it, before the current boundary if a step can.

    It may be as early as what it needs is there: no row sees the difference.
    """
    words, writes, puts, reads, marks = made
    source, old, to = places
    earliest, n = writes[source] + 1, marks[FIRST] - 1
    if to != NOWHERE:
        earliest = max(earliest, (puts if old == to else writes)[to] + 1, reads[to])
    while n >= earliest and not _is_free(words, n):
        n -= 1
    if n < earliest:
        n = _with_place_free(made, max(earliest, marks[FIRST]))
    _set_place(made, n, places, 0, bonus, copy)


@njit
def _operation(made, operation, cold, aliases):
    """Have a step do an operation; `aliases` say where the places lie."""
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
    old, copy = aliases[to] if kind == RAISE else LEAST, to - cold + 1 if to >= cold else 0
    if from_row:
        _set_to_row(made, aliases[to], old, bonus, copy)
    else:
        _set_to_place(made, (source, old, aliases[to]), bonus, copy)


@njit
def _give(to, aliases, free):
    """Give a place one in shared memory; `free` are how many are, which, and those never used."""
    if free[0] == 0:
        free[0], free[1] = 1, free[-1]
        free[-1] += 1
    aliases[to] = free[free[0]]
    free[0] -= 1


@njit
def _take_back(place, aliases, free):
    """Let the place in shared memory be used for others."""
    free[0] += 1
    free[free[0]], aliases[place] = aliases[place], NOWHERE


@njit(cache=True, nogil=True)
def _steps(boundaries, operations, begins, places, needed, made):
    """Write the steps of all boundaries; return how many, and the places in shared memory.

    `places` are the first one that is used for one thing after the other, and the first cold one.
    """
    (opened, scores), (made, firsts), (lasting, cold) = begins, made, places
    aliases, free = np.full(len(made.writes), NOWHERE), np.zeros(len(made.writes) + 2, np.int64)
    aliases[:lasting] = np.arange(_OWN_PLACES, _OWN_PLACES + lasting)
    free[-1], k = _OWN_PLACES + lasting, 0
    for i in range(len(boundaries)):
        more = boundaries[i] & SPECIAL
        firsts[i] = _boundary(made, boundaries[i] & (SPECIAL - 1), more != 0)
        while more:
            code, to, source, _ = operations[k]
            if needed[k, 0] and to >= 0 and aliases[to] == NOWHERE:
                _give(to, aliases, free)
            if needed[k, 0] or to >= cold:
                _operation(made, operations[k], cold, aliases)
            for place, later in ((to, needed[k, 0]), (source, needed[k, 1])):
                if place >= lasting and not later and aliases[place] != NOWHERE:
                    _take_back(place, aliases, free)
            more, k = code & LAST == 0, k + 1
        if opened[i]:
            _begin(made, firsts[i], scores[i])
    return made.marks[NEWEST] + 1, free[-1]
