"""The k best alignments of one pair of sequences, and its global alignment."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_tools.local.corridor import whole
from gpu_tools.local.forbidden import ForbiddenPairs
from gpu_tools.local.problem import Problem
from gpu_tools.local.several import Crew, FoundAlignments, several_best
from gpu_tools.local.tiles import Tiles
from gpu_tools.local.traceback import align, trace

PATIENCE = 8
"""Alignments that one thread finds before others are asked again, if they were of no use."""


def best_alignments(
    tiles: Tiles, least: int, most: int, crew: Crew | None = None
) -> Iterator[FoundAlignments]:
    """Yield alignments that share no pair, by falling score, as long as there is one.

    Parameters
    ----------
    tiles : Tiles
        What a score pass tells of the problem's tiles; brought up to date.
    least : int
        Smallest score, no less than that of the tiles.
    most : int
        How many are wanted at most.
    crew : Crew, optional
        Threads that find several at a time. Once they found more in vain, this one alone finds as
        many before they are asked again.
    """
    alone = 0
    while most > 0:
        found = []
        if crew is not None and alone <= 0:
            found, in_vain = several_best(tiles, least, most, crew)
            alone = in_vain if found else max(in_vain, PATIENCE)
        yield from found[:most]
        most -= len(found)
        if not found:
            if (best := tiles.best_end(least)) is None:
                return
            yield (one := _ending(tiles, best))
            most, alone = most - 1, alone - 1
            if most:
                tiles.use_up(one.start, one.end, one.cigar)


def _ending(tiles: Tiles, best: tuple[int, tuple[int, int]]) -> FoundAlignments:
    """Return the alignment of a score and last cell."""
    problem, forbidden = tiles.problem, tiles.forbidden
    score, (row, column) = best
    end = row + 1, column + 1
    if (far := tiles.traced(end)) is not None:
        start, corridor = far
        region = (start[0], end[0], start[1], end[1])
        found, cigar = align(problem, region, forbidden, corridor)
    else:
        bounds, scratch = tiles.bounds, tiles.scratch
        start, found, cigar = trace(problem, end, score, bounds, forbidden, scratch)
    if found != score:  # the passes contradict each other
        raise AssertionError(f"alignment from {start} to {end} scores {found}, its cell {score}")
    return FoundAlignments(score, start, end, cigar)


def global_alignment(problem: Problem) -> FoundAlignments:
    """Return the best alignment of the whole sequences."""
    rows, columns = problem.shape
    everywhere = whole(rows, columns)
    score, cigar = align(problem, (0, rows, 0, columns), ForbiddenPairs(), everywhere)
    return FoundAlignments(score, (0, 0), (rows, columns), cigar)
