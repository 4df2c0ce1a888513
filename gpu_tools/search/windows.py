"""The windows of a target: hits, chains, and the windows around these.

A window has room for the ends of the target that its chain lacks. Places are nucleotides in reading
direction of a record's strand.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from collections.abc import Sequence as List
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.threads import within_limit
from gpu_tools.model.locus import SearchWindow, SeedChain, SeedHit
from gpu_tools.model.sequences import Sequence
from gpu_tools.search.genome import Genome
from gpu_tools.search.hits import (
    FIRST,
    GROUP,
    LAST,
    SCORE,
    SHORT,
    START,
    HitLimits,
    hits_of,
    to_be_chained,
)
from gpu_tools.search.words import SearchOptions, WordScheme

# A chain consists of hits of one strand and record that follow each other in target and genome.
# Places are nucleotides in reading direction. The score of a chain is the sum of its hits' scores,
# less the costs of its links, see `link_cost`.

NO_HIT = -1


class Links(NamedTuple):
    """Costs of links between hits, in points."""

    step: int  # nucleotides of a symbol
    max_intron: int  # nucleotides of the longest intron
    symbol: int  # cost of a symbol that is in both hits
    gap: int  # cost of opening a gap
    intron: int  # cost of an intron of a nucleotide; see `chance`
    lookback: int  # limit of the hits before a hit that are tried


@njit(nogil=True)
def chance(nucleotides):
    """Return about 3.2 times the natural logarithm of a number of nucleotides, at least 64.

    The tail of the scores of unrelated stretches falls by a factor of e in 3.2 points. So the best
    hit by chance in a longer stretch scores as much more.
    """
    length, bits = max(nucleotides, 64), 0
    while length >> (bits + 1):
        bits += 1
    quarters = 4 * bits + ((length << 2 >> bits) & 3)
    return 11 * quarters // 20


@njit(nogil=True)
def link_cost(hits, i, k, links):
    """Return the cost of a link from hit `i` to hit `k` of its group, -1 if it is impossible.

    Symbols in both hits cost `Links.symbol` each, and each hit has one of its own. The difference
    of the distances between the hits in genome and target is an intron or a gap.
    """
    step, first, last = links.step, hits[k, FIRST], hits[k, LAST]
    first_before, last_before = hits[i, FIRST], hits[i, LAST]
    between = hits[k, START] - hits[i, START]
    if first_before >= first or last_before >= last or between <= 0:
        return -1
    extra = between - step * (first - first_before)
    if extra > links.max_intron or extra + step * (last - last_before) <= 0:
        return -1
    both = max(last_before - first, -((between - step * (last_before - first_before)) // step), 0)
    if both >= min(last_before - first_before, last - first):
        return -1
    cost = links.symbol * both
    if extra == 0:
        return cost
    gap = links.gap + abs(extra) // step
    if extra > 0:
        gap = min(gap, links.intron + chance(extra))
    return cost + gap


@njit(cache=True, nogil=True)
def best_chains(hits, links):
    """Return the score of the best chain that ends with each hit, and the hit before it.

    Hits are sorted by group, start, first and last symbol. Of equals the nearest hit is taken.
    """
    # score(k) = SCORE(k) + max(0, max over i < k of score(i) - link_cost(i, k))
    scores, before = hits[:, SCORE].copy(), np.full(len(hits), NO_HIT, np.int64)
    for k in range(len(hits)):
        best, farthest = 0, links.max_intron + links.step * hits[k, FIRST]
        low = max(k - links.lookback, 0)
        for i in range(k - 1, low - 1, -1):
            apart = hits[k, START] - hits[i, START]
            if hits[i, GROUP] != hits[k, GROUP] or apart > farthest:
                break
            if scores[i] <= best:
                continue
            cost = link_cost(hits, i, k, links)
            if cost >= 0 and scores[i] - cost > best:
                best, before[k] = scores[i] - cost, i
        scores[k] += best
    return scores, before


@njit(cache=True, nogil=True)
def separate(order, scores, before, most):
    """Take chains, the best first, that share no hit with those before.

    Return the chain of each hit (-1 for none), the chains' scores, and which hits end other chains:
    each of these begins with hits of a chain that was taken.
    """
    # order: hits by falling score of the chain that ends there, as far as that is enough
    owner, found = np.full(len(scores), -1, np.int64), np.empty(most, np.int64)
    count, cut = 0, np.zeros(len(scores), np.bool_)
    for end in order:
        if count == most:
            break
        if owner[end] >= 0:
            continue
        k = end
        while k >= 0 and owner[k] < 0:
            k = before[k]
        if k >= 0:
            cut[end] = True
            continue
        k = end
        while k >= 0:
            owner[k] = count
            k = before[k]
        found[count] = scores[end]
        count += 1
    return owner, found[:count].copy(), cut


def chains_apart(hits, links, least, most):
    """Return the chain of each hit (-1 for none) and the scores of the best chains without overlap.

    The rest of a chain without the hits of better ones is chained anew: its hits may follow others
    of its own gene, where those of a copy were better.
    """
    owner, totals = np.full(len(hits), -1, np.int64), np.empty(0, np.int64)
    rows = np.arange(len(hits))
    while len(rows):
        scores, before = best_chains(hits[rows], links)
        ends = np.flatnonzero(scores >= least)
        order = ends[np.argsort(-scores[ends], kind="stable")]
        own, more, cut = separate(order, scores, before, most - len(totals))
        taken, groups = own >= 0, hits[rows, GROUP]
        owner[rows[taken]] = own[taken] + len(totals)
        totals = np.append(totals, more)
        rows = rows[~taken & np.isin(groups, groups[cut])] if cut.any() else rows[:0]
    return owner, totals


CONTEXT = 200
"""Additional nucleotides on both sides of a window, for the contexts of sites."""
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
    """Limits of hits and costs of links of a kind of search; see `HitLimits` and `Links`."""

    drop: int
    near: int
    least: int
    symbol: int
    gap: int
    intron: int


COSTS = {"protein": HitCosts(12, 26, 30, 5, 10, 0), "cdna": HitCosts(12, 18, 24, 2, 5, 0)}
"""In the points of `SearchOptions.min_score`."""
LONG = 500
"""Residues above which a protein has no additional windows of chance: it would have more of them,
each is longer, and its genes have more words."""
OFTEN = 10
"""Windows of chance of a short target without other windows: its gene may have a single hit."""
SCALE = 3.15
"""1 / lambda of the scores of unrelated stretches: BLOSUM62 without gaps (Karlin and Altschul 1990,
PNAS 87, 2264)."""
PER_PLACE = {"protein": 0.134, "cdna": 0.1}
"""Their factor K, by kind."""


def chances(pairs: float) -> int:
    """Return the score that chance reaches about once among pairs of places, at least 0."""
    return max(int(SCALE * math.log(max(pairs, 1.0))), 0)


@dataclass(frozen=True)
class TargetSearch:
    """The hits of targets in a genome, and how windows are made of them."""

    genome: Genome
    options: SearchOptions
    targets: List[NDArray[np.uint8]]
    hits: List[NDArray[np.int64]]  # of each target

    @property
    def words(self) -> WordScheme:
        """The words that are looked up."""
        return self.genome.words

    def part(self, numbers: Iterable[int]) -> TargetSearch:
        """Return the search of some targets, which are counted from 0."""
        targets, hits = zip(*((self.targets[k], self.hits[k]) for k in numbers), strict=True)
        return replace(self, targets=targets, hits=hits)

    def windows(self, number: int) -> list[SearchWindow]:
        """Return the windows of a target, the best first."""
        target, found = self.targets[number], to_be_chained(self.hits[number])
        kind, words = self.words.kind, self.words
        costs = COSTS[kind]
        links = Links(
            words.step, self.options.max_intron, costs.symbol, costs.gap,
            costs.intron + chances(len(target) * PER_PLACE[kind]), _LOOKBACK,
        )  # fmt: skip
        most = _MORE_CHAINS * self.options.max_windows
        for often in (self.options.by_chance, OFTEN):
            least = self.least_score(len(target), often)
            owner, totals = chains_apart(found, links, least, most)
            if len(totals):
                break
        spans = self._spans(target, found, owner, totals)
        windows = [
            self._window(number, group, span)
            for group, members in spans.items()
            for span in without_overlaps(members, words.step, len(target))
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
        often = max(usual, often if self._is_protein_up_to(length, SHORT) else 0)
        return chances(length * self.genome.size * 2 * PER_PLACE[self.words.kind] / often)

    def _is_protein_up_to(self, length: int, most: int) -> bool:
        """Return whether a target is a protein of at most `most` residues."""
        return self.words.kind == "protein" and length <= most

    def _spans(self, target, found, owner, totals) -> dict[int, list[ChainSpan]]:
        """Return chains with the windows around them, by record and strand."""
        words = self.words
        own = words.substitution[target, target].astype(np.int64)
        own_scores = np.concatenate(([0], np.cumsum(np.maximum(own, 1))))
        least = self.least_score(len(target))
        intron = self.options.intron_costs, self.options.max_intron
        reach, spans = Reach(own_scores, least, words.step, intron), {}
        members = np.flatnonzero(owner >= 0)
        members = members[np.argsort(owner[members], kind="stable")]
        parts = np.searchsorted(owner[members], np.arange(len(totals) + 1))
        for k, score in enumerate(totals.tolist()):
            chain = found[members[parts[k] : parts[k + 1]]]
            group = int(chain[0, GROUP])
            length = int(self.genome.lengths[group // 2])
            spans.setdefault(group, []).append(_span(chain, score, reach, length))
        return spans

    def _window(self, number: int, group: int, span: ChainSpan) -> SearchWindow:
        record, strand = divmod(group, 2)
        length = int(self.genome.lengths[record])
        start, end = (length - span.high, length - span.low) if strand else (span.low, span.high)
        chains = (_on_other_strand(chain, length) if strand else chain for chain in span.chains)
        chains = tuple(sorted(chains))
        return SearchWindow(number, record, "+-"[strand], start, end, span.score, chains)


_MOST_PAIRS = 40_000_000
"""Words that targets, which are searched together, and the genome share about, for memory."""


def searches(
    records: List[Sequence], targets: List[Sequence], kind: str, options: SearchOptions,
    threads: int,
) -> Iterator[tuple[int, TargetSearch]]:  # fmt: skip
    """Yield searches of targets of a kind, and the number of each one's first target."""
    words = WordScheme.chosen(kind, sum(map(len, records)), options)
    genome, costs = Genome.of(records, words), COSTS[kind]
    limits = HitLimits(costs.drop, costs.near, costs.least, options.repeats)
    pairs = 2 * len(words.shapes) * genome.size / (words.number * words.sample)
    groups = within_limit(
        range(len(targets)), lambda k: len(targets[k]), max(_MOST_PAIRS / pairs, 1)
    )
    for numbers in groups:
        codes = [targets[k].codes for k in numbers]
        hits = hits_of(genome, codes, words, limits, threads)
        yield numbers[0], TargetSearch(genome, options, codes, hits)


