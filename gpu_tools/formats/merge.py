"""Joining the files of several batches into one."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import pysam

from gpu_tools.errors import InputError
from gpu_tools.formats.alignments.gene_model import gene_lines, read_models
from gpu_tools.formats.alignments.genes import Transcript, extent
from gpu_tools.formats.alignments.sam import header, write_indexed
from gpu_tools.formats.batch import CaseRow, read_case_rows
from gpu_tools.formats.exons.gff import features
from gpu_tools.formats.files import open_output, quiet_htslib, read_lines

PathLike = str | os.PathLike
GFF3_VERSION = "##gff-version 3"
_SEQUENCE_REGION = "##sequence-region"
_REGION = re.compile(rf"{_SEQUENCE_REGION}\s+(\S+)\s+[0-9]+\s+([0-9]{{1,18}})\s*")


def concatenate(inputs: Sequence[PathLike], output: PathLike) -> None:
    """Write text files that need no header one after another; see `open_output` for ``.gz``.

    Raises
    ------
    InputError
        If an input cannot be read.
    OutputError
        If the output cannot be written.
    """
    with open_output(output) as stream:
        for path in inputs:
            stream.writelines(f"{line}\n" for _, line in read_lines(path))


def merge_tables(inputs: Sequence[PathLike], output: PathLike) -> None:
    """Write the rows of tables of the same columns under one header line.

    Raises
    ------
    InputError
        If a table has no header or another one than the first.
    """
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

    Parameters
    ----------
    batches : sequence of mapping of str to path-like
        Each batch's tables by method, in the order to write: same header, and a row a case. The
        first two columns are ``base``, the record's name, and ``target``.
    cases : sequence of path-like
        Each batch's cases, with the columns ``base``, ``target`` and ``locus``, NAME:START-END.
    output : path-like
        The methods of a case follow each other. The third and fourth column are ``method`` and
        ``locus``, and ``base`` is the case's.

    Raises
    ------
    InputError
        If a table has no header or another one than the first, or other cases than its batch.
    """
    paths = [path for tables in batches for path in tables.values()]
    header, *_ = _rows(paths)
    if header.count("\t") < 2:
        raise InputError("no table of cases", path=paths[0], line=1, expected="three columns")
    base, target, rest = header.split("\t", 2)
    with open_output(output) as stream:
        stream.write(f"{base}\t{target}\tmethod\tlocus\t{rest}\n")
        for tables, path in zip(batches, cases, strict=True):
            known = read_case_rows(path)
            rows = {method: _rows_of(table, known) for method, table in tables.items()}
            for case, *side_by_side in zip(known, *rows.values(), strict=True):
                stream.writelines(map(partial(_with_case, case), side_by_side, rows))


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


def _with_case(case: CaseRow, row: str, method: str) -> str:
    rest = row.split("\t", 2)[2]
    return f"{case.base}\t{case.target}\t{method}\t{case.locus.name}\t{rest}\n"


def merge_gff3(inputs: Sequence[PathLike], output: PathLike) -> None:
    """Write the gene models of GFF3 files as `write_alignments` would have written all at once.

    Isoforms of all files are grouped into genes; the IDs of their mRNAs and parts stay. Each
    sequence region is written once; of regions of one sequence the longest counts.

    Raises
    ------
    InputError
        If an input does not begin with GFF3's version line, or holds other features.
    """
    _write_models(inputs, output, lambda transcript: True)


def select_gff3(
    path: PathLike, output: PathLike, chosen: Container[tuple[str, str, tuple[int, int]]]
) -> None:
    """Write the gene models of a GFF3 file that are chosen, grouped into genes anew.

    Parameters
    ----------
    path, output : path-like
        A file that ``spliced-align`` or the workflow wrote, and the one to write.
    chosen : container of (str, str, (int, int))
        Names of base sequence and target of each model, and where it lies from its first to its
        last nucleotide, 0-based half-open.

    Raises
    ------
    InputError
        As `merge_gff3`.
    """
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

    Raises
    ------
    InputError
        If an input cannot be read as BAM.
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
