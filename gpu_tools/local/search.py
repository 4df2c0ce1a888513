"""The k best alignments of one pair of sequences, and its global alignment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpu_tools.local.corridor import whole
from gpu_tools.local.forbidden import ForbiddenPairs
from gpu_tools.local.problem import Problem
from gpu_tools.local.tiles import Tiles
from gpu_tools.local.traceback import align, trace
from gpu_tools.results import CigarOperation


class Found(NamedTuple):
    """An alignment: score, first pair, the place behind its last pair, CIGAR."""

    score: int
    start: tuple[int, int]
    end: tuple[int, int]
    cigar: tuple[CigarOperation, ...]


def best_alignments(tiles: Tiles, least: int) -> Iterator[Found]:
    """Yield alignments that share no pair, by falling score, as long as there is one.

    Parameters
    ----------
    tiles : Tiles
        What a score pass tells of the problem's tiles; brought up to date.
    least : int
        Smallest score, at least 1.
    """
    while (best := tiles.best_end(least)) is not None:
        score, (row, column) = best
        found = _ending(tiles, (row + 1, column + 1), score)
        yield found
        tiles.use_up(found.start, found.end, found.cigar)


def _ending(tiles: Tiles, end: tuple[int, int], score: int) -> Found:
    """Return the alignment of `score` that ends at the place `end`."""
    problem, forbidden = tiles.problem, tiles.forbidden
    if (far := tiles.traced(end)) is not None:
        start, corridor = far
        region = (start[0], end[0], start[1], end[1])
        found, cigar = align(problem, region, forbidden, corridor)
    else:
        bounds, scratch = tiles.bounds, tiles.scratch
        start, found, cigar = trace(problem, end, score, bounds, forbidden, scratch)
    if found != score:  # the passes contradict each other
        raise AssertionError(f"alignment from {start} to {end} scores {found}, its cell {score}")
    return Found(score, start, end, cigar)


def global_alignment(problem: Problem) -> Found:
    """Return the best alignment of the whole sequences."""
    rows, columns = problem.shape
    everywhere = whole(rows, columns)
    score, cigar = align(problem, (0, rows, 0, columns), ForbiddenPairs(), everywhere)
    return Found(score, (0, 0), (rows, columns), cigar)
