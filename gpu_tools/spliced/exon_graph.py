"""The exon graph of one strand: its candidate exons, laid out as rows for a sweep.

All exons that start at the same place share their rows: a *track* is the longest of them, and
each shorter one leaves the track at a row of its own. This is exact, because a cell depends on
an exon only through its start; whatever depends on its end is added when it leaves.
The tracks lie back to back in one *stream* of rows, ordered by start.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import COMPLEMENT, OTHER
from gpu_tools.splicing.bounds import Bounds, Costs, costs_of


class Tracks(NamedTuple):
    """Tracks of a strand and the exons that leave them, see `ExonGraph`."""

    starts: NDArray[np.int64]
    rows: NDArray[np.int64]
    commits: NDArray[np.int64]
    ends: NDArray[np.int64]
    exit_rows: NDArray[np.int64]
    exit_ends: NDArray[np.int64]
    exit_tracks: NDArray[np.int64]
    by_end: NDArray[np.int64]
    first_by_end: NDArray[np.int64]


class GraphArrays(NamedTuple):
    """The arrays of an `ExonGraph` in the form that compiled functions read."""

    codes: NDArray[np.uint8]
    exit_bonus: NDArray[np.int64]
    tracks: Tracks


@dataclass(frozen=True, eq=False)
class ExonGraph:
    """The stream of one strand, in transcript direction.

    Attributes
    ----------
    length : int
        Length of the base sequence.
    reverse : bool
        Whether positions count on the reverse complement.
    codes : ndarray of uint8, shape (R,)
        Base symbols of the stream's rows.
    starts : ndarray of int64, shape (T,)
        Position of each track's first row, rising.
    track_rows : ndarray of int64, shape (T + 1,)
        Stream row at which each track begins; last, R.
    track_commits : ndarray of int64, shape (T,)
        How many of `ends` lie at or before each track's start: those may precede it.
    ends : ndarray of int64, shape (D,)
        Distinct exon ends, exclusive, rising.
    exit_rows, exit_ends, exit_tracks : ndarray of int64, shape (B,)
        For each exon, ordered by start then end: its last stream row, its index into `ends`,
        its track.
    exit_bonus : ndarray of int64, shape (B,)
        Score added once if the exon is part of a chain.
    exon_scores : ndarray of float64, shape (B,)
        The candidates' own scores.
    by_end : ndarray of int64, shape (B,)
        The exons ordered by end, those with equal ends by start.
    first_by_end : ndarray of int64, shape (D + 1,)
        Where each end's exons begin in `by_end`; last, B.
    """

    length: int
    reverse: bool
    codes: NDArray[np.uint8]
    starts: NDArray[np.int64]
    track_rows: NDArray[np.int64]
    track_commits: NDArray[np.int64]
    ends: NDArray[np.int64]
    exit_rows: NDArray[np.int64]
    exit_ends: NDArray[np.int64]
    exit_tracks: NDArray[np.int64]
    exit_bonus: NDArray[np.int64]
    exon_scores: NDArray[np.float64]
    by_end: NDArray[np.int64]
    first_by_end: NDArray[np.int64]

    @property
    def n_exons(self) -> int:
        """Number of distinct exons."""
        return len(self.exit_rows)

    @property
    def n_rows(self) -> int:
        """Number of the stream's rows."""
        return len(self.codes)

    @cached_property
    def arrays(self) -> GraphArrays:
        """The same for compiled functions."""
        return GraphArrays(self.codes, self.exit_bonus, Tracks(
            self.starts, self.track_rows, self.track_commits, self.ends, self.exit_rows,
            self.exit_ends, self.exit_tracks, self.by_end, self.first_by_end,
        ))  # fmt: skip

    def exon(self, index: int) -> tuple[int, int]:
        """Return one exon as a 0-based half-open interval of the forward strand."""
        start = int(self.starts[self.exit_tracks[index]])
        return self.forward((start, int(self.ends[self.exit_ends[index]])))

    def forward(self, interval: tuple[int, int]) -> tuple[int, int]:
        """Return an interval in reading direction as one of the forward strand."""
        start, end = interval
        return (self.length - end, self.length - start) if self.reverse else (start, end)


def build_exon_graph(
    codes: NDArray[np.uint8], exons: ExonSet, scoring: SplicedScoring, reverse: bool
) -> ExonGraph:
    """Work out the stream of one strand."""
    order, stream, tracks = _laid_out(codes, exons.starts, exons.ends, reverse)
    *arrays, by_end, first_by_end = tracks
    scores = exons.scores[order]
    bonus = scoring.exon_bonus(scores)
    return ExonGraph(len(codes), reverse, stream, *arrays, bonus, scores, by_end, first_by_end)


@njit(cache=True, nogil=True)
def _laid_out(codes, exon_starts, exon_ends, reverse):
    # numba loads a function from its cache once: Python must not call what compiled functions call
    order, tracks = lay_out(len(codes), exon_starts, exon_ends, reverse)
    stream = np.empty(tracks.rows[-1], dtype=np.uint8)
    write_stream(codes, tracks.starts, tracks.rows, (reverse, reverse), stream)
    return order, stream, tracks


