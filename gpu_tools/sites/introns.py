"""Introns of a model as tables: classes of lengths, rising penalties, a longest intron."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.sites.marks import ranks_below
from gpu_tools.sites.table import IntronClass, SiteTable, once_a_table

# Intron classes as the arrays that compiled loops read.

KIND, LENGTH, PENALTY, N_LINES, LINES = range(5)
"""Of a row of an intron class: its fields, see `IntronClass`. Last are its lines, extra and number
of the level of each.
"""
_LARGEST = np.int64(2**62)


class Introns(NamedTuple):
    """What is needed to know which introns there are and what they cost.

    `rows` are numbers of each class. `boundaries` are the marks of any level, and `counts` says for
    each of them and the end how many marks of each level lie before it. `step`, `most` and `origin`
    are those of a longest intron, see `SiteTable`; `step` is 0 if there is none.
    """

    rows: NDArray[np.int64]
    boundaries: NDArray[np.int64]
    counts: NDArray[np.int32]
    step: int
    most: int
    origin: int


class ClassArrays(NamedTuple):
    """Kinds, least lengths, penalties and lines of intron classes, and all of it together."""

    kinds: NDArray[np.int64]
    lengths: NDArray[np.int64]
    penalties: NDArray[np.int64]
    rising: Rising
    introns: Introns


@once_a_table
def class_arrays(table: SiteTable) -> ClassArrays:
    """Return the arrays of a table's intron classes, read only."""
    levels, rows, lines = rows_and_lines(table.introns)
    boundaries, counts = _counted(table, levels)
    known = (table.step, table.most_steps, table.origin) if table.longest else (0, 0, 0)
    columns = (rows[:, column].copy() for column in (KIND, LENGTH, PENALTY))
    return ClassArrays(
        *columns, Rising(boundaries, counts, *lines), Introns(rows, boundaries, counts, *known)
    )


@cache
def rows_and_lines(introns: tuple[IntronClass, ...]) -> tuple[list[int], NDArray, list[NDArray]]:
    """Return levels, the numbers of each intron class, a row a class, and lines as in `Rising`."""
    levels = sorted({every for intron in introns for _, every in intron.rising})
    most = max((len(intron.rising) for intron in introns), default=0)
    rows = np.zeros((len(introns), LINES + 2 * most), np.int64)
    for row, each in zip(rows, introns, strict=True):
        lines = [n for extra, every in each.rising for n in (extra, levels.index(every))]
        numbers = [*each[:3], len(each.rising), *lines]
        row[: len(numbers)] = numbers
    near = [levels.index(each.rising[0][1]) if each.rising else -1 for each in introns]
    far = [(k, levels.index(e), x) for k, each in enumerate(introns) for x, e in each.rising[1:]]
    columns = np.array(far, dtype=np.int64).reshape(-1, 3).T
    return levels, rows, [np.array(near, np.int64), *(column.copy() for column in columns)]


def _counted(table: SiteTable, levels: list[int]) -> tuple[NDArray, NDArray]:
    """Return the marks of any level, and how many of each level lie before each and the end."""
    is_mark = table.marks.ranks < (ranks_below(levels[0]) if levels else 0)
    boundaries, ranks = table.marks.boundaries[is_mark], table.marks.ranks[is_mark]
    counts = np.zeros((len(boundaries) + 1, len(levels)), np.int32)
    for level, every in enumerate(levels):
        np.cumsum(ranks < ranks_below(every), out=counts[1:, level])
    return boundaries, counts


@njit(nogil=True, error_model="numpy")
def penalty_of(introns, k, end, start):
    """Return the penalty of an intron of class `k`, which is long enough."""
    rows, counts = introns.rows, introns.counts
    first = first_from(introns.boundaries, end + rows[k, LENGTH] + 1)
    past = first_from(introns.boundaries, start + 1)
    least = _LARGEST if rows[k, N_LINES] > 0 else 0
    for line in range(rows[k, N_LINES]):
        extra, level = rows[k, LINES + 2 * line], rows[k, LINES + 2 * line + 1]
        if extra >= least:  # so do all lines behind; and LLVM makes no vectors, which take long
            break
        least = min(least, extra + counts[past, level] - counts[first, level])
    return rows[k, PENALTY] + least


