"""Naive definition of protein targets in list mode; imports nothing from gpu_tools."""

from __future__ import annotations

from functools import cache

from tests.oracles.proteins import NONE, aligned_score


def best_score(base, target, candidates, scoring, banned=frozenset()):
    """Best score over all chains, None if there is no chain.

    `candidates` are start, end, phase or None, and bonus of each. `scoring` is as in
    `tests.oracles.proteins.best_score`, with the intron's ``penalty``, and `banned` as there.
    """
    m, pair, free, extend = len(target), scoring["pair"], scoring["free"], scoring["extend"]

    def insertion(length):
        return scoring["open"] + length * extend if length else 0

    def unaligned(j):
        return 0 if free else -insertion(j)

    @cache
    def left_out(k, i, j):
        """Best if the codon that ends at boundary i is left out."""
        if i - 3 < candidates[k][0]:
            return NONE
        cost = scoring["stop"] if scoring["is_stop"](base[i - 3 : i]) else extend
        return max(whole(k, i - 3, j) - scoring["open"], left_out(k, i - 3, j)) - cost

    @cache
    def aligned(k, i, j):
        """Best with nucleotides of candidate k in use, and no residues left out last."""
        start, values = candidates[k][0], [left_out(k, i, j)]
        if j and i - 3 >= start and (i - 3, j - 1) not in banned:
            values.append(whole(k, i - 3, j - 1) + pair(base[i - 3 : i], target[j - 1]))
        for few in (1, 2):
            if i - few >= start:
                values.append(whole(k, i - few, j) - scoring["shift"])
                if j:
                    values.append(whole(k, i - few, j - 1) - scoring["shift"])
        split = 3 - (i - start)
        if j and split in (1, 2):
            values += [
                came + pair(left + base[start:i], target[j - 1])
                for came, left in introns(k, j - 1, split)
            ]
        return max(values)

    @cache
    def inside(k, i, j):
        return max(aligned(k, i, before) - insertion(j - before) for before in range(j + 1))

    @cache
    def whole(k, i, j):
        """Best with a codon's end at boundary i and j residues."""
        entered = [NONE] * (j + 1)
        if i == candidates[k][0]:
            entered = [max([first(k, b), *(v for v, _ in introns(k, b, 0))]) for b in range(j + 1)]
        return max(max(aligned(k, i, b), entered[b]) - insertion(j - b) for b in range(j + 1))

    def first(k, j):
        return unaligned(j) if candidates[k][2] in (None, 0) else NONE

    def introns(k, j, split):
        """Values of chains before candidate k, and what they leave of a codon."""
        if candidates[k][2] not in (None, -split % 3):
            return
        for other, (start, end, _, bonus) in enumerate(candidates):
            if split and (end - split, j) in banned:
                continue
            if end < candidates[k][0] and end - split >= start:
                came = whole(other, end - split, j) if split else inside(other, end, j)
                yield came + bonus - scoring["penalty"], base[end - split : end]

    def ends(k):
        """The boundaries at which a chain may end whose last exon is candidate k."""
        start, end = candidates[k][:2]
        stop = end - 3 > start and scoring["is_stop"](base[end - 3 : end])
        return (end - 3, end) if stop else (end,)

    values = (
        inside(k, i, j) + unaligned(m - j if free else 0) + candidates[k][3]
        for k in range(len(candidates))
        for i in ends(k)
        for j in (range(m + 1) if free else (m,))
    )
    best = max(values, default=NONE)
    return None if best == NONE else best


def rescore(base, target, chain, runs, bonuses, scoring):
    """Score of an alignment by its letters; `chain` without the stop codon behind it."""
    total = aligned_score(base, target, chain, runs, scoring)
    return total + sum(bonuses) - scoring["penalty"] * (len(chain) - 1)
