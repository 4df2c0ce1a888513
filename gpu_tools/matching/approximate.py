"""Approximate matching, the same on every device: its recurrence, and from hits to matches.

A hit is the end of a match. Pattern and text are read backwards from there: R(i, l) is the least
cost of the last i pattern symbols against the last l text symbols. Rows are stored at checkpoints
only. The traceback, which runs forward in the text, computes the cells between two of them again.

Ties, which make the answer the same on every device: the longest match of that distance; within
it, from its start on, an aligned pair goes before a ``D``, and a ``D`` before an ``I``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.errors import InputError, ScoringError
from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.matching.index import Probe
from gpu_tools.matching.text_blocks import END, DistanceLimits, Find, TextBlock
from gpu_tools.model.results import ApproximateMatch
from gpu_tools.model.scoring import LIMIT_INT32, EditCosts

_HITS_PER_TASK = 256
_EQUAL, _UNEQUAL, _INSERTION, _DELETION = range(4)
_OPERATIONS = "=XID"
_FAR = np.int32(2**30)
"""Larger than any distance, and small enough to add a cost to it."""


@register_jitable
def cell(diagonal, up, left, pair, deletion, insertion):
    """Return c(i, j), the least cost of the first i pattern symbols against text ending at j."""
    # c(i, j) = min(c(i-1, j-1) + pair(i, j), c(i-1, j) + deletion, c(i, j-1) + insertion)
    return min(min(diagonal + pair, up + deletion), left + insertion)


class Tables(NamedTuple):
    """Matches and costs by pattern symbol, of S, and text code, of C."""

    matches: NDArray[np.bool_]  # (S, C)
    pairs: NDArray[np.int32]  # (S, C)
    deletions: NDArray[np.int32]  # (S,)
    insertions: NDArray[np.int32]  # (C,)

    @classmethod
    def of(cls, matches: NDArray[np.bool_], costs: EditCosts) -> Tables:
        """Return the tables of an alphabet's matches and of costs."""
        insertions, deletions = costs.by_symbol(matches)
        return cls(matches, costs.pair_costs(matches), deletions, insertions)

    def of_codes(self, codes: NDArray[np.int64]) -> Tables:
        """Return the tables of some text codes."""
        columns = self.matches[:, codes], self.pairs[:, codes]
        return Tables(*columns, self.deletions, self.insertions[codes])

    @property
    def cheapest(self) -> tuple[int, int]:
        """The least costs of a deletion and of an insertion."""
        return int(self.deletions.min()), int(self.insertions.min())

    def whole(self, symbols: NDArray[np.uint8]) -> int:
        """Return the cost of deleting a whole pattern."""
        return int(self.deletions[symbols].sum(dtype=np.int64))

    def longest_match(self, m: int, distance: int) -> int:
        """Return the limit of a match's length; each symbol beyond the pattern's m is inserted."""
        return m + distance // self.cheapest[1]

    def largest_value(self, symbols: NDArray[np.uint8]) -> int:
        """Return an upper bound of the recurrence's values; `ScoringError` if it overflows."""
        # no cell is above the cost of deleting all rows; a padded pair is added to such a cell
        costs = self.pairs[symbols], self.deletions[symbols], self.insertions
        largest = 2 * (self.whole(symbols) + 1) + max(int(each.max()) for each in costs)
        if largest >= LIMIT_INT32:
            raise ScoringError(f"distances up to {largest} could overflow; expected less than 2^30")
        return largest


@njit(cache=True, nogil=True)
def _fill(rows, first, symbols, codes, band, tables):
    """Fill rows ``first + 1`` and following of a block, in the band; its row 0 is row `first`."""
    _, pairs, deletions, insertions = tables
    width = rows.shape[1]
    for k in range(1, len(rows)):
        i, left, insertion = first + k, _FAR, np.int32(0)
        symbol = symbols[len(symbols) - i]
        of_symbol, deletion = pairs[symbol], deletions[symbol]
        low, high = max(i - band[0], 0), min(i + band[1], width - 1)
        for column in range(low, high + 1):
            diagonal, pair = _FAR, np.int32(0)
            if column > 0:
                diagonal = rows[k - 1, column - 1]
                code = codes[len(codes) - column]
                pair, insertion = of_symbol[code], insertions[code]
            up = rows[k - 1, column]
            left = np.int32(cell(diagonal, up, left, pair, deletion, insertion))
            rows[k, column] = left
        if low > 0:
            rows[k, low - 1] = _FAR
        if high + 1 < width:
            rows[k, high + 1] = _FAR


