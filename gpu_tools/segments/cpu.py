"""Segments and submatrices on a CPU: threads share the tiles, runs, or pairs of lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from numba import int64
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.segments import runs as core
from gpu_tools.segments import submatrix
from gpu_tools.segments.runs import COUNT, END, FIRST, HIGH, LOW, START
from gpu_tools.segments.submatrix import Oriented, Tile

# The best segment and all maximal segments on a CPU; threads share the tiles or runs.


Result = TypeVar("Result")
TILE = 1 << 12
"""Values of a tile; the tile that holds the best segment is read twice."""
RUN = 1 << 13
"""Values of a run, for which Ruzzo and Tompa's list is made."""
SLOTS = RUN // 2
"""Segments that a run can have: a value that is not positive lies between two of them."""


@njit(cache=True, nogil=True)
def summarise(values, scale, first, last, summaries):
    """Write the summaries of the tiles `first` to ``last - 1``."""
    for tile in range(first, last):
        total, prefix, suffix, best = int64(0), int64(0), int64(0), int64(0)
        for k in range(tile * TILE, min((tile + 1) * TILE, len(values))):
            value = core.to_units(values[k], scale)
            total, prefix, suffix, best = core.extend(total, prefix, suffix, best, value)
        four = total, prefix, suffix, best
        for k in range(4):
            summaries[tile, k] = four[k]


