"""Where alignments of a known best score run: found backwards from their ends.

A path's score is what it gains before a place and what it gains behind it. The first is no more
than the bound of the tile in which the place lies; so a place from which the end is reached with
too little behind it lies on no such path. Nor is it more than that with which a path comes into the
tile, and what the pairs from there on can add. What is left is a corridor, narrow where scores are
high, because beside a long alignment the bounds are hardly higher than on it.

A *place* (i, j) lies between symbols: i of the query and j of the subject are before it. It lies in
the tile of the cell (i - 1, j - 1), whose pair ends there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.local import core
from gpu_tools.local.core import NEVER
from gpu_tools.local.forbidden import ForbiddenPairs
from gpu_tools.local.problem import Problem

extended = register_jitable(core.extended)


class Corridor(NamedTuple):
    """Rows of places from `top` on, each with its first and its last column.

    Where `last` is less than `first`, a row is empty.
    """

    top: int
    first: NDArray[np.int64]
    last: NDArray[np.int64]


class Bounds(NamedTuple):
    """Upper bounds of tiles' scores, and the side of a tile as a power of two."""

    upper: NDArray[np.int32]
    shift: int


def whole(rows: int, columns: int) -> Corridor:
    """Return the corridor of all places of a matrix."""
    return Corridor(0, np.zeros(rows + 1, np.int64), np.full(rows + 1, columns, np.int64))


def find_start(
    problem: Problem, end: tuple[int, int], score: int, bounds: Bounds, forbidden: ForbiddenPairs
) -> tuple[tuple[int, int], Corridor]:
    """Return the last start of an alignment of `score` that ends at `end`, and the way there.

    Parameters
    ----------
    problem : Problem
    end : tuple of (int, int)
        The place behind the last pair.
    score : int
        The largest of any alignment that ends there.
    bounds : Bounds
    forbidden : ForbiddenPairs

    Returns
    -------
    tuple of (int, int)
        Row and column of the first pair: the last row, then the last column.
    Corridor
        All places of alignments of that score between start and end.
    """
    row, column = end
    start, corridor = _search(problem, (row, row, column, column), score, bounds, forbidden, True)
    if start[0] < 0:  # bounds and scores contradict each other
        raise AssertionError(f"no alignment of score {score} ends at {end}")
    corridor.first[0] = start[1]
    return start, corridor


def find_end(
    problem: Problem, ends: tuple[int, int, int, int], score: int, bounds: Bounds,
    forbidden: ForbiddenPairs,
) -> tuple[int, int] | None:  # fmt: skip
    """Return the first place in a rectangle where an alignment of `score` ends, None if none does.

    Parameters
    ----------
    problem : Problem
    ends : tuple of int
        First and last row, first and last column of the places.
    score : int
        Not less than the score of any alignment.
    bounds : Bounds
    forbidden : ForbiddenPairs

    Returns
    -------
    tuple of (int, int) or None
        The first row, then column.
    """
    start, corridor = _search(problem, ends, score, bounds, forbidden, False)
    if start[0] < 0:
        return None
    arrays = (forbidden.rows, forbidden.columns)
    row, column = _first_end(problem, corridor, ends, score, arrays)
    return (int(row), int(column)) if row >= 0 else None


def _search(problem, ends, score, bounds, forbidden, until_start):
    limits = np.empty(ends[1] + 1, np.int64), np.empty(ends[1] + 1, np.int64)
    arrays = (forbidden.rows, forbidden.columns)
    row, column, top = _backwards(problem, ends, score, bounds, arrays, limits, until_start)
    return (int(row), int(column)), Corridor(int(top), limits[0][top:], limits[1][top:])


@njit(cache=True, nogil=True)
def _of_tile(upper, down, across):
    """Return bounds of a tile's scores, and of the scores with which paths come into it."""
    if down < 0 or across < 0:
        return 0, 0
    entering = 0
    if down:
        entering = max(entering, upper[down - 1, across])
    if across:
        entering = max(entering, upper[down, across - 1])
    if down and across:
        entering = max(entering, upper[down - 1, across - 1])
    return upper[down, across], entering


