"""Operations on rows of cells, column c of lane l at c * lanes + l; compiled into the sweeps."""

from __future__ import annotations

import numpy as np

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd


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
def column_of(row, drop, final, span, score, carry, lanes):
    """Return the smallest column that ends with `score`."""
    columns = len(row) // lanes
    for lane in range(lanes):
        carried = np.int64(carry[lane])
        for column in range(span[0] // lanes, span[1] // lanes):
            k = column * lanes + lane
            here = max(np.int64(row[k]), carried)
            if final[k] == 1 and here + np.int64(drop[k]) == score:
                return lane * columns + column
    return -1
