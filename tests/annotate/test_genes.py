"""Clusters and structures beside plain definitions."""

from itertools import combinations

import numpy as np
import pytest

from gpu_tools.annotate.gene_set import (
    Hit,
    best_disjoint,
    cluster_hits,
    hits_of,
    share_a_gene,
    shared_nucleotides,
    structures_of,
)
from gpu_tools.annotate.genome import tiles
from gpu_tools.annotate.windows import joined
from gpu_tools.model.locus import SearchWindow
from gpu_tools.model.results import ProteinAlignment
from gpu_tools.model.significance import Gumbel


def hit(target, evidence, *exons, strand="+", complete=True, source=0, own=True):
    """Return a hit of full coverage, of a target that is the gene's own or of a relative."""
    chain = exons if strand == "+" else exons[::-1]
    alike = 10 if own else 5
    alignment = ProteinAlignment(
        "a", f"t{target}", 1000, 10, strand, int(evidence), chain=chain, target_end=10,
        translation="M" * 10, residues="M" * alike + "K" * (10 - alike),
        phases=(0,) * len(exons), start_codon=complete, stop_codon=complete,
    )  # fmt: skip
    return Hit(target, alignment, evidence, source=source)


def members(clusters):
    return [[h.target for h in cluster.hits] for cluster in clusters]


