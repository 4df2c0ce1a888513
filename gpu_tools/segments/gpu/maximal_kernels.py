"""Kernels of all maximal scoring segments: a thread has a run of neighbouring values.

Arrays that the kernels share hold the lists of all runs. A column is a run, so that the lists of
neighbouring runs lie side by side and the threads of a warp read and write whole lines.

lists : int16 array, shape (3, SLOTS, runs)
    Starts and ends, which count from the start of the run, and links.
sums : int64 array, shape (2, SLOTS, runs)
    Sums before and after each segment, from the start of the run.
counts : int32 array, shape (runs,)
    How many segments a run has.
"""

from __future__ import annotations

from numba import cuda, int64

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.words import kernel
from gpu_tools.segments import recurrence as core
from gpu_tools.segments.maximal import COUNT, END, FIRST, HIGH, LOW, OFFSET, START

RUN = 16 if simulated() else 1 << 10
SLOTS = RUN // 2
"""Segments that a run can have: a value that is not positive lies between two of them."""
THREADS = 4 if simulated() else 64
TOTAL, OPEN_OFFSET, OPEN_COUNT = range(3)
"""Columns of what is known of a run: its sum, and where its open segments stand in the rows."""

to_units = cuda.jit(device=True)(core.to_units)
push = cuda.jit(device=True)(core.push)
mark_open = cuda.jit(device=True)(core.mark_open)
count_before = cuda.jit(device=True)(core.count_before)


@kernel()
def list_runs_thread(values, scale, first_run, lists, sums, counts, by_run, rows):
    """List the maximal segments of one run a thread, and collect the open ones.

    Parameters
    ----------
    values : array of int32, int64, float32 or float64
    scale : int64 or float64
    first_run : int64
        Column of the first run of the values.
    lists, sums, counts
        Filled.
    by_run : int64 array, shape (runs + 1, 3)
        Filled. The first element of the last row counts the open segments, from 0.
    rows : int64 array, shape (k, 4)
        Filled with the open segments of one run after the other, the runs in any order. Positions
        and sums count from the start of the run. What has no place in it is left out.
    """
    run = cuda.grid(1)
    n_runs = len(by_run) - 1
    if run >= n_runs:
        return
    column, begin = first_run + run, int64(run) * RUN
    starts, ends, links = lists[0, :, column], lists[1, :, column], lists[2, :, column]
    lows, highs = sums[0, :, column], sums[1, :, column]
    total, count = int64(0), 0
    for k in range(min(RUN, len(values) - begin)):
        value = to_units(values[begin + k], scale)
        if value > 0:
            segment = (k, k + 1, total, total + value)
            count = push((starts, ends, lows, highs, links), count, segment)
        total += value
    n_open = mark_open(lows, highs, count, total, links)
    at = cuda.atomic.add(by_run, (n_runs, 0), n_open)
    counts[column] = count
    by_run[run, TOTAL], by_run[run, OPEN_OFFSET], by_run[run, OPEN_COUNT] = total, at, n_open
    if at + n_open > len(rows):
        return
    for k in range(count):
        if links[k]:
            rows[at, START], rows[at, END] = starts[k], ends[k]
            rows[at, LOW], rows[at, HIGH] = lows[k], highs[k]
            at += 1


@kernel()
def count_remaining_thread(lists, counts, bounds, remaining):
    """Count the segments of one run a thread that lie in no crossing segment.

    Parameters
    ----------
    lists, counts
    bounds : int32 array, shape (runs, 2)
        See `gpu_tools.segments.maximal.run_bounds`.
    remaining : int32 array, shape (runs, 2)
        Filled; see `gpu_tools.segments.maximal.ResultLayout`.
    """
    run = cuda.grid(1)
    if run >= len(counts):
        return
    starts, count = lists[0, :, run], counts[run]
    first = count_before(starts, count, bounds[run, 0])
    remaining[run, FIRST] = first
    remaining[run, COUNT] = count_before(starts, count, bounds[run, 1]) - first


@kernel()
def write_runs_thread(lists, sums, layout, runs, found):
    """Write the segments of one run a thread that lie in no crossing segment.

    Parameters
    ----------
    lists, sums
    layout : int64 array, shape (runs + 1, 3)
        Rows of `gpu_tools.segments.maximal.ResultLayout`.
    runs : tuple of int
        The first run, and the one behind the last.
    found : int64 array
        Filled with the positions of all segments of these runs, then with their sums. Positions
        count from the first run, the start in the low 32 bits and the end in the high ones.
    """
    first_run, last_run = runs
    run = first_run + cuda.grid(1)
    if run >= last_run:
        return
    before, begin = layout[first_run, OFFSET], (run - first_run) * int64(RUN)
    size, at = layout[last_run, OFFSET] - before, layout[run, OFFSET] - before
    first = layout[run, FIRST]
    for k in range(first, first + layout[run, COUNT]):
        found[at] = (begin + lists[1, k, run]) << 32 | (begin + lists[0, k, run])
        found[size + at] = sums[1, k, run] - sums[0, k, run]
        at += 1
