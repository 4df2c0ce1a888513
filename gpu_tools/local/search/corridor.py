"""The corridor of nodes on alignments of a known best score, found backwards from their ends.

The score of a path is the sum of its scores before and behind a node. The score before the node is
at most the bound of the node's tile. It is also at most the bound of the tiles from which the path
enters that tile, plus the scores of the pairs from there on. A node lies on no path of the best
score if the score behind it and this limit add up to less. The other nodes are the corridor. It is
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
from gpu_tools.hardware.cpu.simd import first_from, largest_in

NO_PATH = -(2**60)
"""Score of unreachable nodes; it stays below all others when penalties are subtracted."""
_SCALE = 1 << 28
"""Factor of scores, above the number of nodes of a tile; see `find_path`."""


class Corridor(NamedTuple):
    """First and last column of each row of nodes from `top` on; in an empty row last < first."""

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
    """Return the path that stands for no alignment."""
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
    """Return the best score that ends in a gap, from the neighbour's best score and gap score."""
    return max(best - gap_open, gap - gap_extend)


@njit(nogil=True)
def _of_tile(upper, down, across):
    """Return bounds of a tile's scores, and of the scores with which paths enter it."""
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
    """Return the bounds of `_of_tile` less a score, scaled."""
    bound, entering = _of_tile(upper, down, across)
    return (bound - score) * _SCALE, (entering - score) * _SCALE


@njit(nogil=True)
def _used_column(forbidden, at, row):
    """Return the column of the forbidden pair at an index if it is of a row, else -1."""
    f_rows, f_columns = forbidden
    return f_columns[at] if f_rows[at] == row else -1


@njit(nogil=True)
def _last_forbidden(forbidden, at, row, begin):
    """Return the index of the last forbidden pair up to a node, from index `at` backwards."""
    f_rows, f_columns = forbidden
    while f_rows[at] > row or (f_rows[at] == row and f_columns[at] > begin):
        at -= 1
    return at


@njit(nogil=True)
def _columns_of_row(ends, inside, lowest, highest):
    """Return the first column of a row to search, from right to left, and the last one.

    They are the reachable columns of the row below, `lowest` to `highest`, and, `inside` the
    rectangle of ends, its columns.
    """
    if inside:
        return max(highest, ends.right), min(lowest - 1, ends.left + 1)
    return highest, lowest - 1


@njit(nogil=True)
def _scaled_end(ends, row, column):
    """Return the lower bits of scores of paths to an end; see `find_path`."""
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

    `score` is not less than that of any alignment that ends there. The end is the first node, by
    row, then column; the start the last one from which that end is reached, or row -1 if there is
    none. The corridor has all nodes of alignments of that score between the two.
    """
    # best(i, j) backwards = max(best(i+1, j+1) + pair, gap down, gap right); scores are multiplied,
    # and their lower bits hold the end: of equal scores the larger number has the first end
    query, subject, table = problem.query, problem.subject, problem.table.astype(np.int64) * _SCALE
    gap_open, gap_extend = problem.gap_open * _SCALE, problem.gap_extend * _SCALE
    upper, shift = inputs.upper, inputs.shift
    forbidden = inputs.forbidden_rows, inputs.forbidden_columns
    first_row, last_row = ends.top + 1, ends.bottom
    first_column, last_column = ends.left + 1, ends.right
    # a gap that is left and entered again has been opened twice
    reopened, steepest = gap_open - gap_extend, max(largest_in(table), 0)
    width = last_column + 1
    # most columns are never reached: each is initialised when it first is
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
            # the least score behind the node with which a path can have the score
            least = -min(of_tile, entering + steepest * min(row - top, column - left))
            falling = extended(best[column], gap[column], gap_open, gap_extend)
            running = extended(right, running, gap_open, gap_extend)
            falling = falling if falling + reopened >= least else NO_PATH
            running = running if running + reopened >= least else NO_PATH
            value = max(falling, running)
            if column == used_column:
                at -= 1
                used_column = _used_column(forbidden, at, row)
            elif diagonal > NO_PATH:
                value = max(value, diagonal + scores[subject[column]])
            if inside and first_column <= column <= last_column:
                value = max(value, _scaled_end(ends, row, column))
            value = value if value >= least else NO_PATH
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
