"""FASTA files: reading, cutting and writing."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pysam
from numpy.typing import NDArray

from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats.files import (
    STANDARD_STREAM,
    open_binary,
    open_output,
    replaced_when_complete,
)
from gpu_tools.model.sequences import Sequence, encode

COLUMNS = 60
_BUFFER = 1 << 20
_LINE_ENDS = b"\r\n"


def read_fasta(
    path: str | os.PathLike, encode: Callable[[bytes], NDArray[np.uint8]] = encode
) -> list[Sequence]:
    """Read all records of a FASTA file.

    A record's name is the first word of its header. Lower case and U are accepted; lines may
    have any length and may end in CR LF.

    Parameters
    ----------
    path : str or PathLike
        Plain, gzip or bgzip file; ``-`` is standard input.
    encode : callable
        Turns symbols into codes, or raises `InputError` with the position of an illegal one;
        nucleotides by default.

    Returns
    -------
    list of Sequence
        At least one record, each of at least one symbol, in the order of the file.

    Raises
    ------
    InputError
        If the file cannot be read, its compression is broken, it has no record or text before
        the first, or a record has no name, no symbol, the name of an earlier one, or a symbol
        that is illegal.
    """
    return list(iterate_fasta(path, encode))


def iterate_fasta(
    path: str | os.PathLike, encode: Callable[[bytes], NDArray[np.uint8]] = encode
) -> Iterator[Sequence]:
    """Yield the records of a FASTA file one by one, so that one is in memory at a time.

    Parameters
    ----------
    path : str or PathLike
        Plain, gzip or bgzip file; ``-`` is standard input.
    encode : callable
        As in `read_fasta`.

    Yields
    ------
    Sequence
        As `read_fasta` returns them.

    Raises
    ------
    InputError
        As `read_fasta`, as soon as what is wrong has been reached.
    """
    for record in _records(path):
        yield record.sequence(path, encode)


def cut_locus(
    path: str | os.PathLike, record: str, start: int, end: int, flank: int = 0
) -> Sequence:
    """Cut a locus with its flanks out of one record of a FASTA file.

    An index beside a plain or bgzip file (``.fai``, for bgzip also ``.gzi``) is used if it is
    not older than the file; otherwise the file is read through, one record at a time.

    Parameters
    ----------
    path : str or PathLike
        Plain, gzip or bgzip file; ``-`` is standard input.
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
    length = _indexed_length(path, record)
    if length is not None:
        first, last = _cut_bounds(path, record, length, (start, end, flank))
        codes = _fetch(path, record, first, last)
    else:
        whole = _read_one(path, record)
        first, last = _cut_bounds(path, record, len(whole), (start, end, flank))
        codes = whole.codes[first:last].copy()
    return Sequence(f"{record}:{first + 1}-{last}", codes)


def write_fasta(path: str | os.PathLike, sequences: Iterable[Sequence]) -> None:
    """Write sequences in lines of 60 symbols; the file appears only when complete.

    Parameters
    ----------
    path : str or PathLike
        File to write. One that ends in ``.gz`` is compressed with bgzip and gets its ``.fai``
        and ``.gzi`` index beside it; ``-`` is standard output.
    sequences : iterable of Sequence
        Nucleotides or proteins; a nucleotide's ambiguity code is written as N.

    Raises
    ------
    OutputError
        If the file cannot be written, or cannot be indexed.
    """
    if str(path).endswith(".gz"):
        _write_bgzip(path, sequences)
    else:
        with open_output(path) as stream:
            for sequence in sequences:
                stream.write(_to_text(sequence))


@dataclass
class _Record:
    """A record as it stands in the file: header line (1-based), name, symbols with line ends."""

    line: int
    name: str
    description: str
    body: bytearray = field(default_factory=bytearray)

    def sequence(self, path, encode=encode) -> Sequence:
        symbols = bytes(self.body.translate(None, _LINE_ENDS))
        if not symbols:
            raise InputError("no symbols", path=path, line=self.line, record=self.name)
        try:
            return Sequence(self.name, encode(symbols), self.description)
        except InputError as error:
            line = self._line_of(error.position)
            raise error.located(path=path, record=self.name, line=line) from None

    def _line_of(self, position: int) -> int:
        raw = np.frombuffer(self.body, dtype=np.uint8)
        offsets = np.flatnonzero(~np.isin(raw, np.frombuffer(_LINE_ENDS, dtype=np.uint8)))
        return self.line + 1 + self.body[: offsets[position - 1]].count(b"\n")


