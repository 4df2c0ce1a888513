"""Cells that are part of no alignment worth finding are left out, and nothing else changes."""

import numpy as np
import pytest

from gpu_tools import AffineScoring, ProteinSequence, Sequence, local_align
from gpu_tools.formats.values.matrices import load_matrix
from gpu_tools.local import anchors, schedule
from gpu_tools.local.cpu import score_pass as cpu
from gpu_tools.local.cpu import vectors
from gpu_tools.local.problem import ALL, Worth, make_problem
from tests.local.cases import assert_worth, largest_on_the_way, random_scoring

LINEAR, AFFINE = AffineScoring(3, -2, 4, 4), AffineScoring(5, -4, 16, 4)


def codes(rng, length, letters=4):
    return rng.integers(0, letters, length).astype(np.uint8)


def changed(rng, sequence, rate=0.1, letters=4):
    """Return a copy with substitutions and, half as many, symbols left out and put in."""
    changes = rng.random(len(sequence)) < rate
    copy = np.where(changes, codes(rng, len(sequence), letters), sequence)
    copy = np.delete(copy, np.flatnonzero(rng.random(len(copy)) < rate / 4))
    places = np.flatnonzero(rng.random(len(copy)) < rate / 4)
    return np.insert(copy, places, codes(rng, len(places), letters))


