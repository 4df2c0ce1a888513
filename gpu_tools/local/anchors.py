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
from gpu_tools.sequences import OTHER

MOST_WORDS = 1 << 16
"""About so many words of the query are kept."""
_UNCOMMON = 2
"""Symbols of a word besides those that make each word occur once in a random sequence."""
_EMPTY, _TWICE = -1, -2


class Words(NamedTuple):
    """Bits of a symbol, symbols that have a code of their own, bits of a word, and a mask.

    The words that are looked at are those whose mixed bits have none of the mask's.
    """

    bits: int
    letters: int
    length: int
    mask: int


def score_reached(problem: Problem) -> int:
    """Return the score of some alignment, 0 if there is none that is worth anything."""
    bits, letters = (2, OTHER) if len(problem.table) == OTHER + 1 else (5, len(problem.table))
    symbols = max(problem.shape).bit_length() // bits + 1 + _UNCOMMON
    one_of = 1 << max(min(problem.shape) // MOST_WORDS, 1).bit_length() - 1
    words = Words(bits, letters, min(bits * symbols, 60), one_of - 1)
    return int(_score(problem, words))


@njit(cache=True, nogil=True)
def _score(problem, words):
    codes, ends = _table(problem.query, words)
    rows, columns = _common_words(problem.subject, words, codes, ends)
    return _score_along(problem, *_longest_chain(rows, columns))


@register_jitable(inline="always")
def _mixed(word):
    """Return 32 bits that look as if they had nothing to do with the word."""
    return np.int64((np.uint64(word) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32))


@njit(nogil=True)
def _table(query, words):
    """Return a table of words and the rows in which they end, if the query has them once."""
    size = 4
    while size < 2 * (len(query) // (words.mask + 1) + 1):
        size *= 2
    codes, ends = np.empty(size, np.int64), np.full(size, _EMPTY, np.int32)
    ends_of_words, n = _looked_at(query, words)
    for k in range(n):
        at = _place(ends_of_words[0][k], codes, ends)
        ends[at] = ends_of_words[1][k] if ends[at] == _EMPTY else _TWICE
        codes[at] = ends_of_words[0][k]
    return codes, ends


@njit(nogil=True)
def _looked_at(symbols, words):
    """Return the words of a sequence that are looked at, and where they end."""
    bits, letters, length, mask = words
    most = len(symbols) // (mask + 1)
    found, ends, n = (
        np.empty(most + most // 2 + 64, np.int64),
        np.empty(most + most // 2 + 64, np.int64),
        0,
    )
    word, all_bits, begins = np.int64(0), (np.int64(1) << length) - 1, length // bits - 1
    for end in range(len(symbols)):
        code = np.int64(symbols[end])
        if code >= letters:
            begins = end + length // bits
        word = (word << bits | code) & all_bits
        if _mixed(word) & mask == 0 and end >= begins and n < len(found):
            found[n], ends[n] = word, end
            n += 1
    return (found, ends), n


@njit(nogil=True)
def _common_words(subject, words, codes, ends):
    """Return the last rows and columns of words that the query has once, by column."""
    (found, columns), n = _looked_at(subject, words)
    rows, kept = np.empty(n, np.int64), 0
    for k in range(n):
        row = ends[_place(found[k], codes, ends)]
        rows[kept], columns[kept] = row, columns[k]
        kept += row >= 0
    return rows[:kept], columns[:kept]


@njit(nogil=True)
def _place(word, codes, ends):
    """Return where a word is in a table, or would be."""
    at = (_mixed(word) >> 8) & (len(ends) - 1)
    while ends[at] != _EMPTY and codes[at] != word:
        at = (at + 1) & (len(ends) - 1)
    return at


@njit(nogil=True)
def _longest_chain(rows, columns):
    """Return rows and columns of the most pairs of which each is behind the one before in both."""
    lasts, before = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    length = 0
    for k in range(len(rows)):
        # chains of each length end in the smallest row: those of the pairs in `lasts`
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
    """Return the best local score of an alignment along a chain of pairs."""
    if not len(rows):
        return np.int64(0)
    n_rows, n_columns = len(problem.query), len(problem.subject)
    lead = min(rows[0], columns[0]) + 1
    row, column = rows[0] - lead, columns[0] - lead  # the last pair that is scored
    best = score = np.int64(0)
    for k in range(len(rows)):
        score, best = _linked(problem, (row, column), (rows[k], columns[k]), score, best)
        row, column = rows[k], columns[k]
    rest = min(n_rows - row, n_columns - column) - 1
    return _linked(problem, (row, column), (row + rest, column + rest), score, best)[1]


@njit(nogil=True)
def _linked(problem, start, end, score, best):
    """Go on from one pair to another, with a gap in the best place if need be.

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
    # pairs before the gap less those in their stead behind it
    gained = most = behind = np.int64(0)
    for n in range(1, pairs + 1):
        later = table[query[end[0] - pairs + n], subject[end[1] - pairs + n]]
        behind += later
        gained += table[query[start[0] + n], subject[start[1] + n]] - later
        most = max(most, gained)
    score += most + behind - problem.gap_open - (gap - 1) * problem.gap_extend
    score = max(score, 0)
    return score, max(best, score)
