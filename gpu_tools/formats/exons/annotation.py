"""Coding segments of an annotation in GFF3 or GTF."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from gpu_tools.errors import InputError
from gpu_tools.formats.exons.collect import ExonCollector
from gpu_tools.formats.exons.gff import parse_gff3
from gpu_tools.formats.exons.intervals import parse_exons
from gpu_tools.formats.fields import Location
from gpu_tools.formats.files import read_lines
from gpu_tools.model.exon_set import ExonSet

CODING_FEATURES = ("CDS", "SO:0000316")
_TRANSCRIPT = re.compile(r'transcript_id\s+"?([^";]+)"?')
Interval = tuple[int, int]


def read_annotated_exons(path: str | os.PathLike) -> dict[str, ExonSet]:
    """Read what a prediction of coding exons is to be compared with.

    Parameters
    ----------
    path : str or PathLike
        Plain or compressed file in any format that `read_exons` knows; ``-`` is standard input.

    Returns
    -------
    dict of str to ExonSet
        As `read_coding_segments` if the file has features CDS, else all of its exons.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    lines = list(read_lines(path))
    if any(_feature(line) in CODING_FEATURES for _, line in lines):
        return _coding_segments(path, lines)
    return parse_exons(path, lines)[0]


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
    is_gff3 = bool(lines) and lines[0][1].split()[:2] == ["##gff-version", "3"]
    segments = (_gff3_segments if is_gff3 else _gtf_segments)(path, lines)
    if not segments:
        raise InputError("no CDS", path=path, expected="an annotation with features CDS")
    return segments


def _gff3_segments(path, lines: Iterable[tuple[int, str]]) -> dict[str, ExonSet]:
    kept = ((n, line) for n, line in lines if line[:1] in "#>" or _feature(line) in CODING_FEATURES)
    return parse_gff3(path, kept)


def _feature(line: str) -> str:
    return (line.split("\t", 3) + [""] * 3)[2]


def _gtf_segments(path, lines: Iterable[tuple[int, str]]) -> dict[str, ExonSet]:
    exons = ExonCollector()
    for (name, reverse, _), parts in _gtf_transcripts(path, lines).items():
        for interval in _with_stop(parts["CDS"], parts["stop_codon"]):
            exons.add(name, interval, reverse)
    return exons.sets()


def _gtf_transcripts(path, lines) -> dict[tuple[str, bool, str], dict[str, list[Interval]]]:
    """Return the intervals by feature of each transcript (sequence, reverse, name)."""
    transcripts = defaultdict(lambda: defaultdict(list))
    for number, line in lines:
        location = Location(path, number)
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 9:
            raise location.error(f"{len(fields)} columns", "9 tab-separated columns")
        transcript = _TRANSCRIPT.search(fields[8])
        if fields[2] in ("CDS", "stop_codon") and not transcript:
            raise location.error(f"a {fields[2]} without transcript_id", 'transcript_id "NAME"')
        if fields[2] in ("CDS", "stop_codon"):
            key = (fields[0], location.strand(fields[6]), transcript[1])
            transcripts[key][fields[2]].append(location.closed_interval(fields[3], fields[4]))
    return transcripts


def _with_stop(segments: list[Interval], stops: list[Interval]) -> Iterator[Interval]:
    """Yield segments, each joined with the stop codon's part that it touches, and the rest."""
    free = set(stops)
    for start, end in segments:
        touching = {stop for stop in free if stop[0] <= end and stop[1] >= start}
        free -= touching
        yield min([start, *(a for a, _ in touching)]), max([end, *(b for _, b in touching)])
    yield from sorted(free)
