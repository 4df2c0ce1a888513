"""From the maximal scoring segments of runs of values to those of all values.

A segment that is maximal in its run is maximal in all values, unless it is part of one that crosses
an end of the run. Such a segment starts at one that starts from a smaller sum than every later one
of its run, and ends at one that ends at a larger sum than every earlier one. These few segments are
*open*. The list of Ruzzo and Tompa is made once more, of the open segments of all runs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import int64, njit
from numpy.typing import NDArray

from gpu_tools.segments import recurrence as core

START, END, LOW, HIGH = range(4)
"""Columns of open segments: first position, the one after the last, the sums before and after."""

push = njit(core.push, nogil=True)


class RunSegments(NamedTuple):
    """The segments that are maximal in their run, for runs of equal length.

    Attributes
    ----------
    length : int
        Values of a run; the last run may have fewer.
    firsts, counts : ndarray of int64, shape (runs,)
        Where the segments of a run begin in the columns, and how many they are.
    totals : ndarray of int64, shape (runs,)
        The sum of each run, in units.
    starts, ends : ndarray of int32, shape (k,)
        Columns. Positions count from the start of the run.
    lows, highs : ndarray of int64, shape (k,)
        Columns. Sums before and after the segment, in units, from the start of the run.
    """

    length: int
    firsts: NDArray[np.int64]
    counts: NDArray[np.int64]
    totals: NDArray[np.int64]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]


@njit(cache=True, nogil=True)
def _mark_open(lows, highs, total, is_open):
    """Mark the open segments of a run, from the sums before and after each one."""
    lowest, leaving = total, len(lows)
    for k in range(len(lows) - 1, -1, -1):
        is_open[k] = lows[k] < lowest
        if is_open[k]:
            lowest, leaving = lows[k], k
    highest = int64(0)
    for k in range(leaving):
        is_open[k] = highs[k] > highest
        highest = max(highest, highs[k])


@njit(cache=True, nogil=True)
def _open_segments(runs, before):
    """Return the open segments of all runs, shape (k, 4), as positions and sums from value 0 on.

    `before` holds the sum of all values before each run.
    """
    is_open = np.zeros(len(runs.starts), np.bool_)
    for run in range(len(runs.counts)):
        of_run = slice(runs.firsts[run], runs.firsts[run] + runs.counts[run])
        _mark_open(runs.lows[of_run], runs.highs[of_run], runs.totals[run], is_open[of_run])
    rows, found = np.empty((is_open.sum(), 4), np.int64), 0
    for run in range(len(runs.counts)):
        for k in range(runs.firsts[run], runs.firsts[run] + runs.counts[run]):
            if is_open[k]:
                rows[found, START] = run * runs.length + runs.starts[k]
                rows[found, END] = run * runs.length + runs.ends[k]
                rows[found, LOW] = before[run] + runs.lows[k]
                rows[found, HIGH] = before[run] + runs.highs[k]
                found += 1
    return rows


@njit(cache=True, nogil=True)
def _crossing_segments(opened):
    """Return the segments that cross an end of a run, in the form of `_open_segments`."""
    prefix = opened[:, LOW:].copy().ravel()
    starts, ends = np.empty(len(opened), np.int64), np.empty(len(opened), np.int64)
    links, count, found = np.empty(len(opened), np.int64), 0, 0
    for k in range(len(opened)):
        count = push(prefix, starts, ends, links, count, 2 * k, 2 * k + 1)
    rows = np.empty((count, 4), np.int64)
    for k in range(count):
        first, last = starts[k] // 2, ends[k] // 2
        if first != last:  # segments of one run never merge, so what was merged crosses
            rows[found, START], rows[found, LOW] = opened[first, START], opened[first, LOW]
            rows[found, END], rows[found, HIGH] = opened[last, END], opened[last, HIGH]
            found += 1
    return rows[:found]


@njit(cache=True, nogil=True)
def _merged(runs, crossing, found):
    """Fill starts, ends and sums with the crossing segments and those that lie in none of them."""
    starts, ends, sums = found
    count = c = 0
    for run in range(len(runs.counts)):
        for k in range(runs.firsts[run], runs.firsts[run] + runs.counts[run]):
            start = run * runs.length + runs.starts[k]
            while c < len(crossing) and crossing[c, END] <= start:
                c += 1
            if c < len(crossing) and start > crossing[c, START]:
                continue
            starts[count], ends[count] = start, run * runs.length + runs.ends[k]
            sums[count] = runs.highs[k] - runs.lows[k]
            if c < len(crossing) and start == crossing[c, START]:
                ends[count] = crossing[c, END]
                sums[count] = crossing[c, HIGH] - crossing[c, LOW]
            count += 1
    return count


def merge_runs(runs: RunSegments) -> tuple[NDArray[np.int64], ...]:
    """Return starts, ends and sums in units of the segments that are maximal in all values.

    Parameters
    ----------
    runs : RunSegments
        At least one run.

    Returns
    -------
    tuple of ndarray of int64
        Sorted by position.
    """
    crossing = _crossing_segments(_open_segments(runs, np.cumsum(runs.totals) - runs.totals))
    found = tuple(np.empty(int(runs.counts.sum()), np.int64) for _ in range(3))
    count = _merged(runs, crossing, found)
    return tuple(column[:count] for column in found)
