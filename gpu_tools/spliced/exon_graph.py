"""The exon graph of one strand: its candidate exons, laid out as rows for a sweep.

All exons that start at the same position share their rows: a *track* is the longest of them, and
each shorter one ends at a row of its own. This is exact, because a cell depends on an exon only
through its start; whatever depends on its end is added to the row where it ends. The tracks lie
back to back in one *stream* of rows, ordered by start. Bounds on the cells follow from the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    """T tracks of a strand, by start, and its B exons, by start, then end, with D distinct ends."""

    starts: NDArray[np.int64]  # (T,) position of each track's first row, rising
    rows: NDArray[np.int64]  # (T + 1,) stream row at which each track begins; last, their number
    commits: NDArray[np.int64]  # (T,) how many ends lie at or before each start: they may precede
    ends: NDArray[np.int64]  # (D,) exclusive, rising
    last_rows: NDArray[np.int64]  # (B,) last stream row of each exon
    exon_ends: NDArray[np.int64]  # (B,) index of each exon's end into `ends`
    exon_tracks: NDArray[np.int64]  # (B,) track of each exon
    by_end: NDArray[np.int64]  # (B,) the exons ordered by end, those with equal ends by start
    first_by_end: NDArray[np.int64]  # (D + 1,) where each end's exons begin in `by_end`; last, B


class GraphArrays(NamedTuple):
    """The arrays of an `ExonGraph` in the form that compiled functions read."""

    codes: NDArray[np.uint8]
    bonus: NDArray[np.int64]
    tracks: Tracks


@dataclass(frozen=True, eq=False)
class ExonGraph:
    """The stream of one strand, in transcript direction."""

    length: int  # of the base sequence
    reverse: bool  # whether positions count on the reverse complement
    codes: NDArray[np.uint8]  # nucleotides of the stream's rows
    tracks: Tracks
    bonus: NDArray[np.int64]  # (B,) score added once if the exon is part of a chain
    exon_scores: NDArray[np.float64]  # (B,) the candidates' own scores

    @property
    def n_exons(self) -> int:
        """Number of distinct exons."""
        return len(self.bonus)

    @property
    def n_rows(self) -> int:
        """Number of the stream's rows."""
        return len(self.codes)

    @property
    def arrays(self) -> GraphArrays:
        """The same for compiled functions."""
        return GraphArrays(self.codes, self.bonus, self.tracks)

    def exon(self, index: int) -> tuple[int, int]:
        """Return one exon as a 0-based half-open interval of the forward strand."""
        tracks = self.tracks
        start = int(tracks.starts[tracks.exon_tracks[index]])
        return self.forward((start, int(tracks.ends[tracks.exon_ends[index]])))

    def forward(self, interval: tuple[int, int]) -> tuple[int, int]:
        """Return an interval in reading direction as one of the forward strand."""
        start, end = interval
        return (self.length - end, self.length - start) if self.reverse else (start, end)


def build_exon_graph(
    codes: NDArray[np.uint8], exons: ExonSet, scoring: SplicedScoring, reverse: bool
) -> ExonGraph:
    """Work out the stream of one strand."""
    order, stream, tracks = _laid_out(codes, exons.starts, exons.ends, reverse)
    scores = exons.scores[order]
    return ExonGraph(len(codes), reverse, stream, tracks, scoring.exon_bonus(scores), scores)


@njit(cache=True, nogil=True)
def _laid_out(codes, first, past, reverse):
    # numba loads a function from its cache once: Python must not call what compiled functions call
    order, tracks = lay_out(len(codes), first, past, reverse)
    stream = np.empty(tracks.rows[-1], dtype=np.uint8)
    write_stream(codes, tracks, reverse, stream)
    return order, stream, tracks


