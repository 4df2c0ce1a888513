"""Spliced alignments as gene models in GFF3."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import unquote

from gpu_tools.formats.alignments.genes import LocusGene, Transcript, genes_of
from gpu_tools.formats.alignments.proteins import exon_targets, model_attributes
from gpu_tools.formats.alignments.walk import AlignedExon, aligned_exons, outer_codons
from gpu_tools.formats.exons.collect import format_number
from gpu_tools.formats.exons.gff import (
    Feature,
    escape_attribute,
    escape_seqid,
    feature_line,
    gff3_head,
)
from gpu_tools.formats.files import open_output
from gpu_tools.model.protein_alignment import ProteinAlignment
from gpu_tools.model.results import SplicedAlignment

_SCORE = re.compile(r"-?\d+")
_PARENT_GENE = re.compile(r";Parent=gene:[^;]*$")


def write_gene_models(path, alignments, bases, targets) -> None:
    """Write a ``gene`` for each locus, with an ``mRNA`` for each alignment and its ``exon`` parts.

    Parts go from low to high positions; exons are numbered in transcript order. An exon of which
    the target has no symbol carries no ``Target``. A chain that translates also has ``CDS`` parts
    with phase, the stop codon included, and its ``start_codon`` and ``stop_codon``. IDs are made of
    the names of target and base, the interval, and a checksum of the alignment, so that they also
    differ between files. Equal alignments are written once. A protein's model also has the
    attributes of `gpu_tools.formats.alignments.proteins.model_attributes`.
    """
    with open_output(path) as stream:
        stream.writelines(gff3_head(bases))
        stream.writelines(gene_lines(map(_Model.of, alignments)))


@dataclass(frozen=True)
class _Model:
    """An mRNA of a GFF3 file: its line without the gene, and the lines of its parts."""

    transcript: Transcript
    line: str
    parts: tuple[str, ...]

    @classmethod
    def of(cls, alignment: SplicedAlignment) -> _Model:
        transcript = Transcript.of(alignment)
        return cls(transcript, _mrna_line(alignment, transcript.name),
                   tuple(part_lines(alignment, transcript.name)))  # fmt: skip


def read_models(features: Iterable[Feature]) -> Iterator[_Model]:
    """Yield the gene models of features that `write_gene_models` wrote, for `gene_lines`.

    Raises
    ------
    InputError
        For a feature that is not of such a file.
    """
    lines: list[Feature] = []
    for feature in features:
        if feature.type in ("gene", "mRNA") and lines:
            yield _model_of(lines)
            lines = []
        if feature.type != "gene":
            lines.append(feature)
    if lines:
        yield _model_of(lines)


def _model_of(lines: Sequence[Feature]) -> _Model:
    head, *parts = lines
    name, target = head.attribute("ID"), head.attribute("Name")
    exons = tuple(part.interval for part in parts if part.type == "exon")
    if not (head.type == "mRNA" and name and target and exons and _SCORE.fullmatch(head.score)):
        raise head.location.error(
            f"a feature {head.type} that is not of a gene model", "a file that spliced-align wrote"
        )
    transcript = Transcript(
        name.removeprefix("mRNA:"), unquote(head.seqid), head.strand, unquote(target),
        int(head.score), exons,
    )  # fmt: skip
    line = _PARENT_GENE.sub("", head.line)
    return _Model(transcript, line, tuple(part.line for part in parts))


def gene_lines(models: Iterable[_Model]) -> Iterator[str]:
    """Yield lines of GFF3: each gene, and its models in their order; of equal models the first."""
    distinct: dict[str, _Model] = {}
    for model in models:
        distinct.setdefault(model.transcript.name, model)
    for gene in genes_of([model.transcript for model in distinct.values()]):
        yield _gene_line(gene)
        for isoform in gene.isoforms:
            model = distinct[isoform.name]
            yield f"{model.line};Parent=gene:{gene.name}\n"
            yield from (f"{line}\n" for line in model.parts)


def _gene_line(gene: LocusGene) -> str:
    best = gene.best
    attributes = f"ID=gene:{gene.name};Name={escape_attribute(best.target)}"
    seqid = escape_seqid(best.base)
    return feature_line(seqid, "gene", gene.interval, attributes, best.strand)


def _mrna_line(alignment: SplicedAlignment, name: str) -> str:
    target = escape_attribute(alignment.target)
    attributes = [f"ID=mRNA:{name}", f"Name={target}", *alignment_attributes(alignment)]
    interval = min(s for s, _ in alignment.chain), max(e for _, e in alignment.chain)
    return _line(alignment, "mRNA", interval, str(alignment.score), attributes)


def alignment_attributes(alignment: SplicedAlignment | ProteinAlignment) -> Iterator[str]:
    """Yield what the attributes of an mRNA say of its alignment."""
    if isinstance(alignment, ProteinAlignment):
        yield from model_attributes(alignment)
    else:
        yield f"identity={alignment.identity:.4f}"
        yield f"coverage={alignment.coverage:.4f}"
        if alignment.target_reversed:
            yield "target_reversed=true"
    if alignment.evalue is not None:
        yield f"evalue={alignment.evalue:.1e}"


def target_attribute(
    alignment: SplicedAlignment | ProteinAlignment, start: int, end: int
) -> str:  # fmt: skip
    """Return the attribute that names symbols of the target, 0-based half-open as aligned.

    Of a cDNA that is aligned as its reverse complement they are those of the cDNA, with ``-``.
    """
    name, strand = escape_attribute(alignment.target), ""
    if isinstance(alignment, SplicedAlignment) and alignment.target_reversed:
        length = alignment.target_length
        start, end, strand = length - end, length - start, " -"
    return f"Target={name} {start + 1} {end}{strand}"


def part_lines(alignment: SplicedAlignment | ProteinAlignment, name: str) -> list[str]:
    """Return the lines of an mRNA's parts, without line ends, from low to high positions."""
    coding = partial(_coding_line, alignment, name)
    exons = [_exon_line(alignment, e, k, name) for k, e in enumerate(_exons_of(alignment), 1)]
    segments = zip(alignment.chain, alignment.phases, strict=False)
    lines = [*exons, *(coding("CDS", exon, phase) for exon, phase in segments)]
    lines += [coding(codon, interval, 0) for codon, interval in outer_codons(alignment)]
    return lines[::-1] if alignment.strand == "-" else lines


def _exons_of(alignment: SplicedAlignment | ProteinAlignment) -> list[AlignedExon]:
    if isinstance(alignment, ProteinAlignment):
        parts = zip(alignment.chain, exon_targets(alignment), strict=True)
        return [AlignedExon(interval, residues, ()) for interval, residues in parts]
    return aligned_exons(alignment)


def _exon_line(alignment: SplicedAlignment, exon: AlignedExon, k: int, name: str) -> str:
    scores = alignment.exon_scores
    attributes = [f"ID=exon:{name}:{k}", f"Parent=mRNA:{name}"]
    start, end = exon.target
    if start < end:
        attributes.append(target_attribute(alignment, start, end))
    score = format_number(scores[k - 1]) if scores else "."
    return _line(alignment, "exon", exon.interval, score, attributes)


def _coding_line(alignment: SplicedAlignment, name: str, feature: str, interval, phase) -> str:
    attributes = [f"ID={feature}:{name}", f"Parent=mRNA:{name}"]
    return _line(alignment, feature, interval, ".", attributes, phase)


def _line(alignment, feature, interval, score, attributes, phase=".") -> str:
    seqid = escape_seqid(alignment.base)
    return feature_line(
        seqid, feature, interval, ";".join(attributes), alignment.strand, score, phase
    ).rstrip("\n")
