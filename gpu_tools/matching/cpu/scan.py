"""Approximate matching on a CPU: the lanes of a vector work on different parts of the text.

Unit costs: bit vectors after Myers, blocks of 64 pattern rows, 8 text parts side by side.
Other costs: the plain recurrence, row by row, on 32 or 16 text parts side by side. Both leave out
the rows in which every cell is above the limit (Ukkonen's cut-off).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.model.scoring import LIMIT_INT32, EditCosts

WORD = 64
WORD_LANES = simd.VECTOR_BYTES // 8
STEPS_BETWEEN_CUTS = 8
NUCLEOTIDE_CODES = 5
_ONES = np.uint64(2**64 - 1)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Span(NamedTuple):
    """Where the lanes are: lane l answers for the ends after positions from begin + l * length on.

    `warm` steps go before, `end` bounds the last lane.
    """

    warm: int
    length: int
    begin: int
    end: int


def _looked_up(table, row, codes):
    raise NotImplementedError("only for jitted code")


@overload(_looked_up, inline="always")
def _overload_looked_up(table, row, codes):
    """Look up a code in each lane: five nucleotide codes by selection, more in memory."""

    def by_selection(table, row, codes):
        found = simd.splat(table[row, NUCLEOTIDE_CODES])
        for code in range(NUCLEOTIDE_CODES):
            of_code = simd.splat(table.dtype.type(code))
            found = simd.where_equal(codes, of_code, simd.splat(table[row, code]), found)
        return found

    def by_gathering(table, row, codes):
        return simd.gather(table, row * table.shape[1], codes)

    return by_selection if table.ndim == 2 else by_gathering


@njit(nogil=True)
def _fit(pv, mv, score, last, m, limit):
    """Return the last block that may hold a cell within `limit` soon, and its bottom row."""
    n_blocks = len(pv) // WORD_LANES
    near = simd.splat(np.uint64(limit + STEPS_BETWEEN_CUTS))
    while last + 1 < n_blocks and simd.any_at_most(score, near):
        last += 1
        simd.store(pv, last * WORD_LANES, simd.splat(_ONES))
        simd.store(mv, last * WORD_LANES, simd.splat(_ZERO))
        rows = min(m - last * WORD, WORD)
        score = simd.add(score, simd.splat(np.uint64(rows)))
    while last > 0:
        rows = min(m - last * WORD, WORD)
        top = simd.splat(np.uint64(limit + STEPS_BETWEEN_CUTS + rows - 1))
        if simd.any_at_most(score, top):
            break
        mask = simd.splat(_ONES >> np.uint64(WORD - rows))
        falls = simd.count_bits(simd.bit_and(simd.load(mv, last * WORD_LANES), mask))
        rises = simd.count_bits(simd.bit_and(simd.load(pv, last * WORD_LANES), mask))
        score = simd.subtract(simd.add(score, falls), rises)
        last -= 1
    return last, score


@njit(cache=True, nogil=True)
def _report(scores, step, span, limits, hits, count):
    """Record the lanes whose score is within the limit; return the number of hits so far."""
    begin, length, end = span[2], span[1], span[3]
    for lane in range(len(scores)):
        value = np.int64(scores[lane])
        position = begin + lane * length + step - span[0]
        if value > limits[0] or position >= end:
            continue
        if value < limits[0] and limits[0] > limits[1]:
            limits[0], count = max(value, limits[1]), 0
        if count < len(hits):
            hits[count, 0], hits[count, 1] = position + 1, value
        count += 1
    return count


@njit(cache=True, nogil=True)
def scan_words(text, peq, m, span, limits, hits):
    """Find the ends of matches by unit costs.

    Parameters
    ----------
    text : ndarray, shape (steps * 8,)
        Codes laid out by `lay_out`.
    peq : ndarray of uint64, shape (blocks, 6) or (blocks, codes + 1, 1)
        Bit i of block b is set where pattern row 64 b + i matches the code.
    m : int
        Pattern rows.
    span : Span
    limits : ndarray of int64, shape (2,)
        Largest distance to report, and the least to which it may fall: as soon as a smaller
        distance is found the first falls to it, but not below the second.
    hits : ndarray of int64, shape (capacity, 2)
        Filled with end and distance of matches, lanes mixed.

    Returns
    -------
    int
        Number of hits, also of those beyond the capacity.
    """
    n_blocks = len(peq)
    pv, mv = np.empty(n_blocks * WORD_LANES, np.uint64), np.empty(n_blocks * WORD_LANES, np.uint64)
    simd.store(pv, 0, simd.splat(_ONES))
    simd.store(mv, 0, simd.splat(_ZERO))
    scores = np.empty(WORD_LANES, np.uint64)
    score = simd.splat(np.uint64(min(m, WORD)))
    ones, one = simd.splat(_ONES), simd.splat(_ONE)
    last, count, warm = 0, 0, span[0]
    limit = simd.splat(np.uint64(limits[0]))
    for step in range(warm + span[1]):
        if step % STEPS_BETWEEN_CUTS == 0:
            last, score = _fit(pv, mv, score, last, m, limits[0])
        codes = simd.load_widened(text, step * WORD_LANES, np.uint64(0))
        carry_up, carry_down = simd.splat(_ZERO), simd.splat(_ZERO)
        for block in range(last + 1):
            bottom = simd.splat(np.uint64(min(m - block * WORD, WORD) - 1))
            at = block * WORD_LANES
            up, down = simd.load(pv, at), simd.load(mv, at)
            equal = _looked_up(peq, block, codes)
            vertical = simd.bit_or(equal, down)
            equal = simd.bit_or(equal, carry_down)
            total = simd.add(simd.bit_and(equal, up), up)
            horizontal = simd.bit_or(simd.bit_xor(total, up), equal)
            rise = simd.bit_or(down, simd.bit_xor(simd.bit_or(horizontal, up), ones))
            fall = simd.bit_and(up, horizontal)
            next_up = simd.bit_and(simd.shift_right(rise, bottom), one)
            next_down = simd.bit_and(simd.shift_right(fall, bottom), one)
            rise = simd.bit_or(simd.shift_left(rise, one), carry_up)
            fall = simd.bit_or(simd.shift_left(fall, one), carry_down)
            none = simd.bit_xor(simd.bit_or(vertical, rise), ones)
            simd.store(pv, at, simd.bit_or(fall, none))
            simd.store(mv, at, simd.bit_and(rise, vertical))
            carry_up, carry_down = next_up, next_down
        score = simd.subtract(simd.add(score, carry_up), carry_down)
        if last == n_blocks - 1 and step >= warm and simd.any_at_most(score, limit):
            simd.store(scores, 0, score)
            count = _report(scores, step, span, limits, hits, count)
            limit = simd.splat(np.uint64(limits[0]))
    return count


@njit(cache=True, nogil=True)
def scan_costs(text, profile, weights, span, limits, hits):
    """Find the ends of matches by weighted costs.

    Parameters
    ----------
    text : ndarray, shape (steps * lanes,)
        Codes laid out by `lay_out`.
    profile : ndarray of int16 or int32, shape (m, 6) or (m, codes + 1, 1)
        Costs of each row and code; the last code pads and costs more than any limit.
    weights : ndarray of the same type, shape (2,)
        Deletion and insertion.
    span, limits, hits
        As in `scan_words`.

    Returns
    -------
    int
        Number of hits, also of those beyond the capacity.
    """
    lanes = simd.VECTOR_BYTES // profile.itemsize
    m, warm = len(profile), span[0]
    column, scores = np.empty(m * lanes, profile.dtype), np.empty(lanes, profile.dtype)
    for row in range(m):
        column[row * lanes : (row + 1) * lanes] = (row + 1) * weights[0]
    zero = np.zeros(1, profile.dtype)[0]
    deletion, insertion = simd.splat(weights[0]), simd.splat(weights[1])
    limit = simd.splat(profile.dtype.type(limits[0]))
    active, count = min(m, limits[0] // weights[0]), 0
    for step in range(warm + span[1]):
        codes = simd.load_widened(text, step * lanes, zero)
        diagonal, up = simd.splat(zero), simd.splat(zero)
        row = 0
        # one row beyond the active ones, and further only down a run of deletions
        while row < m and (row <= active or simd.any_at_most(simd.add(up, deletion), limit)):
            left = simd.load(column, row * lanes)
            pair = simd.add(diagonal, _looked_up(profile, row, codes))
            up = simd.minimum(simd.minimum(pair, simd.add(up, deletion)),
                              simd.add(left, insertion))  # fmt: skip
            simd.store(column, row * lanes, up)
            diagonal = left
            row += 1
        if row == m and step >= warm and simd.any_at_most(up, limit):
            simd.store(scores, 0, up)
            count = _report(scores, step, span, limits, hits, count)
            limit = simd.splat(profile.dtype.type(limits[0]))
        active = row
        while active > 0 and not simd.any_at_most(simd.load(column, (active - 1) * lanes), limit):
            active -= 1
    return count


@njit(cache=True, nogil=True)
def lay_out(codes, first, span, lanes, pad, laid_out):
    """Write the lanes' codes side by side, step by step; `pad` outside ``first`` to the end."""
    steps = span[0] + span[1]
    for lane in range(lanes):
        shift = span[2] + lane * span[1] - span[0]
        for step in range(steps):
            position = shift + step
            inside = first <= position < span[3]
            laid_out[step * lanes + lane] = codes[position] if inside else pad


