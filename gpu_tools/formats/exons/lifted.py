"""Genes carried to another genome, written with the hierarchy and attributes of their reference.

What lies where is new; IDs, types, sources and attributes stay, in their order. Untranslated parts,
introns, start and stop codons are written where the reference has lines for them.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from gpu_tools.formats.exons import gff
from gpu_tools.formats.files import open_output, suffix_of
from gpu_tools.model import genes
from gpu_tools.model.annotation import CodingSegment
from gpu_tools.model.genes import Attributes, Interval, LiftedGene, LiftedTranscript
from gpu_tools.model.genes import ReferenceLine as Line

SUFFIXES = (".gff3", ".gtf")
_CODON = 3
_GFF3_TYPES = {
    genes.FIVE_UTR: genes.FIVE_UTR, genes.THREE_UTR: genes.THREE_UTR, genes.CODING: genes.CODING,
    genes.EXON: genes.EXON, genes.START: genes.START, genes.STOP: genes.STOP,
}  # fmt: skip
"""Types that lines of GTF have in GFF3, by their kinds."""
_RESERVED = {
    "ID", "Name", "Alias", "Parent", "Target", "Gap", "Derives_from", "Note", "Dbxref",
    "Ontology_term", "Is_circular",
}  # fmt: skip
"""Keys of GFF3 that begin with a capital letter."""
_GTF_KINDS = (genes.START, genes.STOP)


def copy_suffix(copy: int) -> str:
    """Return what ends the IDs of a gene's further copy."""
    return f"_copy{copy}" if copy else ""


def write_lifted(
    path: str | os.PathLike, lifted: Iterable[LiftedGene], lengths: Mapping[str, int]
) -> None:
    """Write genes as GFF3, or as GTF if the name says so, by record and position.

    Parameters
    ----------
    path : str or PathLike
        A name that ends in ``.gff3``, ``.gff`` or ``.gtf``, perhaps before ``.gz``; any other is
        written as GFF3.
    lifted : iterable of LiftedGene
        The genes. Copies have a suffix at their IDs and the attribute ``copy``.
    lengths : mapping
        Lengths of the genome's records by name, in their order.
    """
    is_gtf = suffix_of(path, SUFFIXES, "annotation", otherwise="gff3") == ".gtf"
    ranks = {name: rank for rank, name in enumerate(lengths)}
    ordered = sorted(lifted, key=lambda gene: (ranks[gene.record], gene.interval, gene.gene.id))
    used = {gene.record for gene in ordered}
    with open_output(path) as stream:
        if not is_gtf:
            stream.writelines(gff.gff3_head({n: lengths[n] for n in lengths if n in used}))
        for gene in ordered:
            stream.writelines(_gtf_lines(gene) if is_gtf else _gff3_lines(gene))


class _LiftedPart(NamedTuple):
    """A part of a transcript on the new genome, and the reference's line it is written as."""

    line: Line
    kind: str
    interval: Interval
    phase: str


# Parts: exons, coding segments and what follows from both.


def _parts(one: LiftedTranscript, strand: str) -> Iterator[_LiftedPart]:
    """Yield the parts that the reference has lines for."""
    lines = defaultdict(list)
    for line in one.transcript.parts:
        lines[line.kind].append(line)
    origins = _origins(one, strand)
    for kind, intervals in _intervals(one, strand, bool(lines[genes.UTR])).items():
        if not lines[kind]:
            continue
        for interval, phase in intervals:
            yield _LiftedPart(_line_of(lines[kind], interval, one, origins), kind, interval, phase)


