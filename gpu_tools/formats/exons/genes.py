"""Genes of GFF3 and GTF with all their lines, as another genome is to have them.

`gff` reads the lines; `annotation` reads exons and coding sequences alone, for those who need no
more. Genes that make no sense are listed with the reason and left out, malformed lines are errors.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from urllib.parse import unquote

from gpu_tools.formats.exons import gff
from gpu_tools.formats.exons.annotation import with_stop_codons
from gpu_tools.formats.files import read_lines
from gpu_tools.formats.tables import Location
from gpu_tools.model import genes
from gpu_tools.model.annotation import CodingSegment
from gpu_tools.model.genes import OddGene, ReferenceGene, ReferenceTranscript
from gpu_tools.model.genes import ReferenceLine as Line

_PARTS = {
    "exon": genes.EXON, "pseudogenic_exon": genes.EXON, "noncoding_exon": genes.EXON,
    "so:0000147": genes.EXON, "cds": genes.CODING, "so:0000316": genes.CODING,
    "coding_exon": genes.CODING, "so:0000195": genes.CODING, "pseudogenic_cds": genes.CODING,
    "five_prime_utr": genes.FIVE_UTR, "5utr": genes.FIVE_UTR, "so:0000204": genes.FIVE_UTR,
    "three_prime_utr": genes.THREE_UTR, "3utr": genes.THREE_UTR, "so:0000205": genes.THREE_UTR,
    "utr": genes.UTR, "so:0000203": genes.UTR, "start_codon": genes.START,
    "so:0000318": genes.START, "stop_codon": genes.STOP, "so:0000319": genes.STOP,
    "intron": genes.INTRON, "so:0000188": genes.INTRON, "protein": genes.PROTEIN,
    "polypeptide": genes.PROTEIN,
}  # fmt: skip
"""Kinds of a transcript's parts by their types in small letters."""
_KINDS_OF_PARTS = {*_PARTS.values()}
_GENE = re.compile(r"gene$|^so:0000704$", re.IGNORECASE)
_TRANSCRIPT = re.compile(r"rna$|transcript$|segment$|ribozyme$", re.IGNORECASE)
"""Types of genes and transcripts, which need have no parts."""
_STRANDS, _UNKNOWN_STRANDS = ("+", "-"), (".", "?", "")
_IN_GTF = re.compile(r'\s*([^\s;"]+)\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))\s*(?:;|$)')


class _OddError(Exception):
    """Why a gene or transcript is left out, and where that shows."""

    def __init__(self, line: int, reason: str):
        super().__init__(reason)
        self.line, self.reason = line, reason


def read_genes(
    path: str | os.PathLike, lengths: Mapping[str, int] | None = None
) -> genes.GeneAnnotation:
    """Read the genes of a GFF3 or GTF file.

    Parameters
    ----------
    path : str or PathLike
        The annotation. A file of genes, transcripts, exons and CDS as Ensembl, NCBI, FlyBase,
        WormBase, TAIR, AUGUSTUS and this project write them.
    lengths : mapping, optional
        Lengths of the genome's records by name. Genes that lie on no such record, or beyond its
        end, are odd ones.

    Returns
    -------
    GeneAnnotation
        Coding sequences include the stop codon, also those of GTF. A phase ``.`` follows from the
        segment before, and is 0 for the first segment.

    Raises
    ------
    InputError
        If a line is malformed, or the file has no gene.
    """
    rows = list(read_lines(path))
    features = list(gff.features(path, rows))
    is_gtf = not gff.is_gff3(path, rows) and bool(features) and not features[0].in_gff3
    reader = (_Gtf if is_gtf else _Gff3)(path, lengths)
    for feature in features:
        reader.add(feature, _row(feature, is_gtf))
    found = genes.GeneAnnotation(list(reader.genes()), reader.odd, dict(reader.others), is_gtf)
    if not found.genes and not found.odd:
        types = (feature.type for feature in features)
        raise gff.lacking("gene", path, types, "GFF3 or GTF with genes, exons or CDS")
    return found


def _row(feature: gff.Feature, is_gtf: bool) -> Line:
    location = feature.location
    if feature.strand not in (*_STRANDS, *_UNKNOWN_STRANDS):
        raise location.error(f"unknown strand {feature.strand!r}", "+, -, . or ?")
    if feature.phase not in ("0", "1", "2", ".", ""):
        raise location.error(f"phase {feature.phase!r}", "0, 1, 2 or .")
    read = _gtf_attributes if is_gtf else _gff3_attributes
    kind = _PARTS.get(feature.type.lower(), feature.type)
    return Line(
        kind, feature.type, feature.seqid if is_gtf else unquote(feature.seqid), feature.source,
        feature.interval, feature.score, feature.strand, feature.phase, tuple(read(feature)),
        location.line,
    )  # fmt: skip


