"""The introns of a gene set, by which site models are judged, and a first pass that chooses one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from gpu_tools.annotate.api import annotate_genome
from gpu_tools.annotate.gene_set import GenomeAnnotation
from gpu_tools.annotate.genome import GenomeRecords
from gpu_tools.annotate.options import AnnotationOptions
from gpu_tools.annotate.targets import TargetSet
from gpu_tools.model.sequences import reverse_complement
from gpu_tools.sites.fit import FoundSites, chosen_model, found_sites
from gpu_tools.sites.model import GeneSites

FIRST_PASS = 50
"""Targets of each kind that the first pass aligns."""
USUAL_TARGET = {"protein": 1000, "cDNA": 3000}
"""Symbols of a target; longer ones take long, and are tried only where there are few others."""
REACH = 1000
"""Nucleotides on both sides of a gene that show what is chance there."""


def sites_of(annotation: GenomeAnnotation, genome: GenomeRecords) -> FoundSites:
    """Return the sites of the introns of a gene set."""
    return found_sites(_introns_of(annotation, genome))


def _introns_of(annotation: GenomeAnnotation, genome: GenomeRecords) -> Iterator[tuple]:
    """Yield the strand of each gene and its introns, each once, in reading direction."""
    for gene in annotation.genes:
        chains = [sorted(transcript.alignment.chain) for transcript in gene.transcripts]
        record, first = genome.sequence_at(gene.transcripts[0].alignment.base, chains[0][0][0])
        low = max(min(chain[0][0] for chain in chains) - first - REACH, 0)
        high = max(chain[-1][1] for chain in chains) - first + REACH
        codes = record.codes[low:high]
        introns = {
            (a[1] - first - low, b[0] - first - low) for chain in chains for a, b in pairwise(chain)
        }
        if gene.strand == "-":
            codes = reverse_complement(codes)
            introns = {(len(codes) - end, len(codes) - start) for start, end in introns}
        yield np.ascontiguousarray(codes), sorted(introns)


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
    most, lengths = USUAL_TARGET[targets.kind], [len(one) for one in targets.sequences]

    def order(k: int) -> tuple[bool, int]:
        return lengths[k] > most, lengths[k] if lengths[k] > most else -lengths[k]

    chosen = sorted(sorted(range(len(lengths)), key=order)[:FIRST_PASS])
    sources = targets.sources_by_target
    return replace(
        targets, sequences=tuple(targets.sequences[k] for k in chosen),
        sources=tuple(sources[k] for k in chosen),
    )  # fmt: skip
