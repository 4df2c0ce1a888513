"""Where approximate matches end in a text block, on a CPU: which thread scans which part of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.matching.cpu import scan as cpu
from gpu_tools.matching.hits import DISTANCE, NO_HITS, PROBE, DistanceLimits
from gpu_tools.matching.pattern import Probe
from gpu_tools.matching.text_blocks import TextBlock
from gpu_tools.matching.traceback import longest_match
from gpu_tools.model.scoring import EditCosts

PROBES_PER_TASK = 64
POSITIONS_PER_TASK = 1 << 22
POSITIONS_PER_THREAD = 1 << 14
_HITS = 1 << 12


class ScanTask(NamedTuple):
    """Positions of a range, by number, to scan for some probes; `start` is the range's first."""

    text_range: int
    start: int
    begin: int
    end: int
    probes: tuple[int, ...]


@dataclass
class Finder:
    """All probes of a search, ready to be scanned on the CPU.

    Parameters
    ----------
    probes : list of Probe
    matches : ndarray of bool, shape (S, C)
        The alphabet's.
    costs : EditCosts
    limits : DistanceLimits
        Falls while a best distance is looked for.
    threads : int
    numbers : sequence of int, optional
        The probes to scan for, by number; all by default.
    done : callable
        Called with the number of text positions that are done since its last call, by any thread.
    """

    probes: list[Probe]
    matches: NDArray[np.bool_]
    costs: EditCosts
    limits: DistanceLimits
    threads: int
    numbers: Sequence[int] | None = None
    done: Callable[[int], None] = field(default=lambda positions: None, repr=False)

    def __post_init__(self):
        self.patterns = np.array([probe.pattern for probe in self.probes])
        self.queries: dict[int, cpu.Query] = {}
        if self.numbers is None:
            self.numbers = range(len(self.probes))

    def warm(self, number: int) -> int:
        """Return how many symbols before its last one a match can begin at most."""
        probe = self.probes[number]
        limit = int(self.limits.current[probe.pattern])
        return longest_match(len(probe.symbols), limit, self.costs.insertion) - 1

    def find(self, text_block: TextBlock) -> NDArray[np.int64]:
        """Return the hits of a text block that are within the limits after it."""
        return self.scan(text_block.codes, self.tasks(text_block, self.numbers))

    def query(self, number: int) -> cpu.Query:
        """Return a probe in the form of the loops, made at the first call."""
        if number not in self.queries:
            symbols = self.probes[number].symbols
            self.queries[number] = cpu.query(symbols, self.matches, self.costs)
        return self.queries[number]

    def tasks(self, text_block: TextBlock, numbers: Iterable[int]) -> list[ScanTask]:
        """Return tasks that together cover a text block for some probes."""
        groups = list(self._groups(numbers))
        return [
            ScanTask(number, text_range.start, begin, end, group)
            for number, text_range in enumerate(text_block.ranges)
            for begin, end in split(text_range.begin, text_range.end, self.threads)
            for group in groups
        ]

    def scan(self, codes, tasks: Iterable[ScanTask]) -> NDArray[np.int64]:
        """Return the hits of some tasks that are within the limits after them."""
        found = map_on_threads(self.threads, lambda task: self._scan(codes, task), tasks)
        return self.within(np.concatenate([NO_HITS, *found]))

    def within(self, hits: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the hits that are within the current limits."""
        limits = self.limits.current[self.patterns[hits[:, PROBE]]]
        return hits[hits[:, DISTANCE] <= limits]

    def _groups(self, numbers: Iterable[int]) -> Iterator[tuple[int, ...]]:
        """Group probes that can share a layout of the text: as many lanes, about as long."""

        def key(number):
            return self.query(number).lanes, self.warm(number).bit_length()

        by_key: dict = {}
        for number in numbers:
            by_key.setdefault(key(number), []).append(number)
        for group in by_key.values():
            for first in range(0, len(group), PROBES_PER_TASK):
                yield tuple(group[first : first + PROBES_PER_TASK])

    def _scan(self, codes, task: ScanTask) -> NDArray[np.int64]:
        lanes = self.query(task.probes[0]).lanes
        # a text has no more before its last position, however long a match may become
        warm = min(max(map(self.warm, task.probes)), task.end - task.start)
        span = cpu.Span(warm, -(-(task.end - task.begin) // lanes), task.begin, task.end)
        pad = self.matches.shape[1]
        interleaved = np.empty((warm + span.length) * lanes, np.min_scalar_type(pad))
        cpu.lay_out(codes, task.start, tuple(span), lanes, pad, interleaved)
        found = [
            np.insert(self._rows(k, interleaved, span), [0, 0], (k, task.text_range), axis=1)
            for k in task.probes
        ]
        self.done((task.end - task.begin) * len(task.probes) // len(self.numbers))
        return np.concatenate(found)

    def _rows(self, number: int, interleaved, span) -> NDArray[np.int64]:
        query, pattern = self.query(number), self.probes[number].pattern
        limits, hits = self.limits.of(pattern), np.empty((_HITS, 2), np.int64)
        count = query.scan(interleaved, span, limits, hits)
        if count > len(hits):
            hits = np.empty((count, 2), np.int64)
            count = query.scan(interleaved, span, limits, hits)
        self.limits.lower(pattern, int(limits[0]))
        return hits[:count].copy()


def split(begin: int, end: int, threads: int) -> Iterator[tuple[int, int]]:
    """Cut positions into ranges for threads, none of them very small or very large."""
    count = min(threads, max((end - begin) // POSITIONS_PER_THREAD, 1))
    count = max(count, -(-(end - begin) // POSITIONS_PER_TASK))
    bounds = [begin + (end - begin) * k // count for k in range(count + 1)]
    yield from pairwise(bounds)
