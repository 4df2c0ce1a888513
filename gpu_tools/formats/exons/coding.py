"""Annotated coding sequences in GFF3."""

from __future__ import annotations

import os
from collections import defaultdict
from urllib.parse import unquote

from gpu_tools.formats.exons.gff import CODING_FEATURES, Feature, features
from gpu_tools.formats.files import read_lines
from gpu_tools.model.annotation import CodingSegment, CodingSequence

_PHASES = ("0", "1", "2")
_STRANDS = ("+", "-")


def read_coding(path: str | os.PathLike) -> dict[str, tuple[CodingSequence, ...]]:
    """Read the coding sequences of a GFF3 file by sequence name, both in the order of the file.

    Lines of one ``Parent``, or without one of one ``ID``, make a coding sequence, whose segments
    are in reading order. A line with the attribute ``partial=true`` is a segment that the
    annotation cuts short.

    Raises
    ------
    InputError
        For a line that is no GFF3, a coding segment without strand, phase, ``Parent`` and ``ID``,
        or a coding sequence on both strands.
    """
    segments: dict[tuple[str, str], list[tuple[str, CodingSegment]]] = defaultdict(list)
    for feature in features(path, read_lines(path)):
        if feature.type in CODING_FEATURES:
            _add(segments, feature)
    coding: dict[str, list[CodingSequence]] = defaultdict(list)
    for (record, name), parts in segments.items():
        strand = parts[0][0]
        ordered = sorted((s for _, s in parts), key=lambda s: s.start, reverse=strand == "-")
        coding[record].append(CodingSequence(name, strand, tuple(ordered)))
    return {record: tuple(several) for record, several in coding.items()}


def _add(segments, feature: Feature) -> None:
    strand, segment = feature.strand, _segment(feature)
    for name in _transcripts(feature):
        parts = segments[unquote(feature.seqid), name]
        if parts and parts[0][0] != strand:
            raise feature.location.error(f"coding sequence {name!r} is on both strands")
        parts.append((strand, segment))


def _segment(feature: Feature) -> CodingSegment:
    if feature.strand not in _STRANDS:
        raise feature.location.error(f"strand {feature.strand!r} of a coding segment", "+ or -")
    if feature.phase not in _PHASES:
        raise feature.location.error(f"phase {feature.phase!r} of a coding segment", "0, 1 or 2")
    partial = feature.attribute("partial") == "true"
    return CodingSegment(*feature.interval, int(feature.phase), partial)


def _transcripts(feature: Feature) -> list[str]:
    names = feature.attribute("Parent") or feature.attribute("ID")
    if not names:
        raise feature.location.error(
            "a coding segment without transcript", "the attribute Parent or ID"
        )
    return [unquote(name) for name in names.split(",")]
