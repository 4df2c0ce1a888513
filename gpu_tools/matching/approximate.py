"""Approximate matching from text blocks to matches, the same on every device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.matching import traceback
from gpu_tools.matching.cpu.approximate import largest_value
from gpu_tools.matching.pattern import Probe
from gpu_tools.matching.text_blocks import END, DistanceLimits, Find, TextBlock
from gpu_tools.model.results import ApproximateMatch
from gpu_tools.model.scoring import EditCosts

_HITS_PER_TASK = 256


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
    tables: traceback.Tables
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
            length, cigar = traceback.trace(probe.symbols, text, distance, self.tables)
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
    """The best matches of a pattern so far.

    While no search has found any they are `degenerate`: pairs of a text block and hits, which are
    traced at the end.
    """

    distance: int
    degenerate: bool = True
    matches: list = field(default_factory=list)

    def add(self, distance: int, degenerate: bool, matches: list) -> None:
        """Add matches of a distance if they are as good as the best, or better."""
        rank, best = (degenerate, distance), (self.degenerate, self.distance)
        if rank < best:
            self.distance, self.degenerate, self.matches = distance, degenerate, []
        if rank <= best:
            self.matches += matches


def best(text_blocks: Iterable[TextBlock], find: Find, tracer: Tracer) -> list[ApproximateMatch]:
    """Return the sorted matches that reach each pattern's best distance over all blocks."""
    best_ones = [_Best(2**62) for _ in tracer.pattern_names]
    for text_block in text_blocks:
        for found in tracer.matches(text_block, find(text_block)):
            best_ones[found.key[2]].add(found.match.distance, False, [found])
        for pattern, distance, hits in _unrelated(text_block, tracer, best_ones):
            best_ones[pattern].add(distance, True, [(text_block, hits)])
    return _in_order(match for one in best_ones for match in _traced(one, tracer))


def _traced(best: _Best, tracer: Tracer) -> list[SortedMatch]:
    if not best.degenerate:
        return best.matches
    return [
        match for text_block, hits in best.matches for match in tracer.matches(text_block, hits)
    ]


def _in_order(matches: Iterable[SortedMatch]) -> list[ApproximateMatch]:
    return [found.match for found in sorted(matches, key=lambda found: found.key)]


def _unrelated(
    text_block: TextBlock, tracer: Tracer, best_ones: list[_Best]
) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Yield pattern, distance and hits of the best matches where no search finds any.

    If no match costs less than deleting the whole pattern, then no aligned pair costs less than a
    deletion, and a best match that is not empty has one text symbol (or more at no extra cost):
    its distance is that of this symbol alone.
    """
    deletion, insertion = tracer.tables.weights
    for number, probe in enumerate(tracer.probes):
        if not best_ones[probe.pattern].degenerate:
            continue
        pairs = tracer.tables.pairs[probe.symbols].min(axis=0)
        values = len(probe.symbols) * deletion + np.minimum(pairs - deletion, insertion)
        for in_range, text_range in enumerate(text_block.ranges):
            of_text = values[text_block.codes[text_range.begin : text_range.end]]
            least = int(of_text.min())
            ends = text_range.begin + 1 + np.flatnonzero(of_text == least)
            hits = np.full((len(ends), 4), (number, in_range, 0, least))
            hits[:, END] = ends
            yield probe.pattern, least, hits


def first_limits(
    probes: list[Probe], n_patterns: int, costs: EditCosts, max_distance: int | None
) -> DistanceLimits:
    """Return the limits with which a search begins; None looks for the best distance."""
    if max_distance is not None:
        whole = np.full(n_patterns, max_distance, dtype=np.int64)
        return DistanceLimits(whole.copy(), whole)
    lengths = np.zeros(n_patterns, dtype=np.int64)
    for probe in probes:
        lengths[probe.pattern] = len(probe.symbols)
    return DistanceLimits(lengths * costs.deletion - 1, np.zeros(n_patterns, dtype=np.int64))


def context(probes: list[Probe], limits: DistanceLimits, costs: EditCosts) -> int:
    """Return the symbols before a position within which every match that ends there begins."""

    def longest(probe: Probe) -> int:
        limit = int(limits.current[probe.pattern])
        return traceback.longest_match(len(probe.symbols), limit, costs.insertion)

    return max(map(longest, probes))


def check(
    probes: list[Probe],
    pattern_names: list[str],
    limits: DistanceLimits,
    tables: traceback.Tables,
    costs: EditCosts,
) -> None:
    """Raise `InputError` for a pattern that would match everywhere, `ScoringError` for overflow."""
    for probe in probes:
        largest_value(len(probe.symbols), tables.pairs[probe.symbols], costs)
        whole = len(probe.symbols) * costs.deletion
        if limits.current[probe.pattern] >= whole:
            raise InputError(
                f"the maximum distance {limits.current[probe.pattern]} is not below {whole}, the "
                "cost of deleting the whole pattern, so that every position would match",
                record=pattern_names[probe.pattern],
            )
