"""Several of the best alignments at a time, found by several threads in places that do not touch.

Alignments of different places have no part in each other, so the best of all places are the best of
the matrix, as long as every place has told of all its alignments of that score. A place that had to
end sooner, because something may come from outside, ends the list; what ranks behind it is thrown
away.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.local import places
from gpu_tools.local.places import Asked, Harvest
from gpu_tools.local.tiles import Tiles, margin_of
from gpu_tools.model.results import CigarOperation

PLACES_OF_A_THREAD = 3
"""So many are worth beginning a thread; fewer are left to the thread that asks."""
_LARGEST_PLACE = 1 << 12
"""Tiles of a place."""
_AROUND = 5
"""Tiles of a place besides those before its first high one, in each direction, about."""


class FoundAlignments(NamedTuple):
    """An alignment: score, first pair, the place behind its last pair, CIGAR."""

    score: int
    start: tuple[int, int]
    end: tuple[int, int]
    cigar: tuple[CigarOperation, ...]


class Crew(NamedTuple):
    """Threads that work on one pair: the one that asks for it, and others of a pool."""

    pool: ThreadPoolExecutor
    size: int

    def map(self, work: Callable, shares: list) -> list:
        """Return what comes of all shares; the first one is done by the thread that asks."""
        others = [self.pool.submit(work, share) for share in shares[1:]]
        return [work(shares[0]), *(other.result() for other in others)]


def several_best(
    tiles: Tiles, least: int, most: int, crew: Crew
) -> tuple[list[FoundAlignments], int]:
    """Return the next best alignments as far as places show them, and how many more are in vain.

    Those that are returned are used up.

    Parameters
    ----------
    tiles : Tiles
        Brought up to date.
    least : int
        Smallest score.
    most : int
        About how many are wanted.
    crew : Crew
    """
    if most <= PLACES_OF_A_THREAD:
        return [], 0
    boxes, asked = _chosen(tiles, least, most)
    if len(boxes) <= PLACES_OF_A_THREAD:
        return [], 0
    ends = np.cumsum(_areas(boxes))
    numbered = np.column_stack([boxes, np.arange(len(boxes)), ends - _areas(boxes)])
    fresh = np.empty(ends[-1], np.int32)
    stops, harvest = _searched(tiles, numbered, asked, fresh, crew)
    ranks = _agreed(harvest.items, stops)
    in_vain = np.delete(harvest.items, ranks, axis=0)
    settled = np.isin(numbered[:, places.NUMBER], in_vain[:, places.PLACE], invert=True)
    tiles.take_over(_pairs(harvest, ranks), numbered[settled], fresh)
    return _alignments(harvest, ranks), len(in_vain)


def _chosen(tiles: Tiles, least: int, most: int) -> tuple[NDArray[np.int64], Asked]:
    """Return places that may hold the next best alignments, those with most work first, or none.

    Fewer are chosen as long as most of them have grown together.
    """
    down, across = tiles.known.upper.shape
    margin, shift = margin_of(tiles.side), tiles.bounds.shift
    wanted = min(most + most // 4 + 2, places.MOST_HIGH_TILES // 2, 3 * down // 5)
    boxes = np.empty((0, 5), np.int64)
    while wanted > PLACES_OF_A_THREAD:
        # windows of a place have more space where tiles are many: they seldom need more then
        space = isqrt(down * across // (16 * wanted)) - _AROUND
        before = min(max(space, 2 * margin), 8 * margin)
        boxes, lowest = places.find_places(tiles.known, before, wanted, least)
        work = boxes[:, places.HIGH_TILES]
        if len(boxes) and work.max() <= work.sum() / 3 and _areas(boxes).max() <= _LARGEST_PLACE:
            boxes = boxes[np.argsort(-work, kind="stable")]
            return boxes, Asked(tiles.side, shift, margin, int(lowest), most)
        wanted = wanted * 3 // 4
    return boxes[:0], Asked(tiles.side, shift, margin, least, most)


def _areas(boxes: NDArray[np.int64]) -> NDArray[np.int64]:
    return (boxes[:, 1] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 2])


def _searched(tiles: Tiles, numbered, asked: Asked, fresh, crew: Crew):
    """Return the places' stops, and what all threads have found."""
    parts = min(crew.size, -(-len(numbered) // PLACES_OF_A_THREAD))
    shares = [np.ascontiguousarray(numbered[k::parts]) for k in range(parts)]
    matrix = tiles.problem, tiles.known.upper, tiles.forbidden.pairs
    given = *matrix, asked, tiles.costs[0], fresh
    results = crew.map(partial(places.search_places, *given), shares)
    stops = np.empty(len(numbered), np.int64)
    for share, (of_share, _) in zip(shares, results, strict=True):
        stops[share[:, places.NUMBER]] = of_share
    return stops, Harvest(*map(np.concatenate, zip(*(h for _, h in results), strict=True)))


def _agreed(items: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return which items are the best, in order, as far as no place may have one in between."""
    scores, of_place = items[:, places.SCORE], items[:, places.PLACE]
    order = np.lexsort((items[:, places.END_COLUMN], items[:, places.END_ROW], -scores))
    # what a place tells after its own stop does not matter: it tells of nothing then
    highest = np.argmax(stops)
    limits = np.where(of_place == highest, np.delete(stops, highest).max(), stops[highest])
    sure = (scores > limits)[order]
    return order if sure.all() else order[: sure.argmin()]


def _pairs(harvest: Harvest, ranks) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns of some alignments' pairs."""
    mine = np.isin(np.arange(len(harvest.items)), ranks)
    mine = np.repeat(mine, harvest.items[:, places.PAIRS])
    return harvest.rows[mine], harvest.columns[mine]


def _alignments(harvest: Harvest, ranks) -> list[FoundAlignments]:
    ends = np.cumsum(harvest.items[:, places.OPERATIONS]).tolist()
    operations, lengths = harvest.operations.tobytes().decode(), harvest.lengths.tolist()
    alignments = []
    for rank in ranks.tolist():
        _, score, row, column, end_row, end_column, count, _ = harvest.items[rank].tolist()
        mine = slice(ends[rank] - count, ends[rank])
        cigar = tuple(zip(operations[mine], lengths[mine], strict=True))
        alignments.append(FoundAlignments(score, (row, column), (end_row, end_column), cigar))
    return alignments
