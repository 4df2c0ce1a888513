"""Spliced alignments as gene models: genes and their isoforms, in GFF3, GTF and BED12."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple
from urllib.parse import unquote

from gpu_tools.errors import InputError
from gpu_tools.formats.alignments import walk
from gpu_tools.formats.exons import gff
from gpu_tools.formats.files import open_output
from gpu_tools.formats.tables import bed_line
from gpu_tools.model.results import (
    ProteinAlignment,
    SplicedAlignment,
    faults_of,
)

Interval = tuple[int, int]
CutSides = tuple[bool, bool]
"""Whether a feature is cut off at its low and at its high side."""


class Transcript(NamedTuple):
    """What an alignment is as a transcript of a gene; exons are 0-based half-open, in any order.

    `content` is a text that differs for other alignments, and orders those of equal scores.
    """

    content: str
    base: str
    strand: str
    target: str
    score: int
    exons: tuple[Interval, ...]


class LocusGene(NamedTuple):
    """Transcripts that count as isoforms of one gene, in their order.

    `best` has the highest score, of equal ones the first content; the interval is from the first to
    the last nucleotide of all exons.
    """

    best: Transcript
    interval: Interval
    isoforms: tuple[Transcript, ...]


def genes_of(transcripts: Sequence[Transcript]) -> list[LocusGene]:
    """Group transcripts into genes.

    Two transcripts of one base and strand that share a nucleotide of an exon are isoforms of one
    gene; so are the isoforms of isoforms.
    """
    isoforms = defaultdict(list)
    for transcript, first in zip(transcripts, _first_isoforms(transcripts), strict=True):
        isoforms[first].append(transcript)
    return [_gene(several) for several in isoforms.values()]


def _gene(isoforms: list[Transcript]) -> LocusGene:
    best = min(isoforms, key=lambda transcript: (-transcript.score, transcript.content))
    interval = walk.extent([exon for transcript in isoforms for exon in transcript.exons])
    return LocusGene(best, interval, tuple(isoforms))


class _Numbers:
    """Names of genes or transcripts of a file: those of their targets, and a number."""

    def __init__(self):
        self._last: Counter[str] = Counter()

    def name(self, target: str) -> str:
        """Return a name that none before had, as IDs have it."""
        self._last[target] += 1
        return f"{gff.escape_seqid(target)}.{self._last[target]}"


def _first_isoforms(transcripts: Sequence[Transcript]) -> list[int]:
    """Return for each transcript the number of the first one of its gene."""
    earlier = list(range(len(transcripts)))

    def first(number: int) -> int:
        while earlier[number] != number:
            earlier[number] = number = earlier[earlier[number]]
        return number

    for one, other in _sharing(transcripts):
        low, high = sorted((first(one), first(other)))
        earlier[high] = low
    return [first(number) for number in range(len(transcripts))]


def _sharing(transcripts: Sequence[Transcript]) -> Iterator[tuple[int, int]]:
    """Yield pairs that share a nucleotide, enough to connect all that do."""
    exons = sorted(
        (t.base, t.strand, *exon, number)
        for number, t in enumerate(transcripts) for exon in t.exons
    )  # fmt: skip
    place, furthest, longest = None, 0, 0
    for base, strand, start, end, number in exons:
        if (base, strand) == place and start < furthest:
            yield longest, number
        else:
            place, furthest = (base, strand), start
        if end > furthest:
            furthest, longest = end, number


# GFF3.


_SCORE = re.compile(r"-?\d+")
_RANGES = "start_range", "end_range"
GENES, TRANSCRIPTS = ("gene", "pseudogene"), ("mRNA", "pseudogenic_transcript")
"""Types in GFF3 of what is whole, and of what is decayed."""
_MRNA_NAME = "\0"
_DECAYED = 2
"""Frameshifts and stop codons inside from which on a structure is that of a pseudogene."""
_PARENT_GENE = re.compile(r";Parent=gene:[^;]*$")


def write_gene_models(path, alignments, bases, targets) -> None:
    """Write a ``gene`` for each locus, with an ``mRNA`` for each alignment and its ``exon`` parts.

    Parts go from low to high positions; exons are numbered in transcript order. An exon of which
    the target has no symbol carries no ``Target``. A chain that translates also has ``CDS`` parts
    with phase, the stop codon included, and its ``start_codon`` and ``stop_codon``. IDs have the
    name of the target and a number, and differ within the file. Equal alignments are written once.
    `alignment_attributes` has the attributes of an mRNA. What a gap or the record's end cuts off
    has ``partial=true`` and ``start_range=.,START`` or ``end_range=END,.``, as in NCBI's files.
    With several frameshifts or stop codons inside an mRNA is a ``pseudogenic_transcript``, and a
    gene of such ones alone a ``pseudogene``.
    """
    with open_output(path) as stream:
        stream.writelines(gff.gff3_head(bases))
        stream.writelines(gene_lines(map(_Model.of, alignments)))


@dataclass(frozen=True)
class _Model:
    """An mRNA of a GFF3 file: its line without the gene, and the lines of its parts.

    Where its name belongs in them stands `_MRNA_NAME`.
    """

    transcript: Transcript
    line: str
    parts: tuple[str, ...]
    cut: CutSides = (False, False)
    is_pseudo: bool = False

    @classmethod
    def of(cls, alignment: SplicedAlignment) -> _Model:
        target = gff.escape_attribute(alignment.target)
        attributes = [f"ID=mRNA:{_MRNA_NAME}", f"Name={target}"]
        if (aligned := (alignment.target_start, alignment.target_end))[0] < aligned[1]:
            attributes.append(target_attribute(alignment, *aligned))
        attributes += alignment_attributes(alignment)
        interval, score = walk.extent(alignment.chain), str(alignment.score)
        cut = cut_sides(alignment)
        attributes += partial_attributes(interval, cut)
        line = _line(alignment, transcript_type(alignment), interval, score, attributes)
        parts = tuple(part_lines(alignment, _MRNA_NAME))
        transcript = Transcript(
            "\n".join((line, *parts)), alignment.base, alignment.strand, alignment.target,
            alignment.score, alignment.chain,
        )  # fmt: skip
        return cls(transcript, line, parts, cut, is_pseudo(alignment))


def read_models(features: Iterable[gff.Feature]) -> Iterator[_Model]:
    """Yield the gene models of features that `write_gene_models` wrote, for `gene_lines`."""
    lines: list[gff.Feature] = []
    for feature in features:
        is_gene = feature.type in GENES
        if (is_gene or feature.type in TRANSCRIPTS) and lines:
            yield _model_of(lines)
            lines = []
        if not is_gene:
            lines.append(feature)
    if lines:
        yield _model_of(lines)


def _model_of(lines: Sequence[gff.Feature]) -> _Model:
    head, *parts = lines
    name, target = head.attribute("ID"), head.attribute("Name")
    exons = tuple(part.interval for part in parts if part.type == "exon")
    if not (
        head.type in TRANSCRIPTS and name and target and exons and _SCORE.fullmatch(head.score)
    ):
        raise head.location.error(
            f"a feature {head.type} that is not of a gene model", "a file that spliced-align wrote"
        )
    own = re.compile(
        rf"\b((?:ID=\w+|Parent=mRNA):){re.escape(name.removeprefix('mRNA:'))}(?=[:;]|$)"
    )
    line = own.sub(rf"\1{_MRNA_NAME}", _PARENT_GENE.sub("", head.line))
    texts = tuple(own.sub(rf"\1{_MRNA_NAME}", part.line) for part in parts)
    transcript = Transcript(
        "\n".join((line, *texts)), unquote(head.seqid), head.strand, unquote(target),
        int(head.score), exons,
    )  # fmt: skip
    cut = tuple(head.attribute(side) is not None for side in _RANGES)
    return _Model(transcript, line, texts, cut, head.type == TRANSCRIPTS[1])


def gene_lines(models: Iterable[_Model]) -> Iterator[str]:
    """Yield lines of GFF3: each gene, and its models in their order; of equal models the first."""
    distinct: dict[str, _Model] = {}
    for model in models:
        distinct.setdefault(model.transcript.content, model)
    genes, mrnas = _Numbers(), _Numbers()
    for gene in genes_of([model.transcript for model in distinct.values()]):
        best, seqid = gene.best, gff.escape_seqid(gene.best.base)
        models, gene_name = (
            [distinct[one.content] for one in gene.isoforms],
            genes.name(best.target),
        )
        cut = joint_cut(gene.interval, ((walk.extent(m.transcript.exons), m.cut) for m in models))
        attributes = [f"ID=gene:{gene_name}", f"Name={gff.escape_attribute(best.target)}"]
        text = ";".join([*attributes, *partial_attributes(gene.interval, cut)])
        kind = gene_type(model.is_pseudo for model in models)
        yield gff.feature_line(seqid, kind, gene.interval, text, best.strand)
        for model in models:
            name = mrnas.name(model.transcript.target)
            yield f"{model.line.replace(_MRNA_NAME, name)};Parent=gene:{gene_name}\n"
            yield from (f"{line.replace(_MRNA_NAME, name)}\n" for line in model.parts)


def alignment_attributes(alignment: SplicedAlignment | ProteinAlignment) -> Iterator[str]:
    """Yield what the attributes of an mRNA say of its alignment."""
    yield f"identity={alignment.identity:.4f}"
    if isinstance(alignment, ProteinAlignment):
        yield f"positive={alignment.positives / max(alignment.columns, 1):.4f}"
    yield f"coverage={alignment.coverage:.4f}"
    if isinstance(alignment, ProteinAlignment):
        counts = {"frameshift": alignment.frameshifts, "in_frame_stop": alignment.inner_stops}
        yield from (f"{name}={count}" for name, count in counts.items() if count)
    elif alignment.target_reversed:
        yield "target_reversed=true"
    if alignment.evalue is not None:
        yield f"evalue={alignment.evalue:.1e}"
    if alignment.rank is not None:
        yield f"rank={alignment.rank}"
    if alignment.intron_confidences:
        yield f"intron_confidence={','.join(map(str, alignment.intron_confidences))}"


def is_pseudo(alignment: SplicedAlignment | ProteinAlignment) -> bool:
    """Return whether a structure has so many frameshifts and stop codons that it is decayed.

    A single one is more often an error of the assembly.
    """
    return faults_of(alignment) >= _DECAYED


def transcript_type(alignment: SplicedAlignment | ProteinAlignment) -> str:
    """Return the type of a transcript in GFF3."""
    return TRANSCRIPTS[is_pseudo(alignment)]


def gene_type(pseudo: Iterable[bool]) -> str:
    """Return the type of a gene in GFF3, by whether each of its transcripts is decayed."""
    return GENES[all(pseudo)]


def cut_sides(alignment: SplicedAlignment | ProteinAlignment) -> CutSides:
    """Return whether a gap or the record's end cuts a gene off at its low and its high side."""
    begin, end = (symbols > 0 for symbols in alignment.beyond)
    return (begin, end) if alignment.strand == "+" else (end, begin)


