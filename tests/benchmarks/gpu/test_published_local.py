"""The published forward pass of local alignment, on a GPU or on numba's simulator."""

import numpy as np
import pytest

from benchmarks.published import local_antidiagonals
from gpu_tools.hardware.device import simulated
from tests.local.cases import oracle_pair, random_pair, random_scoring, sequences
from tests.oracles import local as oracle_local

pytestmark = pytest.mark.cuda
THREADS = 4


@pytest.mark.parametrize("seed", range(3 if simulated() else 20))
def test_score_and_ends_of_the_best(seed, monkeypatch):
    monkeypatch.setattr(local_antidiagonals, "THREADS", THREADS)
    rng = np.random.default_rng(seed)
    scoring = random_scoring(rng)
    texts = random_pair(rng, 8 if simulated() else 40)
    query, subject = sequences(*texts, scoring)
    forward = local_antidiagonals.Forward(query.codes, subject.codes, scoring)
    forward.run()
    found, gaps = forward.best(), (scoring.gap_open, scoring.gap_extend)
    pair = oracle_pair(scoring)
    expected = next(oracle_local.k_best(*texts, pair, gaps, 1), None)
    if expected is None:
        assert found is None
        return
    assert (found.score, found.end) == (expected[0], expected[2])
    part, other = (text[a:b] for text, a, b in zip(texts, found.start, found.end, strict=True))
    assert oracle_local.trace(part, other, pair, gaps)[0] == found.score
