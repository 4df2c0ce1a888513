"""Bit scores and E-values."""

import math

import numpy as np
import pytest

from gpu_tools import AffineScoring, Sequence, local_align
from gpu_tools.formats.scales import load_matrix
from gpu_tools.local.api import known_penalties, statistics_of, usual_penalties


def test_bits_and_evalue_are_two_views_of_a_score():
    scoring = AffineScoring(gap_open=12, gap_extend=1, matrix=load_matrix("BLOSUM62"))
    known = statistics_of(scoring)
    assert known == (0.267, 0.041)
    assert known.bits(100) == pytest.approx((26.7 - math.log(0.041)) / math.log(2))
    assert known.evalue(100, 10**6) == pytest.approx(10**6 * 2 ** -known.bits(100))


def test_scorings_without_known_parameters():
    assert statistics_of(AffineScoring()) is None
    assert known_penalties(AffineScoring()) == [(16, 6), (14, 6)]
    pam = AffineScoring(gap_open=30, gap_extend=1, matrix=load_matrix("PAM250"))
    assert statistics_of(pam) is None
    assert known_penalties(pam) == []
    assert usual_penalties(pam) is None


@pytest.mark.parametrize("matrix", [None, "BLOSUM62", "BLOSUM80", "PAM30"])
def test_usual_penalties_are_known(matrix):
    scoring = AffineScoring(matrix=matrix and load_matrix(matrix))
    assert usual_penalties(scoring) in known_penalties(scoring)


def test_chance_finds_about_as_many_as_expected():
    """Of random sequences, about half reach the score that one in two is expected to reach."""
    scoring = AffineScoring(5, -4, 16, 6)
    known, rng, length = statistics_of(scoring), np.random.default_rng(1), 600
    pairs = [
        tuple(Sequence(name, rng.integers(0, 4, length).astype(np.uint8)) for name in "qs")
        for _ in range(120)
    ]
    best = [found[0].score for found in local_align(pairs, scoring, device="cpu")]
    expected = [known.evalue(score, length**2) for score in best]
    # of each pair's best, the chance of one at least as good is 1 - exp(-E): uniform, mean 1/2
    assert 0.4 < np.mean([1 - math.exp(-e) for e in expected]) < 0.62