def related(rng, length, letters=4):
    """Return codes of a pair; before, behind or between what they share may lie something else."""
    query = codes(rng, length, letters)
    subject = changed(rng, query, float(rng.choice([0.0, 0.05, 0.2])), letters)
    kind = rng.integers(0, 4)
    other = codes(rng, int(rng.integers(1, length // 2)), letters)
    if kind == 1:
        query = np.concatenate([other, query])
    elif kind == 2:
        subject = np.concatenate([subject, other, subject[: length // 3]])
    elif kind == 3:
        subject = np.concatenate([subject[: length // 2], other, subject[length // 2 :]])
    return query, subject


def problem_of(seed, letters=4, length=500):
    """Return a problem of related sequences, of proteins if there are more letters."""
    rng = np.random.default_rng(seed)
    query, subject = related(rng, int(rng.integers(length // 2, length)), letters)
    if letters > 4:
        scoring = AffineScoring(gap_open=11, gap_extend=1, matrix=load_matrix("BLOSUM62"))
    else:
        scoring = (LINEAR, AFFINE, random_scoring(rng))[seed % 3]
    return make_problem(query, subject, scoring), scoring


@pytest.mark.parametrize("letters", [4, 20], ids=["nucleotides", "proteins"])
@pytest.mark.parametrize("seed", range(12))
def test_bounds_hold_for_what_is_worth_finding(seed, letters):
    problem, _ = problem_of(seed, letters)
    side, (most, _) = 16, largest_on_the_way(problem)
    whole = cpu.score_pass(problem, side)
    for worth in (
        Worth(1, True), Worth(most, True), Worth(most, False), Worth(most * 4 // 5, False),
    ):  # fmt: skip
        found, _ = cpu.counted_pass(problem, side, worth)
        assert (found <= whole).all()
        assert found.max() == whole.max()
        assert_worth(found, problem, side, worth)


@pytest.mark.parametrize("scoring", [LINEAR, AFFINE], ids=["linear", "affine"])
def test_much_of_a_related_pair_is_left_out(scoring):
    rng = np.random.default_rng(1)
    query = codes(rng, 6000)
    subject = np.where(rng.random(6000) < 0.1, codes(rng, 6000), query).astype(np.uint8)
    problem = make_problem(query, subject, scoring)
    most, shares = cpu.score_pass(problem, 128).max(), []
    for worth in (ALL, Worth(1, True), Worth(int(most), True), Worth(5, False)):
        shares.append(cpu.counted_pass(problem, 128, worth)[1])
    assert shares[0] == 0
    assert shares[1] > 0.2
    assert shares[2] > 0.4
    assert shares[3] <= 0.02


def test_nothing_of_an_unrelated_pair_is_left_out():
    rng = np.random.default_rng(1)
    problem = make_problem(codes(rng, 3000), codes(rng, 3000), AFFINE)
    assert cpu.counted_pass(problem, 128, Worth(1, True))[1] <= 0.05


@pytest.mark.parametrize("match", [3, 40], ids=["8-bit", "16-bit"])
def test_an_equally_good_alignment_in_a_late_block(match):
    """It is the only one of its strip of columns, and all that there still can be."""
    rng, side = np.random.default_rng(0), 8
    width = vectors.block_of(1 << 20, 64 if match == 3 else 32, side) * (64 if match == 3 else 32)
    shared, junk = codes(rng, 64), np.full(400, 4, dtype=np.uint8)
    query = np.concatenate([1 - shared % 2 + 2, junk, shared % 2])  # of letters apart
    subject = np.concatenate([shared % 2, junk])
    subject = np.concatenate([np.resize(subject, width * 2), query[:64]])
    problem = make_problem(query, subject, AffineScoring(match, -match, 4 * match, match))
    most = 64 * match
    found, share = cpu.counted_pass(problem, side, Worth(most, True))
    assert share > 0
    assert found[63 // side, -1] == most
    ((best,),) = local_align(
        [(Sequence("q", query), Sequence("s", subject))],
        AffineScoring(match, -match, 4 * match, match), device="cpu",
    )  # fmt: skip
    assert (best.score, best.query_start, best.subject_start) == (most, 0, 2 * width)


def aligned(problem, scoring, **options):
    kind = Sequence if scoring.matrix is None else ProteinSequence
    pair = kind("q", problem.query), kind("s", problem.subject)
    return local_align([pair], scoring, device="cpu", threads=1, **options)[0]


@pytest.mark.parametrize("smallest", [1, 1 << 20], ids=["anchors", "no anchors"])
@pytest.mark.parametrize("letters", [4, 20], ids=["nucleotides", "proteins"])
@pytest.mark.parametrize("seed", range(9))
def test_alignments_are_those_that_are_found_among_all(seed, letters, smallest, monkeypatch):
    """With k = 2 nothing is left out, so that the second one can be found."""
    monkeypatch.setattr(schedule, "SMALLEST_ON_CPU", smallest)
    problem, scoring = problem_of(20 + seed, letters, 900)
    both = letters == 4
    two = aligned(problem, scoring, k=2, both_strands=both)
    assert aligned(problem, scoring, k=1, both_strands=both) == two[:1]
    several = aligned(problem, scoring, k=6, both_strands=both)
    for least in (several[0].score, several[1].score + 1, several[-1].score):
        expected = [found for found in several if found.score >= least]
        assert aligned(problem, scoring, k=6, min_score=least, both_strands=both) == expected
    assert aligned(problem, scoring, k=6, min_score=several[0].score + 1) == []


@pytest.mark.parametrize("seed", range(8))
def test_repeats_with_equal_scores(seed, monkeypatch):
    """The first of many equal ends, where each may be in a block of its own."""
    monkeypatch.setattr(schedule, "SMALLEST_ON_CPU", 1)
    rng = np.random.default_rng(seed)
    unit, scoring = codes(rng, int(rng.integers(20, 90))), (LINEAR, AFFINE)[seed % 2]
    query, subject = (
        np.concatenate([np.append(unit, codes(rng, int(rng.integers(3, 60)))) for _ in range(n)])
        for n in rng.integers(2, 8, 2)
    )
    problem = make_problem(query, subject, scoring)
    assert aligned(problem, scoring, k=1) == aligned(problem, scoring, k=2)[:1]


@pytest.mark.parametrize("letters", [4, 5, 20], ids=["nucleotides", "with N", "proteins"])
@pytest.mark.parametrize("seed", range(10))
def test_a_chain_of_words_has_a_score_that_is_reached(seed, letters):
    problem, _ = problem_of(100 + seed, letters)
    reached, (most, _) = anchors.score_reached(problem), largest_on_the_way(problem)
    assert reached <= most


@pytest.mark.parametrize("scoring", [LINEAR, AFFINE], ids=["linear", "affine"])
def test_a_chain_of_words_tells_most_of_the_score(scoring):
    rng = np.random.default_rng(2)
    query = codes(rng, 5000)
    same = np.where(rng.random(5000) < 0.1, codes(rng, 5000), query).astype(np.uint8)
    for subject, share in ((same, 0.98), (changed(rng, query, 0.1), 0.8)):
        problem = make_problem(query, subject, scoring)
        assert anchors.score_reached(problem) >= share * cpu.score_pass(problem, 64).max()


@pytest.mark.parametrize(
    ("query", "subject", "expected"),
    [
        ("ACGTACCATG", "ACGTACCATG", 30),
        ("AAAAAAAAAA", "AAAAAAAAAA", 0),  # no word that occurs once
        ("ACGTACCATGGATTCAGG", "ACGTACCATGTTATTCAGG", 17 * 3 - 2 - 4),  # one symbol put in
        ("NNNNNNN", "NNNNNNN", 0),
        ("ACGTACCATG", "A", 0),
    ],
)
def test_words_of_short_sequences(query, subject, expected):
    pair = (Sequence.from_text("x", text).codes for text in (query, subject))
    assert anchors.score_reached(make_problem(*pair, LINEAR)) == expected


def test_words_of_long_sequences_are_looked_at_now_and_then(monkeypatch):
    rng = np.random.default_rng(4)
    query = codes(rng, 4000)
    problem = make_problem(query, query, LINEAR)
    monkeypatch.setattr(anchors, "MOST_WORDS", 100)
    assert anchors.score_reached(problem) == 12000
    same = make_problem(np.zeros(4000, np.uint8), np.zeros(4000, np.uint8), LINEAR)
    assert anchors.score_reached(same) == 0
