"""Strips of target columns in vectors, and operations on their rows of cells.

Column c of lane l is element c * lanes + l.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.model.scoring import N_SYMBOLS, SplicedScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.splicing.recurrence import clipped_chain

_clipped_chain = njit(clipped_chain)


_A = 0


class Strip(NamedTuple):
    """A strip's columns; cells beyond the target have the values of its last column."""

    profile: NDArray  # lifted scores by base symbol
    start: NDArray  # S' of the empty chain
    drop: NDArray  # what turns S' into S, less the cost of the target's end behind the column
    final: NDArray  # 1 where a chain may end
    final_span: tuple[int, int]  # the elements between which all final columns lie


def by_column(rows: NDArray, lanes: int) -> NDArray:
    """Return rows in the order of target columns."""
    count, width = rows.shape
    return rows.reshape(count, width // lanes, lanes).transpose(0, 2, 1).reshape(count, width)


def by_lane(rows, lanes: int, dtype) -> NDArray:
    """Return rows with column c of lane l at c * lanes + l."""
    count, width = rows.shape
    blocked = rows.reshape(count, lanes, width // lanes).transpose(0, 2, 1)
    return np.ascontiguousarray(blocked, dtype=dtype).reshape(count, width)


def lanes_of(dtype) -> int:
    """Return the lanes of a vector."""
    return simd.VECTOR_BYTES // dtype.itemsize


LEAST_TAIL = 10
"""A in a row at a target's end, at least, that count as its poly-A tail.

A cDNA's tail is added to the transcript: the genome does not have it, so leaving it out costs
nothing. Sequence of a gene hardly ever ends so, and shorter stretches cost as any end does.
"""


def kept_symbols(target: NDArray[np.uint8]) -> int:
    """Return how many symbols a target has without its poly-A tail."""
    if (target[-LEAST_TAIL:] != _A).any():
        return len(target)
    others = np.flatnonzero(target != _A)
    kept = int(others[-1]) + 1 if len(others) else 0
    return kept if len(target) - kept >= LEAST_TAIL else len(target)


def empty_score(target: NDArray[np.uint8], scoring: SplicedScoring) -> int:
    """Return the score of a chain that aligns nothing, its exons' and sites' points left out."""
    if scoring.ends == "global":
        return scoring.gap * len(target)
    return max(scoring.gap * kept_symbols(target), -scoring.clip_cost)


@register_jitable
def padded(columns, strips, itemsize):
    """Return the columns, or an array of them, of strips that consist of whole vectors."""
    width = strips * simd.VECTOR_BYTES // itemsize
    return np.maximum(-(-columns // width), 1) * width


def strip_of(target, first: int, width: int, scoring: SplicedScoring, dtype) -> Strip:
    """Return the strip of `width` columns from `first` on."""
    cells, free = aligned_zeros((N_SYMBOLS + 3, width), dtype), scoring.ends != "global"
    profile, columns = cells[:N_SYMBOLS], cells[N_SYMBOLS:]
    clip = scoring.clip_cost, kept_symbols(target)
    fill_strip(profile, *columns, target, first, scoring.lifted, scoring.gap, free, clip)
    span = final_span(first, width, lanes_of(dtype), len(target), free)
    return Strip(profile.ravel(), *columns, span)


@njit(cache=True, nogil=True, error_model="numpy")
def fill_strip(profile, start, drop, final, target, first, lifted, gap, free, clip):
    """Fill in a strip's columns from column `first` of a target on, see `Strip`.

    `clip` is what leaving out an end costs, and the column from which on that costs nothing.
    """
    width, n, (cost, kept) = len(start), len(target), clip
    lanes = simd.lanes_of(start)
    for place in range(width):
        column = first + place % lanes * (width // lanes) + place // lanes
        inside, symbol = min(column, n), OTHER
        if 1 <= column <= n:
            symbol = target[column - 1]
        for k in range(len(profile)):
            profile[k, place] = gap if column > n else lifted[k, symbol]
        start[place] = _clipped_chain(inside, gap, free, cost)
        drop[place] = gap * inside - (cost if inside < kept else 0)
        final[place] = column == n or (free and column < n)


@register_jitable
def final_span(first, width, lanes, columns, free):
    """Return the elements, in whole vectors, between which a strip's final columns lie.

    The strip begins with column `first` of a target of so many; see `Strip.final`.
    """
    each, last = width // lanes, columns - first
    if last < 0 or (last >= width and not free):
        return 0, 0
    if not free:
        return last % each * lanes, (last % each + 1) * lanes
    return 0, min(last + 1, each) * lanes


def aligned(rows: NDArray) -> NDArray:
    """Return rows of whole vectors in memory where each begins at a cache line."""
    made = aligned_zeros(rows.shape, rows.dtype)
    made[:] = rows
    return made


def aligned_zeros(shape: tuple[int, int], dtype) -> NDArray:
    """Return rows of whole vectors, all 0, each beginning at a cache line."""
    return simd.aligned_zeros(shape[0] * shape[1], dtype).reshape(shape)


def aligned_empty(shape: tuple[int, int], dtype) -> NDArray:
    """Return rows of whole vectors, not filled in, each beginning at a cache line."""
    count = shape[0] * shape[1]
    buffer = np.empty(count + simd.VECTOR_BYTES, dtype)
    first = -buffer.ctypes.data % simd.VECTOR_BYTES // buffer.itemsize
    return buffer[first : first + count].reshape(shape)


def aligned_full(shape: tuple[int, int], value: np.integer) -> NDArray:
    """Return rows of whole vectors that hold a value, each beginning at a cache line."""
    made = aligned_zeros(shape, value.dtype)
    made[:] = value
    return made


@njit(nogil=True)
def put(to, to_row, source, source_row, width, lanes, bonus):
    """Set a row to another one plus a bonus."""
    added = simd.splat(to.dtype.type(bonus))
    for k in range(0, width, lanes):
        value = simd.add(simd.load(source, source_row * width + k), added)
        simd.store(to, to_row * width + k, value)


@njit(nogil=True)
def clear(rows, row, floor, lanes):
    """Set all cells of a row to the floor."""
    width = rows.shape[-1]
    for k in range(row * width, (row + 1) * width, lanes):
        simd.store(rows, k, simd.splat(floor))


@njit(nogil=True)
def raise_to(to, to_row, source, source_row, width, lanes, bonus):
    """Raise a row to at least another one plus a bonus."""
    added = simd.splat(to.dtype.type(bonus))
    for k in range(0, width, lanes):
        value = simd.add(simd.load(source, source_row * width + k), added)
        simd.store(to, to_row * width + k, simd.maximum(value, simd.load(to, to_row * width + k)))


@njit(nogil=True)
def lower(to, to_row, source, source_row, width, lanes, bonus, floor):
    """Set a row to another one plus a bonus, but not below the floor."""
    added, low = simd.splat(to.dtype.type(bonus)), simd.splat(floor)
    for k in range(0, width, lanes):
        value = simd.add(simd.load(source, source_row * width + k), added)
        simd.store(to, to_row * width + k, simd.maximum(value, low))


@njit(nogil=True)
def settle(row, carry, lanes):
    """Let the carry join the row."""
    for k in range(0, len(row), lanes):
        simd.store(row, k, simd.maximum(simd.load(row, k), carry))


@njit(nogil=True)
def begin(row, carry, start, bonus, lanes):
    """Let the carry join the row, and exons begin there as the first of a chain."""
    added = simd.splat(row.dtype.type(bonus))
    for k in range(0, len(row), lanes):
        here = simd.maximum(simd.load(row, k), carry)
        simd.store(row, k, simd.maximum(here, simd.add(simd.load(start, k), added)))


@njit(nogil=True)
def advance(row, profile, symbol, diagonal, carry, left, gap, lanes):
    """Compute the next row, each lane for itself; return the vector of the lanes' last columns."""
    gaps = simd.splat(gap)
    offset = symbol * len(row)
    for k in range(0, len(row), lanes):
        up = simd.maximum(simd.load(row, k), carry)
        pair = simd.add(diagonal, simd.load(profile, offset + k))
        left = simd.maximum(simd.maximum(pair, simd.add(up, gaps)), left)
        simd.store(row, k, left)
        diagonal = up
    return left


@njit(nogil=True)
def next_row(row, profile, symbol, gap, floor, lanes):
    """Compute the next row of a nucleotide, with what the lanes carry over to each other."""
    low = simd.splat(floor)
    diagonal = simd.shift_in(simd.load(row, len(row) - lanes), floor)
    last = advance(row, profile, symbol, diagonal, low, low, gap, lanes)
    settle(row, simd.maximum(simd.prefix_maximum(simd.shift_in(last, floor)), low), lanes)


@njit(nogil=True)
def final_score(row, drop, final, span, lowest, carry, lanes):
    """Return the largest S of the columns at which a chain may end."""
    one, best = simd.splat(row.dtype.type(1)), simd.splat(lowest)
    for k in range(span[0], span[1], lanes):
        here = simd.maximum(simd.load(row, k), carry)
        value = simd.add(here, simd.load(drop, k))
        value = simd.where_equal(simd.load(final, k), one, value, best)
        best = simd.maximum(best, value)
    return np.int64(simd.last_lane(simd.prefix_maximum(best)))


@njit(nogil=True, error_model="numpy")
def column_of(row, drop, final, span, score, lanes):
    """Return the smallest column of a settled row that ends with `score`."""
    columns, marks = len(row) // lanes, np.empty(lanes, row.dtype)
    none, wanted = simd.splat(row.dtype.type(0)), simd.splat(row.dtype.type(score))
    found = none
    for k in range(span[0], span[1], lanes):
        value = simd.add(simd.load(row, k), simd.load(drop, k))
        here = simd.where_equal(value, wanted, simd.load(final, k), none)
        found = simd.maximum(found, here)
    simd.store(marks, 0, found)
    for lane in range(lanes):
        for column in range(span[0] // lanes, span[1] // lanes if marks[lane] == 1 else 0):
            k = column * lanes + lane
            if final[k] == 1 and np.int64(row[k]) + np.int64(drop[k]) == score:
                return lane * columns + column
    return -1
