"""A gene set as GTF."""

from __future__ import annotations

from gpu_tools.annotate.gene_set import GenomeAnnotation
from gpu_tools.formats.alignments.gene_model import transcript_lines
from gpu_tools.formats.exons.gff import escape_seqid
from gpu_tools.formats.files import open_output


def write_gene_set(path, annotation: GenomeAnnotation) -> None:
    """Write a ``transcript`` and its parts for each mRNA; those of one gene share ``gene_id``.

    IDs are those of the gene set in GFF3, lines those of
    `gpu_tools.formats.alignments.gene_model.write_gtf`.
    """
    with open_output(path) as stream:
        for gene in annotation.genes:
            for transcript in gene.transcripts:
                names = escape_seqid(gene.name), escape_seqid(transcript.name)
                ids = 'gene_id "gene:{}"; transcript_id "mRNA:{}"; '.format(*names)
                stream.writelines(transcript_lines(transcript.alignment, ids))
