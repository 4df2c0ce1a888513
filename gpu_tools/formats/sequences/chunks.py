"""Texts of any size, chunk by chunk, so that no file need fit into memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.formats.files import STANDARD_STREAM, open_binary
from gpu_tools.formats.sequences.fasta import parse_header
from gpu_tools.hardware.device import cpu_threads
from gpu_tools.hardware.prefetch import prefetch
from gpu_tools.model.sequences import SequenceChunk

BYTES_PER_CHUNK = 1 << 24
BYTES_PER_TASK = 1 << 20
_BLOCKS_AHEAD, _CHUNKS_AHEAD = 2, 32
_MOST_THREADS = 16
"""More do not help: then memory is the limit."""
_ILLEGAL, _LINE_END = 255, 254
_NEWLINE, _RETURN = b"\n\r"
_LINES = 1 << 12
"""Bytes that are searched for the first two line ends."""


def stream_fasta(
    path: str | os.PathLike, table: NDArray[np.uint8], expected: str, threads: int | None = None
) -> Iterator[SequenceChunk]:
    """Yield the records of a FASTA file in chunks of at most 16 MiB.

    What a record is and what is wrong with one is as in `fasta.read_fasta`.

    Parameters
    ----------
    path : str or PathLike
        Plain, gzip or bgzip file; ``-`` is standard input.
    table : ndarray of uint8, shape (256,)
        Code of each byte, below 254, or 255 for one that is illegal.
    expected : str
        The legal symbols, in words for an error.
    threads : int, optional
        Threads that encode, 16 or all that the process may use by default.

    Yields
    ------
    SequenceChunk
    """
    threads = min(cpu_threads(threads), _MOST_THREADS)
    with (
        open_binary(path) as stream,
        ThreadPoolExecutor(threads) as pool,
        closing(
            prefetch(iter(partial(stream.read, BYTES_PER_CHUNK), b""), _BLOCKS_AHEAD)
        ) as blocks,
        closing(
            prefetch(_ChunkReader(path, table, expected, pool).chunks(blocks), _CHUNKS_AHEAD)
        ) as made,
    ):
        yield from made


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


def encode_lines(body: NDArray[np.uint8], pairs: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """Return the codes of lines of symbols, line ends left out.

    Parameters
    ----------
    body : ndarray of uint8, shape (n,)
        Bytes.
    pairs : ndarray of uint16, shape (65536,)
        See `table_of_pairs`.
    """
    codes = _looked_up(_equal_lines_joined(body), pairs)
    if len(codes) and codes.max() >= _LINE_END:
        codes = _looked_up(body[(body != _NEWLINE) & (body != _RETURN)], pairs)
    return codes


def table_of_pairs(table: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """Return the codes of all pairs of bytes: two are looked up in hardly more time than one.

    Parameters
    ----------
    table : ndarray of uint8, shape (256,)
        Code of each byte; 254 for one that ends a line, 255 for an illegal one.
    """
    pairs = np.empty((256, 256, 2), dtype=np.uint8)
    pairs[..., 0], pairs[..., 1] = table, table[:, None]
    return pairs.view("<u2").ravel()


def _looked_up(symbols: NDArray[np.uint8], pairs: NDArray[np.uint16]) -> NDArray[np.uint8]:
    even = np.resize(symbols, len(symbols) + 1) if len(symbols) % 2 else symbols
    return pairs.take(even.view("<u2"), mode="clip").view(np.uint8)[: len(symbols)]


def _equal_lines_joined(body: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the bytes between line ends; with them if not all lines are as long as the second."""
    body = body[: len(body) - int((body[-1:] == _NEWLINE).any())]
    ends = np.flatnonzero(body[:_LINES] == _NEWLINE)[:2].tolist()
    if len(ends) < 2:
        return body
    begin, width = ends[0] + 1, ends[1] - ends[0]
    count = (len(body) - begin) // width
    lines = body[begin : begin + count * width].reshape(count, width)
    if not (lines[:, -1] == _NEWLINE).all():
        return body
    middle = begin - 1 + count * (width - 1)
    joined = np.empty(len(body) - 1 - count, dtype=np.uint8)
    joined[: begin - 1] = body[: begin - 1]
    joined[begin - 1 : middle].reshape(count, width - 1)[:] = lines[:, :-1]
    joined[middle:] = body[begin + count * width :]
    return joined


