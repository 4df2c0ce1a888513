"""Hits of a target: words that it shares with a genome, extended without gaps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpu_tools.hardware.compiled import njit

STRAND, FIRST, LAST, PLACE, SCORE = range(5)
"""Columns of a hit: 0 for the strand ``+``, the first symbol of the target and the last one's
successor, the least nucleotide of the first symbol, and the score."""
_BESIDE = 4
"""Neighbours of a word on each side that are looked at before it is extended."""
_SLOTS = 1 << 13
_MIXER = np.uint64(0x9E3779B97F4A7C15)


class HitLimits(NamedTuple):
    """When an extension ends, and what counts.

    Attributes
    ----------
    drop : int
        An extension ends where it is so many points below its best.
    near : int
        Least score of a word and its neighbours.
    least : int
        Least score of a hit.
    most : int
        A word with more positions on a strand is not looked up.
    """

    drop: int
    near: int
    least: int
    most: int


@njit(nogil=True)
def _extended(symbols, profile, q, p, move, direction, drop):
    """Return how many symbols the best extension has from a pair on, and its score."""
    score, best, length, k = 0, 0, 0, 0
    while 0 <= q < len(profile) and 0 <= p < len(symbols):
        score += profile[q, symbols[p]]
        k += 1
        if score > best:
            best, length = score, k
        elif best - score > drop:
            break
        q += direction
        p += move
    return length, best


@njit(nogil=True)
def _both_ways(symbols, profile, q, p, move, drop):
    """Return the symbols before and from a pair on of its best extension, and the score."""
    right, ahead = _extended(symbols, profile, q, p, move, 1, drop)
    left, behind = _extended(symbols, profile, q - 1, p - move, -move, -1, drop)
    return left, right, ahead + behind


@njit(nogil=True)
def _near(symbols, profile, q, p, move, length):
    """Return the score of a word with its neighbours on the sides where these add to it."""
    word = left = right = np.int32(0)
    step, row, place = np.uint64(move), np.uint64(q), np.uint64(p)  # wrapping sums take no branch
    for _ in range(length):
        word += profile[row, symbols[place]]
        row += np.uint64(1)
        place += step
    for _ in range(_BESIDE):
        right += profile[row, symbols[place]]
        row += np.uint64(1)
        place += step
    row, place = np.uint64(q), np.uint64(p)
    for _ in range(_BESIDE):
        row -= np.uint64(1)
        place -= step
        left += profile[row, symbols[place]]
    return word + max(left, 0) + max(right, 0)


@njit(nogil=True)
def _is_promising(symbols, profile, q, p, move, length, near):
    """Tell whether a word scores enough with its neighbours, or does not have all of them."""
    first, last = p - move * _BESIDE, p + move * (length + _BESIDE - 1)
    inside = _BESIDE <= q <= len(profile) - length - _BESIDE
    if not inside or min(first, last) < 0 or max(first, last) >= len(symbols):
        return True
    return _near(symbols, profile, q, p, move, length) >= near


@njit(nogil=True)
def _slot(strand, diagonal):
    mixed = (np.uint64(diagonal) * np.uint64(2) + np.uint64(strand)) * _MIXER
    return np.int64(mixed >> np.uint64(51))


@njit(cache=True, nogil=True)
def hits_of(symbols, words, bounds, positions, profiles, step, shapes, limits):
    """Return the hits of a target.

    Parameters
    ----------
    symbols : ndarray of uint8
        Of the genome.
    words : ndarray of int64, shape (rows, m)
        Words that begin at each position of the target, -1 where none is looked up.
    bounds, positions : ndarray
        See `gpu_tools.search.index.GenomeIndex`.
    profiles : ndarray of int8, shape (2, m, symbols)
        See `gpu_tools.search.words.WordScheme.profiles`.
    step : int
        Nucleotides of a symbol.
    shapes : ndarray of int64, shape (rows, 2)
        The shape of each row of words, and its symbols from the first to the last.
    limits : HitLimits

    Returns
    -------
    ndarray of int64, shape (h, 5)
        See `STRAND`. Each is the best extension of a word both ways; a word that lies in the last
        hit on its diagonal is not extended again.
    """
    found, count = np.empty((1024, 5), np.int64), 0
    known = np.full((_SLOTS, 3), -1, np.int64)
    for strand in range(2):
        profile, move = profiles[strand], -step if strand else step
        for q in range(words.shape[1]):
            for row in range(len(words)):
                word, shape, length = words[row, q], shapes[row, 0], shapes[row, 1]
                if word < 0:
                    continue
                begin, end = bounds[shape, strand, word], bounds[shape, strand, word + 1]
                if end - begin > limits.most:
                    continue
                for k in range(begin, end):
                    p = np.int64(positions[k])
                    if not _is_promising(symbols, profile, q, p, move, length, limits.near):
                        continue
                    diagonal = p - move * q
                    slot = _slot(strand, diagonal)
                    is_known = known[slot, 0] == strand and known[slot, 1] == diagonal
                    if is_known and q < known[slot, 2]:
                        continue
                    left, right, score = _both_ways(symbols, profile, q, p, move, limits.drop)
                    if score < limits.least:
                        continue
                    known[slot, 0], known[slot, 1], known[slot, 2] = strand, diagonal, q + right
                    if count == len(found):
                        found = np.concatenate((found, np.empty_like(found)))
                    found[count, 0], found[count, 1], found[count, 2] = strand, q - left, q + right
                    found[count, 3], found[count, 4] = p - move * left, score
                    count += 1
    return found[:count].copy()
