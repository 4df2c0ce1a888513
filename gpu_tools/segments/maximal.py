"""From the maximal scoring segments of runs of values to those of all values.

A segment that is maximal in its run is maximal in all values, unless it is part of one that crosses
an end of the run. Such a segment starts at one that starts from a smaller sum than every later one
of its run, and ends at one that ends at a larger sum than every earlier one. These few segments are
*open* (`gpu_tools.segments.recurrence.mark_open`). The list of Ruzzo and Tompa is made once more,
of the open segments of neighbouring runs. What is open in the list of these is open in the group
of all of them, so that lists of groups are joined in the same way.

Rows of open and of crossing segments have four columns: the first position, the one after the last,
the sums before and after.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.segments import recurrence as core

START, END, LOW, HIGH = range(4)
"""Columns of rows."""
FIRST, COUNT, OFFSET = range(3)
"""Columns of a layout; see `ResultLayout`."""

push = register_jitable(core.push)
mark_open = register_jitable(core.mark_open)


class RunGroup(NamedTuple):
    """Neighbouring runs taken together.

    Attributes
    ----------
    crossing : int64 array, shape (k, 4)
        Rows of the segments that are maximal in the group and cross an end of a run.
    opened : int64 array, shape (k, 4)
        Rows of the segments that are open in the group. Sums count from its start.
    total : int
        The sum of the group.
    """

    crossing: NDArray[np.int64]
    opened: NDArray[np.int64]
    total: int


@njit(cache=True, nogil=True)
def _merge(opened, total):
    """Return the list of open segments as rows, which of them cross, and which are open."""
    n_open, count = len(opened), 0
    firsts, lasts = np.empty(n_open, np.int64), np.empty(n_open, np.int64)
    lows, highs = np.empty(n_open, np.int64), np.empty(n_open, np.int64)
    marks = np.empty(n_open, np.int64)  # links first
    for k in range(n_open):
        segment = k, k, opened[k, LOW], opened[k, HIGH]
        count = push((firsts, lasts, lows, highs, marks), count, segment)
    mark_open(lows, highs, count, total, marks)
    rows = np.empty((count, 4), np.int64)
    for k in range(count):
        rows[k, START], rows[k, END] = opened[firsts[k], START], opened[lasts[k], END]
        rows[k, LOW], rows[k, HIGH] = lows[k], highs[k]
    # segments of one run never merge, so what was merged crosses
    return rows, firsts[:count] != lasts[:count], marks[:count] != 0


def merge_open(opened: NDArray[np.int64], total: int) -> RunGroup:
    """Join runs to a group.

    Parameters
    ----------
    opened : int64 array, shape (k, 4)
        Rows of the open segments of all runs, in order. Sums count from the start of the group.
    total : int
        The sum of the group.

    Returns
    -------
    RunGroup
    """
    rows, crosses, is_open = _merge(opened, np.int64(total))
    return RunGroup(rows[crosses], rows[is_open], total)


def join(groups: list[RunGroup]) -> NDArray[np.int64]:
    """Return rows of the segments that cross an end of a run, of neighbouring groups.

    They are in order, and none lies in another one.
    """
    totals = np.array([group.total for group in groups])
    opened = [group.opened.copy() for group in groups]
    for rows, before in zip(opened, np.cumsum(totals) - totals, strict=True):
        rows[:, LOW:] += before
    whole = merge_open(np.concatenate(opened), totals.sum())
    rows = np.concatenate([whole.crossing, *(group.crossing for group in groups)])
    # of equal starts that of the whole stays first, which is the longer one
    rows = rows[np.argsort(rows[:, START], kind="stable")]
    outer = np.ones(len(rows), np.bool_)
    outer[1:] = rows[1:, END] > np.maximum.accumulate(rows[:, END])[:-1]
    return rows[outer]


@njit(cache=True, nogil=True)
def run_bounds(crossing, length, n_runs):
    """Return which part of each run lies in no crossing segment.

    Parameters
    ----------
    crossing : int64 array, shape (k, 4)
        See `join`.
    length : int
        Values of a run.
    n_runs : int

    Returns
    -------
    int32 array, shape (runs, 2)
        Where a segment that enters the run ends, and where one that leaves it starts, from the
        start of the run; 0 and `length` if there is none.
    """
    bounds, c = np.empty((n_runs, 2), np.int32), 0
    for run in range(n_runs):
        begin = run * length
        while c < len(crossing) and crossing[c, END] <= begin:
            c += 1
        bounds[run, 0], bounds[run, 1], following = 0, length, c
        if c < len(crossing) and crossing[c, START] < begin:
            bounds[run, 0], following = min(crossing[c, END] - begin, length), c + 1
        if following < len(crossing) and crossing[following, START] < begin + length:
            bounds[run, 1] = crossing[following, START] - begin
    return bounds


class ResultLayout(NamedTuple):
    """Where the segments of each run stand in the columns of all segments.

    A crossing segment stands behind those that remain of the run in which it starts.

    Attributes
    ----------
    rows : int64 array, shape (runs + 1, 3)
        The first segment of each run's list that lies in no crossing one, how many do, and where
        they stand. The last row has the number of all segments there.
    crossing : int64 array
        Where the crossing segments stand.
    """

    rows: NDArray[np.int64]
    crossing: NDArray[np.int64]

    @classmethod
    def of(cls, remaining: NDArray, bounds: NDArray[np.int32], length: int) -> ResultLayout:
        """Lay out what remains of runs: first segment and number; see `run_bounds`."""
        leaves = bounds[:, 1] < length
        rows = np.zeros((len(remaining) + 1, 3), np.int64)
        rows[:-1, :OFFSET] = remaining
        np.cumsum(rows[:-1, COUNT] + leaves, out=rows[1:, OFFSET])
        return cls(rows, (rows[:-1, OFFSET] + rows[:-1, COUNT])[leaves])

    def columns(self) -> tuple[NDArray[np.int64], ...]:
        """Return empty columns: starts, ends and sums of all segments."""
        return tuple(np.empty(self.rows[-1, OFFSET], np.int64) for _ in range(3))

    def put(self, crossing: NDArray[np.int64], found: tuple[NDArray[np.int64], ...]) -> None:
        """Write the crossing segments to columns."""
        starts, ends, sums = found
        starts[self.crossing], ends[self.crossing] = crossing[:, START], crossing[:, END]
        sums[self.crossing] = crossing[:, HIGH] - crossing[:, LOW]
