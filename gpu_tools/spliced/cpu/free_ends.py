"""Listed candidates with free ends: a chain may begin and end anywhere in a candidate.

The sweep passes through the rows of an `ExonGraph` one by one: behind every row a chain may begin,
and after every row it may end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced.case import Case, PreparedCase, prepare_case, result_of
from gpu_tools.spliced.exon_graph import ExonGraph, bounds
from gpu_tools.splicing import rows
from gpu_tools.splicing.bounds import CELL_FLOOR, check_cells
from gpu_tools.splicing.recurrence import empty_row
from gpu_tools.splicing.traceback import (
    Entries,
    ExonRows,
    TracedChain,
    TracedExon,
    pair_scores,
    trace_back,
    trace_exon,
)

_NO_SCORE = -(2**62)
_SCORE, _ROW, _COLUMN = range(3)


class FreeSweep(NamedTuple):
    """Rows by target column, and the best chain's score, last stream row and last column."""

    ends: NDArray[np.int32]  # the best row at each end of exons
    entries: NDArray[np.int32]  # the row above each track
    score: int
    row: int
    column: int


class FreeEnd(NamedTuple):
    """Where an exon ends: the position, the value there, and its candidates, shortest first."""

    position: int
    value: int
    candidates: NDArray[np.int64]


@njit(cache=True, nogil=True)
def _sweep_stream(graph, leave_bonus, strip, ends, entries, weights, best):
    """Fill in the rows at ends and tracks, and the best score, its row and its column.

    `leave_bonus` is what a chain gets that ends after a row.
    """
    codes, bonus, tracks = graph
    track_rows, commits = tracks.rows, tracks.commits
    last_rows, exon_ends = tracks.last_rows, tracks.exon_ends
    profile, start, drop, final = strip.profile, strip.start, strip.drop, strip.final
    span, width = strip.final_span, len(strip.start)
    gap, penalty, floor = weights[0], weights[1], weights[2]
    row, maxima, no_carry = start.copy(), start.copy(), np.full(64, floor)
    low, lanes = simd.splat(floor), 16
    committed, exon = 0, 0
    for track in range(len(commits)):
        for end in range(committed, commits[track]):
            rows.raise_to(maxima, 0, ends, end, width, lanes, -penalty)
        committed = commits[track]
        rows.put(entries, track, maxima, 0, width, lanes, 0)
        rows.put(row, 0, maxima, 0, width, lanes, 0)
        for r in range(track_rows[track], track_rows[track + 1]):
            rows.next_row(row, profile, np.int64(codes[r]), gap, floor, lanes)
            score = rows.final_score(row, drop, final, span, floor, low, lanes)
            if score + leave_bonus[r] > best[_SCORE]:
                best[_SCORE], best[_ROW] = score + leave_bonus[r], r
                best[_COLUMN] = rows.column_of(row, drop, final, span, score, no_carry, lanes)
            while exon < len(last_rows) and last_rows[exon] == r:
                rows.raise_to(ends, exon_ends[exon], row, 0, width, lanes, bonus[exon])
                exon += 1
            rows.begin(row, low, start, 0, lanes)


def align_free_ends(case: Case, scoring: SplicedScoring) -> SplicedAlignment:
    """Align a case with free ends on one thread."""
    prepared, target = prepare_case(case, scoring), case.target.codes
    sweeps = [_sweep(graph, target, scoring) for graph in prepared.graphs]
    if not sweeps:
        return result_of(prepared)
    # the first of equals: + before -
    pairs = zip(prepared.graphs, sweeps, strict=True)
    graph, sweep = max(pairs, key=lambda pair: pair[1].score)
    traced = _traced(graph, sweep, target, scoring)
    return traced_result(prepared, graph, traced, sweep.score, sweep.column)


def _sweep(graph: ExonGraph, target, scoring: SplicedScoring) -> FreeSweep:
    """Sweep one strand of a case; `graph` has at least one exon."""
    dtype = np.dtype(np.int32)
    width, lanes = rows.padded(len(target) + 1, 1, dtype.itemsize), rows.lanes_of(dtype)
    check_cells(bounds(graph, 2 * width, scoring).magnitude)
    strip = rows.strip_of(target, 0, width, scoring, dtype)
    weights = np.array([scoring.gap, scoring.intron_penalty, CELL_FLOOR], dtype=dtype)
    ends = np.full((len(graph.tracks.ends), width), CELL_FLOOR, dtype)
    entries = np.empty((len(graph.tracks.starts), width), dtype)
    best = np.array([_NO_SCORE, 0, 0], dtype=np.int64)
    _sweep_stream(graph.arrays, _leave_bonus(graph.arrays), strip, ends, entries, weights, best)
    return FreeSweep(rows.by_column(ends, lanes), rows.by_column(entries, lanes), *map(int, best))


