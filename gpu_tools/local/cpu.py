"""The score pass on a CPU: vectors whose lanes own neighbouring blocks of columns.

Lane l works on row s - l in step s, so that what it needs from the lane before is what that lane
computed one step earlier. A *stripe* is as many columns as all lanes own together; of the stripe
before it needs only its last column, the *border*.

Cells hold scores less an offset, so that 0 is the smallest integer of their type and additions that
saturate keep scores from falling under it. A cell at the largest integer may have been cut off;
then a wider type does the work.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload
from numpy.typing import NDArray

from gpu_tools import simd
from gpu_tools.local.problem import Problem
from gpu_tools.sequences import OTHER

LONGEST_BLOCK = 128
"""Columns of a lane, so few that a stripe stays in the nearest cache."""
_MATCH, _OTHERWISE, _OPENS, _EXTENDS, ZERO = range(5)
_PAD_ROW, _PAD_COLUMN, _OTHER_COLUMN = 100, 101, 102
"""Symbols that are equal to none."""


class Costs(NamedTuple):
    """Match, mismatch (with a profile, what padding scores), the gaps' scores, and 0.

    `profile` holds the scores by code, shape (codes, codes), of shape (0,) where equality is all
    that counts.
    """

    weights: NDArray
    profile: NDArray


class Border(NamedTuple):
    """Best scores, and scores that end in a gap of the query, of one column, by row."""

    best: NDArray
    gap: NDArray


class Stripe(NamedTuple):
    """What a stripe's columns hold, and its cells: column c of lane l lies at c * lanes + l.

    `columns` are codes, or, of shape (codes, columns), the scores of each code in each column.
    """

    columns: NDArray
    best: NDArray
    gap: NDArray


def score_pass(problem: Problem, side: int) -> NDArray[np.int32]:
    """Return upper bounds on the scores of each tile: the largest score, border tiles aside.

    Parameters
    ----------
    problem : Problem
    side : int
        Side of a tile, a power of two.

    Returns
    -------
    ndarray of int32, shape (tiles down, tiles across)
        Padding behind the last row and column may raise the last tiles' bounds.
    """
    largest = max(int(np.abs(problem.table).max()), problem.gap_open)
    for dtype in map(np.dtype, (np.int8, np.int16)):
        most = _pass(problem, side, dtype) if largest <= np.iinfo(dtype).max else None
        if most is not None:
            return most
    return _pass(problem, side, np.dtype(np.int32))


def _pass(problem: Problem, side: int, dtype: np.dtype) -> NDArray[np.int32] | None:
    """Return the largest scores, or None if `dtype` is too narrow for them."""
    rows, columns = problem.shape
    lanes = simd.VECTOR_BYTES // dtype.itemsize
    block = block_of(columns, lanes, side)
    n_stripes = -(-columns // (lanes * block))
    down, across = -(-rows // side), -(-columns // side)
    costs, bounds = costs_of(problem, dtype), np.iinfo(dtype)
    most = np.full((down, n_stripes * lanes), bounds.min, dtype=dtype)
    symbols = reversed_symbols(problem.query, costs.weights)
    border, following = (
        Border(*(np.full(rows, bounds.min, dtype=dtype) for _ in "HE")) for _ in range(2)
    )
    for number in range(n_stripes):
        cells = [np.full(lanes * block, bounds.min, dtype=dtype) for _ in "HF"]
        stripe = Stripe(lay_out(problem.subject, number * lanes * block, block, costs), *cells)
        tiles = (number * lanes, side)
        _sweep(symbols, stripe, border, following, costs.weights, most, tiles)
        if most.max() == bounds.max:
            return None
        border, following = following, border
    blocks = np.full((down, across * (side // block)), bounds.min, dtype=dtype)
    taken = min(blocks.shape[1], most.shape[1])
    blocks[:, :taken] = most[:, :taken]
    return blocks.reshape(down, across, -1).max(axis=2).astype(np.int32) - bounds.min


@njit(cache=True, nogil=True)
def block_of(columns, lanes, side):
    """Return the columns of a lane, a power of two."""
    block = 1
    while block < min(side, LONGEST_BLOCK) and block * lanes < columns:
        block *= 2
    return block


def _by_equality(problem: Problem) -> bool:
    """Tell whether two scores are all there is, and padding, which is unequal, adds nothing."""
    return len(problem.table) == OTHER + 1 and problem.table[0, 1] <= 0


def costs_of(problem: Problem, dtype: np.dtype) -> Costs:
    """Return the problem's scores and penalties as elements of a vector."""
    match, mismatch = (int(problem.table[0, k]) for k in (0, 1))
    profile = np.empty(0, dtype=dtype)
    if not _by_equality(problem):
        mismatch = -int(np.abs(problem.table).max())
        profile = problem.table.astype(dtype)
    gaps = (-problem.gap_open, -problem.gap_extend)
    return Costs(np.array([match, mismatch, *gaps, np.iinfo(dtype).min], dtype=dtype), profile)


def _laid_out(subject, first, block, weights, profile):
    raise NotImplementedError("only for jitted code")


@overload(_laid_out)
def _overload_laid_out(subject, first, block, weights, profile):
    def by_equality(subject, first, block, weights, profile):
        lanes = simd.VECTOR_BYTES // weights.itemsize
        columns = np.full(lanes * block, _PAD_COLUMN, weights.dtype)
        for column in range(min(lanes * block, len(subject) - first)):
            code = subject[first + column]
            place = column % block * lanes + column // block
            columns[place] = _OTHER_COLUMN if code == OTHER else code
        return columns

    def by_profile(subject, first, block, weights, profile):
        lanes = simd.VECTOR_BYTES // weights.itemsize
        columns = np.full((len(profile), lanes * block), weights[_OTHERWISE], weights.dtype)
        for column in range(min(lanes * block, len(subject) - first)):
            place = column % block * lanes + column // block
            columns[:, place] = profile[:, subject[first + column]]
        return columns

    return by_equality if profile.ndim == 1 else by_profile


