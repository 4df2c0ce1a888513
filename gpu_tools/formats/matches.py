"""Matches and segments as tables and, beside them, as BED and GFF3."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from typing import NamedTuple, TextIO

from gpu_tools.formats.exons.gff import escape_seqid, feature_line, gff3_head
from gpu_tools.formats.files import open_output
from gpu_tools.formats.tables import bed_line, write_table

COLUMNS = ("sequence", "rank", "start", "end", "score")
REGION = "region"
"""The Sequence Ontology's term for any part of a sequence."""


class SegmentRow(NamedTuple):
    """One segment; 0-based half-open, ranked within its sequence, the score as text."""

    sequence: str
    rank: int
    start: int
    end: int
    score: str
    evalue: str | None = None


@dataclass(frozen=True)
class Annotation:
    """Files to write beside the table.

    `feature` is the type of the features in GFF3, a term of the Sequence Ontology; `lengths` are
    names and lengths of all sequences, for the head of GFF3.
    """

    bed: str | os.PathLike | None = None
    gff3: str | os.PathLike | None = None
    feature: str = REGION
    lengths: Sequence[tuple[str, int]] = ()


def write_segments(
    path: str | os.PathLike,
    rows: Iterable[SegmentRow],
    annotation: Annotation,
    evalues: bool = False,
) -> None:
    """Write segments row by row; the files appear only when complete."""
    with ExitStack() as files:
        bed = files.enter_context(open_output(annotation.bed)) if annotation.bed else None
        gff3 = files.enter_context(open_output(annotation.gff3)) if annotation.gff3 else None
        if gff3:
            gff3.writelines(gff3_head(dict(annotation.lengths)))
        columns = (*COLUMNS, "evalue") if evalues else COLUMNS
        write_table(path, columns, _written(rows, bed, gff3, annotation.feature, len(columns)))


def _written(rows, bed: TextIO | None, gff3: TextIO | None, feature, width) -> Iterator[tuple]:
    for row in rows:
        if bed:
            name = f"segment{row.rank}"
            bed.write(bed_line(row.sequence, row.start, row.end, name, row.score))
        if gff3:
            attributes = f"rank={row.rank}" + (f";evalue={row.evalue}" if row.evalue else "")
            name, interval = escape_seqid(row.sequence), (row.start, row.end)
            gff3.write(feature_line(name, feature, interval, attributes, score=row.score))
        yield (row.sequence, row.rank, row.start + 1, row.end, row.score, row.evalue)[:width]


class MatchRow(NamedTuple):
    """One line of the outputs; 0-based half-open, the rest is for the table only."""

    pattern: str
    text: str
    start: int
    end: int
    strand: str
    score: int = 0
    rest: tuple = ()


def write_matches(
    path: str | os.PathLike,
    columns: Sequence[str],
    rows: Iterable[MatchRow],
    bed: str | os.PathLike | None = None,
) -> None:
    """Write matches row by row; the files appear only when complete.

    The table at `path` has 1-based inclusive positions; ``-`` is standard output. BED has 6
    columns; its score is not fitted to 0..1000.
    """
    with open_output(bed) if bed else nullcontext() as stream:
        write_table(path, columns, _written_matches(rows, stream))


def _written_matches(rows: Iterable[MatchRow], stream: TextIO | None) -> Iterator[tuple]:
    for row in rows:
        if stream:
            interval = row.start, row.end
            stream.write(bed_line(row.text, *interval, row.pattern, row.score, row.strand))
        yield (row.pattern, row.text, row.start + 1, row.end, row.strand, *row.rest)
