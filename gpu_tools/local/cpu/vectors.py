"""Vectors whose lanes hold neighbouring blocks of columns: the inner loops of sweeps on a CPU.

In step s, lane l computes the row 2 (s - l) and the row below. So it needs from the lane before
what that lane computed one step earlier. A *strip* is as many columns as all lanes hold together.
Of the strip before, it needs only the last column, the *border*.

Cells hold scores less an offset, so that 0 is the smallest integer of their type and additions that
saturate keep scores from falling under it. A cell at the largest integer may have been cut off;
then a wider type does the work.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.local.problem import Problem
from gpu_tools.model.sequences import OTHER

LONGEST_BLOCK = 128
"""Columns of a lane, so few that a strip stays in the nearest cache."""
_MATCH, _MISMATCH, _OPENS, _EXTENDS, ZERO = range(5)
_PAD_ROW, _PAD_COLUMN, _OTHER_COLUMN = 100, 101, 102
"""Symbols that are equal to none."""


class AffineCosts(NamedTuple):
    """Match, mismatch (with a profile, what padding scores), the gaps' scores, and 0.

    `profile` holds the scores by code, shape (codes, codes), of shape (0,) where equality is all
    that counts.
    """

    weights: NDArray
    profile: NDArray


@njit(nogil=True)
def block_of(columns, lanes, side):
    """Return the columns of a lane, a power of two."""
    block = 1
    while block < min(side, LONGEST_BLOCK) and block * lanes < columns:
        block *= 2
    return block


def costs_of(problem: Problem, dtype: np.dtype) -> AffineCosts:
    """Return the problem's scores and penalties as elements of a vector."""
    match, mismatch = (int(problem.table[0, k]) for k in (0, 1))
    profile = np.empty(0, dtype=dtype)
    # with nucleotides two scores are all there is, and padding, which is unequal, adds nothing
    if len(problem.table) != OTHER + 1 or mismatch > 0:
        mismatch = -int(np.abs(problem.table).max())
        profile = problem.table.astype(dtype)
    gaps = (-problem.gap_open, -problem.gap_extend)
    return AffineCosts(
        np.array([match, mismatch, *gaps, np.iinfo(dtype).min], dtype=dtype), profile
    )


@njit(cache=True, nogil=True)
def laid_out(subject, first, block, weights, profile):
    """Return a strip's columns from column `first` on, `block` a lane.

    They are codes, or, of shape (codes, columns), the scores of each code in each column.
    """
    lanes = simd.VECTOR_BYTES // weights.itemsize
    if profile.ndim == 1:
        columns = np.full(lanes * block, _PAD_COLUMN, weights.dtype)
    else:
        columns = np.full((len(profile), lanes * block), weights[_MISMATCH], weights.dtype)
    for column in range(min(lanes * block, len(subject) - first)):
        code = subject[first + column]
        position = column % block * lanes + column // block
        if profile.ndim == 1:
            columns[position] = _OTHER_COLUMN if code == OTHER else code
        else:
            simd.copy(profile[:, code], columns[:, position])
    return columns


