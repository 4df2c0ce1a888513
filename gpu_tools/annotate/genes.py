"""Genes: hits of many targets that share coding nucleotides, and the structures that they support.

Evidence is a hit's score above the score that unrelated targets reach, in scales of Gumbel's law:
about the natural logarithm of 1 / E.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from gpu_tools.annotate.options import Alignment
from gpu_tools.model.loci import interval_of
from gpu_tools.model.significance import Gumbel

Interval = tuple[int, int]
SHARED = 0.1
"""Part of the shorter coding sequence that hits of one gene share at least."""
COMPLETE = 0.9
"""Coverage of a cDNA, which has no start and stop codon, that counts as a complete gene."""


@dataclass(frozen=True)
class Hit:
    """A chain of a target that is credible.

    Parameters
    ----------
    target : int
        Number of the target among all.
    alignment : SplicedAlignment or ProteinAlignment
        In its record's coordinates.
    evidence : float
        Scales by which the score is above the location of unrelated targets' law.
    share : float
        Evidence as a share of that of the target's best hit in the genome.
    """

    target: int
    alignment: Alignment
    evidence: float = field(compare=False)
    share: float = field(default=1.0, compare=False)

    @property
    def exons(self) -> tuple[Interval, ...]:
        """The exons by position."""
        return tuple(sorted(self.alignment.chain))

    @property
    def introns(self) -> tuple[Interval, ...]:
        """The introns by position."""
        return tuple((a[1], b[0]) for a, b in pairwise(self.exons))

    @property
    def length(self) -> int:
        """Nucleotides of the exons."""
        return sum(end - start for start, end in self.alignment.chain)

    @property
    def complete(self) -> bool:
        """Whether it is a whole gene: from start to stop codon, or nearly all of a cDNA."""
        own = self.alignment
        if own.phases:
            return own.start_codon and own.stop_codon
        return own.coverage >= COMPLETE

    @property
    def order(self) -> tuple:
        """A key by which the hit of the most evidence comes first, whatever the hits' order."""
        own = self.alignment
        return -self.evidence, own.target, own.base, own.strand, own.chain


def hits_of(found: Iterable[tuple[int, Alignment]], laws: Sequence[Gumbel]) -> list[Hit]:
    """Return the hits that credible chains are, given with their targets' numbers.

    `laws` are those of unrelated targets, by number.
    """
    pairs = [
        (number, own, (own.score - laws[number].location) / laws[number].scale)
        for number, own in found
    ]
    best: dict[int, float] = {}
    for number, _, evidence in pairs:
        best[number] = max(evidence, best.get(number, evidence))
    return [Hit(number, own, evidence, evidence / best[number]) for number, own, evidence in pairs]


def shared_nucleotides(one: Sequence[Interval], other: Sequence[Interval]) -> int:
    """Return how many positions two lists of disjoint intervals, by position, share."""
    total = i = j = 0
    while i < len(one) and j < len(other):
        low, high = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        total += max(high - low, 0)
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return total


def share_a_gene(one: Hit, other: Hit) -> bool:
    """Return whether hits of one strand share so much that they are of one gene."""
    shared = shared_nucleotides(one.exons, other.exons)
    return shared > 0 and shared >= SHARED * min(one.length, other.length)


@dataclass(frozen=True)
class HitCluster:
    """The hits of a gene, the one of the most evidence first."""

    hits: tuple[Hit, ...]


def cluster_hits(hits: Iterable[Hit]) -> tuple[list[HitCluster], list[Hit]]:
    """Group hits into genes.

    Parameters
    ----------
    hits : iterable of Hit

    Returns
    -------
    clusters : list of HitCluster
        By strand of record in order of appearance of its best hit; see `gpu_tools.annotate.api`
        for the order of genes.
    chimeras : list of Hit
        Hits that span two genes, and belong to none.

    Notes
    -----
    Hits are taken by falling evidence. One that shares no more than `SHARED` of coding nucleotides
    with any gene's first hit is the first one of a new gene; else it joins the gene with which it
    shares most. A hit is a chimera if complete hits that lie apart, and each share a gene with it,
    have more evidence together; or if it shares a gene with the first hits of several.
    """
    clusters, chimeras = [], []
    for group in _overlapping(hits):
        found, wrong = _clusters_of(sorted(group, key=lambda hit: hit.order))
        clusters += found
        chimeras += wrong
    return clusters, chimeras


def _overlapping(hits: Iterable[Hit]) -> Iterator[list[Hit]]:
    """Yield hits of one record and strand whose spans overlap, directly or through others."""
    strands = defaultdict(list)
    for hit in hits:
        strands[hit.alignment.base, hit.alignment.strand].append(hit)
    for several in strands.values():
        group, furthest = [], 0
        for hit in sorted(several, key=lambda hit: (interval_of(hit.alignment), hit.order)):
            start, end = interval_of(hit.alignment)
            if group and start >= furthest:
                yield group
                group, furthest = [], 0
            group.append(hit)
            furthest = max(furthest, end)
        yield group


def _clusters_of(hits: list[Hit]) -> tuple[list[HitCluster], list[Hit]]:
    """Group hits of overlapping spans, given by falling evidence."""
    genes: list[list[Hit]] = []
    chimeras = []
    for hit in hits:
        near = [gene for gene in genes if share_a_gene(hit, gene[0])]
        if len(near) > 1 or joins_complete_genes(hit, hits):
            chimeras.append(hit)
        elif near:
            near[0].append(hit)
        else:
            genes.append([hit])
    return [HitCluster(tuple(gene)) for gene in genes], chimeras


def joins_complete_genes(hit: Hit, others: Sequence[Hit]) -> bool:
    """Return whether complete hits that lie apart beside each other explain more than one hit.

    They are the hits with disjoint spans that have most evidence together, of those that share a
    gene with the hit and have less evidence than it.
    """
    parts = [
        (*interval_of(other.alignment), other.evidence) for other in others
        if other is not hit and other.complete and other.evidence < hit.evidence
        and share_a_gene(hit, other)
    ]  # fmt: skip
    return best_disjoint(parts) > hit.evidence


def best_disjoint(parts: Iterable[tuple[int, int, float]]) -> float:
    """Return the largest sum of weights of intervals (start, end, weight) that do not overlap."""
    ordered = sorted(parts, key=lambda part: part[1])
    ends, best = [], [0.0]
    for start, end, weight in ordered:
        before = bisect_right(ends, start)
        best.append(max(best[-1], best[before] + weight))
        ends.append(end)
    return best[-1]
