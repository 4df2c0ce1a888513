"""The k best alignments of one pair of sequences, and its global alignment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpu_tools.local.problem import USUAL_SIZES, Problem, Rectangle
from gpu_tools.local.search.corridor import KnownEnd, whole
from gpu_tools.local.search.forbidden_pairs import ForbiddenPairs
from gpu_tools.local.search.tiles import Tiles
from gpu_tools.local.search.traceback import align, trace
from gpu_tools.model.results import CigarOperation


class FoundAlignment(NamedTuple):
    """An alignment: score, row and column of its first pair, those behind its last pair, CIGAR."""

    score: int
    start: tuple[int, int]
    end: tuple[int, int]
    cigar: tuple[CigarOperation, ...]


def best_alignments(tiles: Tiles, k: int) -> Iterator[FoundAlignment]:
    """Yield the best alignments that share no pair, by falling score; fewer than k if there are.

    Parameters
    ----------
    tiles : Tiles
        Bounds from a score pass; they are brought up to date. They hold the smallest score.
    k : int
        Most alignments.
    """
    for rank in range(1, k + 1):
        if (best := tiles.best_end()) is None:
            return
        yield (found := _alignment_to(tiles, best))
        if rank < k:
            tiles.use_up(found.start, found.end, found.cigar)


def _alignment_to(tiles: Tiles, best: KnownEnd) -> FoundAlignment:
    """Return the best alignment, which ends in a node."""
    inputs, at_once = tiles.corridor_inputs, tiles.sizes.cells_at_once
    start, found, cigar = trace(tiles.problem, best, inputs, at_once)
    if found != best.score:  # the passes contradict each other
        raise AssertionError(
            f"alignment from {start} to {best.end} scores {found}, its cell {best.score}"
        )
    return FoundAlignment(best.score, start, best.end, cigar)


def global_alignment(
    problem: Problem, cells_at_once: int = USUAL_SIZES.cells_at_once
) -> FoundAlignment:
    """Return the best alignment of the whole sequences."""
    rows, columns = problem.shape
    score, cigar = align(
        problem, Rectangle(0, rows, 0, columns), ForbiddenPairs().pairs, whole(rows, columns),
        cells_at_once,
    )  # fmt: skip
    return FoundAlignment(score, (0, 0), (rows, columns), cigar)