@njit(cache=True, nogil=True)
def _backwards(problem, ends, score, bounds, forbidden, limits, until_start):
    """Fill in scores from each place to an end; return a start, and the uppermost row.

    The corridor's limits are written, by row. With `until_start` the first start met ends it all.
    """
    query, subject, table = problem.query, problem.subject, problem.table
    gap_open, gap_extend = problem.gap_open, problem.gap_extend
    upper, shift = bounds
    f_rows, f_columns = forbidden
    first_row, last_row, first_column, last_column = ends
    firsts, lasts = limits
    # a gap that is left and entered again has been opened twice
    reopened, steepest = gap_open - gap_extend, max(table.max(), 0)
    width = last_column + 1
    # most columns are never met: each is filled in when it first is
    best, gap = np.empty(width + 1, np.int32), np.empty(width + 1, np.int32)
    best[width], met = NEVER, width
    lowest, highest, start_row, start_column = width, -1, -1, -1
    at = np.searchsorted(f_rows, last_row + 1) - 1
    for row in range(last_row, -1, -1):
        inside = row >= first_row
        begin = max(highest, last_column) if inside else highest
        final = min(lowest - 1, first_column) if inside else lowest - 1
        while f_rows[at] > row or (f_rows[at] == row and f_columns[at] > begin):
            at -= 1
        diagonal = best[begin + 1]
        running, right = NEVER, NEVER
        down = (row - 1) >> shift
        top, left, of_tile, entering = down << shift, width, 0, 0
        lowest, highest = width, -1
        column = begin
        while column >= 0 and (column >= final or running > NEVER or right > NEVER):
            if column < met:
                met, best[column], gap[column] = column, NEVER, NEVER
            if column <= left:
                across = (column - 1) >> shift
                left = across << shift
                of_tile, entering = _of_tile(upper, down, across)
            bound = min(of_tile, entering + steepest * min(row - top, column - left))
            falling = extended(best[column], gap[column], gap_open, gap_extend)
            running = extended(right, running, gap_open, gap_extend)
            falling = falling if falling + reopened + bound >= score else NEVER
            running = running if running + reopened + bound >= score else NEVER
            value = max(falling, running)
            if f_rows[at] == row and f_columns[at] == column:
                at -= 1
            elif diagonal > NEVER:
                value = max(value, diagonal + table[query[row], subject[column]])
            if inside and first_column <= column <= last_column:
                value = max(value, 0)
            value = value if value + bound >= score else NEVER
            diagonal = best[column]
            best[column], gap[column], right = value, falling, value
            if value > NEVER or falling > NEVER or running > NEVER:
                lowest, highest = column, max(highest, column)
            if value == score:
                start_row, start_column = row, column
                if until_start:
                    break
            column -= 1
        firsts[row], lasts[row] = lowest, highest
        if (until_start and start_row >= 0) or (not inside and highest < 0):
            return start_row, start_column, row
    return start_row, start_column, 0


@njit(cache=True, nogil=True)
def _first_end(problem, corridor, ends, score, forbidden):
    """Return the first place among the ends that has the score, filling the corridor only."""
    query, subject, table = problem.query, problem.subject, problem.table
    gap_open, gap_extend = problem.gap_open, problem.gap_extend
    f_rows, f_columns = forbidden
    top, firsts, lasts = corridor
    first_row, last_row, first_column, last_column = ends
    best, gap = np.empty(last_column + 2, np.int32), np.empty(last_column + 2, np.int32)
    at = np.searchsorted(f_rows, max(top - 1, 0))
    before_first, before_last = 0, -1
    for row in range(top, last_row + 1):
        first, last = firsts[row - top], lasts[row - top]
        while f_rows[at] < row - 1 or (f_rows[at] == row - 1 and f_columns[at] < first - 1):
            at += 1
        known = before_first <= first - 1 <= before_last
        diagonal = best[first - 1] if known else 0
        left, running = 0, NEVER
        for column in range(first, last + 1):
            known = before_first <= column <= before_last
            up, falling = (best[column], gap[column]) if known else (0, NEVER)
            falling = extended(up, falling, gap_open, gap_extend)
            running = extended(left, running, gap_open, gap_extend)
            value = max(0, falling, running)
            if f_rows[at] == row - 1 and f_columns[at] == column - 1:
                at += 1
            elif row > 0 and column > 0:
                value = max(value, diagonal + table[query[row - 1], subject[column - 1]])
            diagonal = up
            best[column], gap[column], left = value, falling, value
            if value == score and row >= first_row and first_column <= column <= last_column:
                return row, column
        before_first, before_last = first, last
    return -1, -1
