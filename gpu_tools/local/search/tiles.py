"""Upper bounds on the scores of all tiles of a matrix, lowered until the best end is known.

Forbidding pairs only lowers scores, so the scores of the score pass stay upper bounds. A *window*
that begins a little before the tile with the highest bound is computed anew, as if as much came in
across its border as the bounds there allow. If the tile's bound stays, a search for the path tells
whether an alignment has that score. If none has, the window grows until the bound is lower.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.loops import largest_in, largest_of
from gpu_tools.local.cpu.score_pass import WindowBorder, bounds_of_window, costs_that_fit
from gpu_tools.local.problem import ALL, USUAL_SIZES, Problem, Rectangle, SearchSizes
from gpu_tools.local.search.corridor import CorridorInputs, KnownEnd, find_path, no_path
from gpu_tools.local.search.forbidden_pairs import ForbiddenPairs
from gpu_tools.model.results import CigarOperation

Tile = tuple[int, int]
"""Numbers of a row and of a column of tiles."""
_UNKNOWN, _NOTHING, _TOO_WIDE = -1, -1, -2
_PART = 16
"""Side of the parts of a tile of which a tile's first window tells in which ones it has its score.
Smaller parts make the search for the path shorter, and the window longer."""


def tile_side(rows: int, columns: int, most: int, smallest: int = USUAL_SIZES.smallest_tile) -> int:
    """Return the side of the tiles of a matrix, so that there are no more than `most` of them."""
    side = smallest
    while -(-rows // side) * -(-columns // side) > most:
        side *= 2
    return side


class Tiles:
    """The bounds of each tile's best score, and the pairs that are forbidden so far.

    Parameters
    ----------
    problem : Problem
    side : int
        Of a tile, a power of two.
    upper : ndarray of int32, shape (tiles down, tiles across)
        Upper bounds of the tiles' scores; lowered in place.
    least : int
        The smallest score of alignments that are searched for: the bounds are those of cells on
        such alignments, and other cells' scores may be higher.
    sizes : SearchSizes
    """

    def __init__(
        self, problem: Problem, side: int, upper: NDArray[np.int32], least: int = 1,
        sizes: SearchSizes = USUAL_SIZES,
    ):  # fmt: skip
        self.problem, self.side, self.least, self.sizes = problem, side, least, sizes
        self.margin = max(sizes.margin // side, 1)
        self.upper = np.ascontiguousarray(upper)
        self.highest = self.upper.max(axis=1)
        # of the row of tiles that has the highest score: start and end of each tile's first
        # alignment of that score, as nodes, where they are known; and the row
        self.paths = np.full((upper.shape[1], 4), _UNKNOWN, dtype=np.int64)
        self.row_of_paths = np.zeros(1, dtype=np.int64)
        self.costs = costs_that_fit(problem, np.int16, np.int32)
        self.forbidden = ForbiddenPairs()

    def best_end(self) -> KnownEnd | None:
        """Return the first node in which the best score ends, None if that is too low."""
        paths, inputs = (self.paths, self.row_of_paths), self.corridor_inputs
        for costs in self.costs:  # 32 bits where 16 are too few
            score, row, column, path = _next_end(
                self.problem, self.highest, paths, self.least, self.margin, inputs, costs
            )
            if row != _TOO_WIDE:
                break
        if row == _NOTHING:
            return None
        return KnownEnd(score, (row, column), path if path.end == (row, column) else None)

    @property
    def corridor_inputs(self) -> CorridorInputs:
        """What the search for a corridor needs besides the problem."""
        shift = self.side.bit_length() - 1
        return CorridorInputs(self.upper, shift, *self.forbidden.pairs)

    def use_up(
        self, start: tuple[int, int], end: tuple[int, int], cigar: tuple[CigarOperation, ...]
    ) -> None:
        """Forbid an alignment's pairs, and lower the bounds around and behind a long one."""
        self.forbidden.add(start, cigar)
        _forget_paths(self.paths, start, end)
        first, last = self._tile_of(*start), self._tile_of(end[0] - 1, end[1] - 1)
        if max(last[0] - first[0], last[1] - first[1]) <= self.margin:
            return  # small windows tell as much as soon as they are needed
        reach = int(self.upper[last]) // max(self.problem.gap_extend, 1) // self.side + 1
        down, across = (min(t + reach, n - 1) for t, n in zip(last, self.upper.shape, strict=True))
        first = max(first[0] - 1, 0), max(first[1] - 1, 0)
        inputs, corners = self.corridor_inputs, (first, (down, across))
        for costs in self.costs:
            if len(_lower(self.problem, self.highest, corners, self.side, inputs, costs)):
                break

    def _tile_of(self, row: int, column: int) -> Tile:
        return row // self.side, column // self.side


@njit(cache=True, nogil=True)
def _forget_paths(paths, start, end):
    """Mark the paths of tiles as unknown that may share a pair with one from start to end."""
    for k in range(len(paths)):
        before = paths[k, 2] <= start[0] or paths[k, 3] <= start[1]
        behind = paths[k, 0] >= end[0] or paths[k, 1] >= end[1]
        if not (before or behind):
            paths[k] = _UNKNOWN


