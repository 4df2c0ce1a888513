"""The k best alignments of one pair of sequences, and its global alignment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.local.forbidden import ForbiddenPairs
from gpu_tools.local.problem import Problem
from gpu_tools.local.tiles import Tiles, tile_side
from gpu_tools.local.traceback import align
from gpu_tools.local.window import find_start
from gpu_tools.results import CigarOperation


class Found(NamedTuple):
    """An alignment: score, first pair, the place behind its last pair, CIGAR."""

    score: int
    start: tuple[int, int]
    end: tuple[int, int]
    cigar: tuple[CigarOperation, ...]


ScorePass = Callable[[Problem, int], NDArray[np.int32]]
"""From a problem and the side of a tile to the largest score of each tile."""


def best_alignments(problem: Problem, score_pass: ScorePass, least: int) -> Iterator[Found]:
    """Yield alignments that share no pair, by falling score, as long as there is one.

    Parameters
    ----------
    problem : Problem
    score_pass : callable
        See `ScorePass`.
    least : int
        Smallest score, at least 1.
    """
    side = tile_side(*problem.shape)
    tiles = Tiles(problem, side, score_pass(problem, side))
    while (best := tiles.best_end(least)) is not None:
        score, (row, column) = best
        end = row + 1, column + 1
        start = find_start(problem, end, score, tiles.forbidden)
        region = (start[0], end[0], start[1], end[1])
        found, cigar = align(problem, region, tiles.forbidden)
        if found != score:  # the passes contradict each other
            raise AssertionError(f"alignment {region} scores {found}, its cell {score}")
        yield Found(score, start, end, cigar)
        tiles.use_up(start, end, cigar)


def global_alignment(problem: Problem) -> Found:
    """Return the best alignment of the whole sequences."""
    rows, columns = problem.shape
    score, cigar = align(problem, (0, rows, 0, columns), ForbiddenPairs())
    return Found(score, (0, 0), (rows, columns), cigar)
