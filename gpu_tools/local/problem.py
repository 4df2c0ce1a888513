"""One pair of sequences, encoded and scored, and a score that its best alignment reaches.

Words that the query has once, and that the subject has, too, are *anchors*. The longest chain of
anchors that ascend in both sequences shows where the two may be aligned. The score of an alignment
along the chain is exact, however good the chain is. It is a lower bound of the best score, so that
the score pass skips cells that cannot reach it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.model.scoring import AffineScoring
from gpu_tools.model.sequences import OTHER

MOST_WORDS = 1 << 16
"""Approximate limit of the words of a sequence that are looked up."""
_UNCOMMON = 3
"""Symbols of a word beyond those with which words are about unique in a random sequence."""
_LONGEST_WORD = 60
"""Limit of a word, in bits."""
_MIXER = 0x9E3779B97F4A7C15
_NO_WORD, _REPEATED = -1, -2
"""Rows of slots without a word, and of words that the query repeats."""


class Problem(NamedTuple):
    """Codes of query (rows) and subject (columns), and their scoring."""

    query: NDArray[np.uint8]
    subject: NDArray[np.uint8]
    table: NDArray[np.int32]  # scores by code
    gap_open: int
    gap_extend: int
    identical: NDArray[np.bool_]  # by code, whether it is identical to itself; N is not

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        return len(self.query), len(self.subject)


class Batch(NamedTuple):
    """Matrices that share a scoring."""

    scored: Problem  # without sequences
    symbols: NDArray[np.uint8]  # codes of all sequences
    spans: NDArray[np.int64]  # (matrices, 4): first and end of each query, then of the subject

    @property
    def shapes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows and columns of the matrices."""
        return self.spans[:, 1] - self.spans[:, 0], self.spans[:, 3] - self.spans[:, 2]


class Tiles(NamedTuple):
    """The tiles of the matrices of a batch, and the alignments to search for.

    Arrays have an element for each matrix. The bounds of a matrix lie in a common array from
    `first` on, row by row.
    """

    first: NDArray[np.int64]
    down: NDArray[np.int64]
    across: NDArray[np.int64]
    side: NDArray[np.int64]  # a power of two
    least: NDArray[np.int64]  # score of alignments to search for
    only_best: bool  # of these only the best


class Threshold(NamedTuple):
    """The alignments to search for: those of a score of at least `least`, or of these the best."""

    least: int
    only_best: bool


ALL = Threshold(1, False)
"""All local alignments."""


class Rectangle(NamedTuple):
    """Rows and columns of a part of the matrix, both half-open."""

    top: int
    bottom: int
    left: int
    right: int


class SearchSizes(NamedTuple):
    """Sizes that determine time and memory of a search, never its result."""

    smallest_tile: int = 64  # side of a tile
    margin: int = 128  # rows and columns of a tile's first window before the tile
    cells_at_once: int = 1 << 25  # cells of a traceback that are stored, a byte each
    # length of both sequences from which on common words are looked up
    words_on_cpu: int = 1 << 13
    words_on_gpu: int = 1 << 18


USUAL_SIZES = SearchSizes()


def make_problem(query, subject, scoring: AffineScoring) -> Problem:
    """Return the problem of two arrays of codes."""
    table = scoring.table()
    identical = np.ones(len(table), dtype=bool)
    if len(identical) == OTHER + 1:
        identical[OTHER] = False
    return Problem(query, subject, table, scoring.gap_open, scoring.gap_extend, identical)


def make_batch(sequences: list[tuple[NDArray, NDArray]], scoring: AffineScoring) -> Batch:
    """Return the matrices of one or more pairs of queries and subjects."""
    nothing = np.empty(0, np.uint8)
    codes = [each for pair in sequences for each in pair]
    ends = np.cumsum([len(each) for each in codes], dtype=np.int64)
    spans = np.stack([np.append(0, ends[:-1]), ends], axis=1).reshape(-1, 4)
    return Batch(make_problem(nothing, nothing, scoring), np.concatenate(codes), spans)


@register_jitable
def problem_of(batch, number):
    """Return the problem of a matrix of a batch."""
    scored, symbols, spans = batch.scored, batch.symbols, batch.spans
    query = symbols[spans[number, 0] : spans[number, 1]]
    subject = symbols[spans[number, 2] : spans[number, 3]]
    gaps = scored.gap_open, scored.gap_extend
    return Problem(query, subject, scored.table, gaps[0], gaps[1], scored.identical)


