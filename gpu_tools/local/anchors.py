"""A score that the best alignment of two sequences reaches at least: that of a chain of words.

Words that the query has once, and the subject has too, show where the two may be aligned. The most
of them that follow each other in both sequences are a chain. The score of an alignment along it is
exact, however good the chain is, so the score pass may leave out what cannot reach it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpu_tools.hardware.compiled import njit
from gpu_tools.local.problem import Problem
from gpu_tools.model.sequences import OTHER

MOST_WORDS = 1 << 16
"""About so many words of a sequence are looked up."""
_UNCOMMON = 3
"""Symbols of a word besides those that make each word occur once in a random sequence, about."""
_LONGEST_WORD = 60
"""Bits of a word."""
_MIXER = 0x9E3779B97F4A7C15
_NO_WORD, _REPEATED = -1, -2
"""Rows of slots without a word, and of words that the query has more than once."""


class Words(NamedTuple):
    """Which words of a sequence are looked up.

    `bits` are those of a symbol, codes from `letters` on are part of no word, `length` is a word's
    in bits, and words whose mixed bits have any of the mask's are left out.
    """

    bits: int
    letters: int
    length: int
    mask: int


def score_reached(problem: Problem, most_words: int = MOST_WORDS) -> int:
    """Return the score of some local alignment; 0 if there is none with a score above that."""
    bits, letters = (2, OTHER) if len(problem.table) == OTHER + 1 else (5, len(problem.table))
    length = (max(problem.shape).bit_length() // bits + _UNCOMMON) * bits
    one_of = 1 << max(min(problem.shape) // most_words, 1).bit_length() - 1
    words = Words(bits, letters, min(length, _LONGEST_WORD), one_of - 1)
    return int(_score_along(problem, *_longest_chain(*common_words(problem, words))))


@njit(cache=True, nogil=True)
def common_words(problem, words):
    """Return the rows and columns in which words end that the query has once, by column."""
    known, ends = _table_of_query(problem.query, words)
    found, columns = _selected(problem.subject, words)
    rows, n = np.empty(len(found), np.int64), 0
    for k in range(len(found)):
        rows[n], columns[n] = ends[_slot(found[k], known, ends)], columns[k]
        n += rows[n] >= 0
    return rows[:n], columns[:n]


@njit(nogil=True)
def _table_of_query(query, words):
    """Return a hash table: words, and the rows in which those end that the query has once."""
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
    """Return the words of a sequence that are looked up, and the positions in which they end."""
    bits, letters, length, mask = words
    symbols_of_word, all_bits = length // bits, (np.int64(1) << length) - 1
    most = len(symbols) // (mask + 1)
    most += most // 2 + 64  # repeats may have more; the rest of them is left out
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
    """Return rows and columns of the most pairs of which each is behind the one before in both."""
    lasts, before = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    length = 0
    for k in range(len(rows)):
        # of the chains of each length so far, `lasts` has the one that ends in the smallest row
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
        score, best = _linked(problem, before, (rows[k], columns[k]), score, best)
        before = rows[k], columns[k]
    rest = min(len(problem.query) - before[0], len(problem.subject) - before[1]) - 1
    return _linked(problem, before, (before[0] + rest, before[1] + rest), score, best)[1]


@njit(nogil=True)
def _linked(problem, start, end, score, best):
    """Go on from one pair to another, with a gap where it costs least if they need one.

    Returned are the score of the alignment so far, and that of the best one.
    """
    query, subject, table = problem.query, problem.subject, problem.table
    down, across = end[0] - start[0], end[1] - start[1]
    pairs, gap = min(down, across), abs(down - across)
    if not gap:
        for n in range(1, pairs + 1):
            score = max(score + table[query[start[0] + n], subject[start[1] + n]], 0)
            best = max(best, score)
        return score, best
    # pairs before the gap, and what they add to those that would be behind it instead
    behind = gained = most = np.int64(0)
    for n in range(1, pairs + 1):
        later = table[query[end[0] - pairs + n], subject[end[1] - pairs + n]]
        behind += later
        gained += table[query[start[0] + n], subject[start[1] + n]] - later
        most = max(most, gained)
    score += most + behind - problem.gap_open - (gap - 1) * problem.gap_extend
    score = max(score, 0)
    return score, max(best, score)