def joint_cut(interval: Interval, parts: Iterable[tuple[Interval, CutSides]]) -> CutSides:
    """Return the sides of an interval at which the parts that reach there are cut off."""
    parts = list(parts)
    low, high = (
        any(part[side] == interval[side] and cut[side] for part, cut in parts) for side in (0, 1)
    )
    return low, high


def partial_attributes(interval: Interval, cut: CutSides) -> list[str]:
    """Return the attributes by which NCBI's files tell that a feature is cut off."""
    start, end = interval
    texts = (f".,{start + 1}", f"{end},.")
    ranges = [f"{name}={text}" for name, text, is_cut in zip(_RANGES, texts, cut, strict=True)
              if is_cut]  # fmt: skip
    return ["partial=true", *ranges] if ranges else []


def target_attribute(alignment: SplicedAlignment | ProteinAlignment, start: int, end: int) -> str:
    """Return the attribute that names symbols of the target, 0-based half-open as aligned.

    Of a cDNA that is aligned as its reverse complement they are those of the cDNA, with ``-``.
    """
    name, strand = gff.escape_attribute(alignment.target), ""
    if isinstance(alignment, SplicedAlignment) and alignment.target_reversed:
        length = alignment.target_length
        start, end, strand = length - end, length - start, " -"
    return f"Target={name} {start + 1} {end}{strand}"


