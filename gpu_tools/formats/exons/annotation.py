"""Annotations in GFF3 or GTF: coding segments, coding sequences and exons of transcripts."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import unquote

from gpu_tools.errors import InputError
from gpu_tools.formats.exons import gff
from gpu_tools.formats.exons.intervals import format_of, parse_exons
from gpu_tools.formats.files import OddItems, read_lines
from gpu_tools.formats.tables import Location
from gpu_tools.model.annotation import CodingSegment, CodingSequence
from gpu_tools.model.exon_set import ExonSet

Interval = tuple[int, int]


def read_annotated_exons(path: str | os.PathLike) -> dict[str, ExonSet]:
    """Read what a prediction of coding exons is to be compared with, by sequence name.

    That is, of a file in any format that `read_exons` knows, what `read_coding_segments` reads if
    there are features CDS, else all exons; parts of one exon, of a transcript, are joined.
    """
    lines = list(read_lines(path))
    # any format but GFF3 and GTF lacks the columns, and has no feature CDS
    if any(gff.is_coding(column) for _, line in lines for column in line.split("\t", 3)[2:3]):
        return _segments(path, lines, gff.CODING)
    found = parse_exons(path, lines)
    in_transcripts = found and format_of(path, lines) in ("gff3", "gtf")
    return _segments(path, lines, gff.EXON) if in_transcripts else found


def read_coding_segments(path: str | os.PathLike) -> dict[str, ExonSet]:
    """Read the features CDS of an annotation, whatever other features it has.

    GTF leaves the stop codon out of CDS and lists it as ``stop_codon``; it is joined to the
    segment of its transcript that it touches, so that segments mean the same in both formats.
    Segments of a transcript that abut are one, and repeated ones count once.
    """
    return _segments(path, list(read_lines(path)), gff.CODING)


def _segments(path, lines: list[tuple[int, str]], kind: str) -> dict[str, ExonSet]:
    """Return features of a kind by sequence, joined within each transcript."""
    gff3 = gff.is_gff3(path, lines)
    kinds = (gff.CODING, gff.STOP) if kind == gff.CODING and not gff3 else (kind,)
    parts = defaultdict(lambda: {kind: [], gff.STOP: []})
    for number, feature in enumerate(_features_of(path, lines, kinds)):
        in_gff3 = gff3 or feature.in_gff3
        if not (in_gff3 or kind == gff.EXON or feature.parents):
            raise feature.location.error(
                f"a {feature.type} without transcript_id", 'transcript_id "NAME"'
            )
        name = unquote(feature.seqid) if in_gff3 else feature.seqid
        reverse = feature.location.strand(feature.strand)
        for parent in feature.parents or [number]:  # one of no transcript stands alone
            parts[name, reverse, parent][feature.kind].append(feature.interval)
    exons = gff.ExonCollector()
    for (name, reverse, _), intervals in parts.items():
        for interval in gff.merged(with_stop_codons(intervals[kind], intervals[gff.STOP])):
            exons.add(name, interval, reverse)
    return exons.sets()


def _features_of(
    path, lines: Iterable[tuple[int, str]], kinds: tuple[str, ...]
) -> Iterator[gff.Feature]:
    """Yield the features of some kinds; an annotation that has none of them is an error.

    In GFF3 the stop codon belongs to CDS, so that its own feature is left out.
    """
    seen, found = {}, False
    for feature in gff.features(path, lines):
        seen[feature.type] = None
        if feature.kind in kinds and not (feature.kind == gff.STOP and feature.in_gff3):
            found = found or feature.kind != gff.STOP
            yield feature
    if not found:
        what, expected = kinds[0], f"an annotation with features {kinds[0]}"
        if gff.EXON in kinds and gff.CODING in kinds:
            what, expected = "exon of a transcript", "GFF3 or GTF with exons"
        raise gff.lacking(what, path, seen, expected)


def with_stop_codons(segments: list[Interval], stops: list[Interval]) -> Iterator[Interval]:
    """Yield segments, each joined with the stop codon's part that it touches, and the rest.

    Intervals are 0-based half-open; the segments come first, in their order.
    """
    free = set(stops)
    for start, end in segments:
        touching = {stop for stop in free if stop[0] <= end and stop[1] >= start}
        free -= touching
        yield min([start, *(a for a, _ in touching)]), max([end, *(b for _, b in touching)])
    yield from sorted(free)


# Annotated coding sequences in GFF3 and GTF.


_UNKNOWN = "."
_PHASES = ("0", "1", "2", _UNKNOWN)
_STRANDS = ("+", "-")


class _CodingLine(NamedTuple):
    """A line's part of a coding sequence; the interval is 0-based half-open."""

    location: Location
    strand: str
    interval: tuple[int, int]
    phase: str
    partial: bool


def read_coding(path: str | os.PathLike) -> dict[str, tuple[CodingSequence, ...]]:
    """Read the coding sequences of a GFF3 or GTF file by sequence name, in the order of the file.

    Lines of one ``Parent``, or without one of one ``ID``, or without both of one
    ``transcript_id``, make a coding sequence, whose segments are in reading order. A line with the
    attribute ``partial=true`` is a segment that the annotation cuts short. A GTF's features
    ``stop_codon`` are joined to the segments of their transcript.

    Coding sequences on both strands or on none, and those that are cut short and have no first
    phase, are left out with a warning.

    A phase ``.`` follows from the segment before; that of a first segment is 0. Segments that abut,
    in one reading frame, are one, and a repeated line counts once.
    """
    return coding_of(path, read_lines(path))


