"""Where alignments of a known best score run: found backwards from their ends.

A path's score is what it gains before a node and what it gains behind it. The first part is at most
the bound of the tile in which the node lies. So a node from which the end is reached with too
little behind it lies on no such path. The first part is also at most the score with which a path
comes into the tile, and what the pairs from there on can add. What is left is a corridor. It is
narrow where scores are high, because bounds beside a long alignment are hardly higher than on it.

A *node* (i, j) lies between symbols: i of the query and j of the subject are before it. It lies in
the tile of the cell (i - 1, j - 1), whose pair ends there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.loops import first_from, largest_in

NO_PATH = -(2**60)
"""The score where no path leads; still the least after penalties are subtracted many times."""
_SCALE = 1 << 28
"""More than the nodes of a tile, of which any may be an end."""


class Corridor(NamedTuple):
    """Rows of nodes from `top` on, each with its first and its last column.

    Where `last` is less than `first`, a row is empty.
    """

    top: int
    first: NDArray[np.int64]
    last: NDArray[np.int64]


class Path(NamedTuple):
    """The start and the end of an alignment, as nodes, and the corridor in which it runs."""

    start: tuple[int, int]
    end: tuple[int, int]
    corridor: Corridor


@register_jitable
def no_path():
    """Return what stands for the path of no alignment."""
    none = np.empty(0, np.int64)
    return Path((np.int64(-1), np.int64(-1)), (np.int64(-1), np.int64(-1)), Corridor(0, none, none))


class KnownEnd(NamedTuple):
    """The best score, the first node in which it ends, and the path that ends there if known."""

    score: int
    end: tuple[int, int]
    path: Path | None


class CorridorInputs(NamedTuple):
    """Bounds of tiles' scores, a tile's side as a power of two, and forbidden pairs."""

    upper: NDArray[np.int32]
    shift: int
    forbidden_rows: NDArray[np.int64]
    forbidden_columns: NDArray[np.int64]


def whole(rows: int, columns: int) -> Corridor:
    """Return the corridor of all nodes of a matrix."""
    return Corridor(0, np.zeros(rows + 1, np.int64), np.full(rows + 1, columns, np.int64))


@register_jitable
def extended(best, gap, gap_open, gap_extend):
    """Return the best score that ends in a gap one symbol further on.

    Parameters
    ----------
    best, gap : int
        Of the neighbour: its best score, and that of ending in a gap in the same direction.
    gap_open, gap_extend : int
        Penalties.
    """
    return max(best - gap_open, gap - gap_extend)


@njit(nogil=True)
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


@njit(nogil=True)
def _margins(upper, down, across, score):
    """Return what `_of_tile` does, less a score and scaled; the less, the more a path may lack."""
    bound, entering = _of_tile(upper, down, across)
    return (bound - score) * _SCALE, (entering - score) * _SCALE


@njit(nogil=True)
def _used_column(forbidden, at, row):
    """Return the column of a forbidden pair if it is of a row, else -1."""
    f_rows, f_columns = forbidden
    return f_columns[at] if f_rows[at] == row else -1


@njit(nogil=True)
def _last_forbidden(forbidden, at, row, begin):
    """Return the last forbidden pair up to a node's row and column, at `at` or before."""
    f_rows, f_columns = forbidden
    while f_rows[at] > row or (f_rows[at] == row and f_columns[at] > begin):
        at -= 1
    return at


@njit(nogil=True)
def _columns_of_row(ends, inside, lowest, highest):
    """Return the first column of a row that is looked at, from right to left, and the last one.

    `lowest` and `highest` are those of the row below that paths lead to; where the row is `inside`
    a rectangle of ends, its columns come to them.
    """
    if inside:
        return max(highest, ends.right), min(lowest - 1, ends.left + 1)
    return highest, lowest - 1


@njit(nogil=True)
def _scaled_end(ends, row, column):
    """Return the lower bits of scores that come from an end; see `find_path`."""
    down, across = row - ends.top - 1, column - ends.left - 1
    return _SCALE - 1 - (down * (ends.right - ends.left) + across)


