"""The traceback of list mode: from a sweep's rows to the best chain and its alignment.

The walk over the exons is compiled, because a call has thousands of chains;
`gpu_tools.splicing.traceback` describes how one exon is found.

Ties, which make the answer the same on every device: the end that comes first, then the smallest
target column, is where the chain ends; walking back, the shortest exon with that end is chosen,
entered at its smallest target column; the chain starts there if it can, else the nearest end
before it precedes it; within an exon an aligned pair goes before a ``D``, and a ``D`` before an
``I``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced.exon_graph import ExonGraph
from gpu_tools.splicing import recurrence
from gpu_tools.splicing.best_chains import NO_PAIRS, BannedPairs, banned_within
from gpu_tools.splicing.traceback import (
    INSERTION,
    INTRON,
    Entries,
    ExonRows,
    first_column,
    merge_runs,
    pair_scores,
    runs_of,
    trace_exon,
)


class BestEnd(NamedTuple):
    """Where the best chain ends: its score, the index of the end, and the target column."""

    score: int
    end: int
    column: int


def best_end(ends: NDArray, target_length: int, scoring: SplicedScoring) -> BestEnd:
    """Return where the best chain ends; `ends` are a sweep's."""
    return BestEnd(*_find_best_end(ends, target_length, scoring.gap, scoring.ends != "global"))


@register_jitable
def find_best_end(ends, target_length, gap, free):
    """Return score, end and column, see `best_end`."""
    best, at_end, at_column = np.int64(np.iinfo(np.int64).min), 0, 0
    row, (strip, place) = np.empty(target_length + 1, ends.dtype), place_of(ends, target_length)
    for end in range(ends.shape[1]):
        if free:
            copy_columns(ends, end, row)
        row[target_length] = ends[strip, end, place]
        for column in range(0 if free else target_length, target_length + 1):
            score = np.int64(row[column]) + gap * column
            if score > best:
                best, at_end, at_column = score, end, column
    return best, at_end, at_column


