"""Fields of one line of text, turned into values or into errors that name the line."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpu_tools.errors import InputError, OutputError

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
    """Return a line of BED.

    Raises
    ------
    OutputError
        If readers would not take a line that begins with that name for data.
    """
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
