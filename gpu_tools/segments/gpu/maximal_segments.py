"""All maximal scoring segments on GPUs: a thread makes Ruzzo and Tompa's list of a run of values.

The host merges the lists of all runs (`gpu_tools.segments.maximal`). The lists of neighbouring runs
lie side by side in memory, so that the threads of a warp read and write whole lines.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numba import cuda, int64
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.dispatch import map_gpus
from gpu_tools.hardware.gpu.intrinsics.words import kernel
from gpu_tools.segments import recurrence as core
from gpu_tools.segments.maximal import RunSegments, merge_runs

RUN = 16 if simulated() else 1 << 12
SLOTS = RUN // 2
"""Segments that a run can have: a value that is not positive lies between two of them."""
THREADS = 4 if simulated() else 64
VALUES_PER_LAUNCH = RUN * (8 if simulated() else 1 << 14)
"""Values that are on a GPU at a time: their lists take ten times the memory of 32-bit values."""

to_units = cuda.jit(device=True)(core.to_units)
push = cuda.jit(device=True)(core.push)


@kernel()
def list_runs_thread(values, scale, prefix, lists, counts, totals):
    """List the maximal segments of one run a thread.

    Parameters
    ----------
    values : array of int32, int64, float32 or float64
    scale : int64 or float64
    prefix : int64 array, shape (RUN + 1, runs)
        Filled with the sums before each value of a run and after the last one.
    lists : int16 array, shape (3, SLOTS, runs)
        Filled with starts and ends, which count from the start of the run, and links.
    counts, totals : int64 array, shape (runs,)
        Filled with the number of segments and the sum of each run.
    """
    run = cuda.grid(1)
    if run >= len(counts):
        return
    sums, begin = prefix[:, run], int64(run) * RUN
    starts, ends, links = lists[0, :, run], lists[1, :, run], lists[2, :, run]
    total, count = int64(0), 0
    sums[0] = 0
    for k in range(min(RUN, len(values) - begin)):
        value = to_units(values[begin + k], scale)
        total += value
        sums[k + 1] = total
        if value > 0:
            count = push(sums, starts, ends, links, count, k, k + 1)
    counts[run], totals[run] = count, total


@kernel()
def collect_runs_thread(prefix, lists, counts, firsts, positions, sums):
    """Write the segments of one run a thread to the columns of all runs.

    Parameters
    ----------
    prefix, lists, counts
        As `list_runs_thread` fills them.
    firsts : int64 array, shape (runs,)
        Where the segments of a run begin in the columns.
    positions : int32 array, shape (2, k)
        Filled with starts and ends.
    sums : int64 array, shape (2, k)
        Filled with the sums before and after each segment.
    """
    run = cuda.grid(1)
    if run >= len(counts):
        return
    for k in range(counts[run]):
        at, start, end = firsts[run] + k, lists[0, k, run], lists[1, k, run]
        positions[0, at], positions[1, at] = start, end
        sums[0, at], sums[1, at] = prefix[start, run], prefix[end, run]


def list_runs(values, scale) -> RunSegments:
    """Return the segments of the runs of an array that lies on the current GPU."""
    runs = -(-len(values) // RUN)
    prefix = cuda.device_array((RUN + 1, runs), np.int64)
    lists = cuda.device_array((3, SLOTS, runs), np.int16)
    on_gpu, totals = cuda.device_array(runs, np.int64), cuda.device_array(runs, np.int64)
    grid = -(-runs // THREADS)
    list_runs_thread[grid, THREADS](values, scale, prefix, lists, on_gpu, totals)
    counts = on_gpu.copy_to_host()
    firsts, found = np.cumsum(counts) - counts, int(counts.sum())
    # an array on a GPU cannot be empty
    positions = cuda.device_array((2, max(found, 1)), np.int32)
    sums = cuda.device_array((2, max(found, 1)), np.int64)
    collect_runs_thread[grid, THREADS](
        prefix, lists, on_gpu, cuda.to_device(firsts), positions, sums
    )
    columns = (*positions.copy_to_host()[:, :found], *sums.copy_to_host()[:, :found])
    return RunSegments(RUN, firsts, counts, totals.copy_to_host(), *columns)


def _list_share(values: NDArray, scale) -> list[RunSegments]:
    """Return the segments of the runs of a share of the values, by what a launch holds."""
    return [
        list_runs(cuda.to_device(values[first : first + VALUES_PER_LAUNCH]), scale)
        for first in range(0, len(values), VALUES_PER_LAUNCH)
    ]


def maximal(
    values: NDArray, scale, ordinals: tuple[int, ...], threads: int = 1
) -> tuple[NDArray[np.int64], ...]:
    """Return starts, ends and sums in units of all maximal scoring segments, in order.

    Parameters
    ----------
    values : array of int32, int64, float32 or float64
    scale : int64 or float64
    ordinals : tuple of int
        GPUs; each takes an equal share of the values.
    threads : int
        Threads of the CPU that merge the lists of runs.

    Returns
    -------
    tuple of int64 arrays
    """
    runs = -(-len(values) // RUN)
    bounds = [RUN * (runs * k // len(ordinals)) for k in range(len(ordinals) + 1)]
    shares = [values[a:b] for a, b in pairwise(bounds)]
    found = map_gpus(ordinals, lambda share: _list_share(share, scale), shares)
    return merge_runs([part for parts in found for part in parts], threads)
