"""The windows of one target: hits, chains, and windows around them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.windows import SearchWindow, SeedChain, SeedHit
from gpu_tools.search.cpu import chains, hits
from gpu_tools.search.cpu.chains import Links
from gpu_tools.search.cpu.hits import HitLimits
from gpu_tools.search.cpu.words import plain_symbols, words_of
from gpu_tools.search.index import GenomeIndex, fixed, reading_of
from gpu_tools.search.options import SearchOptions
from gpu_tools.search.windows import ChainSpan, Reach, resolved

_LOOKBACK = 1000
_MORE_CHAINS = 4
"""Chains for each window that is wanted, as windows may become one."""


class HitCosts(NamedTuple):
    """What a kind of search demands of hits, and what links cost."""

    drop: int
    near: int
    least: int
    symbol: int
    gap: int
    intron: int


COSTS = {"protein": HitCosts(12, 26, 30, 5, 10, 0), "cdna": HitCosts(12, 18, 24, 2, 5, 0)}
"""In the points of `SearchOptions.min_score`."""


SHORT = 150
"""Residues of a target of which more words are looked up, those of plain stretches too."""
LONG = 500
"""Residues of a protein above which windows of chance cost too much to be wanted: it has more of
them, each is longer, and its genes have more words."""
OFTEN = 10
"""Windows that chance may make of such a target if it has no others: its gene may have one hit."""
MOST_PLAIN = 0.5
"""A target with a larger share of such stretches is searched as a whole."""
SCALE = 3.15
"""Points in which the scores of unrelated stretches become rarer by a factor of e: of BLOSUM62
without gaps (Karlin and Altschul 1990, PNAS 87, 2264)."""
PER_PLACE = {"protein": 0.134, "cdna": 0.1}
"""Their factor K."""
PLAIN = {"protein": (12, 2.2), "cdna": (24, 1.2)}
"""Window and least entropy of stretches that words are looked up in.

