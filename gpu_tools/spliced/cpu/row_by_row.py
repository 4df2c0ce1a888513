"""List mode row by row on a CPU: free ends, and chains that translate."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import reverse_complement
from gpu_tools.spliced.case import Case, graphs_of, result_of
from gpu_tools.spliced.cpu.sweep import FreeEnds, SweptTarget, sweep
from gpu_tools.spliced.cpu.traceback import best_end
from gpu_tools.spliced.exon_graph import ExonGraph, bounds
from gpu_tools.splicing import rows
from gpu_tools.splicing.best_chains import (
    NO_PAIRS,
    BannedPairs,
    allow_pairs,
    ban_pairs,
    banned_of_row,
)
from gpu_tools.splicing.bounds import CELL_FLOOR, CELL_LIMIT, check_cells
from gpu_tools.splicing.codons import SPLITS, completes, split_bases, split_class
from gpu_tools.splicing.reading import FRAMES, stop_words, translation_of
from gpu_tools.splicing.recurrence import Sweep, empty_row
from gpu_tools.splicing.traceback import (
    Entries,
    ExonRows,
    TracedExon,
    pair_scores,
    trace_back,
    trace_exon,
)

LANES = rows.lanes_of(np.dtype(np.int32))


class BestChain(NamedTuple):
    """The best chain of a strand: its score, last target column and end, and what traces it."""

    score: int
    column: int
    end: Any
    tracer: _FreeTracer | _ReadingTracer


def align_row_by_row(case: Case, scoring: SplicedScoring, reading: str) -> SplicedAlignment:
    """Align a case with free ends, or one whose chain translates, on one thread."""
    best_of = _best_free
    if reading != "any":
        best_of = partial(_best_reading, complete=reading == "complete")
    found = [best_of(graph, case, scoring) for graph in graphs_of(case, scoring)]
    # the first of equals: + before -
    best = max(filter(None, found), key=lambda one: one.score, default=None)
    if best is None:
        return result_of(case, case.cells)
    graph, traced = best.tracer.graph, trace_back(best.tracer, best.end, best.column, scoring)
    more = {} if reading == "any" else translation_of(best.tracer.codes, traced.intervals)
    return result_of(
        case,
        case.cells,
        strand="-" if graph.reverse else "+",
        score=best.score,
        n_exons=graph.n_exons,
        chain=tuple(graph.forward(exon) for exon in traced.intervals),
        target_start=traced.first_column,
        target_end=best.column,
        cigar=traced.cigar,
        exon_scores=tuple(float(graph.exon_scores[exon]) for exon, *_ in traced.entries),
        **more,
    )


def _target_of(case: Case, graph: ExonGraph, scoring: SplicedScoring) -> SweptTarget:
    banned = case.banned.get("-" if graph.reverse else "+", NO_PAIRS)
    return SweptTarget(case.target.codes, scoring.lifted, banned)


def _inputs(target, scoring: SplicedScoring) -> tuple[rows.Strip, NDArray[np.int32], int]:
    """Return a target laid out for sweeps, their weights, and the elements of a row."""
    dtype = np.dtype(np.int32)
    width = rows.padded(len(target) + 1, 1, dtype.itemsize)
    weights = np.array([scoring.gap, scoring.intron_penalty, CELL_FLOOR], dtype=dtype)
    return rows.strip_of(target, 0, width, scoring, dtype), weights, width


# Listed candidates with free ends: a chain may begin and end anywhere in a candidate.
#
# The sweep passes through the rows of an `ExonGraph` one by one: behind every row a chain may
# begin, and after every row it may end.


_NO_SCORE = -(2**62)


class FreeEnd(NamedTuple):
    """Where an exon ends: the position, the value there, and its candidates, shortest first."""

    position: int
    value: int
    candidates: NDArray[np.int64]


def _best_free(graph: ExonGraph, case: Case, scoring: SplicedScoring) -> BestChain:
    """Sweep one strand of a case; `graph` has at least one exon."""
    target, tracks = _target_of(case, graph, scoring), graph.tracks
    strip, _, width = _inputs(target.symbols, scoring)
    check_cells(bounds(graph, 2 * width, scoring).magnitude)
    best = np.array([_NO_SCORE, 0, 0], dtype=np.int64)
    free_ends = FreeEnds(_leave_bonus(graph.arrays), *strip[1:], best)
    swept = sweep(graph, target.symbols, scoring, banned=target.banned, free_ends=free_ends)
    score, row, column = map(int, best)
    candidate = _left_at(graph, row)
    track = tracks.exon_tracks[candidate]
    position = int(tracks.starts[track] + row - tracks.rows[track] + 1)
    end = FreeEnd(position, score - scoring.gap * column, np.array([candidate]))
    by_column = Sweep(*(rows.by_column(each[0], LANES) for each in swept))
    tracer = _FreeTracer(graph, by_column, target.symbols, scoring, column, target.banned)
    return BestChain(score, column, end, tracer)


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


class _FreeTracer:
    """The exons of a chain whose first and last one may be parts of candidates.

    An exon's `entry` is its candidate and whether it is entered at the candidate's start.
    """

    def __init__(
        self, graph: ExonGraph, sweep: Sweep, target, scoring: SplicedScoring, last: int,
        banned: BannedPairs,
    ):  # fmt: skip
        self.graph, self.sweep, self.target, self.scoring = graph, sweep, target, scoring
        self.banned = banned
        self.pairs = pair_scores(target, scoring)
        columns = np.arange(last + 1)
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
        first, start = graph.tracks.rows[tracks[-1]], graph.tracks.starts[tracks[-1]]
        k, column, operations = trace_exon(
            ExonRows(
                graph.codes[first : first + candidate_lengths[-1]], self.target[:column],
                *self.pairs, self.scoring.gap, self.banned.part(start, end.position),
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


# Chains of listed candidates that translate, on a CPU.
#
# A candidate is read with up to four *overhangs*: as a chain's first exon, or behind an intron that
# splits a codon after 0, 1 or 2 nucleotides. A track with an overhang is a *framed track*. Framed
# tracks are swept one after another, each from its entry row on and up to the first stop codon
# in its frame. The row behind an exon is stored by the exon's end and by what is left of a codon
# there; `gpu_tools.sites.cpu.coding` describes how stop codons across introns are excluded.


FIRST = FRAMES
"""The overhang of a chain's first exon; others are nucleotides of a split codon before an exon."""
OVERHANGS = FRAMES + 1
LAST = SPLITS
"""The kind of exit of a chain's last exon; the others are classes of split codons."""
_A, _G, _T = 0, 2, 3


