"""Texts of any number and size as blocks that fit into memory, and the hits of a search in them.

Blocks have context at the cuts. The hits of approximate matching are the ends of matches: an array
of int64, shape (k, 4), in any order, with the number of the probe, the number of the range in the
text block, the end in the block's codes, and the distance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.sequences import Sequence, SequenceChunk

SYMBOLS_PER_BLOCK = 1 << 24
PROBE, RANGE, END, DISTANCE = range(4)
"""Columns of hits."""
NO_HITS = np.empty((0, 4), np.int64)


class TextRange(NamedTuple):
    """A part of one text within a block."""

    text: int  # number of the text
    offset: int  # position in the text of the first symbol
    # bounds of the part in the block's codes
    start: int
    stop: int
    # bounds, in the block's codes, of the positions for which the block reports matches. The rest
    # is context
    begin: int
    end: int


class TextBlock(NamedTuple):
    """Codes of one or many ranges of texts, one after the other."""

    codes: NDArray[np.uint8]
    ranges: list[TextRange]

    def numbers_of(self, positions) -> NDArray[np.int64]:
        """Return the number of the range of each position."""
        starts = [text_range.start for text_range in self.ranges]
        return np.searchsorted(starts, positions, side="right") - 1

    def ranges_of(self, positions) -> TextRange:
        """Return the ranges of positions, each field as an array."""
        return TextRange(*np.array(self.ranges)[self.numbers_of(positions)].T)


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
    """Yield blocks of about `size` symbols that together report every position of every text once.

    The name of each text is appended to `names` when its first symbols come.
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
    """Return arrays as one; a single one is not copied: that takes as long as a GPU's search."""
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


Find = Callable[[TextBlock], NDArray[np.int64]]
"""Returns the hits of a text block."""


@dataclass
class DistanceLimits:
    """The largest distances to report: for each pattern, and a ceiling for each probe.

    The ceiling is what an empty match would not reach. The strands of a pattern may differ in it.
    """

    current: NDArray[np.int64]  # by pattern
    floor: int  # to which a limit may fall
    patterns: NDArray[np.int64]  # of the probes
    ceilings: NDArray[np.int64]  # of the probes

    def of(self, probe: int) -> NDArray[np.int64]:
        """Return current and least limit of a probe as a new array."""
        return np.array([min(self.current[self.patterns[probe]], self.ceilings[probe]), self.floor])

    def lower(self, probe: int, value: int) -> None:
        """Lower the limit of a probe's pattern if the probe's own has fallen to `value`."""
        if value < self.of(probe)[0]:
            self.current[self.patterns[probe]] = value


def collect_hits(scan: Callable[[NDArray], int], width: int, capacity: int) -> NDArray[np.int64]:
    """Return the rows that a scan writes to an array; it runs again if the array is too small.

    The scan returns the number of its hits, also of those beyond the array's length.
    """
    hits = np.empty((capacity, width), np.int64)
    count = scan(hits)
    if count > capacity:
        hits = np.empty((count, width), np.int64)
        count = scan(hits)
    return hits[:count].copy()
