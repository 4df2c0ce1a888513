"""Sums over paths and the best path of small lattices made by hand."""

import numpy as np
import pytest

from gpu_tools.exons.lattice import BETWEEN, N_STATES, Lattice, States, best_path, posteriors

GENES = 1 << BETWEEN
FREE = States(
    np.zeros(N_STATES), np.ones(N_STATES, dtype=np.int64), np.zeros(N_STATES), np.zeros(N_STATES)
)


def only_between(**changes):
    """Return states of which only the one between genes begins or ends a parse."""
    closed = np.full(N_STATES, -np.inf)
    closed[BETWEEN] = 0.0
    return FREE._replace(begin=closed, end=closed, **changes)


def lattice(*exons):
    """Build a lattice of (start, end, before, after, score)."""
    columns = [np.array(column, dtype=np.int64) for column in zip(*exons, strict=True)]
    return Lattice(*columns[:4], columns[4].astype(np.float64))


def genes(*exons):
    return lattice(*((start, end, GENES, GENES, score) for start, end, score in exons))


@pytest.mark.parametrize(
    ("exons", "best"),
    [
        (genes((2, 5, 0), (8, 11, 0)), []),
        (genes((2, 5, 0), (8, 11, 1)), [1]),
        (genes((2, 5, 1), (8, 11, 1)), [0, 1]),
        (genes((5, 11, 1), (2, 8, 1)), [1]),
        (genes((2, 8, 1), (4, 8, 1)), [0]),
        (genes((4, 8, 1), (2, 8, 1)), [0]),
        (genes((2, 8, 1), (8, 11, 1)), [0]),
        (genes((2, 7, 1), (8, 11, 1)), [0, 1]),
    ],
)
def test_ties_of_the_best_path(exons, best):
    path, weight = best_path(exons, only_between(), 20)
    assert path.tolist() == best
    assert weight == sum(exons.scores[best])


def test_of_equal_states_the_first_wins():
    first, second = 1 << 1, 1 << 2
    exons = lattice(
        (1, 3, GENES, second, 1), (2, 4, GENES, first, 1), (8, 9, first | second, GENES, 1)
    )
    assert best_path(exons, only_between(), 10)[0].tolist() == [1, 2]


def test_an_exon_that_nothing_reaches():
    exons = lattice((2, 5, 1 << 3, GENES, 9), (6, 8, GENES, GENES, 0))
    logarithms, total = posteriors(exons, only_between(), 10)
    assert logarithms.tolist() == [-np.inf, -1.0]
    assert total == 1.0
    assert best_path(exons, only_between(), 10)[0].tolist() == []
