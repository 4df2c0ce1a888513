"""CUDA and CPU find the same alignments, on a GPU or on numba's simulator."""

import numpy as np
import pytest

from gpu_tools import local_align
from gpu_tools.device import simulated
from gpu_tools.local import cuda, tiles
from gpu_tools.local.forbidden import ForbiddenPairs
from gpu_tools.local.problem import make_problem
from gpu_tools.local.window import bound_window
from tests.local_cases import protein_scoring, random_pair, random_scoring, sequences

pytestmark = pytest.mark.cuda
LONGEST = 22 if simulated() else 3000
PROTEIN = "ARNDCQEGHILKMFPSTWYVBZX*UOJ"


def largest_scores(problem, side):
    """Return each tile's largest score, cell by cell."""
    rows, columns = problem.shape
    border = np.zeros(columns + 1, np.int64), np.zeros(rows, np.int64)
    return bound_window(problem, (0, rows, 0, columns), side, border, ForbiddenPairs()).lower


@pytest.mark.parametrize("seed", range(3 if simulated() else 40))
def test_score_pass(seed):
    rng = np.random.default_rng(seed)
    scoring = protein_scoring(rng) if seed % 3 == 0 else random_scoring(rng)
    texts = random_pair(rng, LONGEST, PROTEIN if seed % 3 == 0 else "ACGTN")
    query, subject = sequences(*texts, scoring)
    problem = make_problem(query.codes, subject.codes, scoring)
    side = 4 if simulated() else 64
    assert (cuda.score_pass(problem, side) == largest_scores(problem, side)).all()


@pytest.mark.parametrize("seed", range(1 if simulated() else 20))
def test_alignments(seed, monkeypatch):
    if simulated():
        monkeypatch.setattr(tiles, "SMALLEST_TILE", 4)
        monkeypatch.setattr(tiles, "_SMALLEST_MARGIN", 4)
    rng = np.random.default_rng(1000 + seed)
    scoring = random_scoring(rng)
    pairs = [sequences(*random_pair(rng, LONGEST), scoring)]
    cpu, gpu = (local_align(pairs, scoring, k=5, device=device) for device in ("cpu", "cuda"))
    assert gpu == cpu
    assert gpu[0]


def test_the_kernel_does_the_work(monkeypatch):
    runs = []
    original = cuda.ScoreLaunch.run
    monkeypatch.setattr(cuda.ScoreLaunch, "run", lambda own: runs.append(own) or original(own))
    scoring = random_scoring(np.random.default_rng(0))
    local_align([sequences("ACGT", "ACGT", scoring)], scoring, device="cuda")
    assert len(runs) == 1