def _gff3_attributes(feature: gff.Feature) -> Iterator[tuple[str, str]]:
    for field in feature.attributes.split(";"):
        key, equals, value = field.strip().partition("=")
        if equals and key:
            yield key, value
        elif field.strip() not in ("", "."):
            raise feature.location.error(f"attribute {field.strip()!r}", "key=value")


def _gtf_attributes(feature: gff.Feature) -> Iterator[tuple[str, str]]:
    """Yield attributes as GFF3 writes them; several of one key are one, with commas."""
    text, found, at = feature.attributes, {}, 0
    if text and not re.search(r'[\s";]', text.strip()) and text != ".":
        # AUGUSTUS writes the name alone
        key = "gene_id" if feature.type == "gene" else "transcript_id"
        found[key] = [gff.escape_value(text)]
        if key == "transcript_id":
            found["gene_id"] = [gff.escape_value(text.rpartition(".")[0] or text)]
        at = len(text)
    while at < len(text) and text[at:].strip("; ."):
        match = _IN_GTF.match(text, at)
        if not match:
            raise feature.location.error(f"attribute {text[at:].strip()!r}", 'key "value";')
        value = match[2] if match[2] is not None else match[3]
        found.setdefault(match[1], []).append(gff.escape_value(value))
        at = match.end()
    for key, values in found.items():
        yield key, ",".join(values)


class _Reader:
    """What the readers of both formats share."""

    def __init__(self, path: str | os.PathLike, lengths: Mapping[str, int] | None):
        self._path, self._lengths = path, lengths
        self.odd: list[OddGene] = []
        self.others: Counter[str] = Counter()

    def _gene(
        self,
        name: str,
        features: list[Line],
        transcripts: Iterable[tuple[str, list[Line], list[Line]]],
    ) -> ReferenceGene | None:
        """Return a gene of its lines and its transcripts' names, lines and parts; None if odd."""
        found, line = [], features[0].line if features else None
        try:
            if len(features) > 1:
                raise _OddError(features[1].line, "a gene in several parts, as of trans-splicing")
            for row in features:
                self._check_place(row)
            for transcript, own, parts in transcripts:
                line = line or (own or parts)[0].line
                try:
                    found.append(self._transcript(transcript, own, parts))
                except _OddError as odd:
                    self.odd.append(OddGene(name, transcript, odd.line, odd.reason))
            if not found:
                return None
            return self._joined(name, features[0] if features else None, line, found)
        except _OddError as odd:
            self.odd.append(OddGene(name, "", odd.line, odd.reason))
        return None

    def _joined(
        self,
        name: str,
        feature: Line | None,
        line: int,
        found: list[ReferenceTranscript],
    ) -> ReferenceGene:
        places = {(one.record, one.strand) for one in found}
        if feature is not None:
            places.add((feature.record, feature.strand))
        if len(places) > 1:
            raise _OddError(line, "transcripts on both strands or on several records")
        first = found[0]
        interval = (
            min(one.exons[0][0] for one in found), max(one.exons[-1][1] for one in found)
        ) if feature is None else feature.interval  # fmt: skip
        return ReferenceGene(name, first.record, first.strand, interval, feature, tuple(found))

    def _check_place(self, row: Line) -> None:
        if row.attribute("exception") == "trans-splicing":
            raise _OddError(row.line, "trans-spliced")
        if row.strand not in _STRANDS:
            raise _OddError(row.line, f"strand {row.strand!r}")
        if self._lengths is None:
            return
        if row.record not in self._lengths:
            raise _OddError(row.line, f"the genome has no record {row.record!r}")
        if row.interval[1] > self._lengths[row.record]:
            length = self._lengths[row.record]
            raise _OddError(
                row.line, f"position {row.interval[1]} is after the record's end, {length}"
            )

    def _transcript(self, name: str, own: list[Line], parts: list[Line]) -> ReferenceTranscript:
        """Return a transcript of its line, or the gene's if it has none, and its parts."""
        if len(own) > 1:
            raise _OddError(own[1].line, "a transcript in several parts, as of trans-splicing")
        rows = [*own, *parts]
        for row in rows:
            self._check_place(row)
            if row.strand != rows[0].strand:
                raise _OddError(row.line, "on both strands, as of trans-splicing")
            if row.record != rows[0].record:
                raise _OddError(row.line, "on several records")
        by_kind = defaultdict(list)
        for row in parts:
            by_kind[row.kind].append(row)
        coding = _coding(by_kind[genes.CODING], self._stops(by_kind[genes.STOP]))
        exons = _exons(own, by_kind, coding)
        first = rows[0]
        feature = None if not own or _GENE.search(own[0].type) else own[0]
        return ReferenceTranscript(
            name, first.record, first.strand, exons, coding, feature, tuple(parts)
        )

    def _stops(self, rows: list[Line]) -> list[Line]:
        """Return stop codons that coding sequences lack; in GFF3 these have them."""
        return []