class Query(NamedTuple):
    """A probe as the loops want it: `scan_words` or `scan_costs`, its tables, and its lanes."""

    function: Callable[..., int]
    tables: tuple
    lanes: int

    def scan(self, text, span: Span, limits, hits) -> int:
        """Run the loop."""
        return self.function(text, *self.tables, tuple(span), limits, hits)


def query(symbols: NDArray[np.uint8], matches: NDArray[np.bool_], costs: EditCosts) -> Query:
    """Return a probe as the loops want it.

    Parameters
    ----------
    symbols : ndarray of uint8, shape (m,)
        Pattern symbols.
    matches : ndarray of bool, shape (S, C)
        The alphabet's.
    costs : EditCosts

    Returns
    -------
    Query

    Raises
    ------
    ScoringError
        If costs could overflow 32-bit integers.
    """
    return _unit_query(symbols, matches) if costs.unit else _cost_query(symbols, matches, costs)


def largest_value(m: int, pairs, costs: EditCosts) -> int:
    """Return what no value of the recurrence exceeds.

    Parameters
    ----------
    m : int
        Pattern rows.
    pairs : ndarray of int
        Costs of pairs that may occur.
    costs : EditCosts

    Raises
    ------
    ScoringError
        If such a value could overflow 32-bit integers.
    """
    # no cell is above the cost of deleting all rows; a padded pair is added to such a cell
    largest = 2 * (m * costs.deletion + 1) + max(int(pairs.max()), costs.deletion, costs.insertion)
    if largest >= LIMIT_INT32:
        raise ScoringError(f"distances up to {largest} could overflow; expected less than 2^30")
    return largest


