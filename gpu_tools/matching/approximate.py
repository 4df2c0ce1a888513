"""Approximate matching from pieces of text to matches, the same on every device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from gpu_tools.errors import InputError
from gpu_tools.matching.cpu.scan import largest_value
from gpu_tools.matching.ends import Find, Hits, MatchLimits
from gpu_tools.matching.pattern import Probe
from gpu_tools.matching.pieces import Piece
from gpu_tools.matching.traceback import Tables, longest_match, trace
from gpu_tools.model.results import ApproximateMatch
from gpu_tools.model.scoring import EditCosts

_HITS_PER_TASK = 256


@dataclass
class Tracer:
    """Turns hits into matches.

    Parameters
    ----------
    probes : list of Probe
    pattern_names, text_names : list of str
        Names by number; the latter grows as texts come by.
    tables : Tables
    threads : int
    """

    probes: list[Probe]
    pattern_names: list[str]
    text_names: list[str]
    tables: Tables
    threads: int

    def matches(self, piece: Piece, found: Iterable[Hits]) -> list[tuple[tuple, ApproximateMatch]]:
        """Return matches with the keys that sort them: text, end, pattern, strand."""
        tasks = [
            (hits._replace(rows=hits.rows[first : first + _HITS_PER_TASK]))
            for hits in found
            for first in range(0, len(hits.rows), _HITS_PER_TASK)
        ]
        with ThreadPoolExecutor(self.threads) as pool:
            parts = pool.map(lambda hits: self._trace(piece, hits), tasks)
            return [pair for part in parts for pair in part]

    def _trace(self, piece: Piece, hits: Hits) -> list[tuple[tuple, ApproximateMatch]]:
        probe, segment, made = self.probes[hits.probe], hits.segment, []
        shift = segment.offset - segment.start
        for end, distance in hits.rows.tolist():
            text = piece.codes[segment.start : end]
            length, cigar = trace(probe.symbols, text, distance, self.tables)
            key = (segment.text, end + shift, probe.pattern, probe.reverse)
            made.append((key, ApproximateMatch(
                self.pattern_names[probe.pattern], self.text_names[segment.text],
                end - length + shift, end + shift, "-" if probe.reverse else "+", distance, cigar,
            )))  # fmt: skip
        return made


def within(pieces: Iterable[Piece], find: Find, tracer: Tracer) -> Iterator[list[ApproximateMatch]]:
    """Yield the sorted matches of each piece."""
    for piece in pieces:
        made = tracer.matches(piece, find(piece))
        yield [match for _, match in sorted(made, key=lambda pair: pair[0])]


@dataclass
class _Held:
    """The best matches of a pattern so far; `degenerate` if nothing of it was found at all."""

    distance: int
    degenerate: bool = True
    matches: list = field(default_factory=list)

    def take(self, distance: int, degenerate: bool, matches: list) -> None:
        """Keep matches of a distance if they are as good as the best, or better."""
        rank, own = (degenerate, distance), (self.degenerate, self.distance)
        if rank < own:
            self.distance, self.degenerate, self.matches = distance, degenerate, []
        if rank <= own:
            self.matches += matches


def best(pieces: Iterable[Piece], find: Find, tracer: Tracer) -> list[ApproximateMatch]:
    """Return the sorted matches that reach each pattern's best distance over all pieces."""
    held = [_Held(2**62) for _ in tracer.pattern_names]
    for piece in pieces:
        for key, match in tracer.matches(piece, find(piece)):
            held[key[2]].take(match.distance, False, [(key, match)])
        for hits, distance in _unrelated(piece, tracer, held):
            pattern = tracer.probes[hits.probe].pattern
            held[pattern].take(distance, True, [(piece, hits)])
    made = [pair for one in held for pair in _finished(one, tracer)]
    return [match for _, match in sorted(made, key=lambda pair: pair[0])]


def _finished(held: _Held, tracer: Tracer) -> list:
    if not held.degenerate:
        return held.matches
    return [pair for piece, hits in held.matches for pair in tracer.matches(piece, [hits])]


def _unrelated(piece: Piece, tracer: Tracer, held: list[_Held]) -> Iterator[tuple[Hits, int]]:
    """Yield hits of probes of which nothing has been found, where no text symbol saves anything.

    If no match costs less than deleting the whole pattern, then no aligned pair costs less than a
    deletion, and a best match that is not empty has one text symbol (or more at no extra cost):
    its distance is that of this symbol alone.
    """
    deletion, insertion = tracer.tables.weights
    for number, probe in enumerate(tracer.probes):
        if not held[probe.pattern].degenerate:
            continue
        pairs = tracer.tables.pairs[probe.symbols].min(axis=0)
        values = len(probe.symbols) * deletion + np.minimum(pairs - deletion, insertion)
        for segment in piece.segments:
            of_text = values[piece.codes[segment.begin : segment.end]]
            least = int(of_text.min())
            ends = segment.begin + 1 + np.flatnonzero(of_text == least)
            rows = np.column_stack((ends, np.full(len(ends), least)))
            yield Hits(number, segment, rows), least


def first_limits(
    probes: list[Probe], n_patterns: int, costs: EditCosts, max_distance: int | None
) -> MatchLimits:
    """Return the limits with which a search begins; None looks for the best distance."""
    if max_distance is not None:
        whole = np.full(n_patterns, max_distance, dtype=np.int64)
        return MatchLimits(whole.copy(), whole)
    lengths = np.zeros(n_patterns, dtype=np.int64)
    for probe in probes:
        lengths[probe.pattern] = len(probe.symbols)
    return MatchLimits(lengths * costs.deletion - 1, np.zeros(n_patterns, dtype=np.int64))


def context(probes: list[Probe], limits: MatchLimits, costs: EditCosts) -> int:
    """Return the symbols before a position within which every match that ends there begins."""
    return max(
        longest_match(len(probe.symbols), int(limits.current[probe.pattern]), costs.insertion)
        for probe in probes
    )


def check(
    probes: list[Probe],
    pattern_names: list[str],
    limits: MatchLimits,
    tables: Tables,
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
