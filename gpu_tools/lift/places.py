"""Places of genes in the new genome: by words that they share with it, and by their neighbours."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as List
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.locus import SearchWindow, SeedChain
from gpu_tools.model.sequences import Sequence
from gpu_tools.search.windows import TargetSearch, searches
from gpu_tools.search.words import SearchOptions

BREAK = 100.0
"""Points of the search, 2 for a match, that a gene without the order of its neighbour costs."""
PER_DOUBLING, NO_DIFFERENCE = 5.0, 100
"""Points for each doubling of a difference of two neighbours' distances beyond some nucleotides."""
_MOST_PLACES = 40
"""Places of a gene that are tried."""
SAME = 0.5
"""Places of which the shorter one shares so much are the same."""
MORE_INTRON = 1000
"""Nucleotides by which an intron may be longer, beside the factor of two."""
_MOST_ROUNDS = 20
"""Limit of the rounds in which genes leave their places to others."""


class GenePlace(NamedTuple):
    """Where a gene may lie in the new genome: on the forward strand, 0-based half-open."""

    record: int
    strand: str
    start: int
    end: int
    score: float = 0.0  # of the search; 0 if neighbours tell
    low: int | None = None  # where its words lie, if that is more than the gene's length
    high: int | None = None


@dataclass(frozen=True)
class GeneQuery:
    """The nucleotides of a gene that are searched for, in reading direction."""

    name: str
    codes: NDArray[np.uint8]
    offsets: NDArray[np.int64]  # where each of them lies in the gene
    length: int  # of the gene

    @property
    def longest_gap(self) -> int:
        """Nucleotides of the longest stretch that is in no exon."""
        return int(np.diff(self.offsets).max(initial=1)) - 1

    @classmethod
    def of(cls, name: str, codes: NDArray[np.uint8], exons: Iterable[tuple[int, int]]) -> GeneQuery:
        """Return the query of a gene's nucleotides and its exons in it, which may overlap."""
        inside = np.zeros(len(codes), np.bool_)
        for start, end in exons:
            inside[start:end] = True
        offsets = np.flatnonzero(inside)
        return cls(name, codes[offsets], offsets, len(codes))


def find_places(
    records: List[Sequence], queries: List[GeneQuery], threads: int
) -> list[list[GenePlace]]:
    """Return the places of each query, the best first.

    Introns inside a place are at most about twice as long as the gene's longest one, so that words
    of two copies that lie close together are not taken for one gene.
    """
    options, targets = SearchOptions(max_windows=_MOST_PLACES), [*map(_target_of, queries)]
    found: list[list[GenePlace]] = []
    for first, search in searches(records, targets, "cdna", options, threads):
        places = partial(_places_in, search, queries[first:])
        found += map_on_threads(threads, places, range(len(search.targets)))
    return found


def _target_of(query: GeneQuery) -> Sequence:
    return Sequence(query.name, query.codes)


def _places_in(search: TargetSearch, queries: List[GeneQuery], number: int) -> list[GenePlace]:
    """Return the places of one of the queries of a search."""
    query = queries[number]
    longest = (2 << query.longest_gap.bit_length()) + MORE_INTRON
    own = replace(search, options=replace(search.options, max_intron=longest))
    return _distinct(
        _place_of(window, words, query)
        for window in own.windows(number) for words in window.chains if words.seed
    )  # fmt: skip