@njit(cache=True, nogil=True)
def _align(symbols, codes, distance, tables, stride):
    """Return the length of the match, and operation and length of each run, shape (r, 2).

    Rows that are a multiple of `stride` are stored.
    """
    matches, pairs, deletions, insertions = tables
    m, width = len(symbols), len(codes)
    band = (distance // deletions.min(), distance // insertions.min())
    n_blocks = (m + stride - 1) // stride
    checkpoints = np.full((n_blocks + 1, width + 1), _FAR, np.int32)
    checkpoints[0, 0] = 0
    for column in range(1, min(width, band[1]) + 1):
        inserted = insertions[codes[width - column]]
        checkpoints[0, column] = min(checkpoints[0, column - 1] + inserted, _FAR)
    rows = np.full((stride + 1, width + 1), _FAR, np.int32)
    for block in range(n_blocks):
        n = min(stride, m - block * stride)
        simd.copy(checkpoints[block], rows[0])
        _fill(rows[: n + 1], block * stride, symbols, codes, band, tables)
        simd.copy(rows[n], checkpoints[block + 1])
    column = min(width, m + band[1])
    while column > 1 and checkpoints[n_blocks, column] != distance:
        column -= 1
    length, i, block = column, m, n_blocks - 1
    runs, n_runs = np.empty((m + column, 2), np.int64), 0
    while i > 0 or column > 0:
        if 0 < i <= block * stride:
            block = (i - 1) // stride
            simd.copy(checkpoints[block], rows[0])
            n = min(stride, m - block * stride)
            _fill(rows[: n + 1], block * stride, symbols, codes, band, tables)
        k = i - block * stride
        here = rows[k, column]
        operation = _INSERTION
        if i > 0 and column > 0:
            symbol, code = symbols[m - i], codes[width - column]
            if rows[k - 1, column - 1] + pairs[symbol, code] == here:
                operation = _EQUAL if matches[symbol, code] else _UNEQUAL
        inserted = insertions[codes[width - column]] if column > 0 else np.int32(0)
        if operation == _INSERTION and column > 0 and rows[k, column - 1] + inserted == here:
            operation = _DELETION
        if n_runs == 0 or runs[n_runs - 1, 0] != operation:
            runs[n_runs, 0], runs[n_runs, 1] = operation, 0
            n_runs += 1
        runs[n_runs - 1, 1] += 1
        i -= operation != _DELETION
        column -= operation != _INSERTION
    return length, runs[:n_runs]


def trace(symbols, codes, distance: int, tables: Tables):
    """Return the length of the longest match at the end of a text, and its CIGAR.

    `distance` is the least cost of a match with that end.
    """
    longest = tables.longest_match(len(symbols), distance)
    window = codes[max(len(codes) - longest, 0) :]
    stride = math.isqrt(len(symbols)) + 1
    length, runs = _align(symbols, window, distance, tuple(tables), stride)
    return length, tuple((_OPERATIONS[operation], n) for operation, n in runs.tolist())


# ---- matches of text blocks


class SortedMatch(NamedTuple):
    """A match and its sort key: number of text, end, number of pattern, strand."""

    key: tuple[int, int, int, bool]
    match: ApproximateMatch


@dataclass
class Tracer:
    """Traces hits back to matches."""

    probes: list[Probe]
    pattern_names: list[str]
    text_names: list[str]  # grows with the texts
    tables: Tables
    threads: int

    def matches(self, text_block: TextBlock, hits: NDArray[np.int64]) -> list[SortedMatch]:
        """Return the matches of hits."""
        tasks = [hits[k : k + _HITS_PER_TASK] for k in range(0, len(hits), _HITS_PER_TASK)]
        parts = map_on_threads(self.threads, lambda hits: self._trace(text_block, hits), tasks)
        return [match for part in parts for match in part]

    def _trace(self, text_block: TextBlock, hits: NDArray[np.int64]) -> list[SortedMatch]:
        made = []
        for number, in_range, end, distance in hits.tolist():
            probe, text_range = self.probes[number], text_block.ranges[in_range]
            shift = text_range.offset - text_range.start
            text = text_block.codes[text_range.start : end]
            length, cigar = trace(probe.symbols, text, distance, self.tables)
            key = (text_range.text, end + shift, probe.pattern, probe.reverse)
            match = ApproximateMatch(
                pattern=self.pattern_names[probe.pattern],
                text=self.text_names[text_range.text],
                start=end - length + shift,
                end=end + shift,
                strand="-" if probe.reverse else "+",
                distance=distance,
                cigar=cigar,
            )
            made.append(SortedMatch(key, match))
        return made


def within(
    text_blocks: Iterable[TextBlock], find: Find, tracer: Tracer
) -> Iterator[list[ApproximateMatch]]:
    """Yield the sorted matches of each text block."""
    for text_block in text_blocks:
        made = tracer.matches(text_block, find(text_block))
        yield _in_order(made)


@dataclass
class _Best:
    """The best matches of a pattern so far; hits that are not traced yet stand by text block."""

    distance: int = 2**62
    matches: list[SortedMatch] = field(default_factory=list)
    hits: list[tuple[TextBlock, NDArray[np.int64]]] = field(default_factory=list)

    def reached_by(self, distance: int) -> bool:
        """Return whether a distance is the best one now; a better one empties the lists."""
        if distance < self.distance:
            self.distance, self.matches, self.hits = distance, [], []
        return distance == self.distance


def best(text_blocks: Iterable[TextBlock], find: Find, tracer: Tracer) -> list[ApproximateMatch]:
    """Return the sorted matches that reach each pattern's best distance over all blocks."""
    best_ones = [_Best() for _ in tracer.pattern_names]
    for text_block in text_blocks:
        for found in tracer.matches(text_block, find(text_block)):
            one = best_ones[found.key[2]]
            if one.reached_by(found.match.distance):
                one.matches.append(found)
        for pattern, distance, hits in _unrelated(text_block, tracer, best_ones):
            if best_ones[pattern].reached_by(distance):
                best_ones[pattern].hits.append((text_block, hits))
    traced = (tracer.matches(*each) for one in best_ones for each in one.hits)
    return _in_order(chain(*(one.matches for one in best_ones), *traced))


def _in_order(matches: Iterable[SortedMatch]) -> list[ApproximateMatch]:
    return [found.match for found in sorted(matches, key=lambda found: found.key)]


def _unrelated(
    text_block: TextBlock, tracer: Tracer, best_ones: list[_Best]
) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Yield pattern, distance and hits of the best matches where no search finds any.

    If no match costs less than deleting the whole pattern, then no aligned pair costs less than
    its symbol's deletion, and a best match that is not empty has one text symbol (or more at no
    extra cost): its distance is that of this symbol alone.
    """
    _, pairs, deletions, insertions = tracer.tables
    for number, probe in enumerate(tracer.probes):
        whole = tracer.tables.whole(probe.symbols)
        if best_ones[probe.pattern].distance < whole:
            continue
        aligned = pairs[probe.symbols] - deletions[probe.symbols, None]
        values = whole + np.minimum(aligned.min(axis=0), insertions)
        for in_range, text_range in enumerate(text_block.ranges):
            of_text = values[text_block.codes[text_range.begin : text_range.end]]
            least = int(of_text.min())
            ends = text_range.begin + 1 + np.flatnonzero(of_text == least)
            hits = np.full((len(ends), 4), (number, in_range, 0, least))
            hits[:, END] = ends
            yield probe.pattern, least, hits


def first_limits(
    probes: list[Probe], pattern_names: list[str], tables: Tables, max_distance: int | None
) -> DistanceLimits:
    """Return the limits with which a search begins; None looks for the best distance.

    Raises `InputError` for a pattern that would match everywhere, `ScoringError` for overflow.
    """
    patterns = np.array([probe.pattern for probe in probes])
    ceilings = np.array([tables.whole(probe.symbols) - 1 for probe in probes])
    for probe, ceiling in zip(probes, ceilings.tolist(), strict=True):
        tables.largest_value(probe.symbols)
        if max_distance is not None and max_distance > ceiling:
            raise InputError(
                f"the maximum distance {max_distance} is not below {ceiling + 1}, the cost of "
                "deleting the whole pattern, so that every position would match",
                record=pattern_names[probe.pattern],
            )
    limit, floor = (2**62, 0) if max_distance is None else (max_distance, max_distance)
    return DistanceLimits(np.full(len(pattern_names), limit), floor, patterns, ceilings)


def context(probes: list[Probe], limits: DistanceLimits, tables: Tables) -> int:
    """Return the symbols before a position within which every match that ends there begins."""
    return max(
        tables.longest_match(len(probe.symbols), int(limits.of(number)[0]))
        for number, probe in enumerate(probes)
    )
