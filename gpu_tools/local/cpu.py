"""The score pass on a CPU: vectors whose lanes own neighbouring blocks of columns.

Lane l works on row s - l in step s, so that what it needs from the lane before is what that lane
computed one step earlier. A *stripe* is as many columns as all lanes own together, as many tiles
as lanes; of the stripe before it needs only its last column, the *border*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from gpu_tools import simd
from gpu_tools.local.problem import Problem
from gpu_tools.sequences import OTHER

_LIMIT = {np.dtype(np.int16): 2**15 - 1, np.dtype(np.int32): 2**31 - 1}
_MATCH, _MISMATCH, _OPEN, _EXTEND = range(4)
_PAD_ROW, _PAD_COLUMN, _OTHER_COLUMN = 200, 201, 202
"""Symbols that are equal to none."""


class Border(NamedTuple):
    """Best scores, and scores that end in a gap of the query, of one column, by row."""

    best: NDArray
    gap: NDArray


class Stripe(NamedTuple):
    """Symbols or scores of a stripe's columns, and its cells: column c of lane l at c * lanes + l.

    `columns` holds codes, or, for a matrix, the scores of each code against each column.
    """

    columns: NDArray
    best: NDArray
    gap: NDArray


def score_pass(problem: Problem, side: int, threads: int = 1) -> NDArray[np.int32]:
    """Return the largest score of each tile.

    Parameters
    ----------
    problem : Problem
    side : int
        Side of a tile.
    threads : int
        Not used yet for one pair.

    Returns
    -------
    ndarray of int32, shape (tiles down, tiles across)
    """
    dtype = np.dtype(np.int16)
    step = int(np.abs(problem.table).max()) + problem.gap_open + problem.gap_extend
    if step < _LIMIT[dtype] // 4:
        most = _pass(problem, side, dtype)
        # a score rises by less than `step` a cell: one that wrapped around had passed here
        if most.max(initial=0) < _LIMIT[dtype] - 2 * step:
            return most
    return _pass(problem, side, np.dtype(np.int32))


def _pass(problem: Problem, side: int, dtype: np.dtype) -> NDArray[np.int32]:
    rows, columns = problem.shape
    lanes = simd.VECTOR_BYTES // dtype.itemsize
    shape = (-(-rows // side), -(-columns // side))
    width = lanes * side
    most = np.zeros((shape[0], -(-columns // width) * lanes), dtype=np.int32)
    symbols = np.full(rows + 2 * lanes, _PAD_ROW, dtype=dtype)
    symbols[lanes : lanes + rows] = problem.query[::-1]
    border, following = (Border(*(np.zeros(rows, dtype=dtype) for _ in "HE")) for _ in range(2))
    weights = _weights(problem, dtype)
    for number, first in enumerate(range(0, columns, width)):
        stripe = _stripe(problem, first, width, dtype)
        of_stripe = most[:, number * lanes : (number + 1) * lanes]
        _sweep(symbols, stripe, border, following, weights, of_stripe, side)
        border, following = following, border
    return np.ascontiguousarray(most[:, : shape[1]])


def _simple(problem: Problem) -> bool:
    return len(problem.table) == OTHER + 1


def _weights(problem: Problem, dtype) -> NDArray:
    match, mismatch = (int(problem.table[0, k]) for k in (0, 1))
    return np.array([match, mismatch, problem.gap_open, problem.gap_extend], dtype=dtype)


def _stripe(problem: Problem, first: int, width: int, dtype) -> Stripe:
    lanes = simd.VECTOR_BYTES // dtype.itemsize
    codes = np.full(width, _PAD_COLUMN, dtype=np.uint8)
    part = problem.subject[first : first + width]
    codes[: len(part)] = np.where(part == OTHER, _OTHER_COLUMN, part) if _simple(problem) else part
    laid_out = np.ascontiguousarray(codes.reshape(lanes, -1).T).ravel()
    cells = (np.zeros(width, dtype=dtype) for _ in "HF")
    if _simple(problem):
        return Stripe(laid_out.astype(dtype), *cells)
    padded = laid_out == _PAD_COLUMN
    scores = problem.table[:, np.where(padded, 0, laid_out)]
    scores[:, padded] = problem.table.min()
    return Stripe(np.ascontiguousarray(scores, dtype=dtype), *cells)


def _pair_scores(columns, position, row, match, mismatch):
    raise NotImplementedError("only for jitted code")


@overload(_pair_scores, inline="always")
def _overload_pair_scores(columns, position, row, match, mismatch):
    def by_equality(columns, position, row, match, mismatch):
        return simd.where_equal(simd.load(columns, position), row, match, mismatch)

    def by_profile(columns, position, row, match, mismatch):
        raise NotImplementedError

    return by_equality


@njit(nogil=True)
def _advance(stripe, row, diagonal, left, gap, weights, lanes):
    """Compute one row in every lane; return its last column, that column's gap and the maximum."""
    columns, best, down = stripe
    match, mismatch = simd.splat(weights[_MATCH]), simd.splat(weights[_MISMATCH])
    opens, extends = simd.splat(-weights[_OPEN]), simd.splat(-weights[_EXTEND])
    zero = simd.splat(weights.dtype.type(0))
    most = zero
    for position in range(0, len(best), lanes):
        up = simd.load(best, position)
        falling = simd.maximum(
            simd.add(up, opens), simd.add(simd.load(down, position), extends)
        )
        simd.store(down, position, falling)
        gap = simd.maximum(simd.add(left, opens), simd.add(gap, extends))
        pairs = _pair_scores(columns, position, row, match, mismatch)
        left = simd.maximum(simd.maximum(simd.add(diagonal, pairs), zero), simd.maximum(falling, gap))
        simd.store(best, position, left)
        most = simd.maximum(most, left)
        diagonal = up
    return left, gap, most
