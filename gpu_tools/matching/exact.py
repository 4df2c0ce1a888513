"""Exact matching from pieces of text to sorted occurrences, the same on every device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from gpu_tools.matching.pattern import Probe
from gpu_tools.matching.pieces import Piece
from gpu_tools.model.results import ExactMatches

Find = Callable[[Piece], NDArray[np.int64]]


def occurrences(
    pieces: Iterable[Piece],
    find: Find,
    probes: list[Probe],
    pattern_names: list[str],
    text_names: list[str],
) -> Iterator[ExactMatches]:
    """Yield the occurrences of each piece, sorted by text, start, pattern, strand.

    Parameters
    ----------
    pieces : iterable of Piece
    find : callable
        Gives rows of start and probe for a piece.
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
    for piece in pieces:
        rows = find(piece)
        starts, numbers = rows[np.lexsort((rows[:, 1], rows[:, 0]))].T
        texts, shifts = _places(piece, starts)
        starts = starts + shifts
        yield ExactMatches(
            pattern_names, text_names, patterns[numbers], texts, starts,
            starts + lengths[numbers], reverse[numbers],
        )  # fmt: skip


def _places(piece: Piece, starts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the text of each start, and what leads from the piece to the text's positions."""
    table = np.array([(s.start, s.text, s.offset - s.start) for s in piece.segments])
    rows = np.searchsorted(table[:, 0], starts, side="right") - 1
    return table[rows, 1], table[rows, 2]


def concatenate(
    parts: Iterable[ExactMatches], pattern_names: list[str], text_names: list[str]
) -> ExactMatches:
    """Return the occurrences of all pieces as one."""
    empty = [np.empty(0, np.int64)] * 4 + [np.empty(0, np.bool_)]
    columns = [
        [p.patterns, p.texts, p.starts, p.ends, p.reverse] for p in parts
    ]  # fmt: skip
    joined = [np.concatenate(column) for column in zip(empty, *columns, strict=True)]
    return ExactMatches(pattern_names, text_names, *joined)
