"""Where approximate matches end in a piece of text: which probe is scanned where, and by what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.matching.cpu import scan as cpu
from gpu_tools.matching.pattern import Probe
from gpu_tools.matching.pieces import Piece, TextRange
from gpu_tools.matching.traceback import longest_match
from gpu_tools.model.scoring import EditCosts

QUERIES_PER_TASK = 64
POSITIONS_PER_TASK = 1 << 22
POSITIONS_PER_THREAD = 1 << 14
_HITS = 1 << 12


class Part(NamedTuple):
    """Positions of a segment to scan for some queries, numbered as in the list of probes."""

    segment: TextRange
    begin: int
    end: int
    queries: tuple[int, ...]


class Hits(NamedTuple):
    """Ends of matches of one probe in one segment: rows of end (in the piece) and distance."""

    probe: int
    segment: TextRange
    rows: NDArray[np.int64]


@dataclass
class MatchLimits:
    """The largest distance of interest of each pattern, and the least to which it may fall."""

    current: NDArray[np.int64]
    floor: NDArray[np.int64]

    def of(self, pattern: int) -> NDArray[np.int64]:
        """Return both of a pattern as a new array."""
        return np.array([self.current[pattern], self.floor[pattern]])

    def lower(self, pattern: int, value: int) -> None:
        """Take a new best distance into account."""
        self.current[pattern] = min(self.current[pattern], value)


@dataclass
class Finder:
    """All probes of a search, ready to be scanned on the CPU.

    Parameters
    ----------
    probes : list of Probe
    matches : ndarray of bool, shape (S, C)
        The alphabet's.
    costs : EditCosts
    limits : MatchLimits
        Falls while a best distance is looked for.
    threads : int
    numbers : sequence of int, optional
        The probes to scan for, by number; all by default.
    """

    probes: list[Probe]
    matches: NDArray[np.bool_]
    costs: EditCosts
    limits: MatchLimits
    threads: int
    numbers: Sequence[int] | None = None

    def __post_init__(self):
        self.queries: dict[int, cpu.UnitQuery | cpu.CostQuery] = {}
        if self.numbers is None:
            self.numbers = range(len(self.probes))

    def warm(self, number: int) -> int:
        """Return the steps before a position within which a match that ends there begins."""
        probe = self.probes[number]
        limit = int(self.limits.current[probe.pattern])
        return longest_match(len(probe.symbols), limit, self.costs.insertion) - 1

    def find(self, piece: Piece) -> list[Hits]:
        """Return the hits of a piece that are within the limits after it."""
        return self.scan(piece.codes, self.parts(piece, self.numbers))

    def query(self, number: int) -> cpu.UnitQuery | cpu.CostQuery:
        """Return a probe as the loops want it, made when it is first asked for."""
        if number not in self.queries:
            symbols = self.probes[number].symbols
            self.queries[number] = cpu.query(symbols, self.matches, self.costs)
        return self.queries[number]

    def parts(self, piece: Piece, numbers: Iterable[int]) -> list[Part]:
        """Return parts that together cover a piece for some queries."""
        groups = list(self._groups(numbers))
        return [
            Part(segment, begin, end, group)
            for segment in piece.segments
            for begin, end in split(segment.begin, segment.end, self.threads)
            for group in groups
        ]

    def scan(self, codes, parts: Iterable[Part]) -> list[Hits]:
        """Return the hits of some parts that are within the limits after them."""
        with ThreadPoolExecutor(self.threads) as pool:
            found = [hits for many in pool.map(lambda p: self._scan(codes, p), parts)
                     for hits in many]  # fmt: skip
        return self.still_within(found)

    def _groups(self, numbers: Iterable[int]) -> Iterator[tuple[int, ...]]:
        """Group queries that can share a layout of the text: as many lanes, about as long."""

        def key(number):
            return self.query(number).lanes, self.warm(number).bit_length()

        by_key: dict = {}
        for number in numbers:
            by_key.setdefault(key(number), []).append(number)
        for group in by_key.values():
            for first in range(0, len(group), QUERIES_PER_TASK):
                yield tuple(group[first : first + QUERIES_PER_TASK])

    def _scan(self, codes, part: Part) -> list[Hits]:
        lanes = self.query(part.queries[0]).lanes
        warm = max(map(self.warm, part.queries))
        span = cpu.Span(warm, -(-(part.end - part.begin) // lanes), part.begin, part.end)
        pad = self.matches.shape[1]
        laid_out = np.empty((warm + span.length) * lanes, np.min_scalar_type(pad))
        cpu.lay_out(codes, part.segment.start, tuple(span), lanes, pad, laid_out)
        return [Hits(k, part.segment, self._rows(k, laid_out, span)) for k in part.queries]

    def _rows(self, number: int, laid_out, span) -> NDArray[np.int64]:
        query, pattern = self.query(number), self.probes[number].pattern
        limits, hits = self.limits.of(pattern), np.empty((_HITS, 2), np.int64)
        count = query.scan(laid_out, span, limits, hits)
        if count > len(hits):
            hits = np.empty((count, 2), np.int64)
            count = query.scan(laid_out, span, limits, hits)
        self.limits.lower(pattern, int(limits[0]))
        return hits[:count].copy()

    def still_within(self, found: Iterable[Hits]) -> list[Hits]:
        """Return the hits that are within the limits of now."""
        kept = map(self._within, found)
        return [hits for hits in kept if len(hits.rows)]

    def _within(self, hits: Hits) -> Hits:
        limit = self.limits.current[self.probes[hits.probe].pattern]
        return hits._replace(rows=hits.rows[hits.rows[:, 1] <= limit])


def split(begin: int, end: int, threads: int) -> Iterator[tuple[int, int]]:
    """Cut positions into ranges for threads, none of them very small or very large."""
    count = min(threads, max((end - begin) // POSITIONS_PER_THREAD, 1))
    count = max(count, -(-(end - begin) // POSITIONS_PER_TASK))
    bounds = [begin + (end - begin) * k // count for k in range(count + 1)]
    yield from pairwise(bounds)


Find = Callable[[Piece], list[Hits]]
