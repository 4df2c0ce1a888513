"""Files of a batch of the workflow: its table of cases, and exons under the names of its bases."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import pysam

from gpu_tools.errors import InputError
from gpu_tools.formats.alignments.gene_model import Transcript, gene_lines, read_models
from gpu_tools.formats.alignments.sam import header, write_indexed
from gpu_tools.formats.alignments.walk import extent
from gpu_tools.formats.exons.gff import features
from gpu_tools.formats.exons.intervals import read_exons
from gpu_tools.formats.files import open_output, quiet_htslib, read_lines
from gpu_tools.formats.tables import MISSING, Location, read_table, write_table
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.locus import Locus

PathLike = str | os.PathLike
OPTIONAL = ("confidence", "description")
"""Last columns of a table of scores, which it may lack."""


class CaseRow(NamedTuple):
    """A row of a batch's table of cases: names of the sheet, and the base's locus."""

    base: str
    target: str
    locus: Locus


def write_case_rows(path: PathLike, rows: Iterable[CaseRow]) -> None:
    """Write a batch's table of cases; the locus is written as NAME:START-END."""
    write_table(path, CaseRow._fields, ((*row[:2], row.locus.name) for row in rows))


def read_case_rows(path: PathLike) -> list[CaseRow]:
    """Read a batch's table of cases."""
    rows = []
    for line, row in read_table(path, CaseRow._fields, comments=False):
        locus = Locus.parse(row["locus"])
        if locus is None:
            raise Location(path, line).error(f"no locus {row['locus']!r}", "NAME:START-END")
        rows.append(CaseRow(row["base"], row["target"], locus))
    return rows


def exons_of_batches(
    paths: Sequence[PathLike],
    cases: Sequence[PathLike],
    read: Callable[[PathLike], Mapping[str, ExonSet]] = read_exons,
) -> dict[str, ExonSet]:
    """Read the exons of the bases of batches."""
    found: dict[str, ExonSet] = {}
    for path, table in zip(paths, cases, strict=True):
        exons = read(path)
        for base, locus in {row.base: row.locus for row in read_case_rows(table)}.items():
            if base not in found:
                found[base] = locus.exons_from(base, exons.get(base, ExonSet.empty()))
    return found


# Joining the files of several batches into one.


GFF3_VERSION = "##gff-version 3"
_SEQUENCE_REGION = "##sequence-region"
_REGION = re.compile(rf"{_SEQUENCE_REGION}\s+(\S+)\s+[0-9]+\s+([0-9]{{1,18}})\s*")


def concatenate(inputs: Sequence[PathLike], output: PathLike) -> None:
    """Write text files that need no header one after another; see `open_output` for ``.gz``."""
    with open_output(output) as stream:
        for path in inputs:
            stream.writelines(f"{line}\n" for _, line in read_lines(path))


def merge_tables(inputs: Sequence[PathLike], output: PathLike) -> None:
    """Write the rows of tables of the same columns under one header line."""
    with open_output(output) as stream:
        stream.writelines(f"{line}\n" for line in _rows(inputs))


def _rows(inputs: Sequence[PathLike]) -> Iterator[str]:
    header = None
    for path in inputs:
        lines = read_lines(path)
        _, first = next(lines, (1, ""))
        if header is None and first:
            header = first
            yield header
        if not first or first != header:
            raise InputError("wrong header", path=path, line=1, expected=header or "a header line")
        yield from (line for _, line in lines)


def merge_methods(
    batches: Sequence[Mapping[str, PathLike]], cases: Sequence[PathLike], output: PathLike
) -> None:
    """Write the rows of tables of the same cases side by side, by the names of the cases.

    A table may lack columns at the end: candidates have no confidence, some targets no description.
    """
    paths = [path for tables in batches for path in tables.values()]
    headers = {path: next(_rows([path])).split("\t") for path in paths}
    known = {name for own in headers.values() for name in own if name in OPTIONAL}
    first = next(iter(headers.values()), [])
    header = [name for name in first if name not in OPTIONAL]
    header += [name for name in OPTIONAL if name in known]
    for path, own in headers.items():
        if len(own) < 3:
            raise InputError("no table of cases", path=path, line=1, expected="three columns")
        if own != [name for name in header if name in own or name not in OPTIONAL]:
            raise InputError("wrong header", path=path, line=1, expected="\t".join(header))
    with open_output(output) as stream:
        stream.write("\t".join([*header[:2], "method", "locus", *header[2:]]) + "\n")
        for tables, path in zip(batches, cases, strict=True):
            of_cases = read_case_rows(path)
            rows = {method: _rows_of(table, of_cases) for method, table in tables.items()}
            for case, *same in zip(of_cases, *rows.values(), strict=True):
                for method, row in zip(rows, same, strict=True):
                    found = dict(zip(headers[tables[method]], row.split("\t"), strict=True))
                    rest = (found.get(name, MISSING) for name in header[2:])
                    values = case.base, case.target, method, case.locus.name, *rest
                    stream.write("\t".join(values) + "\n")


