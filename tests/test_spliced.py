"""Spliced alignment on the CPU against its definition."""

import numpy as np
import pytest

from gpu_tools import SplicedScoring, spliced_align
from tests import cases, oracles


def align(example, scoring=None, **options):
    (result,) = spliced_align([example.case()], scoring, device="cpu", **options)
    return result


def check_against_oracle(oracle, example, scoring):
    """The score is the best over both strands; the alignment really has it."""
    terms = cases.oracle_scoring(scoring)
    best = {}
    for strand in "+-":
        base, exons = example.strand_view(strand)
        if exons:
            bonus = example.bonus(strand, scoring.exon_weight, transcript=True)
            found = oracle(base, example.target, exons, terms, bonus)
            best[strand] = found[0] if isinstance(found, tuple) else found
    result = align(example, scoring)
    assert result.score == max(best.values())
    assert result.strand == max(best, key=best.get)
    bonus = example.bonus(result.strand, scoring.exon_weight)
    assert oracles.rescore(example.base, example.target, result, terms, bonus) == result.score
    return result


def test_worked_example_of_the_source():
    result = align(cases.WORKED_EXAMPLE)
    assert (result.score, result.chain) == (3, ((0, 2), (2, 4), (7, 9)))
    assert result.cells == 5 * (2 + 2 + 2 + 3 + 2)


@pytest.mark.parametrize("seed", range(60))
def test_small_cases_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    sizes = {"base": int(rng.integers(1, 25)), "target": int(rng.integers(1, 10))}
    example = cases.random_example(rng, **sizes, count=int(rng.integers(1, 7)), longest=6)
    example.scores = {key: round(value) for key, value in example.scores.items()}
    check_against_oracle(oracles.spliced_by_enumeration, example, cases.random_scoring(rng))


@pytest.mark.parametrize("seed", range(20))
def test_larger_cases_by_programme(seed):
    rng = np.random.default_rng(1000 + seed)
    target = int(rng.integers(1, 150))
    example = cases.random_example(rng, base=300, target=target, count=25, longest=60)
    check_against_oracle(oracles.spliced_by_programme, example, cases.random_scoring(rng))


def test_chain_is_among_the_best_of_all_chains():
    rng = np.random.default_rng(5)
    for _ in range(20):
        example = cases.random_example(rng, base=20, target=8, count=6, longest=5)
        scoring = SplicedScoring(intron_penalty=1)
        result = align(example, scoring)
        base, exons = example.strand_view(result.strand)
        bonus = example.bonus(result.strand, 0.0, transcript=True)
        _, best = oracles.spliced_by_enumeration(
            base, example.target, exons, cases.oracle_scoring(scoring), bonus
        )
        m = len(base)
        chain = tuple((m - e, m - s) for s, e in result.chain) if result.strand == "-" else None
        assert (chain or result.chain) in best
