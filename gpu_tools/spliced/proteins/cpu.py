"""List mode for proteins on a CPU: tracks of candidates, their sweep, and the traceback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.scoring import LIMIT_INT32, ProteinScoring
from gpu_tools.model.sequences import encode_protein
from gpu_tools.model.translation import amino_acids
from gpu_tools.spliced.exon_graph import largest_bonus
from gpu_tools.splicing.best_chains import NO_PAIRS, BannedPairs
from gpu_tools.splicing.bounds import Bounds, fit_int16
from gpu_tools.splicing.proteins.bans import close_exits, exchange
from gpu_tools.splicing.proteins.rows import (
    ONE,
    PHASES,
    RECENT,
    SPLITS,
    TWO,
    ProteinColumns,
    ProteinLimits,
    begun,
    beside_residues,
    carried,
    lay_out,
    leave_residues_out,
    lifted_pairs,
    most_of_residues,
    next_codon_row,
    raise_paired,
    settle_row,
)
from gpu_tools.splicing.proteins.walk import (
    BEGIN,
    INTRON_RUN,
    Cell,
    TracedProtein,
    add_moves,
    add_run,
    traced_of,
    walk,
    with_room,
)
from gpu_tools.splicing.rows import aligned_full, by_column, by_lane, clear, padded, put, raise_to

# The candidates of a strand, laid out for the sweep of a protein, and bounds on its cells.
#
# Candidates of one start and one phase share their rows: a *track*, as long as the longest of them.


_CODON = 3
_STOP = encode_protein(b"*")[0]


class ProteinTracks(NamedTuple):
    """T tracks of a strand in reading direction, by start and phase, with B candidates, by end."""

    starts: NDArray[np.int64]  # (T,)
    lasts: NDArray[np.int64]  # (T,) where the longest candidate ends
    phases: NDArray[np.int64]  # (T,)
    before: NDArray[np.int64]  # (T,) how many of `ends` lie before, a nucleotide between
    first_exons: NDArray[np.int64]  # (T + 1,) where each track's candidates begin; last, B
    exon_ends: NDArray[np.int64]  # (B,) index into `ends`
    bonuses: NDArray[np.int64]  # (B,) score added once if the candidate is part of a chain
    ends: NDArray[np.int64]  # (D,) distinct ends, rising
    stops: NDArray[np.bool_]  # (D,) whether a stop codon lies before the end


class Candidates(NamedTuple):
    """The candidates of a strand."""

    codes: NDArray[np.uint8]  # the strand's nucleotides
    tracks: ProteinTracks
    scores: NDArray[np.float64]
    count: int  # of distinct intervals


def candidates_of(
    codes: NDArray[np.uint8], exons: ExonSet, scoring: ProteinScoring, reverse: bool
) -> Candidates:
    """Lay the candidates of a strand out.

    Of equal intervals with one phase the one of the best score stays. An interval that is listed
    with several phases is a candidate for each of them, and one for all if it is listed without.
    """
    size = len(codes)
    left, right = (
        (size - exons.ends, size - exons.starts) if reverse else (exons.starts, exons.ends)
    )
    order = np.lexsort((-exons.scores, right, exons.phases, left))
    order = order[_changes(left[order], exons.phases[order], right[order])]
    left, right, scores = left[order], right[order], exons.scores[order]
    phases, count = exons.phases[order].astype(np.int64), len(exons.unique())
    firsts = np.flatnonzero(_changes(left, phases))
    ends, exon_ends = np.unique(right, return_inverse=True)
    words = (codes[np.maximum(ends - back, 0)] for back in (3, 2, 1))
    stops = (ends > _CODON) & (amino_acids(scoring.genetic_code)[tuple(words)] == _STOP)
    tracks = ProteinTracks(
        left[firsts], np.maximum.reduceat(right, firsts), phases[firsts],
        np.searchsorted(ends, left[firsts]), np.append(firsts, len(left)), exon_ends,
        scoring.exon_bonus(scores), ends, stops,
    )  # fmt: skip
    return Candidates(codes, tracks, scores, count)


def _changes(*columns) -> NDArray[np.bool_]:
    """Return which elements differ from those before them in some column."""
    found = np.ones(len(columns[0]), dtype=bool)
    found[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return found


def may_begin(tracks: ProteinTracks) -> NDArray[np.bool_]:
    """Return in which tracks a chain may begin: those in front of which no codon is split."""
    return tracks.phases <= 0


def protein_limits(
    tracks: ProteinTracks, target: NDArray[np.uint8], scoring: ProteinScoring
) -> ProteinLimits:
    """Work out the limits of a sweep.

    A chain may be any candidate in which it may begin, all codons and all residues left out. The
    value for `no chain` is so low that what is computed from it alone scores less than that: H'
    rises by residues, by bonuses and negative intron penalties, and in the first column, in front
    of which stands `no chain`, by one frameshift. Padding behind the last residue reaches no chain.

    No row has less than `no chain` and a gap opened; a codon left out opens one more, and a banned
    pair two.
    """
    pairs = lifted_pairs(target, scoring)
    exons = np.repeat(np.arange(len(tracks.starts)), np.diff(tracks.first_exons))
    most = int(most_of_residues(pairs, scoring).sum()) + largest_bonus(
        tracks.before, exons, tracks.exon_ends, tracks.bonuses, len(tracks.ends),
        scoring.intron_penalty,
    )  # fmt: skip
    none = _least_score(tracks, exons, scoring) - most - beside_residues(1, scoring) - 1
    once = 3 * scoring.gap_open + max(scoring.gap_extend, scoring.stop) + scoring.frameshift
    step = int(np.abs(tracks.bonuses).max()) + abs(scoring.intron_penalty)
    step += int(np.abs(pairs).max(initial=0))
    columns = int(padded(len(target) + 1, 1, 2))
    highest = most + scoring.gap_extend * len(target)
    highest += beside_residues(columns - len(target), scoring)
    bounds = Bounds(none - once - step, highest + step)
    narrow = fit_int16(np.array([bounds.magnitude]))[0]
    return ProteinLimits(np.dtype(np.int16 if narrow else np.int32), none, bounds)


def _least_score(tracks: ProteinTracks, exons: NDArray, scoring: ProteinScoring) -> int:
    """Return the largest H' of a chain of one candidate whose codons are all left out, or less."""
    lengths = tracks.ends[tracks.exon_ends] - tracks.starts[exons]
    costs = lengths // 3 * max(scoring.gap_extend, scoring.stop)
    whole = (tracks.bonuses - costs)[may_begin(tracks)[exons]].max()
    return int(whole) - 2 * scoring.gap_open - scoring.frameshift


