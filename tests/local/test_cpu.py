"""Cells that are part of no alignment of interest are left out, and nothing else changes."""

import numpy as np
import pytest

from gpu_tools import AffineScoring, Sequence, local_align
from gpu_tools.local import cpu
from gpu_tools.local.problem import ALL, SearchSizes, Threshold, make_problem
from tests.local import cases


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("factor", [1, 40, 9000], ids=["8-bit", "16-bit", "32-bit"])
def test_score_pass_bounds_every_tile_and_finds_the_best(seed, factor):
    """Only padding may raise a bound, and never over the best score."""
    rng = np.random.default_rng(seed)
    if seed % 3 == 0:
        query, subject = cases.sequences(
            *cases.random_pair(rng, 300, cases.PROTEIN), scoring := cases.protein_scoring(rng)
        )
    else:
        scoring = AffineScoring(2 * factor, -factor if seed % 3 == 1 else 0, 3 * factor, factor)
        query, subject = cases.sequences(*cases.random_pair(rng, 300), scoring)
    problem = make_problem(query.codes, subject.codes, scoring)
    gaps = problem.gap_open, problem.gap_extend
    exact = cases.tile_scores(problem.query, problem.subject, problem.table, gaps, 32)
    found = cases.score_pass(problem, 32)
    assert found.max() == exact.max()
    assert (found >= exact).all()
    assert (found[:-1, :-1] == exact[:-1, :-1]).all()


@pytest.mark.parametrize("letters", [4, 20], ids=["nucleotides", "proteins"])
@pytest.mark.parametrize("seed", range(12))
def test_bounds_hold_for_what_is_of_interest(seed, letters):
    problem, _ = cases.problem_of(seed, letters)
    side, (most, _) = 16, cases.largest_on_the_way(problem)
    whole = cases.score_pass(problem, side)
    for least, only_best in ((1, True), (most, True), (most, False), (most * 4 // 5, False)):
        threshold = Threshold(least, only_best)
        found = cases.score_pass(problem, side, threshold)
        assert (found <= whole).all()
        assert found.max() == whole.max()
        cases.assert_bounds_of_interest(found, problem, side, threshold)


@pytest.mark.parametrize("scoring", [cases.LINEAR, cases.AFFINE], ids=["linear", "affine"])
def test_much_of_a_related_pair_is_left_out(scoring):
    rng = np.random.default_rng(1)
    query = cases.codes(rng, 6000)
    subject = np.where(rng.random(6000) < 0.1, cases.codes(rng, 6000), query).astype(np.uint8)
    problem = make_problem(query, subject, scoring)
    whole, shares = cases.score_pass(problem, 128), []
    most = whole.max()
    for threshold in (ALL, Threshold(1, True), Threshold(int(most), True), Threshold(5, False)):
        shares.append((cases.score_pass(problem, 128, threshold) < whole).mean())
    assert shares[0] == 0
    assert shares[1] > 0.2
    assert shares[2] > 0.35
    assert shares[3] <= 0.02
    unrelated = make_problem(query[:3000], cases.codes(rng, 3000), scoring)
    found = cases.score_pass(unrelated, 128, Threshold(1, True))
    assert (found < cases.score_pass(unrelated, 128)).mean() <= 0.05


@pytest.mark.parametrize("match", [3, 40], ids=["8-bit", "16-bit"])
def test_an_equally_good_alignment_in_a_late_block(match):
    """It is the only one of its strip of columns, and all that there still can be."""
    rng, side = np.random.default_rng(0), 8
    width = cpu.block_of(1 << 20, 64 if match == 3 else 32, side) * (64 if match == 3 else 32)
    shared, junk = cases.codes(rng, 64), np.full(400, 4, dtype=np.uint8)
    query = np.concatenate([1 - shared % 2 + 2, junk, shared % 2])  # of letters apart
    subject = np.concatenate([shared % 2, junk])
    subject = np.concatenate([np.resize(subject, width * 2), query[:64]])
    scoring = AffineScoring(match, -match, 4 * match, match)
    problem = make_problem(query, subject, scoring)
    most = 64 * match
    found = cases.score_pass(problem, side, Threshold(most, True))
    assert (found < cases.score_pass(problem, side)).any()
    assert found[63 // side, -1] == most
    ((best,),) = local_align(
        [(Sequence("q", query), Sequence("s", subject))], scoring, device="cpu"
    )
    assert (best.score, best.query_start, best.subject_start) == (most, 0, 2 * width)


@pytest.mark.parametrize("smallest", [1, 1 << 20], ids=["anchors", "no anchors"])
@pytest.mark.parametrize("letters", [4, 20], ids=["nucleotides", "proteins"])
@pytest.mark.parametrize("seed", range(9))
def test_alignments_are_those_that_are_found_among_all(seed, letters, smallest):
    """With k = 2 nothing is left out, so that the second one can be found."""
    problem, scoring = cases.problem_of(20 + seed, letters, 900)
    strands = "+-" if letters == 4 else "+"
    options = {"strands": strands, "sizes": SearchSizes(words_on_cpu=smallest)}
    two = cases.searched(problem, scoring, k=2, **options)
    assert cases.searched(problem, scoring, k=1, **options) == two[:1]
    several = cases.searched(problem, scoring, k=6, **options)
    for least in (several[0].score, several[1].score + 1, several[-1].score):
        expected = [found for found in several if found.score >= least]
        assert cases.searched(problem, scoring, k=6, min_score=least, **options) == expected
    assert cases.searched(problem, scoring, k=6, min_score=several[0].score + 1, **options) == []


@pytest.mark.parametrize("seed", range(8))
def test_repeats_with_equal_scores(seed):
    """The first of many equal ends, where each may be in a block of its own."""
    rng = np.random.default_rng(seed)
    unit, scoring = (
        cases.codes(rng, int(rng.integers(20, 90))),
        (cases.LINEAR, cases.AFFINE)[seed % 2],
    )

    def repeats(n):
        parts = [np.append(unit, cases.codes(rng, int(rng.integers(3, 60)))) for _ in range(n)]
        return np.concatenate(parts)

    query, subject = (repeats(n) for n in rng.integers(2, 8, 2))
    problem = make_problem(query, subject, scoring)
    sizes = SearchSizes(words_on_cpu=1)
    one, two = (cases.searched(problem, scoring, k=k, sizes=sizes) for k in (1, 2))
    assert one == two[:1]
