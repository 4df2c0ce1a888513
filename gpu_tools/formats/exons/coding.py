"""Annotated coding sequences in GFF3 and GTF."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import unquote

from gpu_tools.errors import InputError
from gpu_tools.formats.exons.annotation import with_stop_codons
from gpu_tools.formats.exons.gff import CODING, STOP, Feature, features, lacking
from gpu_tools.formats.fields import Location
from gpu_tools.formats.files import read_lines
from gpu_tools.formats.odd import OddItems
from gpu_tools.model.annotation import CodingSegment, CodingSequence

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

    Parameters
    ----------
    path : str or PathLike
        Plain or compressed file; ``-`` is standard input.

    Returns
    -------
    dict of str to tuple of CodingSequence
        Coding sequences by sequence name.

    Raises
    ------
    InputError
        For a file without a coding sequence that can be read, a line that is neither format, or a
        coding segment without transcript.
    """
    parts: dict[tuple[str, str], list[_CodingLine]] = defaultdict(list)
    stops: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    seen = {}
    for feature in features(path, read_lines(path)):
        seen[feature.type] = None
        if feature.kind == CODING:
            _add(parts, feature)
        elif feature.kind == STOP and not feature.in_gff3:  # in GFF3 the CDS has it
            for name in feature.parents:
                stops[unquote(feature.seqid), name].append(feature.interval)
    if not parts:
        raise lacking("CDS", path, seen, "an annotation with features CDS")
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
    odd.tell()
    return {record: tuple(several) for record, several in coding.items()}


def _add(parts, feature: Feature) -> None:
    if not feature.parents:
        raise feature.location.error(
            "a coding segment without transcript", "the attribute Parent, ID or transcript_id"
        )
    for name in feature.parents:
        parts[unquote(feature.seqid), name].append(_part(feature))


def _part(feature: Feature) -> _CodingLine:
    if feature.phase not in _PHASES:
        raise feature.location.error(
            f"phase {feature.phase!r} of a coding segment", "0, 1 or 2, or . in complete sequences"
        )
    partial = feature.attribute("partial") == "true"
    return _CodingLine(feature.location, feature.strand, feature.interval, feature.phase, partial)


def _sequence(name: str, lines: list[_CodingLine], stops: list[tuple[int, int]]) -> CodingSequence:
    """Join the lines of a coding sequence and its stop codon.

    Raises
    ------
    InputError
        If they lie on both strands, as those of trans-spliced genes do, or on none, or no phase is
        known.
    """
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
    return CodingSequence(name, first.strand, tuple(_joined(_segments(parts))), first.location.line)


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


def _segments(parts: list[_CodingLine]) -> Iterator[CodingSegment]:
    """Yield the segments of parts in reading order, each with its phase."""
    following = 0
    for k, part in enumerate(parts):
        if k == 0 and part.phase == _UNKNOWN and part.partial:
            raise part.location.error("no phase where the annotation cuts short", "0, 1 or 2")
        phase = following if part.phase == _UNKNOWN else int(part.phase)
        start, end = part.interval
        yield CodingSegment(start, end, phase, part.partial)
        following = (phase - (end - start)) % 3
