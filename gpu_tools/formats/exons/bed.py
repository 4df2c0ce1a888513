"""Exons in BED."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TextIO

from gpu_tools.errors import InputError
from gpu_tools.formats.exons.gff import ExonCollector, exon_rows, exon_type_code
from gpu_tools.formats.files import read_lines
from gpu_tools.formats.tables import Location, bed_fields, bed_line
from gpu_tools.model.exon_set import ExonSet

_MIN_COLUMNS, _MAX_COLUMNS = 3, 12


def parse_bed(path: str | os.PathLike, lines: Iterable[tuple[int, str]]) -> dict[str, ExonSet]:
    """Return the intervals of BED lines by sequence; of 12 columns, the blocks.

    A name (column 4) that is an exon type, as `write_bed` writes it, is read as the type.
    """
    exons = ExonCollector()
    for location, fields in bed_fields(path, lines):
        _add_line(exons, location, fields)
    return exons.sets()


def read_intervals(path: str | os.PathLike) -> list[tuple[str, int, int]]:
    """Read the name, start and end (0-based half-open) of each line of a BED file."""
    intervals = []
    for location, fields in bed_fields(path, read_lines(path)):
        _check_columns(location, fields)
        intervals.append((fields[0], *location.half_open_interval(fields[1], fields[2])))
    if not intervals:
        raise InputError("no interval", path=path, expected="BED: name, start and end")
    return intervals


def _add_line(exons: ExonCollector, location: Location, fields: list[str]) -> None:
    _check_columns(location, fields)
    interval = location.half_open_interval(fields[1], fields[2])
    name, score, strand = (fields[3:6] + [None] * 3)[:3]
    values = (location.strand(strand), location.score(score), exon_type_code(name))
    for block in _blocks(location, interval, fields[9:]):
        exons.add(fields[0], block, *values)


def _check_columns(location: Location, fields: list[str]) -> None:
    if not _MIN_COLUMNS <= len(fields) <= _MAX_COLUMNS:
        raise location.error(f"{len(fields)} columns", f"{_MIN_COLUMNS} to {_MAX_COLUMNS} columns")
    if not fields[0].strip():
        raise location.error("the sequence's name is empty")


def _blocks(
    location: Location, interval: tuple[int, int], fields: list[str]
) -> list[tuple[int, int]]:
    if len(fields) < 3:
        return [interval]
    start, end = interval
    count = location.integer(fields[0], "block count")
    sizes, offsets = (_integers(location, text) for text in fields[1:])
    if not len(sizes) == len(offsets) == count > 0:
        raise location.error(f"{len(sizes)} block sizes and {len(offsets)} block starts",
                          f"{count} of each")  # fmt: skip
    blocks = [(start + o, start + o + n) for o, n in zip(offsets, sizes, strict=True)]
    if min(sizes) < 1 or min(offsets) != 0 or max(b for _, b in blocks) != end:
        raise location.error("the blocks do not span the interval",
                          f"blocks from {start} to {end}")  # fmt: skip
    return blocks


def _integers(location: Location, text: str) -> list[int]:
    return [location.integer(word, "block value") for word in text.strip().rstrip(",").split(",")]


def write_bed(
    stream: TextIO, sets: Mapping[str, ExonSet], lengths: Mapping[str, int] | None = None
) -> None:
    """Write candidates as BED of 6 columns, named by their type.

    The score is not fitted to 0..1000, so that it reads back unchanged.
    """
    for name, exons in sets.items():
        for start, end, strand, score, kind, _ in exon_rows(exons):
            columns = (name, start, end, kind or ".", score, strand)
            stream.write(bed_line(*columns))