def make_tiles(batch: Batch, sides, least, only_best: bool) -> Tiles:
    """Return tiles of given sides whose bounds lie one matrix after the other."""
    down, across = (-(-length // sides) for length in batch.shapes)
    ends = np.cumsum(down * across)
    least = np.zeros_like(down) + least
    return Tiles(ends - down * across, down, across, sides, least, only_best)


# ---- a lower bound of the best score, from a chain of words


class Words(NamedTuple):
    """The words of a sequence that are looked up."""

    bits: int  # of a symbol
    letters: int  # codes from here on are part of no word
    length: int  # of a word, in bits
    mask: int  # words whose hash shares a bit with it are skipped


def score_reached(problem: Problem, most_words: int = MOST_WORDS) -> int:
    """Return the score of some local alignment, 0 if none is found."""
    bits, letters = (2, OTHER) if len(problem.table) == OTHER + 1 else (5, len(problem.table))
    length = (max(problem.shape).bit_length() // bits + _UNCOMMON) * bits
    one_of = 1 << max(min(problem.shape) // most_words, 1).bit_length() - 1
    words = Words(bits, letters, min(length, _LONGEST_WORD), one_of - 1)
    return int(_score_along(problem, *_longest_chain(*common_words(problem, words))))


@njit(cache=True, nogil=True)
def common_words(problem, words):
    """Return rows and columns of the ends of words that the query has once, by column."""
    known, ends = _table_of_query(problem.query, words)
    found, columns = _selected(problem.subject, words)
    rows, n = np.empty(len(found), np.int64), 0
    for k in range(len(found)):
        rows[n], columns[n] = ends[_slot(found[k], known, ends)], columns[k]
        n += rows[n] >= 0
    return rows[:n], columns[:n]


@njit(nogil=True)
def _table_of_query(query, words):
    """Return a hash table of words and their rows in the query, `_REPEATED` for repeats."""
    found, rows = _selected(query, words)
    size = 4
    while size < 2 * len(found):
        size *= 2
    known, ends = np.empty(size, np.int64), np.full(size, _NO_WORD, np.int64)
    for k in range(len(found)):
        at = _slot(found[k], known, ends)
        known[at] = found[k]
        ends[at] = rows[k] if ends[at] == _NO_WORD else _REPEATED
    return known, ends


@njit(nogil=True)
def _slot(word, known, ends):
    """Return the slot of a word in a table, or the empty one where it would be."""
    at = (_mixed(word) >> 8) & (len(ends) - 1)
    while ends[at] != _NO_WORD and known[at] != word:
        at = (at + 1) & (len(ends) - 1)
    return at


@njit(nogil=True)
def _mixed(word):
    """Return 32 bits of a word's hash value."""
    return np.int64((np.uint64(word) * np.uint64(_MIXER)) >> np.uint64(32))


@njit(nogil=True)
def _selected(symbols, words):
    """Return the words of a sequence that are looked up, and the positions of their ends."""
    bits, letters, length, mask = words
    symbols_of_word, all_bits = length // bits, (np.int64(1) << length) - 1
    most = len(symbols) // (mask + 1)
    most += most // 2 + 64  # repeats may have more; the rest of them is skipped
    found, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    n, word, first_end = 0, np.int64(0), symbols_of_word - 1
    for end in range(len(symbols)):
        code = np.int64(symbols[end])
        if code >= letters:
            first_end = end + symbols_of_word
        word = (word << bits | code) & all_bits
        if _mixed(word) & mask == 0 and end >= first_end and n < most:
            found[n], ends[n] = word, end
            n += 1
    return found[:n], ends[:n]


@njit(cache=True, nogil=True)
def _longest_chain(rows, columns):
    """Return rows and columns of the longest chain of pairs that ascends in both."""
    lasts, before = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    length = 0
    for k in range(len(rows)):
        # lasts[n]: end of the chain of n + 1 pairs so far whose last row is smallest
        low, high = 0, length
        while low < high:
            middle = (low + high) // 2
            if rows[lasts[middle]] < rows[k]:
                low = middle + 1
            else:
                high = middle
        before[k] = lasts[low - 1] if low else -1
        lasts[low] = k
        length = max(length, low + 1)
    chain = np.empty(length, np.int64)
    for n in range(length - 1, -1, -1):
        chain[n] = lasts[n] if n == length - 1 else before[chain[n + 1]]
    return rows[chain], columns[chain]


@njit(cache=True, nogil=True)
def _score_along(problem, rows, columns):
    """Return the best local score along a chain of pairs and the diagonals of its ends."""
    if not len(rows):
        return np.int64(0)
    lead = min(rows[0], columns[0]) + 1
    before, score, best = (rows[0] - lead, columns[0] - lead), np.int64(0), np.int64(0)
    for k in range(len(rows)):
        score, best = _extend_to(problem, before, (rows[k], columns[k]), score, best)
        before = rows[k], columns[k]
    rest = min(len(problem.query) - before[0], len(problem.subject) - before[1]) - 1
    return _extend_to(problem, before, (before[0] + rest, before[1] + rest), score, best)[1]


@njit(nogil=True)
def _extend_to(problem, start, end, score, best):
    """Extend an alignment from one pair to another, with a gap if needed where it costs least.

    Return the score of the alignment so far, and that of the best one.
    """
    query, subject, table = problem.query, problem.subject, problem.table
    down, across = end[0] - start[0], end[1] - start[1]
    pairs, gap = min(down, across), abs(down - across)
    if not gap:
        for n in range(1, pairs + 1):
            score = max(score + table[query[start[0] + n], subject[start[1] + n]], 0)
            best = max(best, score)
        return score, best
    # most: the largest gain of pairs before the gap over as many pairs behind it
    behind = gained = most = np.int64(0)
    for n in range(1, pairs + 1):
        later = table[query[end[0] - pairs + n], subject[end[1] - pairs + n]]
        behind += later
        gained += table[query[start[0] + n], subject[start[1] + n]] - later
        most = max(most, gained)
    score += most + behind - problem.gap_open - (gap - 1) * problem.gap_extend
    score = max(score, 0)
    return score, max(best, score)


# ---- scores of whole sequences, without their alignments

_IMPOSSIBLE = -(1 << 30)


def global_score(one: NDArray[np.uint8], two: NDArray[np.uint8], scoring: AffineScoring) -> int:
    """Return the score of the best alignment of two whole sequences; the second is not empty."""
    table = scoring.table().astype(np.int32)
    return int(_global_score(one, two, table, scoring.gap_open, scoring.gap_extend))


@njit(cache=True, nogil=True)
def _global_score(one, two, table, gap_open, gap_extend):
    # H(i, j) = max(H(i-1, j-1) + table(one(i), two(j)), E(i, j), F(i, j))
    # E(i, j) = max(H(i, j-1) - gap_open, E(i, j-1) - gap_extend); F(i, j) likewise, from above
    # cells are H + j * gap_extend; column c of lane l is element c * lanes + l
    lanes = simd.lanes_of(table)
    each = len(two) // lanes + 1
    width, last = each * lanes, len(two) % each * lanes + len(two) // each
    profile = simd.aligned_zeros(len(table) * width, table.dtype)
    cells = simd.aligned_zeros(2 * width, table.dtype)
    for k in range(width):
        column = k % lanes * each + k // lanes
        cells[k] = gap_extend - gap_open if column else 0
        cells[width + k] = _IMPOSSIBLE
        if 0 < column <= len(two):
            for symbol in range(len(table)):
                profile[symbol * width + k] = table[symbol, two[column - 1]] + gap_extend
    opening, more = simd.splat(np.int32(gap_open)), simd.splat(np.int32(gap_extend))
    first, none = simd.splat(np.int32(gap_open - gap_extend)), np.int32(_IMPOSSIBLE)
    for symbol in one:
        pairs, left = np.int64(symbol) * width, simd.splat(none)
        diagonal = simd.shift_in(simd.load(cells, width - lanes), none)
        for k in range(0, width, lanes):
            above = simd.load(cells, k)
            gap = simd.subtract(simd.load(cells, width + k), more)
            gap = simd.maximum(simd.subtract(above, opening), gap)
            simd.store(cells, width + k, gap)
            cell = simd.maximum(simd.add(diagonal, simd.load(profile, pairs + k)), gap)
            simd.store(cells, k, simd.maximum(cell, simd.subtract(left, first)))
            left, diagonal = simd.maximum(left, cell), above
        carry = simd.subtract(simd.prefix_maximum(simd.shift_in(left, none)), first)
        for k in range(0, width, lanes):
            simd.store(cells, k, simd.maximum(simd.load(cells, k), carry))
    return cells[last] - gap_extend * len(two)