# The sweep of a protein over the tracks of a strand: rows of H from boundary to boundary.
#
# Rows and the carry are those of `gpu_tools.splicing.proteins.rows`. A track begins with its entry
# rows: of chains that begin there or follow an intron between two codons, and of chains whose last
# codon is split and complete behind one nucleotide of the track, or two. `before` are the maxima
# over the exits that may precede an entry, `SPLITS` rows. An end has `EXITS` rows: one for each
# phase of an intron behind it, by its number of nucleotides of a split codon, and that of chains
# which end in front of the stop codon there.


EXITS = PHASES + 1
BEFORE_STOP = PHASES
"""The row of an end at which a chain ends in front of a stop codon."""


@njit(cache=True, nogil=True)
def sweep_tracks(codes, tracks, part, columns, codons, penalty, exits, entries, work, record):
    """Sweep tracks of a strand behind those before them, or one again to record its rows."""
    before, rows, gaps = work[:SPLITS], work[SPLITS : SPLITS + RECENT], work[SPLITS + RECENT :]
    first, past = part
    again, taken = len(record[0]) > 0, tracks.before[first - 1] if first else 0
    for track in range(first, past):
        while not again and taken < tracks.before[track]:
            _take(before, exits, taken, tracks.ends[taken], codes, codons, columns, -penalty)
            taken += 1
        if not again:
            _enter(entries, track, before, codes, codons, tracks, columns)
        _sweep_track(codes, tracks, track, columns, codons, entries, rows, gaps, exits, record)