def _coding(rows: list[Line], stops: list[Line]) -> tuple[CodingSegment, ...]:
    """Return the coding segments in reading order, which one frame runs through."""
    if not rows:
        return ()
    distinct = {(row.interval, row.phase): row for row in reversed(rows)}
    rows = sorted(distinct.values(), key=lambda row: row.interval)
    for one, other in pairwise(rows):
        if other.interval[0] < one.interval[1]:
            raise _OddError(other.line, "coding segments that overlap, as of ribosomal slippage")
    joined = list(with_stop_codons([r.interval for r in rows], [r.interval for r in stops]))
    apart = [(interval, ".", rows[0].line) for interval in joined[len(rows) :]]
    known = zip(joined, rows, strict=False)
    parts = [*((i, row.phase or ".", row.line) for i, row in known), *apart]
    reverse = rows[0].strand == "-"
    segments, following = [], 0
    for k, ((start, end), phase, line) in enumerate(sorted(parts, reverse=reverse)):
        phase = following if phase == "." else int(phase)
        if k and phase != following:
            raise _OddError(line, f"phase {phase} where the segment before makes it {following}")
        segments.append(CodingSegment(start, end, phase))
        following = (phase - (end - start)) % 3
    return tuple(segments)


def _exons(
    own: list[Line],
    by_kind: Mapping[str, list[Line]],
    coding: tuple[CodingSegment, ...],
) -> tuple[genes.Interval, ...]:
    """Return the exons by position: its lines, else those of coding and untranslated parts."""
    rows = sorted({row.interval: row for row in by_kind[genes.EXON]}.values(), key=_interval)
    for one, other in pairwise(rows):
        if other.interval[0] < one.interval[1]:
            raise _OddError(other.line, "exons that overlap")
    segments = [(s.start, s.end) for s in coding]
    untranslated = [
        row.interval
        for kind in (genes.FIVE_UTR, genes.THREE_UTR, genes.UTR)
        for row in by_kind[kind]
    ]
    exons = gff.merged([row.interval for row in rows] or [*segments, *untranslated])
    exons = exons or [row.interval for row in own]
    for start, end in segments:
        if not any(a <= start and end <= b for a, b in exons):
            line = by_kind[genes.CODING][0].line
            raise _OddError(line, f"coding positions {start + 1} to {end} outside of its exons")
    if not exons:
        raise _OddError(next(row.line for rows in by_kind.values() for row in rows), "no exon")
    return tuple(exons)


def _interval(row: Line) -> genes.Interval:
    return row.interval


