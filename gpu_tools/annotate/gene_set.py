"""From hits to genes: clusters of hits, the structures that they support, and the gene set.

Evidence is a hit's score above the score that unrelated targets reach, in scales of Gumbel's law:
about the natural logarithm of 1 / E.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from gpu_tools.annotate.options import Alignment
from gpu_tools.model.acceptance import NO, Acceptance
from gpu_tools.model.evidence import SpliceEvidence
from gpu_tools.model.loci import interval_of
from gpu_tools.model.significance import Gumbel

Interval = tuple[int, int]
SHARED = 0.1
"""Part of the shorter coding sequence that hits of one gene share at least."""
COMPLETE = 0.9
"""Coverage of a cDNA, which has no start and stop codon, that counts as a complete gene."""
MOST_STRUCTURES = 40
"""Different structures of a gene that may be isoforms: those of the best hits."""
LEAST_ISOFORM = 0.9
"""Least evidence of an isoform, as a share of that of its target's best hit: hits with less are of
paralogues, whose exons may differ."""
OWN = 0.9
"""Identity from which on a target is the gene's own, and not a relative's."""


@dataclass(frozen=True)
class Hit:
    """A chain of a target that is credible."""

    target: int  # number of the target among all
    alignment: Alignment  # in its record's coordinates
    # scales by which the score is above the location of unrelated targets' law
    evidence: float = field(compare=False)
    # evidence as a share of that of the target's best hit in the genome
    share: float = field(default=1.0, compare=False)
    source: int = field(default=0, compare=False)  # number of the collection that the target is of

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
    def is_own(self) -> bool:
        """Whether the target is the gene's own: nearly identical to it, and not to another more."""
        return self.share == 1 and (self.alignment.identity or 0.0) >= OWN

    @property
    def form(self) -> tuple[Interval, ...]:
        """What makes a structure of a gene: exons that translate, introns of those that do not."""
        return self.exons if self.alignment.phases else self.introns

    @property
    def order(self) -> tuple:
        """Sort key: falling evidence, then a definite order."""
        own = self.alignment
        return -self.evidence, own.target, own.base, own.strand, own.chain


def hits_of(
    found: Iterable[tuple[int, Alignment]], laws: Sequence[Gumbel], sources: Sequence[int]
) -> list[Hit]:
    """Return hits of credible chains with their targets' numbers; laws and sources are by these."""
    pairs = [
        (number, own, (own.score - laws[number].location) / laws[number].scale)
        for number, own in found
    ]
    best: dict[int, float] = {}
    for number, _, evidence in pairs:
        best[number] = max(evidence, best.get(number, evidence))
    return [
        Hit(number, own, evidence, evidence / best[number], sources[number])
        for number, own, evidence in pairs
    ]


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
    """Group hits of overlapping spans, sorted by falling evidence."""
    genes: list[list[Hit]] = []
    chimeras = []
    for hit in hits:
        near = [gene for gene in genes if share_a_gene(hit, gene[0])]
        if len(near) > 1 or (not hit.is_own and joins_complete_genes(hit, hits)):
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


@dataclass(frozen=True)
class Structure:
    """A structure of a gene, and the targets that support it."""

    hit: Hit  # the hit that it is
    # numbers of the targets whose hits have the same form, the hit's own included
    supporters: tuple[int, ...]
    intron_support: tuple[int, ...]  # by intron, in transcript order: targets that have it


def quality(hit: Hit, having: Counter[Interval], hits: Sequence[Hit]) -> float:
    """Return how good a hit's structure is as that of a gene: evidence * coverage * (1 + a) / 2.

    a is the mean, over introns, of the share of targets with the intron among those whose exons
    reach across it; 1 without introns.
    """
    own = hit.alignment.coverage * hit.evidence
    agreement = [
        having[intron] / max(sum(_reaches(other, intron) for other in hits), having[intron])
        for intron in hit.introns
    ]
    return own * (1 + (sum(agreement) / len(agreement) if agreement else 1.0)) / 2


def _reaches(hit: Hit, intron: Interval) -> bool:
    exons = hit.exons
    return exons[0][0] < intron[0] and exons[-1][1] > intron[1]


