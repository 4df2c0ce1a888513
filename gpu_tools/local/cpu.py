"""The score pass on a CPU: upper bounds of the scores of tiles of a matrix, or of a *window* of it.

The lanes of a vector hold neighbouring blocks of columns. In step s, lane l computes the row
2 (s - l) and the row below. So it needs from the lane before what that lane computed one step
earlier. A *strip* is the columns of all lanes. Of the strip before, it needs only the last column,
the *border*. Scores on the top and left border of a window are known as upper bounds alone.

Cells hold scores less an offset, so that 0 is the smallest integer of their type and additions that
saturate keep scores from falling under it. A cell at the largest integer may have been cut off;
then a wider type does the work.

Some steps at a time are skipped if no alignment above the threshold can run through their cells:
the highest score in the lanes or on the border, and a match for each row or column that remains,
add up to less. The cells behind them begin from 0.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.cpu.simd import first_from, largest_in, largest_of
from gpu_tools.hardware.threads import CELLS_PER_REPORT, watched
from gpu_tools.local.problem import Batch, Problem, Rectangle, Threshold, Tiles, problem_of
from gpu_tools.model.sequences import OTHER

_log = logging.getLogger(__name__)

_NO_PAIRS = np.empty(0, np.int64), np.empty(0, np.int64)
STEPS = 32
"""Steps that are skipped, or done, together."""
LONGEST_BLOCK = 128
"""Limit of the columns of a lane: a strip stays in the nearest cache."""
_MATCH, _MISMATCH, _OPENS, _EXTENDS, ZERO = range(5)
_PAD_ROW, _PAD_COLUMN, _OTHER_COLUMN = 100, 101, 102
"""Symbols that are equal to none."""


class WindowBorder(NamedTuple):
    """Scores of the cells above a window, from its left corner on (columns + 1), and left of it."""

    above: NDArray[np.int32]
    left: NDArray[np.int32]


class Pruning(NamedTuple):
    """Inputs of the decision to skip cells.

    Alignments below the score `known` are not searched for; it `rises` with the best score so far.
    A pair adds `gain` at most. `rows` and `columns` count from a strip's first cell.
    """

    known: int
    rises: bool
    gain: int
    rows: int
    columns: int


def empty_bounds(tiles: Tiles) -> NDArray[np.int32]:
    """Return the common array of the bounds of tiles that lie one matrix after the other."""
    return np.zeros(int((tiles.down * tiles.across).sum()), np.int32)


def score_passes(
    batch: Batch,
    tiles: Tiles,
    upper: NDArray[np.int32],
    numbers: range,
    done: Callable[[int], None] | None = None,
) -> None:
    """Write upper bounds on the scores of the tiles of some matrices.

    These are the largest scores, but padding behind the last row and column may raise those of the
    last tiles. Cells that are part of no alignment within the threshold are skipped.
    """
    left = np.array(numbers)
    cells = int(np.multiply(*batch.shapes)[left].sum())
    for costs in costs_that_fit(batch.scored, np.int8, np.int16, np.int32):
        # one byte is for score passes alone; others share what is compiled for windows
        pairs = None if costs.weights.dtype == np.int8 else _NO_PAIRS
        bound = partial(_bound, batch, tiles, upper, left, pairs, costs)
        small = done is None or cells < CELLS_PER_REPORT
        left = bound(np.zeros(1, np.int64)) if small else watched(bound, done)
        _log.debug(
            "score passes on the CPU: %d cells; %d matrices need more than %d bits",
            cells, len(left), 8 * costs.weights.dtype.itemsize,
        )  # fmt: skip
        if not len(left):
            break


def costs_that_fit(problem: Problem, *dtypes: type) -> list[AffineCosts]:
    """Return the costs in those of the types that are wide enough for each of them."""
    table = problem.table
    return _costs_that_fit(
        table.tobytes(), len(table), problem.gap_open, problem.gap_extend, dtypes
    )


@lru_cache(64)
def _costs_that_fit(scores: bytes, codes: int, gap_open: int, gap_extend: int, dtypes):
    """Return the costs of `costs_that_fit`, which thousands of pairs share."""
    table = np.frombuffer(scores, np.int32).reshape(codes, codes)
    largest = max(int(np.abs(table).max()), gap_open)
    return [
        _costs_of(table, gap_open, gap_extend, np.dtype(t))
        for t in dtypes
        if largest <= np.iinfo(t).max
    ]


@njit(cache=True, nogil=True)
def _bound(batch, tiles, upper, numbers, forbidden, costs, counter):
    """Bound the tiles of some matrices; return the matrices for which `costs` are too narrow."""
    narrow, n = np.empty_like(numbers), 0
    for number in numbers:
        problem, side = problem_of(batch, number), tiles.side[number]
        rows, columns = len(problem.query), len(problem.subject)
        window = Rectangle(0, rows, 0, columns)
        border = WindowBorder(np.zeros(columns + 1, np.int32), np.zeros(rows, np.int32))
        threshold = Threshold(tiles.least[number], tiles.only_best)
        bounds = bounds_of_window(
            problem, window, side, border, forbidden, threshold, costs, counter
        )
        if len(bounds):
            simd.copy(bounds.reshape(bounds.size), upper[tiles.first[number] :])
        else:
            narrow[n] = number
            n += 1
    return narrow[:n]


@njit(nogil=True)
def bounds_of_window(problem, window, side, border, forbidden, threshold, costs, counter):
    """Return upper bounds on the scores of a window's tiles, of size 0 if `costs` are too narrow.

    The window begins at a corner of a tile.
    """
    # best(i, j) = max(0, best(i-1, j-1) + pair(i, j), gap of query, gap of subject)
    # gap(i, j) = max(best - open, gap - extend) of the cell before or above
    # forbidden: rows and columns of forbidden pairs; counter: raised by the cells that are done
    weights = costs.weights
    lanes, zero = simd.lanes_of(weights), np.int64(weights[ZERO])
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
    # a literal 0 would have `laid_out` compiled twice
    first, most = np.int64(0), np.empty((len(largest), lanes), weights.dtype)
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
    """Return the offset of each step's forbidden pairs, their positions, and zeros per position.

    Positions in lower rows come behind all those in upper rows. Without pairs all are empty.
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
    """Raise the tiles to the largest scores of a strip's lanes, `block` columns each."""
    for lane in range(most.shape[1]):
        across = (first + lane * block) // side
        if across < largest.shape[1]:
            for down in range(len(most)):
                score = np.int32(np.int64(most[down, lane]) - np.int64(zero))
                largest[down, across] = max(largest[down, across], score)


