"""Texts of any size, chunk by chunk, so that no file need fit into memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.formats.fasta import parse_header
from gpu_tools.formats.files import STANDARD_STREAM, open_binary
from gpu_tools.sequences import SequenceChunk

BYTES_PER_CHUNK = 1 << 24
_ILLEGAL = 255
_LINE_ENDS = b"\r\n"


def stream_fasta(
    path: str | os.PathLike, table: NDArray[np.uint8], expected: str
) -> Iterator[SequenceChunk]:
    """Yield the records of a FASTA file in chunks of at most 16 MiB.

    What a record is and what is wrong with one is as in `gpu_tools.formats.fasta.read_fasta`.

    Parameters
    ----------
    path : str or PathLike
        Plain, gzip or bgzip file; ``-`` is standard input.
    table : ndarray of uint8, shape (256,)
        Code of each byte, 255 for one that is illegal.
    expected : str
        The legal symbols, in words for an error.

    Yields
    ------
    SequenceChunk
    """
    reader = _Reader(path, table.tobytes(), expected)
    with open_binary(path) as stream:
        yield from reader.chunks(stream)


def stream_bytes(path: str | os.PathLike) -> Iterator[SequenceChunk]:
    """Yield the bytes of any file, decompressed, as one text with the file's name."""
    name = "-" if str(path) == STANDARD_STREAM else Path(path).name
    with open_binary(path) as stream:
        while block := stream.read(BYTES_PER_CHUNK):
            yield SequenceChunk(name, np.frombuffer(block, dtype=np.uint8), False)
    yield SequenceChunk(name, np.empty(0, dtype=np.uint8), True)


def read_byte_lines(path: str | os.PathLike) -> list[tuple[int, bytes]]:
    """Return (1-based line number, bytes without the line end) of each line of a file.

    Raises
    ------
    InputError
        If the file cannot be read, or has no line.
    """
    with open_binary(path) as stream:
        lines = [line.removesuffix(b"\n").removesuffix(b"\r") for line in stream]
    if not lines:
        raise InputError("no line", path=path, expected="one pattern a line")
    return list(enumerate(lines, start=1))


def _next_header(block: bytes, at: int) -> int:
    """Return where a line that begins with > starts after `at`, or -1."""
    # searching for one byte is many times as fast as for two
    found = block.find(b">", at + 1)
    while found >= 0 and block[found - 1 : found] != b"\n":
        found = block.find(b">", found + 1)
    return found


class _Reader:
    """Cuts blocks of a file into headers and bodies."""

    def __init__(self, path, table: bytes, expected: str):
        self.path, self.table, self.expected = path, table, expected
        self.line, self.name, self.header_line, self.symbols = 1, None, 0, 0
        self.names: set[str] = set()
        self.closed = True

    def chunks(self, stream: BinaryIO) -> Iterator[SequenceChunk]:
        """Yield all records."""
        line_start = True
        while block := stream.read(BYTES_PER_CHUNK):
            at = 0
            while at < len(block):
                if line_start and block[at : at + 1] == b">":
                    if not self.closed:
                        yield self._end()
                    block, at = self._header(stream, block, at)
                    continue
                following = _next_header(block, at)
                stop = len(block) if following < 0 else following
                codes = self._codes(block[at:stop])
                line_start, at = block[stop - 1 : stop] == b"\n", stop
                if codes is not None:
                    self.closed = following >= 0
                    if self.closed:
                        self._check_symbols()
                    yield SequenceChunk(self.name, codes, self.closed)
        if self.name is None:
            raise InputError("no record", path=self.path, expected="FASTA with at least one record")
        if not self.closed:
            yield self._end()

    def _header(self, stream: BinaryIO, block: bytes, at: int) -> tuple[bytes, int]:
        """Take a header line; return the block that holds what follows, and where."""
        end = block.find(b"\n", at)
        while end < 0:
            more = stream.read(BYTES_PER_CHUNK)
            block, at, searched = block[at:] + more, 0, len(block) - at
            end = block.find(b"\n", searched) if more else len(block)
        self.name, _ = parse_header(self.path, self.line, block[at:end], self.names)
        self.header_line, self.symbols, self.closed = self.line, 0, False
        self.line += 1
        return block, end + 1

    def _codes(self, body: bytes) -> NDArray[np.uint8] | None:
        """Return the codes of a body; None for blank lines before the first record."""
        if self.name is None:
            return self._before_first(body)
        translated = body.translate(self.table, _LINE_ENDS)
        illegal = translated.find(b"\xff")
        if illegal >= 0:
            raise self._illegal(body, illegal)
        self.line += body.count(b"\n")
        self.symbols += len(translated)
        return np.frombuffer(translated, dtype=np.uint8)

    def _before_first(self, body: bytes) -> None:
        if body.strip():
            line = self.line + body[: len(body) - len(body.lstrip())].count(b"\n")
            raise InputError(
                "text before the first record", path=self.path, line=line,
                expected="FASTA, a header line that begins with >",
            )  # fmt: skip
        self.line += body.count(b"\n")

    def _illegal(self, body: bytes, illegal: int) -> InputError:
        raw = np.frombuffer(body, dtype=np.uint8)
        places = np.flatnonzero(~np.isin(raw, np.frombuffer(_LINE_ENDS, dtype=np.uint8)))
        place = int(places[illegal])
        shown = repr(chr(raw[place])) if 32 <= raw[place] < 127 else f"0x{raw[place]:02x}"
        return InputError(
            f"illegal symbol {shown}", path=self.path, record=self.name,
            line=self.line + body[:place].count(b"\n"), position=self.symbols + illegal + 1,
            expected=self.expected,
        )  # fmt: skip

    def _check_symbols(self) -> None:
        if not self.symbols:
            raise InputError("no symbols", path=self.path, line=self.header_line, record=self.name)

    def _end(self) -> SequenceChunk:
        self._check_symbols()
        self.closed = True
        return SequenceChunk(self.name, np.empty(0, dtype=np.uint8), True)
