"""The published designs against their definitions; those for GPUs also on numba's simulator."""

import numpy as np
import pytest

from benchmarks import case_sets
from benchmarks.published import accelerator1, accelerator2, local_antidiagonals, sequential
from benchmarks.published.block import TILE
from gpu_tools import SplicedScoring, spliced_align
from gpu_tools.errors import ScoringError
from gpu_tools.hardware.device import simulated
from tests import cases
from tests.local import cases as local_cases
from tests.matching.test_api import least_by_programme
from tests.oracles import local as oracle_local
from tests.oracles import spliced as oracles

SMALL = sequential, (18, 7, 5, 6), oracles.spliced_by_enumeration
LARGE = sequential, (300, 120, 25, 60), oracles.spliced_by_programme
ACCELERATORS = accelerator1, accelerator2
ON_GPU = pytest.mark.parametrize(
    "design", [pytest.param(d, marks=pytest.mark.cuda, id=d.__name__[-12:]) for d in ACCELERATORS]
)


def pure_scoring(rng) -> SplicedScoring:
    """Return a scoring of match, mismatch and gap alone."""
    return SplicedScoring(
        int(rng.integers(0, 6)), int(rng.integers(-5, 2)), int(rng.integers(-5, 2))
    )


def check(design, sizes, definition, seed):
    """Compare the score of a random case with the best of both strands by an oracle."""
    rng = np.random.default_rng(seed)
    example, scoring = cases.random_example(rng, *sizes), pure_scoring(rng)
    terms = cases.oracle_scoring(scoring)
    expected = max(
        definition(base, example.target, exons, terms, dict.fromkeys(exons, 0))
        for base, exons in map(example.strand_view, "+-")
        if exons
    )
    assert design.score(example.case(), scoring) == expected


@pytest.mark.parametrize(
    ("design", "sizes", "definition", "seed"),
    [(*SMALL, seed) for seed in range(20)] + [(*LARGE, seed) for seed in range(5)],
)
def test_random_cases_by_their_definition(design, sizes, definition, seed):
    check(design, sizes, definition, seed)


@ON_GPU
@pytest.mark.parametrize("seed", range(2 if simulated() else 20))
def test_random_cases_of_accelerators(design, seed):
    check(design, (14, 5, 2, 6), oracles.spliced_by_programme, seed)


def same_rows(design, case):
    """Check the last rows, element by element, against the sequential design."""
    found, expected = design.last_rows(case), sequential.last_rows(case)
    assert [rows.tolist() for rows in found] == [rows.tolist() for rows in expected]


@ON_GPU
@pytest.mark.parametrize("longest", [TILE, TILE + 1, 2 * TILE + 1])
def test_exons_and_targets_longer_than_a_tile(design, longest):
    rng = np.random.default_rng(longest)
    base = cases.random_text(rng, 2 * longest + 3)
    exons = [(0, longest), (longest, longest + 1), (longest + 1, 2 * longest + 3)]
    same_rows(design, cases.Example(base, cases.random_text(rng, TILE + 1), exons).case())


@ON_GPU
@pytest.mark.skipif(simulated(), reason="takes hours on the simulator")
def test_case_set(design):
    for case in case_sets.case_set(case_sets.SMALL):
        same_rows(design, case)


def test_case_sets_have_the_score_of_the_library():
    made = case_sets.case_set(case_sets.SMALL)
    found = [sequential.score(case) for case in made]
    assert found == [result.score for result in spliced_align(made, device="cpu")]


@pytest.mark.parametrize("more", [{"exon_weight": 1.0}, {"matrix": np.eye(5, dtype=int)}])
def test_only_the_pure_objective(more):
    with pytest.raises(ScoringError, match="match, mismatch and gap alone"):
        sequential.score(cases.WORKED_EXAMPLE.case(), SplicedScoring(**more))


@pytest.mark.cuda
@pytest.mark.parametrize("seed", range(3 if simulated() else 20))
def test_score_and_ends_of_the_best_local_alignment(seed, monkeypatch):
    monkeypatch.setattr(local_antidiagonals, "THREADS", 4)
    rng = np.random.default_rng(seed)
    scoring = local_cases.random_scoring(rng)
    texts = local_cases.random_pair(rng, 8 if simulated() else 40)
    query, subject = local_cases.sequences(*texts, scoring)
    forward = local_antidiagonals.Forward(query.codes, subject.codes, scoring)
    forward.run()
    found, gaps = forward.best(), (scoring.gap_open, scoring.gap_extend)
    pair = local_cases.oracle_pair(scoring)
    expected = next(oracle_local.k_best(*texts, pair, gaps, 1), None)
    if expected is None:
        assert found is None
        return
    assert (found.score, found.end) == (expected[0], expected[2])
    part, other = (text[a:b] for text, a, b in zip(texts, found.start, found.end, strict=True))
    assert oracle_local.trace(part, other, pair, gaps)[0] == found.score


@pytest.mark.cuda
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("name", ["O-ASM"] if simulated() else ["O-ASM", "w-SCAN", "w-Shuffle"])
@pytest.mark.parametrize("m", (5,) if simulated() else (1, 31, 32, 33, 64, 100, 257))
@pytest.mark.parametrize("costs", [(1, 1, 1), (2, 3, 4)])
def test_least_cost_of_a_pattern(name, m, costs):
    from benchmarks.published.matching import approximate

    rng = np.random.default_rng(m)
    text = rng.integers(0, 4, 12 if simulated() else 1500).astype(np.uint8)
    pattern = rng.integers(0, 4, m).astype(np.uint8)
    insertion, deletion, substitution = costs
    terms = (
        lambda letter: insertion, lambda symbol: deletion, lambda a, b: substitution * int(a != b),
    )  # fmt: skip
    least = min(m * deletion, *least_by_programme(pattern, text, terms).values())
    assert approximate.Problem(pattern, text, costs).distance(name) == least


@pytest.mark.cuda
@pytest.mark.parametrize("name", ["rolling, loop", "rolling", "prefix sums"])
def test_occurrences_of_patterns(name):
    from benchmarks.published.matching import exact

    rng = np.random.default_rng(3)
    n, count = (60, 4) if simulated() else (100_000, 300)
    text = rng.integers(0, 2, n).astype(np.uint8)
    patterns = [rng.integers(0, 2, int(rng.integers(3, 12))).astype(np.uint8) for _ in range(count)]
    expected = sorted(
        (start, k)
        for k, pattern in enumerate(patterns)
        for start in range(n - len(pattern) + 1)
        if text.tobytes().startswith(pattern.tobytes(), start)
    )
    assert expected
    assert exact.Problem(patterns, text).occurrences(name) == expected