@njit(cache=True, nogil=True)
def _next_end(problem, highest, paths_of_row, least, margin, inputs, costs):
    """Return the highest score, row and column of the first node in which it ends, and a path.

    The row is `_NOTHING` if the score is less than `least`, `_TOO_WIDE` if `costs` are too narrow.
    The path is the last one that was found, which may end in another node.
    """
    (paths, row_of_paths), last_path = paths_of_row, no_path()
    while True:
        down = np.argmax(highest)
        score = np.int64(highest[down])
        if score < least:
            return score, _NOTHING, 0, last_path
        if row_of_paths[0] != down:
            row_of_paths[0], paths[:] = down, _UNKNOWN
        row, column = np.iinfo(np.int64).max, np.int64(0)
        for across in range(len(paths)):
            if inputs.upper[down, across] < score:
                continue
            if paths[across, 0] == _UNKNOWN:
                tile = down, across
                fits, path = _settle(problem, highest, paths, tile, margin, inputs, costs)
                if not fits:
                    return score, _TOO_WIDE, 0, last_path
                last_path = path
            end = paths[across, 2], paths[across, 3]
            if inputs.upper[down, across] == score and end < (row, column):
                row, column = end
        if highest[down] == score:
            return score, row, column, last_path


@njit(nogil=True)
def _settle(problem, highest, paths, tile, margin, inputs, costs):
    """Lower a tile's bound or find the path of the first alignment that has it.

    Returned are whether the costs are wide enough, and the path; without one its start is -1.
    """
    upper, side = inputs.upper, 1 << inputs.shift
    score, top, left, before = upper[tile], tile[0] * side, tile[1] * side, margin
    ends = Rectangle(
        top, min(top + side, len(problem.query)), left, min(left + side, len(problem.subject))
    )
    # an alignment of that score is no shorter
    shortest = score // max(largest_in(problem.table), 1) // side
    while True:
        first = max(tile[0] - before, 0), max(tile[1] - before, 0)
        last = min(tile[0] + 1, upper.shape[0] - 1), min(tile[1] + 1, upper.shape[1] - 1)
        if shortest < before:
            part = min(side, _PART) if before == margin else side
            bounds = _lower(problem, highest, (first, last), part, inputs, costs)
            if not len(bounds):
                return False, no_path()
            if upper[tile] == score and part < side:
                corner = first[0] * side, first[1] * side
                ends = _narrowed(ends, bounds, corner, part, score)
        if upper[tile] < score:
            return True, no_path()
        if before == margin:
            path = find_path(problem, ends, score, inputs)
            if path.start[0] >= 0:
                (row, column), (past, behind) = path.start, path.end
                paths[tile[1], 0], paths[tile[1], 1] = row, column
                paths[tile[1], 2], paths[tile[1], 3] = past, behind
                return True, path
        if first == (0, 0):  # what padding adds is no alignment
            upper[tile] = min(upper[tile], score - 1)
            highest[tile[0]] = largest_of(upper[tile[0]])
        before *= 2


@njit(nogil=True)
def _narrowed(ends, bounds, corner, part, score):
    """Return the smallest rectangle with those parts of another one that may have a score.

    `bounds` are those of the parts of a window with that corner; one of them is not less.
    """
    top, bottom, left, right = ends.bottom, ends.top, ends.right, ends.left
    for row in range(ends.top, ends.bottom, part):
        for column in range(ends.left, ends.right, part):
            if bounds[(row - corner[0]) // part, (column - corner[1]) // part] >= score:
                top, left = min(top, row), min(left, column)
                bottom, right = max(bottom, row + part), max(right, column + part)
    return Rectangle(top, min(bottom, ends.bottom), left, min(right, ends.right))


@njit(cache=True, nogil=True)
def _lower(problem, highest, corners, part, inputs, costs):
    """Lower the bounds of tiles from the first to the last corner; return those of their parts.

    `part` is the side of a part, a power of two. Nothing is returned if the costs are narrow.
    """
    side, upper, (first, last) = 1 << inputs.shift, inputs.upper, corners
    window = Rectangle(
        first[0] * side, min((last[0] + 1) * side, len(problem.query)),
        first[1] * side, min((last[1] + 1) * side, len(problem.subject)),
    )  # fmt: skip
    forbidden = inputs.forbidden_rows, inputs.forbidden_columns
    border = _border(upper, inputs.shift, first, window)
    counter = np.zeros(1, np.int64)
    bounds = bounds_of_window(problem, window, part, border, forbidden, ALL, costs, counter)
    if len(bounds):
        _lower_to(upper, highest, corners, bounds, side // part)
    return bounds


@njit(nogil=True)
def _lower_to(upper, highest, corners, bounds, parts):
    """Lower the bounds of tiles, of `parts` by `parts` each, to the largest one of their parts."""
    first, last = corners
    most = np.zeros((last[0] - first[0] + 1, last[1] - first[1] + 1), np.int32)
    for i in range(len(bounds)):
        for j in range(bounds.shape[1]):
            most[i // parts, j // parts] = max(most[i // parts, j // parts], bounds[i, j])
    for i in range(len(most)):
        row = upper[first[0] + i]
        for j in range(most.shape[1]):
            row[first[1] + j] = min(row[first[1] + j], most[i, j])
        highest[first[0] + i] = largest_of(row)


@njit(nogil=True)
def _border(upper, shift, first, window):
    """Return upper bounds of the cells around a window."""
    above = np.zeros(window.right - window.left + 1, np.int32)
    left = np.zeros(window.bottom - window.top, np.int32)
    if window.top:
        above[0] = upper[first[0] - 1, first[1] - 1] if window.left else 0
        for column in range(window.left, window.right):
            above[column - window.left + 1] = upper[first[0] - 1, column >> shift]
    if window.left:
        for row in range(window.top, window.bottom):
            left[row - window.top] = upper[row >> shift, first[1] - 1]
    return WindowBorder(above, left)