def summaries(values: NDArray, scale, threads: int) -> NDArray[np.int64]:
    """Return the summary of every tile, shape (tiles, 4)."""
    found = np.empty((-(-len(values) // TILE), 4), dtype=np.int64)
    _share(threads, len(found), lambda a, b: summarise(values, scale, a, b, found))
    return found


def _share(threads: int, count: int, work: Callable[[int, int], Result]) -> list[Result]:
    """Call a function for a range of tiles or runs on each thread."""
    cuts = [count * k // threads for k in range(threads + 1)]
    return map_on_threads(threads, work, cuts[:-1], cuts[1:])


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
            value = core.to_units(values[begin + k], scale)
            if value > 0:
                count = core.push(lists, count, (k, k + 1, total, total + value))
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
        core.mark_open(lows, highs, runs.counts[run], total, marks)
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
        starts = runs.starts[run, : runs.counts[run]]
        remaining[run, FIRST] = simd.first_from(starts, bounds[run, 0])
        remaining[run, COUNT] = simd.first_from(starts, bounds[run, 1]) - remaining[run, FIRST]


@njit(cache=True, nogil=True)
def _write_remaining(runs, layout, first, last, starts, ends, sums):
    """Write the segments of the runs that lie in no crossing one to their places."""
    for run in range(first, last):
        own, count, at = layout[run]
        for k in range(own, own + count):
            starts[at], ends[at] = run * RUN + runs.starts[run, k], run * RUN + runs.ends[run, k]
            sums[at] = runs.highs[run, k] - runs.lows[run, k]
            at += 1


def best_segment(values: NDArray, scale, threads: int) -> tuple[int, int, int] | None:
    """Return start, end and sum of the best segment, None if no sum is positive."""
    return core.locate(values, scale, summaries(values, scale, threads), TILE)


def maximal(values: NDArray, scale, threads: int) -> core.Columns:
    """Return starts, ends and sums of all maximal scoring segments, in order."""
    n_runs = -(-len(values) // RUN)
    slots = [np.empty((n_runs, SLOTS), kind) for kind in 2 * [np.int32] + 2 * [np.int64]]
    runs = RunSegments(*slots, *(np.empty(n_runs, np.int64) for _ in range(2)))
    share = partial(_share, threads, n_runs)

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


# The maximum submatrix on a CPU: a vector's lanes are pairs of lines with neighbouring upper ones.
#
# Prefix sums lie in *panels*, the neighbouring line indices of two vectors, step by step, so that a
# pair of panels is read straight through.


GROUP = 4
"""Lower lines that are paired with a panel in one pass."""
STEPS_AT_ONCE = 256
"""Steps whose prefix sums are made at a time."""


def _units(oriented: Oriented, scale) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield the values in units, `STEPS_AT_ONCE` at a time, with the index of the first step."""
    for first in range(0, oriented.n_steps, STEPS_AT_ONCE):
        values = oriented.steps[first : first + STEPS_AT_ONCE]
        yield first, (values * scale).astype(np.int64)


def cell_type(oriented: Oriented, scale) -> np.dtype:
    """Return int32 if no sum of neighbouring values can overflow it, else int64."""
    both = [
        (units.clip(0).sum(), units.clip(None, 0).sum()) for _, units in _units(oriented, scale)
    ]
    positive, negative = np.sum(both, axis=0)
    return np.dtype(np.int32 if max(positive, -negative) < submatrix.LIMIT_INT32 else np.int64)


def panels_of(oriented: Oriented, scale) -> NDArray:
    """Return the prefix sums across the lines, shape (panels, steps, two vectors).

    Indices behind the last line hold the step's smallest sum, so that nothing gains by them.
    """
    dtype, last = cell_type(oriented, scale), oriented.n_lines
    width = 2 * simd.VECTOR_BYTES // dtype.itemsize
    n_panels = last // width + 1
    panels = np.empty((n_panels, oriented.n_steps, width), dtype)
    for first, units in _units(oriented, scale):
        prefix = np.zeros((len(units), n_panels * width), np.int64)
        np.cumsum(units, axis=1, out=prefix[:, 1 : last + 1])
        prefix[:, last + 1 :] = prefix.min(axis=1, keepdims=True)
        by_panel = prefix.reshape(len(units), n_panels, width).transpose(1, 0, 2)
        panels[:, first : first + len(units)] = by_panel
    return panels


@njit(nogil=True)
def _largest_lane(vector, scratch):
    simd.store(scratch, 0, vector)
    return scratch.max()


@njit(nogil=True)
def group_best(low, first, high, scratch):
    """Return the largest sum of the pairs of `GROUP` lower lines with a later panel's lines."""
    # low, high (steps, two vectors): panels
    # first: column of the group's first line in `low`
    # scratch: one vector
    zero = simd.splat(scratch.dtype.type(0))
    a0, b0, c0, d0, a1, b1, c1, d1 = zero, zero, zero, zero, zero, zero, zero, zero
    best0, best1 = zero, zero
    width, half = low.shape[1], low.shape[1] // 2
    for step in range(low.shape[0]):
        at = step * width
        high0, high1 = simd.load(high, at), simd.load(high, at + half)
        # subtracting by adding the negative: the vectors know addition only
        a = simd.splat(scratch.dtype.type(-low[step, first]))
        b = simd.splat(scratch.dtype.type(-low[step, first + 1]))
        c = simd.splat(scratch.dtype.type(-low[step, first + 2]))
        d = simd.splat(scratch.dtype.type(-low[step, first + 3]))
        a0 = simd.maximum(simd.add(a0, simd.add(high0, a)), zero)
        a1 = simd.maximum(simd.add(a1, simd.add(high1, a)), zero)
        b0 = simd.maximum(simd.add(b0, simd.add(high0, b)), zero)
        b1 = simd.maximum(simd.add(b1, simd.add(high1, b)), zero)
        c0 = simd.maximum(simd.add(c0, simd.add(high0, c)), zero)
        c1 = simd.maximum(simd.add(c1, simd.add(high1, c)), zero)
        d0 = simd.maximum(simd.add(d0, simd.add(high0, d)), zero)
        d1 = simd.maximum(simd.add(d1, simd.add(high1, d)), zero)
        best0 = simd.maximum(simd.maximum(best0, simd.maximum(a0, b0)), simd.maximum(c0, d0))
        best1 = simd.maximum(simd.maximum(best1, simd.maximum(a1, b1)), simd.maximum(c1, d1))
    return _largest_lane(simd.maximum(best0, best1), scratch)


@njit(nogil=True)
def group_best_within(panel, first, scratch):
    """Return the same for a group and its own panel, where only lanes behind the line count."""
    zero = simd.splat(scratch.dtype.type(0))
    one = simd.splat(scratch.dtype.type(1))
    best = zero
    width, half = panel.shape[1], panel.shape[1] // 2
    for member in range(first, first + GROUP):
        for vector in range(2):
            for lane in range(half):
                scratch[lane] = 1 if vector * half + lane > member else 0
            behind = simd.load(scratch, 0)
            running = zero
            for step in range(panel.shape[0]):
                low = simd.splat(scratch.dtype.type(-panel[step, member]))
                gain = simd.add(simd.load(panel, step * width + vector * half), low)
                gain = simd.where_equal(behind, one, gain, zero)
                running = simd.maximum(simd.add(running, gain), zero)
                best = simd.maximum(best, running)
    return _largest_lane(best, scratch)


@njit(cache=True, nogil=True)
def panel_bests(panels, upper, bests):
    """Write the largest sums of all groups with the panel `upper`, shape (groups, panels)."""
    width = panels.shape[2]
    scratch = np.empty(width // 2, panels.dtype)
    high = panels[upper]
    for panel in range(upper):
        low = panels[panel]
        for first in range(0, width, GROUP):
            bests[(panel * width + first) // GROUP, upper] = group_best(low, first, high, scratch)
    for first in range(0, width, GROUP):
        group = (upper * width + first) // GROUP
        bests[group, upper] = group_best_within(high, first, scratch)


def best_rectangle(
    oriented: Oriented, scale, threads: int
) -> tuple[int, tuple[int, int, int, int]] | None:
    """Return the largest sum and the first rectangle that has it; None if no sum is positive."""
    panels = panels_of(oriented, scale)
    n_panels, _, width = panels.shape
    bests = np.zeros((n_panels * width // GROUP, n_panels), panels.dtype)
    # the last panel has the most pairs, so it comes first
    uppers = reversed(range(n_panels))
    map_on_threads(threads, lambda upper: panel_bests(panels, upper, bests), uppers)
    best = int(bests.max())
    if best <= 0:
        return None
    found = np.argwhere(bests == best).tolist()
    tiles = (_tile(panels, group, upper) for group, upper in found)
    return best, submatrix.first_rectangle(tiles, oriented, best)


def _tile(panels: NDArray, group: int, upper: int) -> Tile:
    """Return a group of lower lines and the lines of the panel `upper`."""
    panel, first = divmod(group * GROUP, panels.shape[2])
    lows = panels[panel, :, first : first + GROUP].astype(np.int64)
    highs = panels[upper].astype(np.int64)
    return Tile(group * GROUP, lows, upper * panels.shape[2], highs)
