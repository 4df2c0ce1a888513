"""The score of two whole sequences, beside a matrix that is filled in cell by cell."""

import numpy as np
import pytest

from gpu_tools.formats.scales import load_matrix
from gpu_tools.local.problem import global_score
from gpu_tools.model.scoring import AffineScoring


def naive(one, two, scoring: AffineScoring) -> int:
    """Fill in a matrix cell by cell; gaps of any length are looked at."""
    table = scoring.table()
    cost = [0, *(scoring.gap_open + k * scoring.gap_extend for k in range(max(len(one), len(two))))]
    score = np.zeros((len(one) + 1, len(two) + 1), np.int64)
    for i, j in np.ndindex(score.shape):
        ways = [score[i - k, j] - cost[k] for k in range(1, i + 1)]
        ways += [score[i, j - k] - cost[k] for k in range(1, j + 1)]
        if i and j:
            ways.append(score[i - 1, j - 1] + table[one[i - 1], two[j - 1]])
        score[i, j] = max(ways, default=0)
    return int(score[-1, -1])


BY_MATRIX = AffineScoring(gap_open=12, gap_extend=1, matrix=load_matrix("BLOSUM62"))


@pytest.mark.parametrize(("scoring", "symbols"), [(BY_MATRIX, 20), (AffineScoring(1, -1, 2, 2), 4)])
@pytest.mark.parametrize(
    "lengths", [(0, 20), (1, 1), (1, 20), (20, 1), (16, 32), (25, 40), (40, 25)]
)
def test_a_global_score_is_that_of_the_whole_matrix(scoring, symbols, lengths):
    rng = np.random.default_rng([62, symbols, *lengths])
    one, two = (rng.integers(0, symbols, length).astype(np.uint8) for length in lengths)
    two[: len(one) // 2] = one[: len(two)][: len(two[: len(one) // 2])]
    assert global_score(one, two, scoring) == naive(one, two, scoring)
