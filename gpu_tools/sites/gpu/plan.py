"""The plan compiler: what a kernel does at each boundary of a strand, written from its sites.

Three kernels sweep a strand with a target: of one row of cells, of three rows whose codons are
nucleotides, and of proteins. Each reads a *plan*, and each has a form of its own for that. But what
happens at a boundary, and in which order, is always the same:

1. where penalties rise, the *maxima* over the exits before an entry are raised to the exits that
   lie far enough behind, and lowered;
2. where an exon ends or begins, these maxima are raised to the exits that lie far enough behind;
3. an exit is noted, and its rows are kept for introns that have a penalty of their own;
4. the row is raised to what enters.

So `plan_compiler` makes a compiler, for a CPU or a GPU, from functions that write these things down
in a kernel's own form, see `PlanForm`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numba import int64
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.sites import introns as intron_tables
from gpu_tools.sites.introns import Rising, class_arrays, rows_and_lines
from gpu_tools.sites.table import IntronClass, JunctionArrays, SiteTable

inlined = partial(njit, makes_arrays=False, forceinline=True)
"""Compiles functions that are called at each boundary: a call would pass each array of their tuples
as seven words, which takes longer than what they do.
"""

# The sites of a strand.


class IntronMaxima(NamedTuple):
    """Intron classes, and the maxima over the exits before an entry that kernels have for them.

    Classes of one kind whose penalties rise alike share a *maximum*: exits raise it when a class
    may begin with them, less that class's first penalty. The first three are of classes, `number`
    is that of each class's maximum, and `kinds` are those of maxima.
    """

    class_kinds: NDArray[np.int64]
    lengths: NDArray[np.int64]
    penalties: NDArray[np.int64]
    number: NDArray[np.int64]
    kinds: NDArray[np.int64]


class Sites(NamedTuple):
    """The sites of a strand: rising boundaries, their scores, and kinds of inner entries and exits.

    First entries and last exits begin with the score of each boundary that is not listed. `rising`
    has a maximum in place of each intron class. `slots` are the first ones of the rows that are
    kept of each donor of junctions.
    """

    codes: NDArray[np.uint8]
    first: tuple[int, NDArray, NDArray[np.int32]]
    acceptors: tuple[NDArray, NDArray[np.int32], NDArray[np.uint8]]
    donors: tuple[NDArray, NDArray[np.int32], NDArray[np.uint8]]
    last: tuple[int, NDArray, NDArray[np.int32]]
    introns: IntronMaxima
    rising: Rising
    junctions: JunctionArrays
    slots: NDArray


def sites_of(codes: NDArray[np.uint8], table: SiteTable) -> Sites:
    """Return the sites of a strand, `codes` being its nucleotides; its slots are to be filled."""
    acceptors, donors = (
        (each.boundaries, each.scores, each.kinds) for each in (table.acceptors, table.donors)
    )
    arrays, (number, kinds, *lines) = class_arrays(table), maxima_of(table.introns)
    return Sites(
        np.ascontiguousarray(codes), table.first.arrays, acceptors, donors, table.last.arrays,
        IntronMaxima(*arrays[:3], number, kinds), Rising(*arrays.rising[:2], *lines),
        table.junction_arrays, np.empty(len(table.junction_arrays.donors), np.int64),
    )  # fmt: skip


@cache
def maxima_of(introns: tuple[IntronClass, ...]) -> list[NDArray[np.int64]]:
    """Return the maximum of each class, kinds of maxima, and all but the marks of their `Rising`.

    To each of these maxima belongs one for each further line of their penalties, behind them all.
    """
    keys = [(each.kind, each.rising) for each in introns]
    unique = list(dict.fromkeys(keys))
    number, first = [*map(unique.index, keys)], [*map(keys.index, unique)]
    level, far_class, *of_far = rows_and_lines(introns)[2]
    far = np.isin(far_class, first)
    made = number, [kind for kind, _ in unique], level[first], np.array(number)[far_class[far]]
    return [np.array(each, np.int64) for each in (*made, *(own[far] for own in of_far))]


@njit
def n_maxima(sites):
    """Return how many maxima there are."""
    return len(sites.introns.kinds) + len(sites.rising.far_class)


@njit
def kept_slots(junctions, first, each, slots):
    """Write the first slot of the rows of each donor of junctions; return the slot behind all.

    Each takes so many slots, from slot `first` on, up to its last acceptor; then others may.
    """
    donors, acceptors, numbers = junctions.donors, junctions.acceptors, junctions.kept
    last, until, past = np.zeros(len(donors), np.int64), np.zeros(len(donors), np.int64), 0
    for k in range(len(acceptors)):  # by rising acceptors
        last[numbers[k]] = acceptors[k]
    for k in range(len(donors)):
        place = 0
        while place < past and until[place] >= donors[k]:
            place += 1
        past = max(past, place + 1)
        until[place], slots[k] = last[k], first + each * place
    return first + each * past


@njit(makes_arrays=False)
def most_operations(sites):
    """Return how many times maxima are raised or lowered, at most."""
    exits, rising = len(sites.donors[0]), sites.rising
    border = len(rising.near_level) + 3 * len(rising.far_class)
    return len(sites.introns.lengths) * exits + border * len(rising.boundaries)


NO_SYMBOL = 5
"""Symbol of the first boundary, before which there is no nucleotide."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What a kernel does along a strand.

    Kernels store the rows that a traceback reads one behind the other, without the exits' scores:
    first those at the exits, then those from which entries start, `SiteTable.tracks` for each. If
    chains translate, there is a row for each reading frame of an exit, and for each number of
    nucleotides of the split codon before an entry, of which the acceptor's score is part. Rows of
    entries have the penalty of the intron.

    Attributes
    ----------
    arrays : list of ndarray of int32
        What the kernel reads.
    n_steps, n_slots : int
        Steps, and slots of rows.
    start : int
        Slot of the empty chain's row.
    ring : int
        Exits whose rows may be needed at a time, a power of two; 0 if these are in slots.
    """

    arrays: list[NDArray[np.int32]]
    n_steps: int
    n_slots: int
    start: int
    ring: int

    @property
    def n_bytes(self) -> int:
        """Bytes of what the kernel reads."""
        return sum(array.nbytes for array in self.arrays)


# The compiler.


WRITTEN, MARKED, OPERANDS, NEXT_SLOT, WAITS_AT, TAKEN_AT = 0, 1, 2, 3, 4, 10
"""Numbers of a compiler's state: operations so far, and those up to the end of a boundary; operands
so far; the next free slot; which rows wait, by boundary; how many exits each class has taken.
"""


class PlanForm(NamedTuple):
    """How a kernel's plan is written; all functions have the sites, state and plan as well.

    Attributes
    ----------
    opened : function of boundary, scores of a last exit and a first entry, whether there is more
        Begin a boundary, and return what is known of it, which comes to the functions behind this
        one. A score is the usual one, `CLOSED` for none, if the boundary is not listed.
    keep : function of the number of a donor of junctions and that of its exit
        Keep the rows of an exit.
    take : function of a class and an exit
        Raise a class's maximum to an exit.
    raise_maximum : function of two maxima, a bonus and whether it is fresh
        Raise the first one, the floor if it is fresh, to the second one plus the bonus.
    leave : function of the boundary, an exit and what is known of the boundary
        Note an exit; return what is known.
    enter : function of the boundary, an entry and what is known of the boundary
        Raise the row to what enters; return what is known.
    closed : function of the boundary, the score of a first entry and what is known of the boundary
        End a boundary.
    """

    opened: Callable
    keep: Callable
    take: Callable
    raise_maximum: Callable
    leave: Callable
    enter: Callable
    closed: Callable


def _maxima_compiler(jit: Callable, take: Callable, raise_maximum: Callable):
    """Return the functions that raise maxima to exits, and that bring them up to date at a mark."""
    crossed, is_border = jit(intron_tables.crossed), jit(intron_tables.is_border)

    @jit
    def take_exits(sites, reach, exits, state, plan):
        """Raise the maxima to those of the first exits that an intron up to `reach` may follow."""
        introns, (boundaries, _, kinds) = sites.introns, sites.donors
        for k in range(len(introns.lengths)):
            kind, length, exit = introns.class_kinds[k], introns.lengths[k], state[TAKEN_AT + k]
            while exit < exits and boundaries[exit] + length <= reach:
                if kinds[exit] == kind:
                    take(sites, k, exit, state, plan)
                exit += 1
            state[TAKEN_AT + k] = exit

    @jit
    def cross_border(sites, mark, state, plan):
        """Bring the maxima up to date at a mark, see `gpu_tools.sites.introns`."""
        rising, near = sites.rising, len(sites.rising.near_level)
        for k in range(near):
            if not is_border(rising, k, mark):
                continue
            for f in range(len(rising.far_class)):
                if rising.far_class[f] == k:
                    extra = -rising.far_extra[f]
                    raise_maximum(sites, near + f, k, extra, False, state, plan)
                    if crossed(rising, rising.far_level[f], mark, mark + 1) > 0:
                        raise_maximum(sites, near + f, near + f, -1, True, state, plan)
            raise_maximum(sites, k, k, -1, True, state, plan)
            for f in range(len(rising.far_class)):
                if rising.far_class[f] == k:
                    raise_maximum(sites, k, near + f, 0, False, state, plan)

    return take_exits, cross_border


def plan_compiler(
    jit: Callable, form: PlanForm, together: int = 1, later: int = 0, behind: int = 0
) -> Callable:
    """Return the function that writes the plan of some boundaries.

    Parameters
    ----------
    jit : function
        Compiles functions for a CPU or a GPU.
    form : PlanForm
    together : int
        Boundaries before which a kernel does operations at once: rows are kept at the first.
    later : int
        Rows are kept so many boundaries behind their exit, at least.
    behind : int
        First entries are told so many boundaries behind them.
    """
    take_exits, cross_border = _maxima_compiler(jit, form.take, form.raise_maximum)
    opened, keep, _, _, leave, enter, closed = form
    first_from = jit(simd.first_from)

    @jit
    def is_at(boundaries, k, boundary):
        """Return whether a boundary is the one of a number among listed ones."""
        return k < len(boundaries) and boundaries[k] == boundary

    @jit
    def compile_plan(sites, low, past, state, plan):
        """Write the boundaries from `low` to before `past`."""
        usual_first, firsts, first_scores = sites.first
        usual_last, lasts, last_scores = sites.last
        donors, acceptors = sites.donors[0], sites.acceptors[0]
        kept, marks = sites.junctions.donors, sites.rising.boundaries
        exit, entry = int64(first_from(donors, low)), int64(first_from(acceptors, low))
        first, last = int64(first_from(firsts, low - behind)), int64(first_from(lasts, low))
        mark, keeping = int64(first_from(marks, low)), int64(first_from(kept, low - later))
        for i in range(low, past):
            leaves, enters = is_at(donors, exit, i), is_at(acceptors, entry, i)
            crosses, final, begins = is_at(marks, mark, i), int64(usual_last), int64(usual_first)
            if is_at(lasts, last, i):
                final, last = int64(last_scores[last]), last + 1
            if is_at(firsts, first, i - behind):
                begins, first = int64(first_scores[first]), first + 1
            known = opened(sites, i, final, begins, leaves or enters or crosses, state, plan)
            if crosses:
                take_exits(sites, i - 1, exit, state, plan)
                cross_border(sites, mark, state, plan)
                mark += 1
            if leaves:
                take_exits(sites, i, exit, state, plan)
                known = leave(sites, i, exit, known, state, plan)
                exit += 1
            while i % together == 0 and keeping < len(kept) and kept[keeping] + later <= i:
                number = int64(first_from(donors, kept[keeping]))
                keep(sites, keeping, number, state, plan)
                keeping += 1
            if enters:  # perhaps through an intron without nucleotides
                take_exits(sites, i, exit, state, plan)
                known = enter(sites, i, entry, known, state, plan)
                entry += 1
            closed(sites, i, begins, known, state, plan)

    return compile_plan
