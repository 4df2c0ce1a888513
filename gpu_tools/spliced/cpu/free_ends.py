"""Listed candidates with free ends: a chain enters its first exon and leaves its last anywhere.

The sweep goes through the stream of a `ExonGraph` row by row, as site mode goes through a base:
behind every row the empty chain may enter, and after every row the chain may end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.hardware.cpu import simd
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced.bounds import bounds
from gpu_tools.spliced.case import PreparedCase, result_of
from gpu_tools.spliced.exon_graph import ExonGraph
from gpu_tools.splicing.bounds import CELL_FLOOR, CELL_LIMIT
from gpu_tools.splicing.recurrence import empty_row
from gpu_tools.splicing.rows import advance, begin, column_of, final_score, put, raise_to, settle
from gpu_tools.splicing.strip import Strip, by_column, lanes_of, padded, strip_of
from gpu_tools.splicing.traceback import (  # fmt: skip
    ROWS_BETWEEN_CHECKPOINTS,
    ExonRows,
    align_exon,
    cigar_of,
    entered_at,
    pair_scores,
    previous_row,
    with_leading_gap,
)

_NO_SCORE = -(2**62)
_SCORE, _ROW, _COLUMN = range(3)


class FreeSweep(NamedTuple):
    """Rows at each end and track, by target column, and the best score with its stream row."""

    ends: NDArray[np.int32]
    entries: NDArray[np.int32]
    score: int
    row: int
    column: int


class Stream(NamedTuple):
    """What a sweep wants to know of a program; `leave_bonus` by row."""

    codes: NDArray[np.uint8]
    track_rows: NDArray[np.int64]
    track_commits: NDArray[np.int64]
    exit_rows: NDArray[np.int64]
    exit_ends: NDArray[np.int64]
    exit_bonus: NDArray[np.int64]
    leave_bonus: NDArray[np.int64]


class FreeTrace(NamedTuple):
    """A chain in transcript direction, each exon with its candidate, and its alignment."""

    chain: list[tuple[int, int]]
    candidates: list[int]
    first_column: int
    cigar: tuple[tuple[str, int], ...]


@njit(cache=True, nogil=True)
def _sweep_stream(stream, strip, ends, entries, weights, best):
    """Fill in the rows at ends and tracks, and the best score, its row and its column."""
    codes, track_rows, commits = stream.codes, stream.track_rows, stream.track_commits
    exit_rows, exit_ends, exit_bonus = stream.exit_rows, stream.exit_ends, stream.exit_bonus
    profile, start, drop, final = strip.profile, strip.start, strip.drop, strip.final
    leave_bonus, span, width = stream.leave_bonus, strip.final_span, len(strip.start)
    gap, penalty, floor = weights[0], weights[1], weights[2]
    row, maxima, kept_carry = start.copy(), start.copy(), np.full(64, floor)
    low = simd.splat(floor)
    lanes = 16
    committed, exon = 0, 0
    for track in range(len(commits)):
        for end in range(committed, commits[track]):
            raise_to(maxima, 0, ends, end, width, lanes, -penalty)
        committed = commits[track]
        put(entries, track, maxima, 0, width, lanes, 0)
        put(row, 0, maxima, 0, width, lanes, 0)
        for r in range(track_rows[track], track_rows[track + 1]):
            diagonal = simd.shift_in(simd.load(row, width - lanes), floor)
            last = advance(row, profile, np.int64(codes[r]), diagonal, low, low, gap, lanes)
            carry = simd.maximum(simd.prefix_maximum(simd.shift_in(last, floor)), low)
            settle(row, carry, lanes)
            score = final_score(row, drop, final, span, floor, low, lanes)
            if score + leave_bonus[r] > best[_SCORE]:
                best[_SCORE], best[_ROW] = score + leave_bonus[r], r
                best[_COLUMN] = column_of(row, drop, final, score, kept_carry, lanes)
            while exon < len(exit_rows) and exit_rows[exon] == r:
                raise_to(ends, exit_ends[exon], row, 0, width, lanes, exit_bonus[exon])
                exon += 1
            begin(row, low, start, 0, lanes)


class FreeEnds:
    """How cases with free ends are aligned: strand by strand, then the better one.

    Parameters
    ----------
    scoring : SplicedScoring
    """

    def __init__(self, scoring: SplicedScoring):
        self.scoring = scoring

    def check(self, program: ExonGraph, columns: int) -> None:
        """Raise `ScoringError` if a cell or a step could reach the limit."""
        magnitude = bounds(program, 2 * padded(columns, 1, 4), self.scoring).magnitude
        if magnitude >= CELL_LIMIT:
            raise ScoringError(f"scores up to {magnitude} could arise; expected less than 2^28")

    def sweep(self, prepared: PreparedCase, program: ExonGraph) -> FreeSweep:
        """Sweep one strand of a case on one thread; `program` has at least one exon."""
        target = prepared.case.target.codes
        self.check(program, len(target) + 1)
        dtype, scoring = np.dtype(np.int32), self.scoring
        width, lanes = padded(len(target) + 1, 1, dtype.itemsize), lanes_of(dtype)
        strip: Strip = strip_of(target, 0, width, scoring, dtype)
        weights = np.array([scoring.gap, scoring.intron_penalty, CELL_FLOOR], dtype=dtype)
        ends = np.full((len(program.ends), width), CELL_FLOOR, dtype)
        entries = np.empty((len(program.starts), width), dtype)
        best = np.array([_NO_SCORE, 0, 0], dtype=np.int64)
        _sweep_stream(stream_of(program), strip, ends, entries, weights, best)
        return FreeSweep(by_column(ends, lanes), by_column(entries, lanes), *map(int, best))

    def conclude(self, prepared: PreparedCase, sweeps: list[FreeSweep]) -> SplicedAlignment:
        """Return the result of a case from the sweeps of its programs."""
        if not sweeps:
            return result_of(prepared)
        # the first of equals: + before -
        pairs = zip(prepared.programs, sweeps, strict=True)
        program, sweep = max(pairs, key=lambda pair: pair[1].score)
        traced = free_trace(program, sweep, prepared.case.target.codes, self.scoring)
        mirrored = [(program.length - e, program.length - s) for s, e in traced.chain]
        return result_of(
            prepared,
            strand="-" if program.reverse else "+",
            score=sweep.score,
            n_exons=program.n_exons,
            chain=tuple(mirrored if program.reverse else traced.chain),
            target_start=traced.first_column,
            target_end=sweep.column,
            cigar=traced.cigar,
            exon_scores=tuple(float(program.exon_scores[k]) for k in traced.candidates),
        )


def stream_of(program: ExonGraph) -> Stream:
    """Return what a sweep wants to know of a program."""
    bonus = _leave_bonus(
        program.exit_rows, program.exit_tracks, program.track_rows, program.exit_bonus
    )
    return Stream(
        program.codes, program.track_rows, program.track_commits, program.exit_rows,
        program.exit_ends, program.exit_bonus, bonus,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _leave_bonus(exit_rows, exit_tracks, track_rows, exit_bonus):
    """Return for each stream row the best bonus of an exon that goes on to it."""
    bonus = np.empty(track_rows[-1], dtype=np.int64)
    row, best, track = len(bonus) - 1, 0, -1
    for k in range(len(exit_rows) - 1, -1, -1):
        # from the end on: a track's longest exon comes first
        best = exit_bonus[k] if exit_tracks[k] != track else max(best, exit_bonus[k])
        track = exit_tracks[k]
        first = track_rows[track]
        if k > 0 and exit_tracks[k - 1] == track:
            first = exit_rows[k - 1] + 1
        while row >= first:
            bonus[row] = best
            row -= 1
    return bonus


def _left_at(program: ExonGraph, row: int) -> int:
    """Return the exon with the best bonus that goes on to a stream row, the shortest of equals."""
    track = np.searchsorted(program.track_rows, row, side="right") - 1
    exons = np.flatnonzero((program.exit_tracks == track) & (program.exit_rows >= row))
    return int(exons[program.exit_bonus[exons].argmax()])


def free_trace(
    program: ExonGraph, sweep: FreeSweep, target: NDArray[np.uint8], scoring: SplicedScoring
) -> FreeTrace:
    """Recover the best chain and its alignment.

    Parameters
    ----------
    program : ExonGraph
    sweep : FreeSweep
    target : ndarray of uint8, shape (n,)
        Encoded target.
    scoring : SplicedScoring

    Returns
    -------
    FreeTrace
    """
    lifted, profile = pair_scores(target, scoring)
    empty = empty_row(np.arange(sweep.column + 1), scoring.gap, True).astype(np.int32)
    candidate = _left_at(program, sweep.row)
    track = program.exit_tracks[candidate]
    end = int(program.starts[track] + sweep.row - program.track_rows[track] + 1)
    candidates, column = np.array([candidate]), sweep.column
    value = sweep.score - scoring.gap * column
    chain, chosen, parts = [], [], []
    while True:
        tracks = program.exit_tracks[candidates]
        rows = ExonRows(
            _bases(program, tracks[-1], end), target[:column], lifted, profile, scoring.gap
        )
        found, left, column, whole, operations = _trace_exon(
            rows, empty[: column + 1], sweep.entries, tracks,
            end - program.starts[tracks], value - program.exit_bonus[candidates],
        )  # fmt: skip
        chain.append((end - left, end))
        chosen.append(int(candidates[found]))
        parts.append(operations)
        entry = int(sweep.entries[tracks[found], column])
        if not whole or entry == max(-scoring.gap * column, 0):
            break
        before = sweep.ends[: program.track_commits[tracks[found]], column].astype(np.int64)
        previous = int(np.flatnonzero(before - scoring.intron_penalty == entry)[-1])
        value, end = int(sweep.ends[previous, column]), int(program.ends[previous])
        candidates = np.flatnonzero(program.exit_ends == previous)[::-1]  # shortest first
    first = column if scoring.gap <= 0 else 0
    cigar = cigar_of(parts[::-1], chain[::-1])
    return FreeTrace(chain[::-1], chosen[::-1], first, with_leading_gap(cigar, column - first))


def _bases(program: ExonGraph, track: int, end: int) -> NDArray[np.uint8]:
    """Return a track's bases up to a position."""
    first = program.track_rows[track]
    return program.codes[first : first + end - program.starts[track]]