def _span(chain: NDArray[np.int64], score: int, reach: Reach, length: int) -> ChainSpan:
    """Return a chain, its hits in order, with its window in a record of a length."""
    first, last = int(chain[0, FIRST]), int(chain[-1, LAST])
    start = int(chain[0, START])
    end = int(chain[-1, START] + reach.step * (last - chain[-1, FIRST]))
    own = reach.own_scores[chain[:, LAST]] - reach.own_scores[chain[:, FIRST]]
    rate = min(float(chain[:, SCORE].sum() / own.sum()), 1.0)
    low = max(start - reach.before(first, rate, score), 0)
    high = min(end + reach.after(last, rate, score), length)
    near_low, near_high = reach.near(first), reach.near(len(reach.own_scores) - 1 - last)
    near = max(start - near_low, low), min(end + near_high, high)
    chains = (SeedChain(start, end, score, *near, _seed(chain, reach.step), (first, last)),)
    return ChainSpan(first, last, start, end, low, high, score, chains)


def _seed(chain: NDArray[np.int64], step: int) -> SeedHit:
    """Return the first hit of a chain with the highest score."""
    hit = chain[chain[:, SCORE].argmax()]
    start, first, last = (int(hit[k]) for k in (START, FIRST, LAST))
    return SeedHit(start, start + step * (last - first), first, last)


def _on_other_strand(chain: SeedChain, length: int) -> SeedChain:
    """Return a chain in coordinates of the other strand of a record of a length."""
    seed = chain.seed._replace(start=length - chain.seed.end, end=length - chain.seed.start)
    return chain._replace(
        start=length - chain.end, end=length - chain.start, low=length - chain.high,
        high=length - chain.low, seed=seed,
    )  # fmt: skip


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
    intron: tuple[tuple, int]  # `SearchOptions.intron_costs`, and nucleotides of the longest one

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
        return self.step * symbols + longest_intron(COMPLETE_COST, *self.intron) + CONTEXT

    def _nucleotides(self, symbols: int, points: float, score: int) -> int:
        most = min(LEAST_COST + max(score - self.least, 0) // STEP_COST, MOST_COST)
        cost = max(min(int(points) + USUAL, most), COMPLETE_COST)
        intron = longest_intron(cost, *self.intron)
        return self.step * symbols + intron + CONTEXT


def longest_intron(points: int, costs: Iterable[tuple[int, int]], max_intron: int) -> int:
    """Return the longest intron that costs at most `points` more than a short one."""
    lengths = (every * (points - first) for first, every in costs if points >= first)
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
