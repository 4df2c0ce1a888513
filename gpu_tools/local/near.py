"""What windows tell of tiles, one after the other: compiled, for there are many and all are small.

A window that begins a few tiles before a tile shows the ends of alignments that fit into it. It is
filled in cells of 16 bits; for what they cannot hold, and for ends that come from further away,
`gpu_tools.local.tiles` has other ways.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.local.cpu.window import fill, is_narrow

NOTHING, FOUND, FAR = range(3)
"""How the search for an end ends: no tile is left; a cell is known; a tile needs more."""
_NUMBER, _CELL, _DOWN, _ACROSS = range(4)


class Known(NamedTuple):
    """What is known of all tiles.

    `upper` are bounds of their scores, `highest` those of rows of tiles. For tiles whose bound is
    their score, `exact` holds, sorted, the tile's number, the first cell that has the score, and
    the first tile, down and across, of all that this rests on. It has as many rows as `count` says;
    when it is full all are forgotten, and found again where they are needed.
    """

    upper: NDArray[np.int32]
    highest: NDArray[np.int32]
    exact: NDArray[np.int64]
    count: NDArray[np.int64]


def make_known(upper: NDArray[np.int32], most: int) -> Known:
    """Return what bounds tell; `most` exact tiles are remembered, but no fewer than a row's."""
    exact = np.empty((max(most, upper.shape[1]), 4), dtype=np.int64)
    return Known(upper, upper.max(axis=1), exact, np.zeros(1, dtype=np.int64))


@njit(cache=True, nogil=True)
def find_end(problem, known, sizes, used, costs, least):
    """Do what `next_end` does, for Python."""
    return next_end(problem, known, sizes, used, costs, least)


@njit(cache=True, nogil=True)
def next_end(problem, known, sizes, used, costs, least):
    """Return whether there is an end, the highest score, and its first cell or the tile in doubt.

    Parameters
    ----------
    problem : Problem
    known : Known
        Brought up to date.
    sizes : tuple
        The side of a tile, the tiles before it where its window begins, and the tile, down and
        across, before which no window begins.
    used : tuple of ndarray
        Rows and columns of forbidden pairs.
    costs : AffineCosts
        Of 16 bits.
    least : int
        Smallest score.
    """
    side, margin, _ = sizes
    fits = margin * side * max(problem.table.max(), 1)
    while True:
        down = np.argmax(known.highest)
        score = known.highest[down]
        if score < least:
            return NOTHING, score, 0
        unsure, cell = _first_cell(known, down, score)
        if unsure < 0:
            return FOUND, score, cell
        tile = down, unsure
        if score >= fits or not _settle(problem, known, sizes, tile, used, costs):
            return FAR, score, _number(known, tile)


@njit(cache=True, nogil=True)
def _settle(problem, known, sizes, tile, used, costs):
    """Tell whether windows make a tile's bound less, or exact."""
    side, margin, first = sizes
    score = known.upper[tile]
    for before in (margin, 2 * margin):
        corners = (max(tile[0] - before, first[0]), max(tile[1] - before, first[1])), tile
        if not bound_tiles(problem, known, side, corners, used, costs):
            return False
        if known.upper[tile] < score or is_exact(known, tile):
            return True
    return False


@njit(cache=True, nogil=True)
def _first_cell(known, down, score):
    """Return the first tile of a row that may have the score, or -1 and the first cell that has."""
    first = np.iinfo(np.int64).max
    for across in range(known.upper.shape[1]):
        if known.upper[down, across] == score:
            at, there = _find(known, _number(known, (down, across)))
            if not there:
                return across, first
            first = min(first, known.exact[at, _CELL])
    return -1, first


@njit(cache=True, nogil=True)
def bound_tiles(problem, known, side, corners, used, costs):
    """Bound the tiles from the first corner's to the last's; return False if costs are too narrow.

    The last one's end is remembered if it is exact.
    """
    (first_down, first_across), (last_down, last_across) = corners
    rows, columns = len(problem.query), len(problem.subject)
    window = (
        first_down * side, min((last_down + 1) * side, rows),
        first_across * side, min((last_across + 1) * side, columns),
    )  # fmt: skip
    border = _border(known.upper, side, corners[0], window)
    if costs.weights.itemsize == 2 and not is_narrow(problem, window, border):
        return False
    asked = side, known.upper[last_down, last_across]
    upper, possible = fill(problem, window, asked, border, used, costs)
    for i in range(upper.shape[0]):
        down = first_down + i
        for j in range(upper.shape[1]):
            bound = known.upper[down, first_across + j]
            known.upper[down, first_across + j] = min(bound, upper[i, j])
        known.highest[down] = known.upper[down].max()
    if possible >= 0:  # else the last tile's bound is less now
        nothing = (np.zeros_like(border[0]), np.zeros_like(border[1]))
        lower, end = fill(problem, window, asked, nothing, used, costs)
        if lower[-1, -1] == upper[-1, -1] and end == possible:
            remember(known, (last_down, last_across), end, corners[0])
    return True


@njit(cache=True, nogil=True)
def _border(upper, side, first, window):
    """Return upper bounds of the cells above (from the corner on) and left of a window."""
    top, bottom, left, right = window
    above, beside = np.zeros(right - left + 1, np.int64), np.zeros(bottom - top, np.int64)
    if top:
        above[0] = upper[first[0] - 1, first[1] - 1] if left else 0
        for column in range(left, right):
            above[column - left + 1] = upper[first[0] - 1, column // side]
    if left:
        for row in range(top, bottom):
            beside[row - top] = upper[row // side, first[1] - 1]
    return above, beside


@njit(cache=True, nogil=True)
def _number(known, tile):
    return tile[0] * known.upper.shape[1] + tile[1]


@njit(cache=True, nogil=True)
def _find(known, number):
    """Return where a tile is among the exact ones, or would be, and whether it is."""
    low, high = 0, known.count[0]
    while low < high:
        middle = (low + high) // 2
        if known.exact[middle, _NUMBER] < number:
            low = middle + 1
        else:
            high = middle
    return low, low < known.count[0] and known.exact[low, _NUMBER] == number


@njit(cache=True, nogil=True)
def is_exact(known, tile):
    """Tell whether a tile's bound is its score, and its first cell is remembered."""
    return _find(known, _number(known, tile))[1]


@njit(cache=True, nogil=True)
def remember(known, tile, cell, first):
    """Remember the first cell of a tile that has its bound, and on which tiles that rests."""
    if known.count[0] == len(known.exact):
        known.count[0] = 0
    number = _number(known, tile)
    at, there = _find(known, number)
    if not there:
        for k in range(known.count[0], at, -1):
            known.exact[k] = known.exact[k - 1]
        known.count[0] += 1
    known.exact[at, _NUMBER], known.exact[at, _CELL] = number, cell
    known.exact[at, _DOWN], known.exact[at, _ACROSS] = first


@njit(cache=True, nogil=True)
def forget(known, first, last):
    """Forget what might rest on pairs between two tiles."""
    kept = 0
    for k in range(known.count[0]):
        down, across = divmod(known.exact[k, _NUMBER], known.upper.shape[1])
        after = first[0] <= down and first[1] <= across
        if not (after and last[0] >= known.exact[k, _DOWN] and last[1] >= known.exact[k, _ACROSS]):
            known.exact[kept] = known.exact[k]
            kept += 1
    known.count[0] = kept
