"""Upper bounds on the scores of all tiles of a matrix, made exact where the best end may be.

Forbidding pairs only lowers scores, so the scores of the score pass stay upper bounds. A tile's
exact score and end come from a window around it. As long as they might depend on what crosses the
window's border, the window grows, at last to the whole matrix before the tile.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_tools.local.cpu.vectors import costs_of
from gpu_tools.local.problem import USUAL_SIZES, Problem, Rectangle, SearchSizes
from gpu_tools.local.search import bounds
from gpu_tools.local.search.corridor import CorridorInputs, Path, find_path, make_scratch
from gpu_tools.local.search.forbidden_pairs import ForbiddenPairs
from gpu_tools.local.search.traceback import align
from gpu_tools.model.results import CigarOperation

Tile = tuple[int, int]
"""Numbers of a row and of a column of tiles."""


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
        self.bounds = bounds.make_bounds(np.ascontiguousarray(upper), sizes.exact_tiles)
        self.costs = costs_of(problem, np.dtype(np.int16)), costs_of(problem, np.dtype(np.int32))
        self.forbidden, self._scratch = ForbiddenPairs(), make_scratch(*problem.shape)
        self._far: Path | None = None
        """The path that was found last to an end that no window shows."""

    def best_end(self) -> tuple[int, tuple[int, int]] | None:
        """Return the best score and the first cell that has it, None if it is under the least."""
        while True:
            outcome, score, number = bounds.next_end(
                self.problem, self.bounds, self.side, self.margin, self.forbidden.pairs,
                self.costs[0], self.least,
            )  # fmt: skip
            if outcome == bounds.FOUND:
                return score, divmod(number, self.problem.shape[1])
            if outcome == bounds.NOTHING:
                return None
            self._settle(divmod(number, self.bounds.upper.shape[1]))

    @property
    def corridor_inputs(self) -> CorridorInputs:
        """What the search for a corridor needs besides the problem."""
        shift = self.side.bit_length() - 1
        return CorridorInputs(self.bounds.upper, shift, *self.forbidden.pairs, self._scratch)

    def far_alignment(self, end: tuple[int, int]):
        """Return start, score and CIGAR of the alignment to an end if its path is known."""
        if self._far is None or self._far.end != end:
            return None
        start, corridor = self._far.start, self._far.corridor
        rectangle = Rectangle(start[0], end[0], start[1], end[1])
        pairs, at_once = self.forbidden.pairs, self.sizes.cells_at_once
        return start, *align(self.problem, rectangle, pairs, corridor, at_once)

    def use_up(
        self, start: tuple[int, int], end: tuple[int, int], cigar: tuple[CigarOperation, ...]
    ) -> None:
        """Forbid the pairs of an alignment, and forget exact tiles that may rest on them."""
        self.forbidden.add(start, cigar)
        self._far = None
        first, last = self._tile_of(*start), self._tile_of(end[0] - 1, end[1] - 1)
        bounds.forget(self.bounds, first, last)
        if max(last[0] - first[0], last[1] - first[1]) > self.margin:
            self._refresh(first, last)

    def _tile_of(self, row: int, column: int) -> Tile:
        return row // self.side, column // self.side

    def _refresh(self, first: Tile, last: Tile) -> None:
        """Lower the bounds around a long alignment, and as far behind it as its score reaches."""
        upper = self.bounds.upper
        reach = int(upper[last]) // max(self.problem.gap_extend, 1) // self.side + 1
        down, across = (min(t + reach, n - 1) for t, n in zip(last, upper.shape, strict=True))
        self._bound((max(first[0] - 1, 0), max(first[1] - 1, 0)), (down, across))

    def _settle(self, tile: Tile) -> None:
        """Make the bound of a tile exact or lower, from however far its score comes."""
        score, rows, columns = int(self.bounds.upper[tile]), *self.problem.shape
        top, left = (t * self.side for t in tile)
        ends = Rectangle(top, min(top + self.side, rows), left, min(left + self.side, columns))
        path = find_path(self.problem, ends, score, self.corridor_inputs)
        if path.start[0] >= 0:
            self._far, (row, column) = path, path.end
            bounds.remember(self.bounds, tile, (row - 1) * columns + column - 1, (0, 0))
            return
        # an alignment of that score is no shorter
        shortest = score // max(int(self.problem.table.max()), 1) // self.side
        margin = max(self.margin, shortest + 1)
        while not self._bound((max(tile[0] - margin, 0), max(tile[1] - margin, 0)), tile):
            margin *= 2

    def _bound(self, first: Tile, last: Tile) -> bool:
        """Bound the tiles of a window, and tell whether the last one's bound is exact."""
        for costs in self.costs:  # 32 bits where 16 are too few
            if bounds.bound_tiles(
                self.problem, self.bounds, self.side, first, last, self.forbidden.pairs, costs
            ):
                break
        return bounds.is_exact(self.bounds, last)
