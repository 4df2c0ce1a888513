"""All maximal scoring segments on a CPU: Ruzzo and Tompa's list for each run of values."""

from __future__ import annotations

import numpy as np
from numba import int64, njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.segments import recurrence as core
from gpu_tools.segments.maximal import RunSegments, merge_runs, push

RUN = 1 << 13
SLOTS = RUN // 2
"""Segments that a run can have: a value that is not positive lies between two of them."""

to_units = register_jitable(core.to_units)


@njit(cache=True, nogil=True)
def list_runs(values, scale, first, last, runs):
    """List the maximal segments of the runs `first` to ``last - 1``.

    Parameters
    ----------
    values : array of int32, int64, float32 or float64
    scale : int64 or float64
    first, last : int
    runs : RunSegments
        Filled, but for `RunSegments.firsts`.
    """
    prefix = np.empty(RUN + 1, np.int64)
    starts, ends = np.empty(SLOTS + 1, np.int32), np.empty(SLOTS + 1, np.int32)
    links = np.empty(SLOTS + 1, np.int32)
    for run in range(first, last):
        begin, end = run * RUN, min((run + 1) * RUN, len(values))
        total, count = int64(0), 0
        prefix[0] = 0
        for k in range(end - begin):
            value = to_units(values[begin + k], scale)
            total += value
            prefix[k + 1] = total
            if value > 0:
                count = push(prefix, starts, ends, links, count, k, k + 1)
        runs.counts[run], runs.totals[run] = count, total
        for k in range(count):
            at = run * SLOTS + k
            runs.starts[at], runs.ends[at] = starts[k], ends[k]
            runs.lows[at], runs.highs[at] = prefix[starts[k]], prefix[ends[k]]


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
    # as many slots for each run as it can need: memory that stays empty is never taken
    columns = [np.empty(n_runs * SLOTS, dtype) for dtype in 2 * [np.int32] + 2 * [np.int64]]
    counts, totals = np.empty(n_runs, np.int64), np.empty(n_runs, np.int64)
    runs = RunSegments(RUN, np.arange(n_runs) * SLOTS, counts, totals, *columns)
    bounds = [n_runs * k // threads for k in range(threads + 1)]
    map_on_threads(
        threads, lambda a, b: list_runs(values, scale, a, b, runs), bounds[:-1], bounds[1:]
    )
    return merge_runs([runs], threads)