def traced_result(
    prepared: PreparedCase, graph: ExonGraph, traced: TracedChain, score: int, column: int, **more
) -> SplicedAlignment:
    """Return the result of a case whose chain ends at a column; an entry begins with its exon."""
    return result_of(
        prepared,
        strand="-" if graph.reverse else "+",
        score=score,
        n_exons=graph.n_exons,
        chain=tuple(graph.forward(exon) for exon in traced.intervals),
        target_start=traced.first_column,
        target_end=column,
        cigar=traced.cigar,
        exon_scores=tuple(float(graph.exon_scores[exon]) for exon, *_ in traced.entries),
        **more,
    )


@njit(cache=True, nogil=True)
def _leave_bonus(graph):
    """Return for each stream row the best bonus of an exon that continues to it."""
    tracks, found, best = graph.tracks, np.empty(len(graph.codes), dtype=np.int64), 0
    exon, track = len(graph.bonus) - 1, -1
    for row in range(len(found) - 1, -1, -1):
        if exon >= 0 and tracks.last_rows[exon] == row:
            # from the end on: a track's longest exon comes first
            same = tracks.exon_tracks[exon] == track
            best = max(best, graph.bonus[exon]) if same else graph.bonus[exon]
            track, exon = tracks.exon_tracks[exon], exon - 1
        found[row] = best
    return found


def _left_at(graph: ExonGraph, row: int) -> int:
    """Return the exon with the best bonus that continues to a row, the shortest of equals."""
    tracks = graph.tracks
    track = np.searchsorted(tracks.rows, row, side="right") - 1
    exons = np.flatnonzero((tracks.exon_tracks == track) & (tracks.last_rows >= row))
    return int(exons[graph.bonus[exons].argmax()])


def _traced(graph: ExonGraph, sweep: FreeSweep, target, scoring: SplicedScoring) -> TracedChain:
    """Recover the best chain and its alignment.

    An exon's `entry` is its candidate and whether it is entered at the candidate's start.
    """
    candidate, tracks = _left_at(graph, sweep.row), graph.tracks
    track = tracks.exon_tracks[candidate]
    position = int(tracks.starts[track] + sweep.row - tracks.rows[track] + 1)
    end = FreeEnd(position, sweep.score - scoring.gap * sweep.column, np.array([candidate]))
    return trace_back(_FreeTracer(graph, sweep, target, scoring), end, sweep.column, scoring)


class _FreeTracer:
    """The exons of a chain whose first and last one may be parts of candidates."""

    def __init__(self, graph: ExonGraph, sweep: FreeSweep, target, scoring: SplicedScoring):
        self.graph, self.sweep, self.target, self.scoring = graph, sweep, target, scoring
        self.pairs = pair_scores(target, scoring)
        columns = np.arange(sweep.column + 1)
        self.empty = empty_row(columns, scoring.gap, True).astype(np.int32)

    def exon_before(self, end: FreeEnd, column: int) -> TracedExon:
        """Return the exon: a whole candidate, or what follows the empty chain inside of one."""
        graph = self.graph
        tracks = graph.tracks.exon_tracks[end.candidates]
        candidate_lengths = end.position - graph.tracks.starts[tracks]
        values = end.value - graph.bonus[end.candidates]
        # every length up to that of each candidate; of equal lengths, the first candidate's first
        numbers = np.repeat(np.arange(len(tracks)), candidate_lengths)
        lengths = np.concatenate([np.arange(1, n + 1) for n in candidate_lengths])
        order = np.lexsort((numbers, lengths))
        numbers, lengths = numbers[order], lengths[order]
        stored = np.where(lengths == candidate_lengths[numbers], tracks[numbers], -1)
        first = graph.tracks.rows[tracks[-1]]
        k, column, operations = trace_exon(
            ExonRows(
                graph.codes[first : first + candidate_lengths[-1]], self.target[:column],
                *self.pairs, self.scoring.gap,
            ),
            Entries(lengths, stored, values[numbers], self.sweep.entries, self.empty),
        )  # fmt: skip
        entry = int(end.candidates[numbers[k]]), bool(stored[k] >= 0)
        start = int(end.position - lengths[k])
        return TracedExon(start, int(end.position), column, operations, entry)

    def end_before(self, exon: TracedExon) -> FreeEnd | None:
        """Return the nearest end before the exon's candidate that explains the entry's value."""
        graph, sweep, column, (candidate, whole) = self.graph, self.sweep, exon.column, exon.entry
        track = graph.tracks.exon_tracks[candidate]
        entry = sweep.entries[track, column]
        if not whole or entry == self.empty[column]:
            return None
        before = sweep.ends[: graph.tracks.commits[track], column].astype(np.int64)
        end = int(np.flatnonzero(before - self.scoring.intron_penalty == entry)[-1])
        candidates = np.flatnonzero(graph.tracks.exon_ends == end)[::-1]
        return FreeEnd(int(graph.tracks.ends[end]), int(sweep.ends[end, column]), candidates)
