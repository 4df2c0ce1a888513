"""The score pass on a CPU, strip by strip; see `gpu_tools.local.cpu.vectors`.

Some steps at a time are left out if no alignment of interest can run through their cells: the
highest score in the lanes or on the border, and a match for each row or column that is left, make
less than the threshold. They hand on nothing, as if nothing had come in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.hardware.cpu import simd
from gpu_tools.local.cpu.vectors import (
    ZERO,
    advance,
    block_of,
    costs_of,
    enter,
    laid_out,
    leave,
    raise_tile,
    reversed_symbols,
)
from gpu_tools.local.problem import ALL, Problem, Threshold

STEPS = 32
"""Steps that are left out, or done, together."""


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


def score_pass(problem: Problem, side: int, threshold: Threshold = ALL) -> NDArray[np.int32]:
    """Return upper bounds on the scores of each tile: the largest score, border tiles aside.

    Parameters
    ----------
    problem : Problem
    side : int
        Side of a tile, a power of two.
    threshold : Threshold
        For which alignments they are bounds; what cannot be part of one is left out.

    Returns
    -------
    ndarray of int32, shape (tiles down, tiles across)
        Padding behind the last row and column may raise the last tiles' bounds.
    """
    largest = max(int(np.abs(problem.table).max()), problem.gap_open)
    for dtype in map(np.dtype, (np.int8, np.int16)):
        if largest <= np.iinfo(dtype).max:
            most = _pass(problem, side, threshold, dtype)
            if most.size:
                return most
    return _pass(problem, side, threshold, np.dtype(np.int32))


def _pass(problem: Problem, side: int, threshold: Threshold, dtype: np.dtype):
    """Return the largest scores, none if `dtype` is too narrow for them."""
    costs, gain = costs_of(problem, dtype), int(problem.table.max())
    pruning = Pruning(threshold.least, threshold.only_best, gain, *problem.shape)
    return _sweep_all(problem.query, problem.subject, costs.weights, costs.profile, side, pruning)


@njit(cache=True, nogil=True)
def _sweep_all(query, subject, weights, profile, side, pruning):
    """Return the largest scores, none at all if a cell may have been cut off."""
    lanes, zero = simd.VECTOR_BYTES // weights.itemsize, weights[ZERO]
    symbols, rows = reversed_symbols(query, weights), len(query) + len(query) % 2
    largest = np.zeros((-(-len(query) // side), -(-len(subject) // side)), np.int32)
    border = np.full(rows, zero, weights.dtype), np.full(rows, zero, weights.dtype)
    following = np.empty_like(border[0]), np.empty_like(border[1])
    first, most = 0, np.empty((len(largest), lanes), weights.dtype)
    known, rises, gain, _, _ = pruning
    while first < len(subject):
        block = block_of(len(subject) - first, lanes, side)
        columns = laid_out(subject, first, block, weights, profile)
        most[:] = zero
        of_strip = Pruning(known, rises, gain, len(query), len(subject) - first)
        known = _sweep(symbols, columns, border, following, weights, most, side, of_strip)
        if most.max() == np.iinfo(weights.dtype).max:
            return largest[:0]
        _join_lanes(largest, most, first, block, side, zero)
        border, following = following, border
        first += lanes * block
    return largest


@njit(nogil=True)
def _join_lanes(largest, most, first, block, side, zero):
    """Raise tiles to what the lanes of a strip have met, `block` columns each."""
    for lane in range(most.shape[1]):
        across = (first + lane * block) // side
        if across < largest.shape[1]:
            for down in range(len(most)):
                score = np.int32(np.int64(most[down, lane]) - np.int64(zero))
                largest[down, across] = max(largest[down, across], score)


@njit(cache=True, nogil=True)
def _sweep(symbols, columns, border, following, weights, most, side, pruning):
    """Sweep a strip; `most` takes the largest score of each lane, by row of tiles.

    The cell of column c of lane l lies at c * lanes + l; so do the columns, see `laid_out`.
    Returned is the score below which no alignment is of interest.
    """
    known, rises, gain, n_rows, n_columns = pruning
    lanes, zero = simd.VECTOR_BYTES // weights.itemsize, weights[ZERO]
    n_pairs, size = len(border[0]) // 2, columns.shape[-1]
    largest = np.int64(np.iinfo(weights.dtype).max) - zero
    best, falling = np.full(size, zero, weights.dtype), np.full(size, zero, weights.dtype)
    edge, met = np.full(5 * lanes, zero, weights.dtype), np.full(lanes, zero, weights.dtype)
    cells = best, falling, edge, met
    # a lane enters a tile in the steps that leave this remainder
    entries = np.array([lane % (side // 2) for lane in range(lanes)], dtype=weights.dtype)
    inputs, tiles = (symbols, columns, border, weights), (most, side, entries)
    for begin in range(0, n_pairs + lanes - 1, STEPS):
        steps = begin, min(begin + STEPS, n_pairs + lanes - 1)
        # the last lane is the highest one in the matrix
        more = gain * min(n_rows - 2 * max(begin - lanes + 1, 0), n_columns)
        highest = np.int64(0)
        if rises or more < known:
            highest = np.int64(_highest(best, lanes)) - zero
            if highest == largest:
                most[0, 0] = weights.dtype.type(highest + zero)  # see `_sweep_all`
                return known
            known = max(known, highest) if rises else known
        if more < known and _comes_in(highest, edge, border, steps, zero) + more < known:
            _leave_out(steps, cells, following, tiles, zero)
        else:
            _run(steps, inputs, cells, following, tiles)
    for lane in range(lanes):
        raise_tile(most, (n_pairs + lanes - 2 - lane) // (side // 2), met[lane], lane)
    return known


@njit(nogil=True)
def _highest(cells, lanes):
    """Return the largest cell."""
    largest, each = simd.load(cells, 0), np.empty(lanes, cells.dtype)
    for position in range(lanes, len(cells), lanes):
        largest = simd.maximum(largest, simd.load(cells, position))
    simd.store(each, 0, largest)
    return each.max()


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
    most, side, _ = tiles
    lanes = len(met)
    for lane in range(min(steps[0], lanes)):
        raise_tile(most, (steps[0] - 1 - lane) // (side // 2), met[lane], lane)
    best[:] = falling[:] = edge[:] = met[:] = zero
    first, end = 2 * max(steps[0] - lanes + 1, 0), 2 * max(steps[1] - lanes + 1, 0)
    for border in following:
        border[first:end] = zero


@njit(nogil=True)
def _run(steps, inputs, cells, following, tiles):
    """Do a block of steps of a strip, see `_sweep`."""
    symbols, columns, border, weights = inputs
    best, falling, edge, met = cells
    most, side, entries = tiles
    lanes, half, zero = simd.VECTOR_BYTES // weights.itemsize, side // 2, weights[ZERO]
    n_pairs = len(border[0]) // 2
    largest = simd.load(met, 0)
    for step in range(steps[0], steps[1]):
        entering = step & (half - 1)
        if entering < lanes:
            # the vector is not read again from memory: that would wait for the lane's write
            simd.store(met, 0, largest)
            for lane in range(entering, min(step, lanes), half):
                raise_tile(most, (step - lane) // half - 1, met[lane], lane)
            enters = simd.splat(weights.dtype.type(entering))
            largest = simd.where_equal(simd.load(entries, 0), enters, simd.splat(zero), largest)
        here = n_pairs + lanes - 1 - step
        rows = simd.load(symbols[0], here), simd.load(symbols[1], here)
        state = enter(edge, border, 2 * min(step, n_pairs - 1), lanes)
        last, highest = advance(columns, best, falling, rows, state, weights)
        leave(edge, state[3], last, following, 2 * (step - lanes + 1), lanes)
        largest = simd.maximum(largest, simd.maximum(highest[0], highest[1]))
    simd.store(met, 0, largest)
