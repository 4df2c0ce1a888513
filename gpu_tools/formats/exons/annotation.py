"""Coding segments of an annotation in GFF3 or GTF."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator

from gpu_tools.errors import InputError
from gpu_tools.formats.exons.collect import ExonCollector
from gpu_tools.formats.exons.gff import CODING_FEATURES, Feature, features, parse_features
from gpu_tools.formats.exons.intervals import parse_exons
from gpu_tools.formats.files import read_lines
from gpu_tools.model.exon_set import ExonSet

_CODING_COLUMN = [[name] for name in CODING_FEATURES]
Interval = tuple[int, int]


def read_annotated_exons(path: str | os.PathLike) -> dict[str, ExonSet]:
    """Read what a prediction of coding exons is to be compared with, by sequence name.

    That is, of a file in any format that `read_exons` knows, what `read_coding_segments` reads if
    there are features CDS, else all exons.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    lines = list(read_lines(path))
    # any format but GFF3 and GTF lacks the columns, and has no feature CDS
    if any(line.split("\t", 3)[2:3] in _CODING_COLUMN for _, line in lines):
        return _coding_segments(path, lines)
    return parse_exons(path, lines)


def read_coding_segments(path: str | os.PathLike) -> dict[str, ExonSet]:
    """Read the features CDS of an annotation, whatever other features it has.

    GTF leaves the stop codon out of CDS and lists it as ``stop_codon``; it is joined to the
    segment of its transcript that it touches, so that segments mean the same in both formats.

    Parameters
    ----------
    path : str or PathLike
        GFF3, known by its version line, or GTF; plain or compressed.

    Returns
    -------
    dict of str to ExonSet
        Segments by sequence name, 0-based half-open; equal ones as often as transcripts have
        them.

    Raises
    ------
    InputError
        If the file cannot be read, is neither format, or has no CDS.
    """
    return _coding_segments(path, list(read_lines(path)))


def _coding_segments(path, lines: list[tuple[int, str]]) -> dict[str, ExonSet]:
    if bool(lines) and lines[0][1].split()[:2] == ["##gff-version", "3"]:
        segments = parse_features(path, lines, types=CODING_FEATURES)
    else:
        segments = _gtf_segments(features(path, lines))
    if not segments:
        raise InputError("no CDS", path=path, expected="an annotation with features CDS")
    return segments


def _gtf_segments(found: Iterable[Feature]) -> dict[str, ExonSet]:
    transcripts = defaultdict(lambda: {"CDS": [], "stop_codon": []})
    for feature in found:
        if feature.type in ("CDS", "stop_codon"):
            transcript = feature.attribute("transcript_id")
            if not transcript:
                raise feature.location.error(
                    f"a {feature.type} without transcript_id", 'transcript_id "NAME"'
                )
            reverse = feature.location.strand(feature.strand)
            intervals = transcripts[feature.seqid, reverse, transcript]
            intervals[feature.type].append(feature.interval)
    exons = ExonCollector()
    for (name, reverse, _), intervals in transcripts.items():
        for interval in with_stop_codons(intervals["CDS"], intervals["stop_codon"]):
            exons.add(name, interval, reverse)
    return exons.sets()


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