@njit(nogil=True)
def _take(before, exits, end, boundary, codes, codons, columns, bonus):
    """Raise the maxima before entries to the exits of an end, without those to banned pairs."""
    width, lanes, first = exits.shape[1], columns.lanes, end * EXITS
    close_exits(columns.bans, boundary, exits, first, columns.none, lanes)
    raise_to(before, 0, exits, first, width, lanes, bonus)
    row = ONE + np.int64(codes[boundary - 1])
    raise_to(before, row, exits, first + 1, width, lanes, bonus)
    if boundary < 2:
        return
    one, two = codes[boundary - 2], codes[boundary - 1]
    for last in range(columns.symbols):
        raise_paired(
            before, TWO + last, exits, first + 2, columns.profile,
            np.int64(codons[one, two, last]) * width, bonus, columns.none, lanes, width,
        )  # fmt: skip


@njit(nogil=True)
def _enter(entries, track, before, codes, codons, tracks, columns):
    """Fill in the entry rows of a track that its phase admits."""
    width, lanes, row = entries.shape[1], columns.lanes, track * PHASES
    start, phase, left = tracks.starts[track], tracks.phases[track], tracks.lasts[track]
    left -= start
    if phase <= 0:
        for k in range(0, width, lanes):
            simd.store(entries, row * width + k, simd.load(columns.start, k))
        raise_to(entries, row, before, 0, width, lanes, 0)
    if phase in (-1, 1):
        source = TWO + np.int64(codes[start])
        raise_to(entries, row + 1, before, source, width, lanes, 0)
    if phase in (-1, 2) and left >= 2:
        for one in range(columns.symbols):
            pairs = np.int64(codons[one, codes[start], codes[start + 1]]) * width
            raise_paired(
                entries, row + 2, before, ONE + one, columns.profile, pairs, 0, columns.none,
                lanes, width,
            )  # fmt: skip


@njit(nogil=True)
def _sweep_track(codes, tracks, track, columns, codons, entries, rows, gaps, exits, record):
    """Compute the rows of a track; raise its ends' exits, or record the rows."""
    profile, none, lanes = columns.profile, columns.none, columns.lanes
    gap_open, shift, shift_on = columns.weights[0], columns.weights[1], columns.weights[2]
    start, last, width = tracks.starts[track], tracks.lasts[track], rows.shape[1]
    whole, gap_rows = record
    recorded = len(whole) > 0
    _begin(rows, gaps, start, entries, track, gap_open, none, lanes)
    nothing = simd.splat(none)
    exon, carry, bans = tracks.first_exons[track], nothing, columns.bans
    ban = first_from(bans.pairs.rows, start)
    if recorded:
        put(whole, PHASES, rows, start % RECENT, width, lanes, 0)
    for i in range(start + 1, last + 1):
        now, pairs, cost = i % RECENT * width, 0, columns.costs[0]
        if i - start >= PHASES:
            codon = np.int64(codons[codes[i - 3], codes[i - 2], codes[i - 1]])
            pairs, cost = codon * width, columns.costs[codon]
        past = exchange(bans, ban, i - PHASES, profile, pairs, width, lanes)
        left = next_codon_row(
            False, rows, now, (i - 1) % RECENT * width, (i - 2) % RECENT * width,
            (i - 3) % RECENT * width, gaps, i % PHASES * width, carry, nothing, profile, pairs,
            columns.start, none, gap_open, cost, shift, shift_on, none, lanes,
        )  # fmt: skip
        exchange(bans, ban, i - PHASES, profile, pairs, width, lanes)
        ban = past
        carry = carried(left, gap_open, none)
        boundary = tracks.ends[tracks.exon_ends[exon]]
        if not (recorded or i - start < PHASES or i == boundary):
            continue
        settle_row(rows, now, carry, lanes, width)
        carry = nothing
        if i - start < PHASES:
            raise_to(rows, i % RECENT, entries, track * PHASES + i - start, width, lanes, 0)
            leave_residues_out(rows, now, gap_open, none, lanes, width)
        if recorded:
            put(whole, PHASES + i - start, rows, i % RECENT, width, lanes, 0)
            put(gap_rows, PHASES + i - start, gaps, i % PHASES, width, lanes, 0)
        elif i == boundary:
            end = tracks.exon_ends[exon]
            stop = tracks.stops[end]
            _leave(exits, end, rows, i, start, stop, tracks.bonuses[exon], lanes)
            exon += 1


