"""Joining the files of several batches into one."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pysam

from gpu_tools.errors import InputError
from gpu_tools.formats.alignments.sam import header, write_indexed
from gpu_tools.formats.files import open_output, quiet_htslib, read_lines, replaced_when_complete

PathLike = str | os.PathLike
GFF3_VERSION = "##gff-version 3"
_SEQUENCE_REGION = "##sequence-region"
_MODEL_ID = re.compile(r"([\t;](?:ID|Parent)=mRNA)(\d+)")


def concatenate(inputs: Sequence[PathLike], output: PathLike) -> None:
    """Write files that need no header one after another; bgzip files make a bgzip file.

    Raises
    ------
    InputError
        If an input cannot be read.
    OutputError
        If the output cannot be written.
    """
    with replaced_when_complete(output) as temporary:
        with open(temporary, "wb") as target:
            for path in inputs:
                with _opened(path) as source:
                    shutil.copyfileobj(source, target)


def _opened(path: PathLike):
    try:
        return open(path, "rb")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path) from None


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


def merge_methods(batches: Sequence[Mapping[str, PathLike]], output: PathLike) -> None:
    """Write the rows of tables of the same cases side by side, with a column ``method``.

    Parameters
    ----------
    batches : sequence of mapping of str to path-like
        Each batch's tables by method, in the order to write: same header, and in each row the
        same ``base`` and ``target``, the first two columns.
    output : path-like
        The methods of a case follow each other, and ``method`` is the third column.

    Raises
    ------
    InputError
        If a table has no header or another one than the first, or other cases than its batch's
        first.
    """
    header, *_ = _rows([path for tables in batches for path in tables.values()])
    with open_output(output) as stream:
        stream.write(_with_method(header, "method"))
        for tables in batches:
            rows = {method: list(_rows([path]))[1:] for method, path in tables.items()}
            _check_same_cases(tables, rows)
            for side_by_side in zip(*rows.values(), strict=True):
                stream.writelines(map(_with_method, side_by_side, rows))


def _check_same_cases(tables: Mapping[str, PathLike], rows: Mapping[str, list[str]]) -> None:
    first, *others = ([row.split("\t")[:2] for row in found] for found in rows.values())
    for path, cases in zip(list(tables.values())[1:], others, strict=True):
        if len(cases) != len(first):
            raise InputError(f"{len(cases)} rows", path=path, expected=f"{len(first)}")
        for number, (case, wanted) in enumerate(zip(cases, first, strict=True), start=2):
            if case != wanted:
                expected = " and ".join(wanted)
                raise InputError("another case", path=path, line=number, expected=expected)


def _with_method(row: str, method: str) -> str:
    base, target, rest = row.split("\t", 2)
    return f"{base}\t{target}\t{method}\t{rest}\n"


def merge_gff3(inputs: Sequence[PathLike], output: PathLike) -> None:
    """Write the features of GFF3 files one file after another, each sequence region once.

    Gene models, which the tools name mRNA1, mRNA2, ... in each file, are numbered through.

    Raises
    ------
    InputError
        If an input does not begin with GFF3's version line.
    """
    bodies = [_gff3_body(path) for path in inputs]
    regions = dict.fromkeys(
        line for body in bodies for line in body if line.startswith(_SEQUENCE_REGION)
    )
    with open_output(output) as stream:
        stream.writelines(f"{line}\n" for line in (GFF3_VERSION, *regions))
        n_models = 0
        for body in bodies:
            features = [line for line in body if not line.startswith("#")]
            stream.writelines(f"{_renumbered(line, n_models)}\n" for line in features)
            n_models += sum(1 for line in features if line.split("\t")[2] == "mRNA")


def _gff3_body(path: PathLike) -> list[str]:
    first, *body = [line for _, line in read_lines(path)] or [""]
    if first.split() != GFF3_VERSION.split():
        raise InputError("no GFF3", path=path, line=1, expected=repr(GFF3_VERSION))
    return [line for line in body if line]


def _renumbered(feature: str, n_before: int) -> str:
    return _MODEL_ID.sub(lambda match: f"{match[1]}{int(match[2]) + n_before}", feature)


def merge_bam(inputs: Sequence[PathLike], output: PathLike) -> None:
    """Write the records of BAM files as one sorted BAM file, and its index beside it.

    Each query's alignment of the highest score (``AS``) stays primary, of equal scores the one on
    the reference that the headers name first; its others become secondary.

    Raises
    ------
    InputError
        If an input cannot be read as BAM.
    """
    lengths, texts = {}, []
    for path in inputs:
        with _bam(path) as source:
            lengths |= dict(zip(source.references, source.lengths, strict=True))
            texts += [record.to_dict() for record in source]
    head = header(lengths)
    records = [pysam.AlignedSegment.from_dict(text, head) for text in texts]
    records.sort(key=lambda record: (record.reference_id, record.reference_start))
    write_indexed(output, head, records)


@contextmanager
def _bam(path: PathLike) -> Iterator[pysam.AlignmentFile]:
    try:
        with quiet_htslib(), pysam.AlignmentFile(os.fspath(path), "rb") as source:
            yield source
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read as BAM ({error})", path=path) from None
