"""Programs for the skewed kernel: steps that are alike, whatever happens at a boundary.

The lanes of that kernel are at different boundaries at a time, so that what one does all must do.
A *step* moves the current row on by a base or not, then sets one place to the maximum over itself
and the row or another place plus a bonus, and the row to the maximum over itself and a place plus a
bonus. Whatever a step does not need is done with places that nobody looks at. A boundary has a
step for each of its operations, one if it has none.

All places that are ever read lie in shared memory; what a traceback needs of them is a copy in
device memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.sites.cuda_program import (
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
from gpu_tools.sites.state import Sites
from gpu_tools.sites.table import FIRST_ENTRY

ZERO, LOWEST, LEAST, NOWHERE = range(4)
"""Places of rows that never change, and one that is never read."""
_OWN_PLACES = 4
FROM_ROW, INTO_ROW = 8, 16
"""Added to a step's symbol if its place is raised to the row, and if the row is raised."""
SOURCE_AT, OLD_AT, TO_AT = 8, 16, 24
"""First bits of the places that a step's maximum is of, and of the one that is set to it."""


IDLE = NO_SYMBOL | LEAST << OLD_AT | NOWHERE << TO_AT
"""First word of a step that does nothing; its others are 0."""


class Steps(NamedTuple):
    """A compiled table: three words a step, the first step of each boundary, places.

    The words are symbol, `FROM_ROW`, `INTO_ROW` and three places; the bonus of the place in the
    lower half and that of the row in the upper one; the number of the copy in device memory, 0 if
    there is none. The places in shared memory are `n_hot`; copies are numbered from `first` on.
    """

    words: NDArray[np.int32]
    firsts: NDArray[np.int64]
    n_hot: int
    first: int
    kept: Kept


def compile_skewed(sites: Sites, blocks: list[tuple[int, int]]) -> Steps:
    """Compile a table for the skewed kernel."""
    program = compile_packed(sites, blocks, 0)
    cold = places_in_registers(sites, 0).kept
    opened = sites.flags & FIRST_ENTRY != 0
    most = len(program.operations) + 2 * len(opened)
    words, firsts = np.empty((3, most), np.int32), np.empty(len(opened), np.int64)
    hot = program.operations[program.operations[:, 1] < cold, 1]
    n, n_hot = _steps(
        program.boundaries, program.operations, (opened, sites.first_entry),
        (cold, hot.max() + 1), _last_uses(program, cold), (words, firsts),
    )  # fmt: skip
    return Steps(words[:, :n].copy(), firsts, n_hot, cold - 1, program.kept)


def _last_uses(program: Program, cold: int) -> NDArray[np.int64]:
    """Return the last operation that needs what stands in a cold place, -1 if there is none."""
    kinds, places = program.operations[:, 0] & (LAST - 1), program.operations[:, 1:3]
    last = np.full(max(program.kept.n_places, cold), -1, dtype=np.int64)
    for needs, column in ((kinds <= PUT, 1), (kinds == RAISE, 0)):
        used = np.flatnonzero(needs & (places[:, column] >= cold))
        np.maximum.at(last, places[used, column], used)
    return last


@njit
def _resolved(place, aliases):
    """Return where a place of the program lies in shared memory."""
    return place + _OWN_PLACES if aliases[place] < 0 else aliases[place]


@njit
def _operation(words, n, operation, cold, aliases):
    """Write an operation into step `n`."""
    code, to, source, bonus = operation
    kind = code & (LAST - 1)
    if kind == CLEAR:
        source, flags = LOWEST, 0
    elif kind == BEGIN:
        source, flags = ZERO, 0
    elif source < 0:
        source, flags = ZERO, FROM_ROW
    else:
        source, flags = _resolved(source, aliases), 0
    if to < 0:
        _write(words, n, flags | INTO_ROW, (source, LEAST, NOWHERE), (0, bonus), 0)
        return
    own = NOWHERE if to >= cold and aliases[to] < 0 else _resolved(to, aliases)
    old, copy = own if kind == RAISE else LEAST, to - cold + 1 if to >= cold else 0
    _write(words, n, flags, (source, old, own), (bonus, 0), copy)


@njit
def _write(words, n, flags, places, bonuses, copy):
    """Write a step; its symbol stands there already."""
    source, old, to = places
    of_place, of_row = bonuses
    words[0, n] = (words[0, n] & 7) | flags | source << SOURCE_AT | old << OLD_AT | to << TO_AT
    words[1, n] = (of_place & 0xFFFF) | of_row << 16
    words[2, n] = copy


@njit
def _begin(words, n, score):
    """Raise the row to the empty chain's in step `n`, or in another one; return the next step."""
    if words[0, n] & INTO_ROW or (words[0, n] >> SOURCE_AT) & 0xFF != ZERO:
        n += 1
        words[0, n] = NO_SYMBOL
        _write(words, n, 0, (ZERO, LEAST, NOWHERE), (0, 0), 0)
    words[0, n] |= INTO_ROW
    words[1, n] = (words[1, n] & 0xFFFF) | score << 16
    return n + 1


@njit
def _give(to, operation, last_uses, aliases, free):
    """Give a cold place that is needed later one in shared memory."""
    if aliases[to] < 0 and last_uses[to] > operation:
        if free[0] == 0:
            free[0], free[1] = 1, free[-1]
            free[-1] += 1
        aliases[to] = free[free[0]]
        free[0] -= 1


@njit
def _take_back(place, operation, last_uses, aliases, free):
    """Let a place be used for others if this operation was the last to need it."""
    if aliases[place] >= 0 and last_uses[place] == operation:
        free[0] += 1
        free[free[0]] = aliases[place]


@njit(cache=True)
def _steps(boundaries, operations, begins, places, last_uses, made):
    """Write the steps of all boundaries; return how many, and the places in shared memory.

    `places` are the first one that is cold, and the first one never used below it. `free` are
    places that can be used again: how many, which, and the first one never used.
    """
    (opened, scores), (words, firsts), (cold, unused) = begins, made, places
    aliases = np.full(len(last_uses), -1, np.int64)
    free = np.zeros(len(last_uses) + 2, np.int64)
    free[-1] = unused + _OWN_PLACES
    n, k = 0, 0
    for i in range(len(boundaries)):
        firsts[i], words[0, n] = n, boundaries[i] & (SPECIAL - 1)
        _write(words, n, 0, (ZERO, LEAST, NOWHERE), (0, 0), 0)
        more = boundaries[i] & SPECIAL
        while more:
            code, to, source, _ = operations[k]
            if to >= cold:
                _give(to, k, last_uses, aliases, free)
            _operation(words, n, operations[k], cold, aliases)
            for place in (to, source):
                if place >= cold:
                    _take_back(place, k, last_uses, aliases, free)
            more, k = code & LAST == 0, k + 1
            if more:
                n += 1
                words[0, n] = NO_SYMBOL
        n = _begin(words, n, scores[i]) if opened[i] else n + 1
    return n, free[-1]