@njit(nogil=True, error_model="numpy")
def joins(introns, kind, surplus, end, start):
    """Return whether an intron whose penalty is `surplus` joins two sites of a kind."""
    rows, step = introns.rows, introns.step
    for k in range(len(rows)):
        first = end + rows[k, LENGTH]
        if rows[k, KIND] != kind or first > start or surplus < rows[k, PENALTY]:
            continue
        if step > 0:
            first, last = first + introns.origin, start + introns.origin
            if last // step - first // step > introns.most:
                continue
        if surplus == penalty_of(introns, k, end, start):
            return True
    return False


# Intron penalties that rise with the intron's length.
#
# The penalty of an intron class is the least of some straight lines: line f starts at `extra`
# points and rises by one point at each mark of its level that the intron crosses, see
# `gpu_tools.sites.marks`. A class has one row with the maximum over the exits before an entry, the
# *near* row, whose penalty rises along the first line. Each further line has a *far* row. At a mark
# of the first line's level, a *border*, these rows are brought up to date, so that an entry reads
# the near row alone. So rising penalties cost some row operations at each border and nothing at a
# site.
#
# Marks of a level are marks of each smaller one, and `extra` and levels rise from line to line. So
# a line that is left for another one is never better than staying on it, and the near row may pass
# its maximum to the far rows. For the same reason several borders may be crossed at a time: a far
# row is raised to the near one before them all.


class Rising(NamedTuple):
    """The lines of all intron classes; `boundaries` and `counts` are those of `Introns`.

    `near_level` is the number of the first line's level of each class, -1 if its penalty does not
    rise. `far_class`, `far_level` and `far_extra` are class, level and first points of each line
    beyond a class's first one.
    """

    boundaries: NDArray[np.int64]
    counts: NDArray[np.int32]
    near_level: NDArray[np.int64]
    far_class: NDArray[np.int64]
    far_level: NDArray[np.int64]
    far_extra: NDArray[np.int64]


@njit(error_model="numpy")
def crossed(rising, level, first, past):
    """Return how many of the marks from number `first` to before `past` are of a level."""
    return rising.counts[past, level] - rising.counts[first, level] if level >= 0 else 0


@njit(error_model="numpy")
def is_border(rising, k, mark):
    """Return whether the penalty of class `k` rises at the mark of a number."""
    return crossed(rising, rising.near_level[k], mark, mark + 1) > 0


@njit(error_model="numpy")
def next_border(rising, boundary):
    """Return the first border from a boundary on, or 2^62."""
    mark = first_from(rising.boundaries, boundary)
    return rising.boundaries[mark] if mark < len(rising.boundaries) else 2**62


# A longest intron: exits that lie too far back are dropped, a *step* of boundaries at a time.
#
# The exits that may precede an entry lie in the current step and in at most `most` steps before it,
# see `gpu_tools.sites.table.SiteTable.is_short`. So the rows before entries, near and far, are
# sliding maxima over steps. Steps form groups of `most`. A window of `most` steps is the end of one
# group and the beginning of the next one. For the beginning there is one set of rows, which grows
# with each step. For the ends there are sets made once a group, from its last step back: set s is
# the maximum over the steps from s on. So a step costs a few row operations, however many steps a
# window has. All sets are lowered by the marks that lie behind their exits.


class Longest(NamedTuple):
    """How far back exits may lie, in steps; `step` is 0 if there is no longest intron.

    `origin` is added to a boundary before multiples of `step` are looked for. A window has `most`
    steps. `first` is the number of the first end of a step, and there are `ends` of them.
    """

    step: int
    origin: int
    most: int
    first: int
    ends: int


def longest_of(table: SiteTable) -> Longest:
    """Return the windows of a table."""
    if not table.longest:
        return Longest(0, 0, 0, 0, 0)
    step, origin = table.step, table.origin
    first = -(-(1 + origin) // step)
    ends = max((table.length + origin) // step - first + 1, 0)
    # more steps than the base has are not needed
    return Longest(step, origin, min(table.most_steps, ends + 1), first, ends)


@njit(error_model="numpy")
def next_step(longest, boundary):
    """Return the first end of a step from a boundary on, or 2^62."""
    if longest.step == 0:
        return 2**62
    first = max(boundary, 1)
    return first + -(first + longest.origin) % longest.step
