"""Bounds on local scores, tile by tile, from a window of the matrix, and starts of alignments.

What comes into a window across its top and left border is known only within bounds: at least
nothing, at most the upper bounds of the tiles there. Two fills, side by side, carry both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools import simd
from gpu_tools.local import core
from gpu_tools.local.core import NEVER
from gpu_tools.local.forbidden import ForbiddenPairs
from gpu_tools.local.problem import Problem

extended = register_jitable(core.extended)


class TileBounds(NamedTuple):
    """Of each tile of a window, shape (tiles down, tiles across).

    `lower` and `upper` bound its largest score; `ends` and `possible` are the first cell, by row,
    then column, that has the lower and the upper bound, as row * columns of the matrix + column.
    Where bounds and cells agree, both are exact.
    """

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    ends: NDArray[np.int64]
    possible: NDArray[np.int64]


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
        Side of a tile.
    border : tuple of ndarray
        Upper bounds of the cells above the window, from its left corner on (columns + 1), and of
        those left of it (rows).
    forbidden : ForbiddenPairs

    Returns
    -------
    TileBounds
    """
    top, bottom, left, right = window
    shape = (-(-(bottom - top) // tile), -(-(right - left) // tile))
    bounds = TileBounds(*(np.zeros(shape, dtype=np.int64) for _ in range(4)))
    _bound_window(problem, window, tile, border, (forbidden.rows, forbidden.columns), bounds)
    return bounds


@njit(cache=True, nogil=True)
def _bound_window(problem, window, tile, border, forbidden, bounds):
    query, subject, table = problem.query, problem.subject, problem.table
    # unchecked elements below: every index lies between 0 and the window's columns, or is a code
    gap_open, gap_extend = problem.gap_open, problem.gap_extend
    top, bottom, left, right = window
    above, beside = border
    f_rows, f_columns = forbidden
    lower, upper, ends, possible = bounds
    width, columns = len(subject), right - left
    low, low_gap = np.zeros(columns, np.int32), np.zeros(columns, np.int32)
    high, high_gap = above[1:].astype(np.int32), above[1:].astype(np.int32)
    at = np.searchsorted(f_rows, top)
    corner = above[0]
    for row in range(top, bottom):
        while f_rows[at] == row and f_columns[at] < left:
            at += 1
        blocked = f_columns[at] if f_rows[at] == row else -1
        scores = table[query[row]]
        down = (row - top) // tile
        low_diagonal, low_left, low_running = 0, 0, 0
        high_diagonal, high_left, high_running = corner, beside[row - top], beside[row - top]
        corner = high_left
        for across in range(lower.shape[1]):
            first, end = across * tile, min((across + 1) * tile, columns)
            most, place = lower[down, across], ends[down, across]
            most_high, place_high = upper[down, across], possible[down, across]
            for j in range(first, end):
                column = left + j
                low_up, high_up = simd.element(low, j), simd.element(high, j)
                low_down = extended(low_up, simd.element(low_gap, j), gap_open, gap_extend)
                high_down = extended(high_up, simd.element(high_gap, j), gap_open, gap_extend)
                low_running = extended(low_left, low_running, gap_open, gap_extend)
                high_running = extended(high_left, high_running, gap_open, gap_extend)
                low_left = max(0, low_down, low_running)
                high_left = max(0, high_down, high_running)
                if blocked == column:
                    at += 1
                    blocked = f_columns[at] if f_rows[at] == row else -1
                else:
                    score = simd.element(scores, simd.element(subject, column))
                    low_left = max(low_left, low_diagonal + score)
                    high_left = max(high_left, high_diagonal + score)
                low_diagonal, high_diagonal = low_up, high_up
                simd.set_element(low, j, np.int32(low_left))
                simd.set_element(high, j, np.int32(high_left))
                simd.set_element(low_gap, j, np.int32(low_down))
                simd.set_element(high_gap, j, np.int32(high_down))
                if low_left > most:
                    most, place = low_left, row * width + column
                if high_left > most_high:
                    most_high, place_high = high_left, row * width + column
            lower[down, across], ends[down, across] = most, place
            upper[down, across], possible[down, across] = most_high, place_high
        while f_rows[at] == row:
            at += 1


def find_start(
    problem: Problem, end: tuple[int, int], score: int, forbidden: ForbiddenPairs
) -> tuple[int, int]:
    """Return the last row, then column, where an alignment of `score` that ends at `end` begins.

    Parameters
    ----------
    problem : Problem
    end : tuple of (int, int)
        Behind the last pair; no alignment of that score ends in an earlier row, or in the same row
        and an earlier column.
    score : int
        The largest of any alignment that ends there.
    forbidden : ForbiddenPairs

    Returns
    -------
    tuple of (int, int)
        Row and column of the first pair.
    """
    arrays = (forbidden.rows, forbidden.columns)
    row, column = _find_start(problem, end, score, int(problem.table.max()), arrays)
    return int(row), int(column)


@njit(cache=True, nogil=True)
def _find_start(problem, end, score, highest, forbidden):
    """Fill backwards from `end`; what is not above 0, or cannot reach `score`, goes no further.

    A path whose rest from here to the end is worth nothing could end here instead.
    """
    query, subject, table = problem.query, problem.subject, problem.table
    gap_open, gap_extend = problem.gap_open, problem.gap_extend
    f_rows, f_columns = forbidden
    # position c stands for "column c and all to its right up to the end are used"
    best, gap = np.full(end[1] + 1, NEVER, np.int32), np.full(end[1] + 1, NEVER, np.int32)
    best[end[1]] = 0
    lowest, uppermost = end[1], end[1]
    at = np.searchsorted(f_rows, end[0]) - 1
    for row in range(end[0] - 1, -1, -1):
        while f_rows[at] > row or (f_rows[at] == row and f_columns[at] > uppermost):
            at -= 1
        scores = table[query[row]]
        diagonal, running, right = NEVER, NEVER, NEVER
        next_lowest, next_uppermost = end[1] + 1, -1
        column = uppermost
        while column >= 0 and (column >= lowest - 1 or running > 0 or right > 0):
            gap[column] = extended(best[column], gap[column], gap_open, gap_extend)
            running = extended(right, running, gap_open, gap_extend)
            value = max(gap[column], running)
            blocked = f_rows[at] == row and f_columns[at] == column
            if blocked:
                at -= 1
            elif diagonal > NEVER:
                value = max(value, diagonal + scores[subject[column]])
            diagonal = best[column]
            if value == score:
                return row, column
            if value <= 0 or value + highest * min(row, column) < score:
                value = NEVER
            if gap[column] <= 0:
                gap[column] = NEVER
            best[column] = value
            right = value
            if value > 0 or gap[column] > 0:
                next_lowest = min(next_lowest, column)
                next_uppermost = max(next_uppermost, column)
            column -= 1
        if next_uppermost < 0:
            break
        lowest, uppermost = next_lowest, next_uppermost
    return -1, -1
