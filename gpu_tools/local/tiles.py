"""Upper bounds on the scores of all tiles of a matrix, made sharp where that is asked for.

Forbidding pairs only lowers scores, so that the scores of the first pass stay upper bounds. A
tile's exact score and end come from a window around it: as long as they might depend on what
crosses the window's border, the window grows, at last to the whole matrix before the tile.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_tools.local.corridor import Bounds, find_end
from gpu_tools.local.forbidden import ForbiddenPairs
from gpu_tools.local.problem import Problem
from gpu_tools.local.window import bound_window

SMALLEST_TILE = 64
_SMALLEST_MARGIN = 128


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
    """

    def __init__(self, problem: Problem, side: int, upper: NDArray[np.int32]):
        self.problem, self.side, self.upper = problem, side, upper
        self.highest = upper.max(axis=1)
        """Of each row of tiles, for there can be millions of them."""
        self.forbidden = ForbiddenPairs()
        self.exact: dict[tuple[int, int], tuple[int, int, int]] = {}
        """By tile whose bound is its score: the end's cell, the first tile of its window."""

    def best_end(self, least: int) -> tuple[int, tuple[int, int]] | None:
        """Return the best score and the first cell that has it, or None if it is under `least`."""
        while True:
            down = int(self.highest.argmax())
            score = int(self.highest[down])
            if score < least:
                return None
            row = [(down, int(across)) for across in np.flatnonzero(self.upper[down] == score)]
            unsure = [tile for tile in row if tile not in self.exact]
            if not unsure:
                cell = min(self.exact[tile][0] for tile in row)
                return score, divmod(cell, self.problem.shape[1])
            self._settle(unsure[0])

    @property
    def bounds(self) -> Bounds:
        """What the tiles tell of all alignments."""
        return Bounds(self.upper, self.side.bit_length() - 1)

    def use_up(self, start: tuple[int, int], end: tuple[int, int], cigar) -> None:
        """Forbid the pairs of an alignment; forget what might have rested on them."""
        self.forbidden.add(start, cigar)
        first, last = self._tile_of(*start), self._tile_of(end[0] - 1, end[1] - 1)
        self.exact = {
            tile: known
            for tile, known in self.exact.items()
            if not (
                first[0] <= tile[0] and first[1] <= tile[1]
                and last[0] >= known[1] and last[1] >= known[2]
            )
        }  # fmt: skip
        if max(last[0] - first[0], last[1] - first[1]) > _margin(self.side):
            self._refresh(first, last)

    def _tile_of(self, row: int, column: int) -> tuple[int, int]:
        return row // self.side, column // self.side

    def _refresh(self, first: tuple[int, int], last: tuple[int, int]) -> None:
        """Lower the bounds around a long alignment and in its shadow at once."""
        reach = int(self.upper[last]) // max(self.problem.gap_extend, 1) // self.side + 1
        down, across = (min(t + reach, n - 1) for t, n in zip(last, self.upper.shape, strict=True))
        self._bound((max(first[0] - 1, 0), max(first[1] - 1, 0)), (down, across))

    def _settle(self, tile: tuple[int, int]) -> None:
        """Make the bound of a tile exact."""
        score, rows, columns = int(self.upper[tile]), *self.problem.shape
        top, left = (t * self.side for t in tile)
        ends = top + 1, min(top + self.side, rows), left + 1, min(left + self.side, columns)
        place = find_end(self.problem, ends, score, self.bounds, self.forbidden)
        if place is not None:
            self.exact[tile] = ((place[0] - 1) * columns + place[1] - 1, 0, 0)
            return
        # an alignment of that score is no shorter
        shortest = int(self.upper[tile]) // max(int(self.problem.table.max()), 1) // self.side
        margin = max(_margin(self.side), shortest + 1)
        while tile not in self.exact:
            self._bound((max(tile[0] - margin, 0), max(tile[1] - margin, 0)), tile)
            margin *= 2

    def _bound(self, first: tuple[int, int], last: tuple[int, int]) -> None:
        """Bound the tiles of a window from tile `first` to tile `last`."""
        rows, columns = self.problem.shape
        top, left = first[0] * self.side, first[1] * self.side
        window = (
            top, min((last[0] + 1) * self.side, rows),
            left, min((last[1] + 1) * self.side, columns),
        )  # fmt: skip
        border = self._border(first, window)
        found = bound_window(self.problem, window, self.side, border, self.forbidden)
        inside = self.upper[first[0] : last[0] + 1, first[1] : last[1] + 1]
        np.minimum(inside, found.upper, out=inside, casting="unsafe")
        self.highest[first[0] : last[0] + 1] = self.upper[first[0] : last[0] + 1].max(axis=1)
        if found.lower[-1, -1] == found.upper[-1, -1] and found.end == found.possible:
            self.exact[last] = (found.end, *first)

    def _border(self, first: tuple[int, int], window) -> tuple[NDArray, NDArray]:
        """Return upper bounds of the cells above (from the corner on) and left of a window."""
        top, bottom, left, right = window
        above = np.zeros(right - left + 1, dtype=np.int64)
        beside = np.zeros(bottom - top, dtype=np.int64)
        if top:
            over = self.upper[first[0] - 1]
            above[1:] = over[np.arange(left, right) // self.side]
            above[0] = over[first[1] - 1] if left else 0
        if left:
            beside[:] = self.upper[np.arange(top, bottom) // self.side, first[1] - 1]
        return above, beside


def _margin(side: int) -> int:
    """Return the tiles before a tile with which its window begins."""
    return max(_SMALLEST_MARGIN // side, 1)