@njit(cache=True, nogil=True)
def _trace_exon(rows, empty, entries, tracks, lengths, values):
    """Find the exon that ends with its candidate's value, candidates shortest first.

    Returns the candidate, the exon's length, the column it is entered at, whether it is entered
    at its start, and its operations. The shortest exon is taken, at the smallest column.
    """
    columns, n_rows = len(rows.target) + 1, len(rows.base)
    every, gap = ROWS_BETWEEN_CHECKPOINTS, np.int32(rows.gap)
    checkpoints = np.zeros((n_rows // every + 1, columns), dtype=np.int32)
    gain, following = np.zeros(columns, dtype=np.int32), np.zeros(columns, dtype=np.int32)
    for left in range(1, n_rows + 1):
        if (left - 1) % every == 0:
            checkpoints[(left - 1) // every] = gain
        scores = rows.profile[rows.base[n_rows - left]]
        previous_row(scores, columns - 1, gap, gain, 0, following)
        gain[:] = following
        best, candidate, whole = columns, -1, False
        for k in range(len(tracks)):
            if left <= lengths[k]:
                full = left == lengths[k]
                entry = entries[tracks[k]] if full else empty
                column = entered_at(entry, gain, 0, values[k])
                if 0 <= column < best:
                    best, candidate, whole = column, k, full
        if candidate >= 0:
            return candidate, left, best, whole, align_exon(rows, checkpoints, left, best)
    raise ValueError("no exon explains the value at its end: the sweep is wrong")
