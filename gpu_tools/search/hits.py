"""Hits of a target, words that it shares with a genome, extended without gaps, and their chains.

A chain consists of hits of one strand and record that follow each other in target and genome.
Places are nucleotides in reading direction. The score of a chain is the sum of its hits' scores,
less the costs of its links, see `link_cost`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpu_tools.hardware.compiled import njit

STRAND, FIRST, LAST, PLACE, SCORE = range(5)
"""Columns of a hit: strand (0 for ``+``), first symbol of the target, the one behind the last,
least nucleotide of the first symbol, score."""
GROUP, START = STRAND, PLACE
"""Columns of a hit to be chained: record and strand in one number, first nucleotide."""
_NEARBY = 4
"""Symbols on each side of a word whose scores are tested before it is extended."""
_SLOTS = 1 << 13
_MIXER = np.uint64(0x9E3779B97F4A7C15)
NO_HIT = -1


class HitLimits(NamedTuple):
    """Limits of the extension of words."""

    drop: int  # an extension ends where it is more points below its best
    near: int  # least score of a word and its neighbours
    least: int  # least score of a hit
    most: int  # words with more positions on a strand are not looked up


@njit(nogil=True)
def _extended(symbols, profile, q, p, move, direction, drop):
    """Return the number of symbols of the best extension from a pair on, and its score."""
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
    right, score_right = _extended(symbols, profile, q, p, move, 1, drop)
    left, score_left = _extended(symbols, profile, q - 1, p - move, -move, -1, drop)
    return left, right, score_right + score_left


@njit(nogil=True)
def _score_nearby(symbols, profile, q, p, move, length):
    """Return the score of a word, with its neighbours on the sides where these increase it."""
    word = left = right = np.int32(0)
    step, row, place = np.uint64(move), np.uint64(q), np.uint64(p)  # wrapping sums take no branch
    for _ in range(length):
        word += profile[row, symbols[place]]
        row += np.uint64(1)
        place += step
    for _ in range(_NEARBY):
        right += profile[row, symbols[place]]
        row += np.uint64(1)
        place += step
    row, place = np.uint64(q), np.uint64(p)
    for _ in range(_NEARBY):
        row -= np.uint64(1)
        place -= step
        left += profile[row, symbols[place]]
    return word + max(left, 0) + max(right, 0)


@njit(nogil=True)
def _is_promising(symbols, profile, q, p, move, length, near):
    """Return whether a word and its neighbours reach a score, or lie at an end of a sequence."""
    first, last = p - move * _NEARBY, p + move * (length + _NEARBY - 1)
    inside = _NEARBY <= q <= len(profile) - length - _NEARBY
    if not inside or min(first, last) < 0 or max(first, last) >= len(symbols):
        return True
    return _score_nearby(symbols, profile, q, p, move, length) >= near


@njit(nogil=True)
def _slot(strand, diagonal):
    mixed = (np.uint64(diagonal) * np.uint64(2) + np.uint64(strand)) * _MIXER
    return np.int64(mixed >> np.uint64(51))


@njit(cache=True, nogil=True)
def hits_of(symbols, words, bounds, positions, profiles, step, shapes, limits):
    """Return the hits of a target, shape (h, 5): words, extended both ways as far as scores rise.

    A word within the last hit on its diagonal is not extended again.
    """
    # symbols, bounds, positions: see `gpu_tools.search.index.GenomeIndex`
    # words (rows, m): words that begin at each position of the target, -1 where none is looked up
    # profiles: see `gpu_tools.search.words.WordScheme.profiles`
    # shapes (rows, 2): number and length of the shape of each row of words
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


# ---- chains


class Links(NamedTuple):
    """Costs of links between hits, in points."""

    step: int  # nucleotides of a symbol
    max_intron: int  # nucleotides of the longest intron
    symbol: int  # cost of a symbol that is in both hits
    gap: int  # cost of opening a gap
    intron: int  # cost of an intron of a nucleotide; see `chance`
    lookback: int  # limit of the hits before a hit that are tried


@njit(nogil=True)
def chance(nucleotides):
    """Return about 3.2 times the natural logarithm of a number of nucleotides, at least 64.

    The tail of the scores of unrelated stretches falls by a factor of e in 3.2 points. So the best
    hit by chance in a longer stretch scores as much more.
    """
    length, bits = max(nucleotides, 64), 0
    while length >> (bits + 1):
        bits += 1
    quarters = 4 * bits + ((length << 2 >> bits) & 3)
    return 11 * quarters // 20


@njit(nogil=True)
def link_cost(hits, i, k, links):
    """Return the cost of a link from hit `i` to hit `k` of its group, -1 if it is impossible.

    Symbols in both hits cost `Links.symbol` each, and each hit has one of its own. The difference
    of the distances between the hits in genome and target is an intron or a gap.
    """
    step, first, last = links.step, hits[k, FIRST], hits[k, LAST]
    first_before, last_before = hits[i, FIRST], hits[i, LAST]
    between = hits[k, START] - hits[i, START]
    if first_before >= first or last_before >= last or between <= 0:
        return -1
    extra = between - step * (first - first_before)
    if extra > links.max_intron or extra + step * (last - last_before) <= 0:
        return -1
    both = max(last_before - first, -((between - step * (last_before - first_before)) // step), 0)
    if both >= min(last_before - first_before, last - first):
        return -1
    cost = links.symbol * both
    if extra == 0:
        return cost
    gap = links.gap + abs(extra) // step
    if extra > 0:
        gap = min(gap, links.intron + chance(extra))
    return cost + gap


@njit(cache=True, nogil=True)
def best_chains(hits, links):
    """Return the score of the best chain that ends with each hit, and the hit before it.

    Hits are sorted by group, start, first and last symbol. Of equals the nearest hit is taken.
    """
    # score(k) = SCORE(k) + max(0, max over i < k of score(i) - link_cost(i, k))
    scores, before = hits[:, SCORE].copy(), np.full(len(hits), NO_HIT, np.int64)
    for k in range(len(hits)):
        best, farthest = 0, links.max_intron + links.step * hits[k, FIRST]
        low = max(k - links.lookback, 0)
        for i in range(k - 1, low - 1, -1):
            apart = hits[k, START] - hits[i, START]
            if hits[i, GROUP] != hits[k, GROUP] or apart > farthest:
                break
            if scores[i] <= best:
                continue
            cost = link_cost(hits, i, k, links)
            if cost >= 0 and scores[i] - cost > best:
                best, before[k] = scores[i] - cost, i
        scores[k] += best
    return scores, before


@njit(cache=True, nogil=True)
def separate(order, scores, before, least, most):
    """Take chains, the best first, that share no hit with those before.

    Return the chain of each hit (-1 for none), the chains' scores, and which hits end other chains:
    each of these begins with hits of a chain that was taken.
    """
    # order: hits by falling score of the chain that ends there
    owner, found = np.full(len(scores), -1, np.int64), np.empty(most, np.int64)
    count, cut = 0, np.zeros(len(scores), np.bool_)
    for end in order:
        if count == most or scores[end] < least:
            break
        if owner[end] >= 0:
            continue
        k = end
        while k >= 0 and owner[k] < 0:
            k = before[k]
        if k >= 0:
            cut[end] = True
            continue
        k = end
        while k >= 0:
            owner[k] = count
            k = before[k]
        found[count] = scores[end]
        count += 1
    return owner, found[:count].copy(), cut


def chains_apart(hits, links, least, most):
    """Return the chain of each hit (-1 for none) and the scores of the best chains without overlap.

    The rest of a chain without the hits of better ones is chained anew: its hits may follow others
    of its own gene, where those of a copy were better.
    """
    owner, totals = np.full(len(hits), -1, np.int64), np.empty(0, np.int64)
    rows = np.arange(len(hits))
    while len(rows):
        scores, before = best_chains(hits[rows], links)
        order = np.lexsort((rows, -scores))
        own, more, cut = separate(order, scores, before, least, most - len(totals))
        taken, groups = own >= 0, hits[rows, GROUP]
        owner[rows[taken]] = own[taken] + len(totals)
        totals = np.append(totals, more)
        rows = rows[~taken & np.isin(groups, groups[cut])]
    return owner, totals