@njit(nogil=True)
def reversed_symbols(codes, weights):
    """Return the codes of even and of odd rows, last first, a vector of padding at both ends."""
    lanes, n_pairs = simd.VECTOR_BYTES // weights.itemsize, -(-len(codes) // 2)
    upper = np.full(n_pairs + 2 * lanes, _PAD_ROW, weights.dtype)
    lower = upper.copy()
    simd.copy(codes[::2][::-1], upper[lanes:])
    simd.copy(codes[1::2][::-1], lower[lanes + n_pairs - len(codes) // 2 :])
    return upper, lower


@njit(nogil=True)
def advance(columns, best, falling, rows, state, weights, barred=None):
    """Compute two rows in every lane.

    `rows` are the symbols of the upper and of the lower ones. `state` is the diagonal, and, of the
    upper, then of the lower row, the best score and the gap left of the lanes' first columns.
    Returned are those of their last columns, and the largest scores of both rows. `barred`, if any,
    is added to the scores of the upper rows' pairs, then to the lower ones'.
    """
    diagonal, upper, upper_gap, lower, lower_gap = state
    # splats are made here, for in the loop every store could change `weights`
    match, mismatch = simd.splat(weights[_MATCH]), simd.splat(weights[_MISMATCH])
    opens, extends = simd.splat(weights[_OPENS]), simd.splat(weights[_EXTENDS])
    lanes = simd.VECTOR_BYTES // weights.itemsize
    most, opened = simd.splat(weights[ZERO]), simd.add_saturating(upper, opens)
    for position in range(0, len(best), lanes):
        up = simd.load(best, position)
        falling_on = simd.add_saturating(simd.load(falling, position), extends)
        down = simd.maximum(simd.add_saturating(up, opens), falling_on)
        upper_gap = simd.maximum(opened, simd.add_saturating(upper_gap, extends))
        if columns.ndim == 1:
            symbols = simd.load(columns, position)
            pairs = simd.where_equal(symbols, rows[0], match, mismatch)
            pairs_below = simd.where_equal(symbols, rows[1], match, mismatch)
        else:
            pairs = pairs_below = mismatch
            for code in range(columns.shape[0]):
                of_code = simd.splat(columns.dtype.type(code))
                of_pair = simd.load(columns, code * columns.shape[1] + position)
                pairs = simd.where_equal(rows[0], of_code, of_pair, pairs)
                pairs_below = simd.where_equal(rows[1], of_code, of_pair, pairs_below)
        if barred is not None:
            pairs = simd.add_saturating(pairs, simd.load(barred, position))
            below = simd.load(barred, position + len(best))
            pairs_below = simd.add_saturating(pairs_below, below)
        paired = simd.add_saturating(diagonal, pairs)
        diagonal = upper
        # the gap depends on the column before: it is added last, for it is ready last
        upper = simd.maximum(simd.maximum(paired, down), upper_gap)
        most = simd.maximum(most, upper)
        opened = simd.add_saturating(upper, opens)  # a gap below or to the right
        down = simd.maximum(opened, simd.add_saturating(down, extends))
        simd.store(falling, position, down)
        gap = simd.add_saturating(lower_gap, extends)
        lower_gap = simd.maximum(simd.add_saturating(lower, opens), gap)
        paired = simd.add_saturating(diagonal, pairs_below)
        lower = simd.maximum(simd.maximum(paired, down), lower_gap)
        simd.store(best, position, lower)
        most = simd.maximum(most, lower)
        diagonal = up
    return (upper, upper_gap, lower, lower_gap), most


@njit(nogil=True)
def enter(edge, border, at, lanes):
    """Return a step's state: what lanes hold of their last columns moves on to the next lane.

    `edge` holds the diagonals, then the last columns as `advance` returns them; what comes in is
    rows `at` and `at` + 1 of the border.
    """
    best, gap = border
    upper = simd.shift_in(simd.load(edge, lanes), best[at])
    upper_gap = simd.shift_in(simd.load(edge, 2 * lanes), gap[at])
    lower = simd.shift_in(simd.load(edge, 3 * lanes), best[at + 1])
    lower_gap = simd.shift_in(simd.load(edge, 4 * lanes), gap[at + 1])
    return simd.load(edge, 0), upper, upper_gap, lower, lower_gap


@njit(nogil=True)
def leave(edge, diagonal, last, following, at, lanes):
    """Store the lanes' last columns; those of the last lane are rows `at`, `at` + 1 of a border."""
    upper, upper_gap, lower, lower_gap = last
    simd.store(edge, 0, diagonal)
    simd.store(edge, lanes, upper)
    simd.store(edge, 2 * lanes, upper_gap)
    simd.store(edge, 3 * lanes, lower)
    simd.store(edge, 4 * lanes, lower_gap)
    if at >= 0:
        best, gap = following
        best[at], gap[at] = simd.last_lane(upper), simd.last_lane(upper_gap)
        best[at + 1], gap[at + 1] = simd.last_lane(lower), simd.last_lane(lower_gap)


@njit(nogil=True)
def close_tile(most, tile, largest, lane, zero):
    """Raise a tile to a lane's largest score there, and begin anew.

    Below the last tile there is only padding.
    """
    if tile < len(most):
        most[tile, lane] = max(most[tile, lane], largest[lane])
    largest[lane] = zero
