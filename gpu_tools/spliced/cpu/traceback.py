"""From the rows that a sweep leaves behind to the best chain and its alignment.

Only the exons that end where the chain's exons end are computed again, backwards, from the cell
where the chain leaves them. With W(r, c) the most that S' can still gain on the way from column c
with r base symbols left, an exon of length r continues a chain at column c exactly if
entry(c) + W(r, c) + bonus is the value at its end. As r symbols gain at most r times the best
lifted score and entries never fall from left to right, the columns where that can hold begin late:
only those are computed.

Ties, which make the answer the same on every device: the end that comes first, then the smallest
target column, is where the chain ends; walking back, the shortest exon with that end is taken,
entered at its smallest target column; the chain starts there if it can, else the nearest end
before it precedes it; within an exon an aligned pair goes before a ``D``, and a ``D`` before an
``I``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced.exon_graph import ExonGraph
from gpu_tools.splicing import recurrence as core
from gpu_tools.splicing.traceback import (
    INSERTION,
    INTRON,
    LETTERS,
    ROWS_BETWEEN_CHECKPOINTS,
    ExonRows,
    align_exon,
    entered_at,
    pair_scores,
    previous_row,
)

_TO_LETTERS = LETTERS.encode("ascii").ljust(256)


class BestEnd(NamedTuple):
    """Where the best chain ends: its score, the index of the end, and the target column."""

    score: int
    end: int
    column: int


def best_end(ends: NDArray, target_length: int, scoring: SplicedScoring) -> BestEnd:
    """Return where the best chain ends; `ends` are a sweep's, shape (D, > target_length)."""
    return BestEnd(*_best_end(ends, target_length, scoring.gap, scoring.ends != "global"))


@njit(cache=True, nogil=True)
def _best_end(ends, target_length, gap, free):
    return find_best_end(ends, target_length, gap, free)


@njit(cache=True, nogil=True)
def find_best_end(ends, target_length, gap, free):
    """Return score, end and column, see `best_end`."""
    best, at_end, at_column = np.int64(np.iinfo(np.int64).min), 0, 0
    for end in range(len(ends)):
        for column in range(0 if free else target_length, target_length + 1):
            score = np.int64(ends[end, column]) + gap * column
            if score > best:
                best, at_end, at_column = score, end, column
    return best, at_end, at_column


class Chain(NamedTuple):
    """A chain and its alignment.

    `exons` are indices of the program's exons in transcript order, `columns` the aligned part of
    the target, `cigar` as in `gpu_tools.model.results.SplicedAlignment`.
    """

    exons: list[int]
    columns: tuple[int, int]
    cigar: tuple[tuple[str, int], ...]


class Swept:
    """A sweep whose rows are in host memory.

    Parameters
    ----------
    program : ExonGraph
    sweep : Sweep
        What it left behind.
    target : ndarray of uint8, shape (n,)
        Encoded target.
    scoring : SplicedScoring
    """

    def __init__(self, program: ExonGraph, sweep: core.Sweep, target, scoring: SplicedScoring):
        self.program, self.sweep, self.target, self.scoring = program, sweep, target, scoring
        self.best = best_end(sweep.ends, len(target), scoring)

    @property
    def score(self) -> int:
        """Score of the best chain."""
        return self.best.score

    def chain(self) -> Chain:
        """Recover the best chain and its alignment."""
        program, scoring, best = self.program, self.scoring, self.best
        graph = Graph(
            program.codes, program.starts, program.track_rows, program.track_commits, program.ends,
            program.exit_rows, program.exit_tracks, program.exit_bonus, program.by_end,
            program.first_by_end,
        )  # fmt: skip
        costs = scoring.gap, scoring.intron_penalty, scoring.ends != "global"
        exons, start, letters, lengths = _trace_chain(
            graph, self.sweep, self.target, pair_scores(self.target, scoring), costs,
            best.end, best.column,
        )  # fmt: skip
        return Chain(exons.tolist(), (start, best.column), runs_of(letters, lengths))


def runs_of(letters, lengths) -> tuple[tuple[str, int], ...]:
    """Return operations as numbered here, and their lengths, as runs with letters."""
    text = letters.tobytes().translate(_TO_LETTERS).decode("ascii")
    return tuple(zip(text, lengths.tolist(), strict=True))


class Graph(NamedTuple):
    """The arrays of a program that a chain is found with, see `ExonGraph`; exons by end."""

    codes: NDArray[np.uint8]
    starts: NDArray[np.int64]
    track_rows: NDArray[np.int64]
    track_commits: NDArray[np.int64]
    ends: NDArray[np.int64]
    exit_rows: NDArray[np.int64]
    exit_tracks: NDArray[np.int64]
    exit_bonus: NDArray[np.int64]
    by_end: NDArray[np.int64]
    first_by_end: NDArray[np.int64]


@njit(cache=True, nogil=True)
def _trace_chain(graph, sweep, target, pairs, costs, end, column):
    # what Python calls must not be called from a compiled function
    return trace_chain(graph, sweep, target, pairs, costs, end, column)


