"""The windows of a target: hits, chains, and the windows around these.

A window has room for the ends of the target that its chain lacks. Places are nucleotides in reading
direction of a record's strand.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.locus import SearchWindow, SeedChain, SeedHit
from gpu_tools.search import hits
from gpu_tools.search.index import GenomeIndex, fixed, reading_of
from gpu_tools.search.words import SearchOptions, plain_symbols, words_of

CONTEXT = 200
"""Additional nucleotides on both sides of a window, for the contexts of sites."""
INTRON_COSTS = (0, 256), (8, 2048), (16, 16384)
"""Costs of introns longer than a short one: points, and nucleotides per further point; the least
of the three counts."""
USUAL = 4
"""Approximate points of a first or last exon by itself, less those of a short intron."""
COMPLETE_COST = 9
"""Limit of the points of an intron beside a chain of all symbols: chance may have extended its last
hit over the end of an exon."""
LEAST_COST, STEP_COST, MOST_COST = 10, 10, 20
"""Limits of the points of an intron at an end: those of a chain of the least score, points of the
chain for each further one, and the most. They make windows of chance short."""
COPY = 0.4
"""Least score of another copy of a gene, as a fraction of its neighbour's."""
_LOOKBACK = 1000
_MORE_CHAINS = 4
"""Chains per requested window, as windows may be merged."""


class HitCosts(NamedTuple):
    """Limits of hits and costs of links of a kind of search; see `hits.HitLimits`, `hits.Links`."""

    drop: int
    near: int
    least: int
    symbol: int
    gap: int
    intron: int


COSTS = {"protein": HitCosts(12, 26, 30, 5, 10, 0), "cdna": HitCosts(12, 18, 24, 2, 5, 0)}
"""In the points of `SearchOptions.min_score`."""
SHORT = 150
"""Residues up to which a target has more words looked up, also those of plain stretches."""
LONG = 500
"""Residues above which a protein has no additional windows of chance: it would have more of them,
each is longer, and its genes have more words."""
OFTEN = 10
"""Windows of chance of a short target without other windows: its gene may have a single hit."""
MOST_PLAIN = 0.5
"""A target with a larger fraction of plain stretches is searched as a whole."""
SCALE = 3.15
"""1 / lambda of the scores of unrelated stretches: BLOSUM62 without gaps (Karlin and Altschul 1990,
PNAS 87, 2264)."""
PER_PLACE = {"protein": 0.134, "cdna": 0.1}
"""Their factor K, by kind."""
PLAIN = {"protein": (12, 2.2), "cdna": (24, 1.2)}
"""Length and least entropy of windows that are not plain, by kind; those of proteins are Wootton
and Federhen's (1993, Computers & Chemistry 17, 149)."""


def chances(pairs: float) -> int:
    """Return the score that chance reaches about once among pairs of places, at least 0."""
    return max(int(SCALE * math.log(max(pairs, 1.0))), 0)