def _intervals(
    one: LiftedTranscript, strand: str, one_kind_of_utr: bool
) -> dict[str, list[tuple[Interval, str]]]:
    """Return intervals and phases of all that a transcript may have, by kind."""
    found: dict[str, list[tuple[Interval, str]]] = {genes.EXON: [(e, ".") for e in one.exons]}
    if one.coding:
        before, behind = genes.untranslated(one.exons, one.coding, strand)
        if one_kind_of_utr:
            found[genes.UTR] = [(part, ".") for part in sorted(before + behind)]
        found[genes.FIVE_UTR] = [(part, ".") for part in before]
        found[genes.CODING] = [((s.start, s.end), str(s.phase)) for s in one.coding]
        found[genes.START] = _codon(one.coding, strand) if one.has_start else []
        found[genes.STOP] = _codon(one.coding, strand, True) if one.has_stop else []
        found[genes.THREE_UTR] = [(part, ".") for part in behind]
        extent = min(s.start for s in one.coding), max(s.end for s in one.coding)
        found[genes.PROTEIN] = [(extent, ".")]
    inner = zip(one.exons, one.exons[1:], strict=False)
    found[genes.INTRON] = [((end, start), ".") for (_, end), (start, _) in inner if end < start]
    return found


def _codon(
    coding: Iterable[CodingSegment], strand: str, last: bool = False
) -> list[tuple[Interval, str]]:
    """Return parts and phases of the first or the last codon, in reading order."""
    left, parts = _CODON, []
    for segment in reversed(list(coding)) if last else coding:
        start, end = segment.start, segment.end
        size = min(left, end - start)
        at_left = (strand == "+") != last
        interval = (start, start + size) if at_left else (end - size, end)
        behind = _CODON - left + size if last else left  # to the codon's end, from the part's start
        parts.append((interval, str(behind % _CODON)))
        left -= size
        if not left:
            break
    return parts[::-1] if last else parts


def _origins(one: LiftedTranscript, strand: str) -> dict[Interval, Interval]:
    """Return the exon of the reference that each exon comes from."""
    own = one.transcript.exons
    if one.exon_origins is not None:
        return {exon: own[k] for exon, k in zip(one.exons, one.exon_origins, strict=True)}
    ordered = own if strand == one.transcript.strand else own[::-1]
    return dict(zip(one.exons, ordered, strict=True))


def _line_of(
    lines: list[Line], interval: Interval, one: LiftedTranscript, origins: dict[Interval, Interval]
) -> Line:
    """Return the reference's line of a part: of where it comes from, else the nearest one."""
    start, end = interval
    touching = [origins[e] for e in one.exons if e[0] <= end and start <= e[1]]
    inside = [origins[e] for e in one.exons if e[0] < end and start < e[1]]
    if inside:
        first, past = min(inside)[0], max(inside)[1]
    else:  # an intron
        (_, first), (past, _) = min(touching), max(touching)

    def distance(line: Line) -> int:
        return max(first, line.interval[0]) - min(past, line.interval[1])

    return min(lines, key=lambda line: (distance(line), line.line or 0))


# GFF3.


def _gff3_lines(lifted: LiftedGene) -> Iterator[str]:
    gene, suffix = lifted.gene, copy_suffix(lifted.copy)
    from_gtf = _is_gtf(gene)
    ids = {one.transcript.id: f"{_gff3_id(one, gene, from_gtf)}{suffix}"
           for one in lifted.transcripts}  # fmt: skip
    has_line = gene.feature is not None or from_gtf
    own = [*lifted.attributes, *_copy_attribute(lifted)]
    if has_line:
        below = [a for one in lifted.transcripts if _is_gene_itself(one, from_gtf)
                 for a in one.attributes if a[0] not in dict(own)]  # fmt: skip
        base = gene.feature.attributes if gene.feature else (("gene_id", gene.id),)
        attributes = [("ID", _escaped(gene.id + suffix)), *base] if from_gtf else \
            _with_ids(base, suffix)  # fmt: skip
        yield _line(lifted, gene.feature or _any_line(lifted), "gene" if from_gtf else None,
                    lifted.interval, ".", _joined(attributes, [*own, *below]))  # fmt: skip
    known = {*ids.values(), *([gene.id + suffix] if has_line else [])}
    for one in lifted.transcripts:
        if not _is_gene_itself(one, from_gtf):
            yield _transcript_line(lifted, one, ids[one.transcript.id], from_gtf, known, own,
                                   has_line)  # fmt: skip
    alone = [] if has_line else own
    for part, name, parents in _written_parts(lifted):
        attributes = _part_attributes(part, name, [ids[p] for p in parents], lifted, from_gtf)
        bare = [one for one in lifted.transcripts if one.transcript.feature is None]
        if not has_line and bare:  # coding lines that belong to nothing say what is known
            attributes += [*alone, *bare[0].attributes]
        type = _GFF3_TYPES.get(part.kind) if from_gtf else None
        yield _line(lifted, part.line, type, part.interval, part.phase, attributes)