class _Gff3(_Reader):
    """Genes of GFF3: a tree by ``ID`` and ``Parent``, of any depth."""

    def __init__(self, path, lengths):
        super().__init__(path, lengths)
        self._ids: set[str] = set()
        self._children: dict[str, list[Line]] = defaultdict(list)
        self._roots: dict[str, list[Line]] = defaultdict(list)

    def add(self, feature: gff.Feature, row: Line) -> None:
        """Take a line."""
        name, parents = row.attribute("ID"), row.attribute("Parent")
        if parents is None and row.kind == genes.PROTEIN:
            parents = row.attribute("Derives_from")
        for parent in parents.split(",") if parents else ():
            self._children[unquote(parent)].append(row)
        if name is not None:
            name = unquote(name)
            self._ids.add(name)
        if not parents:
            self._roots[name or f"{row.type} of line {row.line}"].append(row)

    def genes(self) -> Iterator[ReferenceGene]:
        """Yield the genes in the order of the file."""
        for name, rows in self._roots.items():
            gene = self._root(name, rows)
            if gene is not None:
                yield gene
        for parent, rows in self._children.items():
            gene = None if parent in self._ids else self._orphans(parent, rows)
            if gene is not None:
                yield gene

    def _orphans(self, parent: str, rows: list[Line]) -> ReferenceGene | None:
        """Return the gene, without line, of transcripts; parts without transcript are odd."""
        transcripts = list(self._transcripts(parent, {parent}))
        if transcripts:
            return self._gene(parent, [], transcripts)
        kinds = ", ".join(dict.fromkeys(row.type for row in rows))
        reason = f"no line has the ID {parent!r}, the parent of features {kinds}"
        self.odd.append(OddGene(parent, "", rows[0].line, reason))
        return None

    def _root(self, name: str, rows: list[Line]) -> ReferenceGene | None:
        first = rows[0]
        if first.kind == genes.CODING:  # it belongs to no gene, as in bacteria
            return self._gene(name, [], [(name, [], rows)])
        below = self._children.get(name, [])
        if _GENE.search(first.type):
            transcripts = list(self._transcripts(name, {name}))
            direct = [row for row in below if row.kind in _KINDS_OF_PARTS]
            if direct or not transcripts:
                transcripts.append((name, rows, direct))
            return self._gene(name, rows, transcripts)
        if first.kind not in _KINDS_OF_PARTS and any(
            row.kind in (genes.EXON, genes.CODING) for row in below
        ):
            return self._gene(name, [], [(name, rows, below), *self._transcripts(name, {name})])
        if first.kind == genes.EXON:
            reason = f"a feature {first.type} of no transcript"
            self.odd.append(OddGene(name, "", first.line, reason))
        else:
            self.others[first.type] += len(rows)
        return None

    def _transcripts(
        self, name: str, above: set[str]
    ) -> Iterator[tuple[str, list[Line], list[Line]]]:
        """Yield name, lines and parts of the transcripts below a gene or transcript."""
        by_name: dict[str, list[Line]] = {}
        for row in self._children.get(name, []):
            if row.kind not in _KINDS_OF_PARTS:
                own = row.attribute("ID")
                own = unquote(own) if own else f"{row.type} of line {row.line}"
                by_name.setdefault(own, []).append(row)
        for own, rows in by_name.items():
            if own in above:
                raise Location(self._path, rows[0].line).error(
                    f"{own!r} is its own parent", "a tree"
                )
            below = self._children.get(own, [])
            parts = [row for row in below if row.kind in _KINDS_OF_PARTS]
            if parts or _TRANSCRIPT.search(rows[0].type):
                yield own, rows, parts
            else:
                self.others[rows[0].type] += len(rows)
            yield from self._transcripts(own, above | {own})


class _Gtf(_Reader):
    """Genes of GTF: lines of a ``gene_id``, and in it of a ``transcript_id``."""

    def __init__(self, path, lengths):
        super().__init__(path, lengths)
        self._genes: dict[
            str,
            tuple[
                list[Line],
                dict[str, tuple[list[Line], list[Line]]],
            ],
        ] = {}

    def add(self, feature: gff.Feature, row: Line) -> None:
        """Take a line."""
        gene, transcript = (
            unquote(row.attribute(key) or "") for key in ("gene_id", "transcript_id")
        )
        if not gene and not transcript:
            if row.kind in _KINDS_OF_PARTS:
                raise feature.location.error(
                    f"a {row.type} without gene_id and transcript_id", 'transcript_id "NAME"'
                )
            self.others[row.type] += 1
            return
        own, transcripts = self._genes.setdefault(gene or transcript, ([], {}))
        if _GENE.search(row.type) and (not transcript or row.kind == "gene"):
            own.append(row)
        elif not transcript:
            self.others[row.type] += 1
        else:
            lines, parts = transcripts.setdefault(transcript, ([], []))
            is_part = row.kind in _KINDS_OF_PARTS
            if is_part:
                parts.append(row)
            elif _TRANSCRIPT.search(row.type):
                lines.append(row)
            else:
                self.others[row.type] += 1

    def genes(self) -> Iterator[ReferenceGene]:
        """Yield the genes in the order of the file."""
        for name, (own, transcripts) in self._genes.items():
            found = [(one, *rows) for one, rows in transcripts.items() if any(rows)]
            if own and not found:
                found = [(name, own, [])]
            gene = self._gene(name, own, found) if found else None
            if gene is not None:
                yield gene

    def _stops(self, rows: list[Line]) -> list[Line]:
        return rows
