"""A chain of common words shows a score that some alignment reaches."""

import numpy as np
import pytest

from gpu_tools.local import problem as anchors
from gpu_tools.local.cpu import score_pass as cpu
from gpu_tools.local.problem import make_problem
from tests.local import cases


@pytest.mark.parametrize("letters", [4, 5, 20], ids=["nucleotides", "with N", "proteins"])
@pytest.mark.parametrize("seed", range(10))
def test_a_chain_of_words_has_a_score_that_is_reached(seed, letters):
    problem, _ = cases.problem_of(100 + seed, letters)
    reached, (most, _) = anchors.score_reached(problem), cases.largest_on_the_way(problem)
    assert reached <= most


@pytest.mark.parametrize("scoring", [cases.LINEAR, cases.AFFINE], ids=["linear", "affine"])
def test_a_chain_of_words_tells_most_of_the_score(scoring):
    rng = np.random.default_rng(2)
    query = cases.codes(rng, 5000)
    same = np.where(rng.random(5000) < 0.1, cases.codes(rng, 5000), query).astype(np.uint8)
    for subject, share in ((same, 0.98), (cases.changed(rng, query, 0.1), 0.8)):
        problem = make_problem(query, subject, scoring)
        assert anchors.score_reached(problem) >= share * cpu.score_pass(problem, 64).max()
