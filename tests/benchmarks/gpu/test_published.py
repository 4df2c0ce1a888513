"""The published accelerators, on a GPU or on numba's simulator, against the definition."""

import numpy as np
import pytest

from benchmarks import case_sets
from benchmarks.published import accelerator1, accelerator2, sequential
from benchmarks.published.block import TILE
from gpu_tools.hardware.device import simulated
from tests import cases
from tests.benchmarks.test_published import oracle, pure_scoring
from tests.oracles import spliced as oracles

pytestmark = pytest.mark.cuda
DESIGNS = pytest.mark.parametrize(
    "design", [accelerator1, accelerator2], ids=["accelerator1", "accelerator2"]
)
FEW = 2 if simulated() else 20


def same_rows(design, case, scoring=None):
    """Check the last rows, element by element, and the score against the sequential design."""
    expected = sequential.last_rows(case, scoring)
    found = design.last_rows(case, scoring)
    assert [rows.tolist() for rows in found] == [rows.tolist() for rows in expected]
    assert design.score(case, scoring) == max(rows[:, -1].max() for rows in expected)


@DESIGNS
@pytest.mark.parametrize("seed", range(FEW))
def test_small_cases_by_programme(design, seed):
    rng = np.random.default_rng(seed)
    example = cases.random_example(rng, base=14, target=5, count=2, longest=6)
    scoring = pure_scoring(rng)
    expected = oracle(oracles.spliced_by_programme, example, scoring)
    assert design.score(example.case(), scoring) == expected
    same_rows(design, example.case(), scoring)


@DESIGNS
@pytest.mark.parametrize("longest", [TILE, TILE + 1, 2 * TILE + 1])
def test_exons_and_targets_longer_than_a_tile(design, longest):
    rng = np.random.default_rng(longest)
    base = cases.random_text(rng, 2 * longest + 3)
    exons = [(0, longest), (longest, longest + 1), (longest + 1, 2 * longest + 3)]
    example = cases.Example(base, cases.random_text(rng, TILE + 1), exons)
    same_rows(design, example.case())


@DESIGNS
@pytest.mark.skipif(simulated(), reason="takes hours on the simulator")
def test_case_set(design):
    for case in case_sets.case_set(case_sets.SMALL):
        same_rows(design, case)
