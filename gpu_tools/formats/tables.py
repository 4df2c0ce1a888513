"""Tab-separated tables with one header line."""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats.files import open_output, read_lines

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_INT64_DIGITS = 19  # of the largest integer of 64 bits
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_STRANDS = {"+": False, "-": True, ".": False}


BED_NAME = re.compile(r"(?!#|(track|browser)(\s|$))[^\t\r\n]+")
"""A sequence's name that BED can hold: lines that begin otherwise are no data."""
_NOT_DATA_OF_BED = re.compile(r"\s*$|#|(track|browser)(\s|$)")


@dataclass(frozen=True)
class Location:
    """A line of a file, 1-based; every error raised here names it."""

    path: str | os.PathLike
    line: int

    def error(self, problem: str, expected: str | None = None) -> InputError:
        """Return an error at this location."""
        return InputError(problem, path=self.path, line=self.line, expected=expected)

    def integer(self, text: str, what: str) -> int:
        """Return an integer, or raise `InputError` that says `what` it should have been."""
        if not _INTEGER.fullmatch(text):
            raise self.error(f"{what} {text!r} is not an integer")
        return int(text)

    def number(self, text: str, what: str) -> float:
        """Return a finite number, or raise `InputError` that says `what` it should have been."""
        if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
            raise self.error(f"{what} {text!r} is not a number")
        return float(text)

    def whole_or_number(self, text: str, what: str) -> float | int:
        """Return a finite number, as an integer of 64 bits if it is written as one."""
        word = text.strip()
        if not _WHOLE.fullmatch(word):
            return self.number(word, what)
        if len(word.lstrip("+-0")) > _INT64_DIGITS or not -(2**63) <= int(word) < 2**63:
            raise self.error(f"{what} {text!r} is out of range", "an integer of 64 bits")
        return int(word)

    def score(self, text: str | None) -> float:
        """Return a score; ``.`` or none at all is 0."""
        return 0.0 if text in (None, ".") else self.number(text, "score")

    def probability(self, text: str | None) -> float:
        """Return a probability; ``.`` or none at all is NaN."""
        if text in (None, "."):
            return math.nan
        value = self.number(text, "probability")
        if not 0.0 <= value <= 1.0:
            raise self.error(f"probability {text} is out of range", "0 to 1")
        return value

    def strand(self, text: str | None) -> bool:
        """Return True for the reverse strand; ``.`` or none at all is the forward one."""
        if text is None:
            return False
        if text not in _STRANDS:
            raise self.error(f"unknown strand {text!r}", "+, - or .")
        return _STRANDS[text]

    def closed_interval(self, start: str, end: str) -> tuple[int, int]:
        """Return a 0-based half-open interval from 1-based inclusive bounds."""
        first, last = self.integer(start, "start"), self.integer(end, "end")
        if first < 1:
            raise self.error(f"start {first} lies before the sequence", "positions from 1")
        if first > last:
            raise self.error(f"start {first} lies after end {last}")
        return first - 1, last

    def half_open_interval(self, start: str, end: str) -> tuple[int, int]:
        """Return a checked 0-based half-open interval."""
        first, after = self.integer(start, "start"), self.integer(end, "end")
        if first < 0:
            raise self.error(f"start {first} lies before the sequence", "positions from 0")
        if first >= after:
            raise self.error(f"start {first} does not lie before end {after}")
        return first, after


def fields_of(line: str, most: int | None = None) -> list[str]:
    """Return the tab-separated fields of a line that another program may have written.

    Spreadsheets put blanks and quotes around fields, and tabs behind the last one: the quotes of a
    field, and empty fields behind the first `most`, are left out.
    """
    fields = [field.strip() for field in line.split("\t")]
    if '"' in line:
        fields = [_unquoted(field) for field in fields]
    while most is not None and len(fields) > most and not fields[-1]:
        fields.pop()
    return fields


def _unquoted(field: str) -> str:
    quoted = len(field) > 1 and field[0] == field[-1] == '"'
    return field[1:-1].replace('""', '"').strip() if quoted else field