@njit(cache=True, nogil=True)
def lay_out(length, exon_starts, exon_ends, backwards):
    """Lay out the tracks of one strand."""
    # loops, for numba takes long to compile operations on arrays
    n, keys = len(exon_starts), np.empty(len(exon_starts), np.int64)
    left, right = np.empty(n, np.int64), np.empty(n, np.int64)
    for k in range(n):
        left[k] = length - exon_ends[k] if backwards else exon_starts[k]
        right[k] = length - exon_starts[k] if backwards else exon_ends[k]
        keys[k] = (left[k] << 31) + right[k]
    order = _order(keys)
    left, right = taken(left, 0, order), taken(right, 0, order)
    exit_tracks, exit_rows = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    starts, rows = np.empty(n, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    track = -1
    for k in range(n):
        if k == 0 or left[k] != left[k - 1]:
            track += 1
            starts[track] = left[k]
            rows[track + 1] = rows[track]
        exit_tracks[k], exit_rows[k] = track, rows[track] + right[k] - left[k] - 1
        rows[track + 1] = exit_rows[k] + 1
    starts, rows = starts[: track + 1], rows[: track + 2]
    for k in range(n):
        keys[k] = (right[k] << 31) + k
    by_end = _order(keys)
    ends, first_by_end, exit_ends = _number_ends(right, by_end)
    commits = _count_before(ends, starts)
    return order, Tracks(
        starts, rows, commits, ends, exit_rows, exit_ends, exit_tracks, by_end, first_by_end
    )


@njit(cache=True, nogil=True)
def taken(values, first, numbers):
    """Return the elements whose numbers, counted from `first`, are given."""
    found = np.empty(len(numbers), values.dtype)
    for k in range(len(numbers)):
        found[k] = values[first + numbers[k]]
    return found


@njit(nogil=True)
def _order(keys):
    """Return the order of distinct numbers; those of exons often rise already.

    By merging: numba takes a second to compile numpy's sorting.
    """
    n, size, rises = len(keys), 1, True
    order, merged = np.arange(n), np.empty(n, np.int64)
    for k in range(1, n):
        rises &= keys[k - 1] < keys[k]
    while size < n and not rises:
        for low in range(0, n, 2 * size):
            middle, past = min(low + size, n), min(low + 2 * size, n)
            left, right = low, middle
            for k in range(low, past):
                if right == past or (left < middle and keys[order[left]] < keys[order[right]]):
                    merged[k] = order[left]
                    left += 1
                else:
                    merged[k] = order[right]
                    right += 1
        order, merged, size = merged, order, 2 * size
    return order


@njit(nogil=True)
def _number_ends(right, by_end):
    """Return the distinct ends, where the exons of each begin in `by_end`, and each exon's end."""
    ends, first = np.empty(len(right), np.int64), np.empty(len(right) + 1, np.int64)
    exit_ends, n = np.empty(len(right), dtype=np.int64), 0
    for k in range(len(by_end)):
        if k == 0 or right[by_end[k]] != ends[n - 1]:
            ends[n], first[n] = right[by_end[k]], k
            n += 1
        exit_ends[by_end[k]] = n - 1
    first[n] = len(by_end)
    return ends[:n], first[: n + 1], exit_ends


@njit(nogil=True)
def _count_before(ends, starts):
    """Return how many of the rising ends lie at or before each of the rising starts."""
    counts, n = np.empty(len(starts), dtype=np.int64), 0
    for k in range(len(starts)):
        while n < len(ends) and ends[n] <= starts[k]:
            n += 1
        counts[k] = n
    return counts


@njit(nogil=True)
def write_stream(codes, starts, track_rows, direction, stream):
    """Write the nucleotides of the rows; return whether one is ambiguous.

    `direction` tells whether positions count from the end of the base sequence, and whether to
    complement it.
    """
    seen, (backwards, complement) = np.uint8(0), direction
    for track in range(len(starts)):
        rows, start = stream[track_rows[track] : track_rows[track + 1]], starts[track]
        if backwards:
            start = len(codes) - start - len(rows)
        symbols = codes[start : start + len(rows)]
        # without a branch for the strand this loop is compiled to vector instructions
        for row in range(len(rows)):
            rows[row] = symbols[row]
            seen |= symbols[row]
        if backwards:
            for row in range(len(rows)):
                rows[row] = symbols[len(rows) - 1 - row]
        if complement:
            for row in range(len(rows)):
                rows[row] = COMPLEMENT[rows[row]]
    return seen >= OTHER


# Bounds on the cells of a sweep, and the narrowest integers that provably hold them.


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
    """Return the largest sum of bonuses less intron penalties of any part of a chain, at least 0.

    A part may begin behind a candidate, whose bonus it has not, with an intron that gains.
    """
    at_end = np.zeros(n_ends, dtype=np.int64)
    best, committed = 0, 0
    for exon in range(len(exit_tracks)):
        while committed < track_commits[exit_tracks[exon]]:
            best = max(best, at_end[committed] - intron_penalty)
            committed += 1
        at_end[exit_ends[exon]] = max(at_end[exit_ends[exon]], best + exit_bonus[exon])
    for end in range(n_ends):
        best = max(best, at_end[end])
    return best