def structures_of(
    cluster: HitCluster, isoforms: bool, gain: Callable[[Hit, Hit], float]
) -> list[Structure]:
    """Return the structures of a gene: the best hit's, and isoforms that have evidence.

    An isoform explains its own target better than each structure before does. Its target is the
    gene's own, or targets of two sources agree on each intron that it adds, and then it explains
    its target clearly better: exons of a distant relative are its own, or mistakes.
    """
    hits = cluster.hits
    having = Counter(intron for hit in hits for intron in set(hit.introns))
    ranked = sorted(hits, key=lambda hit: (-quality(hit, having, hits), hit.order))
    chosen, seen = [ranked[0]], {ranked[0].form}
    candidates = [hit for hit in ranked if hit.share >= LEAST_ISOFORM] if isoforms else []
    for hit in candidates:
        if hit.form in seen or len(seen) > MOST_STRUCTURES:
            continue
        known = {intron for other in chosen for intron in other.introns}
        if not hit.is_own and not _is_agreed({*hit.introns} - known, hit, hits):
            continue
        seen.add(hit.form)
        gains = [gain(hit, other) for other in chosen]
        if min(gains) > 0 if hit.is_own else min(gains) >= 1:
            chosen.append(hit)
    return [_structure(hit, hits, having) for hit in chosen]


def _is_agreed(introns: set[Interval], hit: Hit, hits: Sequence[Hit]) -> bool:
    """Return whether there are introns, and targets of another source have each of them."""
    others = {intron for one in hits if one.source != hit.source for intron in one.introns}
    return bool(introns) and introns <= others


def _structure(hit: Hit, hits: Sequence[Hit], having: Counter[Interval]) -> Structure:
    supporters = sorted({other.target for other in hits if other.form == hit.form})
    support = [having[intron] for intron in hit.introns]
    ordered = support if hit.alignment.strand == "+" else support[::-1]
    return Structure(hit, tuple(supporters), tuple(ordered))


@dataclass(frozen=True)
class AnnotatedTranscript:
    """A structure of a gene.

    Parameters
    ----------
    name : str
        The gene's name, a dot and a number from 1: 1 is the best one.
    alignment : SplicedAlignment or ProteinAlignment
        The hit whose chain the structure is.
    kind : {"protein", "cDNA"}
        Of the hit's target.
    targets : tuple of str
        The targets whose hits have the same introns.
    intron_support : tuple of int
        By intron, in transcript order: how many targets have it.
    junction_counts : tuple of int, optional
        By intron, in transcript order: how often it was seen, see `gpu_tools.SpliceEvidence`; None
        without junctions.
    """

    name: str
    alignment: Alignment
    kind: str
    targets: tuple[str, ...]
    intron_support: tuple[int, ...]
    junction_counts: tuple[int, ...] | None = None


@dataclass(frozen=True)
class AnnotatedGene:
    """A gene with its structures.

    Parameters
    ----------
    name : str
        ``RECORD:NUMBER``; numbers count from 1 along the record.
    record, strand : str
    start, end : int
        From the first to the last nucleotide of all structures, 0-based half-open.
    transcripts : tuple of AnnotatedTranscript
        The best one first.
    targets : tuple of str
        All targets that have a hit here, that of the most evidence first.
    """

    name: str
    record: str
    strand: str
    start: int
    end: int
    transcripts: tuple[AnnotatedTranscript, ...]
    targets: tuple[str, ...]


@dataclass(frozen=True)
class TargetResult:
    """The result of a target: its best hit and its gene.

    Parameters
    ----------
    name : str
    kind : {"protein", "cDNA"}
    length : int
        Residues or nucleotides.
    loci : int
        Number of its accepted hits.
    best : SplicedAlignment or ProteinAlignment or None
        Its best hit, an accepted one if there is any. Without one the best score that was reached,
        if any was; it has no chain then, unless its identity is too small.
    gene : str or None
        Name of the best hit's gene; None without an accepted hit, for one that joins two genes or
        is left out, and where no structure has enough confidence.
    accepted : {"yes", "part", "no"}
        Whether the best hit is accepted, or covers too little of the target.
    description : str
        What its FASTA header says behind the name.
    """

    name: str
    kind: str
    length: int
    loci: int
    best: Alignment | None
    gene: str | None
    accepted: str
    description: str = ""