@njit(cache=True, nogil=True)
def lay_out(length, first, past, reverse):
    """Lay out the tracks of exons that begin at `first` and end before `past` on a strand.

    Returned are also the exons in the order of the tracks.
    """
    # loops, for numba takes long to compile operations on arrays
    n, keys = len(first), np.empty(len(first), np.int64)
    left, right = np.empty(n, np.int64), np.empty(n, np.int64)
    for k in range(n):
        left[k] = length - past[k] if reverse else first[k]
        right[k] = length - first[k] if reverse else past[k]
        keys[k] = (left[k] << 31) + right[k]
    order = _order(keys)
    left, right = taken(left, 0, order), taken(right, 0, order)
    exon_tracks, last_rows = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    starts, rows = np.empty(n, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    track = -1
    for k in range(n):
        if k == 0 or left[k] != left[k - 1]:
            track += 1
            starts[track] = left[k]
            rows[track + 1] = rows[track]
        exon_tracks[k], last_rows[k] = track, rows[track] + right[k] - left[k] - 1
        rows[track + 1] = last_rows[k] + 1
    starts, rows = starts[: track + 1], rows[: track + 2]
    for k in range(n):
        keys[k] = (right[k] << 31) + k
    by_end = _order(keys)
    ends, first_by_end, exon_ends = _number_ends(right, by_end)
    commits = _count_before(ends, starts)
    return order, Tracks(
        starts, rows, commits, ends, last_rows, exon_ends, exon_tracks, by_end, first_by_end
    )


@njit(cache=True, nogil=True)
def taken(values, first, numbers):
    """Return ``values[first + numbers]``."""
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
    exon_ends, n = np.empty(len(right), dtype=np.int64), 0
    for k in range(len(by_end)):
        if k == 0 or right[by_end[k]] != ends[n - 1]:
            ends[n], first[n] = right[by_end[k]], k
            n += 1
        exon_ends[by_end[k]] = n - 1
    first[n] = len(by_end)
    return ends[:n], first[: n + 1], exon_ends


@njit(nogil=True)
def _count_before(ends, starts):
    """Return for each of the rising starts the number of rising ends that lie at or before it."""
    counts, n = np.empty(len(starts), dtype=np.int64), 0
    for k in range(len(starts)):
        while n < len(ends) and ends[n] <= starts[k]:
            n += 1
        counts[k] = n
    return counts


@njit(nogil=True)
def write_stream(codes, tracks, reverse, stream):
    """Write the nucleotides of the tracks' rows; return whether one is ambiguous."""
    seen, starts, track_rows = np.uint8(0), tracks.starts, tracks.rows
    for track in range(len(starts)):
        rows, start = stream[track_rows[track] : track_rows[track + 1]], starts[track]
        if reverse:
            start = len(codes) - start - len(rows)
        symbols = codes[start : start + len(rows)]
        # without a branch for the strand this loop is compiled to vector instructions
        for row in range(len(rows)):
            rows[row] = symbols[row]
            seen |= symbols[row]
        if reverse:
            for row in range(len(rows)):
                rows[row] = COMPLEMENT[symbols[len(rows) - 1 - row]]
    return seen >= OTHER


def bounds(graph: ExonGraph, columns: int, scoring: SplicedScoring) -> Bounds:
    """Bound every value of a graph's sweep over `columns` target columns, padding included."""
    chain = largest_bonus(
        graph.tracks.commits, graph.tracks.exon_tracks, graph.tracks.exon_ends, graph.bonus,
        len(graph.tracks.ends), scoring.intron_penalty,
    )  # fmt: skip
    longest = int(np.diff(graph.tracks.rows).max(initial=0))
    bonus = int(np.abs(graph.bonus).max(initial=0))
    extent = Extent(longest, bonus, chain, graph.length)
    low, high = bound_cells(extent, columns, costs_of(scoring))
    return Bounds(int(low), int(high))


class Extent(NamedTuple):
    """What bounds the cells of a graph."""

    longest: int  # rows of the longest track
    bonus: int  # largest magnitude of an exon's bonus
    chain: int  # largest sum of a chain's bonuses
    length: int  # of the base sequence


@register_jitable
def bound_cells(extent: Extent, columns, costs: Costs):
    """Return the lowest and the highest value of sweeps, see `bounds`.

    A cell is at least what an exon gives that follows the empty chain and leaves all its symbols
    unaligned. It is at most the best pair, or with free ends what lifting adds before the first
    exon, in every column, plus the best chain of bonuses, plus a positive gap score for every row
    of a chain (at most the base's length). Intermediate values are one operation away from a cell:
    a pair, a gap, a bonus or an intron penalty more.
    """
    gap = costs.gap
    step = max(costs.most, extent.bonus)
    column = max(costs.pair, -gap) if costs.free else costs.pair
    highest = columns * column + extent.chain + extent.length * max(gap, 0)
    return min(gap, 0) * extent.longest - extent.bonus - step, highest + step


@register_jitable
def best_bonus(commits, exon_tracks, exon_ends, bonus, n_ends, intron_penalty):
    """Return the largest sum of bonuses less intron penalties of any part of a chain, at least 0.

    A part may begin behind a candidate, without its bonus, with an intron that gains.
    """
    at_end = np.zeros(n_ends, dtype=np.int64)
    best, committed = 0, 0
    for exon in range(len(bonus)):
        while committed < commits[exon_tracks[exon]]:
            best = max(best, at_end[committed] - intron_penalty)
            committed += 1
        at_end[exon_ends[exon]] = max(at_end[exon_ends[exon]], best + bonus[exon])
    for end in range(n_ends):
        best = max(best, at_end[end])
    return best


largest_bonus = njit(cache=True, nogil=True)(best_bonus)
