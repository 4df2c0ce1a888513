"""Intron penalties that rise with the intron's length.

The penalty of an intron class is the least of some straight lines: line f starts at `extra` points
and rises by one point at each multiple of `every` that the intron crosses. A class has one row with
the maximum over the exits before an entry, the *near* row, whose penalty rises along the first
line. Each further line has a *far* row. At a multiple of the first line's distance, a *border*,
these rows are brought up to date, so that an entry reads the near row alone. So rising penalties
cost some row operations at each border and nothing at a site.

Distances are multiples of each other and `extra` rises from line to line. So a line that is left
for another one is never better than staying on it, and the near row may pass its maximum to the
far rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.sites.operations import LOWER, RAISE, emit

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
    """Tell whether the penalty of class `k` rises at a boundary."""
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
    """Write the operations of a border; return how many there are.

    Parameters
    ----------
    rising : Rising
    boundary : int
    splits : int
        Rows a class or line, one for each kind of split codon.
    first : int
        Number of the first near row; the far rows follow the near ones.
    operations : ndarray, shape (at least n + splits * most_operations, 4)
    n : int
        How many there are so far.
    """
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
