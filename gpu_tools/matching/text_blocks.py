"""Texts of any number and size as blocks that fit into memory, with context at the cuts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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


class _TextPart(NamedTuple):
    """Codes of a text from `offset` on, which report the positions `begin` to ``end - 1``."""

    text: int
    offset: int
    codes: NDArray[np.uint8]
    begin: int
    end: int


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
    parts, ranges, used = [], [], 0
    for part in _text_parts(texts, context, names, size):
        shift, stop = used - part.offset, used + len(part.codes)
        ranges.append(
            TextRange(part.text, part.offset, used, stop, part.begin + shift, part.end + shift)
        )
        parts.append(part.codes)
        used = stop
        if used >= size:
            yield TextBlock(_joined(parts), ranges)
            parts, ranges, used = [], [], 0
    if ranges:
        yield TextBlock(_joined(parts), ranges)


def _joined(parts: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Return arrays as one; a single one is not copied, which takes as long as a GPU's search."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _text_parts(
    texts: Iterable[Sequence | SequenceChunk], context: Context, names: list[str], size: int
) -> Iterator[_TextPart]:
    """Yield parts of about `size` symbols of each text that overlap by the context."""
    held, offset, begin = [], 0, 0
    for text in texts:
        if not held:
            names.append(text.name)
        if not held and getattr(text, "last", True):
            yield from _parts_of_whole(len(names) - 1, text.codes, context, size)
            continue
        for chunk in _slices(text, size):
            held.append(chunk.codes)
            if not chunk.last and sum(map(len, held)) < size:
                continue
            codes = _joined(held)
            stop = offset + len(codes)
            end = stop if chunk.last else max(stop - context.after, begin)
            if end > begin:
                yield _TextPart(len(names) - 1, offset, codes, begin, end)
            following = max(offset, end - context.before)
            held, offset, begin = [codes[following - offset :]], following, end
            if chunk.last:
                held, offset, begin = [], 0, 0


def _parts_of_whole(
    text: int, codes: NDArray[np.uint8], context: Context, size: int
) -> Iterator[_TextPart]:
    """Yield the parts of a text that is in memory as a whole, of which nothing is copied."""
    for begin in range(0, len(codes), size):
        end = min(begin + size, len(codes))
        first, stop = max(begin - context.before, 0), end + context.after
        yield _TextPart(text, first, codes[first:stop], begin, end)


def _slices(text: SequenceChunk, size: int) -> Iterator[SequenceChunk]:
    n = len(text.codes)
    for first in range(0, max(n, 1), size):
        codes = text.codes[first : first + size]
        yield SequenceChunk(text.name, codes, text.last and first + size >= n)
