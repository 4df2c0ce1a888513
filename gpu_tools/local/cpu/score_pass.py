"""The score pass on a CPU, strip by strip; see `gpu_tools.local.cpu.vectors`.

It bounds the scores of the tiles of a matrix, or of a part of it, a *window*. What comes into a
window across its top and left border is known as upper bounds alone.

Some steps at a time are left out if no alignment of interest can run through their cells: the
highest score in the lanes or on the border, and a match for each row or column that is left, make
less than the threshold. They hand on nothing, as if nothing had come in.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.cpu.loops import first_from, largest_in, largest_of
from gpu_tools.hardware.progress import CELLS_PER_REPORT, watched
from gpu_tools.local.cpu.vectors import (
    LONGEST_BLOCK,
    ZERO,
    AffineCosts,
    advance,
    block_of,
    close_tile,
    costs_of,
    enter,
    laid_out,
    leave,
    reversed_symbols,
)
from gpu_tools.local.problem import ALL, Problem, Rectangle, Threshold

_log = logging.getLogger(__name__)

_NO_PAIRS = np.empty(0, np.int64), np.empty(0, np.int64)
STEPS = 32
"""Steps that are left out, or done, together."""


class WindowBorder(NamedTuple):
    """Scores of the cells above a window, from its left corner on (columns + 1), and left of it."""

    above: NDArray[np.int32]
    left: NDArray[np.int32]


class Pruning(NamedTuple):
    """What tells whether cells can be part of an alignment of interest.

    Alignments below the score `known` are of no interest; it `rises` with the best score so far. A
    pair adds `gain` at most. `rows` and `columns` are those from a strip's first cell on.
    """

    known: int
    rises: bool
    gain: int
    rows: int
    columns: int


def score_pass(
    problem: Problem, side: int, threshold: Threshold = ALL,
    done: Callable[[int], None] | None = None,
) -> NDArray[np.int32]:  # fmt: skip
    """Return upper bounds on the scores of each tile: the largest score, border tiles aside.

    Parameters
    ----------
    problem : Problem
    side : int
        Side of a tile, a power of two.
    threshold : Threshold
        For which alignments they are bounds; what cannot be part of one is left out.
    done : callable, optional
        Called with the number of cells of a large problem that are done since its last call.

    Returns
    -------
    ndarray of int32, shape (tiles down, tiles across)
        Padding behind the last row and column may raise the last tiles' bounds.
    """
    rows, columns = problem.shape
    window = Rectangle(0, rows, 0, columns)
    border = WindowBorder(np.zeros(columns + 1, np.int32), np.zeros(rows, np.int32))
    for costs in costs_that_fit(problem, np.int8, np.int16, np.int32):
        # one byte is for score passes alone; others share what is compiled for windows
        pairs = None if costs.weights.dtype == np.int8 else _NO_PAIRS

        def bounds(
            counter: NDArray[np.int64], costs: AffineCosts = costs, pairs=pairs
        ) -> NDArray[np.int32]:
            return _bounds(problem, window, side, border, pairs, threshold, costs, counter)

        small = done is None or rows * columns < CELLS_PER_REPORT
        most = bounds(np.zeros(1, np.int64)) if small else watched(bounds, done)
        if most.size:
            break
    bits = 8 * costs.weights.dtype.itemsize
    _log.debug("score pass of %d x %d on the CPU: cells of %d bits", rows, columns, bits)
    return most


def costs_that_fit(problem: Problem, *dtypes: type) -> list[AffineCosts]:
    """Return the costs as elements of those types that are wide enough for each of them."""
    largest = max(int(np.abs(problem.table).max()), problem.gap_open)
    return [costs_of(problem, np.dtype(t)) for t in dtypes if largest <= np.iinfo(t).max]


@njit(cache=True, nogil=True)
def _bounds(problem, window, side, border, forbidden, threshold, costs, counter):
    """Do what `bounds_of_window` does, which compiled functions call and Python does not."""
    return bounds_of_window(problem, window, side, border, forbidden, threshold, costs, counter)


@njit(nogil=True)
def bounds_of_window(problem, window, side, border, forbidden, threshold, costs, counter):
    """Return upper bounds on the scores of a window's tiles, none at all if `costs` is too narrow.

    Parameters
    ----------
    problem : Problem
    window : Rectangle
        It begins at a tile's corner.
    side : int
        Of a tile, a power of two.
    border : WindowBorder
    forbidden : tuple of ndarray, or None
        Rows and columns of forbidden pairs.
    threshold : Threshold
        As in `score_pass`.
    costs : AffineCosts
    counter : ndarray of int64, shape (1,)
        Raised by the cells of each strip that is done.

    Returns
    -------
    ndarray of int32, shape (tiles down, tiles across)
        As in `score_pass`.
    """
    weights = costs.weights
    lanes, zero = simd.VECTOR_BYTES // weights.itemsize, np.int64(weights[ZERO])
    query, n_columns = problem.query[window.top : window.bottom], window.right - window.left
    symbols, n_rows = reversed_symbols(query, weights), len(query)
    largest = np.zeros((-(-n_rows // side), -(-n_columns // side)), np.int32)
    if max(largest_of(border.above), largest_of(border.left)) > np.iinfo(weights.dtype).max:
        return largest[:0]
    above = np.full(n_columns + 1 + lanes * LONGEST_BLOCK, zero, weights.dtype)
    simd.copy(border.above + zero, above)
    left = np.full(n_rows + n_rows % 2, zero, weights.dtype)
    simd.copy(border.left + zero, left)
    entering, following = (left, left.copy()), (left.copy(), left.copy())
    first, most = 0, np.empty((len(largest), lanes), weights.dtype)
    known, rises, gain = np.int64(threshold.least), threshold.only_best, largest_in(problem.table)
    while first < n_columns:
        block = block_of(n_columns - first, lanes, side)
        subject = problem.subject[window.left : window.right]
        columns = laid_out(subject, first, block, weights, costs.profile)
        if forbidden is None:
            barred = None
        else:
            corner, right = window.left + first, min(lanes * block, n_columns - first)
            part = Rectangle(window.top, window.bottom, corner, corner + right)
            barred = _barred_positions(forbidden, part, lanes, block, weights.dtype)
        most[:] = zero
        of_strip = Pruning(known, rises, gain, n_rows, n_columns - first)
        inputs = symbols, columns, above[first : first + lanes * block + 1], entering, weights
        known = _sweep(inputs, barred, following, most, side, of_strip)
        if largest_in(most) == np.iinfo(weights.dtype).max:
            return largest[:0]
        _join_lanes(largest, most, first, block, side, zero)
        entering, following = following, entering
        counter[0] += n_rows * min(lanes * block, n_columns - first)
        first += lanes * block
    return largest


@njit(nogil=True)
def _barred_positions(forbidden, part, lanes, block, dtype):
    """Return where each step's forbidden pairs begin, their positions, and zeros for each position.

    Positions in lower rows come behind all those in upper rows. Without pairs, nothing begins.
    """
    f_rows, f_columns = forbidden
    begin, end = first_from(f_rows, part.top), first_from(f_rows, part.bottom)
    if begin == end:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, dtype)
    begins = np.zeros((part.bottom - part.top + 1) // 2 + lanes + 1, np.int64)
    for k in range(begin, end):
        if part.left <= f_columns[k] < part.right:
            begins[(f_rows[k] - part.top) // 2 + (f_columns[k] - part.left) // block + 1] += 1
    begins = np.cumsum(begins)
    positions, filled = np.empty(begins[-1], np.int64), begins.copy()
    for k in range(begin, end):
        if part.left <= f_columns[k] < part.right:
            lane, within = divmod(f_columns[k] - part.left, block)
            pair, below = divmod(f_rows[k] - part.top, 2)
            positions[filled[pair + lane]] = (below * block + within) * lanes + lane
            filled[pair + lane] += 1
    return begins, positions, np.zeros(2 * lanes * block, dtype)


@njit(nogil=True)
def _join_lanes(largest, most, first, block, side, zero):
    """Raise tiles to what the lanes of a strip have met, `block` columns each."""
    for lane in range(most.shape[1]):
        across = (first + lane * block) // side
        if across < largest.shape[1]:
            for down in range(len(most)):
                score = np.int32(np.int64(most[down, lane]) - np.int64(zero))
                largest[down, across] = max(largest[down, across], score)


@njit(nogil=True)
def _sweep(inputs, barred, following, most, side, pruning):
    """Sweep a strip; `most` receives the largest score of each lane, by row of tiles.

    The cell of column c of lane l lies at c * lanes + l; so do the columns, see `laid_out`.
    Returned is the score below which no alignment is of interest.
    """
    known, rises, gain, n_rows, n_columns = pruning
    _, columns, _, border, weights = inputs
    lanes, zero = simd.VECTOR_BYTES // weights.itemsize, weights[ZERO]
    n_pairs, size = len(border[0]) // 2, columns.shape[-1]
    largest = np.int64(np.iinfo(weights.dtype).max) - zero
    best, falling = np.full(size, zero, weights.dtype), np.full(size, zero, weights.dtype)
    edge, met = np.full(5 * lanes, zero, weights.dtype), np.full(lanes, zero, weights.dtype)
    cells = best, falling, edge, met
    for begin in range(0, n_pairs + lanes - 1, STEPS):
        steps = begin, min(begin + STEPS, n_pairs + lanes - 1)
        # the last lane is the highest one in the matrix
        more = gain * min(n_rows - 2 * max(begin - lanes + 1, 0), n_columns)
        highest = np.int64(0)
        if rises or more < known:
            highest = np.int64(_highest(best, lanes)) - zero
            if highest == largest:
                most[0, 0] = weights.dtype.type(highest + zero)  # see `bounds_of_window`
                return known
            known = max(known, highest) if rises else known
        if more < known and _comes_in(highest, edge, border, steps, zero) + more < known:
            _leave_out(steps, cells, following, (most, side), zero)
        else:
            _run(steps, inputs, barred, cells, following, (most, side))
    for lane in range(lanes):
        close_tile(most, (n_pairs + lanes - 2 - lane) // (side // 2), met, lane, zero)
    return known


@njit(nogil=True)
def _highest(cells, lanes):
    """Return the largest cell."""
    largest, each = simd.load(cells, 0), np.empty(lanes, cells.dtype)
    for position in range(lanes, len(cells), lanes):
        largest = simd.maximum(largest, simd.load(cells, position))
    simd.store(each, 0, largest)
    return largest_of(each)


@njit(nogil=True)
def _comes_in(highest, edge, border, steps, zero):
    """Return the highest of a score, those of the lanes' edges, and those of the steps' border."""
    for value in edge:
        highest = max(highest, np.int64(value) - zero)
    for value in border[0][2 * steps[0] : 2 * steps[1]]:
        highest = max(highest, np.int64(value) - zero)
    return highest


@njit(nogil=True)
def _leave_out(steps, cells, following, tiles, zero):
    """Hand on nothing from steps in which no cell is of interest, and clear what the lanes hold."""
    best, falling, edge, met = cells
    most, side = tiles
    lanes = len(met)
    for lane in range(min(steps[0], lanes)):
        close_tile(most, (steps[0] - 1 - lane) // (side // 2), met, lane, zero)
    best[:] = falling[:] = edge[:] = zero
    first, end = 2 * max(steps[0] - lanes + 1, 0), 2 * max(steps[1] - lanes + 1, 0)
    for border in following:
        border[first:end] = zero


@njit(nogil=True)
def _run(steps, inputs, barred, cells, following, tiles):
    """Do some steps of a strip, see `_sweep`."""
    symbols, columns, above, border, weights = inputs
    best, falling, edge, met = cells
    most, side = tiles
    lanes, half, zero = simd.VECTOR_BYTES // weights.itemsize, side // 2, weights[ZERO]
    n_pairs, block = len(border[0]) // 2, len(best) // lanes
    for step in range(steps[0], steps[1]):
        if step < lanes:  # the lane begins: what it did before was with nothing
            for c in range(block):
                best[c * lanes + step] = falling[c * lanes + step] = above[step * block + c + 1]
            edge[step], met[step] = above[step * block], zero
        for lane in range(step & (half - 1), min(step, lanes), half):  # those that enter a tile
            close_tile(most, (step - lane) // half - 1, met, lane, zero)
        here = n_pairs + lanes - 1 - step
        rows = simd.load(symbols[0], here), simd.load(symbols[1], here)
        state = enter(edge, border, 2 * min(step, n_pairs - 1), lanes)
        if barred is None:
            last, highest = advance(columns, best, falling, rows, state, weights)
        else:
            begins, positions, bars = barred
            first, end = (begins[step], begins[step + 1]) if len(begins) else (0, 0)
            for k in range(first, end):
                bars[positions[k]] = zero
            if end > first:
                last, highest = advance(columns, best, falling, rows, state, weights, bars)
            else:
                last, highest = advance(columns, best, falling, rows, state, weights)
            for k in range(first, end):
                bars[positions[k]] = 0
        leave(edge, state[3], last, following, 2 * (step - lanes + 1), lanes)
        simd.store(met, 0, simd.maximum(simd.load(met, 0), highest))