def _place_of(window: SearchWindow, words: SeedChain, query: GeneQuery) -> GenePlace:
    """Return where a gene lies by the best stretch of a chain of words."""
    seed = words.seed
    # in its middle, for a stretch may go on by chance where an exon ends
    middle = min((seed.first + seed.last) // 2, len(query.offsets) - 1)
    before = int(query.offsets[middle]) - (middle - seed.first)
    start = seed.start - before if window.strand == "+" else seed.end + before - query.length
    end = start + query.length
    low, high = min(start, words.start), max(end, words.end)
    return GenePlace(window.record, window.strand, start, end, float(words.score), low, high)


def _distinct(places: Iterable[GenePlace]) -> list[GenePlace]:
    """Return places by falling score without those that lie mostly in a better one."""
    kept: list[GenePlace] = []
    for place in sorted(places, key=lambda p: (-p.score, p)):
        if len(kept) < _MOST_PLACES and all(overlap(place, other) < SAME for other in kept):
            kept.append(place)
    return kept


def overlap(one: GenePlace, two: GenePlace) -> float:
    """Return which part of the shorter of two places lies in the other one."""
    if (one.record, one.strand) != (two.record, two.strand):
        return 0.0
    both = min(one.end, two.end) - max(one.start, two.start)
    return max(both, 0) / max(min(one.end - one.start, two.end - two.start), 1)


def mutual(one: GenePlace, two: GenePlace) -> float:
    """Return which part of the longer of two places lies in the other one."""
    lengths = sorted((one.end - one.start, two.end - two.start))
    return overlap(one, two) * lengths[0] / max(lengths[1], 1)


class GeneInOrder(NamedTuple):
    """A gene of the reference as its neighbours see it."""

    record: str
    start: int
    end: int
    strand: str


def chosen_places(
    genes: List[GeneInOrder], places: List[List[GenePlace]]
) -> list[GenePlace | None]:
    """Choose a place of each gene, so that scores less breaks of order are the highest.

    Genes of a record follow each other by their starts. A gene without a place is passed over. Of
    two genes at one place the one leaves it that loses less elsewhere, and all are chosen again.
    """
    left = [[*own] for own in places]
    for _ in range(_MOST_ROUNDS):
        chosen, losses = _best_path(genes, left)
        leaving = _leaving(genes, chosen, losses)
        if not leaving:
            break
        for k in leaving:
            left[k] = [one for one in left[k] if overlap(one, chosen[k]) < SAME]
    return chosen


def _best_path(
    genes: List[GeneInOrder], places: List[List[GenePlace]]
) -> tuple[list[GenePlace | None], NDArray[np.float64]]:
    """Return the best places, and what each gene loses at least if it has to leave its own."""
    chosen: list[GenePlace | None] = [None] * len(genes)
    order = sorted((k for k in range(len(genes)) if places[k]), key=lambda k: genes[k])
    own = [np.array([place.score for place in places[k]]) for k in order]
    links = [_break_costs(genes[a], places[a], genes[b], places[b]) for a, b in pairwise(order)]
    # of the best path up to a place, and of the best one behind it
    before, behind = [0.0 * each for each in own], [0.0 * each for each in own]
    for at in range(1, len(order)):
        before[at] = (before[at - 1] + own[at - 1] - links[at - 1]).max(axis=1)
    for at in range(len(order) - 2, -1, -1):
        behind[at] = ((behind[at + 1] + own[at + 1])[:, None] - links[at]).max(axis=0)
    losses, best = np.full(len(genes), np.inf), -1
    for at in range(len(order) - 1, -1, -1):
        values = before[at] + own[at] + behind[at]
        ahead = before[at] + own[at]
        if at < len(order) - 1:
            ahead = ahead - links[at][best]
        best = int(ahead.argmax())
        chosen[order[at]] = places[order[at]][best]
        others = np.delete(values, best)
        losses[order[at]] = values[best] - others.max(initial=values[best] - own[at][best])
    return chosen, losses


def _break_costs(
    a: GeneInOrder, ones: List[GenePlace], b: GeneInOrder, twos: List[GenePlace]
) -> NDArray[np.float64]:
    """Return what it costs that two neighbours do not lie to each other as in the reference.

    A row for each place of `b`, a column for each one of `a`.
    """
    if a.record != b.record:
        return np.zeros((len(twos), len(ones)))
    one, two = _columns(ones), _columns(twos)[:, :, None]
    same = (one[1] == two[1]) == (a.strand == b.strand)
    found = np.where(one[1] == (a.strand == "+"), two[2] - one[3], one[2] - two[3])
    differs = np.abs(found - (b.start - a.end)) / NO_DIFFERENCE
    costs = np.minimum(PER_DOUBLING * np.log2(1 + differs), BREAK)
    return np.where((one[0] == two[0]) & same, costs, BREAK)


def _columns(places: List[GenePlace]) -> NDArray[np.int64]:
    """Return record, whether on ``+``, start and end of places."""
    return np.array([(p.record, p.strand == "+", p.start, p.end) for p in places]).T


def _leaving(
    genes: List[GeneInOrder], chosen: List[GenePlace | None], losses: NDArray[np.float64]
) -> set[int]:
    """Return the genes that leave their places to others."""
    there, leaving = PlacesTaken(genes), set()
    for k, place in enumerate(chosen):
        if place is not None:
            # where a gene's ends lie is known roughly: neighbours are no rivals
            rivals = {n for n in there.rivals(k, place) if mutual(place, chosen[n]) >= SAME}
            leaving |= {k if (losses[k], -k) < (losses[n], -n) else n for n in rivals}
            there.add(k, place)
    return leaving


class PlacesTaken:
    """Places that genes of the reference have, by bins of the new genome."""

    _BIN = 1 << 14

    def __init__(self, genes: List[GeneInOrder]):
        self._genes = genes
        self._places: dict[tuple, list[tuple[int, GenePlace]]] = {}

    def _bins(self, place: GenePlace) -> Iterable[tuple]:
        first, last = place.start // self._BIN, max(place.end - 1, place.start) // self._BIN
        return ((place.record, place.strand, n) for n in range(first, last + 1))

    def add(self, k: int, place: GenePlace) -> None:
        """Note the place of a gene."""
        for bin_ in self._bins(place):
            self._places.setdefault(bin_, []).append((k, place))

    def at(self, place: GenePlace) -> set[int]:
        """Return the genes that have a place, or most of it."""
        near = chain.from_iterable(self._places.get(bin_, ()) for bin_ in self._bins(place))
        return {k for k, other in near if overlap(place, other) >= SAME}

    def rivals(self, k: int, place: GenePlace) -> set[int]:
        """Return the genes at a place of a gene that do not lie at that of it in the reference."""
        return {
            n for n in self.at(place) if n != k and not _overlap(self._genes[k], self._genes[n])
        }

    def is_taken(self, k: int, place: GenePlace) -> bool:
        """Return whether a further copy of a gene cannot lie at a place: it or a rival does.

        Genes that share nucleotides in the reference are copied together.
        """
        return k in self.at(place) or bool(self.rivals(k, place))


def _overlap(a: GeneInOrder, b: GeneInOrder) -> bool:
    """Return whether genes of the reference share a fifth of the shorter one."""
    both = min(a.end, b.end) - max(a.start, b.start)
    alike = (a.record, a.strand) == (b.record, b.strand)
    return alike and both >= 0.2 * min(a.end - a.start, b.end - b.start)


def place_beside(gene: GeneInOrder, neighbour: GeneInOrder, place: GenePlace) -> GenePlace:
    """Return where a gene lies by a neighbour's place, if distances are those of the reference."""
    turned = neighbour.strand != place.strand
    strand = gene.strand if not turned else "+-"[gene.strand == "+"]
    if not turned:
        shift = place.start - neighbour.start if gene.start < neighbour.start else (
            place.end - neighbour.end
        )  # fmt: skip
        return GenePlace(place.record, strand, gene.start + shift, gene.end + shift)
    edge = (
        place.end + neighbour.start if gene.start < neighbour.start
        else place.start + neighbour.end
    )  # fmt: skip
    return GenePlace(place.record, strand, edge - gene.end, edge - gene.start)
