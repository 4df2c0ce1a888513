"""Bounds on local scores, tile by tile, from a window of the matrix.

What comes into a window across its top and left border is known only within bounds: at least
nothing, at most the upper bounds of the tiles there. Two sweeps carry the one and the other.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from gpu_tools.hardware.cpu import simd
from gpu_tools.local.cpu import vectors


@njit(cache=True, nogil=True)
def is_narrow(problem, window, border):
    """Tell whether 16 bits hold all scores of a window."""
    top, bottom, left, right = window
    steepest = max(np.abs(problem.table).max(), problem.gap_open)
    largest = max(border[0].max(), border[1].max())
    largest += min(bottom - top, right - left) * max(problem.table.max(), 0)
    return largest + steepest < np.iinfo(np.int16).max


@njit(cache=True, nogil=True)
def fill(problem, window, asked, border, used, costs):
    """Return each tile's largest score in a window, and the first cell that has the last one's.

    Parameters
    ----------
    problem : Problem
    window : tuple of int
        First and end row, first and end column; it begins at a tile's corner.
    asked : tuple of int
        Side of a tile, a power of two, and the score from which on the last one's cell is wanted.
    border : tuple of ndarray of int64
        Scores of the cells above the window, from its left corner on (columns + 1), and of those
        left of it (rows).
    used : tuple of ndarray
        Rows and columns of forbidden pairs.
    costs : AffineCosts
        Of a type that is wide enough, see `is_narrow`.

    Returns
    -------
    ndarray of int64, shape (tiles down, tiles across)
    int
        The first by row, then column, as row * columns of the matrix + column; -1 if the score is
        less than asked for.
    """
    weights, (tile, least) = costs.weights, asked
    top, bottom, left, right = window
    lanes, zero = simd.VECTOR_BYTES // weights.itemsize, np.int64(weights[vectors.ZERO])
    down, across = -(-(bottom - top) // tile), -(-(right - left) // tile)
    block = vectors.block_of(right - left, lanes, tile)
    strip = lanes * block
    width = -(-(right - left) // strip) * strip
    symbols = vectors.reversed_symbols(problem.query[top:bottom], weights)
    above = np.full(width + 1, weights[vectors.ZERO], weights.dtype)
    above[: right - left + 1] = border[0] + zero
    beside = np.full((bottom - top + 1) // 2 * 2, weights[vectors.ZERO], weights.dtype)
    beside[: bottom - top] = border[1] + zero
    sides = (beside, beside.copy())
    most = np.full((down, width // block), weights[vectors.ZERO], weights.dtype)
    score, row, column = np.int64(least), np.int64(-1), np.int64(0)
    for first in range(0, width, strip):
        columns = vectors.lay_out(problem.subject, left + first, block, costs)
        bars = _bars(used, (top, bottom, left + first, right), lanes, block)
        columns_of_last = (across - 1) * tile - first, right - left - first
        target = (tile, bottom - top, columns_of_last, score)
        blocks = most[:, first // block :]
        over = above[first : first + strip + 1]
        sides, found = _sweep(symbols, columns, over, sides, bars, weights, blocks, target)
        place = found[1], found[2] + first
        if found[1] >= 0 and (row < 0 or found[0] > score or place < (row, column)):
            score, row, column = found[0], place[0], place[1]
    largest = np.zeros((down, across), np.int64)
    for i in range(down):
        for j in range(min(most.shape[1], across * (tile // block))):
            at = j * block // tile
            largest[i, at] = max(largest[i, at], most[i, j] - zero)
    return largest, (top + row) * len(problem.subject) + left + column if row >= 0 else -1


@njit(cache=True, nogil=True)
def _bars(used, window, lanes, block):
    """Return positions of a strip's forbidden pairs by step, and where each step's begin.

    Positions in lower rows come behind all those in upper rows.
    """
    f_rows, f_columns = used
    top, bottom, left, right = window
    begin, end = np.searchsorted(f_rows, top), np.searchsorted(f_rows, bottom)
    right = min(right, left + lanes * block)
    begins = np.zeros((bottom - top + 1) // 2 + lanes + 1, np.int64)
    for k in range(begin, end):
        if left <= f_columns[k] < right:
            begins[(f_rows[k] - top) // 2 + (f_columns[k] - left) // block + 1] += 1
    begins = np.cumsum(begins)
    positions, filled = np.empty(begins[-1], np.int64), begins.copy()
    for k in range(begin, end):
        if left <= f_columns[k] < right:
            lane, within = divmod(f_columns[k] - left, block)
            pair, below = divmod(f_rows[k] - top, 2)
            positions[filled[pair + lane]] = (below * block + within) * lanes + lane
            filled[pair + lane] += 1
    return begins, positions


@njit(cache=True, nogil=True)
def _sweep(symbols, columns, above, sides, bars, weights, most, target):
    """Sweep a strip of a window, as `score_pass` does, with what lies around it.

    `target` is the side of a tile, the rows, the first and the end column of the last tile, and the
    score from which on it is of interest. Returned are the best scores and gaps of the last column,
    and the target's largest score, its row and column, the first by row, then column; the row is -1
    if the score is less.
    """
    begins, positions = bars
    tile, n_rows, (target_first, target_end), least = target
    lanes, half = simd.VECTOR_BYTES // weights.itemsize, tile // 2
    size = len(above) - 1
    block, n_pairs, zero = size // lanes, len(sides[0]) // 2, weights[vectors.ZERO]
    target_pair = (n_rows - 1) // tile * half
    best, falling = np.full(size, zero, weights.dtype), np.full(size, zero, weights.dtype)
    barred, upper = np.zeros(2 * size, weights.dtype), np.empty(size, weights.dtype)
    for column in range(max(target_end, 0), size):  # these are not in the window
        place = column % block * lanes + column // block
        barred[place] = barred[place + size] = zero
    following = np.empty_like(sides[0]), np.empty_like(sides[0])
    edge = np.full(5 * lanes, zero, weights.dtype)
    largest, hidden = np.full(lanes, zero, weights.dtype), np.zeros(lanes, weights.dtype)
    largest_of_all, none_has = np.iinfo(weights.dtype).max, np.iinfo(weights.dtype).max - 1
    bar = np.full(lanes, largest_of_all, weights.dtype)  # cells as high as that are looked at
    best_so_far = (weights.dtype.type(min(least + zero, none_has)), -1, 0)
    first_lane, end_lane = max(target_first, 0) // block, min(-(-target_end // block), lanes)
    for step in range(n_pairs + lanes - 1):
        if step < lanes:  # the lane begins: what it did before was with nothing
            for c in range(block):
                best[c * lanes + step] = falling[c * lanes + step] = above[step * block + c + 1]
            edge[step], largest[step] = above[step * block], zero
        for lane in range(step & (half - 1), min(step, lanes), half):  # those that enter a tile
            if step - lane < n_pairs:
                vectors.close_tile(most, (step - lane) // half - 1, largest, lane, zero)
        if first_lane <= step - target_pair < end_lane:
            bar[step - target_pair] = best_so_far[0]
        if n_rows % 2 and 0 <= step - n_pairs + 1 < lanes:  # there is no lower row
            hidden[step - n_pairs + 1] = zero
        if 0 <= step - n_pairs < lanes:
            lane = step - n_pairs
            vectors.close_tile(most, (n_rows - 1) // tile, largest, lane, zero)
            bar[lane] = largest_of_all
        begin, end = begins[step], begins[step + 1]
        for k in range(begin, end):
            barred[positions[k]] = zero
        here = n_pairs + lanes - 1 - step
        rows = simd.load(symbols[0], here), simd.load(symbols[1], here)
        state = vectors.enter(edge, sides, 2 * min(step, n_pairs - 1), lanes)
        last, highest = vectors.advance(columns, best, falling, rows, state, weights, barred, upper)
        vectors.leave(edge, state[3], last, following, 2 * (step - lanes + 1), lanes)
        below = simd.add_saturating(highest[1], simd.load(hidden, 0))
        highest_of_both = simd.maximum(highest[0], below)
        simd.store(largest, 0, simd.maximum(simd.load(largest, 0), highest_of_both))
        for k in range(begin, end):
            barred[positions[k]] = 0
        if simd.any_at_most(simd.load(bar, 0), highest_of_both):
            for lane in range(first_lane, end_lane):
                if bar[lane] != largest_of_all:
                    place = 2 * (step - lane), lane, target_first, min(target_end, size)
                    best_so_far = _first_of_row(upper, best_so_far, place, lanes)
                    if not hidden[lane]:
                        place = place[0] + 1, place[1], place[2], place[3]
                        best_so_far = _first_of_row(best, best_so_far, place, lanes)
            for lane in range(first_lane, end_lane):
                if bar[lane] != largest_of_all:
                    bar[lane] = best_so_far[0]
    vectors.close_tile(most, (n_rows - 1) // tile, largest, lanes - 1, zero)
    score, row, column = best_so_far
    return following, (np.int64(score) - np.int64(zero), row, column)


@njit(nogil=True)
def _first_of_row(cells, known, place, lanes):
    """Return score, row and column of the best cell of a lane's row, or what is known if better."""
    row, lane, first, end = place
    block = len(cells) // lanes
    score, known_row, known_column = known
    for column in range(max(lane * block, first), min((lane + 1) * block, end)):
        value = cells[(column - lane * block) * lanes + lane]
        sooner = known_row < 0 or (row, column) < (known_row, known_column)
        if value > score or (value == score and sooner):
            score, known_row, known_column = value, row, column
    return score, known_row, known_column
