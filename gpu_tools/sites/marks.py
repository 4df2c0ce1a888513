"""Marks: boundaries of a strand at which penalties of introns rise, chosen by the sequence.

Whether boundary i is a mark depends on the word of `WORD_LENGTH` nucleotides before it alone, in
reading direction. The word is hashed to a *rank* of `RANK_BITS` bits. A boundary of rank r is a
mark of level n if r is below 2^31 / n: one boundary of n is, and marks of a level are marks of each
smaller one, too. So an intron has the same penalty wherever it lies, on either strand of a record.

The shortest introns of all shipped models are longer than a word: what an intron costs depends on
its own nucleotides. Words with an unknown nucleotide are no marks, and words that repeat themselves
with a period of at most half their length are none either. In a microsatellite few words follow
each other again and again, and one mark among them would be one in every period. A repeat of a
longer period seldom has a mark, as any sequence of that length; if it has one of a low level, the
next line of the penalty costs less, see `gpu_tools.sites.introns`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit

WORD_LENGTH = 24
"""Nucleotides that decide whether the boundary behind them is a mark."""
RANK_BITS = 31
"""Bits of a rank."""


class Marks(NamedTuple):
    """Boundaries that may be marks, rising, and their ranks."""

    boundaries: NDArray[np.int64]
    ranks: NDArray[np.int32]

    def part(self, low: int, high: int) -> Marks:
        """Return the marks in [low, high), counted from `low`."""
        own = slice(*np.searchsorted(self.boundaries, (low, high)).tolist())
        return Marks(self.boundaries[own] - low, self.ranks[own])

    def of_level(self, every: int) -> NDArray[np.int64]:
        """Return the boundaries that are marks of a level."""
        return self.boundaries[self.ranks < ranks_below(every)]


NO_MARKS = Marks(np.empty(0, np.int64), np.empty(0, np.int32))


def ranks_below(every: int) -> int:
    """Return the number that ranks of marks of a level are below."""
    return 2**RANK_BITS // every


def marks_of(codes: NDArray[np.uint8], every: int, parts, spread: Callable) -> Marks:
    """Return the marks of a strand of level `every`.

    `parts` are first and last boundaries, which `spread` maps a function over.
    """
    limit = ranks_below(every)
    found = spread(lambda part: _marks_between(codes, *part, limit), parts)
    return Marks(*(np.concatenate(each) for each in zip(*found, strict=True)))


@njit(cache=True, nogil=True)
def _marks_between(codes, low, high, limit):
    """Return boundaries in [low, high) whose ranks are below `limit`, and the ranks."""
    boundaries, ranks = np.empty(high - low, np.int64), np.empty(high - low, np.int32)
    word, known, n, letters = np.uint64(0), 0, 0, np.uint64(2 * WORD_LENGTH)
    every_letter = (np.uint64(1) << letters) - np.uint64(1)
    for i in range(max(low - WORD_LENGTH, 0), high - 1):
        code = codes[i]
        known = known + 1 if code < 4 else 0
        word = (word << np.uint64(2) | np.uint64(code & 3)) & every_letter
        if known < WORD_LENGTH or i + 1 < low:
            continue
        rank = word * np.uint64(0x9E3779B97F4A7C15)
        rank = (rank ^ rank >> np.uint64(32)) * np.uint64(0xD6E8FEB86659FD93)
        rank = np.int64(rank >> np.uint64(64 - RANK_BITS))
        if rank < limit and not _is_repeat(word):
            boundaries[n], ranks[n] = i + 1, rank
            n += 1
    return boundaries[:n].copy(), ranks[:n].copy()


@njit(nogil=True)
def _is_repeat(word):
    """Return whether a word has a period of at most half its length."""
    one, letters = np.uint64(1), np.uint64(2)
    for period in range(1, WORD_LENGTH // 2 + 1):
        rest = letters * np.uint64(WORD_LENGTH - period)
        if word >> letters * np.uint64(period) == word & ((one << rest) - one):
            return True
    return False