@njit(cache=True, nogil=True)
def trace_chain(graph, sweep, target, pairs, costs, end, column):
    """Walk the best chain backwards.

    `pairs` are from `pair_scores`; `costs` are gap score, intron penalty and whether ends are free.
    Returns the exons in transcript order, the target symbols before the alignment, and the runs of
    the operations.
    """
    (lifted, profile), (gap, penalty, free) = pairs, costs
    ends, entries, entry_of_track = sweep.ends, sweep.entries, sweep.entry_of_track
    exons, parts, introns = [end for _ in range(0)], [graph.codes[:0] for _ in range(0)], [0][:0]
    while True:
        candidates = graph.by_end[graph.first_by_end[end] : graph.first_by_end[end + 1]][::-1]
        tracks = graph.exit_tracks[candidates]
        longest = candidates[-1]
        base = graph.codes[graph.track_rows[tracks[-1]] : graph.exit_rows[longest] + 1]
        found, column, operations = _trace_exon(
            ExonRows(base, target[:column], lifted, profile, gap), entry_of_track[tracks],
            graph.exit_bonus[candidates], graph.ends[end] - graph.starts[tracks],
            entries, np.int64(ends[end, column]),
        )  # fmt: skip
        exons.append(candidates[found])
        parts.append(operations)
        before = _end_before(graph, ends, entries[entry_of_track[tracks[found]]], tracks[found],
                             column, penalty, _empty_chain(column, gap, free))  # fmt: skip
        if before < 0:
            break
        introns.append(graph.starts[tracks[found]] - graph.ends[before])
        end = before
    # free ends leave the symbols before the first exon out, unless gaps are worth taking
    start = column if free and gap <= 0 else 0
    letters, lengths = _runs_of(parts, introns, column - start)
    return np.array(exons)[::-1], start, letters, lengths


_empty_chain = njit(cache=True)(core.empty_chain)


@njit(cache=True, nogil=True)
def _end_before(graph, ends, entry, track, column, penalty, empty):
    """Return the index of the end that a track is entered from at a column, -1 if from none."""
    if entry[column] == empty:
        return -1
    end = graph.track_commits[track] - 1
    while end >= 0 and ends[end, column] - penalty != entry[column]:
        end -= 1
    if end < 0:
        raise ValueError("no end explains the value at a track's start: the sweep is wrong")
    return end


@njit(cache=True, nogil=True)
def _runs_of(parts, introns, unpaired):
    """Return the runs of the exons' operations, last exon first, with the introns in between.

    As many symbols of the target as are `unpaired` come before the first exon.
    """
    most = len(introns) + 1
    for operations in parts:
        most += len(operations)
    letters, lengths = np.empty(most, dtype=np.uint8), np.empty(most, dtype=np.int64)
    letters[0], lengths[0] = INSERTION, unpaired
    n = 1 if unpaired else 0
    for k in range(len(parts) - 1, -1, -1):
        for operation in parts[k]:
            if n > 0 and letters[n - 1] == operation:
                lengths[n - 1] += 1
            else:
                letters[n], lengths[n] = operation, 1
                n += 1
        if k > 0 and introns[k - 1] > 0:
            letters[n], lengths[n] = INTRON, introns[k - 1]
            n += 1
    return letters[:n], lengths[:n]


@njit(cache=True)
def _first_column(rows, tracks, bonuses, lengths, entries, value):
    """Return the first column at which any candidate could have been entered."""
    best = max(rows.lifted.max(), 0)
    longest_gain = max(rows.gap, 0)
    first = len(rows.target)
    for candidate in range(len(tracks)):
        most = lengths[candidate] * (best + longest_gain)
        missing = value - bonuses[candidate] - most
        entry = entries[tracks[candidate]]
        low, high = 0, first
        while low < high:
            middle = (low + high) // 2
            if entry[middle] < missing:
                low = middle + 1
            else:
                high = middle
        first = low
    return first


@njit(cache=True, nogil=True)
def _trace_exon(rows, tracks, bonuses, lengths, entries, value):
    """Find the exon that ends with `value` and align it.

    Candidates come shortest first. Returns the candidate, the column it is entered at, and
    its operations.
    """
    columns = len(rows.target) + 1
    n_rows = len(rows.base)
    every = ROWS_BETWEEN_CHECKPOINTS
    first = _first_column(rows, tracks, bonuses, lengths, entries, value)
    checkpoints = np.zeros((n_rows // every + 1, columns), dtype=np.int32)
    gain, next_gain = np.zeros(columns, dtype=np.int32), np.zeros(columns, dtype=np.int32)
    left = 0
    for candidate in range(len(tracks)):
        while left < lengths[candidate]:
            if left % every == 0:
                for column in range(first, columns):
                    checkpoints[left // every, column] = gain[column]
            scores = rows.profile[rows.base[n_rows - 1 - left]]
            previous_row(scores, columns - 1, np.int32(rows.gap), gain, first, next_gain)
            gain, next_gain = next_gain, gain
            left += 1
        missing = value - bonuses[candidate]
        entered = entered_at(entries[tracks[candidate]], gain, first, missing)
        if entered >= 0:
            return candidate, entered, align_exon(rows, checkpoints, left, entered)
    raise ValueError("no exon explains the value at its end: the sweep is wrong")
