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

from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats.exons.bed import parse_bed, write_bed
from gpu_tools.formats.exons.gff import (
    LINES_TO_RECOGNISE,
    ExonCollector,
    exon_rows,
    exon_type_code,
    has_version,
    parse_features,
    write_gff3,
)
from gpu_tools.formats.exons.predictors import parse_genscan, write_genscan
from gpu_tools.formats.files import open_output, read_lines, without_compression
from gpu_tools.formats.tables import MISSING, Location, fields_of, parse_table
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
        head = list(islice(lines, LINES_TO_RECOGNISE))
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
    head = head[:LINES_TO_RECOGNISE]
    if not any(line.strip() for _, line in head):
        return None
    if has_version(head):
        return "gff3"
    for _, line in head:
        if _GENSCAN_TITLE.match(line):
            return "genscan"
    first = next((line for _, line in head if line.strip() and line[0] != "#"), "")
    if set(_REQUIRED) <= set(fields_of(first)):
        return "tsv"
    return _format_of_suffix(path)


def _format_of_suffix(path) -> str:
    suffix = PurePath(without_compression(path)).suffix
    if suffix not in _SUFFIXES:
        raise InputError(
            "the format cannot be recognised by content or suffix", path=path,
            expected=f"--exons-format (in exons convert: --from) {'|'.join(FORMATS)}",
        )  # fmt: skip
    return _SUFFIXES[suffix]


def _parse_tsv(path, lines: Iterable[tuple[int, str]]) -> dict[str, ExonSet]:
    exons = ExonCollector()
    for number, row in parse_table(path, lines, _REQUIRED, _OPTIONAL):
        location = Location(path, number)
        exons.add(
            row["base"],
            location.closed_interval(row["start"], row["end"]),
            location.strand(row["strand"]),
            location.score(row["score"]),
            _exon_type(location, row["exon_type"]),
            location.probability(row["probability"]),
        )
    return exons.sets()


def _exon_type(location: Location, name: str | None) -> int:
    if name not in (None, *EXON_TYPES[1:]):
        raise location.error(f"unknown exon type {name!r}", f"{', '.join(EXON_TYPES[1:])} or .")
    return exon_type_code(name)


def _write_tsv(stream: TextIO, sets: Mapping[str, ExonSet], lengths=None) -> None:
    stream.write("\t".join((*_REQUIRED, *_OPTIONAL)) + "\n")
    for name, exons in sets.items():
        for start, end, strand, score, kind, probability in exon_rows(exons):
            values = (start + 1, end, strand, score, kind or MISSING, probability or MISSING)
            stream.write("\t".join(map(str, (name, *values))) + "\n")


_PARSERS = {
    "genscan": parse_genscan, "gff3": parse_features, "bed": parse_bed, "tsv": _parse_tsv,
    "gtf": partial(parse_features, unescape=str),
}  # fmt: skip
_WRITERS = {
    "gff3": write_gff3, "bed": write_bed, "tsv": _write_tsv, "genscan": write_genscan,
}  # fmt: skip