def _rows_of(path: PathLike, cases: list[CaseRow]) -> list[str]:
    """Return the rows of a table, one for each case."""
    header, *rows = _rows([path])
    if len(rows) != len(cases):
        raise InputError(f"{len(rows)} rows", path=path, expected=f"{len(cases)}")
    for number, (row, case) in enumerate(zip(rows, cases, strict=True), start=2):
        wanted = [case.locus.record, case.target]
        if row.split("\t")[:2] != wanted:
            expected = " and ".join(wanted)
            raise InputError("another case", path=path, line=number, expected=expected)
        if row.count("\t") != header.count("\t"):
            raise InputError("too few or too many columns", path=path, line=number, expected=header)
    return rows


def merge_gff3(inputs: Sequence[PathLike], output: PathLike) -> None:
    """Write the gene models of GFF3 files as `write_alignments` would have written all at once.

    Isoforms of all files are grouped into genes; the IDs of their mRNAs and parts stay. Each
    sequence region is written once; of regions of one sequence the longest counts.
    """
    _write_models(inputs, output, lambda transcript: True)


def select_gff3(
    path: PathLike, output: PathLike, chosen: Container[tuple[str, str, tuple[int, int]]]
) -> None:
    """Write the gene models of a GFF3 file that are chosen, grouped into genes anew."""
    _write_models([path], output, lambda t: (t.base, t.target, extent(t.exons)) in chosen)


def _write_models(
    inputs: Sequence[PathLike], output: PathLike, chosen: Callable[[Transcript], bool]
) -> None:
    bodies = [_gff3_body(path) for path in inputs]
    regions: dict[str, str] = {}
    ends: dict[str, int] = {}
    for path, body in zip(inputs, bodies, strict=True):
        for number, line in body:
            if line.startswith(_SEQUENCE_REGION):
                seqid, end = sequence_region(path, number, line)
                if end > ends.get(seqid, 0):
                    regions[seqid], ends[seqid] = line, end
    files = zip(inputs, bodies, strict=True)
    found = (model for path, body in files for model in read_models(features(path, body)))
    models = [model for model in found if chosen(model.transcript)]
    with open_output(output) as stream:
        stream.writelines(f"{line}\n" for line in (GFF3_VERSION, *regions.values()))
        stream.writelines(gene_lines(models))


def sequence_region(path: PathLike, number: int, line: str) -> tuple[str, int]:
    """Return the name and the end of a sequence region; a broken line raises `InputError`."""
    match = _REGION.fullmatch(line)
    if not match:
        expected = f"{_SEQUENCE_REGION} NAME START END"
        raise InputError("a broken line", path=path, line=number, expected=expected)
    return match[1], int(match[2])


def _gff3_body(path: PathLike) -> list[tuple[int, str]]:
    (_, first), *body = list(read_lines(path)) or [(1, "")]
    if first.split() != GFF3_VERSION.split():
        raise InputError("no GFF3", path=path, line=1, expected=repr(GFF3_VERSION))
    return body


def merge_bam(inputs: Sequence[PathLike], output: PathLike) -> None:
    """Write the records of BAM files as one sorted BAM file, and its index beside it.

    Each query's alignment of the highest score (``AS``) stays primary, of equal scores the one on
    the reference that the headers name first; its others become secondary. Of a reference's lengths
    the greatest counts: it may be known in one file alone.
    """
    lengths, texts = {}, []
    for path in inputs:
        with _bam(path) as source:
            for name, length in zip(source.references, source.lengths, strict=True):
                lengths[name] = max(length, lengths.get(name, 0))
            texts += [(path, record.to_dict()) for record in source]
    head = header(lengths)
    records = [_aligned(path, text, head) for path, text in texts]
    records.sort(key=lambda record: (record.reference_id, record.reference_start))
    write_indexed(output, head, records)


def _aligned(path: PathLike, text: dict, head: pysam.AlignmentHeader) -> pysam.AlignedSegment:
    try:
        with quiet_htslib():
            record = pysam.AlignedSegment.from_dict(text, head)
        if not isinstance(dict(record.get_tags()).get("AS"), int):
            raise ValueError("no score: the tag AS is missing or no integer")
    except ValueError as error:
        raise InputError(f"a broken record of BAM ({error})", path=path) from None
    return record


@contextmanager
def _bam(path: PathLike) -> Iterator[pysam.AlignmentFile]:
    try:
        with quiet_htslib(), pysam.AlignmentFile(os.fspath(path), "rb") as source:
            yield source
    except (OSError, ValueError, NotImplementedError) as error:  # the last one of gzip's own format
        raise InputError(f"cannot be read as BAM ({error})", path=path) from None
