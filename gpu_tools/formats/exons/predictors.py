"""Reports of programs that predict genes: GENSCAN 1.0 and AUGUSTUS."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TextIO

import numpy as np

from gpu_tools.errors import InputError
from gpu_tools.formats.exons.gff import ExonCollector, Feature, exon_type_code, features
from gpu_tools.formats.tables import Location
from gpu_tools.model.exon_set import EXON_TYPES, ExonSet

# GENSCAN 1.0 reports: predicted and suboptimal exons.


_SIGNALS = ("Prom", "PlyA")  # feature types that are no exons
_TITLE = "GENSCAN "
_PREDICTED, _SUBOPTIMAL = "Predicted genes/exons", "Suboptimal exons"
_REST = "Predicted peptide sequence(s)"
_HEADINGS = (_PREDICTED, _SUBOPTIMAL, _REST)
_SEQUENCE = re.compile(r"Sequence (.+?) : ([0-9]{1,18}) bp\b")
"""Of a line with single blanks: the pattern tries each of many blanks together with each other."""
_NO_FEATURE = re.compile(r"(Gn\.Ex|Exnum)\s+Type\b|-+(\s+-+)*$|NO EXONS")
_TYPES = (*EXON_TYPES[1:], *_SIGNALS)
_REPORT_HEAD = """GENSCAN 1.0\tDate run: none\tTime: none

Sequence {name} : {length} bp : 0.00% C+G : Isochore 0 (0 - 100 C+G%)

Parameter matrix: none

Predicted genes/exons:

Gn.Ex Type S .Begin ...End .Len Fr Ph I/Ac Do/T CodRg P.... Tscr..
----- ---- - ------ ------ ---- -- -- ---- ---- ----- ----- ------

NO EXONS/GENES PREDICTED IN SEQUENCE

Suboptimal exons with probability > 0.000

Exnum Type S .Begin ...End .Len Fr Ph B/Ac Do/T CodRg P.... Tscr..
----- ---- - ------ ------ ---- -- -- ---- ---- ----- ----- ------

"""
_REPORT_END = """

Predicted peptide sequence(s):


