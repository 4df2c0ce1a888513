"""The published sequential design, on the CPU, against the definition."""

import numpy as np
import pytest

from benchmarks import case_sets
from benchmarks.published import sequential
from gpu_tools import SplicedScoring, spliced_align
from gpu_tools.errors import ScoringError
from tests import cases
from tests.oracles import spliced as oracles


def pure_scoring(rng) -> SplicedScoring:
    """Return a scoring of match, mismatch and gap alone."""
    return SplicedScoring(
        int(rng.integers(0, 6)), int(rng.integers(-5, 2)), int(rng.integers(-5, 2))
    )


def oracle(function, example, scoring):
    """Return the best score of both strands by an oracle."""
    terms = cases.oracle_scoring(scoring)
    return max(
        function(base, example.target, exons, terms, dict.fromkeys(exons, 0))
        for base, exons in map(example.strand_view, "+-")
        if exons
    )


SMALL = {"base": 18, "target": 7, "count": 5, "longest": 6}, oracles.spliced_by_enumeration
LARGE = {"base": 300, "target": 120, "count": 25, "longest": 60}, oracles.spliced_by_programme


@pytest.mark.parametrize(
    ("sizes", "definition", "seed"),
    [(*SMALL, seed) for seed in range(20)] + [(*LARGE, seed) for seed in range(5)],
)
def test_random_cases_by_their_definition(sizes, definition, seed):
    rng = np.random.default_rng(seed)
    example, scoring = cases.random_example(rng, **sizes), pure_scoring(rng)
    assert sequential.score(example.case(), scoring) == oracle(definition, example, scoring)


def test_case_sets_have_the_score_of_the_library():
    made = case_sets.case_set(case_sets.SMALL)
    found = [sequential.score(case) for case in made]
    assert found == [result.score for result in spliced_align(made, device="cpu")]


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
