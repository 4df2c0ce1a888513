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

from gpu_tools.local import recurrence as core
from gpu_tools.local.forbidden import ForbiddenPairs
from gpu_tools.local.problem import Problem

extended = register_jitable(core.extended)
NEVER = -(2**62)
"""Stands for minus infinity; penalties can be taken off it once and again."""
_SCALE = 1 << 28
"""More than the places of a tile, of which any may be an end."""


class Corridor(NamedTuple):
    """Rows of places from `top` on, each with its first and its last column.

    Where `last` is less than `first`, a row is empty.
    """

    top: int
    first: NDArray[np.int64]
    last: NDArray[np.int64]


class CorridorBounds(NamedTuple):
    """Upper bounds of tiles' scores, and the side of a tile as a power of two."""

    upper: NDArray[np.int32]
    shift: int


class Scratch(NamedTuple):
    """Memory for `search`, of which it uses little: scores by column, limits by row."""

    best: NDArray[np.int64]
    gap: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]


@register_jitable
def make_scratch(rows: int, columns: int) -> Scratch:
    """Return memory for a matrix; what is never used takes up none."""
    scores = np.empty(columns + 2, np.int64), np.empty(columns + 2, np.int64)
    return Scratch(*scores, np.empty(rows + 2, np.int64), np.empty(rows + 2, np.int64))


def whole(rows: int, columns: int) -> Corridor:
    """Return the corridor of all places of a matrix."""
    return Corridor(0, np.zeros(rows + 1, np.int64), np.full(rows + 1, columns, np.int64))


def find(
    problem: Problem, ends: tuple[int, int, int, int], score: int, bounds: CorridorBounds,
    forbidden: ForbiddenPairs, scratch: Scratch,
) -> tuple[tuple[int, int], tuple[int, int], Corridor] | None:  # fmt: skip
    """Return start and end of the first alignment of `score` that ends in a rectangle of places.

    Parameters
    ----------
    problem : Problem
    ends : tuple of int
        First and last row, first and last column of the places.
    score : int
        Not less than the score of any alignment that ends there.
    bounds : CorridorBounds
    forbidden : ForbiddenPairs
    scratch : Scratch

    Returns
    -------
    tuple of (int, int)
        Row and column of the first pair: of those from which that end is reached the last row, then
        column.
    tuple of (int, int)
        The place behind the last pair: the first row, then column.
    Corridor
        All places of alignments of that score between start and end.

    None is returned if there is no such alignment.
    """
    start, end, corridor = search(problem, ends, score, bounds, forbidden.pairs, scratch)
    return (start, end, corridor) if start[0] >= 0 else None


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
def search(problem, ends, score, bounds, forbidden, scratch):
    """Fill in scores from each place to an end; return start, end and corridor, see `find`.

    The start's row is -1 if there is none. Scores are multiplied so that there is space below for
    the end that they come from: of equal ones the larger has the first end.
    """
    query, subject, table = problem.query, problem.subject, problem.table.astype(np.int64) * _SCALE
    gap_open, gap_extend = problem.gap_open * _SCALE, problem.gap_extend * _SCALE
    upper, shift = bounds
    f_rows, f_columns = forbidden
    first_row, last_row, first_column, last_column = ends
    ends_across = last_column - first_column + 1
    # a gap that is left and entered again has been opened twice
    reopened, steepest = gap_open - gap_extend, max(table.max(), 0)
    width = last_column + 1
    # most columns are never met: each is filled in when it first is
    best, gap, firsts, lasts = scratch
    best[width], met = NEVER, width
    lowest, highest, start_row, start_column, end = width, -1, -1, -1, np.int64(-1)
    at = np.searchsorted(f_rows, last_row + 1) - 1
    for row in range(last_row, -1, -1):
        inside = row >= first_row
        begin = max(highest, last_column) if inside else highest
        final = min(lowest - 1, first_column) if inside else lowest - 1
        while f_rows[at] > row or (f_rows[at] == row and f_columns[at] > begin):
            at -= 1
        barred = f_columns[at] if f_rows[at] == row else -1
        scores = table[query[row]] if row < len(query) else table[0]
        running, right = NEVER, NEVER
        down = (row - 1) >> shift
        top, left, of_tile, entering = down << shift, width, 0, 0
        lowest, highest = width, -1
        diagonal = best[begin + 1]
        column = begin
        while column >= 0 and (column >= final or running > NEVER or right > NEVER):
            if column < met:
                met, best[column], gap[column] = column, NEVER, NEVER
            if column <= left:
                across = (column - 1) >> shift
                left = across << shift
                bound, entering = _of_tile(upper, down, across)
                of_tile, entering = (bound - score) * _SCALE, (entering - score) * _SCALE
            # what a path may lack here of the score
            lacks = -min(of_tile, entering + steepest * min(row - top, column - left))
            falling = extended(best[column], gap[column], gap_open, gap_extend)
            running = extended(right, running, gap_open, gap_extend)
            falling = falling if falling + reopened >= lacks else NEVER
            running = running if running + reopened >= lacks else NEVER
            value = max(falling, running)
            if column == barred:
                at -= 1
                barred = f_columns[at] if f_rows[at] == row else -1
            elif diagonal > NEVER:
                value = max(value, diagonal + scores[subject[column]])
            if inside and first_column <= column <= last_column:
                number = (row - first_row) * ends_across + column - first_column
                value = max(value, _SCALE - 1 - number)
            value = value if value >= lacks else NEVER
            diagonal = best[column]
            best[column], gap[column], right = value, falling, value
            if value > NEVER or falling > NEVER or running > NEVER:
                lowest, highest = column, max(highest, column)
            if value >= score * _SCALE and value % _SCALE > end:
                start_row, start_column, end = row, column, value % _SCALE
            column -= 1
        firsts[row], lasts[row] = lowest, highest
        if not inside and highest < 0:
            break
    corridor = Corridor(row, firsts[row : last_row + 1].copy(), lasts[row : last_row + 1].copy())
    down, across = divmod(_SCALE - 1 - end, ends_across)
    return (start_row, start_column), (first_row + down, first_column + across), corridor
