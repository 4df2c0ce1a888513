"""The result of an annotation: genes with transcripts, and what became of each target."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpu_tools.annotate.genes import Hit, HitCluster
from gpu_tools.annotate.options import Alignment
from gpu_tools.annotate.structures import Structure
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.loci import interval_of


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
    """

    name: str
    alignment: Alignment
    kind: str
    targets: tuple[str, ...]
    intron_support: tuple[int, ...]


@dataclass(frozen=True)
class AnnotatedGene:
    """A gene.

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
    """What became of a target.

    Parameters
    ----------
    name : str
    kind : {"protein", "cDNA"}
    length : int
        Residues or nucleotides.
    loci : int
        Number of its hits.
    best : SplicedAlignment or ProteinAlignment or None
        Its best hit. Without one the best score that was reached, if any was; it has no chain
        then, unless identity or coverage are too small.
    gene : str or None
        Name of the best hit's gene; None without a hit, and for one that joins two genes.
    """

    name: str
    kind: str
    length: int
    loci: int
    best: Alignment | None
    gene: str | None


@dataclass(frozen=True)
class GenomeAnnotation:
    """A gene set.

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
    """

    genes: tuple[AnnotatedGene, ...]
    targets: tuple[TargetResult, ...]
    record_lengths: dict[str, int]
    chimeras: int


@dataclass(frozen=True)
class TargetNames:
    """Names, kinds and lengths of all targets by number."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    lengths: tuple[int, ...]


def gene_set(
    clusters: Sequence[HitCluster],
    targets: TargetNames,
    record_lengths: dict[str, int],
    choose: Callable[[HitCluster], list[Structure]],
    threads: int,
) -> list[tuple[AnnotatedGene, HitCluster]]:
    """Return the genes of clusters in their order, named, with structures by `choose`."""
    order = {record: k for k, record in enumerate(record_lengths)}
    structures = map_on_threads(threads, choose, clusters)
    found = sorted(
        zip(clusters, structures, strict=True), key=lambda pair: _place(pair[1], order)
    )  # fmt: skip
    counts: Counter[str] = Counter()
    genes = []
    for cluster, several in found:
        record = several[0].hit.alignment.base
        counts[record] += 1
        genes.append((_gene(f"{record}:{counts[record]}", cluster, several, targets), cluster))
    return genes


def _extent(structures: Sequence[Structure]) -> tuple[int, int]:
    spans = [interval_of(structure.hit.alignment) for structure in structures]
    return min(start for start, _ in spans), max(end for _, end in spans)


def _place(structures: Sequence[Structure], order: dict[str, int]) -> tuple:
    hit = structures[0].hit
    return order[hit.alignment.base], *_extent(structures), hit.alignment.strand, hit.order


def _gene(
    name: str, cluster: HitCluster, structures: Sequence[Structure], targets: TargetNames
) -> AnnotatedGene:
    best = structures[0].hit.alignment
    transcripts = tuple(
        AnnotatedTranscript(
            f"{name}.{k}", one.hit.alignment, targets.kinds[one.hit.target],
            tuple(targets.names[target] for target in one.supporters), one.intron_support,
        )
        for k, one in enumerate(structures, start=1)
    )  # fmt: skip
    supporters = dict.fromkeys(targets.names[hit.target] for hit in cluster.hits)
    return AnnotatedGene(
        name, best.base, best.strand, *_extent(structures), transcripts, tuple(supporters)
    )


def target_results(
    found: Sequence[tuple[int, Alignment]],
    hits: Sequence[Hit],
    genes: Sequence[tuple[AnnotatedGene, HitCluster]],
    targets: TargetNames,
) -> list[TargetResult]:
    """Return what became of each target.

    `found` holds hits and other chains of each target, its best one first.
    """
    gene_of = {hit: gene.name for gene, cluster in genes for hit in cluster.hits}
    best: dict[int, Alignment] = {}
    for number, alignment in found:
        best.setdefault(number, alignment)
    by_target = defaultdict(list)
    for hit in hits:
        by_target[hit.target].append(hit)
    return [
        TargetResult(
            name, kind, length, len(by_target[k]), best.get(k),
            gene_of.get(by_target[k][0]) if by_target[k] else None,
        )
        for k, (name, kind, length) in enumerate(
            zip(targets.names, targets.kinds, targets.lengths, strict=True)
        )
    ]  # fmt: skip
