"""A score that the best alignment of two sequences reaches at least: that of a chain of words.

Words that the query has once, and the subject has too, tell where the two may be aligned. The most
of them that follow each other in both sequences are a chain, and an alignment along it has a score
which is certain, however good the chain is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import register_jitable

from gpu_tools.local.problem import Problem
from gpu_tools.model.sequences import OTHER

MOST_WORDS = 1 << 16
"""About so many words of a sequence are looked at."""
_UNCOMMON = 3
"""Symbols of a word besides those that make each word occur once in a random sequence, about."""
_LONGEST = 60
"""Bits of a word."""
_NEVER, _AGAIN = -1, -2
"""Where words end that a sequence lacks, or has more than once."""


class Words(NamedTuple):
    """Which words of a sequence are looked at.

    `bits` are those of a symbol, codes from `letters` on are part of no word, `length` is a word's
    in bits, and the mixed bits of a word have none of the mask's.
    """

    bits: int
    letters: int
    length: int
    mask: int


def score_reached(problem: Problem) -> int:
    """Return the score of some local alignment; 0 if there is none with a score above that."""
    bits, letters = (2, OTHER) if len(problem.table) == OTHER + 1 else (5, len(problem.table))
    length = (max(problem.shape).bit_length() // bits + _UNCOMMON) * bits
    one_of = 1 << max(min(problem.shape) // MOST_WORDS, 1).bit_length() - 1
    return int(_score(problem, Words(bits, letters, min(length, _LONGEST), one_of - 1)))


@njit(cache=True, nogil=True)
def _score(problem, words):
    known, ends = _table(problem.query, words)
    rows, columns = _common_words(problem.subject, words, known, ends)
    return _score_along(problem, *_longest_chain(rows, columns))


@register_jitable(inline="always")
def _mixed(word):
    """Return 32 bits that look as if they had nothing to do with the word."""
    return np.int64((np.uint64(word) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32))


@njit(nogil=True)
def _looked_at(symbols, words):
    """Return the words of a sequence that are looked at, and the places in which they end."""
    bits, letters, length, mask = words
    symbols_of_word, all_bits = length // bits, (np.int64(1) << length) - 1
    most = len(symbols) // (mask + 1)
    most += most // 2 + 64  # repeats may have more: then they are left alone
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


@njit(nogil=True)
def _table(query, words):
    """Return a table of the query's words, and the rows in which those end that it has once."""
    found, rows = _looked_at(query, words)
    size = 4
    while size < 2 * len(found):
        size *= 2
    known, ends = np.empty(size, np.int64), np.full(size, _NEVER, np.int32)
    for k in range(len(found)):
        at = _place(found[k], known, ends)
        known[at] = found[k]
        ends[at] = rows[k] if ends[at] == _NEVER else _AGAIN
    return known, ends


@njit(nogil=True)
def _place(word, known, ends):
    """Return where a word is in a table, or would be."""
    at = (_mixed(word) >> 8) & (len(ends) - 1)
    while ends[at] != _NEVER and known[at] != word:
        at = (at + 1) & (len(ends) - 1)
    return at


@njit(nogil=True)
def _common_words(subject, words, known, ends):
    """Return the rows and columns in which words end that the query has once, by column."""
    found, columns = _looked_at(subject, words)
    rows, n = np.empty(len(found), np.int64), 0
    for k in range(len(found)):
        rows[n], columns[n] = ends[_place(found[k], known, ends)], columns[k]
        n += rows[n] >= 0
    return rows[:n], columns[:n]


@njit(nogil=True)
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


@njit(nogil=True)
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
    """Go on from one pair to another, with a gap in the best place if they need one.

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
    # pairs before the gap, and what they add to those that would be behind it in their stead
    behind = gained = most = np.int64(0)
    for n in range(1, pairs + 1):
        later = table[query[end[0] - pairs + n], subject[end[1] - pairs + n]]
        behind += later
        gained += table[query[start[0] + n], subject[start[1] + n]] - later
        most = max(most, gained)
    score += most + behind - problem.gap_open - (gap - 1) * problem.gap_extend
    score = max(score, 0)
    return score, max(best, score)
