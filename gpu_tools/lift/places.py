"""Places of genes in the new genome: by words that they share with it, and by their neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Sequence as List
from dataclasses import dataclass
from math import log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.locus import SearchWindow
from gpu_tools.model.sequences import Sequence, reverse_complement
from gpu_tools.search.api import find_windows
from gpu_tools.search.index import GenomeIndex
from gpu_tools.search.words import SearchOptions

BREAK = 40.0
"""Points of the search, 2 for a match, that a gene without order and distance of its neighbour
costs: some twenty matches."""
PER_DOUBLING = 2.0
"""Points for each doubling of a difference of two neighbours' distances."""
_MOST_PLACES = 40
"""Places of a gene that are tried."""
_FLANK = 500
"""Nucleotides beside a short gene that are searched for, too, where its exons are not found."""


class GenePlace(NamedTuple):
    """Where a gene may lie in the new genome: on the forward strand, 0-based half-open."""

    record: int
    strand: str
    start: int
    end: int
    score: float = 0.0  # of the search; 0 if neighbours tell


@dataclass(frozen=True)
class GeneQuery:
    """The nucleotides of a gene that are searched for, in reading direction."""

    name: str
    codes: NDArray[np.uint8]
    offsets: NDArray[np.int64]  # where each of them lies in the gene
    length: int  # of the gene

    @classmethod
    def of(cls, name: str, codes: NDArray[np.uint8], exons: Iterable[tuple[int, int]]) -> GeneQuery:
        """Return the query of a gene's nucleotides and its exons in it, which may overlap."""
        inside = np.zeros(len(codes), np.bool_)
        for start, end in exons:
            inside[start:end] = True
        offsets = np.flatnonzero(inside)
        return cls(name, codes[offsets], offsets, len(codes))


def find_places(
    index: GenomeIndex, queries: List[GeneQuery], max_intron: int, threads: int,
    progress: Callable[[int], None],
) -> list[list[GenePlace]]:  # fmt: skip
    """Return the places of each query, the best first."""
    options = SearchOptions(max_intron=max_intron, max_windows=_MOST_PLACES)
    targets = [Sequence(query.name, query.codes) for query in queries]
    found: list[list[GenePlace]] = [[] for _ in queries]
    for window in find_windows(index, targets, options, threads, progress):
        query = queries[window.target]
        found[window.target] += (
            _place_of(window, chain, query)
            for chain in window.chains
            if chain.seed is not None
        )  # fmt: skip
    return [_distinct(places) for places in found]


def _place_of(window: SearchWindow, chain, query: GeneQuery) -> GenePlace:
    """Return where a gene lies by the best stretch of a chain of words."""
    seed = chain.seed
    before = int(query.offsets[min(seed.first, len(query.offsets) - 1)])
    if window.strand == "+":
        start = seed.start - before
        end = start + query.length
    else:
        end = seed.end + before
        start = end - query.length
    start, end = min(start, chain.start), max(end, chain.end)
    return GenePlace(window.record, window.strand, start, end, float(chain.score))


def _distinct(places: List[GenePlace]) -> list[GenePlace]:
    """Return places by falling score without those that lie mostly in a better one."""
    kept: list[GenePlace] = []
    for place in sorted(places, key=lambda p: (-p.score, p)):
        if len(kept) < _MOST_PLACES and all(overlap(place, other) < 0.5 for other in kept):
            kept.append(place)
    return kept


def overlap(one: GenePlace, two: GenePlace) -> float:
    """Return which part of the shorter of two places lies in the other one."""
    if (one.record, one.strand) != (two.record, two.strand):
        return 0.0
    both = min(one.end, two.end) - max(one.start, two.start)
    return max(both, 0) / max(min(one.end - one.start, two.end - two.start), 1)


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

    Genes of a record follow each other by their starts. A gene without a place is passed over.
    """
    chosen: list[GenePlace | None] = [None] * len(genes)
    order = sorted((k for k in range(len(genes)) if places[k]), key=lambda k: genes[k])
    sums: list[NDArray[np.float64]] = []
    steps: list[NDArray[np.int64]] = []
    for at, k in enumerate(order):
        own = np.array([place.score for place in places[k]])
        step = np.full(len(own), -1)
        if at and genes[order[at - 1]].record == genes[k].record:
            before = order[at - 1]
            costs = np.array([
                [break_cost(genes[before], one, genes[k], two) for one in places[before]]
                for two in places[k]
            ])  # fmt: skip
            values = sums[-1] - costs
            step = values.argmax(axis=1)
            own = own + values.max(axis=1)
        elif at:
            step[:] = int(sums[-1].argmax())
            own = own + sums[-1].max()
        sums.append(own)
        steps.append(step)
    best = int(sums[-1].argmax()) if sums else -1
    for at in range(len(order) - 1, -1, -1):
        chosen[order[at]] = places[order[at]][best]
        best = int(steps[at][best])
    return chosen


def break_cost(a: GeneInOrder, one: GenePlace, b: GeneInOrder, two: GenePlace) -> float:
    """Return what it costs that two neighbours do not lie to each other as in the reference."""
    same = (a.strand == b.strand) == (one.strand == two.strand)
    if one.record != two.record or not same:
        return BREAK
    apart = b.start - a.end
    found = two.start - one.end if one.strand == a.strand else one.start - two.end
    return min(PER_DOUBLING * log2(1 + abs(found - apart)), BREAK)


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


def stretch(codes: NDArray[np.uint8], place: GenePlace, low: int, high: int) -> NDArray[np.uint8]:
    """Return the nucleotides of a record between two positions, read on the place's strand."""
    part = codes[low:high]
    return part if place.strand == "+" else reverse_complement(part)
