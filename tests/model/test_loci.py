"""Loci that chains share: against a naive definition, and by example."""

import numpy as np
import pytest

from gpu_tools import SplicedAlignment
from gpu_tools.model.loci import best_loci, best_targets, interval_of
from tests.oracles import credibility as oracle


def chain(target, score, *exons, base="b", strand="+"):
    return SplicedAlignment(base, target, 1000, 9, strand, score, chain=exons)


def plain(alignments):
    """Return alignments as the oracle wants them: strand of a base, start, end, score."""
    return [((a.base, a.strand), *interval_of(a), a.score) for a in alignments]


@pytest.mark.parametrize("seed", range(20))
def test_loci_are_those_of_the_definition(seed):
    print(f"seed {seed}")
    random = np.random.default_rng(seed)
    chains = []
    for k in range(int(random.integers(0, 30))):
        start, length = int(random.integers(0, 300)), int(random.integers(1, 60))
        where = {"base": str(random.choice(["a", "b"])), "strand": str(random.choice(["+", "-"]))}
        chains.append(
            chain(f"t{k % 4}", int(random.integers(0, 9)), (start, start + length), **where)
        )
    groups = oracle.loci(plain(chains))
    found = [
        [next(k for k, c in enumerate(chains) if c is member) for member in (x.best, *x.others)]
        for x in best_targets(chains)
    ]
    assert sorted(found) == sorted(groups)
    for ranked in best_loci(chains):
        own = [c for c in chains if c.target == ranked[0].target]
        heads = [own[group[0]] for group in oracle.loci(plain(own))]
        assert list(ranked) == heads


def test_a_long_poor_chain_does_not_join_two_loci():
    left, right = chain("l", 90, (10, 20), (30, 40)), chain("r", 80, (60, 70))
    long = chain("x", 50, (15, 20), (65, 70))
    loci = best_targets([long, right, left])
    assert [(x.best, x.others, x.interval) for x in loci] == [
        (left, (long,), (10, 40)), (right, (), (60, 70)),
    ]  # fmt: skip


def test_strands_and_bases_are_apart_and_neighbours_too():
    chains = [
        chain("t", 9, (5, 9)), chain("u", 9, (5, 9), strand="-"), chain("v", 8, (9, 12)),
        chain("w", 9, (5, 9), base="a"),
    ]  # fmt: skip
    assert [x.best.target for x in best_targets(chains)] == ["t", "u", "v", "w"]


def test_without_a_chain_there_is_no_locus():
    nothing = SplicedAlignment("b", "t", 10, 4)
    assert best_targets([nothing]) == best_loci([nothing]) == []
