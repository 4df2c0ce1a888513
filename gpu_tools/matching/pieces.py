"""Texts of any number and size as pieces that fit into memory, with context at the cuts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.sequences import Sequence, SequenceChunk

SYMBOLS_PER_PIECE = 1 << 25


class Segment(NamedTuple):
    """A part of one text within a piece.

    `start` and `stop` bound the part in the piece's codes, `offset` is the text position of
    `start`; `begin` and `end` bound the positions that this piece must answer for, the rest is
    context.
    """

    text: int
    offset: int
    start: int
    stop: int
    begin: int
    end: int


class Piece(NamedTuple):
    """Codes of one or many segments, one after the other."""

    codes: NDArray[np.uint8]
    segments: list[Segment]


@dataclass
class Context:
    """Symbols that a piece needs before the positions it answers for, and after them."""

    before: int = 0
    after: int = 0


@dataclass
class _Assembler:
    context: Context
    size: int
    names: list[str]
    parts: list = field(default_factory=list)
    segments: list = field(default_factory=list)
    used: int = 0
    kept: NDArray[np.uint8] | None = None
    offset: int = 0
    done: int = 0

    def add(self, chunk: SequenceChunk) -> None:
        """Append a chunk; what later chunks need of it is kept."""
        if self.kept is None:
            self.names.append(chunk.name)
            self.offset = self.done = 0
            codes = chunk.codes
        else:
            codes = np.concatenate((self.kept, chunk.codes))
        stop = self.offset + len(codes)
        answered = stop if chunk.last else max(stop - self.context.after, self.done)
        self._append(codes, answered)
        self.done = answered
        keep = max(self.offset, answered - self.context.before)
        self.kept = None if chunk.last else codes[keep - self.offset :]
        self.offset = keep

    def _append(self, codes, answered: int) -> None:
        if answered == self.done:
            return
        shift = self.used - self.offset
        self.segments.append(Segment(
            len(self.names) - 1, self.offset, self.used, self.used + len(codes),
            self.done + shift, answered + shift,
        ))  # fmt: skip
        self.parts.append(codes)
        self.used += len(codes)

    def take(self) -> Piece:
        """Return what has been added since the last call."""
        codes = self.parts[0] if len(self.parts) == 1 else np.concatenate(self.parts)
        piece = Piece(codes, self.segments)
        self.parts, self.segments, self.used = [], [], 0
        return piece


def pieces(
    texts: Iterable[Sequence | SequenceChunk],
    context: Context,
    names: list[str],
    size: int | None = None,
) -> Iterator[Piece]:
    """Yield pieces that together answer for every position of every text once.

    Parameters
    ----------
    texts : iterable of Sequence or SequenceChunk
        Whole texts, or chunks of them in order.
    context : Context
        What must surround the positions that a piece answers for, as far as the text goes.
    names : list of str
        Gets the name of each text as it comes by.
    size : int, optional
        Symbols of a piece, context not counted; 2^25 by default.

    Yields
    ------
    Piece
    """
    size = size or SYMBOLS_PER_PIECE
    assembler = _Assembler(context, size, names)
    for chunk in _chunks(texts, size):
        assembler.add(chunk)
        if assembler.used >= size:
            yield assembler.take()
    if assembler.used:
        yield assembler.take()


def _chunks(texts, size: int) -> Iterator[SequenceChunk]:
    for text in texts:
        last, n = getattr(text, "last", True), len(text.codes)
        for first in range(0, max(n, 1), size):
            codes = text.codes[first : first + size]
            yield SequenceChunk(text.name, codes, last and first + size >= n)


def ahead(made: Iterator[Piece]) -> Iterator[Piece]:
    """Yield pieces; while one is worked on, the next one is made by a thread."""
    with ThreadPoolExecutor(1) as maker:
        following = maker.submit(next, made, None)
        while (piece := following.result()) is not None:
            following = maker.submit(next, made, None)
            yield piece