def part_lines(alignment: SplicedAlignment | ProteinAlignment, name: str) -> list[str]:
    """Return the lines of an mRNA's parts, without line ends, from low to high positions."""
    coding = partial(_coding_line, alignment, name)
    exons = [_exon_line(alignment, e, k, name) for k, e in enumerate(_exons_of(alignment), 1)]
    segments = walk.coding_parts(alignment)
    lines = [*exons, *(coding("CDS", part, phase) for part, phase in segments)]
    lines += [coding(codon, interval, 0) for codon, interval in walk.outer_codons(alignment)]
    return lines[::-1] if alignment.strand == "-" else lines


def _exons_of(alignment: SplicedAlignment | ProteinAlignment) -> list[walk.AlignedExon]:
    if isinstance(alignment, ProteinAlignment):
        parts = zip(alignment.chain, _exon_residues(alignment), strict=True)
        return [walk.AlignedExon(interval, residues, ()) for interval, residues in parts]
    return walk.aligned_exons(alignment)


def _exon_residues(alignment: ProteinAlignment) -> list[tuple[int, int]]:
    """Return the residues aligned in each exon, 0-based half-open, in transcript order.

    The residue of a codon that an intron splits belongs to the exon behind it.
    """
    parts, at = [], alignment.target_start
    start = at
    for letter, length in alignment.cigar:
        if letter in "NUV":
            parts.append((start, at))
            start, at = at, at + (letter != "N")
        elif letter in "MI":
            at += length
        elif letter == "G":
            at += 1
    return [*parts, (start, at)]


