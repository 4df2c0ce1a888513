"""From the maximal scoring segments of runs of values to those of all values.

A segment that is maximal in its run is maximal in all values, unless it is part of one that crosses
an end of the run. Such a segment starts at one that starts from a smaller sum than every later one
of its run, and ends at one that ends at a larger sum than every earlier one. These few segments are
*open*. The list of Ruzzo and Tompa is made once more, of the open segments of all runs.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import int64, njit
from numpy.typing import NDArray

from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.segments import recurrence as core

SHARES_PER_THREAD = 4
"""More shares than threads: a slow thread delays a part of its work only."""
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
def _open_segments(runs, before, first, last):
    """Return the open segments of some runs.

    Parameters
    ----------
    runs : RunSegments
    before : ndarray of int64, shape (runs,)
        The sum of all values before each run.
    first, last : int
        The runs ``first`` to ``last - 1``.

    Returns
    -------
    ndarray of int64, shape (k, 4)
        Positions and sums from value 0 on.
    """
    counts = runs.counts[first:last]
    is_open = np.zeros(counts.sum(), np.bool_)
    at = 0
    for run in range(first, last):
        begin, count = runs.firsts[run], runs.counts[run]
        lows, highs = runs.lows[begin : begin + count], runs.highs[begin : begin + count]
        _mark_open(lows, highs, runs.totals[run], is_open[at : at + count])
        at += count
    rows, at, found = np.empty((is_open.sum(), 4), np.int64), 0, 0
    for run in range(first, last):
        for k in range(runs.firsts[run], runs.firsts[run] + runs.counts[run]):
            if is_open[at]:
                rows[found, START] = run * runs.length + runs.starts[k]
                rows[found, END] = run * runs.length + runs.ends[k]
                rows[found, LOW] = before[run] + runs.lows[k]
                rows[found, HIGH] = before[run] + runs.highs[k]
                found += 1
            at += 1
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
def _borders(crossing, length, n_runs):
    """Return where in each run a crossing segment from the left ends, and one to the right starts.

    Without such a segment these are value 0 and a position behind all values.
    """
    enter, leave = np.zeros(n_runs, np.int64), np.full(n_runs, np.iinfo(np.int64).max)
    for k in range(len(crossing)):
        first, last = crossing[k, START] // length, (crossing[k, END] - 1) // length
        leave[first] = crossing[k, START]
        enter[first + 1 : last + 1] = crossing[k, END]
    return enter, leave


@njit(cache=True, nogil=True)
def _within(runs, enter, leave, first, last, firsts, counts):
    """Write which segments of the runs `first` to ``last - 1`` lie in no crossing one."""
    for run in range(first, last):
        begin, at = run * runs.length, runs.firsts[run]
        starts = runs.starts[at : at + runs.counts[run]]
        low = np.searchsorted(starts, max(enter[run] - begin, 0))
        high = np.searchsorted(starts, min(leave[run] - begin, runs.length))
        firsts[run], counts[run] = at + low, max(high - low, 0)


@njit(cache=True, nogil=True)
def _copy_within(runs, firsts, counts, offsets, first, last, found):
    """Copy what `_within` chose to its places in the columns of the result."""
    starts, ends, sums = found
    for run in range(first, last):
        for k in range(counts[run]):
            source, target = firsts[run] + k, offsets[run] + k
            starts[target] = run * runs.length + runs.starts[source]
            ends[target] = run * runs.length + runs.ends[source]
            sums[target] = runs.highs[source] - runs.lows[source]


def map_runs(threads: int, n_runs: int, work) -> list:
    """Call ``work(first, last)`` for equal shares of the runs; return the results in order."""
    shares = min(SHARES_PER_THREAD * threads, n_runs)
    bounds = [n_runs * k // shares for k in range(shares + 1)]
    return map_on_threads(threads, lambda share: work(*share), pairwise(bounds))


def merge_runs(runs: RunSegments, threads: int) -> tuple[NDArray[np.int64], ...]:
    """Return starts, ends and sums in units of the segments that are maximal in all values.

    Parameters
    ----------
    runs : RunSegments
        At least one run.
    threads : int

    Returns
    -------
    tuple of ndarray of int64
        Sorted by position.
    """
    n_runs = len(runs.counts)
    before = np.cumsum(runs.totals) - runs.totals
    opened = map_runs(threads, n_runs, lambda a, b: _open_segments(runs, before, a, b))
    crossing = _crossing_segments(np.concatenate(opened))
    enter, leave = _borders(crossing, runs.length, n_runs)
    firsts, counts = np.empty(n_runs, np.int64), np.empty(n_runs, np.int64)
    map_runs(threads, n_runs, lambda a, b: _within(runs, enter, leave, a, b, firsts, counts))
    # a crossing segment stands behind those of the run that it starts in
    starts_in = crossing[:, START] // runs.length
    of_run = counts + np.bincount(starts_in, minlength=n_runs)
    offsets = np.cumsum(of_run) - of_run
    found = tuple(np.empty(int(of_run.sum()), np.int64) for _ in range(3))
    map_runs(threads, n_runs, lambda a, b: _copy_within(runs, firsts, counts, offsets, a, b, found))
    places = offsets[starts_in] + counts[starts_in]
    sums = crossing[:, HIGH] - crossing[:, LOW]
    for column, values in zip(found, (crossing[:, START], crossing[:, END], sums), strict=True):
        column[places] = values
    return found
