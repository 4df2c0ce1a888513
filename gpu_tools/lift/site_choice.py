"""The shipped site model that fits the introns of an annotation."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_tools.model.genes import ReferenceGene
from gpu_tools.model.sequences import Sequence
from gpu_tools.sites.fit import chosen_model, found_sites, strand_with_introns
from gpu_tools.sites.model import GeneSites

_MOST_LOOKED_AT = 1000
"""Genes whose introns tell the model."""


def model_of_annotation(
    genes: Iterable[ReferenceGene], reference: Iterable[Sequence]
) -> tuple[GeneSites, str]:
    """Return the shipped model that fits the introns of some genes best, and why."""
    records = {record.name: record.codes for record in reference}
    spliced = [gene for gene in genes if any(len(one.exons) > 1 for one in gene.transcripts)]
    some = spliced[:: len(spliced) // _MOST_LOOKED_AT + 1]
    found = found_sites(
        strand_with_introns(
            records[gene.record], gene.strand, [one.exons for one in gene.transcripts]
        )
        for gene in some
    )
    return chosen_model(found, "the annotation", "has")