@register_jitable
def place_of(rows, column):
    """Return the strip of a target column, and its element in a row of that."""
    strip, within = divmod(column, rows.shape[2])
    lane, c = divmod(within, rows.shape[2] // simd.lanes_of(rows))
    return strip, c * simd.lanes_of(rows) + lane


@register_jitable
def copy_columns(rows, number, into):
    """Copy the first columns of a row of all strips, in the order of the target."""
    lanes, n = simd.lanes_of(rows), 0
    for strip in range(rows.shape[0]):
        for lane in range(lanes):
            for place in range(lane, rows.shape[2], lanes):
                if n == len(into):
                    return
                into[n] = rows[strip, number, place]
                n += 1


_find_best_end = njit(cache=True, nogil=True)(find_best_end)


class Swept:
    """A sweep whose rows are in host memory, and where its best chain ends."""

    def __init__(
        self, graph: ExonGraph, sweep: recurrence.Sweep, target, scoring: SplicedScoring,
        banned: BannedPairs = NO_PAIRS,
    ):  # fmt: skip
        self.graph, self.sweep, self.target, self.scoring = graph, sweep, target, scoring
        self.banned = banned
        self.best = best_end(sweep.ends, len(target), scoring)

    def result_fields(self) -> dict:
        """Trace the best chain; return the fields of its `SplicedAlignment`."""
        graph, scoring, best = self.graph, self.scoring, self.best
        costs = scoring.gap, scoring.intron_penalty, scoring.ends != "global"
        exons, start, letters, lengths = _trace_chain(
            graph.arrays, self.sweep, self.target, pair_scores(self.target, scoring), costs,
            best.end, best.column, self.banned,
        )  # fmt: skip
        return {
            "strand": "-" if graph.reverse else "+", "score": best.score, "n_exons": graph.n_exons,
            "chain": tuple(graph.exon(k) for k in exons.tolist()), "target_start": start,
            "target_end": best.column, "cigar": runs_of(letters, lengths),
            "exon_scores": tuple(graph.exon_scores[exons].tolist()),
        }  # fmt: skip


@register_jitable
def trace_chain(graph, sweep, target, pairs, costs, end, column, banned):
    """Walk the best chain backwards."""
    tracks, (lifted, profile), (gap, penalty, free) = graph.tracks, pairs, costs
    empty = np.empty(column + 1, dtype=np.int32)
    for c in range(column + 1):
        empty[c] = _empty_chain(c, gap, free)
    # filled from behind, as large as can be; lists of arrays take numba long to compile
    at, exons = len(graph.bonus), np.empty(len(graph.bonus), np.int64)
    n = at + len(graph.codes) + column + 1
    letters, lengths = np.empty(n, np.uint8), np.empty(n, np.int64)
    while True:
        at -= 1
        strip, place = place_of(sweep.ends, column)
        value = np.int64(sweep.ends[strip, end, place])
        exons[at], column, operations = _trace_exon(
            graph, sweep.entries, target[:column], (lifted, profile, empty), gap, end, value, banned
        )
        track = tracks.exon_tracks[exons[at]]
        n -= len(operations)
        for k in range(len(operations)):
            letters[n + k], lengths[n + k] = operations[k], 1
        before = _end_before(tracks, sweep, track, column, penalty, empty)
        n -= 1
        if before < 0:
            break
        letters[n], lengths[n] = INTRON, tracks.starts[track] - tracks.ends[before]
        end = before
    start = first_column(column, gap, free, np.int64(0))
    letters[n], lengths[n] = INSERTION, column - start
    letters, lengths = merge_runs(letters[n:], lengths[n:])
    return exons[at:], start, letters, lengths


@njit
def _trace_exon(graph, stored, target, scores, gap, end, value, banned):
    """Return the exon that explains a value at an end, the column of its entry, its operations.

    The value is that at the end of the `target`; `scores` are lifted ones, the profile, and S' of
    the empty chain.
    """
    tracks, (lifted, profile, empty) = graph.tracks, scores
    first, past = tracks.first_by_end[end], tracks.first_by_end[end + 1]
    count = past - first
    lengths, wanted = np.empty(count, np.int64), np.empty(count, np.int64)
    entered, rows_above = (
        np.empty(count, np.int64),
        np.empty((count, len(target) + 1), stored.dtype),
    )
    for k in range(count):
        exon = tracks.by_end[past - 1 - k]  # shortest first
        entered[k] = tracks.exon_tracks[exon]
        copy_columns(stored, entered[k], rows_above[k])
        lengths[k] = tracks.ends[end] - tracks.starts[entered[k]]
        wanted[k] = value - graph.bonus[exon]
    rows = slice(tracks.rows[entered[-1]], tracks.last_rows[tracks.by_end[first]] + 1)
    begin = tracks.starts[entered[-1]]
    left_out = banned_within(banned, begin, tracks.ends[end], np.int64(0), len(target))
    found, column, operations = trace_exon(
        ExonRows(graph.codes[rows], target, lifted, profile, gap, left_out),
        Entries(lengths, np.arange(count), wanted, rows_above, empty),
    )
    return tracks.by_end[past - 1 - found], column, operations


_empty_chain = njit(cache=True)(recurrence.empty_chain)


_trace_chain = njit(cache=True, nogil=True)(trace_chain)


@njit(nogil=True)
def _end_before(tracks, sweep, track, column, penalty, empty):
    """Return the index of the end that a track is entered from at a column, -1 if from none."""
    strip, place = place_of(sweep.entries, column)
    value = sweep.entries[strip, track, place]
    if value == empty[column]:
        return -1
    end = tracks.commits[track] - 1
    while end >= 0 and sweep.ends[strip, end, place] - penalty != value:
        end -= 1
    if end < 0:
        raise ValueError("no end explains the value at a track's start: the sweep is wrong")
    return end