def _is_gtf(gene: genes.ReferenceGene) -> bool:
    """Tell whether a gene was read from GTF."""
    lines = (line for one in gene.transcripts for line in (one.feature, *one.parts) if line)
    line = next(lines, gene.feature)
    return line.attribute("gene_id") is not None and not (
        line.attribute("ID") or line.attribute("Parent")
    )


def _is_gene_itself(one: LiftedTranscript, from_gtf: bool) -> bool:
    """Tell whether a transcript has no line of its own: its parts are the gene's."""
    return one.transcript.feature is None and (not from_gtf or not one.transcript.parts)


def _gff3_id(one: LiftedTranscript, gene: genes.ReferenceGene, from_gtf: bool) -> str:
    name = one.transcript.id
    same = from_gtf and name == gene.id and not _is_gene_itself(one, from_gtf)
    return f"transcript:{name}" if same else name


def _any_line(lifted: LiftedGene) -> Line:
    one = lifted.transcripts[0].transcript
    return one.feature or one.parts[0]


def _copy_attribute(lifted: LiftedGene) -> list[tuple[str, str]]:
    return [("copy", str(lifted.copy))] if lifted.copy else []


def _transcript_line(
    lifted: LiftedGene, one: LiftedTranscript, name: str, from_gtf: bool, known: set[str],
    own: list[tuple[str, str]], has_gene: bool,
) -> str:  # fmt: skip
    """Return the line of a transcript; `known` are the IDs that may be parents."""
    suffix, feature = copy_suffix(lifted.copy), one.transcript.feature
    gene, more = lifted.gene.id + suffix, [*one.attributes, *([] if has_gene else own)]
    more += [] if dict(more).get("copy") else _copy_attribute(lifted)
    if from_gtf:
        kept = feature.attributes if feature else (("gene_id", lifted.gene.id),)
        attributes = [("ID", _escaped(name)), ("Parent", _escaped(gene)), *kept]
        type = "mRNA" if one.coding else "transcript"
        line = feature or one.transcript.parts[0]
        return _line(lifted, line, type, one.interval, ".", _joined(attributes, more))
    attributes = []
    for key, value in _with_ids(feature.attributes, suffix):
        if key == "Parent":
            parents = [p for p in value.split(",") if unquote(p) in known]
            value = ",".join(parents) or (_escaped(gene) if gene in known else "")
        if value:
            attributes.append((key, value))
    return _line(lifted, feature, None, one.interval, ".", _joined(attributes, more))


