"""Features in GFF3 and GTF: their lines, and the exons among them.

Lines are split here and not by a library of annotations (gffutils, say, makes a database of a file
first), because an error has to name the file, the line and what was expected there.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, TextIO
from urllib.parse import quote, unquote

import numpy as np

from gpu_tools.errors import InputError, counted
from gpu_tools.formats.files import without_compression
from gpu_tools.formats.tables import Location, fields_of
from gpu_tools.model.exon_set import ANY_PHASE, EXON_TYPES, ExonSet

_DTYPES = (np.int64, np.int64, np.bool_, np.float64, np.uint8, np.float64, np.int8)


def exon_type_code(name: str | None) -> int:
    """Return the code of Init, Intr, Term or Sngl, and 0 for any other name."""
    return EXON_TYPES.index(name) if name in EXON_TYPES else 0


def format_number(value: float) -> str:
    """Return the shortest decimal text that reads back as the same number."""
    return np.format_float_positional(value, trim="-")


def exon_rows(exons: ExonSet) -> Iterator[tuple[int, int, str, str, str | None, str | None]]:
    """Yield start, end, strand, score, type and probability; None for what is not known."""
    for k in range(len(exons)):
        probability = exons.probabilities[k]
        yield (
            exons.starts[k], exons.ends[k], "-" if exons.reverse[k] else "+",
            format_number(exons.scores[k]), EXON_TYPES[exons.types[k]] or None,
            None if np.isnan(probability) else format_number(probability),
        )  # fmt: skip


class ExonCollector:
    """Exons by sequence name; in the order in which the sequences were first named."""

    def __init__(self):
        self._rows: dict[str, list[tuple]] = {}

    def add_sequence(self, name: str) -> None:
        """Make a sequence known, also if no exon follows."""
        self._rows.setdefault(name, [])

    def add(
        self,
        name: str,
        interval: tuple[int, int],
        reverse: bool,
        score: float = 0.0,
        exon_type: int = 0,
        probability: float = math.nan,
        phase: int = ANY_PHASE,
    ) -> None:
        """Add an exon, 0-based half-open, to the sequence `name`."""
        row = (*interval, reverse, score, exon_type, probability, phase)
        self._rows.setdefault(name, []).append(row)

    def sets(self) -> dict[str, ExonSet]:
        """Return one set a sequence, or an empty dict if there is no exon at all."""
        if not any(self._rows.values()):
            return {}
        empty = [()] * len(_DTYPES)
        return {
            name: ExonSet(*map(np.array, zip(*rows, strict=True) if rows else empty, _DTYPES))
            for name, rows in self._rows.items()
        }


SOURCE = "gpu-tools"
CODING, EXON, STOP = "CDS", "exon", "stop_codon"
_KINDS = {
    "cds": CODING, "so:0000316": CODING, "coding_exon": CODING, "so:0000195": CODING,
    "exon": EXON, "so:0000147": EXON, "stop_codon": STOP, "so:0000319": STOP,
}  # fmt: skip
"""Kinds of features by their types in small letters: programs differ in how they write them."""
_IN_GFF3 = re.compile(r"\s*[^\s=;\"]+=")
"""Attributes of GFF3, ``key=value``; those of GTF are ``key "value"``."""
_COLUMNS, _TYPES_SHOWN = 9, 8
_VERSION = re.compile(r"##gff-version\s+3")
LINES_TO_RECOGNISE = 100
"""Lines at a file's beginning that show its format."""
_SAFE_IN_SEQID = ".:^*$@!+_?-|"
_SAFE_IN_ATTRIBUTE = _SAFE_IN_SEQID + "/#()[]{}<>~'\"\\`"
_NAMES = 1024
"""Escaped names in the cache: most lines have the same few."""


@lru_cache(_NAMES)
def escape_seqid(name: str) -> str:
    """Return a sequence name as GFF3's first column writes it."""
    return quote(name, safe=_SAFE_IN_SEQID)


@lru_cache(_NAMES)
def escape_attribute(text: str) -> str:
    """Return a name as GFF3's attributes write it, blanks escaped as ``Target`` needs them."""
    return quote(text, safe=_SAFE_IN_ATTRIBUTE)


def escape_value(text: str) -> str:
    """Return a value as GFF3's attributes write it, blanks as they are."""
    return quote(text, safe=_SAFE_IN_ATTRIBUTE + " ")


class Feature(NamedTuple):
    """One line of GFF3 or GTF: where it stands, and its nine columns as text."""

    location: Location
    seqid: str
    source: str
    type: str
    start: str
    end: str
    score: str
    strand: str
    phase: str
    attributes: str

    @property
    def interval(self) -> tuple[int, int]:
        """The checked interval, 0-based half-open."""
        return self.location.closed_interval(self.start, self.end)

    @property
    def kind(self) -> str:
        """`CODING`, `EXON` or `STOP`, in whatever case they are written; else the type."""
        return _kind_of(self.type)

    @property
    def in_gff3(self) -> bool:
        """Whether the attributes are those of GFF3."""
        return bool(_IN_GFF3.match(self.attributes))

    @property
    def record(self) -> str:
        """The sequence's name, which GFF3 alone escapes."""
        return unquote(self.seqid) if self.in_gff3 else self.seqid

    @property
    def parents(self) -> list[str]:
        """Names of the transcripts that have it: GFF3's ``Parent``, GTF's ``transcript_id``.

        A coding feature without either is of what has its ``ID``.
        """
        names = self.attribute("Parent")
        if not names and self.kind == CODING:
            names = self.attribute("ID")
        if names:
            return [unquote(name) for name in names.split(",")]
        name = self.attribute("transcript_id")
        return [name] if name else []

    @property
    def line(self) -> str:
        """The line without its end."""
        return "\t".join(self[1:])

    def attribute(self, key: str) -> str | None:
        """Return an attribute, written as ``key=value`` or as ``key "value"``, None without it."""
        for field in self.attributes.split(";"):
            word = field.strip()
            if word.startswith(f"{key}="):
                return _unquoted(word.removeprefix(f"{key}="))
            if word.split(None, 1)[:1] == [key] and word != key:
                return _unquoted(word.removeprefix(key).lstrip())
        return None


