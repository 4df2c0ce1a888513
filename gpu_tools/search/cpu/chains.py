"""Chains of hits: hits of one strand and record that follow each other in target and genome.

Places are nucleotides in reading direction. The score of a chain is the sum of its hits' scores,
less what its links cost, see `link_cost`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpu_tools.hardware.compiled import njit

GROUP, FIRST, LAST, START, SCORE = range(5)
"""Columns of a hit to be chained: record and strand in one number, the first symbol of the target
and the last one's successor, the first nucleotide, and the score."""
BEFORE = -1


class Links(NamedTuple):
    """What links between hits cost, in points.

    Attributes
    ----------
    step : int
        Nucleotides of a symbol.
    max_intron : int
        Most nucleotides of an intron.
    symbol : int
        Of a symbol that is in both hits.
    gap : int
        Of the opening of a gap.
    intron : int
        Of an intron of a nucleotide, see `chance`.
    lookback : int
        So many hits before a hit are looked at, at most.
    """

    step: int
    max_intron: int
    symbol: int
    gap: int
    intron: int
    lookback: int


@njit(nogil=True)
def chance(nucleotides):
    """Return 3.2 times the natural logarithm of a number of nucleotides, at least 64, about.

    Scores of unrelated stretches have an exponential tail that loses a factor of e in so many
    points. So the best hit that chance makes in a longer stretch scores as much more.
    """
    length, bits = max(nucleotides, 64), 0
    while length >> (bits + 1):
        bits += 1
    quarters = 4 * bits + ((length << 2 >> bits) & 3)
    return 11 * quarters // 20


@njit(nogil=True)
def link_cost(hits, i, k, links):
    """Return what it costs that hit `k` follows hit `i` of its group, -1 if it cannot.

    Symbols in both hits cost `Links.symbol` each, and each hit keeps one of its own. What then lies
    between the hits in the genome, less what does in the target, is an intron or a gap.
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
    """Return for each hit the score of the best chain that ends with it, and the hit before it.

    Parameters
    ----------
    hits : ndarray of int64, shape (h, 5)
        See `GROUP`; by group, start, first symbol and last.
    links : Links

    Returns
    -------
    scores, before : ndarray of int64, shape (h,)
        `BEFORE` where the chain begins; of equals the nearest hit.
    """
    scores, before = hits[:, SCORE].copy(), np.full(len(hits), BEFORE, np.int64)
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
    """Take chains one after the other, the best first, that share no hit with those before.

    Parameters
    ----------
    order : ndarray of int64
        Hits by falling score of the chain that ends there.
    scores, before : ndarray of int64
        See `best_chains`.
    least, most : int
        Least score of a chain, and most chains.

    Returns
    -------
    owner : ndarray of int64, shape (h,)
        The number of the chain that has each hit, -1 where none has.
    totals : ndarray of int64, shape (chains,)
        Scores.
    cut : ndarray of bool, shape (h,)
        Last hits of other chains: each begins with hits of a chain that was taken.
    """
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
    """Return the best chains that share no hit.

    What is left of a chain without the hits of better ones is chained anew: its hits may follow
    others of the chain's own gene, where those of a copy that is taken were better.

    Parameters
    ----------
    hits, links
        See `best_chains`.
    least, most : int
        Least score of a chain, and most chains.

    Returns
    -------
    owner : ndarray of int64, shape (h,)
        The number of the chain that has each hit, -1 where none has.
    totals : ndarray of int64, shape (chains,)
        Scores.
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