def coding_of(
    path: str | os.PathLike, lines: Iterable[tuple[int, str]]
) -> dict[str, tuple[CodingSequence, ...]]:
    """Return what `read_coding` does of numbered lines."""
    parts: dict[tuple[str, str], list[_CodingLine]] = defaultdict(list)
    stops: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for feature in _features_of(path, lines, (gff.CODING, gff.STOP)):
        if feature.kind == gff.CODING:
            _add(parts, feature)
        else:
            for name in feature.parents:
                stops[feature.record, name].append(feature.interval)
    coding: dict[str, list[CodingSequence]] = defaultdict(list)
    odd = OddItems("coding sequences without one strand or a first phase, left out")
    for (record, name), lines in parts.items():
        try:
            sequence = _sequence(name, lines, stops.get((record, name), []))
        except InputError as error:
            odd.add(error)
        else:
            coding[record].append(sequence)
    if not coding:
        raise odd.first
    odd.warn()
    return {record: tuple(several) for record, several in coding.items()}


def _add(parts, feature: gff.Feature) -> None:
    if not feature.parents:
        raise feature.location.error(
            "a coding segment without transcript", "the attribute Parent, ID or transcript_id"
        )
    for name in feature.parents:
        parts[feature.record, name].append(_part(feature))


def _part(feature: gff.Feature) -> _CodingLine:
    if feature.phase not in _PHASES:
        raise feature.location.error(
            f"phase {feature.phase!r} of a coding segment", "0, 1 or 2, or . in complete sequences"
        )
    partial = feature.attribute("partial") == "true"
    return _CodingLine(feature.location, feature.strand, feature.interval, feature.phase, partial)


def _sequence(name: str, lines: list[_CodingLine], stops: list[tuple[int, int]]) -> CodingSequence:
    """Join the lines of a coding sequence and its stop codon."""
    first = lines[0]
    for line in lines:
        if line.strand not in _STRANDS:
            raise line.location.error(f"strand {line.strand!r} of a coding segment", "+ or -")
        if line.strand != first.strand:
            raise line.location.error(f"coding sequence {name!r} is on both strands", "one strand")
    lines = _distinct(lines)
    joined = list(with_stop_codons([part.interval for part in lines], stops))
    apart = [first._replace(phase=_UNKNOWN, partial=False)] * (len(joined) - len(lines))
    parts = [
        p._replace(interval=interval) for p, interval in zip([*lines, *apart], joined, strict=True)
    ]
    parts.sort(key=lambda part: part.interval[0], reverse=first.strand == "-")
    return CodingSequence(
        name, first.strand, tuple(_joined(_coding_segments(parts))), first.location.line
    )


def _distinct(lines: list[_CodingLine]) -> list[_CodingLine]:
    return list({(line.interval, line.phase): line for line in reversed(lines)}.values())[::-1]


def _joined(segments: Iterable[CodingSegment]) -> list[CodingSegment]:
    """Join segments in reading order between which no intron lies and the frame goes on."""
    joined: list[CodingSegment] = []
    for segment in segments:
        before = joined[-1] if joined else None
        length = before and before.end - before.start
        touching = before and segment.phase == (before.phase - length) % 3 and (
            before.end == segment.start or segment.end == before.start
        )  # fmt: skip
        if touching:
            start, end = min(before.start, segment.start), max(before.end, segment.end)
            partial = before.partial or segment.partial
            joined[-1] = replace(before, start=start, end=end, partial=partial)
        else:
            joined.append(segment)
    return joined


def _coding_segments(parts: list[_CodingLine]) -> Iterator[CodingSegment]:
    """Yield the segments of parts in reading order, each with its phase."""
    following = 0
    for k, part in enumerate(parts):
        if k == 0 and part.phase == _UNKNOWN and part.partial:
            raise part.location.error("no phase where the annotation cuts short", "0, 1 or 2")
        phase = following if part.phase == _UNKNOWN else int(part.phase)
        start, end = part.interval
        yield CodingSegment(start, end, phase, part.partial)
        following = (phase - (end - start)) % 3


# Transcripts of GFF3 and GTF: the exons that have one parent.


class TranscriptExons(NamedTuple):
    """Where the exons of a transcript lie, by position, 0-based half-open."""

    record: str
    strand: str
    exons: tuple[tuple[int, int], ...]


def read_transcripts(path: str | os.PathLike) -> list[TranscriptExons]:
    """Read the features ``exon`` of each transcript; UTRs may be among them.

    A transcript without features ``exon`` has those that its CDS and stop codon make. Exons of a
    transcript that abut are one, and repeated ones count once. A transcript on both strands, as of
    trans-spliced genes, is left out with a warning.
    """
    found = defaultdict(lambda: {gff.EXON: [], gff.CODING: [], gff.STOP: []})
    strands, unclear = {}, {}
    for feature in _features_of(path, read_lines(path), (gff.EXON, gff.CODING, gff.STOP)):
        if not feature.parents:
            raise feature.location.error(
                f"a feature {feature.type} of no transcript", "Parent or transcript_id"
            )
        strand = feature.location.strand(feature.strand)
        for parent in feature.parents:
            name = feature.record, parent
            found[name][feature.kind].append(feature.interval)
            if strands.setdefault(name, strand) != strand:
                unclear.setdefault(name, feature.location.error(f"{parent!r} is on both strands"))
    odd = OddItems("transcripts on both strands, left out")
    for error in unclear.values():
        odd.add(error)
    odd.warn()
    return [
        TranscriptExons(name[0], "+-"[strands[name]], tuple(gff.merged(_exons_of(parts))))
        for name, parts in found.items()
        if name not in unclear
    ]


def _exons_of(parts: dict[str, list[tuple[int, int]]]) -> Iterable[tuple[int, int]]:
    return parts[gff.EXON] or with_stop_codons(parts[gff.CODING], parts[gff.STOP])
