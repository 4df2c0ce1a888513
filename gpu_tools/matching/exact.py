"""Exact matching from text blocks to sorted occurrences, the same on every device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from gpu_tools.matching.pattern import Probe
from gpu_tools.matching.text_blocks import TextBlock
from gpu_tools.model.results import ExactMatches

Find = Callable[[TextBlock], NDArray[np.int64]]


def occurrences(
    text_blocks: Iterable[TextBlock],
    find: Find,
    probes: list[Probe],
    pattern_names: list[str],
    text_names: list[str],
) -> Iterator[ExactMatches]:
    """Yield the occurrences of each text block, sorted by text, start, pattern, strand.

    Parameters
    ----------
    text_blocks : iterable of TextBlock
    find : callable
        Gives rows of start and probe for a text block.
    probes : list of Probe
        Sorted by pattern, ``+`` before ``-``.
    pattern_names, text_names : list of str
        Names by number; the latter grows as texts come by.

    Yields
    ------
    ExactMatches
    """
    patterns = np.array([probe.pattern for probe in probes])
    reverse = np.array([probe.reverse for probe in probes])
    lengths = np.array([len(probe.symbols) for probe in probes])
    for text_block in text_blocks:
        rows = find(text_block)
        starts, numbers = rows[np.lexsort((rows[:, 1], rows[:, 0]))].T
        texts, shifts = _texts_and_shifts(text_block, starts)
        starts = starts + shifts
        yield ExactMatches(
            pattern_names, text_names, patterns[numbers], texts, starts,
            starts + lengths[numbers], reverse[numbers],
        )  # fmt: skip


def _texts_and_shifts(text_block: TextBlock, starts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the text of each start, and the shift from the block's positions to the text's."""
    table = np.array([(s.start, s.text, s.offset - s.start) for s in text_block.ranges])
    rows = np.searchsorted(table[:, 0], starts, side="right") - 1
    return table[rows, 1], table[rows, 2]


def concatenate(
    parts: Iterable[ExactMatches], pattern_names: list[str], text_names: list[str]
) -> ExactMatches:
    """Return the occurrences of all blocks as one."""
    empty = [np.empty(0, np.int64)] * 4 + [np.empty(0, np.bool_)]
    columns = [[p.patterns, p.texts, p.starts, p.ends, p.reverse] for p in parts]
    joined = [np.concatenate(column) for column in zip(empty, *columns, strict=True)]
    return ExactMatches(pattern_names, text_names, *joined)
