"""Listed candidates with free ends against their definition."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_tools import SplicedScoring, spliced_align
from tests import cases
from tests.oracles import spliced as oracles


def chains_of_parts(exons):
    """All chains of which the first exon may lose a prefix and the last one a suffix.

    Yields the chain of candidates and the intervals that are left of them, none empty.
    """
    for chain in oracles.chains(exons):
        (first, first_end), (last, last_end) = chain[0], chain[-1]
        for start in range(first, first_end):
            for end in range(last + 1, last_end + 1):
                parts = [(start, first_end), *chain[1:-1], (last, end)]
                if len(chain) == 1:
                    parts = [(start, end)]
                if start < parts[0][1]:
                    yield chain, tuple(parts)


def best_by_enumeration(base, target, exons, terms, bonus):
    """Best score over all chains of parts."""
    spans = [(a, b) for a in range(len(target) + 1) for b in range(a, len(target) + 1)]
    best, known = None, {}
    for chain, parts in chains_of_parts(exons):
        text = "".join(base[start:end] for start, end in parts)
        if text not in known:
            known[text] = max(
                oracles.global_score(text, target[a:b], terms["pair"], terms["gap"])
                for a, b in spans
            )
        score = known[text] + sum(bonus[exon] for exon in chain)
        score -= terms["penalty"] * (len(chain) - 1)
        best = score if best is None else max(best, score)
    return best


def align(example, scoring):
    (result,) = spliced_align([example.case()], scoring, device="cpu")
    return result


def part_bonus(result, exons, bonus):
    """Return the sum of the best bonuses of the candidates that a chain's exons may be part of."""
    total = 0
    for k, (start, end) in enumerate(result.chain):
        low, high = (k == 0, k == result.n_chain - 1)
        if result.strand == "-":
            low, high = high, low
        covering = [e for e in exons if e[0] <= start and end <= e[1]]
        covering = [e for e in covering if (low or e[0] == start) and (high or e[1] == end)]
        total += max(bonus[exon] for exon in covering)
    return total


@pytest.mark.parametrize("seed", range(40))
def test_small_cases_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    sizes = {"base": int(rng.integers(1, 20)), "target": int(rng.integers(1, 8))}
    example = cases.random_example(rng, **sizes, count=int(rng.integers(1, 5)), longest=6)
    example.scores = {key: round(value) for key, value in example.scores.items()}
    scoring = replace(cases.random_scoring(rng), ends="free")
    result, best = (
        align(example, scoring), cases.best_by_strand(example, scoring, best_by_enumeration)
    )  # fmt: skip
    assert result.score == max(best.values())
    assert result.strand == max(best, key=best.get)
    exons = example.plus if result.strand == "+" else example.minus
    bonus = example.bonus(result.strand, scoring.exon_weight)
    terms, parts = cases.oracle_scoring(scoring) | {"penalty": 0}, dict.fromkeys(result.chain, 0)
    aligned = oracles.rescore(example.base, example.target, result, terms, parts)
    total = aligned + part_bonus(result, exons, bonus)
    assert total - scoring.intron_penalty * (result.n_chain - 1) == result.score


@pytest.mark.parametrize(
    ("scores", "total"), [((1.0, 6.0), 9), ((6.0, 1.0), 9), ((2.0, 2.0), 5)],
    ids=["long", "short", "equal"],
)  # fmt: skip
def test_an_exon_left_early_counts_the_best_candidate_that_it_may_be_part_of(scores, total):
    example = cases.Example("ACGTTTTT", "ACG", [(0, 4), (0, 8)])
    example.scores = dict(zip([("+", exon) for exon in example.plus], scores, strict=True))
    result = align(example, SplicedScoring(exon_weight=1.0, ends="free"))
    assert (result.score, result.chain) == (total, ((0, 3),))
    assert result.exon_scores == (max(scores),)
