"""Spliced alignments as gene models in GFF3."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_tools.formats.alignments.walk import AlignedExon, aligned_exons
from gpu_tools.formats.exons.collect import format_number
from gpu_tools.formats.exons.gff import (
    escape_attribute,
    escape_seqid,
    feature_line,
    gff3_head,
)
from gpu_tools.formats.files import open_output
from gpu_tools.model.results import SplicedAlignment


def write_gene_models(path, alignments, bases, targets) -> None:
    """Write an ``mRNA`` for each alignment, with ``exon`` parts from low to high positions.

    IDs number the alignments, and the exons in transcript order. An exon of which the target
    has no symbol carries no ``Target``. A chain that translates also has ``CDS`` parts with phase.
    """
    with open_output(path) as stream:
        stream.writelines(gff3_head(bases))
        for number, alignment in enumerate(alignments, start=1):
            stream.writelines(_model(alignment, f"mRNA{number}"))


def _model(alignment: SplicedAlignment, identifier: str) -> Iterator[str]:
    exons = aligned_exons(alignment)
    lowest, highest = min(e.interval[0] for e in exons), max(e.interval[1] for e in exons)
    name = escape_attribute(alignment.target)
    attributes = [f"ID={identifier}", f"Name={name}", f"identity={alignment.identity:.4f}"]
    attributes += _credibility(alignment)
    yield _line(alignment, "mRNA", (lowest, highest), str(alignment.score), attributes)
    parts = [_exon_line(alignment, exon, k, identifier) for k, exon in enumerate(exons, start=1)]
    parts += [_coding_line(alignment, k, identifier) for k in range(len(alignment.phases))]
    yield from parts[::-1] if alignment.strand == "-" else parts


def _credibility(alignment: SplicedAlignment) -> Iterator[str]:
    yield f"coverage={alignment.coverage:.4f}"
    if alignment.evalue is not None:
        yield f"evalue={alignment.evalue:.1e}"


def _exon_line(alignment: SplicedAlignment, exon: AlignedExon, k: int, parent: str) -> str:
    scores = alignment.exon_scores
    attributes = [f"ID={parent}.exon{k}", f"Parent={parent}"]
    start, end = exon.target
    if start < end:
        attributes.append(f"Target={escape_attribute(alignment.target)} {start + 1} {end}")
    score = format_number(scores[k - 1]) if scores else "."
    return _line(alignment, "exon", exon.interval, score, attributes)


def _coding_line(alignment: SplicedAlignment, k: int, parent: str) -> str:
    attributes = [f"ID={parent}.CDS", f"Parent={parent}"]
    return _line(alignment, "CDS", alignment.chain[k], ".", attributes, alignment.phases[k])


def _line(alignment, feature, interval, score, attributes, phase=".") -> str:
    seqid = escape_seqid(alignment.base)
    return feature_line(
        seqid, feature, interval, ";".join(attributes), alignment.strand, score, phase
    )
