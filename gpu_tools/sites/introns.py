"""Introns of a model as tables: classes of lengths, rising penalties, a longest intron."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.sites.table import IntronClass, SiteTable, once_a_table

# Operations on rows of cells, of which site mode on a GPU and rising penalties are made.

RAISE, PUT, BEGIN, CLEAR, FINAL, ADVANCE, LOWER = range(7)
"""Operations (kind, to, source, bonus). `RAISE` raises row `to` to row `source` plus the bonus;
`PUT` sets it to that. `BEGIN` raises it to the empty chain's row plus the bonus. `CLEAR` sets it to
the floor. `FINAL` looks for the best end in row `to` at boundary `source`. `ADVANCE` advances row
`to` by the symbol `source`. `LOWER` sets row `to` to row `source` plus the bonus, which is
negative, but not below the floor.
"""


@njit
def emit(operations, n, kind, to, source, bonus):
    """Append an operation; return how many there are."""
    operations[n, 0], operations[n, 1] = kind, to
    operations[n, 2], operations[n, 3] = source, bonus
    return n + 1


# Intron classes as the arrays that compiled loops read.

KIND, LENGTH, PENALTY, ORIGIN, STEP, MOST_STEPS, N_LINES, LINES = range(8)
"""Of a row of an intron class: its fields, see `IntronClass`; without a longest intron its step is
0. Last are its lines, extra and every of each.
"""
_LARGEST = np.int64(2**62)


class ClassArrays(NamedTuple):
    """Kinds, least lengths, penalties and lines of intron classes, and a row of numbers of each."""

    kinds: NDArray[np.int64]
    lengths: NDArray[np.int64]
    penalties: NDArray[np.int64]
    rising: Rising
    rows: NDArray[np.int64]


@once_a_table
def class_arrays(table: SiteTable) -> ClassArrays:
    """Return the arrays of a table's intron classes, read only."""
    rows = _rows_of(table.introns)
    columns = (rows[:, column].copy() for column in (KIND, LENGTH, PENALTY))
    return ClassArrays(*columns, rising_of(table.introns), rows)


def _rows_of(introns: tuple[IntronClass, ...]) -> NDArray[np.int64]:
    """Return the numbers of each intron class, a row a class."""
    most = max((len(intron.rising) for intron in introns), default=0)
    rows = np.zeros((len(introns), LINES + 2 * most), np.int64)
    for row, each in zip(rows, introns, strict=True):
        steps = (each.step, each.most_steps) if each.longest else (0, 0)
        lines = [number for line in each.rising for number in line]
        numbers = [*each[:3], each.origin, *steps, len(each.rising), *lines]
        row[: len(numbers)] = numbers
    return rows


