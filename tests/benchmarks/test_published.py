"""The published sequential design, on the CPU, against the definition."""

from itertools import pairwise

import numpy as np
import pytest

from benchmarks import case_sets
from benchmarks.published import measure, problem, sequential
from gpu_tools import Case, ExonSet, Sequence, SplicedScoring, spliced_align
from gpu_tools.errors import ScoringError
from tests import cases
from tests.oracles import spliced as oracles


def pure_scoring(rng) -> SplicedScoring:
    """Return a scoring of match, mismatch and gap alone."""
    return SplicedScoring(
        int(rng.integers(0, 6)), int(rng.integers(-5, 2)), int(rng.integers(-5, 2))
    )


def strands(example):
    """Yield base text and exons, in transcript direction, of the strands that have exons."""
    views = map(example.strand_view, "+-")
    return [(base, sorted(set(exons))) for base, exons in views if exons]


def oracle(function, example, scoring):
    """Return the best score of both strands by an oracle."""
    terms = cases.oracle_scoring(scoring)
    found = [
        function(base, example.target, exons, terms, dict.fromkeys(exons, 0))
        for base, exons in strands(example)
    ]
    return max(value[0] if isinstance(value, tuple) else value for value in found)


def rows_by_enumeration(base, target, exons, scoring):
    """Return last rows by definition: the best chain that ends with the exon, for each prefix."""
    terms, bonus = cases.oracle_scoring(scoring), dict.fromkeys(exons, 0)
    chains = list(oracles.chains(exons))
    return [
        [
            max(
                oracles.chain_score(base, target[:j], chain, terms, bonus)
                for chain in chains
                if chain[-1] == exon
            )
            for j in range(len(target) + 1)
        ]
        for exon in exons
    ]


def test_worked_example_of_the_source():
    assert sequential.score(cases.WORKED_EXAMPLE.case()) == 3


@pytest.mark.parametrize("seed", range(20))
def test_small_cases_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    example = cases.random_example(rng, base=18, target=7, count=5, longest=6)
    scoring = pure_scoring(rng)
    expected = oracle(oracles.spliced_by_enumeration, example, scoring)
    assert sequential.score(example.case(), scoring) == expected


@pytest.mark.parametrize("seed", range(5))
def test_last_rows_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    example = cases.random_example(rng, base=14, target=6, count=4, longest=5)
    scoring = pure_scoring(rng)
    found = sequential.last_rows(example.case(), scoring)
    expected = [
        rows_by_enumeration(base, example.target, exons, scoring)
        for base, exons in strands(example)
    ]
    assert [rows.tolist() for rows in found] == expected


@pytest.mark.parametrize("seed", range(5))
def test_larger_cases_by_programme(seed):
    rng = np.random.default_rng(100 + seed)
    example = cases.random_example(rng, base=300, target=120, count=25, longest=60)
    scoring = pure_scoring(rng)
    expected = oracle(oracles.spliced_by_programme, example, scoring)
    assert sequential.score(example.case(), scoring) == expected


def test_case_sets_have_the_score_of_the_library():
    made = case_sets.case_set(case_sets.SMALL)
    found = [sequential.score(case) for case in made]
    assert found == [result.score for result in spliced_align(made, device="cpu")]


def test_case_without_candidates():
    assert sequential.score(cases.Example("ACGT", "AC", []).case()) is None


def test_milliseconds_are_measured():
    assert sequential.milliseconds(cases.WORKED_EXAMPLE.case()) > 0


@pytest.mark.parametrize(
    "more",
    [
        {"exon_weight": 1.0}, {"intron_penalty": 1}, {"ends": "free-target"},
        {"matrix": np.eye(5, dtype=int)},
    ],
    ids=lambda more: next(iter(more)),
)  # fmt: skip
def test_only_the_pure_objective(more):
    with pytest.raises(ScoringError, match="match, mismatch and gap alone"):
        sequential.score(cases.WORKED_EXAMPLE.case(), SplicedScoring(**more))


def test_scores_that_could_overflow_are_refused():
    with pytest.raises(ScoringError, match="overflow"):
        sequential.score(cases.WORKED_EXAMPLE.case(), SplicedScoring(gap=-(2**29)))


def test_groups_of_the_worked_example():
    (only,) = problem.problems(cases.WORKED_EXAMPLE.case(), SplicedScoring())
    assert list(problem.groups(only.exons)) == [(0, 1), (1, 3), (3, 5)]


@pytest.mark.parametrize("seed", range(20))
def test_groups(seed):
    """Consecutive, none of a group may precede another, and the first of the next would."""
    rng = np.random.default_rng(seed)
    starts = np.sort(rng.integers(0, 60, 15))
    exons = np.column_stack([starts, starts + rng.integers(1, 20, 15)]).astype(np.int32)
    found = list(problem.groups(exons))
    assert [found[0][0], found[-1][1]] == [0, 15]
    assert all(a[1] == b[0] for a, b in pairwise(found))
    for first, stop in found:
        smallest = exons[first:stop, 1].min()
        assert exons[first:stop, 0].max() < smallest
        assert stop == 15 or exons[stop, 0] >= smallest


def test_equal_intervals_count_once():
    exons = ExonSet.from_intervals([(0, 2), (0, 2), (2, 4)])
    case = Case(Sequence.from_text("b", "ACGT"), Sequence.from_text("t", "AC"), exons)
    assert len(sequential.last_rows(case)[0]) == 2


def test_a_wrong_score_stops_the_measurement():
    made = [cases.WORKED_EXAMPLE.case()]
    measure.check(sequential, made, [3])
    with pytest.raises(AssertionError, match="sequential is wrong on case-target"):
        measure.check(sequential, made, [4])


def test_rates_are_cells_by_time():
    made = [cases.WORKED_EXAMPLE.case(), cases.Example("ACGT", "AC", [(0, 2)]).case()]
    found = measure.rates(made, lambda case: case.cells / 1e6, repeats=2)
    assert found["cells"] == 55 + 4
    assert found["mean_gcups"] == found["best_gcups"] == found["total_gcups"] == 1
