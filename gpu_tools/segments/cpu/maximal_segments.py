"""All maximal scoring segments on a CPU: Ruzzo and Tompa's list for each run of values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import int64
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.segments import recurrence as core
from gpu_tools.segments.maximal import (
    COUNT,
    END,
    FIRST,
    HIGH,
    LOW,
    START,
    ResultLayout,
    join,
    mark_open,
    merge_open,
    push,
    run_bounds,
)

RUN = 1 << 13
SLOTS = RUN // 2
"""Segments that a run can have: a value that is not positive lies between two of them."""

to_units = register_jitable(core.to_units)
count_before = register_jitable(core.count_before)


class RunSegments(NamedTuple):
    """The segments that are maximal in their run.

    Attributes
    ----------
    starts, ends : int32 array, shape (runs, SLOTS)
        Positions from the start of the run.
    lows, highs : int64 array, shape (runs, SLOTS)
        Sums before and after the segment, in units, from the start of the run.
    counts, totals : int64 array, shape (runs,)
        How many segments a run has, and its sum.
    """

    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    counts: NDArray[np.int64]
    totals: NDArray[np.int64]

    @classmethod
    def empty(cls, n_runs: int) -> RunSegments:
        """Return lists with as many slots as they can need: memory that stays empty is free."""
        columns = [np.empty((n_runs, SLOTS), dtype) for dtype in 2 * [np.int32] + 2 * [np.int64]]
        return cls(*columns, *(np.empty(n_runs, np.int64) for _ in range(2)))


@njit(cache=True, nogil=True)
def list_runs(values, scale, first, last, runs):
    """List the maximal segments of the runs `first` to ``last - 1``.

    Parameters
    ----------
    values : array of int32, int64, float32 or float64
    scale : int64 or float64
    first, last : int
    runs : RunSegments
        Filled.
    """
    links = np.empty(SLOTS, np.int32)
    for run in range(first, last):
        lists = runs.starts[run], runs.ends[run], runs.lows[run], runs.highs[run], links
        begin, total, count = run * RUN, int64(0), 0
        for k in range(min(RUN, len(values) - begin)):
            value = to_units(values[begin + k], scale)
            if value > 0:
                count = push(lists, count, (k, k + 1, total, total + value))
            total += value
        runs.counts[run], runs.totals[run] = count, total


@njit(cache=True, nogil=True)
def open_rows(runs, first, last):
    """Return rows of the open segments of the runs `first` to ``last - 1``, and their sum.

    Positions count from value 0, sums from the start of the first of these runs.
    """
    rows, found, before = np.empty((runs.counts[first:last].sum(), 4), np.int64), 0, int64(0)
    marks = np.empty(SLOTS, np.int32)
    for run in range(first, last):
        lows, highs, total = runs.lows[run], runs.highs[run], runs.totals[run]
        mark_open(lows, highs, runs.counts[run], total, marks)
        for k in range(runs.counts[run]):
            if marks[k]:
                rows[found, START] = run * RUN + runs.starts[run, k]
                rows[found, END] = run * RUN + runs.ends[run, k]
                rows[found, LOW], rows[found, HIGH] = before + lows[k], before + highs[k]
                found += 1
        before += total
    return rows[:found], before


@njit(cache=True, nogil=True)
def _count_remaining(runs, bounds, first, last, remaining):
    """Fill for some runs which segments of their lists lie in no crossing one."""
    for run in range(first, last):
        starts, count = runs.starts[run], runs.counts[run]
        remaining[run, FIRST] = count_before(starts, count, bounds[run, 0])
        remaining[run, COUNT] = count_before(starts, count, bounds[run, 1]) - remaining[run, FIRST]


@njit(cache=True, nogil=True)
def _fill(runs, layout, first, last, found):
    """Fill starts, ends and sums with what remains of some runs."""
    starts, ends, sums = found
    for run in range(first, last):
        own, count, at = layout[run]
        for k in range(own, own + count):
            starts[at], ends[at] = run * RUN + runs.starts[run, k], run * RUN + runs.ends[run, k]
            sums[at] = runs.highs[run, k] - runs.lows[run, k]
            at += 1


def maximal(values: NDArray, scale, threads: int) -> tuple[NDArray[np.int64], ...]:
    """Return starts, ends and sums in units of all maximal scoring segments, in order.

    Parameters
    ----------
    values : array of int32, int64, float32 or float64
    scale : int64 or float64
    threads : int

    Returns
    -------
    tuple of int64 arrays
    """
    n_runs = -(-len(values) // RUN)
    runs = RunSegments.empty(n_runs)
    cuts = [n_runs * k // threads for k in range(threads + 1)]

    def share(work):
        return map_on_threads(threads, work, cuts[:-1], cuts[1:])

    share(lambda a, b: list_runs(values, scale, a, b, runs))
    crossing = join(share(lambda a, b: merge_open(*open_rows(runs, a, b))))
    bounds, remaining = run_bounds(crossing, RUN, n_runs), np.empty((n_runs, 2), np.int64)
    share(lambda a, b: _count_remaining(runs, bounds, a, b, remaining))
    layout = ResultLayout.of(remaining, bounds, RUN)
    found = layout.columns()
    share(lambda a, b: _fill(runs, layout.rows, a, b, found))
    layout.put(crossing, found)
    return found