class _ChunkReader:
    """Cuts blocks of a file into headers and bodies."""

    def __init__(self, path, table: NDArray[np.uint8], expected: str, pool: ThreadPoolExecutor):
        self.path, self.expected, self.pool = path, expected, pool
        table = table.copy()
        table[[_NEWLINE, _RETURN]] = _LINE_END
        self.pairs = table_of_pairs(table)
        self.line, self.name, self.header_line, self.symbols = 1, None, 0, 0
        self.names: set[str] = set()
        self.closed = True

    def chunks(self, blocks: Iterator[bytes]) -> Iterator[SequenceChunk]:
        """Yield all records of a file that comes in blocks."""
        line_start = True
        for block in blocks:
            at = 0
            while at < len(block):
                if line_start and block[at : at + 1] == b">":
                    if not self.closed:
                        yield self._end()
                    block, at = self._header(blocks, block, at)
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

    def _header(self, blocks: Iterator[bytes], block: bytes, at: int) -> tuple[bytes, int]:
        """Take a header line; return the block that holds what follows, and where."""
        end = block.find(b"\n", at)
        while end < 0:
            more = next(blocks, b"")
            block, at, searched = block[at:] + more, 0, len(block) - at
            end = block.find(b"\n", searched) if more else len(block)
        self.name, _ = parse_header(self.path, self.line, block[at:end], self.names)
        self.header_line, self.symbols, self.closed = self.line, 0, False
        self.line += 1
        return block, end + 1

    def _body(self, body: bytes, last: bool) -> Iterator[SequenceChunk]:
        """Yield the codes of a body; `last` if the record ends with it."""
        whole = np.frombuffer(body, dtype=np.uint8)
        parts = [whole[k : k + BYTES_PER_TASK] for k in range(0, len(whole), BYTES_PER_TASK)]
        encoded = self.pool.map(self._encoded, parts)
        for number, (part, (codes, lines, illegal)) in enumerate(zip(parts, encoded, strict=True)):
            if illegal:
                raise self._illegal(part, int(np.argmax(codes == _ILLEGAL)))
            self.line += lines
            self.symbols += len(codes)
            self.closed = last and number == len(parts) - 1
            if self.closed:
                self._check_symbols()
            yield SequenceChunk(self.name, codes, self.closed)

    def _encoded(self, part: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], int, bool]:
        codes = encode_lines(part, self.pairs)
        illegal = bool(len(codes)) and codes.max() == _ILLEGAL
        return codes, np.count_nonzero(part == _NEWLINE), illegal

    def _before_first(self, body: bytes) -> None:
        if body.strip():
            line = self.line + body[: len(body) - len(body.lstrip())].count(b"\n")
            raise InputError(
                "text before the first record", path=self.path, line=line,
                expected="FASTA, a header line that begins with >",
            )  # fmt: skip
        self.line += body.count(b"\n")

    def _illegal(self, raw: NDArray[np.uint8], illegal: int) -> InputError:
        places = np.flatnonzero(~np.isin(raw, [_NEWLINE, _RETURN]))
        place = int(places[illegal])
        shown = repr(chr(raw[place])) if 32 <= raw[place] < 127 else f"0x{raw[place]:02x}"
        return InputError(
            f"illegal symbol {shown}", path=self.path, record=self.name,
            line=self.line + int(np.count_nonzero(raw[:place] == _NEWLINE)),
            position=self.symbols + illegal + 1, expected=self.expected,
        )  # fmt: skip

    def _check_symbols(self) -> None:
        if not self.symbols:
            raise InputError("no symbols", path=self.path, line=self.header_line, record=self.name)

    def _end(self) -> SequenceChunk:
        self._check_symbols()
        self.closed = True
        return SequenceChunk(self.name, np.empty(0, dtype=np.uint8), True)
