"""Bounds on the cells of a sweep, and the narrowest integers that provably hold them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from gpu_tools.errors import ScoringError
from gpu_tools.scoring import LIMIT_INT32, SplicedScoring
from gpu_tools.spliced.core import empty_chain
from gpu_tools.spliced.program import SweepProgram

LIMIT_INT16 = 2**15 - 1


@dataclass(frozen=True)
class Bounds:
    """No cell, exon end or predecessors' maximum of a sweep leaves [lowest, highest]."""

    lowest: int
    highest: int

    @property
    def magnitude(self) -> int:
        """The larger of the two bounds' magnitudes."""
        return max(abs(self.lowest), abs(self.highest))


def bounds(program: SweepProgram, columns: int, scoring: SplicedScoring) -> Bounds:
    """Bound every value of a sweep over `columns` target columns, padding included.

    A cell is at least what an exon gives that follows the empty chain and leaves all its symbols
    unaligned. It is at most the best start, plus the best pair in every column, plus the best
    chain of bonuses, plus a positive gap score for every row of a chain (at most the base's
    length). Intermediate values are one operation away from a cell: a pair, a gap, a bonus or
    an intron penalty more.
    """
    gap = scoring.gap
    lifted = scoring.substitution() - gap
    longest = int(np.diff(program.track_rows).max(initial=0))
    bonus = int(np.abs(program.exit_bonus).max(initial=0))
    step = max(int(np.abs(lifted).max()), abs(gap), abs(scoring.intron_penalty), bonus)
    start = max(empty_chain(column, gap, scoring.ends != "global") for column in (0, columns))
    chain = best_bonus_chain(program, scoring.intron_penalty)
    highest = start + columns * max(int(lifted.max()), 0) + chain + program.length * max(gap, 0)
    return Bounds(min(gap, 0) * longest - bonus - step, highest + step)


def best_bonus_chain(program: SweepProgram, intron_penalty: int) -> int:
    """Return the largest sum of bonuses less intron penalties of any chain, at least 0."""
    return int(
        _best_bonus_chain(
            program.track_commits, program.exit_tracks, program.exit_ends, program.exit_bonus,
            len(program.ends), intron_penalty,
        )
    )  # fmt: skip


@njit(cache=True)
def _best_bonus_chain(track_commits, exit_tracks, exit_ends, exit_bonus, n_ends, intron_penalty):
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


def narrowest(bound: Bounds, scoring: SplicedScoring) -> np.dtype:
    """Return int16 if every value fits, else int32.

    Raises
    ------
    ScoringError
        If 32 bits could overflow.
    """
    if bound.magnitude < LIMIT_INT16:
        return np.dtype(np.int16)
    if bound.magnitude < LIMIT_INT32:
        return np.dtype(np.int32)
    raise ScoringError(
        f"scores up to {bound.magnitude} could arise for these lengths; expected less than 2^30"
    )
