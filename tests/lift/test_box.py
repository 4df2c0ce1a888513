"""The alignment of a box is the best path, and what it returns has the score it says."""

import numpy as np
import pytest

from gpu_tools.lift.cpu import EDGE, GAP, OUTSIDE, align_box
from tests.oracles.lift import best_score

GAPS = np.array(
    [[8, 3, 20, 0, -1, 0], [12, 4, 31, 0, 5, 9], [9, 3, 22, 0, -1, 0]], np.int32
)  # fmt: skip


def random_box(rng, n, m):
    """Return rows for the oracle, and the arrays of the same rows."""
    pairs = rng.integers(-9, 4, (3, 5, 5)).astype(np.int32)
    for label in range(3):
        np.fill_diagonal(pairs[label], 8 + label)
    points = rng.integers(-4, 12, (2, m + 1)).astype(np.int32)
    columns = rng.integers(0, 4, m).astype(np.uint8)
    symbols, labels, classes, rows = [], [], [], []
    for _ in range(n):
        if not labels or rng.random() < 0.4:
            label = int(rng.integers(0, 3))
        if rng.random() < 0.2:
            k = int(rng.integers(0, 2))
            symbols.append(EDGE)
            rows.append((label, None, tuple(points[k].tolist())))
        else:
            k, code = 0, int(rng.integers(0, 4))
            symbols.append(code)
            rows.append((label, code))
        labels.append(label)
        classes.append(k)
    arrays = np.array(symbols, np.uint8), np.array(labels, np.uint8), np.array(classes, np.int64)
    return rows, arrays, columns, points, pairs


def score_of(rows, found, columns, pairs):
    """Return pairs and points along a path, without the costs of its gaps."""
    return sum(
        row[2][at] if row[1] is None else pairs[row[0]][row[1]][columns[at]]
        for row, at in zip(rows, found, strict=True)
        if at >= 0
    )


@pytest.mark.parametrize("seed", range(30))
def test_a_box_has_the_score_of_the_best_path(seed):
    rng = np.random.default_rng(seed)
    n, m = (int(k) for k in rng.integers(1, 13, 2))
    rows, (symbols, labels, classes), columns, points, pairs = random_box(rng, n, m)
    begin = int(rng.choice([-1, 0, 2]))
    end = int(rng.choice([n + 1, n, max(n - 2, 0)]))
    found, score = align_box(symbols, labels, classes, columns, points, pairs, GAPS, begin, end)
    table = pairs.tolist()
    assert score == best_score(rows, columns.tolist(), table, GAPS.tolist(), begin, end)
    places = [at for at in found.tolist() if at >= 0]
    assert places == sorted(places)
    assert {at for at in found.tolist() if at < 0} <= {GAP, OUTSIDE}
    # gaps only cost, so pairs and points along the path reach the score at least
    assert score_of(rows, found.tolist(), columns, pairs) >= score


def test_an_edge_goes_where_the_site_is():
    # ACG|TAC against ACGGTAC: an extra G before or behind the edge, points tell
    symbols = np.array([0, 1, 2, EDGE, 3, 0, 1], np.uint8)
    labels, classes = np.zeros(7, np.uint8), np.zeros(7, np.int64)
    columns = np.array([0, 1, 2, 2, 3, 0, 1], np.uint8)
    pairs = np.full((1, 5, 5), -8, np.int32)
    np.fill_diagonal(pairs[0], 8)
    for site in (3, 4):
        points = np.zeros((1, 8), np.int32)
        points[0, site] = 5
        found, _ = align_box(symbols, labels, classes, columns, points, pairs, GAPS, -1, 8)
        assert found[3] == site


@pytest.mark.parametrize(("lost", "reads"), [(3, "ACG"), (6, "ACGACG"), (4, "ACGA")])
def test_whole_codons_are_lost_together(lost, reads):
    # without its codon gap, label 1 would rather pay two short ones around a chance match
    before, behind = np.array([0, 3, 2, 1], np.uint8), np.array([2, 2, 0, 3], np.uint8)
    gone = np.array(["ACGT".index(letter) for letter in reads], np.uint8)
    symbols = np.concatenate((before, gone, behind))
    labels, classes = np.full(len(symbols), 1, np.uint8), np.zeros(len(symbols), np.int64)
    pairs = np.full((2, 5, 5), -8, np.int32)
    np.fill_diagonal(pairs[1], 8)
    columns = np.concatenate((before, behind))
    points = np.zeros((1, len(columns) + 1), np.int32)
    found, score = align_box(
        symbols, labels, classes, columns, points, pairs, GAPS, -1, len(symbols) + 1
    )
    whole = lost % 3 == 0
    cost = GAPS[1, 4] + GAPS[1, 5] * lost // 3 if whole else GAPS[1, 0] + GAPS[1, 1] * lost
    assert score == 64 - cost
    assert (found == GAP).sum() == lost