def _exon_line(alignment: SplicedAlignment, exon: walk.AlignedExon, k: int, name: str) -> str:
    scores = alignment.exon_scores
    attributes = [f"ID=exon:{name}:{k}", f"Parent=mRNA:{name}"]
    start, end = exon.target
    if start < end:
        attributes.append(target_attribute(alignment, start, end))
    attributes += _part_attributes(alignment, exon.interval)
    score = gff.format_number(scores[k - 1]) if scores else "."
    return _line(alignment, "exon", exon.interval, score, attributes)


def _confidence_at(alignment: SplicedAlignment, interval: Interval) -> list[int]:
    """Return the confidence of the exon that an exon or CDS lies in, if it is known."""
    pairs = zip(alignment.chain, alignment.exon_confidences or (), strict=False)
    start, end = interval
    return [points for exon, points in pairs if exon[0] <= start and end <= exon[1]]


def _part_attributes(alignment: SplicedAlignment, interval: Interval) -> list[str]:
    """Return the attributes of an exon, or CDS of an exon: its confidence, and if it is cut off."""
    whole = walk.extent(alignment.chain), cut_sides(alignment)
    confidence = [f"confidence={points}" for points in _confidence_at(alignment, interval)]
    return confidence + partial_attributes(interval, joint_cut(interval, [whole]))


def _coding_line(alignment: SplicedAlignment, name: str, feature: str, interval, phase) -> str:
    attributes = [f"ID={feature}:{name}", f"Parent=mRNA:{name}"]
    attributes += _part_attributes(alignment, interval) if feature == "CDS" else []
    return _line(alignment, feature, interval, ".", attributes, phase)


def _line(alignment, feature, interval, score, attributes, phase=".") -> str:
    seqid = gff.escape_seqid(alignment.base)
    return gff.feature_line(
        seqid, feature, interval, ";".join(attributes), alignment.strand, score, phase
    ).rstrip("\n")


# GTF.


