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

_NO_LANE = 1 << 30


class TileBounds(NamedTuple):
    """Of each tile of a window, shape (tiles down, tiles across).

    `lower` and `upper` bound its largest score; `end` and `possible` are the first cell of the last
    tile, by row, then column, that has its lower and its upper bound, as row * columns of the
    matrix + column. Where bounds and cells agree, both are exact.
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
    top, bottom, left, right = window
    largest = max(int(border[0].max()), int(border[1].max(initial=0)))
    largest += min(bottom - top, right - left) * max(int(problem.table.max()), 0)
    steepest = max(int(np.abs(problem.table).max()), problem.gap_open)
    narrow = largest + steepest < np.iinfo(np.int16).max
    sweep = _Window(problem, window, tile, forbidden, np.dtype(np.int16 if narrow else np.int32))
    nothing = np.zeros_like(border[0]), np.zeros_like(border[1])
    lower, end = sweep.fill(nothing)
    upper, possible = sweep.fill(border)
    return TileBounds(lower, upper, end, possible)


class _Window:
    """A window, laid out for vectors of `dtype`; see `bound_window`."""

    def __init__(self, problem: Problem, window, tile: int, forbidden: ForbiddenPairs, dtype):
        self.problem, self.window, self.dtype = problem, window, dtype
        top, bottom, left, right = window
        self.lanes = simd.VECTOR_BYTES // dtype.itemsize
        self.tile = min(tile, 1 << max(bottom - top, right - left, 1).bit_length())
        self.block = cpu.block_of(right - left, self.lanes, self.tile)
        self.stripes = range(left, right, self.lanes * self.block)
        self.symbols = cpu.reversed_symbols(problem.query[top:bottom], dtype)
        self.weights = cpu.weights_of(problem, dtype)
        self.columns = [cpu.lay_out(problem, first, self.block, dtype) for first in self.stripes]
        self.bars = [self._bars(first, forbidden) for first in self.stripes]

    def _bars(self, first: int, forbidden: ForbiddenPairs) -> tuple[NDArray, NDArray]:
        """Return steps and positions of a stripe's forbidden pairs by step, then one of never."""
        top, bottom, _, right = self.window
        begin, end = np.searchsorted(forbidden.rows, (top, bottom))
        rows, columns = forbidden.rows[begin:end] - top, forbidden.columns[begin:end] - first
        width = min(right - first, self.lanes * self.block)
        inside = (columns >= 0) & (columns < width)
        lanes, within = np.divmod(columns[inside], self.block)
        steps, positions = rows[inside] + lanes, within * self.lanes + lanes
        order = np.argsort(steps, kind="stable")
        return np.append(steps[order], _NO_LANE), np.append(positions[order], 0)

    def fill(self, border) -> tuple[NDArray[np.int64], int]:
        """Return the largest score of each tile, and the first cell that has the last one's."""
        top, bottom, left, right = self.window
        zero, tile = int(np.iinfo(self.dtype).min), self.tile
        down, across = (-(-n // tile) for n in (bottom - top, right - left))
        width = len(self.stripes) * self.lanes * self.block
        most = np.full((down, width // self.block), zero, dtype=self.dtype)
        above = np.full(width + 1, zero, dtype=self.dtype)
        above[: right - left + 1] = border[0] + zero
        beside = (border[1] + zero).astype(self.dtype)
        sides = beside, beside.copy()
        best, last = (0, 0, 0), ((down - 1) * tile, (across - 1) * tile, right - left)
        for number, columns in enumerate(self.columns):
            first = number * self.lanes * self.block
            sides, found = _sweep(
                self.symbols, columns, above[first : first + self.lanes * self.block + 1], sides,
                self.bars[number], self.weights, most[:, first // self.block :],
                (tile, last[0], last[1] - first, last[2] - first),
            )  # fmt: skip
            best = min(best, (-found[0], found[1], found[2] + first))
        blocks = np.full((down, across * (tile // self.block)), zero, dtype=self.dtype)
        taken = min(blocks.shape[1], most.shape[1])
        blocks[:, :taken] = most[:, :taken]
        largest = blocks.reshape(down, across, -1).max(axis=2).astype(np.int64) - zero
        if not best[0]:
            return largest, 0
        return largest, (top + best[1]) * self.problem.shape[1] + left + best[2]


@njit(cache=True, nogil=True)
def _sweep(symbols, columns, above, sides, bars, weights, most, target):
    """Sweep a stripe of a window, as `gpu_tools.local.cpu` does, with what lies around it.

    `target` is the side of a tile, the first row and the first and end column of the last tile.
    Returned are the best scores and gaps of the last column, and the target's largest score, its
    row and column, the first by row, then column.
    """
    steps, positions = bars
    tile, target_row, target_first, target_end = target
    lanes = simd.VECTOR_BYTES // weights.itemsize
    size = len(above) - 1
    block, rows, zero = size // lanes, len(sides[0]), weights[cpu.ZERO]
    largest_of_all = np.iinfo(weights.dtype).max
    best, falling = np.full(size, zero, weights.dtype), np.full(size, zero, weights.dtype)
    barred = np.zeros(size, weights.dtype)
    for column in range(max(target_end, 0), size):  # these are not in the window
        barred[column % block * lanes + column // block] = zero
    out_best, out_gap = np.empty_like(sides[0]), np.empty_like(sides[0])
    edge = np.full(3 * lanes, zero, weights.dtype)  # diagonals, last columns' scores and gaps
    largest = np.full(lanes, zero, weights.dtype)
    bar = np.full(lanes, largest_of_all, weights.dtype)  # cells as high as that are looked at
    found, found_row, found_column = zero, 0, 0
    first_lane, end_lane = max(target_first, 0) // block, min(-(-target_end // block), lanes)
    at = 0
    for step in range(rows + lanes - 1):
        if step < lanes:  # the lane begins: what it did before was with nothing
            for c in range(block):
                best[c * lanes + step] = falling[c * lanes + step] = above[step * block + c + 1]
            edge[step], largest[step] = above[step * block], zero
        for lane in range(step % tile, min(step, lanes), tile):  # those that enter a tile
            if step - lane < rows:
                cpu.close_tile(most, (step - lane) // tile - 1, 0, largest, lane, zero)
        if first_lane <= step - target_row < end_lane:
            bar[step - target_row] = max(found, zero + 1)
        if 0 <= step - rows < lanes:
            lane = step - rows
            cpu.close_tile(most, (rows - 1) // tile, 0, largest, lane, zero)
            bar[lane] = largest_of_all
        begin = at
        while steps[at] == step:
            barred[positions[at]] = zero
            at += 1
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
        for k in range(begin, at):
            barred[positions[k]] = 0
        if simd.any_at_most(simd.load(bar, 0), highest):
            for lane in range(first_lane, end_lane):
                if bar[lane] == largest_of_all:
                    continue
                for c in range(block):
                    value, column = best[c * lanes + lane], lane * block + c
                    if value < bar[lane] or not target_first <= column < target_end:
                        continue
                    place, known = (step - lane, column), (found_row, found_column)
                    if value > found or (value == found and place < known):
                        found, found_row, found_column = value, place[0], place[1]
            for lane in range(first_lane, end_lane):
                if bar[lane] != largest_of_all:
                    bar[lane] = found
    cpu.close_tile(most, (rows - 1) // tile, 0, largest, lanes - 1, zero)
    return (out_best, out_gap), (np.int64(found) - np.int64(zero), found_row, found_column)