def random_intervals(rng):
    edges = np.sort(rng.choice(60, 2 * rng.integers(1, 5), replace=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def test_shared_nucleotides_are_those_of_both():
    rng = np.random.default_rng(31)
    for _ in range(200):
        one, other = random_intervals(rng), random_intervals(rng)
        sets = [{k for a, b in intervals for k in range(a, b)} for intervals in (one, other)]
        assert shared_nucleotides(one, other) == len(sets[0] & sets[1]), (one, other)


def test_best_disjoint_is_the_best_of_all_choices():
    rng = np.random.default_rng(32)
    for _ in range(100):
        parts = [(a, a + rng.integers(1, 9), rng.random()) for a in rng.integers(0, 30, 6)]
        best = 0.0
        for size in range(1, 7):
            for chosen in combinations(parts, size):
                apart = all(a[1] <= b[0] or b[1] <= a[0] for a, b in combinations(chosen, 2))
                best = max(best, sum(part[2] for part in chosen) * apart)
        assert best_disjoint(parts) == pytest.approx(best), parts


def test_random_clusters_are_what_the_rule_says():
    """Of incomplete hits, which make no chimera of one another, by the words of `cluster_hits`."""
    rng = np.random.default_rng(33)
    for _ in range(60):
        hits = [hit(k, 50 - k, *random_intervals(rng), complete=False) for k in range(8)]
        genes, chimeras = [], []
        for one in hits:
            near = [gene for gene in genes if share_a_gene(one, gene[0])]
            if len(near) > 1:
                chimeras.append(one)
            elif near:
                near[0].append(one)
            else:
                genes.append([one])
        clusters, wrong = cluster_hits(reversed(hits))
        assert {tuple(c.hits) for c in clusters} == {tuple(gene) for gene in genes}
        assert set(wrong) == set(chimeras)


def test_a_chimera_does_not_join_two_complete_genes():
    left, right = hit(0, 40, (0, 100), (200, 300)), hit(1, 40, (500, 600), (700, 800))
    chimera = hit(2, 60, (0, 100), (700, 800), own=False)
    clusters, chimeras = cluster_hits([chimera, left, right])
    assert members(clusters) == [[0], [1]]
    assert chimeras == [chimera]


def test_a_target_that_is_the_gene_s_own_is_no_chimera():
    left, right = hit(0, 40, (0, 100), (200, 300)), hit(1, 40, (500, 600), (700, 800))
    whole = hit(2, 60, (0, 100), (700, 800))
    clusters, chimeras = cluster_hits([whole, left, right])
    assert (members(clusters), chimeras) == ([[2, 0, 1]], [])


def test_fragments_do_not_break_a_gene():
    left = hit(0, 40, (0, 100), (200, 300), complete=False)
    right = hit(1, 40, (500, 600), (700, 800), complete=False)
    whole = hit(2, 60, (0, 100), (200, 300), (500, 600), (700, 800))
    assert members(cluster_hits([left, right, whole])[0]) == [[2, 0, 1]]


def test_strands_and_nested_genes_stay_apart():
    outer, nested = hit(0, 50, (0, 100), (900, 1000)), hit(1, 40, (400, 500))
    reverse = hit(2, 45, (0, 100), (900, 1000), strand="-")
    assert sorted(members(cluster_hits([outer, nested, reverse])[0])) == [[0], [1], [2]]


CHAINS = [(0, 100), (200, 300), (400, 500)], [(0, 100), (400, 500)]


def chosen(hits, gain, isoforms=True):
    (cluster,), _ = cluster_hits(hits)
    return structures_of(cluster, isoforms, lambda hit, other: gain)


def test_an_isoform_explains_its_own_target_better():
    main, same = hit(0, 50, *CHAINS[0]), hit(1, 45, *CHAINS[0])
    other = hit(2, 40, *CHAINS[1])
    found = chosen([main, same, other], 0.1)
    assert [s.hit for s in found] == [main, other]
    assert found[0].supporters == (0, 1)
    assert found[0].intron_support == (2, 2)
    assert [s.hit for s in chosen([main, same, other], 0)] == [main]
    assert [s.hit for s in chosen([main, same, other], 9, isoforms=False)] == [main]


def test_an_isoform_may_differ_by_its_start_alone():
    main, later = hit(0, 50, (0, 100), (200, 300)), hit(1, 45, (30, 100), (200, 300))
    assert [s.hit for s in chosen([main, later], 0.1)] == [main, later]


@pytest.mark.parametrize(
    ("sources", "gain", "expected"),
    [((0, 0), 9, 1), ((0, 1), 9, 2), ((0, 1), 0.9, 1)],
    ids=["one source", "two sources", "hardly better"],
)
def test_relatives_make_an_isoform_only_together(sources, gain, expected):
    """Two targets have an intron that the best structure lacks."""
    hits = [hit(0, 50, *CHAINS[0])]
    hits += [hit(k, 40, *CHAINS[1], source=one, own=False) for k, one in enumerate(sources, 1)]
    assert len(chosen(hits, gain)) == expected


def test_an_isoform_is_a_hit_of_a_target_that_has_no_better_one_elsewhere():
    """Of the third target this is a paralogue, with less evidence than its own gene."""
    chains = [(0, 100), (200, 300)], [(0, 100), (210, 300)], [(0, 90), (200, 300)]
    found = [(k, hit(k, score, *chain).alignment) for k, (score, chain) in
             enumerate(zip((50, 45, 40), chains, strict=True))]  # fmt: skip
    found.append((2, hit(2, 50, (900, 1000)).alignment))
    hits = hits_of(found, [Gumbel(10, 1)] * 3, [0, 0, 1])
    assert [one.evidence for one in hits] == [40, 35, 30, 40]
    assert [one.share for one in hits] == [1, 1, 0.75, 1]
    assert [one.source for one in hits] == [0, 0, 1, 1]
    clusters, _ = cluster_hits(hits)
    structures = structures_of(clusters[0], True, lambda hit, other: 9.0)
    assert [one.hit.target for one in structures] == [0, 1]


def test_introns_that_targets_agree_on_outweigh_a_little_evidence():
    alone = hit(0, 51, (0, 100), (210, 300))
    agreed = [hit(k, 50, (0, 100), (200, 300)) for k in (1, 2, 3)]
    (cluster,), _ = cluster_hits([alone, *agreed])
    (structure,) = structures_of(cluster, True, lambda hit, other: 0.0)
    assert structure.supporters == (1, 2, 3)


@pytest.mark.parametrize("length", [1, 29, 30, 31, 100, 101])
def test_each_short_interval_lies_in_a_tile(length):
    found = tiles(length, 30, 10)
    assert all(0 <= start < end <= length and end - start <= 30 for start, end in found)
    for start in range(length):
        end = min(start + 10, length)
        assert any(a <= start and end <= b for a, b in found)


def test_windows_that_touch_are_joined():
    def window(start, end, target=0, strand="+", score=1):
        return SearchWindow(target, 0, strand, start, end, score)

    found = joined([window(20, 30, score=5), window(0, 20), window(31, 40), window(10, 25, 1),
                    window(20, 30, strand="-")])  # fmt: skip
    assert found == [
        window(0, 30, score=5), window(10, 25, 1), window(20, 30, strand="-"), window(31, 40)
    ]  # fmt: skip
