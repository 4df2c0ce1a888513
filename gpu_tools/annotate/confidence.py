"""Confidence of the structures of a gene set."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from gpu_tools.annotate.gene_set import Structure
from gpu_tools.annotate.genome import GenomeRecords
from gpu_tools.annotate.options import Alignment
from gpu_tools.annotate.targets import TargetSet
from gpu_tools.sites.api import FLANK
from gpu_tools.sites.confidence import with_confidence

_SITE_COLUMNS = 100
"""Nucleotides beside a locus that the matrices of its sites reach."""


def with_confidences(
    genes: Sequence[list[Structure]], genome: GenomeRecords, targets: Sequence[TargetSet],
    device: str, threads: int,
) -> list[list[Structure]]:  # fmt: skip
    """Return the structures of genes with the confidences of their introns and exons."""
    owners = [(some, k) for some in targets for k in range(len(some.sequences))]
    of_set = defaultdict(list)
    for place in ((g, k) for g, several in enumerate(genes) for k in range(len(several))):
        own, number = owners[genes[place[0]][place[1]].hit.target]
        of_set[id(own)].append((own, number, place))
    found = [list(several) for several in genes]
    for questions in of_set.values():
        own = questions[0][0]
        hits = [genes[g][k].hit for _, _, (g, k) in questions]
        pairs = [_case(own, n, hit.alignment, genome)
                 for (_, n, _), hit in zip(questions, hits, strict=True)]  # fmt: skip
        judged = with_confidence(*zip(*pairs, strict=True), own.scoring, device=device,
                                 threads=threads)  # fmt: skip
        for (_, _, (g, k)), hit, one in zip(questions, hits, judged, strict=True):
            alignment = hit.alignment.changed(
                intron_confidences=one.intron_confidences, exon_confidences=one.exon_confidences
            )
            found[g][k] = replace(genes[g][k], hit=replace(hit, alignment=alignment))
    return found


def _case(own: TargetSet, number: int, alignment: Alignment, genome: GenomeRecords):
    """Return the case of a target at its chain's locus, and the alignment in its coordinates."""
    base, locus = genome.around(alignment, FLANK + _SITE_COLUMNS)
    turned = getattr(alignment, "target_reversed", False)
    target = (own.turned if turned else own).sequences[number]
    case = own.case(base, target, own.tables(base, alignment.strand))
    chain = tuple((start - locus.start, end - locus.start) for start, end in alignment.chain)
    return case, alignment.changed(chain=chain, base_length=len(base))


def of_confidence(several: Iterable[Structure], least: int) -> list[Structure]:
    """Return the structures of a gene whose introns all have so much confidence."""
    return [one for one in several if one.hit.alignment.min_confidence >= least]
