"""Approximate matching by seeds, where few errors are allowed: pigeonhole filtering.

A match of at most e errors leaves one of e + 1 parts of its pattern intact. Exact matching finds
these *seeds* of all patterns in one scan of the text. The recurrence is computed only in windows
around them. Nothing is missed, and the time hardly grows with the number of patterns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.matching.approximate import cell
from gpu_tools.matching.cpu.approximate import Finder
from gpu_tools.matching.pattern import Probe
from gpu_tools.matching.text_blocks import Find, TextBlock, collect_hits
from gpu_tools.model.scoring import EditCosts

WINDOWS_PER_TASK = 1024
SECONDS_PER_CELL = 2e-9
"""Time of the recurrence on one core."""


class ScanTimes(NamedTuple):
    """Approximate seconds that a device needs to scan a text symbol."""

    seeds: float  # for all seeds together
    probe: float  # for one probe by the recurrence


SCAN_TIMES = {"cpu": ScanTimes(2.5e-9, 2e-9), "cuda": ScanTimes(1e-12, 4e-12)}
"""By kind of device; those of a CPU are of one core."""


class Seeds(NamedTuple):
    """The seeds of the probes that are searched by them."""

    others: list[int]  # the probes that have none, by number
    # (S,): the probe of each seed, and the seed's position in it
    owners: NDArray[np.int64]
    offsets: NDArray[np.int64]
    probes: list[Probe]  # the seeds as what exact matching searches for


def choose(
    probes: list[Probe], matches: NDArray[np.bool_], errors: int | None, times: ScanTimes
) -> Seeds:
    """Return the seeds of the probes that are found faster by them, perhaps of none."""
    fractions = np.log(np.maximum(matches[:, :-1].mean(axis=1), 1e-9))
    cuts = {}
    for number, probe in enumerate(probes):
        m = len(probe.symbols)
        if errors is None or errors >= m:
            continue
        bounds = [m * k // (errors + 1) for k in range(errors + 2)]
        occurring = np.exp(np.add.reduceat(fractions[probe.symbols], bounds[:-1])).sum()
        cells = (m + 4 * errors) * (errors + 2)
        if 2 * occurring * cells * SECONDS_PER_CELL < times.probe:
            cuts[number] = bounds
    faster = len(cuts) * times.probe > 2 * times.seeds
    return _seeds(probes, cuts if faster else {})


def most_errors(
    costs: EditCosts, matches: NDArray[np.bool_], max_distance: int | None
) -> int | None:
    """Return the largest number of errors within a distance, None if it is unlimited."""
    if max_distance is None:
        return None
    pairs = costs.pair_costs(matches)[~matches]
    cheapest = min(costs.insertion, costs.deletion, int(pairs.min()))
    return max_distance // cheapest if cheapest else None


def _seeds(probes: list[Probe], cuts: dict[int, list[int]]) -> Seeds:
    """Return the parts of probes between `cuts`, which are by number of the probe."""
    parts = [
        (number, first, probes[number].symbols[first:stop])
        for number, bounds in cuts.items()
        for first, stop in pairwise(bounds)
    ]
    return Seeds(
        [number for number in range(len(probes)) if number not in cuts],
        np.array([number for number, _, _ in parts], dtype=np.int64),
        np.array([first for _, first, _ in parts], dtype=np.int64),
        [Probe(k, False, symbols) for k, (_, _, symbols) in enumerate(parts)],
    )


@njit(cache=True, nogil=True)
def scan_windows(codes, windows, probes, pairs, weights, limit, hits):
    """Find the ends of matches within windows."""
    # windows (W, 4): probe, start of the text of its longest match, begin and end of the positions
    # probes: symbols of all probes, and where each one's begin
    # hits (capacity, 3): window, end, distance
    symbols, bounds = probes
    deletion, insertion = weights
    column = np.empty(np.max(np.diff(bounds)) + 1, np.int64)
    count = 0
    for w in range(len(windows)):
        probe, first, begin, end = windows[w]
        base = bounds[probe]
        m = bounds[probe + 1] - base
        for i in range(m + 1):
            column[i] = i * deletion
        active = min(m, limit // deletion)
        for position in range(first, end):
            of_code = pairs[:, codes[position]]
            diagonal, up, i = np.int64(0), np.int64(0), 0
            # one row beyond the active ones, and further only down a run of deletions
            while i < m and (i <= active or up + deletion <= limit):
                left = column[i + 1]
                pair = np.int64(of_code[symbols[base + i]])
                up = cell(diagonal, up, left, pair, deletion, insertion)
                column[i + 1] = up
                diagonal = left
                i += 1
            if i == m and position >= begin and up <= limit:
                if count < len(hits):
                    hits[count, 0], hits[count, 1], hits[count, 2] = w, position + 1, up
                count += 1
            active = i
            while active > 0 and column[active] > limit:
                active -= 1
    return count


@dataclass
class SeedFinder:
    """Finds some probes by seeds, the others by the recurrence alone."""

    finder: Finder  # of all probes
    seeds: Seeds
    # returns rows of start and seed for a text block
    find_seeds: Callable[[TextBlock], NDArray[np.int64]]
    find_others: Find  # finds the probes that have no seeds

    def __post_init__(self):
        probes, costs = self.finder.probes, self.finder.costs
        lengths = [len(probe.symbols) for probe in probes]
        self.lengths = np.array(lengths)
        self.symbols = np.concatenate([probe.symbols for probe in probes])
        self.bounds = np.cumsum([0, *lengths])
        self.pairs = costs.pair_costs(self.finder.matches)
        self.limit = int(self.finder.limits.current[0])

    def find(self, text_block: TextBlock) -> NDArray[np.int64]:
        """Return the hits of a text block that are within the limit."""
        windows, ranges = self._windows(text_block)
        tasks = range(0, len(windows), WINDOWS_PER_TASK)
        parts = map_on_threads(
            self.finder.threads, lambda k: self._scan(text_block.codes, windows, k), tasks
        )
        rows = np.concatenate([np.empty((0, 3), np.int64), *parts])
        of_window = np.column_stack((windows[:, 0], ranges))[rows[:, 0]]
        found = np.column_stack((of_window, rows[:, 1:]))
        return np.concatenate([found, self.find_others(text_block)])

    def _scan(self, codes, windows, first: int) -> NDArray[np.int64]:
        batch = windows[first : first + WINDOWS_PER_TASK]
        weights = self.finder.costs.deletion, self.finder.costs.insertion
        probes = self.symbols, self.bounds
        inputs = codes, batch, probes, self.pairs, weights, self.limit
        rows = collect_hits(lambda hits: scan_windows(*inputs, hits), 3, WINDOWS_PER_TASK)
        rows[:, 0] += first
        return rows

    def _windows(self, text_block: TextBlock) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the windows for `scan_windows`, and the number of each one's range."""
        whole = [s._replace(begin=s.start, end=s.stop) for s in text_block.ranges]
        starts, numbers = self.find_seeds(TextBlock(text_block.codes, whole)).T
        owners = self.seeds.owners[numbers]
        table = np.array([(s.start, s.begin, s.end) for s in text_block.ranges])
        ranges = np.searchsorted(table[:, 0], starts, side="right") - 1
        # where the match would end without a gap, and how far gaps can move that
        ends = starts - self.seeds.offsets[numbers] + self.lengths[owners]
        begins = ends - 1 - self.limit // self.finder.costs.deletion
        ends = ends + self.limit // self.finder.costs.insertion
        begins = np.maximum(begins, table[ranges, 1])
        ends = np.minimum(ends, table[ranges, 2])
        inside = begins < ends
        rows = np.column_stack((owners, begins, ends, ranges))[inside]
        owners, begins, ends, ranges = _merged(rows[np.lexsort((rows[:, 1], rows[:, 0]))]).T
        longest = self.lengths[owners] + self.limit // self.finder.costs.insertion
        firsts = np.maximum(begins + 1 - longest, table[ranges, 0])
        return np.column_stack((owners, firsts, begins, ends)), ranges


def _merged(rows) -> NDArray[np.int64]:
    """Join sorted rows of owner, begin, end and range where those of an owner overlap."""
    if not len(rows):
        return rows
    shift = rows[:, 0] * (rows[:, 2].max() + 1)
    reach = np.maximum.accumulate(rows[:, 2] + shift)
    new = np.append(True, rows[1:, 1] + shift[1:] >= reach[:-1])
    first = np.flatnonzero(new)
    joined = rows[first].copy()
    joined[:, 2] = np.maximum.reduceat(rows[:, 2], first)
    return joined