def _kind_of(type: str) -> str:
    return _KINDS.get(type.strip('" ').lower(), type)


def is_coding(type: str) -> bool:
    """Tell whether a type, as a file has it, is that of coding features."""
    return _kind_of(type) == CODING


def is_gff3(path: str | os.PathLike, lines: list[tuple[int, str]]) -> bool:
    """Tell whether a file is GFF3 by its version line or its name."""
    return has_version(lines) or without_compression(path).endswith(".gff3")


def has_version(lines: list[tuple[int, str]]) -> bool:
    """Tell whether a file says at its beginning that it is GFF3."""
    return any(_VERSION.match(line) for _, line in lines[:LINES_TO_RECOGNISE])


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def features(path: str | os.PathLike, lines: Iterable[tuple[int, str]]) -> Iterator[Feature]:
    """Yield the features of numbered lines of GFF3 or GTF, up to the sequences of GFF3."""
    for number, line in lines:
        if line.startswith((">", "##FASTA")):
            return
        if not line.strip() or line.startswith("#"):
            continue
        location, columns = Location(path, number), fields_of(line, _COLUMNS)
        if len(columns) != _COLUMNS:
            raise location.error(counted(len(columns), "column"), "9 tab-separated columns")
        if not columns[0]:
            raise location.error("the sequence's name is empty")
        yield Feature(location, *columns)


def feature_line(
    seqid: str,
    type: str,
    interval: tuple[int, int],
    attributes: str,
    strand: str = ".",
    score: object = ".",
    phase: object = ".",
) -> str:
    """Return a line of GFF3 or GTF; `interval` is 0-based half-open, texts are escaped already."""
    start, end = interval
    columns = (seqid, SOURCE, type, start + 1, end, score, strand, phase, attributes)
    return "\t".join(map(str, columns)) + "\n"


def gff3_head(lengths: Mapping[str, int]) -> Iterator[str]:
    """Yield the lines that begin a GFF3 file: its version, and a region for each sequence."""
    yield "##gff-version 3\n"
    for name, length in lengths.items():
        yield f"##sequence-region {escape_seqid(name)} 1 {length}\n"


def parse_features(
    path: str | os.PathLike,
    lines: Iterable[tuple[int, str]],
    unescape: Callable[[str], str] = unquote,
) -> dict[str, ExonSet]:
    """Return exons and coding features of GFF3 or GTF by sequence, whose names are unescaped."""
    exons, seen = ExonCollector(), {}
    for feature in features(path, lines):
        seen[feature.type] = None
        if feature.kind in (CODING, EXON):
            has_phase = feature.kind == CODING and feature.phase in ("0", "1", "2")
            exons.add(
                unescape(feature.seqid),
                feature.interval,
                feature.location.strand(feature.strand),
                feature.location.score(feature.score),
                exon_type_code(feature.attribute("exon_type")),
                feature.location.probability(feature.attribute("probability")),
                int(feature.phase) if has_phase else ANY_PHASE,
            )
    sets = exons.sets()
    if seen and not sets:
        raise lacking("exon", path, seen, "features exon or CDS")
    return sets


def lacking(what: str, path, types: Iterable[str], expected: str) -> InputError:
    """Return the error that a file has no feature of a kind; it names the types that it has."""
    shown = list(dict.fromkeys(types))
    more = ", ..." if len(shown) > _TYPES_SHOWN else ""
    seen = f" among the features {', '.join(shown[:_TYPES_SHOWN])}{more}" if shown else ""
    return InputError(f"no {what}{seen}", path=path, expected=expected)


def merged(intervals: Iterable[tuple[int, int]], gap: int = 1) -> list[tuple[int, int]]:
    """Return intervals by position, those fewer than `gap` nucleotides apart joined.

    So a transcript's lines that abut or overlap are one exon: programs write exons in parts, at a
    frameshift or where coding begins, and no intron lies between these.
    """
    joined: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        if joined and start - joined[-1][1] < gap:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def write_gff3(
    stream: TextIO, sets: Mapping[str, ExonSet], lengths: Mapping[str, int] | None = None
) -> None:
    """Write candidates as GFF3 features ``exon``; known lengths give sequence regions."""
    known = lengths or {}
    stream.writelines(gff3_head({name: known[name] for name in sets if name in known}))
    for name, exons in sets.items():
        for start, end, strand, score, kind, probability in exon_rows(exons):
            attributes = {"exon_type": kind, "probability": probability}
            text = ";".join(f"{key}={value}" for key, value in attributes.items() if value)
            interval = start, end
            stream.write(
                feature_line(escape_seqid(name), "exon", interval, text or ".", strand, score)
            )
