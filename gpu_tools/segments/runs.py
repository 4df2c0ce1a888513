"""Values as whole numbers of units, segments of runs of them, and those of all values that follow.

Integers count as units themselves. Floats are cut towards zero to multiples of a power of two, the
smallest one for which no sum can exceed 62 bits. So every sum is exact and has no order: sums are
the same on every device and for every number of threads.

The scalar functions are compiled for CPU and GPU. *Positions* are prefix indices: index i stands
before value i, so that the segment (i, j) holds the values i to j - 1 and its sum is
``prefix[j] - prefix[i]``. All sums are in units.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import int64
from numba.extending import register_jitable
from numpy.typing import ArrayLike, NDArray

from gpu_tools.errors import InputError
from gpu_tools.hardware.compiled import njit

SUM_BITS = 62
_LIMIT = 2**63
_LARGEST_EXPONENT = 1023


@dataclass(frozen=True)
class Units:
    """How values become whole numbers: multiplied by 2^`exponent`, or not at all if None."""

    exponent: int | None = None

    @property
    def scale(self) -> np.int64 | np.float64:
        """The factor, of the type that keeps integers integers."""
        return np.int64(1) if self.exponent is None else np.float64(math.ldexp(1, self.exponent))

    def score(self, sum_of_units: int) -> int | float:
        """Return a sum on the scale of the values; see `scores`."""
        return self.scores(np.array([sum_of_units], np.int64))[0].item()

    def scores(self, sums_of_units: NDArray[np.int64]) -> NDArray:
        """Return sums on the scale of the values."""
        if self.exponent is None:
            return sums_of_units
        with np.errstate(over="ignore"):
            scores = np.ldexp(sums_of_units.astype(np.float64), -self.exponent)
        if not np.isfinite(scores).all():
            raise InputError("a sum exceeds 64-bit floats", expected="smaller values")
        return scores


def as_numbers(values: ArrayLike, dimensions: int) -> NDArray:
    """Return values as a C-contiguous array of int32, int64, float32 or float64.

    Arrays of these types, memory-mapped ones too, are not copied.
    """
    array = np.asarray(values)
    if array.ndim != dimensions:
        raise InputError(f"values of {array.ndim} dimensions", expected=f"an array of {dimensions}")
    if array.size == 0:
        raise InputError("no values", expected="at least one number")
    return np.ascontiguousarray(array, dtype=_number_type(array))


def _number_type(array: NDArray) -> np.dtype:
    kind = array.dtype.kind
    if kind not in "biuf":
        raise InputError(f"values of type {array.dtype}", expected="real numbers")
    if kind == "f":
        if array.dtype.itemsize > 8:
            raise InputError(f"values of type {array.dtype}", expected="at most 64 bits")
        return np.dtype(np.float32 if array.dtype.itemsize < 8 else np.float64)
    if array.dtype.kind == "u" and array.dtype.itemsize == 8 and array.max() >= _LIMIT:
        raise InputError("values of 2^63 and more", expected="64-bit signed integers")
    return np.dtype(np.int32 if np.can_cast(array.dtype, np.int32) else np.int64)


def choose_units(values: NDArray) -> Units:
    """Choose units in which no sum of `values` can overflow 64 bits."""
    if values.dtype.kind == "f":
        return _float_units(values)
    if values.dtype.itemsize == 8:
        _check_sums(values)
    return Units()


def _float_units(values: NDArray) -> Units:
    low, high = float(values.min()), float(values.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise _not_finite(values)
    peak = max(-low, high)
    if peak == 0:
        return Units(0)
    exponent = SUM_BITS - math.frexp(peak)[1] - (values.size - 1).bit_length()
    return Units(min(exponent, _LARGEST_EXPONENT))


def _not_finite(values: NDArray) -> InputError:
    first = np.unravel_index(int(np.argmin(np.isfinite(values))), values.shape)
    problem = f"value {values[first]} is not a finite number"
    if len(first) == 1:
        return InputError(problem, position=int(first[0]) + 1)
    return InputError(f"row {first[0] + 1}, column {first[1] + 1}: {problem}")


def _check_sums(values: NDArray[np.int64]) -> None:
    low, high = int(values.min()), int(values.max())
    if max(-low, high) * values.size < _LIMIT:
        return
    for part in (values[values > 0], values[values < 0]):
        # halves of 32 bits, whose sums cannot overflow
        total = (int((part >> 32).sum()) << 32) + int((part & 0xFFFFFFFF).sum())
        if abs(total) >= _LIMIT:
            raise InputError("sums could exceed 64-bit integers", expected="smaller values")


TOTAL, PREFIX, SUFFIX, BEST = range(4)
"""Columns of summaries: sum of a tile, and the largest sums of a beginning, an end and any part."""
START, END, LOW, HIGH = range(4)
"""Columns of rows of segments: first position, the one after the last, sums before and after."""
FIRST, COUNT, OFFSET = range(3)
"""Columns of the layout of all segments; see `maximal_segments`."""


@register_jitable
def to_units(value, scale):
    """Return a value as a whole number of units, cut towards zero; integers have scale 1."""
    return np.int64(value * scale)


# ---- the best segment, from summaries of tiles


@register_jitable
def extend(total, prefix, suffix, best, value):
    """Append one value to a tile and return the four numbers of its summary."""
    total += value
    suffix = max(suffix + value, 0)
    return total, max(prefix, total), suffix, max(best, suffix)


def join_summaries(left, right):
    """Return the summary of two neighbouring runs taken together."""
    return (
        left[0] + right[0],
        max(left[1], left[0] + right[1]),
        max(right[2], right[0] + left[2]),
        max(max(left[3], right[3]), left[2] + right[1]),
    )


@njit(cache=True, nogil=True)
def best_and_start_tile(summaries):
    """Return the largest sum and the first tile in which a segment of that sum begins."""
    best, best_tile = int64(0), 0
    running, running_tile = int64(0), 0
    for tile in range(len(summaries)):
        if summaries[tile, BEST] > best:
            best, best_tile = summaries[tile, BEST], tile
        across = running + summaries[tile, PREFIX]
        if across > best or (across == best and running_tile < best_tile):
            best, best_tile = across, running_tile
        # of ends of equal sum the longer one starts first
        running += summaries[tile, TOTAL]
        if summaries[tile, SUFFIX] > running:
            running, running_tile = summaries[tile, SUFFIX], tile
    return best, best_tile


def _first_in_tile(units: NDArray[np.int64], best: int) -> tuple[int, int | None, int]:
    """Return start, end and missing sum of the first segment of sum `best` that begins in a tile.

    The end is None if it lies behind the tile.
    """
    prefix = np.append(0, np.cumsum(units))
    full = np.flatnonzero(prefix - np.minimum.accumulate(prefix) == best)
    end = int(full[0]) if full.size else None
    start = int(np.argmin(prefix[:end]))
    return start, end, best - int(prefix[-1] - prefix[start])


def locate(
    values: NDArray, scale, summaries: NDArray[np.int64], tile_length: int
) -> tuple[int, int, int] | None:
    """Return start, end and sum of the best segment, the first by start, then the shortest.

    Only the tiles that hold its start and its end are read. None if no sum is positive.
    """
    best, tile = best_and_start_tile(summaries)
    if best <= 0:
        return None

    def units_of(k: int) -> NDArray[np.int64]:
        return (values[k * tile_length : (k + 1) * tile_length] * scale).astype(np.int64)

    start, end, missing = _first_in_tile(units_of(tile), best)
    last = tile
    if end is None:
        last += 1
        while summaries[last, PREFIX] < missing:
            missing -= summaries[last, TOTAL]
            last += 1
        end = int(np.argmax(np.cumsum(units_of(last)) == missing)) + 1
    return tile * tile_length + start, last * tile_length + end, int(best)


# ---- all maximal segments, from Ruzzo and Tompa's list of each run
#
# A segment that is maximal in its run is maximal in all values, unless it is part of one that
# crosses an end of the run. Such a segment starts at one that starts from a smaller sum than every
# later one of its run, and ends at one that ends at a larger sum than every earlier one. These few
# segments are *open*. Ruzzo and Tompa's list is made once more, of the open segments of
# neighbouring runs. What is open in that list is open in the group of all of these runs, so that
# lists of groups are joined in the same way.


@register_jitable
def push(lists, count, segment):
    """Append a segment to Ruzzo and Tompa's list and return the list's new length.

    The segment (start, end, sums before and after) is of positive sum and lies behind all others.
    It is merged with those that it makes part of a longer maximal one.
    """
    # links: for each segment the nearest earlier one that starts from a smaller sum, else -1
    starts, ends, lows, highs, links = lists
    start, end, low, high = segment
    k = count - 1
    while k >= 0 and lows[k] >= low:
        k = links[k]
    while k >= 0 and highs[k] < high:
        start, low, count = starts[k], lows[k], k
        k = links[k]
    starts[count], ends[count] = start, end
    lows[count], highs[count] = low, high
    links[count] = k
    return count + 1


@register_jitable
def mark_open(lows, highs, count, total, marks):
    """Mark the open segments of a run with 1, the others with 0; return the number of open ones.

    Sums before (`lows`) and after the segments (`highs`) count from the run's start.
    """
    found, lowest, leaving = 0, total, count
    for k in range(count - 1, -1, -1):
        marks[k] = 0
        if lows[k] < lowest:
            found, lowest, leaving, marks[k] = found + 1, lows[k], k, 1
    highest = np.int64(0)
    for k in range(leaving):
        if highs[k] > highest:
            found, highest, marks[k] = found + 1, highs[k], 1
    return found


class RunGroup(NamedTuple):
    """Neighbouring runs taken together; sums count from the start of the group."""

    crossing: NDArray[np.int64]  # rows of its maximal segments that cross an end of a run
    opened: NDArray[np.int64]  # rows of its open segments
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
    """Join runs to a group, from the rows of their open segments in order."""
    rows, crosses, is_open = _merge(opened, np.int64(total))
    return RunGroup(rows[crosses], rows[is_open], total)


def join_groups(groups: list[RunGroup]) -> NDArray[np.int64]:
    """Return rows of the segments that cross an end of a run, in order, none within another."""
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
    """Return the part of each run that lies in no crossing segment, shape (runs, 2).

    It begins where a segment that enters the run ends and ends where one that leaves it starts,
    from the start of the run.
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


