"""The best segment and all maximal segments on a CPU; threads share the tiles or runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import int64
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.segments import runs as core
from gpu_tools.segments.runs import COUNT, END, FIRST, HIGH, LOW, START

TILE = 1 << 12
"""Values of a tile; the tile that holds the best segment is read twice."""
RUN = 1 << 13
"""Values of a run, for which Ruzzo and Tompa's list is made."""
SLOTS = RUN // 2
"""Segments that a run can have: a value that is not positive lies between two of them."""

to_units = register_jitable(core.to_units)
extend = register_jitable(core.extend)
push = register_jitable(core.push)
mark_open = register_jitable(core.mark_open)
count_before = register_jitable(core.count_before)


@njit(cache=True, nogil=True)
def summarise(values, scale, first, last, summaries):
    """Write the summaries of the tiles `first` to ``last - 1``."""
    for tile in range(first, last):
        total, prefix, suffix, best = int64(0), int64(0), int64(0), int64(0)
        for k in range(tile * TILE, min((tile + 1) * TILE, len(values))):
            value = to_units(values[k], scale)
            total, prefix, suffix, best = extend(total, prefix, suffix, best, value)
        four = total, prefix, suffix, best
        for k in range(4):
            summaries[tile, k] = four[k]


def summaries(values: NDArray, scale, threads: int) -> NDArray[np.int64]:
    """Return the summary of every tile, shape (tiles, 4)."""
    tiles = -(-len(values) // TILE)
    found = np.empty((tiles, 4), dtype=np.int64)
    cuts = [tiles * k // threads for k in range(threads + 1)]
    map_on_threads(threads, lambda a, b: summarise(values, scale, a, b, found), cuts[:-1], cuts[1:])
    return found


class RunSegments(NamedTuple):
    """The segments that are maximal in their run; memory of unused slots is never touched."""

    # (runs, SLOTS): positions from the start of the run
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    # (runs, SLOTS): sums before and after the segment, from the start of the run
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    # (runs,): number of segments, and sum of the run
    counts: NDArray[np.int64]
    totals: NDArray[np.int64]


@njit(cache=True, nogil=True)
def list_runs(values, scale, first, last, runs):
    """List the maximal segments of the runs `first` to ``last - 1``."""
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
    """Fill first index and number of the segments within the bounds of the runs."""
    for run in range(first, last):
        starts, count = runs.starts[run], runs.counts[run]
        remaining[run, FIRST] = count_before(starts, count, bounds[run, 0])
        remaining[run, COUNT] = count_before(starts, count, bounds[run, 1]) - remaining[run, FIRST]


@njit(cache=True, nogil=True)
def _write_remaining(runs, layout, first, last, starts, ends, sums):
    """Write the segments of the runs that lie in no crossing one to their places."""
    for run in range(first, last):
        own, count, at = layout[run]
        for k in range(own, own + count):
            starts[at], ends[at] = run * RUN + runs.starts[run, k], run * RUN + runs.ends[run, k]
            sums[at] = runs.highs[run, k] - runs.lows[run, k]
            at += 1


def maximal(values: NDArray, scale, threads: int) -> core.Columns:
    """Return starts, ends and sums of all maximal scoring segments, in order."""
    n_runs = -(-len(values) // RUN)
    slots = [np.empty((n_runs, SLOTS), kind) for kind in 2 * [np.int32] + 2 * [np.int64]]
    runs = RunSegments(*slots, *(np.empty(n_runs, np.int64) for _ in range(2)))
    cuts = [n_runs * k // threads for k in range(threads + 1)]

    def share(work):
        return map_on_threads(threads, work, cuts[:-1], cuts[1:])

    def make_lists() -> list[core.RunGroup]:
        share(lambda a, b: list_runs(values, scale, a, b, runs))
        return share(lambda a, b: core.merge_open(*open_rows(runs, a, b)))

    def count_remaining(bounds: NDArray[np.int32]) -> NDArray[np.int64]:
        remaining = np.empty((n_runs, 2), np.int64)
        share(lambda a, b: _count_remaining(runs, bounds, a, b, remaining))
        return remaining

    def write_remaining(layout: NDArray[np.int64], columns: core.Columns) -> None:
        share(lambda a, b: _write_remaining(runs, layout, a, b, *columns))

    device = core.DeviceRuns(n_runs, RUN, make_lists, count_remaining, write_remaining)
    return core.maximal_segments(device)
