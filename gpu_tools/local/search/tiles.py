"""The k best alignments of a pair, from upper bounds on the scores of all tiles of the matrix.

Pairs of earlier alignments are forbidden. That only lowers scores, so the scores of the score pass
remain upper bounds. A *window* that begins a little before the tile with the highest bound is
computed anew, with the bounds on its border as the scores there. If the tile's bound stays, a
search for the path decides whether an alignment has that score. If none has, the window grows until
the bound is lower.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.simd import largest_in, largest_of
from gpu_tools.local.cpu import score_pass
from gpu_tools.local.problem import ALL, USUAL_SIZES, Problem, Rectangle, SearchSizes
from gpu_tools.local.search import corridor as corridors
from gpu_tools.local.search.traceback import align, trace
from gpu_tools.model.results import CigarOperation

Tile = tuple[int, int]
"""Row and column of a tile."""
_BEHIND = 2**31 - 1
"""Row and column behind all others."""
_UNKNOWN, _NOTHING, _TOO_WIDE = -1, -1, -2


def tile_side(rows: int, columns: int, most: int, smallest: int = USUAL_SIZES.smallest_tile) -> int:
    """Return the side of the tiles of a matrix with which there are at most `most` of them."""
    side = smallest
    while -(-rows // side) * -(-columns // side) > most:
        side *= 2
    return side


class ForbiddenPairs:
    """Aligned pairs that no further alignment may use."""

    def __init__(self):
        self._rows, self._columns = (np.array([-1, _BEHIND], dtype=np.int64) for _ in range(2))
        self._count = 2

    @property
    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows and columns, sorted by row, then column; valid until pairs are added.

        They begin with a pair before all others and end with a pair behind all others, so that
        loops need not check for the end.
        """
        return self._rows[: self._count], self._columns[: self._count]

    def add(self, start: tuple[int, int], cigar: Iterable[CigarOperation]) -> None:
        """Forbid the pairs of an alignment that begins at `start`."""
        rows, columns = aligned_pairs(start, cigar)
        if self._count + len(rows) > len(self._rows):
            self._grow(2 * (self._count + len(rows)))
        _insert(self._rows, self._columns, self._count, rows, columns)
        self._count += len(rows)

    def _grow(self, size: int) -> None:
        """Enlarge the arrays; doubling them makes copies rare."""
        for name in ("_rows", "_columns"):
            larger = np.empty(size, dtype=np.int64)
            larger[: self._count] = getattr(self, name)[: self._count]
            setattr(self, name, larger)


@njit(cache=True, nogil=True)
def _insert(rows, columns, count, new_rows, new_columns):
    """Insert sorted pairs into the first `count` of sorted ones, the last of which stays last."""
    at, new = count - 1, len(new_rows) - 1
    while new >= 0:
        row, column = rows[at], columns[at]
        to = at + new + 1
        if (row, column) > (new_rows[new], new_columns[new]):
            rows[to], columns[to] = row, column
            at -= 1
        else:
            rows[to], columns[to] = new_rows[new], new_columns[new]
            new -= 1


