"""Records of FASTA and FASTQ files part by part, so that no file need fit into memory.

FASTA is split here and not by pysam or pyfaidx, because an error has to name the line, the record
and the position. FASTQ goes through pysam: its errors name the record and the position.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pysam

from gpu_tools.errors import InputError
from gpu_tools.formats.files import STANDARD_STREAM, open_binary

PART_BYTES = 1 << 20
LINE_ENDS = b"\r\n"


class RecordPart(NamedTuple):
    """The next part of a record.

    Attributes
    ----------
    name, description : str
        First word and rest of the header.
    header_line, line : int or None
        1-based lines of the header and of the beginning of `text`; None in FASTQ.
    text : bytes
        Symbols and line ends.
    last : bool
        Whether the record ends with this part.
    """

    name: str
    description: str
    header_line: int | None
    line: int | None
    text: bytes = b""
    last: bool = False

    @property
    def symbols(self) -> bytes:
        """The text without line ends."""
        return self.text.translate(None, LINE_ENDS)

    def line_of(self, position: int) -> int | None:
        """Return the 1-based line of a symbol; `position` counts this part's symbols from 1."""
        for number, row in enumerate(self.text.split(b"\n")):
            position -= len(row.translate(None, LINE_ENDS))
            if position <= 0:
                return None if self.line is None else self.line + number
        raise ValueError("the part has fewer symbols")


def record_parts(path: str | os.PathLike, size: int = PART_BYTES) -> Iterator[RecordPart]:
    """Yield the records of a FASTA or FASTQ file part by part, of `size` bytes at most.

    Files and errors are those of `fasta.read_fasta`, except that symbols are not looked at. A
    record of FASTQ is always one part.
    """
    with open_binary(path) as stream:
        is_fastq = stream.peek(1)[:1] == b"@"
        parts = _fastq_parts(path, stream) if is_fastq else _fasta_parts(path, stream, size)
        empty = True
        for part in parts:
            empty = empty and not part.text.strip(LINE_ENDS)
            if part.last and empty:
                raise InputError("no symbols", path=path, line=part.header_line, record=part.name)
            yield part
            empty = empty or part.last


def _fasta_parts(path, stream: BinaryIO, size: int) -> Iterator[RecordPart]:
    header, names, line = None, set(), 1
    first, found = 1, b""
    for is_header, text in _split(stream, size):
        if is_header:
            if header:
                yield RecordPart(*header, first, found, True)
            header = *_parse_header(path, line, text, names), line
            first, found = line + 1, b""
        elif header:
            if found:
                yield RecordPart(*header, first, found)
            first, found = line, text
        elif text.strip():
            raise InputError(
                "text before the first record", path=path,
                line=line + text[: len(text) - len(text.lstrip())].count(b"\n"),
                expected="FASTA, a header line that begins with >",
            )  # fmt: skip
        line += text.count(b"\n")
    if not header:
        raise InputError("no record", path=path, expected="FASTA with at least one record")
    yield RecordPart(*header, first, found, True)


def _split(stream: BinaryIO, size: int) -> Iterator[tuple[bool, bytes]]:
    """Yield header lines, and what stands between them in parts; True marks a header line."""
    before = b"\n"
    while block := stream.read(size):
        if block.rfind(b">") > block.rfind(b"\n"):
            block += stream.readline()  # a header line is never cut
        block, at = before + block, 1
        while at < len(block):
            end = header = _next_header(block, at)
            if header == at:
                end = block.find(b"\n", at) + 1 or len(block)
            yield header == at, block[at:end]
            at = end
        before = block[-1:]


def _next_header(block: bytes, at: int) -> int:
    """Return where from `at` on a line begins with >, or the block's end."""
    found = block.find(b">", at)  # to search for one byte is far faster than for two
    while found >= 0 and block[found - 1 : found] != b"\n":
        found = block.find(b">", found + 1)
    return found if found >= 0 else len(block)


def _parse_header(path, line: int, text: bytes, names: set[str]) -> tuple[str, str]:
    """Return name and description of a header line, and add the name to `names`."""
    try:
        header = text[1:].decode("utf-8").rstrip()
    except UnicodeDecodeError:
        raise InputError("header is not UTF-8 text", path=path, line=line) from None
    if not header or header[0].isspace():
        raise InputError("record without a name", path=path, line=line, expected=">NAME")
    name, *description = header.split(maxsplit=1)
    _check_new(path, line, name, names)
    return name, "".join(description)


def _check_new(path, line: int | None, name: str, names: set[str]) -> None:
    if name in names:
        raise InputError("duplicate name", path=path, line=line, record=name)
    names.add(name)


def _fastq_parts(path, stream: BinaryIO) -> Iterator[RecordPart]:
    names: set[str] = set()
    with _named_file(path, stream) as file, pysam.FastxFile(file) as records:
        for record in _whole_reads(path, records):
            if not record.name:
                raise InputError("record without a name", path=path, expected="@NAME")
            _check_new(path, None, record.name, names)
            text = (record.sequence or "").encode()
            yield RecordPart(record.name, record.comment or "", None, None, text, True)


def _whole_reads(path, records: pysam.FastxFile) -> Iterator[pysam.libcfaidx.FastxRecord]:
    name = None
    try:
        for record in records:
            name = record.name
            if len(record.sequence or "") != len(record.quality or ""):
                raise ValueError
            yield record
    except (ValueError, OSError):  # pysam's text says no more, and names a copy of standard input
        where = "in the first record" if name is None else f"in or behind record {name}"
        raise InputError(
            f"broken FASTQ {where}", path=path, expected="a quality for each symbol"
        ) from None


@contextmanager
def _named_file(path, stream: BinaryIO) -> Iterator[str]:
    """Give a file that pysam can open by its name: standard input or a pipe is copied into one."""
    if str(path) != STANDARD_STREAM and Path(path).is_file():
        yield str(path)
        return
    with tempfile.NamedTemporaryFile(suffix=".fastq") as copy:
        shutil.copyfileobj(stream, copy)
        copy.flush()
        yield copy.name