def bed_line(*fields: object) -> str:
    """Return a line of BED."""
    if not BED_NAME.fullmatch(str(fields[0])):
        raise OutputError(f"the name {fields[0]!r} cannot stand in BED")
    return "\t".join(map(str, fields)) + "\n"


def bed_fields(
    path: str | os.PathLike, lines: Iterable[tuple[int, str]]
) -> Iterator[tuple[Location, list[str]]]:
    """Yield the fields of numbered lines of BED or bedGraph, between tabs or else blanks."""
    for number, line in lines:
        if not _NOT_DATA_OF_BED.match(line):
            yield Location(path, number), fields_of(line, 3) if "\t" in line else line.split()


MISSING = "."


def write_table(
    path: str | os.PathLike, columns: Sequence[str], rows: Iterable[Sequence[object]],
    optional: Container[str] = (),
) -> None:  # fmt: skip
    """Write a table; the file appears only when complete.

    An `optional` column in which no row has a value is left out.
    """
    if optional:
        rows = list(rows)
        kept = [
            name not in optional or any(row[k] is not None for row in rows)
            for k, name in enumerate(columns)
        ]
        columns, rows = [*compress(columns, kept)], [[*compress(row, kept)] for row in rows]
    with open_output(path) as stream:
        table = csv.writer(
            stream, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, quotechar=None
        )
        table.writerow(columns)
        for row in rows:
            if len(row) != len(columns):
                raise ValueError(f"{len(row)} values in a row of {len(columns)} columns")
            try:
                table.writerow([MISSING if value is None else value for value in row])
            except csv.Error:
                raise OutputError(f"{path}: a value of {row!r} holds a tab or a line end") from None


def read_table(
    path: str | os.PathLike,
    required_columns: Sequence[str],
    optional_columns: Sequence[str] = (),
    comments: bool = True,
) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Yield the rows of a table with a header line.

    Blank lines are skipped, other columns are ignored. Of a table that another program may
    have written, blanks and quotes around fields, and tabs behind the last column, are left out.
    """
    yield from parse_table(path, read_lines(path), required_columns, optional_columns, comments)


def parse_table(
    path: str | os.PathLike,
    lines: Iterable[tuple[int, str]],
    required_columns: Sequence[str],
    optional_columns: Sequence[str] = (),
    comments: bool = True,
) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Yield the rows of numbered lines as `read_table` does; `path` is named in errors."""
    comment = "#" if comments else "\n"  # no line holds its end
    filled = ((n, line) for n, line in lines if line.strip() and not line.startswith(comment))
    number, header = next(filled, (None, None))
    if header is None:
        raise InputError(
            "no header line", path=path, expected=f"columns {', '.join(required_columns)}"
        )
    names = fields_of(header, 1) if comments else header.split("\t")
    _check_header(names, required_columns, path, number)
    for number, line in filled:
        fields = fields_of(line, len(names)) if comments else line.split("\t")
        if len(fields) != len(names):
            raise InputError(
                f"{len(fields)} fields", path=path, line=number,
                expected=f"{len(names)} tab-separated fields as in the header",
            )  # fmt: skip
        row = dict(zip(names, fields, strict=True))
        yield number, _chosen(row, required_columns, optional_columns, path, number)


def _check_header(names, required_columns, path, line) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"column {name!r} occurs twice", path=path, line=line)
    missing = [name for name in required_columns if name not in names]
    if missing:
        raise InputError(
            f"column {missing[0]!r} is missing", path=path, line=line,
            expected=f"a tab-separated header with {', '.join(required_columns)}",
        )  # fmt: skip


def _chosen(row, required_columns, optional_columns, path, line) -> dict[str, str | None]:
    for name in required_columns:
        if not row[name].strip():
            raise InputError(f"column {name!r} is empty", path=path, line=line)
    chosen = {name: row[name] for name in required_columns}
    for name in optional_columns:
        text = row.get(name, MISSING)
        chosen[name] = None if text.strip() in ("", MISSING) else text
    return chosen
