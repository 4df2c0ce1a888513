"""Bounds on the cells of a sweep, and the narrowest integers that provably hold them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from gpu_tools.hardware.compiled import njit
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced.exon_graph import ExonGraph
from gpu_tools.splicing.bounds import Bounds, Costs, costs_of


def bounds(graph: ExonGraph, columns: int, scoring: SplicedScoring) -> Bounds:
    """Bound every value of a graph's sweep over `columns` target columns, padding included."""
    chain = largest_bonus(
        graph.track_commits, graph.exit_tracks, graph.exit_ends, graph.exit_bonus,
        len(graph.ends), scoring.intron_penalty,
    )  # fmt: skip
    longest = int(np.diff(graph.track_rows).max(initial=0))
    bonus = int(np.abs(graph.exit_bonus).max(initial=0))
    extent = Extent(longest, bonus, chain, graph.length)
    low, high = bound_cells(extent, columns, costs_of(scoring))
    return Bounds(int(low), int(high))


class Extent(NamedTuple):
    """What bounds the cells of a graph.

    `longest` is the rows of the longest track, `bonus` the largest magnitude of an exon's bonus,
    `chain` the most that a chain's bonuses come to, and `length` that of the base.
    """

    longest: int
    bonus: int
    chain: int
    length: int


@register_jitable
def bound_cells(extent: Extent, columns, costs: Costs):
    """Return the lowest and the highest value of sweeps, see `bounds`.

    A cell is at least what an exon gives that follows the empty chain and leaves all its symbols
    unaligned. It is at most the best start, plus the best pair in every column, plus the best
    chain of bonuses, plus a positive gap score for every row of a chain (at most the base's
    length). Intermediate values are one operation away from a cell: a pair, a gap, a bonus or
    an intron penalty more.
    """
    gap = costs.gap
    step = max(costs.most, extent.bonus)
    start = max(-gap * columns, 0) if costs.free else 0
    highest = start + columns * costs.pair + extent.chain + extent.length * max(gap, 0)
    return min(gap, 0) * extent.longest - extent.bonus - step, highest + step


@njit(cache=True, nogil=True)
def largest_bonus(track_commits, exit_tracks, exit_ends, exit_bonus, n_ends, intron_penalty):
    """Return what `best_bonus` does; what Python calls, no compiled function may call."""
    return best_bonus(
        track_commits, exit_tracks, exit_ends, exit_bonus, n_ends, intron_penalty
    )  # fmt: skip


@njit(nogil=True)
def best_bonus(track_commits, exit_tracks, exit_ends, exit_bonus, n_ends, intron_penalty):
    """Return the largest sum of bonuses less intron penalties of any chain, at least 0."""
    at_end = np.full(n_ends, -(2**62), dtype=np.int64)
    best, committed = 0, 0
    for exon in range(len(exit_tracks)):
        while committed < track_commits[exit_tracks[exon]]:
            best = max(best, at_end[committed] - intron_penalty)
            committed += 1
        at_end[exit_ends[exon]] = max(at_end[exit_ends[exon]], best + exit_bonus[exon])
    for end in range(n_ends):
        best = max(best, at_end[end])
    return best
