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
def _open_segments(runs, first_run, before):
    """Return the open segments of some runs, shape (k, 4), as positions and sums from value 0 on.

    `first_run` is the number of the first of them, `before` has the sum of all values before each.
    """
    is_open, marked = np.zeros(runs.counts.sum(), np.bool_), 0
    for run in range(len(runs.counts)):
        first, count = runs.firsts[run], runs.counts[run]
        lows, highs = runs.lows[first : first + count], runs.highs[first : first + count]
        _mark_open(lows, highs, runs.totals[run], is_open[marked : marked + count])
        marked += count
    rows, found, marked = np.empty((is_open.sum(), 4), np.int64), 0, 0
    for run in range(len(runs.counts)):
        begin = (first_run + run) * runs.length
        for k in range(runs.firsts[run], runs.firsts[run] + runs.counts[run]):
            if is_open[marked]:
                rows[found, START], rows[found, END] = begin + runs.starts[k], begin + runs.ends[k]
                rows[found, LOW] = before[run] + runs.lows[k]
                rows[found, HIGH] = before[run] + runs.highs[k]
                found += 1
            marked += 1
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


@njit(nogil=True)
def _next_crossing(crossing, c, start):
    """Return the first crossing segment, from `c` on, that ends behind a position."""
    while c < len(crossing) and crossing[c, END] <= start:
        c += 1
    return c


@njit(cache=True, nogil=True)
def _count(runs, first_run, crossing):
    """Return how many segments of some runs lie in no crossing one, or at the start of one."""
    count = c = 0
    for run in range(len(runs.counts)):
        begin = (first_run + run) * runs.length
        for k in range(runs.firsts[run], runs.firsts[run] + runs.counts[run]):
            start = begin + runs.starts[k]
            c = _next_crossing(crossing, c, start)
            count += c == len(crossing) or start <= crossing[c, START]
    return count


@njit(cache=True, nogil=True)
def _fill(runs, first_run, crossing, found):
    """Fill starts, ends and sums with those segments; one that crosses stands for its first."""
    starts, ends, sums = found
    count = c = 0
    for run in range(len(runs.counts)):
        begin = (first_run + run) * runs.length
        for k in range(runs.firsts[run], runs.firsts[run] + runs.counts[run]):
            start = begin + runs.starts[k]
            c = _next_crossing(crossing, c, start)
            if c < len(crossing) and start > crossing[c, START]:
                continue
            starts[count], ends[count] = start, begin + runs.ends[k]
            sums[count] = runs.highs[k] - runs.lows[k]
            if c < len(crossing) and start == crossing[c, START]:
                ends[count] = crossing[c, END]
                sums[count] = crossing[c, HIGH] - crossing[c, LOW]
            count += 1


def merge_runs(parts: list[RunSegments], threads: int = 1) -> tuple[NDArray[np.int64], ...]:
    """Return starts, ends and sums in units of the segments that are maximal in all values.

    Parameters
    ----------
    parts : list of RunSegments
        The runs of neighbouring parts of the values; at least one run. All runs but the last one
        of the last part are full.
    threads : int
        Threads that share the runs.

    Returns
    -------
    tuple of ndarray of int64
        Sorted by position.
    """
    shares = [share for part in parts for share in _shares(part, threads)]
    first_runs = _sums_before([len(share.counts) for share in shares])[:-1]
    totals = np.concatenate([share.totals for share in shares])
    before = np.split(np.cumsum(totals) - totals, first_runs[1:])
    opened = map_on_threads(threads, _open_segments, shares, first_runs, before)
    crossing = _crossing_segments(np.concatenate(opened))
    same = [crossing] * len(shares)
    ends = _sums_before(map_on_threads(threads, _count, shares, first_runs, same))
    found = tuple(np.empty(ends[-1], np.int64) for _ in range(3))
    own = [tuple(column[a:b] for column in found) for a, b in pairwise(ends)]
    map_on_threads(threads, _fill, shares, first_runs, same, own)
    return found


def _shares(part: RunSegments, count: int) -> list[RunSegments]:
    """Return a part of the values as that many groups of neighbouring runs, about."""
    n_runs = len(part.counts)
    bounds = sorted({n_runs * k // count for k in range(count + 1)})
    return [
        part._replace(firsts=part.firsts[a:b], counts=part.counts[a:b], totals=part.totals[a:b])
        for a, b in pairwise(bounds)
    ]


def _sums_before(counts: list[int]) -> list[int]:
    """Return the sum of all counts before each one, and last the sum of all."""
    return [0, *np.cumsum(counts).tolist()]
