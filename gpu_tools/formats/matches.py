"""Tables of results: matches and segments, with BED and GFF3, and spliced alignments."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from typing import NamedTuple, TextIO

from gpu_tools.errors import InputError
from gpu_tools.formats.exons.gff import escape_seqid, feature_line, gff3_head
from gpu_tools.formats.files import open_output, read_lines
from gpu_tools.formats.tables import MISSING, bed_line, write_table
from gpu_tools.model.locus import Locus
from gpu_tools.model.results import SplicedAlignment

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


_NEEDED = {"base", "target", "strand", "score", "base_length", "target_length", "chain",
           "evalue", "accepted"}  # fmt: skip


class ScoredRow(NamedTuple):
    """A row of the table: its texts by column, and its alignment without CIGAR.

    The alignment's base is the record that positions are of, which a sheet of cases may call by
    another name.
    """

    fields: dict[str, str]
    alignment: SplicedAlignment


def read_scores(path: str | os.PathLike) -> tuple[list[str], list[ScoredRow]]:
    """Read a table of scores."""
    lines = read_lines(path)
    columns = next((line.split("\t") for _, line in lines), [])
    if not set(columns) >= _NEEDED:
        raise InputError(
            "no table of scores", path=path, line=1,
            expected=f"columns {', '.join(sorted(_NEEDED))}",
        )  # fmt: skip
    rows = []
    for number, line in lines:
        try:
            fields = dict(zip(columns, line.split("\t"), strict=True))
            rows.append(ScoredRow(fields, _alignment_of(fields)))
        except ValueError:
            raise InputError(
                "a broken row", path=path, line=number, expected="a row of spliced-align"
            ) from None
    return columns, rows


def _alignment_of(fields: dict[str, str]) -> SplicedAlignment:
    names = _record_of(fields), fields["target"]
    lengths = int(fields["base_length"]), int(fields["target_length"])
    if fields["chain"] == MISSING:
        return SplicedAlignment(*names, *lengths)
    evalue = None if fields["evalue"] == MISSING else float(fields["evalue"])
    score, strand = int(fields["score"]), fields["strand"]
    if strand not in ("+", "-") or (evalue is not None and not evalue >= 0):
        raise ValueError(f"strand {strand}, E-value {evalue}")
    chain = _chain_of(fields["chain"], lengths[0])
    return SplicedAlignment(*names, *lengths, strand, score, chain=chain, evalue=evalue)


def _chain_of(text: str, base_length: int) -> tuple[tuple[int, int], ...]:
    """Return the exons as 0-based half-open intervals."""
    pairs = (exon.split("-") for exon in text.split(","))
    chain = tuple((int(start) - 1, int(end)) for start, end in pairs)
    if not all(0 <= start < end <= base_length for start, end in chain):
        raise ValueError(f"not within {base_length} nucleotides: {text}")
    return chain


def _record_of(fields: dict[str, str]) -> str:
    """Return the record's name: that of the column ``locus`` of the workflow, or the base's."""
    if "locus" not in fields:
        return fields["base"]
    locus = Locus.parse(fields["locus"])
    if locus is None:
        raise ValueError(f"no locus: {fields['locus']}")
    return locus.record
