"""The traceback of a protein in list mode: from a sweep to the best chain and its alignment.

The chain whose last candidate ends first is taken, in front of its stop codon if that is as good,
with the fewest residues; then, walking back, the shortest candidate with that end, of equal ones
that of the least phase, listed without one before all others. Within a candidate moves are those of
`gpu_tools.splicing.proteins.walk`. A chain begins where it can; else the nearest exit precedes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.spliced.proteins.cpu.sweep import CandidateSweep, TrackRows
from gpu_tools.spliced.proteins.tracks import may_begin
from gpu_tools.splicing.proteins.rows import PHASES, begun, lifted_pairs
from gpu_tools.splicing.proteins.walk import (
    BEGIN,
    INTRON_RUN,
    Cell,
    TracedProtein,
    add_moves,
    add_run,
    runs_in_order,
    walk,
)

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
        runs, count = add_moves(runs, count, moves, len(moves))
        if move == BEGIN:
            break
        donor, phase = tracer.donor_before(exon, cell)
        length = start - int(tracks.ends[donor.end])
        runs, count = add_run(runs, count, INTRON_RUN + phase, length)
    found = runs_in_order(runs, count)
    traced = TracedProtein(intervals[::-1], cell.column, best.column, found)
    return TracedCandidates(traced, exons[::-1], best.back > 0)


class _Tracer:
    """Walks through the candidates of a sweep."""

    def __init__(self, sweep: CandidateSweep):
        self.sweep, scoring = sweep, sweep.scoring
        self.tracks, self.codes = sweep.candidates.tracks, sweep.candidates.codes
        self.places = sweep.columns.place(np.arange(len(sweep.target) + 1))
        self.pairs = lifted_pairs(sweep.target, scoring)
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
            sweep.scoring.codons, self.pairs, sweep.scoring.codon_gaps, self.weights,
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
            wanted = wanted - self.pairs[codons, column]
        found = np.flatnonzero(values == wanted)
        if not len(found):
            raise ValueError("no exit explains the value of an entry: the sweep is wrong")
        end = int(found[-1])
        return _Donor(end, phase, column, int(values[end])), phase
