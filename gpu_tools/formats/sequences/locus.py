"""Loci cut out of FASTA files, by an index where the file can have one.

samtools makes the index of plain and bgzip files. An index that is older than its file is not used,
nor is one that does not fit it: what stands before, in and behind the locus is compared.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import pysam

from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats.files import (
    STANDARD_STREAM,
    compression_of,
    open_binary,
    quiet_htslib,
    replaced_when_complete,
)
from gpu_tools.formats.sequences.fasta import encoded, whole_records
from gpu_tools.formats.sequences.parts import LINE_ENDS
from gpu_tools.model.sequences import Sequence, encode

_LONGEST_HEADER = 1 << 12
_LOOKED_AT = 64
"""Bytes behind a record in which line ends and the next header are looked for."""
_UNFIT_INDEX = (pysam.SamtoolsError, OSError, ValueError, LookupError, ArithmeticError)


def cut_locus(
    path: str | os.PathLike, record: str, start: int, end: int, flank: int = 0
) -> Sequence:
    """Cut a locus with its flanks out of one record of a FASTA file.

    The index beside a plain or bgzip file (``.fai``, for bgzip also ``.gzi``) is used. A file
    without one, or with one that does not fit, is read through, one record at a time. Its index is
    then made for the next time, if the file can have one and the folder can be written.

    Parameters
    ----------
    path : str or PathLike
        Plain, gzip or bgzip file, FASTQ among them; ``-`` is standard input.
    record : str
        Name of the record.
    start, end : int
        The locus, 0-based half-open; it must lie within the record.
    flank : int
        Symbols to add on either side, as far as the record goes.

    Returns
    -------
    Sequence
        Named ``record:first-last`` with 1-based inclusive bounds of what was cut.

    Raises
    ------
    InputError
        If the record is unknown, the locus does not lie within it, or the file is bad.
    """
    is_file = str(path) != STANDARD_STREAM and Path(path).is_file()
    if is_file:
        with suppress(*_UNFIT_INDEX):
            first, symbols = _cut_by_index(path, record, (start, end, flank))
            return _encoded_locus(path, record, first, symbols)
    whole = read_record(path, record)
    if not 0 <= start < end <= len(whole):
        raise InputError(
            f"locus {start + 1}-{end} does not lie within the sequence",
            path=path, record=record, expected=f"positions 1 to {len(whole)}, start not after end",
        )  # fmt: skip
    if is_file:
        _store_index(path)
    first, last = max(start - flank, 0), min(end + flank, len(whole))
    return Sequence(f"{record}:{first + 1}-{last}", whole.codes[first:last].copy())


def read_record(path: str | os.PathLike, name: str) -> Sequence:
    """Read one record of a FASTA or FASTQ file, which is read to its end.

    Raises
    ------
    InputError
        If the record is unknown, or the file is bad; symbols of other records are not looked at.
    """
    found = None
    for record in whole_records(path):  # to the end: a name may stand twice
        if record.name == name:
            found = encoded(path, record)
    if found is None:
        raise InputError(f"no record named {name!r}", path=path)
    return found


def _encoded_locus(path, record: str, first: int, symbols: bytes) -> Sequence:
    try:
        return Sequence(f"{record}:{first + 1}-{first + len(symbols)}", encode(symbols))
    except InputError as error:
        error.position += first
        raise error.located(path=path, record=record) from None


def _cut_by_index(path, record: str, locus: tuple[int, int, int]) -> tuple[int, bytes]:
    """Return where the locus with its flanks begins, and its symbols.

    Raises one of `_UNFIT_INDEX` if the index does not fit or the locus is not within the record.
    """
    fai, *gzi = [f"{path}{suffix}" for suffix in _index_suffixes(path)]
    if any(Path(i).stat().st_mtime_ns < Path(path).stat().st_mtime_ns for i in (fai, *gzi)):
        raise ValueError("the index is older than the file")
    entry = _index_entry(fai, record)
    start, end, flank = locus
    if not 0 <= start < end <= entry[0]:
        raise ValueError("the locus does not lie within the record")
    first, last = max(start - flank, 0), min(end + flank, entry[0])
    with quiet_htslib(), pysam.BGZFile(str(path)) if gzi else open(path, "rb") as stream:

        def read(offset: int, size: int) -> bytes:
            stream.seek(_virtual_offset(gzi[0], offset) if gzi else offset)
            return stream.read(size)

        return first, _fitting_symbols(read, record, entry, (first, last))


def _index_suffixes(path: str | os.PathLike) -> tuple[str, ...]:
    """Return the suffixes of a file's indexes; none can be had of a file of gzip."""
    with open(path, "rb") as stream:
        return {"none": (".fai",), "bgzip": (".fai", ".gzi"), "gzip": ()}[compression_of(stream)]


def _index_entry(fai: str, record: str) -> list[int]:
    """Return length, offset, symbols a line and bytes a line of a record."""
    rows = (line.split("\t") for line in Path(fai).read_text("utf-8").split("\n"))
    (entry,) = ([int(number) for number in row[1:]] for row in rows if row[0] == record)
    return entry


def _virtual_offset(gzi: str, offset: int) -> int:
    """Return a position in a bgzip file as htslib counts it: of a block, and of a byte in it."""
    blocks = np.fromfile(gzi, "<u8").astype(np.int64)
    blocks[0] = 0  # the number of blocks; the first block, which is not listed, begins at 0, 0
    compressed, plain = np.insert(blocks, 0, 0).reshape(-1, 2).T
    block = np.searchsorted(plain, offset, side="right") - 1
    return int(compressed[block]) << 16 | offset - int(plain[block])


def _fitting_symbols(read, name: str, entry: list[int], locus: tuple[int, int]) -> bytes:
    """Return the symbols of a locus; ValueError if the file is not as the index says around it."""
    length, start, width, stride = entry

    def offset(position: int) -> int:
        return start + position // width * stride + position % width

    first, last = locus
    before = read(max(start - _LONGEST_HEADER, 0), min(start, _LONGEST_HEADER))
    header = before.removesuffix(b"\n").rpartition(b"\n")[2]
    line_starts = [offset(position - position % width) for position in (first, last - 1)]
    symbols = read(offset(first), offset(last - 1) + 1 - offset(first)).translate(None, LINE_ENDS)
    behind = read(offset(length - 1) + 1, _LOOKED_AT)
    fits = (
        before.endswith(b"\n")
        and header.split()[:1] == [f">{name}".encode()]
        and all(read(line_start - 1, 1) == b"\n" for line_start in line_starts)
        and len(symbols) == last - first
        and behind[:1] in (b"", b"\r", b"\n")
        and behind.lstrip(LINE_ENDS)[:1] in (b"", b">")
    )
    if not fits:
        raise ValueError("the index does not fit the file")
    return symbols


def _store_index(path: str | os.PathLike) -> None:
    """Make the index beside a file, if its lines allow one and the folder can be written."""
    with open_binary(path) as stream:
        is_fasta = stream.peek(1)[:1] == b">"
    with suppress(OutputError, pysam.SamtoolsError), ExitStack() as stack:
        suffixes = _index_suffixes(path) if is_fasta else ()
        made = [stack.enter_context(replaced_when_complete(f"{path}{s}")) for s in suffixes]
        options = zip(("--fai-idx", "--gzi-idx"), map(str, made), strict=False)
        if made:
            pysam.faidx(str(path), *(word for option in options for word in option))