class TargetSearch:
    """A search in an index, ready for targets."""

    def __init__(self, index: GenomeIndex, options: SearchOptions):
        self.index, self.options = index, options
        words, costs = index.words, COSTS[index.kind]
        self.limits = hits.HitLimits(
            costs.drop, costs.near, costs.least, int(options.repeats * index.mean)
        )
        self.links = hits.Links(
            words.step, options.max_intron, costs.symbol, costs.gap, costs.intron, _LOOKBACK
        )
        self.readings = [reading_of(words, k) for k in range(len(words.shapes))]

    def windows(self, number: int, target: NDArray[np.uint8]) -> list[SearchWindow]:
        """Return the windows of a target, the best first."""
        if not len(target):
            return []
        target = fixed(target)
        found = self.hits_of(target)
        intron = self.links.intron + chances(len(target) * PER_PLACE[self.index.kind])
        links = self.links._replace(intron=intron)
        most = _MORE_CHAINS * self.options.max_windows
        for often in (self.options.by_chance, OFTEN):
            least = self.least_score(len(target), often)
            owner, totals = hits.chains_apart(found, links, least, most)
            if len(totals):
                break
        spans = self._spans(target, found, owner, totals)
        windows = [
            self._window(number, group, span)
            for group, members in spans.items()
            for span in without_overlaps(members, self.index.words.step, len(target))
        ]
        windows.sort(key=lambda w: (-w.score, w.record, w.start, w.strand))
        return windows[: self.options.max_windows]

    def least_score(self, length: int, often: float = 1) -> int:
        """Return the least score of a window of a target of a length.

        Chance reaches it `SearchOptions.by_chance` times for proteins that are not long, `often`
        times for short ones.
        """
        if self.options.min_score is not None:
            return self.options.min_score
        usual = self.options.by_chance if self._is_protein_up_to(length, LONG) else 1
        often = max(usual, often if self._is_short(length) else 0)
        return chances(length * len(self.index.symbols) * 2 * PER_PLACE[self.index.kind] / often)

    def _is_short(self, length: int) -> bool:
        """Return whether a target is a short protein, whose gene may share few words with it."""
        return self._is_protein_up_to(length, SHORT)

    def _is_protein_up_to(self, length: int, most: int) -> bool:
        """Return whether a target is a protein of at most `most` residues."""
        return self.index.kind == "protein" and length <= most

    def hits_of(self, target: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the hits of a target to be chained, each once."""
        index, words = self.index, self.index.words
        plain = plain_symbols(target, *PLAIN[index.kind])
        profiles = words.profiles(target)
        if plain.mean() < MOST_PLAIN and not self._is_short(len(target)):
            rows = profiles[:, plain]
            profiles[:, plain] = np.where(rows > 0, (rows + 1) // 2, rows)
        else:
            plain[:] = False
        of_target, shapes = self._words(target, plain)
        of_genome = index.symbols, of_target, index.bounds, index.positions
        found = hits.hits_of(*of_genome, profiles, words.step, shapes, self.limits)
        genome = index.genome
        strand, place = found[:, hits.STRAND], found[:, hits.PLACE]
        record = np.searchsorted(genome.starts, place, side="right") - 1
        start = place - genome.starts[record]
        reversed_start = genome.lengths[record] - start - words.step
        rows = found.copy()
        rows[:, hits.GROUP] = 2 * record + strand
        rows[:, hits.START] = np.where(strand == 1, reversed_start, start)
        rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 3], rows[:, 0]))]
        return rows[np.append(True, (rows[1:] != rows[:-1]).any(axis=1))[: len(rows)]]

    def _words(self, target, plain) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return rows of words at each position, and the number and length of each row's shape.

        For a short protein these include words of the first shape that differ in one symbol.
        """
        words = self.index.words
        rows = [words_of(target, plain, reading) for reading in self.readings]
        shapes = [*range(len(rows))]
        if self._is_short(len(target)):
            for unit in (words.n_classes**place for place in range(words.weight)):
                least = rows[0] - rows[0] // unit % words.n_classes * unit
                least = np.where(rows[0] >= 0, least, -1)
                for member in range(words.n_classes):
                    rows.append(np.where(least >= 0, least + member * unit, -1))
                    shapes.append(0)
        lengths = [len(words.shapes[shape]) for shape in shapes]
        return np.stack(rows), np.column_stack((shapes, lengths)).astype(np.int64)

    def _spans(self, target, found, owner, totals) -> dict[int, list[ChainSpan]]:
        """Return chains with the windows around them, by record and strand."""
        words = self.index.words
        own = words.substitution[target, target].astype(np.int64)
        own_scores = np.concatenate(([0], np.cumsum(np.maximum(own, 1))))
        least = self.least_score(len(target))
        reach, spans = Reach(own_scores, least, words.step, self.options.max_intron), {}
        members = np.flatnonzero(owner >= 0)
        members = members[np.argsort(owner[members], kind="stable")]
        parts = np.searchsorted(owner[members], np.arange(len(totals) + 1))
        for k, score in enumerate(totals.tolist()):
            chain = found[members[parts[k] : parts[k + 1]]]
            group = int(chain[0, hits.GROUP])
            length = int(self.index.genome.lengths[group // 2])
            spans.setdefault(group, []).append(_span(chain, score, reach, length))
        return spans

    def _window(self, number: int, group: int, span: ChainSpan) -> SearchWindow:
        record, strand = divmod(group, 2)
        length = int(self.index.genome.lengths[record])
        start, end = (length - span.high, length - span.low) if strand else (span.low, span.high)
        chains = (_on_other_strand(chain, length) if strand else chain for chain in span.chains)
        chains = tuple(sorted(chains))
        return SearchWindow(number, record, "+-"[strand], start, end, span.score, chains)


def _span(chain: NDArray[np.int64], score: int, reach: Reach, length: int) -> ChainSpan:
    """Return a chain, its hits in order, with its window in a record of a length."""
    first, last = int(chain[0, hits.FIRST]), int(chain[-1, hits.LAST])
    start = int(chain[0, hits.START])
    end = int(chain[-1, hits.START] + reach.step * (last - chain[-1, hits.FIRST]))
    own = reach.own_scores[chain[:, hits.LAST]] - reach.own_scores[chain[:, hits.FIRST]]
    rate = min(float(chain[:, hits.SCORE].sum() / own.sum()), 1.0)
    low = max(start - reach.before(first, rate, score), 0)
    high = min(end + reach.after(last, rate, score), length)
    near_low, near_high = reach.near(first), reach.near(len(reach.own_scores) - 1 - last)
    near = max(start - near_low, low), min(end + near_high, high)
    chains = (SeedChain(start, end, score, *near, _seed(chain, reach.step)),)
    return ChainSpan(first, last, start, end, low, high, score, chains)


def _seed(chain: NDArray[np.int64], step: int) -> SeedHit:
    """Return the first hit of a chain with the highest score."""
    hit = chain[chain[:, hits.SCORE].argmax()]
    start, first, last = (int(hit[k]) for k in (hits.START, hits.FIRST, hits.LAST))
    return SeedHit(start, start + step * (last - first), first, last)


def _on_other_strand(chain: SeedChain, length: int) -> SeedChain:
    """Return a chain in coordinates of the other strand of a record of a length."""
    start, end, score, low, high, seed = chain
    seed = seed._replace(start=length - seed.end, end=length - seed.start)
    return SeedChain(length - end, length - start, score, length - high, length - low, seed)


# ---- the ends of windows, and windows that overlap


@dataclass(frozen=True)
class ChainSpan:
    """A chain, and the window around it."""

    # symbols of the target from the first hit's first one to behind the last hit's last one
    first: int
    last: int
    start: int  # nucleotides of the chain
    end: int
    low: int  # nucleotides of the window
    high: int
    score: int
    chains: tuple[SeedChain, ...]  # the chains in the window, in reading direction


@dataclass(frozen=True)
class Reach:
    """The distance from a chain within which the missing ends of the target lie."""

    # (m + 1,): cumulative scores of the target's symbols with themselves
    own_scores: NDArray[np.int64]
    least: int  # least score of a chain
    step: int  # nucleotides of a symbol
    max_intron: int

    def before(self, first: int, rate: float, score: int) -> int:
        """Return the nucleotides for the symbols before `first`.

        `rate` is the score of the chain's hits per score of their symbols with themselves.
        """
        return self._nucleotides(first, rate * float(self.own_scores[first]), score)

    def after(self, last: int, rate: float, score: int) -> int:
        """Return the nucleotides for the symbols from `last` on; see `before`."""
        points = rate * float(self.own_scores[-1] - self.own_scores[last])
        return self._nucleotides(len(self.own_scores) - 1 - last, points, score)

    def near(self, symbols: int) -> int:
        """Return the nucleotides for symbols beside a chain, without a long intron."""
        return self.step * symbols + longest_intron(COMPLETE_COST, self.max_intron) + CONTEXT

    def _nucleotides(self, symbols: int, points: float, score: int) -> int:
        most = min(LEAST_COST + max(score - self.least, 0) // STEP_COST, MOST_COST)
        cost = max(min(int(points) + USUAL, most), COMPLETE_COST)
        intron = longest_intron(cost, self.max_intron)
        return self.step * symbols + intron + CONTEXT


def longest_intron(points: int, max_intron: int) -> int:
    """Return the longest intron that costs at most `points` more than a short one."""
    lengths = (every * (points - first) for first, every in INTRON_COSTS if points >= first)
    return min(max(lengths, default=0), max_intron)


def without_overlaps(spans: Iterable[ChainSpan], step: int, length: int) -> list[ChainSpan]:
    """Merge windows of a strand that overlap, or put a border between two copies."""
    done: list[ChainSpan] = []
    for span in sorted(spans, key=lambda s: (s.start, s.end, s.first)):
        _add(done, span, step, length)
    return done


def _add(done: list[ChainSpan], span: ChainSpan, step: int, length: int) -> None:
    """Add a window to windows that do not overlap, without a new overlap."""
    while done and done[-1].high > span.low:
        *before, span = _resolve(done.pop(), span, step, length)
        if before:
            _add(done, *before, step, length)
            break
    done.append(span)


def _resolve(a: ChainSpan, b: ChainSpan, step: int, length: int) -> list[ChainSpan]:
    """Return one or two windows for two chains whose windows overlap; `a` begins first.

    Chains that overlap are merged, and a chain within the window of a much stronger one is added to
    it. Else a border separates them. All nucleotides of both windows remain: the weaker chain may
    be a gene, too, whose ends lie beside the other window.
    """
    if b.start < a.end:
        return [_merged(a, b)]
    weak_a, weak_b = a.score < COPY * b.score, b.score < COPY * a.score
    low, high = min(a.low, b.low), max(a.high, b.high)
    if weak_a and b.low <= a.start:
        return [replace(b, low=low, high=high, chains=a.chains + b.chains)]
    if weak_b and b.end <= a.high:
        return [replace(a, low=low, high=high, chains=a.chains + b.chains)]
    border = a.end if weak_a else b.start if weak_b else _border(a, b, step, length)
    border = min(max(border, b.low), a.high)
    return [replace(a, low=low, high=border), replace(b, low=border, high=high)]


def _border(a: ChainSpan, b: ChainSpan, step: int, length: int) -> int:
    """Return the border between two copies, in proportion to the symbols that each lacks there."""
    behind, before = step * (length - a.last) + CONTEXT, step * b.first + CONTEXT
    return a.end + (b.start - a.end) * behind // (behind + before)


def _merged(a: ChainSpan, b: ChainSpan) -> ChainSpan:
    return ChainSpan(
        first=min(a.first, b.first),
        last=max(a.last, b.last),
        start=a.start,
        end=max(a.end, b.end),
        low=min(a.low, b.low),
        high=max(a.high, b.high),
        score=max(a.score, b.score),
        chains=a.chains + b.chains,
    )
