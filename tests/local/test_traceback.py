"""The k best alignments against their naive definition, and their properties."""

import numpy as np
import pytest

from gpu_tools import AffineScoring, global_align
from gpu_tools.local import schedule
from gpu_tools.local.problem import SearchSizes, make_problem
from tests.local import cases
from tests.oracles import local as oracle_local


@pytest.fixture(
    params=[SearchSizes(), SearchSizes(4, 4), SearchSizes(8, 8, 20)],
    ids=["usual", "small", "cut"],
)
def sizes(request):
    """Tiles and windows so small that short sequences have many, and regions that are cut."""
    return request.param


def oracle_texts(query, subject, scoring):
    """Ambiguity codes are identical to nothing: give each its own letter for the oracle."""
    if scoring.matrix is not None:
        return query, subject
    own = [s if s != "N" else ("N", k) for k, s in enumerate(query)]
    return own, ["other" if s == "N" else s for s in subject]


def check(texts, scoring, sizes, k, min_score=1):
    """Compare the k best alignments of two texts with their definition, and return the latter."""
    gaps, pair = (scoring.gap_open, scoring.gap_extend), cases.oracle_pair(scoring)
    own = oracle_texts(*texts, scoring)
    expected = list(oracle_local.k_best(*own, pair, gaps, k, min_score))
    problem = make_problem(*(s.codes for s in cases.sequences(*texts, scoring)), scoring)
    options = {"sizes": sizes, "k": k, "min_score": min_score}
    found = [
        (a.score, (a.query_start, a.subject_start), (a.query_end, a.subject_end), letters)
        for a in cases.searched(problem, scoring, **options)
        for letters in [cases.letters_of(a)]
    ]
    assert found == expected
    return expected


@pytest.mark.parametrize("seed", range(25))
def test_local_is_what_the_definition_says(seed, sizes):
    rng = np.random.default_rng(seed)
    protein = seed % 3 == 0
    scoring = cases.protein_scoring(rng) if protein else cases.random_scoring(rng)
    texts = cases.random_pair(rng, 24, cases.PROTEIN if protein else "ACGTN")
    check(texts, scoring, sizes, 5, 3)


@pytest.mark.parametrize("seed", range(12))
def test_the_first_of_many_equal_ends(seed, sizes):
    """Two letters and small scores: equal ends in one tile, some of paths from far away."""
    rng = np.random.default_rng(200 + seed)
    check(cases.random_pair(rng, 36, "AC"), AffineScoring(1, -1, 2, 1), sizes, 8)


@pytest.mark.parametrize(
    "texts",
    [
        ("GGTCTAGCAGCACTATTAATAATGGAAGCT", "CTCGAAGCCGCCCAAATATAATATTCTGGG"),
        ("CGTTTAGGAAGACCACCCATGCACCAGCTC", "ACGGCAGGCCGAGCACCCCATGCTTCACGT"),
        ("GCAGAGCCGGGACGTTTCCAAAGTCGTGGG", "ACGTCACCGTGCCGATACCCAAAGGGGACA"),
    ],
)
def test_the_first_of_two_equal_ends_comes_from_before_the_window(texts):
    check(texts, AffineScoring(1, -1, 9, 9), SearchSizes(smallest_tile=8, margin=8), 3)


def test_a_used_pair_just_left_of_an_alignment(sizes):
    """It is in the same row as one inside, which must not be used again."""
    text = "ACACAAACCCACAAACCAAC"
    check((text, text), AffineScoring(4, -1, 3, 0), sizes, 18)


@pytest.mark.parametrize("extend", [0, 1])
def test_gaps_longer_than_tiles(extend, sizes):
    """Tiles that a path crosses in a gap have no higher scores than in it."""
    left, right, between = "ACGGTCAATGCAAGTC", "GGATCCATTACGCAGT", "N" * 23
    scoring = AffineScoring(5, -4, 9, extend)
    for texts in ((left + right, left + between + right), (left + between + right, left + right)):
        assert check(texts, scoring, sizes, 3)[0][0] == 5 * 32 - 9 - 22 * extend


@pytest.mark.parametrize("seed", range(15))
def test_global_is_what_the_definition_says(seed, sizes, monkeypatch):
    monkeypatch.setattr(schedule, "USUAL_SIZES", sizes)
    rng = np.random.default_rng(100 + seed)
    protein = seed % 3 == 0
    scoring = cases.protein_scoring(rng) if protein else cases.random_scoring(rng)
    texts = cases.random_pair(rng, 30, cases.PROTEIN if protein else "ACGTN")
    gaps, pair = (scoring.gap_open, scoring.gap_extend), cases.oracle_pair(scoring)
    expected = oracle_local.trace(*oracle_texts(*texts, scoring), pair, gaps)
    (found,) = global_align([cases.sequences(*texts, scoring)], scoring, device="cpu")
    assert (found.score, cases.letters_of(found)) == tuple(expected)


@pytest.mark.parametrize("seed", range(4))
def test_scores_equal_those_of_filling_everything_again(seed):
    """The next alignment is the best of the whole matrix without the pairs so far."""
    rng = np.random.default_rng(50 + seed)
    query = cases.codes(rng, 700, 5)
    subject = np.concatenate(
        [cases.changed(rng, query[k:][:n], 0.1, 5) for k, n in ((100, 500), (0, 400))]
    )
    problem = make_problem(query, subject, AffineScoring())
    gaps, pairs = (problem.gap_open, problem.gap_extend), set()
    for f in cases.searched(problem, AffineScoring(), k=8):
        barred = tuple(np.array([*pairs], np.int64).reshape(-1, 2).T)
        cells = cases.tile_scores(problem.query, problem.subject, problem.table, gaps, 1, barred)
        (row, column), end = (f.query_start, f.subject_start), (f.query_end, f.subject_end)
        assert f.score == cells.max() == cases.score_of(problem, (row, column), f.cigar)
        assert np.subtract(end, 1).tolist() == np.argwhere(cells == f.score)[0].tolist()
        own = set()
        for letter in cases.letters_of(f):
            own |= {(row, column)} if letter in "=X" else set()
            row, column = row + (letter != "D"), column + (letter != "I")
        assert (row, column) == end
        assert not own & pairs
        pairs |= own
