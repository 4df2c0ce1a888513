"""Texts of any size, chunk by chunk, so that no file need fit into memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numba import njit
from numpy.typing import NDArray

import gpu_tools.kernel_cache  # noqa: F401  (compiled functions on disk: one process at a time)
from gpu_tools import simd
from gpu_tools.device import cpu_threads
from gpu_tools.errors import InputError
from gpu_tools.formats.fasta import parse_header
from gpu_tools.formats.files import STANDARD_STREAM, open_binary
from gpu_tools.sequences import SequenceChunk

BYTES_PER_CHUNK = 1 << 24
BYTES_PER_TASK = 1 << 20
_MOST_THREADS = 8
"""More do not help: then memory is the limit."""
_ILLEGAL, _LINE_END = 255, 254
_LINE_ENDS = b"\r\n"
_NEWLINE = 10


def stream_fasta(
    path: str | os.PathLike, table: NDArray[np.uint8], expected: str, threads: int | None = None
) -> Iterator[SequenceChunk]:
    """Yield the records of a FASTA file in chunks of at most 16 MiB.

    What a record is and what is wrong with one is as in `gpu_tools.formats.fasta.read_fasta`.

    Parameters
    ----------
    path : str or PathLike
        Plain, gzip or bgzip file; ``-`` is standard input.
    table : ndarray of uint8, shape (256,)
        Code of each byte, below 254, or 255 for one that is illegal.
    expected : str
        The legal symbols, in words for an error.
    threads : int, optional
        Threads that encode, 8 or all that the process may use by default.

    Yields
    ------
    SequenceChunk
    """
    threads = min(cpu_threads(threads), _MOST_THREADS)
    with open_binary(path) as stream, ThreadPoolExecutor(threads) as pool:
        yield from _Reader(path, table, expected, pool).chunks(stream)


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


@njit(cache=True, nogil=True)
def encode_lines(body, table, codes):
    """Encode lines of symbols.

    Parameters
    ----------
    body : ndarray of uint8, shape (n,)
        Bytes.
    table : ndarray of uint8, shape (256,)
        Code of each byte; 254 for one that ends a line, 255 for an illegal one.
    codes : ndarray of uint8, shape (n,)
        Filled, line ends left out.

    Returns
    -------
    tuple of (int, int, bool)
        Number of codes, number of newlines, and whether a byte is illegal.
    """
    made, lines, illegal = 0, 0, False
    for k in range(len(body)):
        byte = simd.element(body, k)
        code = simd.element(table, np.intp(byte))
        # no branch: a line end is written, too, and then written over
        simd.set_element(codes, made, code)
        made += np.intp(code != _LINE_END)
        lines += np.intp(byte == _NEWLINE)
        illegal |= code == _ILLEGAL
    return made, lines, illegal


class _Reader:
    """Cuts blocks of a file into headers and bodies."""

    def __init__(self, path, table: NDArray[np.uint8], expected: str, pool: ThreadPoolExecutor):
        self.path, self.expected, self.pool = path, expected, pool
        self.table = table.copy()
        self.table[list(_LINE_ENDS)] = _LINE_END
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
                if self.name is None:
                    self._before_first(block[at:stop])
                else:
                    yield from self._body(block[at:stop], following >= 0)
                line_start, at = block[stop - 1 : stop] == b"\n", stop
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

    def _body(self, body: bytes, last: bool) -> Iterator[SequenceChunk]:
        """Yield the codes of a body; `last` if the record ends with it."""
        view = memoryview(body)
        parts = [
            view[first : first + BYTES_PER_TASK] for first in range(0, len(body), BYTES_PER_TASK)
        ]
        encoded = self.pool.map(self._encoded, parts)
        for number, (part, (codes, lines, illegal)) in enumerate(zip(parts, encoded, strict=True)):
            if illegal:
                raise self._illegal(bytes(part), int(np.argmax(codes == _ILLEGAL)))
            self.line += lines
            self.symbols += len(codes)
            self.closed = last and number == len(parts) - 1
            if self.closed:
                self._check_symbols()
            yield SequenceChunk(self.name, codes, self.closed)

    def _encoded(self, part: memoryview) -> tuple[NDArray[np.uint8], int, bool]:
        codes = np.empty(len(part), dtype=np.uint8)
        made, lines, illegal = encode_lines(np.frombuffer(part, np.uint8), self.table, codes)
        return codes[:made], lines, illegal

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