def _unit_query(symbols, matches) -> Query:
    m, n_codes = len(symbols), matches.shape[1]
    n_blocks = -(-m // WORD)
    bits = np.zeros((n_blocks * WORD, n_codes + 1), dtype=bool)
    bits[:m, :n_codes] = matches[symbols]
    packed = np.packbits(bits.reshape(n_blocks, WORD, -1), axis=1, bitorder="little")
    words = np.ascontiguousarray(packed.transpose(0, 2, 1)).view("<u8")
    if n_codes == NUCLEOTIDE_CODES:
        words = words[:, :, 0]
    return Query(scan_words, (np.ascontiguousarray(words, dtype=np.uint64), m), WORD_LANES)


def _cost_query(symbols, matches, costs: EditCosts) -> Query:
    pairs = costs.pair_costs(matches)[symbols].astype(np.int64)
    unreachable = len(symbols) * costs.deletion + 1
    largest = largest_value(len(symbols), pairs, costs)
    dtype = np.int16 if largest < 2**15 else np.int32
    profile = np.column_stack((pairs, np.full(len(symbols), unreachable))).astype(dtype)
    if matches.shape[1] != NUCLEOTIDE_CODES:
        profile = profile[:, :, None]
    weights = np.array([costs.deletion, costs.insertion], dtype=dtype)
    lanes = simd.VECTOR_BYTES // profile.itemsize
    return Query(scan_costs, (np.ascontiguousarray(profile), weights), lanes)