@njit(cache=True, nogil=True)
def lay_out(subject, first, block, costs):
    """Return a stripe's columns from column `first` on, `block` a lane; see `Stripe`."""
    return _laid_out(subject, first, block, costs.weights, costs.profile)


@njit(cache=True, nogil=True)
def reversed_symbols(codes, weights):
    """Return the codes of rows, last first, with a vector of padding at both ends."""
    lanes = simd.VECTOR_BYTES // weights.itemsize
    symbols = np.full(len(codes) + 2 * lanes, _PAD_ROW, weights.dtype)
    symbols[lanes : lanes + len(codes)] = codes[::-1]
    return symbols


def _pair_scores(columns, position, row, match, otherwise):
    raise NotImplementedError("only for jitted code")


@overload(_pair_scores, inline="always")
def _overload_pair_scores(columns, position, row, match, otherwise):
    def by_equality(columns, position, row, match, otherwise):
        return simd.where_equal(simd.load(columns, position), row, match, otherwise)

    def by_profile(columns, position, row, match, otherwise):
        scores = otherwise
        for code in range(columns.shape[0]):
            of_code = simd.splat(columns.dtype.type(code))
            of_pair = simd.load(columns, code * columns.shape[1] + position)
            scores = simd.where_equal(row, of_code, of_pair, scores)
        return scores

    return by_equality if columns.ndim == 1 else by_profile


def _unless_barred(scores, barred, position):
    raise NotImplementedError("only for jitted code")


@overload(_unless_barred, inline="always")
def _overload_unless_barred(scores, barred, position):
    def all_free(scores, barred, position):
        return scores

    def some_barred(scores, barred, position):
        return simd.add_saturating(scores, simd.load(barred, position))

    return all_free if isinstance(barred, types.NoneType) else some_barred


@njit(nogil=True)
def advance(columns, best, falling, row, state, weights, barred=None):
    """Compute one row in every lane.

    `state` is the diagonal, the best score and the gap left of the lanes' first columns; returned
    are best score and gap of their last columns, and the largest of the row. `barred`, if any, is
    added to the scores of pairs.
    """
    diagonal, left, gap = state
    # splats are made here, for in the loop every store could change `weights`
    match, otherwise = simd.splat(weights[_MATCH]), simd.splat(weights[_OTHERWISE])
    opens, extends = simd.splat(weights[_OPENS]), simd.splat(weights[_EXTENDS])
    lanes = simd.VECTOR_BYTES // weights.itemsize
    most = simd.splat(weights[ZERO])
    for position in range(0, len(best), lanes):
        up = simd.load(best, position)
        falling_on = simd.add_saturating(simd.load(falling, position), extends)
        down = simd.maximum(simd.add_saturating(up, opens), falling_on)
        simd.store(falling, position, down)
        gap = simd.maximum(simd.add_saturating(left, opens), simd.add_saturating(gap, extends))
        pairs = _pair_scores(columns, position, row, match, otherwise)
        pairs = _unless_barred(pairs, barred, position)
        paired = simd.add_saturating(diagonal, pairs)
        # what waits longest comes last: the gap depends on the column before
        left = simd.maximum(simd.maximum(paired, down), gap)
        simd.store(best, position, left)
        most = simd.maximum(most, left)
        diagonal = up
    return left, gap, most


@njit(nogil=True)
def close_tile(most, tile, first, largest, lane, zero):
    """Take what a lane has met in a tile; below the last one there is only padding."""
    if tile < len(most):
        most[tile, first + lane] = max(most[tile, first + lane], largest[lane])
    largest[lane] = zero


@njit(cache=True, nogil=True)
def _sweep(symbols, stripe, border, following, weights, most, tiles):
    """Sweep a stripe.

    `most` takes the largest score of each block, by tile row; `tiles` is the stripe's first block
    there and the side of a tile.
    """
    first, side = tiles
    columns, best, falling = stripe
    border_best, border_gap = border
    following_best, following_gap = following
    lanes = simd.VECTOR_BYTES // weights.itemsize
    n_rows = len(border_best)
    zero = weights[ZERO]
    edge = np.full(3 * lanes, zero, weights.dtype)  # diagonals, last columns' scores and gaps
    largest = np.full(lanes, zero, weights.dtype)
    steps = n_rows + lanes - 1
    for step in range(steps):
        for lane in range(step % side, min(step, lanes), side):  # those that enter a tile
            close_tile(most, (step - lane) // side - 1, first, largest, lane, zero)
        row = simd.load(symbols, n_rows + lanes - 1 - step)
        at = min(step, n_rows - 1)
        left = simd.shift_in(simd.load(edge, lanes), border_best[at])
        gap = simd.shift_in(simd.load(edge, 2 * lanes), border_gap[at])
        state = (simd.load(edge, 0), left, gap)
        last, last_gap, highest = advance(columns, best, falling, row, state, weights)
        simd.store(edge, 0, left)
        simd.store(edge, lanes, last)
        simd.store(edge, 2 * lanes, last_gap)
        simd.store(largest, 0, simd.maximum(simd.load(largest, 0), highest))
        if step >= lanes - 1:
            following_best[step - lanes + 1] = simd.last_lane(last)
            following_gap[step - lanes + 1] = simd.last_lane(last_gap)
    for lane in range(lanes):
        close_tile(most, (steps - 1 - lane) // side, first, largest, lane, zero)
