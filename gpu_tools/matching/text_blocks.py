"""Texts of any number and size as blocks that fit into memory, with context at the cuts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.sequences import Sequence, SequenceChunk

SYMBOLS_PER_BLOCK = 1 << 24


class TextRange(NamedTuple):
    """A part of one text within a block.

    Attributes
    ----------
    text : int
        Number of the text.
    offset : int
        Position in the text of the first symbol.
    start, stop : int
        Bounds of the part in the block's codes.
    begin, end : int
        Bounds, in the block's codes, of the positions for which the block reports matches. The
        rest is context.
    """

    text: int
    offset: int
    start: int
    stop: int
    begin: int
    end: int


class TextBlock(NamedTuple):
    """Codes of one or many ranges of texts, one after the other."""

    codes: NDArray[np.uint8]
    ranges: list[TextRange]


class Context(NamedTuple):
    """Symbols that a block needs before and after the positions for which it reports matches."""

    before: int = 0
    after: int = 0


class _OpenText(NamedTuple):
    """A text that goes on: its number, what has been reported, and its range in this block.

    `offset` is the position in the text of the range's first symbol, `start` that in the block,
    `first` the number of its first array of codes.
    """

    text: int
    done: int = 0
    offset: int = 0
    start: int = 0
    first: int = 0


@dataclass
class _Assembler:
    """Appends chunks to a block; a block begins with the context of the text that goes on."""

    context: Context
    names: list[str]
    parts: list = field(default_factory=list)
    ranges: list = field(default_factory=list)
    used: int = 0
    open: _OpenText | None = None

    def add(self, chunk: SequenceChunk) -> None:
        """Append a chunk."""
        if self.open is None:
            self.names.append(chunk.name)
            self.open = _OpenText(len(self.names) - 1, start=self.used, first=len(self.parts))
        self._append(chunk.codes)
        if chunk.last:
            self._close(self._stop())
            self.open = None

    def finish(self) -> TextBlock:
        """Return what has been added since the last call, perhaps without any range."""
        codes = np.concatenate([np.empty(0, np.uint8), *self.parts])
        following = self.open and self._following()
        text_block = TextBlock(codes[: self.used], self.ranges)
        self.parts, self.ranges, self.used = [], [], 0
        if following:
            self.open, length = following
            self._append(codes[len(codes) - length :])
        return text_block

    def _following(self) -> tuple[_OpenText, int]:
        """Close the open range; return how its text goes on, and with how many symbols of it."""
        text, done, offset, *_ = self.open
        stop = self._stop()
        reported = max(stop - self.context.after, done)
        first = max(offset, reported - self.context.before)
        self._close(reported)
        return _OpenText(text, reported, first), stop - first

    def _append(self, codes) -> None:
        self.parts.append(codes)
        self.used += len(codes)

    def _stop(self) -> int:
        """Return the position in the text behind the open range."""
        return self.open.offset + self.used - self.open.start

    def _close(self, reported: int) -> None:
        """Add the open range, or remove its codes if it has no position to report."""
        text, done, offset, start, first = self.open
        if reported == done:
            self.used = start
            del self.parts[first:]
            return
        shift = start - offset
        self.ranges.append(
            TextRange(text, offset, start, self.used, done + shift, reported + shift)
        )


def text_blocks(
    texts: Iterable[Sequence | SequenceChunk],
    context: Context,
    names: list[str],
    size: int = SYMBOLS_PER_BLOCK,
) -> Iterator[TextBlock]:
    """Yield blocks that together report every position of every text once.

    Parameters
    ----------
    texts : iterable of Sequence or SequenceChunk
        Whole texts, or chunks of them in order.
    context : Context
        What must surround the positions that a block reports, as far as the text goes.
    names : list of str
        Gets the name of each text as it comes by.
    size : int
        Symbols of a block, about.

    Yields
    ------
    TextBlock
    """
    assembler = _Assembler(context, names)
    for chunk in _chunks(texts, size):
        assembler.add(chunk)
        if assembler.used >= size:
            text_block = assembler.finish()
            if text_block.ranges:
                yield text_block
    if assembler.ranges:
        yield assembler.finish()


def _chunks(texts, size: int) -> Iterator[SequenceChunk]:
    for text in texts:
        last, n = getattr(text, "last", True), len(text.codes)
        for first in range(0, max(n, 1), size):
            codes = text.codes[first : first + size]
            yield SequenceChunk(text.name, codes, last and first + size >= n)