@njit(nogil=True)
def _sweep(inputs, barred, following, most, side, pruning):
    """Sweep a strip; `most` receives the largest score of each lane, by row of tiles.

    The cell of column c of lane l lies at c * lanes + l, and so do the columns, see `laid_out`.
    Return the score below which alignments are not searched for.
    """
    known, rises, gain, n_rows, n_columns = pruning
    _, columns, _, border, weights = inputs
    lanes, zero = simd.lanes_of(weights), weights[ZERO]
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
        if more < known and _highest_entering(highest, edge, border, steps, zero) + more < known:
            _skip(steps, cells, following, (most, side), zero)
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
def _highest_entering(highest, edge, border, steps, zero):
    """Return the highest of a score, those of the lanes' edges, and those of the steps' border."""
    for value in edge:
        highest = max(highest, np.int64(value) - zero)
    for value in border[0][2 * steps[0] : 2 * steps[1]]:
        highest = max(highest, np.int64(value) - zero)
    return highest


@njit(nogil=True)
def _skip(steps, cells, following, tiles, zero):
    """Write 0 behind skipped steps, and clear the lanes."""
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
    """Run steps of a strip; see `_sweep`."""
    symbols, columns, above, border, weights = inputs
    best, falling, edge, met = cells
    most, side = tiles
    lanes, half, zero = simd.lanes_of(weights), side // 2, weights[ZERO]
    n_pairs, block = len(border[0]) // 2, len(best) // lanes
    for step in range(steps[0], steps[1]):
        if step < lanes:  # the lane begins: before, its rows lay above the matrix
            for c in range(block):
                best[c * lanes + step] = falling[c * lanes + step] = above[step * block + c + 1]
            edge[step], met[step] = above[step * block], zero
        for lane in range(step & (half - 1), min(step, lanes), half):  # lanes that enter a tile
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