def _joined(kept: Iterable[tuple[str, str]], more: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return further attributes behind those of the reference, of which they replace namesakes."""
    new = dict(more)
    return [*(one for one in kept if _key(one[0]) not in new), *more]


def _part_attributes(
    part: _LiftedPart, name: str | None, parents: list[str], lifted: LiftedGene, from_gtf: bool
) -> list[tuple[str, str]]:
    suffix = copy_suffix(lifted.copy)
    if from_gtf:
        head = [("Parent", ",".join(map(_escaped, parents)))]
        if part.kind == genes.CODING:
            head = [("ID", f"CDS:{_escaped(parents[0])}"), *head]
        return [*head, *part.line.attributes]
    attributes = []
    for key, value in _with_ids(part.line.attributes, suffix):
        if key == "ID" and name is not None:
            value = _escaped(name + suffix)
        if key in ("Parent", "Derives_from"):
            value = ",".join(map(_escaped, [*parents, *_further(value, lifted, suffix)]))
        attributes.append((key, value))
    return attributes


def _further(parents: str, lifted: LiftedGene, suffix: str) -> list[str]:
    """Return parents that are no transcripts: proteins, as TAIR names them."""
    proteins = {
        unquote(line.attribute("ID") or "") + suffix
        for one in lifted.transcripts for line in one.transcript.parts
        if line.kind == genes.PROTEIN and one.coding
    }  # fmt: skip
    return [name for name in map(unquote, parents.split(",")) if name in proteins]


def _with_ids(attributes: Attributes, suffix: str) -> list[tuple[str, str]]:
    """Return attributes whose IDs end in a suffix."""
    if not suffix:
        return list(attributes)
    return [
        (key, ",".join(f"{name}{suffix}" for name in value.split(",")))
        if key in ("ID", "Parent", "Derives_from") else (key, value)
        for key, value in attributes
    ]  # fmt: skip


def _written_parts(lifted: LiftedGene) -> Iterator[tuple[_LiftedPart, str | None, list[str]]]:
    """Yield each part once, its ID and its parents.

    Transcripts share a line if the reference's line is one and its ID means the same parts in each.
    """
    by_transcript = {one.transcript.id: [*_parts(one, lifted.strand)] for one in lifted.transcripts}
    names = _names(by_transcript)
    shared: dict[tuple, tuple[_LiftedPart, str | None, list[str]]] = {}
    for transcript, parts in by_transcript.items():
        used: dict[int | None, int] = defaultdict(int)
        for part in parts:
            name = names.get((part.line.attribute("ID"), transcript))
            if name is not None and part.kind != genes.CODING:
                used[part.line.line] += 1
                name += f"-{used[part.line.line]}" if used[part.line.line] > 1 else ""
            key = part.line.line, part.interval, part.phase, name
            shared.setdefault(key, (part, name, []))[2].append(transcript)
    yield from shared.values()


def _names(by_transcript: dict[str, list[_LiftedPart]]) -> dict[tuple[str | None, str], str]:
    """Return the ID of parts by that of the reference and the transcript.

    Where transcripts share an ID and their parts came to differ, the later ones get new IDs.
    """
    meanings: dict[str, dict[tuple, str]] = defaultdict(dict)
    names = {}
    for transcript, parts in by_transcript.items():
        own = defaultdict(list)
        for part in parts:
            if part.line.attribute("ID"):
                own[part.line.attribute("ID")].append((part.interval, part.phase))
        for name, places in own.items():
            known, meaning = meanings[name], tuple(places)
            plain = unquote(name)
            known.setdefault(meaning, f"{plain}-{len(known) + 1}" if known else plain)
            names[name, transcript] = known[meaning]
    return names


def _line(
    lifted: LiftedGene, line: Line, type: str | None, interval: Interval, phase: str,
    attributes: Iterable[tuple[str, str]],
) -> str:  # fmt: skip
    """Return a line of GFF3 with the source and score of the reference's line."""
    text = ";".join(f"{_key(key)}={value}" for key, value in attributes) or "."
    return _columns(gff.escape_seqid(lifted.record), lifted, line, type, interval, phase, text)


def _key(key: str) -> str:
    """Return a key as GFF3 has it, which reserves those that begin with a capital letter."""
    return key if key in _RESERVED else key[0].lower() + key[1:]


def _columns(
    record: str, lifted: LiftedGene, line: Line, type: str | None, interval: Interval, phase: str,
    attributes: str,
) -> str:  # fmt: skip
    start, end = interval
    columns = (
        record, line.source, type or line.type, start + 1, end, line.score, lifted.strand, phase,
        attributes,
    )  # fmt: skip
    return "\t".join(map(str, columns)) + "\n"


def _escaped(name: str) -> str:
    return gff.escape_value(name)


# GTF.


def _gtf_lines(lifted: LiftedGene) -> Iterator[str]:
    gene, suffix = lifted.gene, copy_suffix(lifted.copy)
    first = gene.feature or _any_line(lifted)
    own = [*lifted.attributes, *_copy_attribute(lifted)]
    kept = gene.feature.attributes if gene.feature else ()
    yield _gtf_line(lifted, first, "gene", lifted.interval, ".", [], _joined(kept, own))
    for one in lifted.transcripts:
        transcript, line = one.transcript, one.transcript.feature
        ids = [("transcript_id", transcript.id + suffix)]
        kept = line.attributes if line else ()
        if line and not _says_biotype(line) and line.type not in ("transcript", "mRNA"):
            kept = (*kept, ("transcript_biotype", line.type))
        more = _joined(kept, [*one.attributes, *_copy_attribute(lifted)])
        yield _gtf_line(lifted, line or first, "transcript", one.interval, ".", ids, more)
        for part in _gtf_parts(one, lifted.strand):
            type = part.line.type if _is_gtf(gene) and part.line.kind == part.kind else part.kind
            own_attributes = part.line.attributes if part.line.kind == part.kind else ()
            yield _gtf_line(lifted, part.line, type, part.interval, part.phase, ids,
                            own_attributes)  # fmt: skip


def _says_biotype(line: Line) -> bool:
    return any("biotype" in key or key == "transcript_type" for key, _ in line.attributes)


def _gtf_parts(one: LiftedTranscript, strand: str) -> Iterator[_LiftedPart]:
    """Yield parts with the stop codon apart, as GTF has it; exons and codons always."""
    lines = {line.kind: line for line in reversed(one.transcript.parts)}
    found = [*_parts(one, strand)]
    any_line = next(iter(lines.values()), one.transcript.feature)
    if any_line is None:
        return
    if genes.EXON not in lines:
        found = [_LiftedPart(any_line, genes.EXON, exon, ".") for exon in one.exons] + found
    coding = [part for part in found if part.kind == genes.CODING]
    if coding:
        intervals = _intervals(one, strand, False)
        for kind in _GTF_KINDS:
            if kind not in lines:
                found += [_LiftedPart(coding[0].line, kind, *own) for own in intervals[kind]]
    stops = [part.interval for part in found if part.kind == genes.STOP]
    for part in found:
        if part.kind == genes.CODING:
            part = part._replace(interval=_without(part.interval, stops))
        if part.interval[0] < part.interval[1] and part.kind != genes.PROTEIN:
            yield part


def _without(interval: Interval, stops: Iterable[Interval]) -> Interval:
    """Return a coding segment without the stop codon at its end."""
    start, end = interval
    for first, past in stops:
        if first == start and past <= end:
            start = past
        elif past == end and first >= start:
            end = first
    return start, end


def _gtf_line(
    lifted: LiftedGene, line: Line, type: str, interval: Interval, phase: str,
    ids: list[tuple[str, str]], attributes: Iterable[tuple[str, str]],
) -> str:  # fmt: skip
    """Return a line of GTF; attributes that name IDs are left out."""
    suffix = copy_suffix(lifted.copy)
    pairs = [("gene_id", lifted.gene.id + suffix), *ids]
    for key, value in attributes:
        if key not in ("ID", "Parent", "Derives_from", "gene_id", "transcript_id"):
            pairs += [(key, unquote(one)) for one in value.split(",")]
    text = " ".join(f'{key} "{value}";' for key, value in _quotable(pairs))
    return _columns(lifted.record, lifted, line, type, interval, phase, text)


def _quotable(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield keys and values without what ends a value or a line."""
    for key, value in pairs:
        yield key, " ".join(value.replace('"', "'").split())
