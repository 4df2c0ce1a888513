"""Spliced alignments as transcripts in GTF."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_tools.errors import InputError
from gpu_tools.formats.alignments.genes import Transcript, genes_of
from gpu_tools.formats.alignments.walk import CODON, first_nucleotides, outer_codons
from gpu_tools.formats.exons.gff import feature_line
from gpu_tools.formats.files import open_output
from gpu_tools.model.protein_alignment import ProteinAlignment
from gpu_tools.model.results import SplicedAlignment


def write_gtf(path, alignments, bases, targets) -> None:
    """Write a ``transcript`` for each alignment, with ``exon`` parts in transcript order.

    ``gene_id`` and ``transcript_id`` are the IDs of ``gene`` and ``mRNA`` in GFF3; isoforms share
    the first. A chain that translates also has ``CDS`` parts with frame, without the stop codon as
    GTF wants it, and ``start_codon`` and ``stop_codon`` where it has them.

    Raises
    ------
    InputError
        If a target's name holds a quotation mark, for which GTF has no escape.
    """
    with open_output(path) as stream:
        stream.writelines(_transcripts(alignments))


def check_gtf_name(target: str) -> None:
    """Raise `InputError` for a target's name that cannot stand in GTF."""
    if '"' in target:
        raise InputError(
            "the name cannot stand in GTF", record=target,
            expected="a name without a quotation mark",
        )  # fmt: skip


def _transcripts(alignments: Iterable[SplicedAlignment]) -> Iterator[str]:
    distinct: dict[Transcript, SplicedAlignment] = {}
    for alignment in alignments:
        distinct.setdefault(Transcript.of(alignment), alignment)
    for gene in genes_of(list(distinct)):
        for isoform in gene.isoforms:
            ids = f'gene_id "gene:{gene.name}"; transcript_id "mRNA:{isoform.name}"; '
            yield from transcript_lines(distinct[isoform], ids)


def transcript_lines(alignment: SplicedAlignment | ProteinAlignment, ids: str) -> Iterator[str]:
    """Yield the lines of a transcript; `ids` are the attributes of all of them."""
    check_gtf_name(alignment.target)
    target = f'target_id "{alignment.target}"; '
    lowest, highest = min(s for s, _ in alignment.chain), max(e for _, e in alignment.chain)
    score = str(alignment.score)
    yield _line(alignment, "transcript", (lowest, highest), score, ".", ids + target)
    for k, exon in enumerate(alignment.chain, start=1):
        yield _line(alignment, "exon", exon, ".", ".", f'{ids}exon_number "{k}"; ')
    for feature, interval, frame in _coding(alignment):
        yield _line(alignment, feature, interval, ".", frame, ids)


def _coding(alignment: SplicedAlignment) -> Iterator[tuple[str, tuple[int, int], int]]:
    """Yield features of a chain that translates."""
    if not alignment.phases:
        return
    codons = [(feature, interval, 0) for feature, interval in outer_codons(alignment)]
    yield from codons[: alignment.start_codon]
    *inner, (exon, phase) = zip(alignment.chain, alignment.phases, strict=True)
    yield from (("CDS", *part) for part in inner)
    coding = exon[1] - exon[0] - CODON * alignment.stop_codon
    if coding:
        yield "CDS", first_nucleotides(exon, alignment.strand, coding), phase
    yield from codons[alignment.start_codon :]


def _line(alignment: SplicedAlignment, feature, interval, score, frame, attributes: str) -> str:
    return feature_line(
        alignment.base, feature, interval, attributes.rstrip(), alignment.strand, score, frame
    )
