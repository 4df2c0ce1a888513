"""Texts of any number and size as pieces that fit into memory, with context at the cuts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.sequences import Sequence, SequenceChunk

SYMBOLS_PER_PIECE = 1 << 24


class TextRange(NamedTuple):
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
    segments: list[TextRange]


@dataclass
class Context:
    """Symbols that a piece needs before the positions it answers for, and after them."""

    before: int = 0
    after: int = 0


class _Open(NamedTuple):
    """A text that goes on: its number, what has been answered, and its segment in this piece.

    `offset` is the text position of the segment's first symbol, `start` the piece's, `first` the
    number of its first part.
    """

    text: int
    done: int = 0
    offset: int = 0
    start: int = 0
    first: int = 0


@dataclass
class _Assembler:
    """Copies chunks one behind the other; what later ones need of a text goes before them."""

    context: Context
    names: list[str]
    parts: list = field(default_factory=list)
    segments: list = field(default_factory=list)
    used: int = 0
    open: _Open | None = None

    def add(self, chunk: SequenceChunk) -> None:
        """Append a chunk."""
        if self.open is None:
            self.names.append(chunk.name)
            self.open = _Open(len(self.names) - 1, start=self.used, first=len(self.parts))
        self._put(chunk.codes)
        if chunk.last:
            self._close(self._stop())
            self.open = None

    def take(self) -> Piece:
        """Return what has been added since the last call, perhaps without any segment."""
        codes = np.concatenate([np.empty(0, np.uint8), *self.parts])
        kept = self.open and self._kept()
        piece = Piece(codes[: self.used], self.segments)
        self.parts, self.segments, self.used = [], [], 0
        if kept:
            self.open, length = kept
            self._put(codes[len(codes) - length :])
        return piece

    def _kept(self) -> tuple[_Open, int]:
        """Close the open segment; return how its text goes on, and with how many symbols of it."""
        text, done, offset, *_ = self.open
        stop = self._stop()
        answered = max(stop - self.context.after, done)
        keep = max(offset, answered - self.context.before)
        self._close(answered)
        return _Open(text, answered, keep), stop - keep

    def _put(self, codes) -> None:
        self.parts.append(codes)
        self.used += len(codes)

    def _stop(self) -> int:
        """Return the text position behind the open segment."""
        return self.open.offset + self.used - self.open.start

    def _close(self, answered: int) -> None:
        """Add the open segment, or take it back if it would answer nothing."""
        text, done, offset, start, first = self.open
        if answered == done:
            self.used = start
            del self.parts[first:]
            return
        shift = start - offset
        self.segments.append(
            TextRange(text, offset, start, self.used, done + shift, answered + shift)
        )


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
        Symbols of a piece, about; 2^24 by default.

    Yields
    ------
    Piece
    """
    size = size or SYMBOLS_PER_PIECE
    assembler = _Assembler(context, names)
    for chunk in _chunks(texts, size):
        assembler.add(chunk)
        if assembler.used >= size:
            piece = assembler.take()
            if piece.segments:
                yield piece
    if assembler.segments:
        yield assembler.take()


def _chunks(texts, size: int) -> Iterator[SequenceChunk]:
    for text in texts:
        last, n = getattr(text, "last", True), len(text.codes)
        for first in range(0, max(n, 1), size):
            codes = text.codes[first : first + size]
            yield SequenceChunk(text.name, codes, last and first + size >= n)
