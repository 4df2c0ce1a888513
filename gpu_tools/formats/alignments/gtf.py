"""Spliced alignments as transcripts in GTF."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_tools.errors import InputError
from gpu_tools.formats.exons.gff import feature_line
from gpu_tools.formats.files import open_output
from gpu_tools.model.results import SplicedAlignment

_CODON = 3


def write_gtf(path, alignments, bases, targets) -> None:
    """Write a ``transcript`` for each alignment, with ``exon`` parts in transcript order.

    A chain that translates also has ``CDS`` parts with frame, without the stop codon as GTF wants
    it, and ``start_codon`` and ``stop_codon`` where it has them.

    Raises
    ------
    InputError
        If a target's name holds a quotation mark, for which GTF has no escape.
    """
    with open_output(path) as stream:
        for number, alignment in enumerate(alignments, start=1):
            stream.writelines(_transcript(alignment, number))


def _transcript(alignment: SplicedAlignment, number: int) -> Iterator[str]:
    if '"' in alignment.target:
        raise InputError(
            f"the name {alignment.target!r} cannot stand in GTF", record=alignment.target,
            expected="a name without a quotation mark",
        )  # fmt: skip
    attributes = f'gene_id "gene{number}"; transcript_id "mRNA{number}"; '
    target = f'target_id "{alignment.target}"; '
    lowest, highest = min(s for s, _ in alignment.chain), max(e for _, e in alignment.chain)
    score = str(alignment.score)
    yield _line(alignment, "transcript", (lowest, highest), score, ".", attributes + target)
    for k, exon in enumerate(alignment.chain, start=1):
        yield _line(alignment, "exon", exon, ".", ".", f'{attributes}exon_number "{k}"; ')
    for feature, interval, frame in _coding(alignment):
        yield _line(alignment, feature, interval, ".", frame, attributes)


def _coding(alignment: SplicedAlignment) -> Iterator[tuple[str, tuple[int, int], int]]:
    """Yield features of a chain that translates; its outer codons lie in one exon each."""
    if not alignment.phases:
        return
    if alignment.start_codon:
        yield "start_codon", _head(alignment.chain[0], alignment.strand, _CODON), 0
    *inner, last = zip(alignment.chain, alignment.phases, strict=True)
    for exon, phase in inner:
        yield "CDS", exon, phase
    exon, phase = last
    coding = exon[1] - exon[0] - _CODON * alignment.stop_codon
    if coding:
        yield "CDS", _head(exon, alignment.strand, coding), phase
    if alignment.stop_codon:
        opposite = "-" if alignment.strand == "+" else "+"
        yield "stop_codon", _head(exon, opposite, _CODON), 0


def _head(interval: tuple[int, int], strand: str, length: int) -> tuple[int, int]:
    """Return the first nucleotides of an interval in a strand's direction."""
    start, end = interval
    return (start, start + length) if strand == "+" else (end - length, end)


def _line(alignment: SplicedAlignment, feature, interval, score, frame, attributes: str) -> str:
    return feature_line(
        alignment.base, feature, interval, attributes.rstrip(), alignment.strand, score, frame
    )