# ---- vectors


class AffineCosts(NamedTuple):
    """Scores of match, mismatch (with a profile, of padding) and gaps, and the cell of score 0.

    `profile` holds the scores by code, shape (codes, codes), or (0,) where only equality counts.
    """

    weights: NDArray
    profile: NDArray


@njit(nogil=True)
def block_of(columns, lanes, side):
    """Return the number of columns of a lane, a power of two."""
    block = 1
    while block < min(side, LONGEST_BLOCK) and block * lanes < columns:
        block *= 2
    return block


def _costs_of(table: NDArray, gap_open: int, gap_extend: int, dtype: np.dtype) -> AffineCosts:
    """Return scores and penalties as elements of a vector."""
    match, mismatch = (int(table[0, k]) for k in (0, 1))
    profile = np.empty(0, dtype=dtype)
    # nucleotides have two scores, and padding, which is unequal, adds nothing
    if len(table) != OTHER + 1 or mismatch > 0:
        mismatch = -int(np.abs(table).max())
        profile = table.astype(dtype)
    weights = match, mismatch, -gap_open, -gap_extend, np.iinfo(dtype).min
    return AffineCosts(np.array(weights, dtype=dtype), profile)


@njit(nogil=True)
def laid_out(subject, first, block, weights, profile):
    """Return a strip's columns from column `first` on, `block` per lane.

    They are codes, or, of shape (codes, columns), the scores of each code in each column.
    """
    lanes = simd.lanes_of(weights)
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
    lanes, n_pairs = simd.lanes_of(weights), -(-len(codes) // 2)
    upper = np.full(n_pairs + 2 * lanes, _PAD_ROW, weights.dtype)
    lower = upper.copy()
    simd.copy(codes[::2][::-1], upper[lanes:])
    simd.copy(codes[1::2][::-1], lower[lanes + n_pairs - len(codes) // 2 :])
    return upper, lower


@njit(nogil=True)
def advance(columns, best, falling, rows, state, weights, barred=None):
    """Compute two rows in every lane; return the state at the last columns, and the largest scores.

    `rows` are the symbols of the upper and of the lower rows. `state` is the diagonal, then best
    score and gap left of the lanes' first columns of the upper, then of the lower row. `barred`, if
    any, is added to the scores of the upper rows' pairs, then to those of the lower ones.
    """
    diagonal, upper, upper_gap, lower, lower_gap = state
    # splats are outside of the loop, as every store in it could change `weights`
    match, mismatch = simd.splat(weights[_MATCH]), simd.splat(weights[_MISMATCH])
    opens, extends = simd.splat(weights[_OPENS]), simd.splat(weights[_EXTENDS])
    lanes = simd.lanes_of(weights)
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
        # the gap depends on the column before: it is added last, as it is ready last
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
    """Return a step's state: the last columns of each lane move on to the next lane.

    `edge` holds the diagonals, then the last columns as `advance` returns them. Rows `at` and
    `at` + 1 of the border enter the first lane.
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
    """Raise a tile to a lane's largest score, and reset that."""
    if tile < len(most):  # below there is only padding
        most[tile, lane] = max(most[tile, lane], largest[lane])
    largest[lane] = zero
