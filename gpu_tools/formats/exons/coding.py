"""Annotated coding sequences in GFF3."""

from __future__ import annotations

import os
from collections import defaultdict
from urllib.parse import unquote

from gpu_tools.formats.fields import Location
from gpu_tools.formats.files import read_lines
from gpu_tools.model.annotation import CodingSegment, CodingSequence

CODING_FEATURES = frozenset(("CDS", "SO:0000316"))
_PHASES = ("0", "1", "2")
_STRANDS = ("+", "-")


def read_coding(path: str | os.PathLike) -> dict[str, tuple[CodingSequence, ...]]:
    """Read the coding sequences of a GFF3 file.

    Lines of one ``Parent``, or without one of one ``ID``, make a coding sequence. A line with the
    attribute ``partial=true`` is a segment that the annotation cuts short.

    Parameters
    ----------
    path : str or PathLike
        Plain, gzip or bgzip file; ``-`` is standard input.

    Returns
    -------
    dict of str to tuple of CodingSequence
        By sequence name, both in the order of the file; segments in reading order.

    Raises
    ------
    InputError
        For a line that is no GFF3, a coding segment without strand, phase, ``Parent`` and ``ID``,
        or a coding sequence on both strands.
    """
    segments: dict[tuple[str, str], list[tuple[str, CodingSegment]]] = defaultdict(list)
    for number, line in read_lines(path):
        if line.startswith((">", "##FASTA")):
            break
        fields = line.split("\t")
        if line.strip() and not line.startswith("#"):
            _add_line(segments, Location(path, number), fields)
    coding: dict[str, list[CodingSequence]] = defaultdict(list)
    for (record, name), parts in segments.items():
        coding[record].append(_joined(name, parts))
    return {record: tuple(several) for record, several in coding.items()}


def _add_line(segments, location: Location, fields: list[str]) -> None:
    if len(fields) != 9:
        raise location.error(f"{len(fields)} columns", "9 tab-separated columns")
    if fields[2] not in CODING_FEATURES:
        return
    strand, segment = _segment(location, fields)
    for name in _transcripts(location, fields[8]):
        parts = segments[unquote(fields[0]), name]
        if parts and parts[0][0] != strand:
            raise location.error(f"coding sequence {name!r} is on both strands")
        parts.append((strand, segment))


def _segment(location: Location, fields: list[str]) -> tuple[str, CodingSegment]:
    strand, phase = fields[6], fields[7]
    if strand not in _STRANDS:
        raise location.error(f"strand {strand!r} of a coding segment", "+ or -")
    if phase not in _PHASES:
        raise location.error(f"phase {phase!r} of a coding segment", "0, 1 or 2")
    partial = _attributes(fields[8]).get("partial") == "true"
    return strand, CodingSegment(
        *location.closed_interval(fields[3], fields[4]), int(phase), partial
    )


def _transcripts(location: Location, text: str) -> list[str]:
    attributes = _attributes(text)
    names = attributes.get("Parent") or attributes.get("ID")
    if not names:
        raise location.error("a coding segment without transcript", "the attribute Parent or ID")
    return [unquote(name) for name in names.split(",")]


def _attributes(text: str) -> dict[str, str]:
    pairs = (part.strip().partition("=") for part in text.split(";"))
    return {key: value for key, _, value in pairs}


def _joined(name: str, parts: list[tuple[str, CodingSegment]]) -> CodingSequence:
    strand = parts[0][0]
    segments = sorted((s for _, s in parts), key=lambda s: s.start, reverse=strand == "-")
    return CodingSequence(name, strand, tuple(segments))