@njit(nogil=True)
def _begin(rows, gaps, start, entries, track, gap_open, none, lanes):
    """Set the rows to those at a track's first boundary."""
    width, now = rows.shape[1], start % RECENT
    for row in range(RECENT):
        clear(rows, row, none, lanes)
    for row in range(PHASES):
        clear(gaps, row, none, lanes)
    put(rows, now, entries, track * PHASES, width, lanes, 0)
    leave_residues_out(rows, now * width, gap_open, none, lanes, width)


@njit(nogil=True)
def _leave(exits, end, rows, boundary, start, stop, bonus, lanes):
    """Raise the rows of an end to those of a candidate."""
    width = rows.shape[1]
    for back in range(EXITS if stop else PHASES):
        # in front of a stop codon the exon has nucleotides
        if boundary - back >= start + (back == BEFORE_STOP):
            row = (boundary - back) % RECENT
            raise_to(exits, end * EXITS + back, rows, row, width, lanes, bonus)


@njit(cache=True, nogil=True)
def best_ends(exits, lifts):
    """Return the largest score of chains at each end, in front of its stop codon and at the end.

    `lifts` are what H' is above scores, by element of a row, very much where no chain may end.
    """
    found = np.empty((len(exits) // EXITS, 2), np.int32)
    for end in range(len(found)):
        for k in range(2):
            row, best = exits[end * EXITS + (0 if k else BEFORE_STOP)], np.int32(-(2**31))
            for place in range(len(lifts)):
                best = max(best, np.int32(row[place]) - lifts[place])
            found[end, k] = best
    return found


CELLS_PER_CALL = 1 << 28
"""A call of compiled code sweeps about so many cells: some tenths of a second."""


class ChainEnd(NamedTuple):
    """Where the best chain ends."""

    score: int
    end: int  # index of the end
    back: int  # 3 in front of a stop codon, else 0
    column: int  # residues
    value: int  # H' there, the exon's bonus included


class TrackRows(NamedTuple):
    """All rows of a track, laid out as `ProteinColumns`: row 3 + k is that of its boundary k."""

    inside: NDArray  # H before the track is entered
    whole: NDArray  # H behind
    codon_gaps: NDArray  # H of chains that leave out the codon that ends there


@dataclass
class CandidateSweep:
    """Candidates and a protein, swept; some candidate may begin a chain.

    `done` is called with the part of the sweep that is done since its last call, 1 in all.
    """

    candidates: Candidates
    target: NDArray[np.uint8]
    scoring: ProteinScoring
    done: InitVar[Callable[[float], None]] = lambda part: None
    banned: BannedPairs = NO_PAIRS
    columns: ProteinColumns = field(init=False)
    exits: NDArray = field(init=False)
    entries: NDArray = field(init=False)

    def __post_init__(self, done: Callable[[float], None]):
        codes, tracks = self.candidates.codes, self.candidates.tracks
        limits = protein_limits(tracks, self.target, self.scoring)
        symbols = int(codes.max(initial=0)) + 1
        self.columns = lay_out(self.target, self.scoring, symbols, limits)
        self.columns = self.columns.without(self.banned, codes, self.scoring)
        self.exits = self._rows(EXITS * len(tracks.ends))
        self.entries = self._rows(PHASES * len(tracks.starts))
        work, nothing = self._rows(SPLITS + RECENT + PHASES), (self.exits[:0], self.exits[:0])
        lengths = tracks.lasts - tracks.starts + 1
        for first, past in _parts(lengths * self.columns.width):
            self._sweep((first, past), work, nothing)
            done(lengths[first:past].sum() / lengths.sum())

    def _sweep(self, part: tuple[int, int], work: NDArray, record: tuple[NDArray, NDArray]) -> None:
        sweep_tracks(
            self.candidates.codes, self.candidates.tracks, part, self.columns, self.scoring.codons,
            self.scoring.intron_penalty, self.exits, self.entries, work, record,
        )  # fmt: skip

    def _rows(self, count: int) -> NDArray:
        return aligned_full((count, self.columns.width), self.columns.none)

    @cached_property
    def best(self) -> ChainEnd:
        """The best chain's end; of equals the first, in front of its stop codon, then the column.

        The score is that of the definition.
        """
        size, columns = len(self.target), np.arange(self.columns.width)
        final = columns <= size if self.scoring.free else columns == size
        lifts = np.where(final, self.scoring.gap_extend * columns, LIMIT_INT32)
        laid_out = by_lane(lifts[None], self.columns.lanes, np.int32)[0]
        scores = best_ends(self.exits, laid_out)
        end, k = divmod(int(scores.argmax()), 2)
        row = end * EXITS + (BEFORE_STOP, 0)[k]
        values = by_column(self.exits[row : row + 1], self.columns.lanes)[0].astype(np.int64)
        column = int((values - lifts).argmax())
        score = int(scores[end, k])
        return ChainEnd(score, end, (PHASES, 0)[k], column, int(values[column]))

    def exit_values(self, ends: slice, phase: int, column: int) -> NDArray[np.int64]:
        """Return H' of exits with a phase, of one column."""
        rows = self.exits.reshape(-1, EXITS, self.columns.width)
        return rows[ends, phase, self.columns.place(column)].astype(np.int64)

    def rows_of(self, track: int) -> TrackRows:
        """Return all rows of a track, computed again."""
        tracks = self.candidates.tracks
        count = PHASES + int(tracks.lasts[track] - tracks.starts[track]) + 1
        whole, gaps = self._rows(count), self._rows(count)
        work = self._rows(SPLITS + RECENT + PHASES)
        self._sweep((track, track + 1), work, (whole, gaps))
        inside = whole.copy()
        inside[PHASES] = self.columns.none
        return TrackRows(inside, whole, gaps)


def _parts(cells: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Cut tracks, by their cells, into ranges for calls of compiled code."""
    past = np.cumsum(cells)
    numbers = past // CELLS_PER_CALL
    bounds = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(cells)]
    return list(pairwise(bounds))


# The traceback of a protein in list mode: from a sweep to the best chain and its alignment.
#
# The chain whose last candidate ends first is taken, in front of its stop codon if that is as good,
# with the fewest residues; then, walking back, the shortest candidate with that end, of equal ones
# that of the least phase, listed without one before all others. Within a candidate moves are those
# of `gpu_tools.splicing.proteins.walk`. A chain begins where it can; else the nearest exit
# precedes.


_NO_BEGINS = np.empty(0, np.int32)
"""Start codons have no points in list mode."""


class TracedCandidates(NamedTuple):
    """A chain with its alignment in front of the stop codon."""

    traced: TracedProtein
    exons: list[int]  # numbers of its candidates, in order of the tracks
    stop: bool  # whether a stop codon is its end


class _Donor(NamedTuple):
    """Where the path leaves a candidate."""

    end: int  # index of the end
    back: int  # how far before it the path goes on
    column: int  # residues
    value: int  # H'


class _Exon(NamedTuple):
    """A candidate on the path."""

    number: int
    track: int
    rows: TrackRows
    cell: Cell  # where it is left


def trace(sweep: CandidateSweep) -> TracedCandidates:
    """Recover the best chain of a sweep."""
    tracer, best = _Tracer(sweep), sweep.best
    tracks, donor = sweep.candidates.tracks, _Donor(*best[1:])
    exons, intervals, runs, count = [], [], np.empty((0, 2), np.int64), 0
    while True:
        exon = tracer.exon_before(donor)
        cell, moves, move = tracer.walked(exon)
        start, end = int(tracks.starts[exon.track]), int(tracks.ends[donor.end])
        intervals.append((start, end if intervals else end - best.back))
        exons.append(exon.number)
        runs = with_room(runs, count + len(moves) + 1)
        count = add_moves(runs, count, moves, len(moves))
        if move == BEGIN:
            break
        donor, phase = tracer.donor_before(exon, cell)
        length = start - int(tracks.ends[donor.end])
        count = add_run(runs, count, INTRON_RUN + phase, length)
    traced = traced_of(runs[:count], np.array(intervals), cell.column, best.column)
    return TracedCandidates(traced, exons[::-1], best.back > 0)


class _Tracer:
    """Walks through the candidates of a sweep."""

    def __init__(self, sweep: CandidateSweep):
        self.sweep, scoring = sweep, sweep.scoring
        self.tracks, self.codes = sweep.candidates.tracks, sweep.candidates.codes
        self.places = sweep.columns.place(np.arange(len(sweep.target) + 1))
        self.pairs = scoring.lifted, sweep.target
        self.weights = np.array([scoring.gap_open, scoring.frameshift, scoring.gap_extend])
        self.start = begun(len(sweep.target), scoring)

    def exon_before(self, donor: _Donor) -> _Exon:
        """Return the shortest candidate that explains an exit."""
        tracks, end = self.tracks, int(self.tracks.ends[donor.end])
        numbers = np.flatnonzero(tracks.exon_ends == donor.end)
        of_track = np.searchsorted(tracks.first_exons, numbers, side="right") - 1
        order = np.lexsort((tracks.phases[of_track], -tracks.starts[of_track]))
        boundary, inside = end - donor.back, donor.back in (0, PHASES)
        for number, track in zip(numbers[order].tolist(), of_track[order].tolist(), strict=True):
            row = boundary - int(tracks.starts[track])
            if row < inside:
                continue
            rows = self.sweep.rows_of(track)
            value = int(rows.whole[PHASES + row, self.places[donor.column]])
            if value + int(tracks.bonuses[number]) == donor.value:
                return _Exon(number, track, rows, Cell(boundary, donor.column, value, inside))
        raise ValueError("no candidate explains the value of an exit: the sweep is wrong")

    def walked(self, exon: _Exon) -> tuple[Cell, NDArray[np.int64], int]:
        """Follow a path through a candidate, to its begin or to the codon an intron precedes."""
        sweep, rows, start = self.sweep, exon.rows, int(self.tracks.starts[exon.track])
        found = np.empty((2 * PHASES + 2 * (len(rows.whole) + len(sweep.target)), 2), np.int64)
        *numbers, inside, gap, count, move = walk(
            rows.inside, rows.whole, rows.codon_gaps, self.places, start, self.codes,
            sweep.scoring.codons, self.pairs, sweep.banned, sweep.scoring.codon_gaps,
            self.weights,
            (_NO_BEGINS, _NO_BEGINS, self.start), *exon.cell, found,
        )  # fmt: skip
        cell = Cell(*map(int, numbers), bool(inside), bool(gap))
        begins = not cell.inside and cell.boundary == start and may_begin(self.tracks)[exon.track]
        if begins and cell.value == self.start[cell.column]:
            move = BEGIN
        return cell, found[:count], move

    def donor_before(self, exon: _Exon, cell: Cell) -> tuple[_Donor, int]:
        """Return the nearest exit that explains an entry, and the phase of its intron."""
        sweep, scoring = self.sweep, self.sweep.scoring
        start, ends = int(self.tracks.starts[exon.track]), self.tracks.ends
        phase = (start - cell.boundary) % PHASES
        before, column = int(self.tracks.before[exon.track]), cell.column - (phase > 0)
        values = sweep.exit_values(slice(before), phase, column)
        wanted = np.full(before, cell.value + scoring.intron_penalty)
        if phase:
            split = tuple(self.codes[ends[:before] - back] for back in range(phase, 0, -1))
            codons = scoring.codons[(*split, *self.codes[start : cell.boundary])]
            wanted = wanted - scoring.lifted[codons, sweep.target[column]]
        found = np.flatnonzero(values == wanted)
        if not len(found):
            raise ValueError("no exit explains the value of an entry: the sweep is wrong")
        end = int(found[-1])
        return _Donor(end, phase, column, int(values[end])), phase