def aligned_pairs(
    start: tuple[int, int], cigar: Iterable[CigarOperation]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns of the pairs of an alignment that begins at `start`."""
    operations, lengths = zip(*cigar, strict=True)
    letters = np.repeat(np.frombuffer("".join(operations).encode(), dtype=np.uint8), lengths)
    in_query, in_subject = letters != ord("D"), letters != ord("I")
    rows = start[0] + np.cumsum(in_query) - 1
    columns = start[1] + np.cumsum(in_subject) - 1
    paired = in_query & in_subject
    return rows[paired], columns[paired]


class Tiles:
    """Upper bounds of the tiles' scores, shape (tiles down, tiles across), and the forbidden pairs.

    Bounds are lowered in place. They hold for cells on alignments that score at least `least`. The
    side of a tile is a power of two.
    """

    def __init__(
        self,
        problem: Problem,
        side: int,
        upper: NDArray[np.int32],
        least: int = 1,
        sizes: SearchSizes = USUAL_SIZES,
    ):
        self.problem, self.side, self.least, self.sizes = problem, side, least, sizes
        self.margin = max(sizes.margin // side, 1)
        self.upper = np.ascontiguousarray(upper)
        self.highest = self.upper.max(axis=1)
        # start and end node of each tile's first alignment of the highest score, for the row of
        # tiles that has that score, where they are known; and that row
        self.paths = np.full((upper.shape[1], 4), _UNKNOWN, dtype=np.int64)
        self.row_of_paths = np.zeros(1, dtype=np.int64)
        self.costs = score_pass.costs_that_fit(problem, np.int16, np.int32)
        self.forbidden = ForbiddenPairs()

    def best_end(self) -> corridors.KnownEnd | None:
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
        return corridors.KnownEnd(score, (row, column), path if path.end == (row, column) else None)

    @property
    def corridor_inputs(self) -> corridors.CorridorInputs:
        """Inputs of the search for a corridor, besides the problem."""
        shift = self.side.bit_length() - 1
        return corridors.CorridorInputs(self.upper, shift, *self.forbidden.pairs)

    def use_up(
        self, start: tuple[int, int], end: tuple[int, int], cigar: tuple[CigarOperation, ...]
    ) -> None:
        """Forbid an alignment's pairs, and lower the bounds around and behind a long one."""
        self.forbidden.add(start, cigar)
        _forget_paths(self.paths, start, end)
        first, last = self._tile_of(*start), self._tile_of(end[0] - 1, end[1] - 1)
        if max(last[0] - first[0], last[1] - first[1]) <= self.margin:
            return  # small windows lower these bounds when they are needed
        reach = int(self.upper[last]) // max(self.problem.gap_extend, 1) // self.side + 1
        down, across = (min(t + reach, n - 1) for t, n in zip(last, self.upper.shape, strict=True))
        first = max(first[0] - 1, 0), max(first[1] - 1, 0)
        inputs, corners = self.corridor_inputs, (first, (down, across))
        for costs in self.costs:
            if _lower(self.problem, self.highest, corners, inputs, costs):
                break

    def _tile_of(self, row: int, column: int) -> Tile:
        return row // self.side, column // self.side


@njit(cache=True, nogil=True)
def _forget_paths(paths, start, end):
    """Mark paths as unknown that may share a pair with an alignment from start to end."""
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
    (paths, row_of_paths), last_path = paths_of_row, corridors.no_path()
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

    Return whether the costs are wide enough, and the path; without one its start is -1.
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
        if shortest < before and not _lower(problem, highest, (first, last), inputs, costs):
            return False, corridors.no_path()
        if upper[tile] < score:
            return True, corridors.no_path()
        if before == margin:
            path = corridors.find_path(problem, ends, score, inputs)
            if path.start[0] >= 0:
                (row, column), (past, behind) = path.start, path.end
                paths[tile[1], 0], paths[tile[1], 1] = row, column
                paths[tile[1], 2], paths[tile[1], 3] = past, behind
                return True, path
        if first == (0, 0):  # padding has raised the bound
            upper[tile] = min(upper[tile], score - 1)
            highest[tile[0]] = largest_of(upper[tile[0]])
        before *= 2


@njit(cache=True, nogil=True)
def _lower(problem, highest, corners, inputs, costs):
    """Lower the bounds of tiles between two corners; return whether the costs are wide enough."""
    side, upper, (first, last) = 1 << inputs.shift, inputs.upper, corners
    bottom = min((last[0] + 1) * side, len(problem.query))
    right = min((last[1] + 1) * side, len(problem.subject))
    window = Rectangle(first[0] * side, bottom, first[1] * side, right)
    forbidden = inputs.forbidden_rows, inputs.forbidden_columns
    border, counter = _border(upper, inputs.shift, first, window), np.zeros(1, np.int64)
    bounds = score_pass.bounds_of_window(
        problem, window, side, border, forbidden, ALL, costs, counter
    )
    for i in range(len(bounds)):
        row = upper[first[0] + i]
        for j in range(bounds.shape[1]):
            row[first[1] + j] = min(row[first[1] + j], bounds[i, j])
        highest[first[0] + i] = largest_of(row)
    return len(bounds) > 0


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
    return score_pass.WindowBorder(above, left)


class FoundAlignment(NamedTuple):
    """An alignment in the matrix of a problem."""

    score: int
    start: tuple[int, int]  # row and column of its first pair
    end: tuple[int, int]  # those behind its last pair
    cigar: tuple[CigarOperation, ...]


def best_alignments(tiles: Tiles, k: int) -> Iterator[FoundAlignment]:
    """Yield at most k best alignments that share no pair, by falling score; lower the bounds."""
    for rank in range(1, k + 1):
        if (best := tiles.best_end()) is None:
            return
        yield (found := _alignment_to(tiles, best))
        if rank < k:
            tiles.use_up(found.start, found.end, found.cigar)


def _alignment_to(tiles: Tiles, best: corridors.KnownEnd) -> FoundAlignment:
    """Return the alignment that ends in the best node."""
    inputs, at_once = tiles.corridor_inputs, tiles.sizes.cells_at_once
    start, found, cigar = trace(tiles.problem, best, inputs, at_once)
    if found != best.score:
        text = f"alignment from {start} to {best.end} scores {found}, its cell {best.score}"
        raise AssertionError(text)
    return FoundAlignment(best.score, start, best.end, cigar)


def global_alignment(
    problem: Problem, cells_at_once: int = USUAL_SIZES.cells_at_once
) -> FoundAlignment:
    """Return the best alignment of the whole sequences."""
    rows, columns = problem.shape
    rectangle, corridor = Rectangle(0, rows, 0, columns), corridors.whole(rows, columns)
    score, cigar = align(problem, rectangle, ForbiddenPairs().pairs, corridor, cells_at_once)
    return FoundAlignment(score, (0, 0), (rows, columns), cigar)
