"""Naive definition of several chains that share no aligned pair; imports nothing from gpu_tools."""

from __future__ import annotations

from tests.oracles.spliced import cost_before, cost_behind

NO_PAIR = None
"""Stands for the set of all pairs: none may be aligned."""


def aligned_pairs(result, length):
    """Pairs of a nucleotide, along the strand of a base of this length, and a target's symbol."""
    exons = list(result.chain)
    if result.strand == "-":
        exons = [(length - end, length - start) for start, end in exons]
    nucleotides = [i for start, end in exons for i in range(start, end)]
    pairs, at, column = [], 0, result.target_start
    for letter, n in result.cigar:
        for _ in range(n if letter in "=XID" else 0):
            if letter in "=X":
                pairs.append((nucleotides[at], column))
            at, column = at + (letter != "I"), column + (letter != "D")
    assert at == len(nucleotides)
    assert column == result.target_end
    return pairs


def best_score(base, target, chains, scoring, banned):
    """Best score of chains, given with the sum of their points, without banned pairs."""
    scores = [
        _score(base, target, chain, scoring, banned) + points for chain, points in chains.items()
    ]
    return max(scores, default=None)


def _score(base, target, chain, scoring, banned):
    """Score of the best alignment of a chain's nucleotides that has no banned pair."""
    gap, n = scoring["gap"], len(target)
    row = [gap * j for j in range(n + 1)]
    if scoring["ends"] != "global":
        row = [max(value, -cost_before(j, scoring)) for j, value in enumerate(row)]
    for i in (i for start, end in chain for i in range(start, end)):
        following = [row[0] + gap]
        for j in range(1, n + 1):
            score = max(row[j] + gap, following[j - 1] + gap)
            if banned is not NO_PAIR and (i, j - 1) not in banned:
                score = max(score, row[j - 1] + scoring["pair"](base[i], target[j - 1]))
            following.append(score)
        row = following
    if scoring["ends"] == "global":
        return row[-1]
    return max(value - cost_behind(j, target, scoring) for j, value in enumerate(row))


def check_several(results, most, length, best, empty, rescored):
    """Compare a case's chains, by rank, with their definition.

    `best` gives the best score of a strand without banned pairs, or None; `empty` is the score of a
    target that is not aligned; `rescored` counts the score of a result again.
    """
    banned = {"+": set(), "-": set()}
    assert [result.rank for result in results] == list(range(1, len(results) + 1))
    for result in results:
        scores = {strand: best(strand, banned[strand]) for strand in "+-"}
        scores = {strand: score for strand, score in scores.items() if score is not None}
        assert result.score == max(scores.values(), default=None)
        if not scores:
            return
        assert result.strand == max(scores, key=scores.get)
        assert rescored(result) == result.score
        pairs = aligned_pairs(result, length)
        assert not banned[result.strand] & set(pairs)
        assert result.rank == 1 or (pairs and result.score > empty)
        banned[result.strand] |= set(pairs)
    if len(results) < most:
        left = {(best(s, banned[s]), best(s, NO_PAIR)) for s in "+-"} - {(None, None)}
        score = max((one for one, _ in left), default=empty)
        unaligned = max((other for _, other in left), default=empty)
        assert score <= empty or score == unaligned or not pairs
