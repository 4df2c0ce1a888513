"""Upper bounds on the scores of all tiles of a matrix, made sharp where that is asked for.

Forbidding pairs only lowers scores, so that the scores of the first pass stay upper bounds. A
tile's exact score and end come from a window around it: as long as they might depend on what
crosses the window's border, the window grows, at last to the whole matrix before the tile.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_tools.local import near
from gpu_tools.local.corridor import Corridor, CorridorBounds, find, make_scratch
from gpu_tools.local.cpu.vectors import costs_of
from gpu_tools.local.forbidden import ForbiddenPairs
from gpu_tools.local.places import take_over
from gpu_tools.local.problem import Problem

SMALLEST_TILE = 64
_SMALLEST_MARGIN = 128
_MOST_EXACT = 1 << 12


def tile_side(rows: int, columns: int, most: int) -> int:
    """Return the side of the tiles of a matrix, so that there are no more than `most` of them."""
    side = SMALLEST_TILE
    while -(-rows // side) * -(-columns // side) > most:
        side *= 2
    return side


class Tiles:
    """What is known of each tile's best score.

    Parameters
    ----------
    problem : Problem
    side : int
        Of a tile.
    upper : ndarray of int32, shape (tiles down, tiles across)
        Upper bounds of the tiles' scores; kept and lowered.
    least : int
        The smallest score of alignments that may be looked for: the bounds are those of cells on
        such alignments, and other cells' scores may be higher.
    """

    def __init__(self, problem: Problem, side: int, upper: NDArray[np.int32], least: int = 1):
        self.problem, self.side, self.least = problem, side, least
        self.known = near.make_known(np.ascontiguousarray(upper), _MOST_EXACT)
        self.costs = costs_of(problem, np.dtype(np.int16)), costs_of(problem, np.dtype(np.int32))
        self.forbidden, self.scratch = ForbiddenPairs(), make_scratch(*problem.shape)
        self.far: tuple[tuple[int, int], tuple[int, int], Corridor] | None = None
        """Start, end and corridor that were found last of what no window shows."""

    def best_end(self, least: int) -> tuple[int, tuple[int, int]] | None:
        """Return the best score and the first cell that has it, or None if it is under `least`."""
        sizes = self.side, margin_of(self.side), (0, 0)
        while True:
            how, score, place = near.find_end(
                self.problem, self.known, sizes, self.forbidden.pairs, self.costs[0], least
            )
            if how == near.FOUND:
                return score, divmod(place, self.problem.shape[1])
            if how == near.NOTHING:
                return None
            self._settle(divmod(place, self.known.upper.shape[1]))

    @property
    def bounds(self) -> CorridorBounds:
        """What the tiles tell of all alignments."""
        return CorridorBounds(self.known.upper, self.side.bit_length() - 1)

    def traced(self, end: tuple[int, int]) -> tuple[tuple[int, int], Corridor] | None:
        """Return start and corridor of the alignment that ends there, if they are known."""
        return (self.far[0], self.far[2]) if self.far and self.far[1] == end else None

    def use_up(self, start: tuple[int, int], end: tuple[int, int], cigar) -> None:
        """Forbid the pairs of an alignment; forget what might have rested on them."""
        self.forbidden.add(start, cigar)
        self.far = None
        first, last = self._tile_of(*start), self._tile_of(end[0] - 1, end[1] - 1)
        near.forget(self.known, first, last)
        if max(last[0] - first[0], last[1] - first[1]) > margin_of(self.side):
            self._refresh(first, last)

    def take_over(self, pairs, places: NDArray[np.int64], fresh: NDArray[np.int32]) -> None:
        """Forbid pairs, and lower bounds to what a search of places found: see `places`."""
        self.forbidden.add_pairs(*pairs)
        self.far, self.known.count[0] = None, 0
        take_over(self.known, places, fresh)

    def _tile_of(self, row: int, column: int) -> tuple[int, int]:
        return row // self.side, column // self.side

    def _refresh(self, first: tuple[int, int], last: tuple[int, int]) -> None:
        """Lower the bounds around a long alignment and in its shadow at once."""
        upper = self.known.upper
        reach = int(upper[last]) // max(self.problem.gap_extend, 1) // self.side + 1
        down, across = (min(t + reach, n - 1) for t, n in zip(last, upper.shape, strict=True))
        self._bound((max(first[0] - 1, 0), max(first[1] - 1, 0)), (down, across))

    def _settle(self, tile: tuple[int, int]) -> None:
        """Make the bound of a tile sharp, from however far its score comes."""
        score, rows, columns = int(self.known.upper[tile]), *self.problem.shape
        top, left = (t * self.side for t in tile)
        ends = top + 1, min(top + self.side, rows), left + 1, min(left + self.side, columns)
        self.far = find(self.problem, ends, score, self.bounds, self.forbidden, self.scratch)
        if self.far is not None:
            row, column = self.far[1]
            near.remember(self.known, tile, (row - 1) * columns + column - 1, (0, 0))
            return
        # an alignment of that score is no shorter
        shortest = score // max(int(self.problem.table.max()), 1) // self.side
        margin = max(margin_of(self.side), shortest + 1)
        while not self._bound((max(tile[0] - margin, 0), max(tile[1] - margin, 0)), tile):
            margin *= 2

    def _bound(self, first: tuple[int, int], last: tuple[int, int]) -> bool:
        """Bound the tiles of a window, and tell whether the last one's are exact."""
        for costs in self.costs:  # in wide cells if need be
            corners, used = (first, last), self.forbidden.pairs
            if near.bound_tiles(self.problem, self.known, self.side, corners, used, costs):
                break
        return near.is_exact(self.known, last)


def margin_of(side: int) -> int:
    """Return the tiles before a tile with which its window begins."""
    return max(_SMALLEST_MARGIN // side, 1)
