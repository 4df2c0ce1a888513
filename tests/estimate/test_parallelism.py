"""Groups, chains and histograms of candidate exons against their definitions."""

import numpy as np
import pytest

from gpu_tools import Case, ExonSet, Sequence, exon_histograms, spliced_estimate
from gpu_tools.estimate.api import published_cells
from gpu_tools.estimate.model import heaviest_chain, strand_parallelism
from tests import cases
from tests.oracles import parallelism as oracles


def random_exons(rng):
    """Return distinct exons of which many share starts, ends, or touch."""
    count = int(rng.integers(1, 25))
    starts, lengths = rng.integers(0, 60, count).tolist(), rng.integers(1, 30, count).tolist()
    return sorted({(start, start + n) for start, n in zip(starts, lengths, strict=True)})


def arrays(exons):
    return np.array(exons, dtype=np.int64).reshape(-1, 2).T


def of(exons):
    return strand_parallelism(*arrays(exons), np.zeros(len(exons), dtype=np.int64))


@pytest.mark.parametrize("seed", range(40))
def test_random_strands(seed):
    rng = np.random.default_rng(seed)
    exons = random_exons(rng)
    shuffled = [exons[k] for k in rng.permutation(len(exons))]
    found, n = of(shuffled), int(rng.integers(1, 50))
    assert list(found.group_sizes) == [len(group) for group in oracles.groups(exons)]
    assert sorted(found.entry_sizes) == oracles.entries(exons)
    assert found.longest_chain == oracles.heaviest_chain(exons, lambda exon: 1)
    assert tuple(published_cells(n, [found]).values()) == oracles.cells(exons, n)
    weights = {exon: int(w) for exon, w in zip(exons, rng.integers(0, 9, len(exons)), strict=True)}
    heaviest = heaviest_chain(*arrays(exons), np.array(list(weights.values())))
    assert heaviest == oracles.heaviest_chain(exons, weights.get)


def test_worked_example_of_the_source():
    (estimate,) = spliced_estimate([cases.WORKED_EXAMPLE.case()])
    assert (estimate.cells, estimate.sequential) == (55, 55)
    assert (estimate.groups, estimate.largest_group, estimate.longest_chain) == (3, 2, 3)
    assert (estimate.intra_exon, estimate.inter_exon) == (11 + 5 * 4, 2 + 2 + 3 + 3 * 4)


def test_strands_add_up_and_minus_is_read_backwards():
    plus, minus = [(0, 4), (2, 6), (8, 9)], [(1, 2), (5, 9), (3, 9)]
    exons = ExonSet.concatenate([ExonSet.from_intervals(plus), ExonSet.from_intervals(minus, "-")])
    case = Case(Sequence.from_text("s", "ACGTACGTA"), Sequence.from_text("t", "ACGT"), exons)
    (estimate,) = spliced_estimate([case])
    backwards = [(9 - end, 9 - start) for start, end in minus]
    expected = np.add(oracles.cells(plus, 4), oracles.cells(backwards, 4))
    found = estimate.sequential, estimate.intra_exon, estimate.inter_exon
    assert found == tuple(expected)
    assert estimate.cells == case.cells
    assert estimate.computed_cells == 4 * (4 + 4 + 1 + 6 + 1)


def test_histograms_count_each_base_once():
    case = cases.WORKED_EXAMPLE.case()
    exons = ExonSet.from_intervals([(0, 32), (0, 33), (0, 64)])
    long = Case(Sequence("l", np.zeros(99, np.uint8)), case.target, exons)
    found = {own.name: own for own in exon_histograms([case, long, case])}
    assert found["exon_length"].width == 32
    assert found["exon_length"].counts == {0: 6, 1: 2}
    assert found["group_size"].counts == {0: 1, 1: 2, 2: 1}
    assert found["entry_size"].counts == {0: 2, 1: 2}
