"""Coding segments of an annotation in GFF3 or GTF."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from urllib.parse import unquote

from gpu_tools.formats.exons.collect import ExonCollector
from gpu_tools.formats.exons.gff import (
    CODING,
    EXON,
    STOP,
    features,
    is_coding,
    is_gff3,
    lacking,
    merged,
)
from gpu_tools.formats.exons.intervals import format_of, parse_exons
from gpu_tools.formats.files import read_lines
from gpu_tools.model.exon_set import ExonSet

Interval = tuple[int, int]


def read_annotated_exons(path: str | os.PathLike) -> dict[str, ExonSet]:
    """Read what a prediction of coding exons is to be compared with, by sequence name.

    That is, of a file in any format that `read_exons` knows, what `read_coding_segments` reads if
    there are features CDS, else all exons; parts of one exon, of a transcript, are joined.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    lines = list(read_lines(path))
    # any format but GFF3 and GTF lacks the columns, and has no feature CDS
    if any(is_coding(column) for _, line in lines for column in line.split("\t", 3)[2:3]):
        return _segments(path, lines, CODING)
    found = parse_exons(path, lines)
    in_transcripts = found and format_of(path, lines) in ("gff3", "gtf")
    return _segments(path, lines, EXON) if in_transcripts else found


def read_coding_segments(path: str | os.PathLike) -> dict[str, ExonSet]:
    """Read the features CDS of an annotation, whatever other features it has.

    GTF leaves the stop codon out of CDS and lists it as ``stop_codon``; it is joined to the
    segment of its transcript that it touches, so that segments mean the same in both formats.
    Segments of a transcript that abut are one, and repeated ones count once.

    Parameters
    ----------
    path : str or PathLike
        GFF3 or GTF, plain or compressed.

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
    return _segments(path, list(read_lines(path)), CODING)


def _segments(path, lines: list[tuple[int, str]], kind: str) -> dict[str, ExonSet]:
    """Return features of a kind by sequence, joined within each transcript."""
    gff3 = is_gff3(path, lines)
    parts, seen = defaultdict(lambda: {kind: [], STOP: []}), {}
    for number, feature in enumerate(features(path, lines)):
        seen[feature.type] = None
        in_gff3 = gff3 or feature.in_gff3
        if feature.kind not in (kind, STOP) or (feature.kind == STOP and in_gff3 | (kind == EXON)):
            continue
        if not (in_gff3 or kind == EXON or feature.parents):
            raise feature.location.error(
                f"a {feature.type} without transcript_id", 'transcript_id "NAME"'
            )
        name = unquote(feature.seqid) if in_gff3 else feature.seqid
        reverse = feature.location.strand(feature.strand)
        for parent in feature.parents or [number]:  # one of no transcript stands alone
            parts[name, reverse, parent][feature.kind].append(feature.interval)
    if not parts:
        raise lacking(kind, path, seen, f"an annotation with features {kind}")
    exons = ExonCollector()
    for (name, reverse, _), intervals in parts.items():
        for interval in merged(with_stop_codons(intervals[kind], intervals[STOP])):
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
