"""A gene set as GFF3."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_tools.annotate.gene_set import AnnotatedGene, AnnotatedTranscript, GenomeAnnotation
from gpu_tools.formats.alignments.gene_model import (
    alignment_attributes,
    part_lines,
    target_attribute,
)
from gpu_tools.formats.exons.gff import escape_attribute, escape_seqid, feature_line, gff3_head
from gpu_tools.formats.files import open_output
from gpu_tools.model.loci import interval_of


def write_gene_set(path, annotation: GenomeAnnotation) -> None:
    """Write ``gene``, ``mRNA`` and its parts of each gene.

    An ``mRNA`` has ``Target``, and as attributes identity, coverage and E-value of its alignment,
    ``target_reversed`` if that is of a cDNA's reverse complement, ``support``, the targets that
    have the same introns, and ``intron_support``, the targets that have each intron, in transcript
    order. Parts are those of
    `gpu_tools.formats.alignments.gene_model.write_gene_models`. IDs are those of the gene set, so
    they differ within a genome.

    Parameters
    ----------
    path : str or PathLike
    annotation : GenomeAnnotation

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    with open_output(path) as stream:
        stream.writelines(gff3_head(annotation.record_lengths))
        for gene in annotation.genes:
            stream.writelines(_gene_lines(gene))


def _gene_lines(gene: AnnotatedGene) -> Iterator[str]:
    name, best = _escaped(gene.name), gene.transcripts[0].alignment
    attributes = f"ID=gene:{name};Name={escape_attribute(best.target)};targets={len(gene.targets)}"
    seqid, interval = escape_seqid(gene.record), (gene.start, gene.end)
    yield feature_line(seqid, "gene", interval, attributes, gene.strand, best.score)
    for transcript in gene.transcripts:
        yield _transcript_line(transcript, seqid, f"gene:{name}")
        parts = part_lines(transcript.alignment, _escaped(transcript.name))
        yield from (f"{line}\n" for line in parts)


def _transcript_line(transcript: AnnotatedTranscript, seqid: str, gene: str) -> str:
    own = transcript.alignment
    target = escape_attribute(own.target)
    support = ",".join(map(str, transcript.intron_support))
    attributes = [
        f"ID=mRNA:{_escaped(transcript.name)}", f"Parent={gene}", f"Name={target}",
        target_attribute(own, own.target_start, own.target_end),
        *alignment_attributes(own), f"support={len(transcript.targets)}",
        *([f"intron_support={support}"] if support else []),
    ]  # fmt: skip
    text = ";".join(attributes)
    return feature_line(seqid, "mRNA", interval_of(own), text, own.strand, own.score)


def _escaped(name: str) -> str:
    """Return a name of the gene set, which begins with a record's, as IDs write it."""
    return escape_seqid(name)
