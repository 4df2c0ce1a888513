"""Candidate exons in any of the formats that the tools read and write."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Container, Iterable, Mapping
from functools import partial
from itertools import chain, islice
from pathlib import PurePath
from typing import TextIO

from gpu_tools.errors import InputError, OutputError, counted
from gpu_tools.formats.exons import gff
from gpu_tools.formats.exons.predictors import parse_genscan, write_genscan
from gpu_tools.formats.files import open_output, read_lines, without_compression
from gpu_tools.formats.tables import (
    MISSING,
    Location,
    bed_fields,
    bed_line,
    fields_of,
    parse_table,
)
from gpu_tools.model.exon_set import EXON_TYPES, ExonSet

AUTO = "auto"
FORMATS = ("genscan", "gff3", "gtf", "bed", "tsv")
"""Formats that `read_exons` knows."""
WRITTEN_FORMATS = ("gff3", "bed", "tsv", "genscan")
"""Formats that `write_exons` knows."""

_REQUIRED = ("base", "start", "end")
_OPTIONAL = ("strand", "score", "exon_type", "probability")
_GENSCAN_TITLE = re.compile(r"\s*GENSCAN\s+\d")
_SUFFIXES = {
    ".genscan": "genscan", ".gff3": "gff3", ".gff": "gtf", ".gtf": "gtf", ".bed": "bed",
    ".tsv": "tsv",
}  # fmt: skip
# other names would be read back as another name, as a comment or as more than one field
_NAMES = {
    "gff3": re.compile(r"(?s:.+)"), "bed": re.compile(r"(?!#|(track|browser)$)\S+"),
    "tsv": re.compile(r"(?!#)\S([^\t\r\n]*\S)?"), "genscan": re.compile(r"\S+"),
}  # fmt: skip
_MIN_COLUMNS, _MAX_COLUMNS = 3, 12
"""Columns of BED."""
_log = logging.getLogger(__name__)


def read_exons(
    path: str | os.PathLike,
    format: str = AUTO,
    record: str | None = None,
    known: Container[str] = (),
) -> dict[str, ExonSet]:
    """Read candidate exons."""
    return parse_exons(path, read_lines(path), format, record, known)


def parse_exons(
    path: str | os.PathLike,
    lines: Iterable[tuple[int, str]],
    format: str = AUTO,
    record: str | None = None,
    known: Container[str] = (),
) -> dict[str, ExonSet]:
    """Parse numbered lines as `read_exons` does; `path` is named in errors."""
    lines = iter(lines)
    if format == AUTO:
        head = list(islice(lines, gff.LINES_TO_RECOGNISE))
        format, lines = format_of(path, head), chain(head, lines)
    exons = _PARSERS[format](path, lines) if format else {}
    if not exons:
        _log.warning("%s holds no exon", "standard input" if str(path) == "-" else path)
    if format == "genscan" and len(exons) == 1 and record not in (None, *exons):
        ((reported, only),) = exons.items()
        if reported in known:
            return exons
        _log.warning("%s: sequence %s is taken for %s", path, reported, record)
        return {record: only}
    return exons


def read_intervals(path: str | os.PathLike) -> list[tuple[str, int, int]]:
    """Read the name, start and end (0-based half-open) of each line of a BED file."""
    intervals = []
    for location, fields in bed_fields(path, read_lines(path)):
        _check_columns(location, fields)
        intervals.append((fields[0], *location.half_open_interval(fields[1], fields[2])))
    if not intervals:
        raise InputError("no interval", path=path, expected="BED: name, start and end")
    return intervals


def write_exons(
    path: str | os.PathLike,
    sets: Mapping[str, ExonSet],
    format: str,
    lengths: Mapping[str, int] | None = None,
) -> None:
    """Write candidate exons; the file appears only when complete."""
    for name in sets:
        if not _NAMES[format].fullmatch(name):
            raise OutputError(f"{path}: the name {name!r} cannot stand in {format}")
    with open_output(path) as stream:
        _WRITERS[format](stream, sets, lengths)


def format_of(path: str | os.PathLike, head: list[tuple[int, str]]) -> str | None:
    """Return the format of a file that begins with the lines `head`, None if it has none."""
    head = head[: gff.LINES_TO_RECOGNISE]
    if not any(line.strip() for _, line in head):
        return None
    if gff.has_version(head):
        return "gff3"
    for _, line in head:
        if _GENSCAN_TITLE.match(line):
            return "genscan"
    first = next((line for _, line in head if line.strip() and line[0] != "#"), "")
    if set(_REQUIRED) <= set(fields_of(first)):
        return "tsv"
    suffix = PurePath(without_compression(path)).suffix
    if suffix not in _SUFFIXES:
        raise InputError(
            "the format cannot be recognised by content or suffix", path=path,
            expected=f"--exons-format (in exons convert: --from) {'|'.join(FORMATS)}",
        )  # fmt: skip
    return _SUFFIXES[suffix]


def _parse_tsv(path, lines: Iterable[tuple[int, str]]) -> dict[str, ExonSet]:
    exons = gff.ExonCollector()
    for number, row in parse_table(path, lines, _REQUIRED, _OPTIONAL):
        location, kind = Location(path, number), row["exon_type"]
        if kind not in (None, *EXON_TYPES[1:]):
            raise location.error(f"unknown exon type {kind!r}", f"{', '.join(EXON_TYPES[1:])} or .")
        exons.add(
            row["base"],
            location.closed_interval(row["start"], row["end"]),
            location.strand(row["strand"]),
            location.score(row["score"]),
            gff.exon_type_code(kind),
            location.probability(row["probability"]),
        )
    return exons.sets()


def _write_tsv(stream: TextIO, sets: Mapping[str, ExonSet], lengths=None) -> None:
    stream.write("\t".join((*_REQUIRED, *_OPTIONAL)) + "\n")
    for name, exons in sets.items():
        for start, end, strand, score, kind, probability in gff.exon_rows(exons):
            values = (start + 1, end, strand, score, kind or MISSING, probability or MISSING)
            stream.write("\t".join(map(str, (name, *values))) + "\n")


def _parse_bed(path, lines: Iterable[tuple[int, str]]) -> dict[str, ExonSet]:
    """Return the intervals of BED lines by sequence; of 12 columns, the blocks.

    A name (column 4) that is an exon type, as `_write_bed` writes it, is read as the type.
    """
    exons = gff.ExonCollector()
    for location, fields in bed_fields(path, lines):
        _check_columns(location, fields)
        interval = location.half_open_interval(fields[1], fields[2])
        name, score, strand = (fields[3:6] + [None] * 3)[:3]
        values = (location.strand(strand), location.score(score), gff.exon_type_code(name))
        for block in bed_blocks(location, interval, fields[9:]):
            exons.add(fields[0], block, *values)
    return exons.sets()


def _check_columns(location: Location, fields: list[str]) -> None:
    if not _MIN_COLUMNS <= len(fields) <= _MAX_COLUMNS:
        raise location.error(
            counted(len(fields), "column"), f"{_MIN_COLUMNS} to {_MAX_COLUMNS} columns"
        )
    if not fields[0].strip():
        raise location.error("the sequence's name is empty")


def bed_blocks(
    location: Location, interval: tuple[int, int], fields: list[str]
) -> list[tuple[int, int]]:
    """Return the blocks of a line of BED by its columns from the tenth on, else the interval."""
    if len(fields) < 3:
        return [interval]
    start, end = interval
    count = location.integer(fields[0], "block count")
    lists = (text.strip().rstrip(",").split(",") for text in fields[1:])
    sizes, offsets = ([location.integer(w, "block value") for w in words] for words in lists)
    if not len(sizes) == len(offsets) == count > 0:
        raise location.error(f"{len(sizes)} block sizes and {len(offsets)} block starts",
                          f"{count} of each")  # fmt: skip
    blocks = [(start + o, start + o + n) for o, n in zip(offsets, sizes, strict=True)]
    if min(sizes) < 1 or min(offsets) != 0 or max(b for _, b in blocks) != end:
        raise location.error("the blocks do not span the interval", f"blocks from {start} to {end}")
    return blocks


def _write_bed(stream: TextIO, sets: Mapping[str, ExonSet], lengths=None) -> None:
    """Write BED of 6 columns; scores are not fitted to 0..1000, so that they read back."""
    for name, exons in sets.items():
        for start, end, strand, score, kind, _ in gff.exon_rows(exons):
            stream.write(bed_line(name, start, end, kind or ".", score, strand))


_PARSERS = {
    "genscan": parse_genscan, "gff3": gff.parse_features, "bed": _parse_bed, "tsv": _parse_tsv,
    "gtf": partial(gff.parse_features, unescape=str),
}  # fmt: skip
_WRITERS = {"gff3": gff.write_gff3, "bed": _write_bed, "tsv": _write_tsv, "genscan": write_genscan}
