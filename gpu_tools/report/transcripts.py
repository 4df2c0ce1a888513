"""The structures of a gene set: transcripts of its GFF3 by gene, and figures of genes."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from gpu_tools.errors import InputError
from gpu_tools.formats.alignments.gene_model import TRANSCRIPTS
from gpu_tools.formats.batch import GFF3_VERSION, sequence_region
from gpu_tools.formats.exons.annotation import read_annotated_exons
from gpu_tools.formats.exons.gff import CODING, EXON, Feature, features
from gpu_tools.formats.files import read_lines
from gpu_tools.formats.matches import ScoredRow
from gpu_tools.formats.tables import MISSING, Location
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.report.findings import (
    MOST_TARGETS,
    DrawnLocus,
    Findings,
    Interval,
    SequenceFile,
    fraction,
    junctions_in,
    rank,
)

PathLike = str | os.PathLike
_CHECKS = {"identity": fraction, "coverage": fraction, "evalue": Location.number}
METHOD_OF_KIND = {"protein": "proteins", "cDNA": "cDNAs"}
"""What targets of a kind are called where structures are drawn."""


class GeneTranscript(NamedTuple):
    """An mRNA of a gene set: its gene, its place, and the figures of its alignment as texts."""

    gene: str
    record: str
    strand: str
    target: str
    score: int | None
    figures: dict[str, str]
    exons: list[Interval]

    @property
    def introns(self) -> list[Interval]:
        """What lies between the exons, which rise."""
        return [(a[1], b[0]) for a, b in pairwise(self.exons)]


class GeneStructures(NamedTuple):
    """Lengths of records by name, transcripts by gene, the best one first, and phases of CDS."""

    record_lengths: dict[str, int]
    transcripts: dict[str, list[GeneTranscript]]
    phases: dict[tuple[str, int, int], str]


def read_structures(path: Path) -> GeneStructures:
    """Read the GFF3 of a gene set."""
    lines = list(read_lines(path))
    if not lines or lines[0][1].split() != GFF3_VERSION.split():
        raise InputError("no GFF3", path=path, line=1, expected=repr(GFF3_VERSION))
    regions = [
        sequence_region(path, number, line)
        for number, line in lines if line.startswith("##sequence-region")
    ]  # fmt: skip
    found: dict[str, GeneTranscript] = {}
    parts: dict[str, list[Feature]] = defaultdict(list)
    for feature in features(path, lines):
        if feature.type in TRANSCRIPTS:
            found[feature.attribute("ID") or ""] = _transcript(feature)
        elif feature.kind in (EXON, CODING):
            parts[feature.attribute("Parent") or ""].append(feature)
    genes, phases = defaultdict(list), {}
    for name, transcript in found.items():
        exons = sorted(part.interval for part in parts[name] if part.kind == EXON)
        if exons:
            genes[transcript.gene].append(transcript._replace(exons=exons))
        for part in parts[name]:
            if part.kind == CODING:
                phases[transcript.target, *part.interval] = part.phase
    return GeneStructures({unquote(name): end for name, end in regions}, dict(genes), phases)


def _transcript(feature: Feature) -> GeneTranscript:
    gene = unquote((feature.attribute("Parent") or "").removeprefix("gene:"))
    place, figures = feature.location, {}
    for name, check in _CHECKS.items():
        figures[name] = feature.attribute(name) or MISSING
        if figures[name] != MISSING:
            check(place, figures[name], name)
    score = None if feature.score == MISSING else place.integer(feature.score, "score")
    target = unquote(feature.attribute("Name") or "")
    return GeneTranscript(
        gene, unquote(feature.seqid), feature.strand, target, score, figures, []
    )  # fmt: skip


# Figures


def drawn_genes(structures: GeneStructures, targets: list[dict], most: int) -> list[DrawnLocus]:
    """Return the genes that have a figure: `most` of the lowest E-values, in the file's order."""
    rows = {row["target"]: row for row in targets}
    genes = [
        _drawn(name, transcripts, rows, structures.record_lengths)
        for name, transcripts in structures.transcripts.items()
    ]
    chosen = {id(gene) for gene in sorted(genes, key=lambda gene: rank(gene.best))[:most]}
    return [gene for gene in genes if id(gene) in chosen]


def _drawn(
    name: str, transcripts: list[GeneTranscript], targets: Mapping[str, dict],
    lengths: Mapping[str, int],
) -> DrawnLocus:  # fmt: skip
    rows = [_row(one, targets.get(one.target), lengths) for one in transcripts[:MOST_TARGETS]]
    exons = [exon for one in transcripts for exon in one.exons]
    interval = min(start for start, _ in exons), max(end for _, end in exons)
    omitted = len(transcripts) - len(rows)
    return DrawnLocus(name, name, transcripts[0].record, interval, rows, omitted, True)


def _row(one: GeneTranscript, target: dict | None, lengths: Mapping[str, int]) -> ScoredRow:
    """Return a transcript as a row of a table of scores."""
    chain = one.exons if one.strand == "+" else one.exons[::-1]
    evalue = one.figures["evalue"]
    fields = one.figures | {
        "base": one.gene, "accepted": "yes",
        "description": (target or {}).get("description") or MISSING,
        "method": METHOD_OF_KIND.get(target["kind"] if target else "", "chain"),
        "chain": ",".join(f"{start + 1}-{end}" for start, end in chain),
    }  # fmt: skip
    own = SplicedAlignment(
        one.record, one.target, lengths.get(one.record, 0),
        int(target["length"]) if target else 0, one.strand, one.score, chain=tuple(chain),
        evalue=None if evalue == MISSING else float(evalue),
    )  # fmt: skip
    return ScoredRow(fields, own)


def gene_findings(
    folder: Path, structures: GeneStructures, drawn: Iterable[DrawnLocus],
    annotation: Iterable[PathLike], genome: PathLike | None, junctions: Sequence[PathLike] = (),
) -> Findings:  # fmt: skip
    """Return what figures of genes are made of: their rows, annotated exons, and the genome."""
    drawn = list(drawn)
    annotated: dict[str, list[ExonSet]] = defaultdict(list)
    for path in annotation:
        for record, exons in read_annotated_exons(path).items():
            annotated[record].append(exons)
    files = {}
    if genome is not None:
        files = {gene.base: SequenceFile(Path(genome), gene.record, 0) for gene in drawn}
    joined = {record: ExonSet.concatenate(sets) for record, sets in annotated.items()}
    rows = [row for gene in drawn for row in gene.rows]
    return Findings(
        folder, [], rows, {}, joined, files, structures.phases, [], [],
        junctions=junctions_in(junctions),
    )  # fmt: skip