def _records(path) -> Iterator[_Record]:
    record, names = None, set()
    with open_binary(path) as stream:
        for number, line in enumerate(_quick_lines(stream), start=1):
            if line.startswith(b">"):
                if record:
                    yield record
                record = _Record(number, *parse_header(path, number, line, names))
            elif record:
                record.body += line
            elif line.strip():
                raise InputError(
                    "text before the first record", path=path, line=number,
                    expected="FASTA, a header line that begins with >",
                )  # fmt: skip
    if not record:
        raise InputError("no record", path=path, expected="FASTA with at least one record")
    yield record


def _quick_lines(stream: BinaryIO) -> BinaryIO:
    # GzipFile's own iteration over lines is several times slower
    return io.BufferedReader(stream, _BUFFER) if isinstance(stream, gzip.GzipFile) else stream


def parse_header(path, number: int, line: bytes, names: set[str]) -> tuple[str, str]:
    """Return name and description of a header line, and add the name to `names`.

    Raises
    ------
    InputError
        For a header that is not UTF-8, lacks a name, or has one of `names`.
    """
    try:
        header = line[1:].decode("utf-8").rstrip()
    except UnicodeDecodeError:
        raise InputError("header is not UTF-8 text", path=path, line=number) from None
    if not header or header[0].isspace():
        raise InputError("record without a name", path=path, line=number, expected=">NAME")
    name, *description = header.split(maxsplit=1)
    if name in names:
        raise InputError("duplicate name", path=path, line=number, record=name)
    names.add(name)
    return name, "".join(description)


def _read_one(path, name: str) -> Sequence:
    found = None
    for record in _records(path):  # to the end: what is broken later must show
        if record.name == name:
            found = record.sequence(path)
    if found is None:
        raise InputError(f"no record named {name!r}", path=path)
    return found


def _cut_bounds(path, record: str, length: int, locus: tuple[int, int, int]) -> tuple[int, int]:
    start, end, flank = locus
    if not 0 <= start < end <= length:
        raise InputError(
            f"locus {start + 1}-{end} does not lie within the sequence",
            path=path, record=record, expected=f"positions 1 to {length}, start not after end",
        )  # fmt: skip
    return max(start - flank, 0), min(end + flank, length)


def _indexed_length(path, record: str) -> int | None:
    """Return the record's length from an index that can be trusted, else None."""
    if str(path) == STANDARD_STREAM or not _has_fresh_index(Path(path)):
        return None
    try:
        with open(f"{path}.fai", encoding="utf-8") as index:
            rows = [line.rstrip("\n").split("\t") for line in index]
        sizes = {name: (int(n), int(w) - int(b)) for name, n, _, b, w in rows}
    except (OSError, ValueError):  # not an index
        return None
    # faidx skips blanks within lines without counting them, and then cuts a wrong piece;
    # a line end of one byte leaves no room for any
    length, line_end = sizes.get(record, (None, None))
    return length if line_end == 1 else None


def _has_fresh_index(path: Path) -> bool:
    with open_binary(path) as stream:
        compressed = isinstance(stream, gzip.GzipFile)
    indexes = [Path(f"{path}.fai")] + [Path(f"{path}.gzi")] * compressed
    try:
        return all(index.stat().st_mtime_ns >= path.stat().st_mtime_ns for index in indexes)
    except FileNotFoundError:
        return False


def _fetch(path, record: str, first: int, last: int):
    verbosity = pysam.set_verbosity(0)  # the error is told once, by us
    try:
        with pysam.FastaFile(str(path)) as fasta:
            symbols = fasta.fetch(record, first, last)
    except (OSError, ValueError):
        raise InputError("does not agree with its index", path=path, record=record) from None
    finally:
        pysam.set_verbosity(verbosity)
    if len(symbols) != last - first:
        raise InputError("does not agree with its index", path=path, record=record)
    try:
        return encode(symbols)
    except InputError as error:
        error.position += first
        raise error.located(path=path, record=record) from None


def _to_text(sequence: Sequence) -> str:
    symbols = sequence.letters()
    lines = [symbols[i : i + COLUMNS] for i in range(0, len(symbols), COLUMNS)]
    return "\n".join([f">{sequence.name} {sequence.description}".rstrip(), *lines, ""])


def _write_bgzip(path, sequences: Iterable[Sequence]) -> None:
    # the data take their name before the indexes do: an index is never newer than data it
    # does not describe
    with replaced_when_complete(f"{path}.fai") as fai, replaced_when_complete(f"{path}.gzi") as gzi:
        with replaced_when_complete(path) as temporary:
            with pysam.BGZFile(str(temporary), "wb") as stream:
                for sequence in sequences:
                    stream.write(_to_text(sequence).encode("utf-8"))
            try:
                pysam.faidx(str(temporary), "--fai-idx", str(fai), "--gzi-idx", str(gzi))
            except pysam.SamtoolsError:
                raise OutputError(f"{path}: cannot be indexed") from None