Those of proteins are Wootton and Federhen's (1993, Computers & Chemistry 17, 149).
"""


def chances(pairs: float) -> int:
    """Return the score that chance reaches about once among pairs of places, 0 at least.

    Its logarithm in units of `SCALE`; see `gpu_tools.search.cpu.chains.chance`.
    """
    return max(int(SCALE * math.log(max(pairs, 1.0))), 0)


class TargetSearch:
    """A search in an index, ready for targets.

    Parameters
    ----------
    index : GenomeIndex
    options : SearchOptions
    """

    def __init__(self, index: GenomeIndex, options: SearchOptions):
        self.index, self.options = index, options
        words, costs = index.words, COSTS[index.kind]
        self.limits = HitLimits(
            costs.drop, costs.near, costs.least, int(options.repeats * index.mean)
        )
        self.links = Links(
            words.step, options.max_intron, costs.symbol, costs.gap, costs.intron, _LOOKBACK
        )
        self.readings = [reading_of(words, k) for k in range(len(words.shapes))]

    def windows(self, number: int, target: NDArray[np.uint8]) -> list[SearchWindow]:
        """Return the windows of a target, the best first."""
        if not len(target):
            return []
        target = fixed(target)
        found = self.hits(target)
        intron = self.links.intron + chances(len(target) * PER_PLACE[self.index.kind])
        links = self.links._replace(intron=intron)
        most = _MORE_CHAINS * self.options.max_windows
        for often in (self.options.by_chance, OFTEN):
            least = self.least_score(len(target), often)
            owner, totals = chains.chains_apart(found, links, least, most)
            if len(totals):
                break
        spans = self._spans(target, found, owner, totals)
        windows = [
            self._window(number, group, span)
            for group, members in spans.items()
            for span in resolved(members, self.index.words.step, len(target))
        ]
        windows.sort(key=lambda w: (-w.score, w.record, w.start, w.strand))
        return windows[: self.options.max_windows]

    def least_score(self, length: int, often: float = 1) -> int:
        """Return the least score of a window of a target of a length.

        It is one that chance reaches `SearchOptions.by_chance` times for proteins that are not
        long, and so `often` for short ones.
        """
        if self.options.min_score is not None:
            return self.options.min_score
        usual = self.options.by_chance if self._has(length, LONG) else 1
        often = max(usual, often if self._is_short(length) else 0)
        return chances(length * len(self.index.symbols) * 2 * PER_PLACE[self.index.kind] / often)

    def _is_short(self, length: int) -> bool:
        """Return whether a target is a short protein, of which a few words may be all there is."""
        return self._has(length, SHORT)

    def _has(self, length: int, most: int) -> bool:
        """Return whether a target is a protein of so many residues at most."""
        return self.index.kind == "protein" and length <= most

    def hits(self, target: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the hits of a target as `chains` wants them, each once."""
        index, words = self.index, self.index.words
        plain = plain_symbols(target, *PLAIN[index.kind])
        profiles = words.profiles(target)
        if plain.mean() < MOST_PLAIN and not self._is_short(len(target)):
            rows = profiles[:, plain]
            profiles[:, plain] = np.where(rows > 0, (rows + 1) // 2, rows)
        else:
            plain[:] = False
        of_target, shapes = self._words(target, plain)
        found = hits.hits_of(
            index.symbols, of_target, index.bounds, index.positions, profiles,
            words.step, shapes, self.limits,
        )  # fmt: skip
        genome = index.genome
        strand, place = found[:, hits.STRAND], found[:, hits.PLACE]
        record = np.searchsorted(genome.starts, place, side="right") - 1
        start = place - genome.starts[record]
        turned = genome.lengths[record] - start - words.step
        rows = np.column_stack((
            2 * record + strand, found[:, hits.FIRST], found[:, hits.LAST],
            np.where(strand == 1, turned, start), found[:, hits.SCORE],
        ))  # fmt: skip
        rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 3], rows[:, 0]))]
        return rows[np.append(True, (rows[1:] != rows[:-1]).any(axis=1))[: len(rows)]]

    def _words(self, target, plain) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return rows of words at each position, and the number and length of each row's shape.

        Of a short target of proteins words of the first shape are looked up too that differ in any
        one symbol: it is all that can be done for one with few words.
        """
        words = self.index.words
        rows = [words_of(target, plain, reading) for reading in self.readings]
        shapes = [*range(len(rows))]
        if self._is_short(len(target)):
            for unit in (words.n_classes**place for place in range(words.weight)):
                least = np.where(
                    rows[0] >= 0, rows[0] - rows[0] // unit % words.n_classes * unit, -1
                )
                for member in range(words.n_classes):
                    rows.append(np.where(least >= 0, least + member * unit, -1))
                    shapes.append(0)
        lengths = [len(words.shapes[shape]) for shape in shapes]
        return np.stack(rows), np.column_stack((shapes, lengths)).astype(np.int64)

    def _spans(self, target, found, owner, totals) -> dict[int, list[ChainSpan]]:
        """Return chains with the windows around them, by record and strand."""
        words = self.index.words
        own = words.substitution[target, target].astype(np.int64)
        worth = np.concatenate(([0], np.cumsum(np.maximum(own, 1))))
        least = self.least_score(len(target))
        reach, spans = Reach(worth, least, words.step, self.options.max_intron), {}
        members = np.flatnonzero(owner >= 0)
        members = members[np.argsort(owner[members], kind="stable")]
        parts = np.searchsorted(owner[members], np.arange(len(totals) + 1))
        for k, score in enumerate(totals.tolist()):
            chain = found[members[parts[k] : parts[k + 1]]]
            group = int(chain[0, chains.GROUP])
            length = int(self.index.genome.lengths[group // 2])
            spans.setdefault(group, []).append(_span(chain, score, reach, length))
        return spans

    def _window(self, number: int, group: int, span: ChainSpan) -> SearchWindow:
        record, strand = divmod(group, 2)
        length = int(self.index.genome.lengths[record])
        start, end = (length - span.high, length - span.low) if strand else (span.low, span.high)
        chains = (_turned(chain, length) if strand else chain for chain in span.chains)
        return SearchWindow(
            number, record, "+-"[strand], start, end, span.score, tuple(sorted(chains))
        )


def _span(chain: NDArray[np.int64], score: int, reach: Reach, length: int) -> ChainSpan:
    """Return a chain, its hits in order, with its window in a record of a length."""
    first, last = int(chain[0, chains.FIRST]), int(chain[-1, chains.LAST])
    start = int(chain[0, chains.START])
    end = int(chain[-1, chains.START] + reach.step * (last - chain[-1, chains.FIRST]))
    own = reach.worth[chain[:, chains.LAST]] - reach.worth[chain[:, chains.FIRST]]
    rate = min(float(chain[:, chains.SCORE].sum() / own.sum()), 1.0)
    low = max(start - reach.before(first, rate, score), 0)
    high = min(end + reach.after(last, rate, score), length)
    near_low, near_high = reach.near(first), reach.near(len(reach.worth) - 1 - last)
    near = max(start - near_low, low), min(end + near_high, high)
    return ChainSpan(
        first, last, start, end, low, high, score,
        (SeedChain(start, end, score, *near, _seed(chain, reach.step)),),
    )  # fmt: skip


def _seed(chain: NDArray[np.int64], step: int) -> SeedHit:
    """Return the hit of a chain that scores most, the first of equals."""
    hit = chain[chain[:, chains.SCORE].argmax()]
    start, first, last = (int(hit[k]) for k in (chains.START, chains.FIRST, chains.LAST))
    return SeedHit(start, start + step * (last - first), first, last)


def _turned(chain: SeedChain, length: int) -> SeedChain:
    """Return a chain of a strand of some length as it lies on the other one."""
    start, end, score, low, high, seed = chain
    seed = seed._replace(start=length - seed.end, end=length - seed.start)
    return SeedChain(length - end, length - start, score, length - high, length - low, seed)
