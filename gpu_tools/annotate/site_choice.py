"""The introns of a gene set, by which site models are judged, and a pass that chooses one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpu_tools.annotate.api import annotate_genome
from gpu_tools.annotate.gene_set import GenomeAnnotation
from gpu_tools.annotate.genome import GenomeRecords
from gpu_tools.annotate.options import AnnotationOptions
from gpu_tools.annotate.targets import PROTEIN, TargetSet
from gpu_tools.sites.fit import (
    FoundSites,
    chosen_model,
    first_pass,
    found_sites,
    strand_with_introns,
)
from gpu_tools.sites.model import GeneSites


def sites_of(annotation: GenomeAnnotation, genome: GenomeRecords) -> FoundSites:
    """Return the sites of the introns of a gene set."""
    return found_sites(_introns_of(annotation, genome))


def _introns_of(annotation: GenomeAnnotation, genome: GenomeRecords) -> Iterator[tuple]:
    """Yield the strand around each gene, and its introns, in reading direction."""
    for gene in annotation.genes:
        chains = [transcript.alignment.chain for transcript in gene.transcripts]
        record, first = genome.sequence_at(gene.transcripts[0].alignment.base, min(chains[0])[0])
        own = [[(start - first, end - first) for start, end in chain] for chain in chains]
        yield strand_with_introns(record.codes, gene.strand, own)


def choose_sites(
    genome: GenomeRecords, targets: Sequence[TargetSet], options: AnnotationOptions,
    device: str = "auto", threads: int | None = None,
) -> tuple[GeneSites, str]:  # fmt: skip
    """Choose the shipped site model that fits the introns of some long targets best.

    Parameters
    ----------
    genome : GenomeRecords
    targets : sequence of TargetSet
        With the generic site model.
    options : AnnotationOptions
    device : str
    threads : int, optional

    Returns
    -------
    sites : GeneSites
        The generic model if there are too few introns.
    why : str
        The reason, for users.
    """
    some = [_longest(each) for each in targets]
    found = annotate_genome(
        genome, some, replace(options, isoforms=False), device=device, threads=threads
    )
    return chosen_model(sites_of(found, genome))


def _longest(targets: TargetSet) -> TargetSet:
    """Return the longest targets of a usual length, and further ones where these are few."""
    lengths = [len(one) for one in targets.sequences]
    chosen = first_pass(lengths, targets.kind == PROTEIN)
    sources = targets.sources_by_target
    return replace(
        targets, sequences=tuple(targets.sequences[k] for k in chosen),
        sources=tuple(sources[k] for k in chosen),
    )  # fmt: skip
