"""Bounds on local scores, tile by tile, from a window of the matrix.

What comes into a window across its top and left border is known only within bounds: at least
nothing, at most the upper bounds of the tiles there. Two sweeps carry the one and the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools import simd
from gpu_tools.local import cpu
from gpu_tools.local.forbidden import ForbiddenPairs
from gpu_tools.local.problem import Problem


class TileBounds(NamedTuple):
    """Of each tile of a window, shape (tiles down, tiles across).

    `lower` and `upper` bound its largest score; `end` and `possible` are the first cell of the last
    tile, by row, then column, that has its lower and its upper bound, as row * columns of the
    matrix + column, or -1 if that is less than asked for. Where bounds and cells agree, both are
    exact.
    """

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    end: int
    possible: int


def bound_window(
    problem: Problem,
    window: tuple[int, int, int, int],
    tile: int,
    border: tuple[NDArray[np.int64], NDArray[np.int64]],
    forbidden: ForbiddenPairs,
) -> TileBounds:
    """Bound the scores of a window's tiles.

    Parameters
    ----------
    problem : Problem
    window : tuple of int
        First and end row, first and end column; it begins at a tile's corner.
    tile : int
        Side of a tile, a power of two.
    border : tuple of ndarray
        Upper bounds of the cells above the window, from its left corner on (columns + 1), and of
        those left of it (rows).
    forbidden : ForbiddenPairs

    Returns
    -------
    TileBounds
    """
    narrow = is_narrow(problem, window, border)
    costs = cpu.costs_of(problem, np.dtype(np.int16 if narrow else np.int32))
    used, nothing = (forbidden.rows, forbidden.columns), tuple(map(np.zeros_like, border))
    lower, end = fill(problem, window, (tile, 1), nothing, used, costs)
    upper, possible = fill(problem, window, (tile, 1), border, used, costs)
    return TileBounds(lower, upper, end, possible)


@njit(cache=True, nogil=True)
def is_narrow(problem, window, border):
    """Tell whether 16 bits hold all scores of a window."""
    top, bottom, left, right = window
    steepest = max(np.abs(problem.table).max(), problem.gap_open)
    largest = max(border[0].max(), border[1].max())
    largest += min(bottom - top, right - left) * max(problem.table.max(), 0)
    return largest + steepest < np.iinfo(np.int16).max


@njit(cache=True, nogil=True)
def fill(problem, window, asked, border, used, costs):
    """Return the largest score of each tile, and the first cell that has the last one's.

    `asked` is the side of a tile, and from which score on the last one's first cell is looked for;
    the cell is -1 if there is none. `costs` are of a type wide enough.
    """
    weights, (tile, least) = costs.weights, asked
    top, bottom, left, right = window
    lanes, zero = simd.VECTOR_BYTES // weights.itemsize, np.int64(weights[cpu.ZERO])
    down, across = -(-(bottom - top) // tile), -(-(right - left) // tile)
    block = cpu.block_of(right - left, lanes, tile)
    stripe = lanes * block
    width = -(-(right - left) // stripe) * stripe
    symbols = cpu.reversed_symbols(problem.query[top:bottom], weights)
    above = np.full(width + 1, weights[cpu.ZERO], weights.dtype)
    above[: right - left + 1] = border[0] + zero
    beside = (border[1] + zero).astype(weights.dtype)
    sides = (beside, beside.copy())
    most = np.full((down, width // block), weights[cpu.ZERO], weights.dtype)
    score, row, column = np.int64(least), np.int64(-1), np.int64(0)
    for first in range(0, width, stripe):
        columns = cpu.lay_out(problem.subject, left + first, block, costs)
        bars = _bars(used, (top, bottom, left + first, right), lanes, block)
        target = (tile, (down - 1) * tile, (across - 1) * tile - first, right - left - first, score)
        blocks = most[:, first // block :]
        over = above[first : first + stripe + 1]
        sides, found = _sweep(symbols, columns, over, sides, bars, weights, blocks, target)
        place = found[1], found[2] + first
        if found[1] >= 0 and (row < 0 or found[0] > score or place < (row, column)):
            score, row, column = found[0], place[0], place[1]
    largest = np.zeros((down, across), np.int64)
    for i in range(down):
        for j in range(min(most.shape[1], across * (tile // block))):
            at = j * block // tile
            largest[i, at] = max(largest[i, at], most[i, j] - zero)
    return largest, (top + row) * len(problem.subject) + left + column if row >= 0 else -1


@njit(cache=True, nogil=True)
def _bars(used, window, lanes, block):
    """Return positions of a stripe's forbidden pairs by step, and where each step's begin."""
    f_rows, f_columns = used
    top, bottom, left, right = window
    begin, end = np.searchsorted(f_rows, top), np.searchsorted(f_rows, bottom)
    right = min(right, left + lanes * block)
    begins = np.zeros(bottom - top + lanes + 1, np.int64)
    for k in range(begin, end):
        if left <= f_columns[k] < right:
            begins[f_rows[k] - top + (f_columns[k] - left) // block + 1] += 1
    begins = np.cumsum(begins)
    positions, filled = np.empty(begins[-1], np.int64), begins.copy()
    for k in range(begin, end):
        if left <= f_columns[k] < right:
            lane, within = divmod(f_columns[k] - left, block)
            step = f_rows[k] - top + lane
            positions[filled[step]] = within * lanes + lane
            filled[step] += 1
    return begins, positions


@njit(cache=True, nogil=True)
def _sweep(symbols, columns, above, sides, bars, weights, most, target):
    """Sweep a stripe of a window, as `gpu_tools.local.cpu` does, with what lies around it.

    `target` is the side of a tile, the first row and the first and end column of the last tile, and
    the score from which on it is of interest. Returned are the best scores and gaps of the last
    column, and the target's largest score, its row and column, the first by row, then column; the
    row is -1 if the score is less.
    """
    begins, positions = bars
    tile, target_row, target_first, target_end, least = target
    lanes = simd.VECTOR_BYTES // weights.itemsize
    size = len(above) - 1
    block, rows, zero = size // lanes, len(sides[0]), weights[cpu.ZERO]
    largest_of_all, none_has = np.iinfo(weights.dtype).max, np.iinfo(weights.dtype).max - 1
    best, falling = np.full(size, zero, weights.dtype), np.full(size, zero, weights.dtype)
    barred = np.zeros(size, weights.dtype)
    for column in range(max(target_end, 0), size):  # these are not in the window
        barred[column % block * lanes + column // block] = zero
    out_best, out_gap = np.empty_like(sides[0]), np.empty_like(sides[0])
    edge = np.full(3 * lanes, zero, weights.dtype)  # diagonals, last columns' scores and gaps
    largest = np.full(lanes, zero, weights.dtype)
    bar = np.full(lanes, largest_of_all, weights.dtype)  # cells as high as that are looked at
    found, found_row, found_column = weights.dtype.type(min(least + zero, none_has)), -1, 0
    first_lane, end_lane = max(target_first, 0) // block, min(-(-target_end // block), lanes)
    for step in range(rows + lanes - 1):
        if step < lanes:  # the lane begins: what it did before was with nothing
            for c in range(block):
                best[c * lanes + step] = falling[c * lanes + step] = above[step * block + c + 1]
            edge[step], largest[step] = above[step * block], zero
        for lane in range(step & (tile - 1), min(step, lanes), tile):  # those that enter a tile
            if step - lane < rows:
                cpu.close_tile(most, (step - lane) // tile - 1, 0, largest, lane, zero)
        if first_lane <= step - target_row < end_lane:
            bar[step - target_row] = found
        if 0 <= step - rows < lanes:
            lane = step - rows
            cpu.close_tile(most, (rows - 1) // tile, 0, largest, lane, zero)
            bar[lane] = largest_of_all
        begin, end = begins[step], begins[step + 1]
        for k in range(begin, end):
            barred[positions[k]] = zero
        row = simd.load(symbols, rows + lanes - 1 - step)
        beside = min(step, rows - 1)
        left = simd.shift_in(simd.load(edge, lanes), sides[0][beside])
        gap = simd.shift_in(simd.load(edge, 2 * lanes), sides[1][beside])
        state = (simd.load(edge, 0), left, gap)
        last, last_gap, highest = cpu.advance(columns, best, falling, row, state, weights, barred)
        simd.store(edge, 0, left)
        simd.store(edge, lanes, last)
        simd.store(edge, 2 * lanes, last_gap)
        simd.store(largest, 0, simd.maximum(simd.load(largest, 0), highest))
        if step >= lanes - 1:
            out_best[step - lanes + 1] = simd.last_lane(last)
            out_gap[step - lanes + 1] = simd.last_lane(last_gap)
        for k in range(begin, end):
            barred[positions[k]] = 0
        if simd.any_at_most(simd.load(bar, 0), highest):
            for lane in range(first_lane, end_lane):
                if bar[lane] == largest_of_all:
                    continue
                for c in range(block):
                    value, column = best[c * lanes + lane], lane * block + c
                    if value < bar[lane] or not target_first <= column < target_end:
                        continue
                    before = found_row < 0 or (step - lane, column) < (found_row, found_column)
                    if value > found or before:
                        found, found_row, found_column = value, step - lane, column
            for lane in range(first_lane, end_lane):
                if bar[lane] != largest_of_all:
                    bar[lane] = found
    cpu.close_tile(most, (rows - 1) // tile, 0, largest, lanes - 1, zero)
    return (out_best, out_gap), (np.int64(found) - np.int64(zero), found_row, found_column)