NO PEPTIDES PREDICTED
"""


class GenscanFeature(NamedTuple):
    """What a line of a report says about a feature; the interval is 0-based half-open."""

    type: str
    strand: str
    interval: tuple[int, int]
    score: float
    probability: float = np.nan


def _parse_predicted(line: str, location: Location) -> GenscanFeature:
    words = line.split()
    is_signal = words[1:2] and words[1] in _SIGNALS
    if len(words) != (7 if is_signal else 13) or words[1] not in _TYPES:
        raise location.error(
            "not a GENSCAN feature line",
            "13 columns for an exon, 7 for a promoter or poly-A signal",
        )
    start, end = _interval(location, words[2], words[3:5])
    length = location.integer(words[5], "length")
    if length != end - start:
        raise location.error(f"length {length} is not that of {words[3]} to {words[4]}")
    for word in words[6:-2]:  # scores of sites, which nobody uses
        location.integer(word, "column")
    probability = np.nan if is_signal else location.probability(words[-2])
    score = location.number(words[-1], "score")
    return GenscanFeature(words[1], words[2], (start, end), score, probability)


def _parse_suboptimal(line: str, location: Location) -> GenscanFeature:
    """Read a suboptimal exon: the columns around the essential ones differ between reports."""
    words = line.split()
    k = next((k for k, word in enumerate(words) if word in _TYPES), None)
    if k is None or len(words) < k + 6:
        raise location.error(
            "not a suboptimal GENSCAN exon",
            "number, type, strand, begin, end, ..., probability, score",
        )
    interval = _interval(location, words[k + 1], words[k + 2 : k + 4])
    probability, score = location.probability(words[-2]), location.number(words[-1], "score")
    return GenscanFeature(words[k], words[k + 1], interval, score, probability)


def _interval(location: Location, strand: str, words: list[str]) -> tuple[int, int]:
    """Return a forward interval from 1-based inclusive ends, the higher one first on -."""
    if strand not in ("+", "-"):
        raise location.error(f"unknown strand {strand!r}", "+ or -")
    begin, end = (location.integer(word, "position") for word in words)
    if min(begin, end) < 1 or (begin > end if strand == "+" else begin < end):
        raise location.error(f"positions {begin} to {end} do not fit strand {strand}",
                             "begin <= end on +, begin >= end on -")  # fmt: skip
    return min(begin, end) - 1, max(begin, end)


def parse_genscan(path: str | os.PathLike, lines: Iterable[tuple[int, str]]) -> dict[str, ExonSet]:
    """Return the exons of all reports in a file, predicted before suboptimal ones, by sequence.

    A sequence without any exon has an empty set. If no sequence has an exon, the result is empty.
    """
    return _read(path, lines).exons.sets()


def parse_report(path: str | os.PathLike, lines: Iterable[tuple[int, str]], length: int) -> ExonSet:
    """Return the exons of a report on one sequence of a known length, whatever its name."""
    reader = _read(path, lines)
    if reader.n_sequences != 1 or reader.length != length:
        raise InputError(
            f"reports on {reader.n_sequences} sequences, the last of {reader.length} bp",
            path=path, expected=f"a GENSCAN report on one sequence of {length} bp",
        )  # fmt: skip
    return reader.exons.sets().get(reader.name, ExonSet.empty())


def _read(path, lines: Iterable[tuple[int, str]]) -> _ReportReader:
    reader = _ReportReader(path)
    for number, line in lines:
        if line.strip():
            reader.read(Location(path, number), line.strip())
    reader.finish()
    return reader


class _ReportReader:
    """Follows the sections of a file of reports; `section` is None outside of any."""

    def __init__(self, path):
        self.exons = ExonCollector()
        self.location = Location(path, 1)
        self.name, self.length, self.section = None, 0, None
        self.seen, self.n_sequences = False, 0

    def read(self, location: Location, line: str) -> None:
        self.location, self.seen = location, True
        if line.startswith(_TITLE):
            self.check_complete()
            self.name, self.section = None, _TITLE
        elif line.startswith("Sequence") and (match := _SEQUENCE.match(" ".join(line.split()))):
            self.start_sequence(match[1], int(match[2]))
        elif heading := next((s for s in _HEADINGS if line.startswith(s)), None):
            self.start_section(heading)
        elif self.section in (_PREDICTED, _SUBOPTIMAL) and not _NO_FEATURE.match(line):
            self.read_feature(line)

    def start_sequence(self, name: str, length: int) -> None:
        if self.section != _TITLE or self.name:
            self.check_complete()
        self.name, self.length, self.section = name, length, _TITLE
        self.n_sequences += 1
        self.exons.add_sequence(name)

    def start_section(self, heading: str) -> None:
        if self.name is None:
            raise self.location.error(
                f"{heading!r} without a sequence", "'Sequence NAME : N bp' first"
            )
        self.section = heading

    def read_feature(self, line: str) -> None:
        parse = _parse_predicted if self.section == _PREDICTED else _parse_suboptimal
        feature = parse(line, self.location)
        if feature.interval[1] > self.length:
            raise self.location.error(
                f"position {feature.interval[1]} lies after the sequence",
                f"positions 1 to {self.length}",
            )
        if feature.type not in _SIGNALS:
            code, reverse = exon_type_code(feature.type), feature.strand == "-"
            values = (feature.score, code, feature.probability)
            self.exons.add(self.name, feature.interval, reverse, *values)

    def check_complete(self) -> None:
        """Raise if the report that was read last is cut short."""
        if self.section not in (None, _REST):
            raise self.location.error("the report is cut short", f"a section {_REST!r} at its end")

    def finish(self) -> None:
        """Raise if the file ends within a report or holds none."""
        self.check_complete()
        if self.seen and self.name is None:
            raise self.location.error("no GENSCAN report", "a line 'Sequence NAME : N bp'")


def write_genscan(
    stream: TextIO, sets: Mapping[str, ExonSet], lengths: Mapping[str, int] | None = None
) -> None:
    """Write candidates as the suboptimal exons of one report a sequence.

    Candidates are no genes, so the report predicts none. What an exon set does not know is
    written as 0: C+G, I/Ac, Do/T, CodRg, an unknown probability, and the frame of an internal
    exon; an exon of unknown type is written as Intr. A sequence of unknown length ends with its
    last exon.
    """
    for name, exons in sets.items():
        length = (lengths or {}).get(name, int(exons.ends.max(initial=0)))
        stream.write(_REPORT_HEAD.format(name=name, length=length))
        stream.writelines(_line(exons, k) for k in range(len(exons)))
        stream.write(
            _REPORT_END
            if len(exons)
            else f"NO EXONS FOUND AT GIVEN PROBABILITY CUTOFF\n{_REPORT_END}"
        )


def _line(exons: ExonSet, k: int) -> str:
    low, high = int(exons.starts[k]) + 1, int(exons.ends[k])
    strand, begin, end = ("-", high, low) if exons.reverse[k] else ("+", low, high)
    name, length = EXON_TYPES[exons.types[k]] or "Intr", high - low + 1
    frame, probability = _frame(name, strand, low, high), np.nan_to_num(exons.probabilities[k])
    return (
        f"S.{k + 1:03d} {name:>4} {strand} {begin:6d} {end:6d} {length:4d} {frame:2d} "
        f"{length % 3:2d}    0    0     0 {probability:5.3f} {exons.scores[k]:6.2f}\n"
    )


def _frame(exon_type: str, strand: str, low: int, high: int) -> int:
    """Return the highest coordinate of any codon modulo 3, where the type determines the codons."""
    if exon_type == "Intr":
        return 0
    codons_end_high = (exon_type == "Term") == (strand == "+")
    return high % 3 if codons_end_high else (low + 2) % 3


# Exons that AUGUSTUS prints, with the posterior probabilities of its sampling.


TYPES = {"initial": "Init", "internal": "Intr", "terminal": "Term", "single": "Sngl"}
"""Exon types by the names that AUGUSTUS gives them under ``--exonnames=on``."""
_OTHER_FEATURES = ("gene", "transcript")


def parse_augustus(path: str | os.PathLike, lines: Iterable[tuple[int, str]]) -> ExonSet:
    """Return the exons of the one sequence that AUGUSTUS was run on.

    AUGUSTUS prints an exon in every transcript that has it, each time with the same probability;
    here it is returned once. The probabilities of its reading frames, which exclude each other,
    are added. Exons are sorted by strand (+ first), start, end and type; scores are 0.
    """
    by_frame = {}
    for feature in features(path, lines):
        by_frame |= _exon(feature)
    totals = defaultdict(float)
    for (*exon, _), probability in by_frame.items():
        totals[tuple(exon)] += probability
    collector = ExonCollector()
    for reverse, start, end, code in sorted(totals):
        total = min(round(totals[reverse, start, end, code], 6), 1.0)
        collector.add("", (start, end), reverse, 0.0, code, total)
    return collector.sets().get("", ExonSet.empty())


def _exon(feature: Feature) -> dict[tuple, float]:
    """Return the probability of an exon by strand, interval, type and frame; {} for no exon."""
    location = feature.location
    if feature.type in _OTHER_FEATURES:
        return {}
    if feature.type not in TYPES:
        raise location.error(f"unknown feature {feature.type!r}", ", ".join(TYPES))
    if feature.score == ".":
        raise location.error("an exon without a probability", "0 to 1, from sampling")
    exon = (location.strand(feature.strand), *feature.interval, exon_type_code(TYPES[feature.type]))
    return {(*exon, feature.phase): location.probability(feature.score)}