def write_gtf(path, alignments, bases, targets) -> None:
    """Write a ``transcript`` for each alignment, with ``exon`` parts in transcript order.

    ``gene_id`` and ``transcript_id`` are the IDs of ``gene`` and ``mRNA`` in GFF3; isoforms share
    the first. A chain that translates also has ``CDS`` parts with frame, without the stop codon as
    GTF wants it, and ``start_codon`` and ``stop_codon`` where it has them.
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
        distinct.setdefault(_Model.of(alignment).transcript, alignment)
    genes, mrnas = _Numbers(), _Numbers()
    for gene in genes_of(list(distinct)):
        gene_name = genes.name(gene.best.target)
        for isoform in gene.isoforms:
            name = mrnas.name(isoform.target)
            ids = f'gene_id "gene:{gene_name}"; transcript_id "mRNA:{name}"; '
            yield from transcript_lines(distinct[isoform], ids)


def transcript_lines(alignment: SplicedAlignment | ProteinAlignment, ids: str) -> Iterator[str]:
    """Yield the lines of a transcript; `ids` are the attributes of all of them."""
    check_gtf_name(alignment.target)
    more = f'target_id "{alignment.target}"; ' + 'pseudo "true"; ' * is_pseudo(alignment)
    if alignment.rank is not None:
        more += f'rank "{alignment.rank}"; '
    if alignment.intron_confidences:
        more += f'intron_confidence "{",".join(map(str, alignment.intron_confidences))}"; '
    interval, score = walk.extent(alignment.chain), str(alignment.score)
    yield _gtf_line(alignment, "transcript", interval, score, ".", ids + more)
    for k, exon in enumerate(alignment.chain, start=1):
        more = f'exon_number "{k}"; {_gtf_confidence(alignment, exon)}'
        yield _gtf_line(alignment, "exon", exon, ".", ".", ids + more)
    for feature, interval, frame in _coding(alignment):
        more = _gtf_confidence(alignment, interval) if feature == "CDS" else ""
        yield _gtf_line(alignment, feature, interval, ".", frame, ids + more)


def _gtf_confidence(alignment: SplicedAlignment, interval: Interval) -> str:
    return "".join(f'confidence "{n}"; ' for n in _confidence_at(alignment, interval))


def _coding(alignment: SplicedAlignment) -> Iterator[tuple[str, tuple[int, int], int]]:
    """Yield features of a chain that translates."""
    if not alignment.phases:
        return
    codons = [(feature, interval, 0) for feature, interval in walk.outer_codons(alignment)]
    yield from codons[: alignment.start_codon]
    *inner, (last, phase) = walk.coding_parts(alignment)
    yield from (("CDS", *part) for part in inner)
    coding = last[1] - last[0] - walk.CODON * alignment.stop_codon
    if coding:
        yield "CDS", walk.first_nucleotides(last, alignment.strand, coding), phase
    yield from codons[alignment.start_codon :]


def _gtf_line(alignment: SplicedAlignment, feature, interval, score, frame, attributes: str) -> str:
    return gff.feature_line(
        alignment.base, feature, interval, attributes.rstrip(), alignment.strand, score, frame
    )


# BED12.


_HIGHEST_SCORE = 1000


def write_bed12(path, alignments, bases, targets) -> None:
    """Write a line for each alignment, its exons as blocks; scores are clipped to 0..1000."""
    with open_output(path) as stream:
        stream.writelines(_bed_line(alignment) for alignment in alignments)


def _bed_line(alignment: SplicedAlignment) -> str:
    blocks = sorted(alignment.chain)
    start, end = blocks[0][0], blocks[-1][1]
    columns = (
        alignment.base, start, end, alignment.target,
        min(max(alignment.score, 0), _HIGHEST_SCORE), alignment.strand,
        start, end if alignment.phases else start,  # thick is what is known to be coding
        0, len(blocks), ",".join(str(b - a) for a, b in blocks),
        ",".join(str(a - start) for a, _ in blocks),
    )  # fmt: skip
    return bed_line(*columns)
