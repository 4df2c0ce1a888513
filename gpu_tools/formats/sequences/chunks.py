"""Texts of any size as encoded chunks, so that no file need fit into memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.formats.files import STANDARD_STREAM, open_binary
from gpu_tools.formats.sequences.parts import BLANKS, PART_BYTES, record_parts
from gpu_tools.hardware.prefetch import prefetch
from gpu_tools.model.sequences import ILLEGAL, SequenceChunk, shown_symbol

_PREFETCHED = 32


def stream_fasta(
    path: str | os.PathLike, table: NDArray[np.uint8], expected: str, size: int = PART_BYTES
) -> Iterator[SequenceChunk]:
    """Yield the records of a FASTA or FASTQ file in chunks; a thread reads and encodes the next.

    Files and errors are those of `fasta.read_fasta`.

    Parameters
    ----------
    path : str or PathLike
    table : ndarray of uint8, shape (256,)
        Code of each byte, or 255 for one that is illegal.
    expected : str
        The legal symbols, in words for an error.
    size : int
        Most symbols of a chunk.
    """
    with closing(prefetch(_encoded(path, table, expected, size), _PREFETCHED)) as chunks:
        yield from chunks


def _encoded(path, table: NDArray[np.uint8], expected: str, size: int) -> Iterator[SequenceChunk]:
    codes_of, before = table.tobytes(), 0
    for part in record_parts(path, size):
        codes = bytearray(part.text).translate(codes_of, BLANKS)
        illegal = codes.find(ILLEGAL)
        if illegal >= 0:
            raise InputError(
                f"illegal symbol {shown_symbol(part.symbols[illegal])}", path=path,
                record=part.name, line=part.line_of(illegal + 1), position=before + illegal + 1,
                expected=expected,
            )  # fmt: skip
        symbols = np.frombuffer(codes, dtype=np.uint8)
        yield SequenceChunk(part.name, symbols, part.last, part.description)
        before = 0 if part.last else before + len(codes)


def stream_bytes(path: str | os.PathLike, size: int = PART_BYTES) -> Iterator[SequenceChunk]:
    """Yield the bytes of any file, decompressed, as one text with the file's name."""
    name = STANDARD_STREAM if str(path) == STANDARD_STREAM else Path(path).name
    with open_binary(path) as stream:
        while block := stream.read(size):
            yield SequenceChunk(name, np.frombuffer(block, dtype=np.uint8), False)
    yield SequenceChunk(name, np.empty(0, dtype=np.uint8), True)