@njit(nogil=True)
def _found_path(start, end, ends, corridor):
    """Return the path of a start and a scaled end; see `find_path`."""
    down, across = divmod(_SCALE - 1 - end, ends.right - ends.left)
    return Path(start, (ends.top + 1 + down, ends.left + 1 + across), corridor)


@njit(cache=True, nogil=True)
def find_path(problem, ends, score, inputs):
    """Return start, end and corridor of the first alignment of `score` that ends in a rectangle.

    Scores are multiplied so that their lower bits hold the end that they come from: of equal scores
    the larger number has the first end.

    Parameters
    ----------
    problem : Problem
    ends : Rectangle
        The cells of which one is the last pair.
    score : int
        Not less than the score of any alignment that ends there.
    inputs : CorridorInputs

    Returns
    -------
    Path
        Its end is the first node, by row, then column. Its start is, of those from which that end
        is reached, the last one, by row, then column; the row is -1 if there is no such alignment.
        The corridor has all nodes of alignments of that score between start and end.
    """
    query, subject, table = problem.query, problem.subject, problem.table.astype(np.int64) * _SCALE
    gap_open, gap_extend = problem.gap_open * _SCALE, problem.gap_extend * _SCALE
    upper, shift = inputs.upper, inputs.shift
    forbidden = inputs.forbidden_rows, inputs.forbidden_columns
    first_row, last_row = ends.top + 1, ends.bottom
    first_column, last_column = ends.left + 1, ends.right
    # a gap that is left and entered again has been opened twice
    reopened, steepest = gap_open - gap_extend, max(largest_in(table), 0)
    width = last_column + 1
    # most columns are never met: each is filled in when it first is
    best, gap = np.empty(width + 1, np.int64), np.empty(width, np.int64)
    firsts, lasts = np.empty(last_row + 1, np.int64), np.empty(last_row + 1, np.int64)
    best[width], met = NO_PATH, width
    lowest, highest, start_row, start_column, end = width, -1, -1, -1, np.int64(-1)
    at = first_from(inputs.forbidden_rows, last_row + 1) - 1
    for row in range(last_row, -1, -1):
        inside = row >= first_row
        begin, final = _columns_of_row(ends, inside, lowest, highest)
        at = _last_forbidden(forbidden, at, row, begin)
        used_column = _used_column(forbidden, at, row)
        scores = table[query[row]] if row < len(query) else table[0]
        running, right = NO_PATH, NO_PATH
        down = (row - 1) >> shift
        top, left, of_tile, entering = down << shift, width, 0, 0
        lowest, highest = width, -1
        diagonal, column = best[begin + 1], begin
        while column >= 0 and (column >= final or running > NO_PATH or right > NO_PATH):
            if column < met:
                met, best[column], gap[column] = column, NO_PATH, NO_PATH
            if column <= left:
                across = (column - 1) >> shift
                left = across << shift
                of_tile, entering = _margins(upper, down, across, score)
            # how much a path may lack here of the score
            lacks = -min(of_tile, entering + steepest * min(row - top, column - left))
            falling = extended(best[column], gap[column], gap_open, gap_extend)
            running = extended(right, running, gap_open, gap_extend)
            falling = falling if falling + reopened >= lacks else NO_PATH
            running = running if running + reopened >= lacks else NO_PATH
            value = max(falling, running)
            if column == used_column:
                at -= 1
                used_column = _used_column(forbidden, at, row)
            elif diagonal > NO_PATH:
                value = max(value, diagonal + scores[subject[column]])
            if inside and first_column <= column <= last_column:
                value = max(value, _scaled_end(ends, row, column))
            value = value if value >= lacks else NO_PATH
            diagonal = best[column]
            best[column], gap[column], right = value, falling, value
            if value > NO_PATH or falling > NO_PATH or running > NO_PATH:
                lowest, highest = column, max(highest, column)
            if value >= score * _SCALE and value % _SCALE > end:
                start_row, start_column, end = row, column, value % _SCALE
            column -= 1
        firsts[row], lasts[row] = lowest, highest
        if not inside and highest < 0:
            break
    corridor = Corridor(row, firsts[row : last_row + 1].copy(), lasts[row : last_row + 1].copy())
    return _found_path((start_row, start_column), end, ends, corridor)
