"""Bounds on local scores, tile by tile, from a window of the matrix.

What comes into a window across its top and left border is known only within bounds: at least
nothing, at most the upper bounds of the tiles there. One fill of the window starts from the lower
bounds, another one from the upper bounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.hardware.cpu import simd
from gpu_tools.local.cpu import vectors
from gpu_tools.local.problem import Rectangle


class WindowBorder(NamedTuple):
    """Scores of the cells above a window, from its left corner on (columns + 1), and left of it."""

    above: NDArray[np.int64]
    left: NDArray[np.int64]


class BestCell(NamedTuple):
    """A score, and the row and the column of the first cell that has it; -1 if there is none."""

    score: int
    row: int
    column: int


class LastTile(NamedTuple):
    """The last tile of a window: its side, its columns within a strip, the window's rows.

    Its cells are of interest from the score `least` on.
    """

    side: int
    rows: int
    first: int
    end: int
    least: int


@njit(cache=True, nogil=True)
def is_narrow(problem, window, border):
    """Tell whether 16 bits hold all scores of a window."""
    steepest = max(np.abs(problem.table).max(), problem.gap_open)
    largest = max(border.above.max(), border.left.max())
    pairs = min(window.bottom - window.top, window.right - window.left)
    largest += pairs * max(problem.table.max(), 0)
    return largest + steepest < np.iinfo(np.int16).max


@njit(cache=True, nogil=True)
def fill(problem, window, side, least, border, forbidden, costs):
    """Return each tile's largest score in a window, and the first cell that has the last one's.

    Parameters
    ----------
    problem : Problem
    window : Rectangle
        It begins at a tile's corner.
    side : int
        Of a tile, a power of two.
    least : int
        Score from which on the last tile's cell is wanted.
    border : WindowBorder
    forbidden : tuple of ndarray
        Rows and columns of forbidden pairs.
    costs : AffineCosts
        Of a type that is wide enough, see `is_narrow`.

    Returns
    -------
    ndarray of int64, shape (tiles down, tiles across)
    int
        The first by row, then column, as row * columns of the matrix + column; -1 if the score is
        less than `least`.
    """
    weights = costs.weights
    rows, columns = window.bottom - window.top, window.right - window.left
    lanes, zero = simd.VECTOR_BYTES // weights.itemsize, np.int64(weights[vectors.ZERO])
    down, across = -(-rows // side), -(-columns // side)
    block = vectors.block_of(columns, lanes, side)
    strip = lanes * block
    width = -(-columns // strip) * strip
    symbols = vectors.reversed_symbols(problem.query[window.top : window.bottom], weights)
    above = np.full(width + 1, weights[vectors.ZERO], weights.dtype)
    above[: columns + 1] = border.above + zero
    left = np.full((rows + 1) // 2 * 2, weights[vectors.ZERO], weights.dtype)
    left[:rows] = border.left + zero
    entering = (left, left.copy())
    most = np.full((down, width // block), weights[vectors.ZERO], weights.dtype)
    best = BestCell(np.int64(least), np.int64(-1), np.int64(0))
    for first in range(0, width, strip):
        laid_out = vectors.laid_out(
            problem.subject, window.left + first, block, weights, costs.profile
        )
        part = Rectangle(window.top, window.bottom, window.left + first, window.right)
        barred = _barred_positions(forbidden, part, lanes, block)
        last_tile = LastTile(side, rows, (across - 1) * side - first, columns - first, best.score)
        entering, found = _sweep(
            symbols, laid_out, above[first : first + strip + 1], entering, barred, weights,
            most[:, first // block :], last_tile,
        )  # fmt: skip
        cell = found.row, found.column + first
        sooner = best.row < 0 or found.score > best.score or cell < (best.row, best.column)
        if found.row >= 0 and sooner:
            best = BestCell(found.score, cell[0], cell[1])
    largest = np.zeros((down, across), np.int64)
    for i in range(down):
        for j in range(min(most.shape[1], across * (side // block))):
            tile = j * block // side
            largest[i, tile] = max(largest[i, tile], most[i, j] - zero)
    if best.row < 0:
        return largest, np.int64(-1)
    return largest, (window.top + best.row) * len(problem.subject) + window.left + best.column


@njit(nogil=True)
def _barred_positions(forbidden, part, lanes, block):
    """Return positions of a strip's forbidden pairs by step, and where each step's begin.

    Positions in lower rows come behind all those in upper rows.
    """
    f_rows, f_columns = forbidden
    begin, end = np.searchsorted(f_rows, part.top), np.searchsorted(f_rows, part.bottom)
    right = min(part.right, part.left + lanes * block)
    begins = np.zeros((part.bottom - part.top + 1) // 2 + lanes + 1, np.int64)
    for k in range(begin, end):
        if part.left <= f_columns[k] < right:
            begins[(f_rows[k] - part.top) // 2 + (f_columns[k] - part.left) // block + 1] += 1
    begins = np.cumsum(begins)
    positions, filled = np.empty(begins[-1], np.int64), begins.copy()
    for k in range(begin, end):
        if part.left <= f_columns[k] < right:
            lane, within = divmod(f_columns[k] - part.left, block)
            pair, below = divmod(f_rows[k] - part.top, 2)
            positions[filled[pair + lane]] = (below * block + within) * lanes + lane
            filled[pair + lane] += 1
    return begins, positions


@njit(nogil=True)
def _sweep(symbols, columns, above, entering, barred_positions, weights, most, last_tile):
    """Sweep a strip of a window, as `score_pass` does, from what lies around it.

    Returned are the best scores and gaps of the strip's last column, and the last tile's best cell,
    the first by row, then column.
    """
    begins, positions = barred_positions
    lanes, half = simd.VECTOR_BYTES // weights.itemsize, last_tile.side // 2
    size, n_rows = len(above) - 1, last_tile.rows
    block, n_pairs, zero = size // lanes, len(entering[0]) // 2, weights[vectors.ZERO]
    last_tile_pair = (n_rows - 1) // last_tile.side * half
    best, falling = np.full(size, zero, weights.dtype), np.full(size, zero, weights.dtype)
    barred, upper = np.zeros(2 * size, weights.dtype), np.empty(size, weights.dtype)
    for column in range(max(last_tile.end, 0), size):  # these are not in the window
        position = column % block * lanes + column // block
        barred[position] = barred[position + size] = zero
    following = np.empty_like(entering[0]), np.empty_like(entering[0])
    edge = np.full(5 * lanes, zero, weights.dtype)
    largest, hidden = np.full(lanes, zero, weights.dtype), np.zeros(lanes, weights.dtype)
    largest_of_all, none_has = np.iinfo(weights.dtype).max, np.iinfo(weights.dtype).max - 1
    limit = np.full(lanes, largest_of_all, weights.dtype)  # cells as high as that are looked at
    best_so_far = weights.dtype.type(min(last_tile.least + zero, none_has)), -1, 0
    first_lane, of_tile = max(last_tile.first, 0) // block, (last_tile.first, last_tile.end)
    end_lane = min(-(-last_tile.end // block), lanes)
    for step in range(n_pairs + lanes - 1):
        if step < lanes:  # the lane begins: what it did before was with nothing
            for c in range(block):
                best[c * lanes + step] = falling[c * lanes + step] = above[step * block + c + 1]
            edge[step], largest[step] = above[step * block], zero
        for lane in range(step & (half - 1), min(step, lanes), half):  # those that enter a tile
            if step - lane < n_pairs:
                vectors.close_tile(most, (step - lane) // half - 1, largest, lane, zero)
        if first_lane <= step - last_tile_pair < end_lane:
            limit[step - last_tile_pair] = best_so_far[0]
        if n_rows % 2 and 0 <= step - n_pairs + 1 < lanes:  # there is no lower row
            hidden[step - n_pairs + 1] = zero
        if 0 <= step - n_pairs < lanes:
            lane = step - n_pairs
            vectors.close_tile(most, (n_rows - 1) // last_tile.side, largest, lane, zero)
            limit[lane] = largest_of_all
        begin, end = begins[step], begins[step + 1]
        for k in range(begin, end):
            barred[positions[k]] = zero
        here = n_pairs + lanes - 1 - step
        rows = simd.load(symbols[0], here), simd.load(symbols[1], here)
        state = vectors.enter(edge, entering, 2 * min(step, n_pairs - 1), lanes)
        last, highest = vectors.advance(columns, best, falling, rows, state, weights, barred, upper)
        vectors.leave(edge, state[3], last, following, 2 * (step - lanes + 1), lanes)
        below = simd.add_saturating(highest[1], simd.load(hidden, 0))
        highest_of_both = simd.maximum(highest[0], below)
        simd.store(largest, 0, simd.maximum(simd.load(largest, 0), highest_of_both))
        for k in range(begin, end):
            barred[positions[k]] = 0
        if simd.any_at_most(simd.load(limit, 0), highest_of_both):
            for lane in range(first_lane, end_lane):
                if limit[lane] != largest_of_all:
                    row = 2 * (step - lane)
                    best_so_far = _first_of_row(upper, best_so_far, row, lane, of_tile, lanes)
                    if not hidden[lane]:
                        best_so_far = _first_of_row(
                            best, best_so_far, row + 1, lane, of_tile, lanes
                        )
            for lane in range(first_lane, end_lane):
                if limit[lane] != largest_of_all:
                    limit[lane] = best_so_far[0]
    vectors.close_tile(most, (n_rows - 1) // last_tile.side, largest, lanes - 1, zero)
    score, row, column = best_so_far
    return following, BestCell(np.int64(score) - np.int64(zero), np.int64(row), np.int64(column))


@njit(nogil=True)
def _first_of_row(cells, known, row, lane, columns, lanes):
    """Return score, row and column of the best cell of a lane's row, or what is known if better."""
    block = len(cells) // lanes
    score, known_row, known_column = known
    end = min((lane + 1) * block, columns[1])
    for column in range(max(lane * block, columns[0]), end):
        value = cells[(column - lane * block) * lanes + lane]
        sooner = known_row < 0 or (row, column) < (known_row, known_column)
        if value > score or (value == score and sooner):
            score, known_row, known_column = value, row, column
    return score, known_row, known_column
