"""Tiles' bounds and what small windows tell of them, one window after the other.

A window that begins a few tiles before a tile shows the ends of alignments that fit into it. It is
filled in cells of 16 bits. `gpu_tools.local.search.tiles` handles scores that 16 bits cannot hold
and ends of alignments that begin further away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.local.problem import Rectangle
from gpu_tools.local.search.window import WindowBorder, fill, is_narrow

NOTHING, FOUND, FAR = range(3)
"""How the search for an end ends: no tile is left; a cell is known; a tile needs more."""
_NUMBER, _CELL, _DOWN, _ACROSS = range(4)


class TileBounds(NamedTuple):
    """Bounds of all tiles' scores.

    `upper` are the tiles' bounds, `highest` the highest bound of each row of tiles. For tiles whose
    bound is their score, `exact` holds, sorted, the tile's number, the first cell that has the
    score, and the first tile, down and across, on which that rests. Its first `count` rows are in
    use. When it is full, all rows are dropped, and found again where they are needed.
    """

    upper: NDArray[np.int32]
    highest: NDArray[np.int32]
    exact: NDArray[np.int64]
    count: NDArray[np.int64]


def make_bounds(upper: NDArray[np.int32], most: int) -> TileBounds:
    """Return bounds with space for `most` exact tiles, but for no fewer than those of a row."""
    exact = np.empty((max(most, upper.shape[1]), 4), dtype=np.int64)
    return TileBounds(upper, upper.max(axis=1), exact, np.zeros(1, dtype=np.int64))


@njit(cache=True, nogil=True)
def next_end(problem, bounds, side, margin, forbidden, costs, least):
    """Return how the search ends, the highest score, and its first cell or the tile in doubt.

    Parameters
    ----------
    problem : Problem
    bounds : TileBounds
        Brought up to date.
    side : int
        Of a tile.
    margin : int
        Tiles before a tile with which its first window begins.
    forbidden : tuple of ndarray
        Rows and columns of forbidden pairs.
    costs : AffineCosts
        Of 16 bits.
    least : int
        Smallest score.
    """
    fits = margin * side * max(problem.table.max(), 1)
    while True:
        down = np.argmax(bounds.highest)
        score = bounds.highest[down]
        if score < least:
            return NOTHING, score, 0
        unsure, cell = _first_cell(bounds, down, score)
        if unsure < 0:
            return FOUND, score, cell
        tile = down, unsure
        if score >= fits or not _settle(problem, bounds, side, margin, tile, forbidden, costs):
            return FAR, score, _number(bounds, tile)


@njit(nogil=True)
def _settle(problem, bounds, side, margin, tile, forbidden, costs):
    """Tell whether windows make a tile's bound lower, or exact."""
    score = bounds.upper[tile]
    for before in (margin, 2 * margin):
        first = max(tile[0] - before, 0), max(tile[1] - before, 0)
        if not bound_tiles(problem, bounds, side, first, tile, forbidden, costs):
            return False
        if bounds.upper[tile] < score or is_exact(bounds, tile):
            return True
    return False


@njit(nogil=True)
def _first_cell(bounds, down, score):
    """Return the first tile of a row that may have the score, or -1 and the first cell that has."""
    first = np.iinfo(np.int64).max
    for across in range(bounds.upper.shape[1]):
        if bounds.upper[down, across] == score:
            index, there = _find(bounds, _number(bounds, (down, across)))
            if not there:
                return across, first
            first = min(first, bounds.exact[index, _CELL])
    return -1, first


@njit(cache=True, nogil=True)
def bound_tiles(problem, bounds, side, first, last, forbidden, costs):
    """Bound the tiles from the first to the last corner; return False if costs are too narrow.

    The end of the last tile is remembered if it is exact.
    """
    rows, columns = len(problem.query), len(problem.subject)
    window = Rectangle(
        first[0] * side, min((last[0] + 1) * side, rows),
        first[1] * side, min((last[1] + 1) * side, columns),
    )  # fmt: skip
    border = _border(bounds.upper, side, first, window)
    if costs.weights.itemsize == 2 and not is_narrow(problem, window, border):
        return False
    score = bounds.upper[last[0], last[1]]
    upper, possible = fill(problem, window, side, score, border, forbidden, costs)
    for i in range(upper.shape[0]):
        down = first[0] + i
        for j in range(upper.shape[1]):
            bound = bounds.upper[down, first[1] + j]
            bounds.upper[down, first[1] + j] = min(bound, upper[i, j])
        bounds.highest[down] = bounds.upper[down].max()
    if possible >= 0:  # else the last tile's bound is lower now
        nothing = WindowBorder(np.zeros_like(border.above), np.zeros_like(border.left))
        lower, end = fill(problem, window, side, score, nothing, forbidden, costs)
        if lower[-1, -1] == upper[-1, -1] and end == possible:
            remember(bounds, last, end, first)
    return True


@njit(nogil=True)
def _border(upper, side, first, window):
    """Return upper bounds of the cells around a window."""
    above = np.zeros(window.right - window.left + 1, np.int64)
    left = np.zeros(window.bottom - window.top, np.int64)
    if window.top:
        above[0] = upper[first[0] - 1, first[1] - 1] if window.left else 0
        for column in range(window.left, window.right):
            above[column - window.left + 1] = upper[first[0] - 1, column // side]
    if window.left:
        for row in range(window.top, window.bottom):
            left[row - window.top] = upper[row // side, first[1] - 1]
    return WindowBorder(above, left)


@njit(nogil=True)
def _number(bounds, tile):
    return tile[0] * bounds.upper.shape[1] + tile[1]


@njit(nogil=True)
def _find(bounds, number):
    """Return where a tile is among the exact ones, or would be, and whether it is there."""
    index = np.searchsorted(bounds.exact[: bounds.count[0], _NUMBER], number)
    return index, index < bounds.count[0] and bounds.exact[index, _NUMBER] == number


@njit(cache=True, nogil=True)
def is_exact(bounds, tile):
    """Tell whether a tile's bound is its score, and its first cell is remembered."""
    return _find(bounds, _number(bounds, tile))[1]


@njit(cache=True, nogil=True)
def remember(bounds, tile, cell, first):
    """Remember the first cell of a tile that has its bound, and on which tiles that rests."""
    if bounds.count[0] == len(bounds.exact):
        bounds.count[0] = 0
    number = _number(bounds, tile)
    index, there = _find(bounds, number)
    if not there:
        for k in range(bounds.count[0], index, -1):
            bounds.exact[k] = bounds.exact[k - 1]
        bounds.count[0] += 1
    bounds.exact[index, _NUMBER], bounds.exact[index, _CELL] = number, cell
    bounds.exact[index, _DOWN], bounds.exact[index, _ACROSS] = first


@njit(cache=True, nogil=True)
def forget(bounds, first, last):
    """Drop the exact tiles that may rest on pairs between two tiles."""
    count = 0
    for k in range(bounds.count[0]):
        down, across = divmod(bounds.exact[k, _NUMBER], bounds.upper.shape[1])
        behind = first[0] <= down and first[1] <= across
        before = bounds.exact[k, _DOWN] <= last[0] and bounds.exact[k, _ACROSS] <= last[1]
        if not (behind and before):
            bounds.exact[count] = bounds.exact[k]
            count += 1
    bounds.count[0] = count
