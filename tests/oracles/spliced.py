"""Naive definitions that the fast code is compared with; imports nothing from gpu_tools."""

from __future__ import annotations

from itertools import combinations, pairwise


def pair_score(base, target, match, mismatch):
    """Score of two letters: equal A, C, G or T (U) match; everything else is a mismatch."""
    base, target = base.upper().replace("U", "T"), target.upper().replace("U", "T")
    return match if base == target and base in "ACGT" else mismatch


def global_score(base, target, score, gap):
    """Needleman-Wunsch with linear gaps, the whole matrix."""
    previous = [gap * j for j in range(len(target) + 1)]
    for i, symbol in enumerate(base, start=1):
        row = [gap * i]
        for j, other in enumerate(target, start=1):
            row.append(
                max(previous[j - 1] + score(symbol, other), previous[j] + gap, row[j - 1] + gap)
            )
        previous = row
    return previous[-1]


def chains(exons):
    """All non-empty lists of intervals (start, end), each ending before or where the next starts.

    Half-open intervals: the last symbol of one lies strictly before the first of the next.
    """
    exons = sorted(set(exons))
    for size in range(1, len(exons) + 1):
        for chain in combinations(exons, size):
            if all(a[1] <= b[0] for a, b in pairwise(chain)):
                yield chain


def chain_score(base, target, chain, scoring, bonus):
    """Score of one chain by its definition."""
    score = scoring["pair"]
    text = "".join(base[start:end] for start, end in chain)
    extra = sum(bonus[exon] for exon in chain) - scoring["penalty"] * (len(chain) - 1)
    if scoring["ends"] == "global":
        return global_score(text, target, score, scoring["gap"]) + extra
    spans = ((a, b) for a in range(len(target) + 1) for b in range(a, len(target) + 1))
    return max(global_score(text, target[a:b], score, scoring["gap"]) for a, b in spans) + extra


def spliced_by_enumeration(base, target, exons, scoring, bonus):
    """Best score over all chains."""
    return max(chain_score(base, target, chain, scoring, bonus) for chain in chains(exons))


def spliced_by_programme(base, target, exons, scoring, bonus):
    """Best score by Gelfand's recurrence, one matrix an exon, for cases too large to enumerate."""
    gap, n = scoring["gap"], len(target)
    start = [gap * j for j in range(n + 1)]
    if scoring["ends"] != "global":
        start = [max(0, value) for value in start]
    last_rows = {}
    for exon in sorted(set(exons)):
        before = [row for other, row in last_rows.items() if other[1] <= exon[0]]
        row = [
            max([start[j]] + [other[j] - scoring["penalty"] for other in before])
            for j in range(n + 1)
        ]
        row = [value + bonus[exon] for value in row]
        for i in range(*exon):
            following = [row[0] + gap]
            for j in range(1, n + 1):
                pair = row[j - 1] + scoring["pair"](base[i], target[j - 1])
                following.append(max(pair, row[j] + gap, following[j - 1] + gap))
            row = following
        last_rows[exon] = row
    columns = range(n, n + 1) if scoring["ends"] == "global" else range(n + 1)
    return max(row[j] for row in last_rows.values() for j in columns)


def reverse_complement(text):
    """Complement A-T and C-G; every other letter becomes N."""
    pairs = {"A": "T", "C": "G", "G": "C", "T": "A", "U": "A"}
    return "".join(pairs.get(symbol.upper(), "N") for symbol in reversed(text))


def cost_before(column, scoring):
    """What leaving out the target's symbols before a column costs."""
    return scoring["end_cost"] if column > 0 else 0


def cost_behind(column, target, scoring):
    """What leaving out the target's symbols from a column on costs; a poly-A tail costs nothing."""
    kept = len(target.upper().rstrip("A"))
    is_tail = column >= (kept if len(target) - kept >= 10 else len(target))
    return 0 if is_tail else scoring["end_cost"]


def rescore(base, target, result, scoring, bonus):
    """Score of a reported alignment, recounted from its chain and CIGAR alone."""
    chain = result.chain
    forward = [base[start:end] for start, end in chain]
    text = "".join(forward if result.strand == "+" else map(reverse_complement, forward))
    i, j, total, consumed = 0, result.target_start, 0, [0]
    introns = []
    for letter, n in result.cigar:
        for _ in range(n if letter in "=XID" else 0):
            if letter in "=X":
                value = scoring["pair"](text[i], target[j])
                same = pair_score(text[i], target[j], 1, 0) == 1
                assert same == (letter == "="), (letter, i, j)
                total, i, j = total + value, i + 1, j + 1
            else:
                total += scoring["gap"]
                i, j = (i + 1, j) if letter == "D" else (i, j + 1)
        if letter == "N":
            introns.append(n)
            consumed.append(i)
    assert i == len(text)
    assert j == result.target_end
    if scoring["ends"] != "global":
        total -= cost_before(result.target_start, scoring) + cost_behind(j, target, scoring)
    between = [max(a[0], b[0]) - min(a[1], b[1]) for a, b in pairwise(chain)]
    assert introns == [n for n in between if n]
    return total + sum(bonus[exon] for exon in chain) - scoring["penalty"] * (len(chain) - 1)