@dataclass(frozen=True)
class GenomeAnnotation:
    """A gene set: the genes of a genome, and the result of each target.

    Parameters
    ----------
    genes : tuple of AnnotatedGene
        By record in the order of the genome, then position, then strand.
    targets : tuple of TargetResult
        In the order in which they were given.
    record_lengths : dict of str to int
        Nucleotides of each record, by name.
    chimeras : int
        Hits that join two genes; they are part of none.
    dropped : int
        Hits with frameshifts or stop codons inside that were left out.
    """

    genes: tuple[AnnotatedGene, ...]
    targets: tuple[TargetResult, ...]
    record_lengths: dict[str, int]
    chimeras: int
    dropped: int = 0


@dataclass(frozen=True)
class TargetNames:
    """Names, kinds, lengths and descriptions of all targets by number."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    lengths: tuple[int, ...]
    descriptions: tuple[str, ...]


def genes_of(
    clusters: Sequence[HitCluster],
    targets: TargetNames,
    record_lengths: dict[str, int],
    structures: Sequence[list[Structure]],
    evidence: SpliceEvidence | None = None,
) -> list[tuple[AnnotatedGene, HitCluster]]:
    """Return the genes of clusters, named in the order of the genome, and their clusters.

    A cluster without structures is no gene. Transcripts tell what evidence shows their introns.
    """
    order = {record: k for k, record in enumerate(record_lengths)}
    pairs = [pair for pair in zip(clusters, structures, strict=True) if pair[1]]
    found = sorted(pairs, key=lambda pair: _position(pair[1], order))
    counts: Counter[str] = Counter()
    genes = []
    for cluster, several in found:
        record = several[0].hit.alignment.base
        counts[record] += 1
        name = f"{record}:{counts[record]}"
        genes.append((_gene(name, cluster, several, targets, evidence), cluster))
    return genes


def _extent(structures: Sequence[Structure]) -> tuple[int, int]:
    spans = [interval_of(structure.hit.alignment) for structure in structures]
    return min(start for start, _ in spans), max(end for _, end in spans)


def _position(structures: Sequence[Structure], order: dict[str, int]) -> tuple:
    hit = structures[0].hit
    return order[hit.alignment.base], *_extent(structures), hit.alignment.strand, hit.order


def _gene(
    name: str, cluster: HitCluster, structures: Sequence[Structure], targets: TargetNames,
    evidence: SpliceEvidence | None,
) -> AnnotatedGene:  # fmt: skip
    best = structures[0].hit.alignment
    transcripts = tuple(
        AnnotatedTranscript(
            f"{name}.{k}", one.hit.alignment, targets.kinds[one.hit.target],
            tuple(targets.names[target] for target in one.supporters), one.intron_support,
            junction_counts_of(one.hit, evidence),
        )
        for k, one in enumerate(structures, start=1)
    )  # fmt: skip
    supporters = dict.fromkeys(targets.names[hit.target] for hit in cluster.hits)
    return AnnotatedGene(
        name, best.base, best.strand, *_extent(structures), transcripts, tuple(supporters)
    )


def junction_counts_of(hit: Hit, evidence: SpliceEvidence | None) -> tuple[int, ...] | None:
    """Return how often each intron was seen, in transcript order, None without junctions."""
    if evidence is None or not evidence.junctions:
        return None
    own = hit.alignment
    introns = hit.introns if own.strand == "+" else hit.introns[::-1]
    return evidence.counts_of(own.base, own.strand, introns)


def target_results(
    found: Sequence[tuple[int, Alignment]],
    hits: Sequence[Hit],
    genes: Sequence[tuple[AnnotatedGene, HitCluster]],
    targets: TargetNames,
    acceptance: Acceptance,
) -> list[TargetResult]:
    """Return what became of each target.

    `found` holds hits and other chains of each target, its best one first; `hits` are accepted.
    """
    gene_of = {hit: gene.name for gene, cluster in genes for hit in cluster.hits}
    best: dict[int, Alignment] = {}
    for number, alignment in [*((hit.target, hit.alignment) for hit in hits), *found]:
        best.setdefault(number, alignment)
    by_target = defaultdict(list)
    for hit in hits:
        by_target[hit.target].append(hit)
    return [
        TargetResult(
            name, kind, length, len(by_target[k]), best.get(k),
            gene_of.get(by_target[k][0]) if by_target[k] else None,
            acceptance.verdict(best[k]) if k in best else NO, targets.descriptions[k],
        )
        for k, (name, kind, length) in enumerate(
            zip(targets.names, targets.kinds, targets.lengths, strict=True)
        )
    ]  # fmt: skip
