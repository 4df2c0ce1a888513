"""Windows bound tiles' scores and show the first cell that has the last tile's."""

import numpy as np
import pytest

from gpu_tools import AffineScoring
from gpu_tools.local.problem import make_problem
from gpu_tools.local.search.forbidden_pairs import ForbiddenPairs
from tests.local.cases import random_pair, sequences, tile_scores, whole_window


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("factor", [1, 9000], ids=["16-bit", "32-bit"])
def test_each_tile_has_its_largest_score(seed, factor):
    rng = np.random.default_rng(seed)
    scoring = AffineScoring(2 * factor, -factor if seed % 2 else 0, 3 * factor, factor)
    query, subject = sequences(*random_pair(rng, 300), scoring)
    problem = make_problem(query.codes, subject.codes, scoring)
    gaps = problem.gap_open, problem.gap_extend
    exact = tile_scores(problem.query, problem.subject, problem.table, gaps, 32)
    assert (whole_window(problem, 32, ForbiddenPairs())[0] == exact).all()


def filled(problem, used):
    """Return the scores of all cells, the pairs of `used` left out."""
    barred, (rows, columns) = set(zip(*(u.tolist() for u in used), strict=True)), problem.shape
    cells = np.zeros((rows + 1, columns + 1), dtype=np.int64)
    falling = np.full(columns + 1, -(10**6))
    for i in range(rows):
        running = -(10**6)
        for j in range(columns):
            falling[j] = max(cells[i, j + 1] - problem.gap_open, falling[j] - problem.gap_extend)
            running = max(cells[i + 1, j] - problem.gap_open, running - problem.gap_extend)
            pair = cells[i, j] + problem.table[problem.query[i], problem.subject[j]]
            pair = 0 if (i, j) in barred else pair
            cells[i + 1, j + 1] = max(0, pair, falling[j], running)
    return cells[1:, 1:]


@pytest.mark.parametrize("seed", range(16))
def test_a_window_is_what_a_plain_fill_says(seed):
    """Odd and even numbers of rows, forbidden pairs, many equal scores."""
    rng = np.random.default_rng(300 + seed)
    query, subject = (rng.integers(0, 2, int(rng.integers(17, 90))).astype(np.uint8) for _ in "qs")
    problem, side = make_problem(query, subject, AffineScoring(1, -1, 2, 1)), 16
    rows, columns = problem.shape
    pairs = np.unique(rng.integers(0, (rows, columns), (400, 2)), axis=0)
    used = ForbiddenPairs()
    used.rows = np.concatenate([used.rows[:1], pairs[:, 0], used.rows[1:]])
    used.columns = np.concatenate([used.columns[:1], pairs[:, 1], used.columns[1:]])
    cells = filled(problem, (pairs[:, 0], pairs[:, 1]))
    largest, end = whole_window(problem, side, used)
    for (down, across), most in np.ndenumerate(largest):
        tile = cells[down * side : (down + 1) * side, across * side : (across + 1) * side]
        assert most == tile.max()
    row, column = np.argwhere(tile == tile.max())[0] + (down * side, across * side)
    assert end == (row * columns + column if tile.max() else -1)


def test_a_window_has_no_row_behind_its_last():
    """Behind an odd number of rows there is space for one, where a mismatch would cost less."""
    query, subject = (
        np.random.default_rng(0).integers(0, 5, 17).astype(np.uint8) % 4,
        np.full(20, 4, dtype=np.uint8),
    )
    subject[:16] = query[1:]
    problem = make_problem(query, subject, AffineScoring(1, -1, 2, 1))
    largest, end = whole_window(problem, 16, ForbiddenPairs())
    assert largest.tolist() == [[15, 12], [16, 14]]
    assert end == 16 * 20 + 16
