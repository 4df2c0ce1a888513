"""Joining the files of several batches into one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence

import pysam

from gpu_tools.errors import InputError
from gpu_tools.formats.files import open_output, read_lines, replaced_when_complete

Path = str | os.PathLike
GFF3_VERSION = "##gff-version 3"


def concatenate(inputs: Sequence[Path], output: Path) -> None:
    """Write files one after another; bgzip files stay a bgzip file.

    Parameters
    ----------
    inputs : sequence of path-like
        Files of lines or records that need no header, in the order to write.
    output : path-like
        File to write; it appears when complete.

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


def _opened(path: Path):
    try:
        return open(path, "rb")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path) from None


def merge_tables(inputs: Sequence[Path], output: Path) -> None:
    """Write the rows of tables of the same columns under one header line.

    Parameters
    ----------
    inputs : sequence of path-like
        Tables with a header line each, in the order to write.
    output : path-like
        Table to write; ``-`` is standard output.

    Raises
    ------
    InputError
        If a table has no header or another one than the first.
    """
    with open_output(output) as stream:
        stream.writelines(f"{line}\n" for line in _rows(inputs))


def _rows(inputs: Sequence[Path]) -> Iterator[str]:
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


def merge_gff3(inputs: Sequence[Path], output: Path) -> None:
    """Write GFF3 files one after another under one version line.

    Parameters
    ----------
    inputs : sequence of path-like
        GFF3 files whose feature IDs differ.
    output : path-like
        GFF3 file to write.

    Raises
    ------
    InputError
        If an input does not begin with the version line.
    """
    with open_output(output) as stream:
        stream.write(f"{GFF3_VERSION}\n")
        for path in inputs:
            stream.writelines(f"{line}\n" for line in _gff3_body(path))


def _gff3_body(path: Path) -> Iterator[str]:
    lines = read_lines(path)
    _, first = next(lines, (1, ""))
    if first.split() != GFF3_VERSION.split():
        raise InputError("no GFF3", path=path, line=1, expected=repr(GFF3_VERSION))
    return (line for _, line in lines)


def merge_bam(inputs: Sequence[Path], output: Path) -> None:
    """Write sorted BAM files as one sorted BAM file, and its index beside it.

    Parameters
    ----------
    inputs : sequence of path-like
        BAM files sorted by coordinate.
    output : path-like
        BAM file to write; the index is ``output`` with ``.bai`` added.

    Raises
    ------
    InputError
        If an input cannot be read as BAM.
    """
    with replaced_when_complete(f"{os.fspath(output)}.bai") as index:
        with replaced_when_complete(output) as merged:
            try:
                pysam.merge("-f", os.fspath(merged), *map(os.fspath, inputs))
                pysam.index("-o", os.fspath(index), os.fspath(merged))
            except pysam.SamtoolsError as error:
                raise InputError(" ".join(str(error).split()), expected="sorted BAM") from None