Columns = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""Starts, ends and sums of segments."""


class DeviceRuns(NamedTuple):
    """The runs of all values and their lists of segments on a device."""

    n_runs: int
    length: int  # values of a run
    # list the segments of all runs
    make_lists: Callable[[], list[RunGroup]]
    # for `run_bounds`: the first segment of each run's list within them, and how many, (runs, 2)
    count_remaining: Callable[[NDArray[np.int32]], NDArray]
    # write these segments to columns, by the rows of a layout: FIRST, COUNT and OFFSET
    write_remaining: Callable[[NDArray[np.int64], Columns], None]


def maximal_segments(runs: DeviceRuns) -> Columns:
    """Return starts, ends and sums of all maximal scoring segments, in order."""
    crossing = join_groups(runs.make_lists())
    bounds = run_bounds(crossing, runs.length, runs.n_runs)
    # a crossing segment stands behind those that remain of the run in which it starts
    leaves = bounds[:, 1] < runs.length
    layout = np.zeros((runs.n_runs + 1, 3), np.int64)  # the last row has the number of segments
    layout[:-1, :OFFSET] = runs.count_remaining(bounds)
    np.cumsum(layout[:-1, COUNT] + leaves, out=layout[1:, OFFSET])
    starts, ends, sums = (np.empty(layout[-1, OFFSET], np.int64) for _ in range(3))
    runs.write_remaining(layout, (starts, ends, sums))
    at = (layout[:-1, OFFSET] + layout[:-1, COUNT])[leaves]
    starts[at], ends[at] = crossing[:, START], crossing[:, END]
    sums[at] = crossing[:, HIGH] - crossing[:, LOW]
    return starts, ends, sums