class FramedTracks(NamedTuple):
    """The W framed tracks of an exon graph, their L exons by length, and X exits of these."""

    tracks: NDArray[np.int64]  # (W,)
    overhangs: NDArray[np.int64]  # (W,)
    rows: NDArray[np.int64]  # (W,) how many rows of the track are read
    first_exons: NDArray[np.int64]  # (W + 1,) where each one's exons begin in the next two; last, L
    exons: NDArray[np.int64]  # (L,) exon of the graph
    exits: NDArray[np.int64]  # (L,) the exit that it reaches
    exit_ends: NDArray[np.int64]  # (X,) boundary, rising
    exit_kinds: NDArray[np.int64]  # (X,) class of the split codon there, or `LAST`


class ReadingSweep(NamedTuple):
    """Rows at each exit and each framed track's entry, by target column."""

    framed: FramedTracks
    exits: NDArray[np.int32]
    entries: NDArray[np.int32]


def framed_tracks(graph: ExonGraph, codes: NDArray[np.uint8], complete: bool) -> FramedTracks:
    """Find the framed tracks that can be part of a chain that translates."""
    ends = graph.tracks.ends[graph.tracks.exon_ends]
    found, first_exons, (exons, at, kinds) = _find_exits(
        codes, stop_words(), graph.tracks.starts, ends, graph.tracks.exon_tracks, complete
    )
    order = np.lexsort((kinds, at))
    keys = np.stack((at, kinds))[:, order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    exits = np.empty(len(order), dtype=np.int64)
    exits[order] = np.cumsum(new) - 1
    return FramedTracks(*found, first_exons, exons, exits, *keys[:, new])


@njit(cache=True)
def _find_exits(codes, stops, starts, ends, tracks, complete):
    """Return framed tracks, where their exons begin, and exon, end and kind of the exons' exits."""
    found, n_framed = np.empty((3, OVERHANGS * len(starts)), dtype=np.int64), 0
    first_exons = np.zeros(OVERHANGS * len(starts) + 1, dtype=np.int64)
    exits, n = np.empty((3, 2 * OVERHANGS * len(ends)), dtype=np.int64), 0
    first_exon = 0
    for track in range(len(starts)):
        start, past_exon = starts[track], first_exon
        while past_exon < len(ends) and tracks[past_exon] == track:
            past_exon += 1
        for overhang in range(OVERHANGS):
            if overhang == FIRST and not _may_begin(codes, stops, start, complete):
                continue
            left = (FRAMES - overhang) % FRAMES
            stop = _first_stop(codes, stops, start + left, ends[past_exon - 1])
            before = n
            for exon in range(first_exon, past_exon):
                length = ends[exon] - start
                if ends[exon] > stop or length < (FRAMES if overhang == FIRST else left):
                    continue
                bases = (length - left) % FRAMES
                least = left + FRAMES * (2 if overhang == FIRST else 1)
                if bases == 0 and length >= least and (ends[exon] == stop or not complete):
                    exits[0, n], exits[1, n], exits[2, n] = exon, ends[exon], LAST
                    n += 1
                if ends[exon] < stop:
                    kind = split_class(codes, ends[exon], bases)
                    exits[0, n], exits[1, n], exits[2, n] = exon, ends[exon], kind
                    n += 1
            if n > before:
                found[0, n_framed], found[1, n_framed] = track, overhang
                found[2, n_framed] = exits[1, n - 1] - start
                n_framed += 1
                first_exons[n_framed] = n
        first_exon = past_exon
    return found[:, :n_framed], first_exons[: n_framed + 1], exits[:, :n]


@njit
def _may_begin(codes, stops, start, complete):
    if start + FRAMES > len(codes):
        return False
    first, second, third = codes[start], codes[start + 1], codes[start + 2]
    if complete:
        return first == _A and second == _T and third == _G
    return not stops[first, second, third]


@njit
def _first_stop(codes, stops, first_codon, end):
    """Return where the first stop codon from a codon on ends, or beyond `end`."""
    for boundary in range(first_codon + FRAMES, end + 1, FRAMES):
        if stops[codes[boundary - 3], codes[boundary - 2], codes[boundary - 1]]:
            return boundary
    return end + 1


@njit(nogil=True)
def _commit(maxima, exits, exit_ends, exit_kinds, committed, start, penalty):
    """Let the exits up to a start precede its entries; return how many there are."""
    width = maxima.shape[1]
    while committed < len(exit_ends) and exit_ends[committed] <= start:
        if exit_kinds[committed] != LAST:
            rows.raise_to(maxima, exit_kinds[committed], exits, committed, width, 16, -penalty)
        committed += 1
    return committed


@njit(cache=True, nogil=True)
def _sweep_framed(graph, framed, strip, exits, entries, codes, stops, weights, target):
    """Fill in the rows at exits and entries."""
    symbols, bonus, (starts, track_rows) = graph.codes, graph.bonus, graph.tracks[:2]
    all_tracks, overhangs, n_rows, first_exons, exons, exon_exits, ends, kinds = framed
    empty = strip.start
    profile = strip.profile.reshape((len(strip.profile) // len(empty), len(empty)))
    gap, penalty, floor = weights[0], weights[1], weights[2]
    width, lanes = len(empty), 16
    maxima, row = np.full((SPLITS, width), floor), np.full(width, floor)
    committed = 0
    for k in range(len(all_tracks)):
        track = all_tracks[k]
        committed = _commit(maxima, exits, ends, kinds, committed, starts[track], penalty)
        entries[k] = floor
        if overhangs[k] == FIRST:
            rows.put(entries, k, empty, 0, width, lanes, 0)
        for split in range(SPLITS):
            if split_bases(split) == overhangs[k] and completes(codes, stops, split, starts[track]):
                rows.raise_to(entries, k, maxima, split, width, lanes, 0)
        rows.put(row, 0, entries, k, width, lanes, 0)
        n = first_exons[k]
        for done in range(n_rows[k]):
            symbol = np.int64(symbols[track_rows[track] + done])
            own = banned_of_row(target.banned, starts[track] + done)
            ban_pairs(profile, symbol, 0, target.banned, own, gap)
            rows.next_row(row, profile, symbol, gap, floor, lanes)
            allow_pairs(profile, symbol, 0, target, own)
            while n < first_exons[k + 1] and ends[exon_exits[n]] == starts[track] + done + 1:
                rows.raise_to(exits, exon_exits[n], row, 0, width, lanes, bonus[exons[n]])
                n += 1


def _best_reading(
    graph: ExonGraph, case: Case, scoring: SplicedScoring, complete: bool
) -> BestChain | None:
    """Sweep one strand of a case; None without a chain. `complete` as in `framed_tracks`."""
    target, forward = case.target.codes, case.base.codes
    codes = reverse_complement(forward) if graph.reverse else forward
    strip, weights, width = _inputs(target, scoring)
    check_cells(_magnitude(graph, 2 * width, scoring))
    framed = framed_tracks(graph, codes, complete)
    exits = np.full((len(framed.exit_ends), width), CELL_FLOOR, np.int32)
    entries = np.empty((len(framed.tracks), width), np.int32)
    own, of_target = (framed, strip, exits, entries), _target_of(case, graph, scoring)
    _sweep_framed(graph.arrays, *own, codes, stop_words(), weights, of_target)
    last = np.flatnonzero(framed.exit_kinds == LAST)
    best = best_end(exits[None, last], len(target), scoring)
    sweep = ReadingSweep(framed, rows.by_column(exits, LANES), rows.by_column(entries, LANES))
    if best.score <= -CELL_LIMIT:
        return None
    tracer = _ReadingTracer(graph, sweep, codes, target, scoring, of_target.banned)
    return BestChain(best.score, best.column, int(last[best.end]), tracer)


def _magnitude(graph: ExonGraph, columns: int, scoring: SplicedScoring) -> int:
    """Return a bound on the magnitude of any cell and any step."""
    lifted = int(np.abs(scoring.substitution() - scoring.gap).max())
    bonus = int(np.abs(graph.bonus).max(initial=0))
    chain = (len(graph.tracks.starts) + 1) * (bonus + abs(scoring.intron_penalty))
    return columns * (lifted + abs(scoring.gap)) + graph.length * abs(scoring.gap) + chain


class _ReadingTracer:
    """The exons of a chain that translates; an end is the number of an exit.

    An exon's `entry` is its number in the graph and that of its framed track.
    """

    def __init__(self, graph: ExonGraph, sweep: ReadingSweep, codes, target, scoring, banned):
        self.graph, self.sweep, self.codes, self.target = graph, sweep, codes, target
        self.scoring, self.pairs, self.banned = scoring, pair_scores(target, scoring), banned
        counts = np.diff(sweep.framed.first_exons)
        self.framed_of_exon = np.repeat(np.arange(len(counts)), counts)
        self.unused = np.empty(0, dtype=np.int32)

    def exon_before(self, end: int, column: int) -> TracedExon:
        """Return the shortest exon; of equals the one of a chain's first framed track."""
        graph, framed = self.graph, self.sweep.framed
        reaching = np.flatnonzero(framed.exits == end)
        numbers, exons = self.framed_of_exon[reaching], framed.exons[reaching]
        starts = graph.tracks.starts[graph.tracks.exon_tracks[exons]]
        order = np.lexsort((framed.overhangs[numbers] != FIRST, -starts))
        numbers, exons, starts = numbers[order], exons[order], starts[order]
        boundary = int(framed.exit_ends[end])
        row = graph.tracks.rows[graph.tracks.exon_tracks[exons[-1]]]
        wanted = self.sweep.exits[end, column] - graph.bonus[exons]
        k, column, operations = trace_exon(
            ExonRows(
                graph.codes[row : row + boundary - starts[-1]], self.target[:column],
                *self.pairs, self.scoring.gap, self.banned.part(starts[-1], boundary),
            ),
            Entries(boundary - starts, numbers, wanted, self.sweep.entries, self.unused),
        )  # fmt: skip
        entry = int(exons[k]), int(numbers[k])
        return TracedExon(int(starts[k]), boundary, column, operations, entry)

    def end_before(self, exon: TracedExon) -> int | None:
        """Return the nearest exit that explains a framed track's entry, None for a first exon."""
        framed, (_, number) = self.sweep.framed, exon.entry
        overhang = int(framed.overhangs[number])
        if overhang == FIRST:
            return None
        before = np.searchsorted(framed.exit_ends, exon.start, side="right")
        wanted = int(self.sweep.entries[number, exon.column]) + self.scoring.intron_penalty
        for donor in np.flatnonzero(self.sweep.exits[:before, exon.column] == wanted)[::-1]:
            kind = int(framed.exit_kinds[donor])
            if kind == LAST or split_bases(kind) != overhang:
                continue
            if completes(self.codes, stop_words(), kind, exon.start):
                return int(donor)
        raise ValueError("no exit explains the value of an entry: the sweep is wrong")