@njit(nogil=True, error_model="numpy")
def penalty_of(introns, k, end, start):
    """Return the penalty of an intron of class `k`, which is long enough; `introns` are rows."""
    first, last = end + introns[k, LENGTH] + introns[k, ORIGIN], start + introns[k, ORIGIN]
    least = _LARGEST if introns[k, N_LINES] > 0 else 0
    for line in range(introns[k, N_LINES]):
        extra, every = introns[k, LINES + 2 * line], introns[k, LINES + 2 * line + 1]
        if extra >= least:  # so do all lines behind; and LLVM makes no vectors, which take long
            break
        least = min(least, extra + last // every - first // every)
    return introns[k, PENALTY] + least


@njit(nogil=True, error_model="numpy")
def joins(introns, kind, surplus, end, start):
    """Return whether an intron whose penalty is `surplus` joins two sites of a kind."""
    for k in range(len(introns)):
        first, step = end + introns[k, LENGTH], introns[k, STEP]
        if introns[k, KIND] != kind or first > start:
            continue
        if step > 0:
            first, last = first + introns[k, ORIGIN], start + introns[k, ORIGIN]
            if last // step - first // step > introns[k, MOST_STEPS]:
                continue
        if surplus == penalty_of(introns, k, end, start):
            return True
    return False


# Intron penalties that rise with the intron's length.
#
# The penalty of an intron class is the least of some straight lines: line f starts at `extra`
# points and rises by one point at each multiple of `every` that the intron crosses. A class has
# one row with the maximum over the exits before an entry, the *near* row, whose penalty rises
# along the first line. Each further line has a *far* row. At a multiple of the first line's
# distance, a *border*, these rows are brought up to date, so that an entry reads the near row
# alone. So rising penalties cost some row operations at each border and nothing at a site.
#
# Distances are multiples of each other and `extra` rises from line to line. So a line that is left
# for another one is never better than staying on it, and the near row may pass its maximum to the
# far rows.


BORDER = 16
"""Flag of a boundary at which penalties rise; the other flags are those of `sites.table`."""


class Rising(NamedTuple):
    """The lines of all intron classes.

    `near_every` is the distance of the borders of each class, 0 if its penalty does not rise.
    `far_class`, `far_every` and `far_extra` are class, distance and first points of each line
    beyond a class's first one. `origin` is added to a boundary before multiples are looked for.
    """

    origin: int
    near_every: NDArray[np.int64]
    far_class: NDArray[np.int64]
    far_every: NDArray[np.int64]
    far_extra: NDArray[np.int64]


def rising_of(introns) -> Rising:
    """Return the lines of some `IntronClass`, only the borders of those with a longest intron."""
    near = [intron.step for intron in introns]
    rising = [() if intron.longest else intron.rising[1:] for intron in introns]
    far = [(k, e, x) for k, lines in enumerate(rising) for x, e in lines]
    columns = np.array(far, dtype=np.int64).reshape(-1, 3).T
    origin = introns[0].origin if introns else 0
    return Rising(origin, np.array(near, dtype=np.int64), *(column.copy() for column in columns))


@njit(error_model="numpy")
def mark_borders(rising, flags):
    """Flag the boundaries at which some penalty rises."""
    for every in rising.near_every:
        if every > 0:
            for i in range(1 + -(1 + rising.origin) % every, len(flags), every):
                flags[i] |= BORDER


@njit
def most_operations(rising):
    """Return how many operations a border has for each kind of split codon, at most."""
    return len(rising.near_every) + 3 * len(rising.far_class)


@njit(error_model="numpy")
def is_border(rising, k, boundary):
    """Return whether the penalty of class `k` rises at a boundary."""
    every = rising.near_every[k]
    return every > 0 and (boundary + rising.origin) % every == 0


@njit(error_model="numpy")
def next_border(rising, boundary):
    """Return the first border from a boundary on, or 2^62."""
    found, first = 2**62, max(boundary, 1)
    for every in rising.near_every:
        if every > 0:
            found = min(found, first + -(first + rising.origin) % every)
        if found == first:  # LLVM makes no vectors of a loop that may end here: they take long
            break
    return found


@njit(error_model="numpy")
def write_border(rising, boundary, splits, first, operations, n):
    """Write the operations of a border; return how many there are."""
    classes = len(rising.near_every)
    for k in range(classes):
        if not is_border(rising, k, boundary):
            continue
        for split in range(splits):
            near = first + k * splits + split
            for f in range(len(rising.far_class)):
                if rising.far_class[f] == k:
                    far = first + (classes + f) * splits + split
                    n = emit(operations, n, RAISE, far, near, -rising.far_extra[f])
                    if (boundary + rising.origin) % rising.far_every[f] == 0:
                        n = emit(operations, n, LOWER, far, far, -1)
            n = emit(operations, n, LOWER, near, near, -1)
            for f in range(len(rising.far_class)):
                if rising.far_class[f] == k:
                    far = first + (classes + f) * splits + split
                    n = emit(operations, n, RAISE, near, far, 0)
    return n


# A longest intron: exits that lie too far back are dropped, a *step* of boundaries at a time.
#
# The exits that may precede an entry of a class lie in the current step and in at most `most` steps
# before it, see `gpu_tools.sites.table.IntronClass.admits`. So the row that entries read is a
# sliding maximum over steps. Steps form groups of `most`. A window of `most` steps is the end of
# one group and the beginning of the next one. For the beginning there is one row, which grows with
# each step. For the ends there are rows made once a group, from its last step back: row s is the
# maximum over the steps from s on. So a step costs a few row operations, however many steps a
# window has.
#
# Penalties rise within a window. Each line has these rows for itself, all lowered as far as the
# line has risen; the row that entries read is the largest of all lines, each less its first points.


class Longest(NamedTuple):
    """How far back exits may lie, and the lines of penalties; empty without a longest intron.

    `most` are the steps of each class's window, `first` the number of its first border, `stored`
    the first of its rows among those stored, `steps` among those of steps. `lines` are where each
    class's lines begin and the last one's end. `line_class`, `line_extra` and `line_steps` are
    class, first points and steps a point of each line, 0 if it does not rise; `ends` is the first
    of its rows of a group's ends. `n_ends` and `n_stored` say how many of these rows there are, for
    each kind of split codon.
    """

    most: NDArray[np.int64]
    first: NDArray[np.int64]
    stored: NDArray[np.int64]
    steps: NDArray[np.int64]
    lines: NDArray[np.int64]
    line_class: NDArray[np.int64]
    line_extra: NDArray[np.int64]
    line_steps: NDArray[np.int64]
    ends: NDArray[np.int64]
    n_ends: int
    n_stored: int


def longest_of(introns, length: int) -> Longest:
    """Return the windows of some `IntronClass` on a base sequence of a length."""
    limited = [intron for intron in introns if intron.longest]
    return _windows(limited, length) if limited else NO_LONGEST


def _windows(limited: list, length: int) -> Longest:
    first, borders = _borders(limited, length)
    # more steps than the base has are not needed
    most = [min(i.most_steps, count + 1) for i, count in zip(limited, borders, strict=True)]
    useful = [useful_lines(intron) for intron in limited]
    lines = [
        (k, extra, every // limited[k].step) for k, own in enumerate(useful) for extra, every in own
    ]
    columns = np.array(lines, dtype=np.int64).reshape(-1, 3).T
    stored, n_stored = _starts(borders)
    ends, n_ends = _starts([most[k] for k, *_ in lines])
    starts = np.cumsum([0, *map(len, useful)], dtype=np.int64)
    return Longest(
        np.array(most, dtype=np.int64), np.array(first, dtype=np.int64), stored, _starts(most)[0],
        starts, *(column.copy() for column in columns), ends, n_ends, n_stored,
    )  # fmt: skip


def useful_lines(intron) -> list[tuple[int, int]]:
    """Return the lines that cost less than the ones before for some intron that is short enough."""
    useful, span = [], (intron.most_steps + 1) * intron.step - 1
    for extra, every in intron.rising or ((0, 0),):
        if all(extra < first + -(-span // own) for first, own in useful):
            useful.append((extra, every))
    return useful


def _borders(introns, length: int) -> tuple[list[int], list[int]]:
    """Return the number of the first border of each class, and how many it has."""
    first = [-(-(1 + i.origin) // i.step) for i in introns]
    last = [(length + i.origin) // i.step for i in introns]
    return first, [max(b - a + 1, 0) for a, b in zip(first, last, strict=True)]


def _starts(counts: list[int]) -> tuple[NDArray[np.int64], int]:
    """Return where parts of some sizes begin, and the sum of the sizes."""
    ends = np.cumsum([0, *counts], dtype=np.int64)
    return ends[:-1].copy(), int(ends[-1])


NO_LONGEST = _windows([], 0)
"""There is no longest intron."""
