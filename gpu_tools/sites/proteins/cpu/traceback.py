"""The traceback of a protein: from a sweep to the best chain and its alignment.

Rows of a block are computed again where the chain has exons, and followed cell by cell. Of moves
that explain a cell the first of these is taken: a codon with a residue; a frameshift with a
residue; a codon left out; a frameshift; residues left out, as few as can be; the first exon's
begin; an intron, the shortest, and of these the one that splits the codon behind fewer nucleotides.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpu_tools.sites.proteins.cpu.state import BlockRows
from gpu_tools.sites.proteins.cpu.strand import ProteinSweep
from gpu_tools.splicing.proteins.columns import begun, lifted_pairs
from gpu_tools.splicing.proteins.rows import PHASES
from gpu_tools.splicing.proteins.walk import (
    BEFORE,
    BEGIN,
    INTRON,
    Cell,
    TracedProtein,
    merged,
    run_of,
    walk,
)

_ROWS_AT_A_TIME = 4096


def trace(sweep: ProteinSweep) -> TracedProtein:
    """Recover the best chain of a sweep that has a score."""
    tracer = _ProteinTracer(sweep)
    cell = tracer.last_cell()
    end, last, runs, intervals = cell.boundary, cell.column, [], []
    while True:
        cell, steps, move = tracer.walked(cell)
        runs += steps
        if move == BEGIN:
            intervals.append((cell.boundary, end))
            break
        cell, exit_, start, letter = tracer.intron_before(cell)
        runs.append((letter, start - exit_))
        intervals.append((start, end))
        end = exit_
    return TracedProtein(intervals[::-1], cell.column, last, list(merged(runs[::-1])))


class _ProteinTracer:
    """Walks through the cells of a sweep."""

    def __init__(self, sweep: ProteinSweep):
        self.sweep, self.number, self.rows = sweep, -1, None
        self.places = sweep.columns.place(np.arange(len(sweep.target) + 1))
        scoring = sweep.scoring
        self.pairs = lifted_pairs(sweep.target, scoring)
        self.weights = np.array([scoring.gap_open, scoring.frameshift, scoring.gap_extend])
        self.start = begun(len(sweep.target), scoring)

    def block(self, number: int, last: int) -> BlockRows:
        """Return the rows of a block up to a boundary at least; the latest one is there already.

        A path goes back, so that no later boundary is asked for behind an earlier one.
        """
        if number != self.number:
            self.number, self.rows = number, self.sweep.rows_of(number, last, self.rows)
        return self.rows

    def number_of(self, boundary: int) -> int:
        """Return the number of the block of a boundary."""
        return boundary // (self.sweep.blocks[0][1] - self.sweep.blocks[0][0])

    def last_cell(self) -> Cell:
        """Return the cell in which the best chain ends: the first such boundary, then column."""
        sweep, columns = self.sweep, self.sweep.final
        rows, (low, high) = self.block(sweep.block, len(sweep.codes)), sweep.blocks[sweep.block]
        # a chain has nucleotides, so that none ends at boundary 0
        for first in range(max(low, 1), high, _ROWS_AT_A_TIME):
            past = min(first + _ROWS_AT_A_TIME, high)
            part = slice(PHASES + first - low, PHASES + past - low)
            values = rows.inside[part, self.places[columns]].astype(np.int64)
            scores = (
                values - sweep.unlifting[columns] + sweep.table.last.between(first, past)[:, None]
            )
            found = np.argwhere(scores == sweep.score)
            if len(found):
                k, column = found[0].tolist()
                return Cell(first + k, columns.start + column, int(values[k, column]), True)
        raise ValueError("no chain of the block has the best score: the sweep is wrong")

    def walked(self, cell: Cell) -> tuple[Cell, list[tuple[str, int]], int]:
        """Follow a path within an exon, to its begin or to the codon that an intron precedes."""
        sweep, steps = self.sweep, []
        while True:
            rows = self.block(self.number_of(cell.boundary), cell.boundary)
            found = np.empty((2 * PHASES + 2 * (len(rows.whole) + len(sweep.target)), 2), np.int64)
            *numbers, inside, gap, count, move = walk(
                rows.inside, rows.whole, rows.codon_gaps, self.places, rows.low, sweep.codes,
                sweep.scoring.codons, self.pairs, sweep.scoring.codon_gaps, self.weights,
                *cell, found,
            )  # fmt: skip
            steps += [run_of(int(kind), int(length)) for kind, length in found[:count]]
            cell = Cell(*map(int, numbers), bool(inside), bool(gap))
            if move != BEFORE:
                return cell, steps, BEGIN if self._begins(cell) else move

    def _begins(self, cell: Cell) -> bool:
        """Return whether a chain that begins explains a cell."""
        first = int(self.sweep.table.first.at(cell.boundary))
        return not cell.inside and cell.value == first + int(self.start[cell.column])

    def intron_before(self, cell: Cell) -> tuple[Cell, int, int, str]:
        """Return the cell before an intron, the intron's exit and entry, and its letter."""
        number = self.number_of(cell.boundary)
        entries = list(self._entries(cell))
        while number >= 0:
            if any(self._may_hold(number, entry) for entry in entries):
                rows = self.block(number, cell.boundary)
                found = [
                    self._exit_in(number, rows, phase, entry) for phase, entry in enumerate(entries)
                ]
                best = max((end, -phase) for phase, end in enumerate(found))
                if best[0] >= 0:
                    return self._before(best[0], -best[1], entries[-best[1]])
            number -= 1
        raise ValueError("no intron explains the value of an entry: the sweep is wrong")

    def _entries(self, cell: Cell) -> Iterator[tuple[int, int, NDArray | None]]:
        """Yield for each phase the entry, the column before, and values by what an exit leaves.

        The values are those that an exit's row must have behind the intron's penalty; they are None
        where no exon may begin.
        """
        codes, table = self.sweep.codes, self.sweep.table
        for phase in range(PHASES):
            rest = (PHASES - phase) % PHASES
            start, column = cell.boundary - rest, cell.column - (phase > 0)
            open_ = start >= 0 and table.acceptors.listed(start, start + 1)
            if not open_ or open_.start == open_.stop or column < 0 or (phase == 0 and cell.inside):
                yield start, column, None
                continue
            wanted = np.array(cell.value - table.acceptors.at(start))
            if phase:
                codons = self.sweep.scoring.codons[(..., *codes[start : cell.boundary])]
                wanted = wanted - self.pairs[codons, column]
            yield start, column, wanted

    def _may_hold(self, number: int, entry) -> bool:
        """Return whether a block's best exit reaches what an entry asks for."""
        start, column, wanted = entry
        if wanted is None or self.sweep.blocks[number][0] > start:
            return False
        least = min(intron.penalty for intron in self.sweep.table.introns)
        return int(self.sweep.best_exits[number][column]) - least >= wanted.min()

    def _exit_in(self, number: int, rows: BlockRows, phase: int, entry) -> int:
        """Return the last exit of a block that explains an entry, -1 if there is none."""
        (start, column, wanted), table = entry, self.sweep.table
        if wanted is None:
            return -1
        low, high = self.sweep.blocks[number]
        ends = table.donors.open_between(max(low, phase), min(high, start + 1))
        stored = rows.whole if phase else rows.inside
        values = stored[PHASES + ends - phase - low, self.places[column]]
        values = values.astype(np.int64) + table.donors.between(low, high)[ends - low]
        left = tuple(self.sweep.codes[ends - back] for back in range(phase, 0, -1))
        surplus = values - (wanted[left] if phase else wanted)
        kinds = table.donors.kinds_between(low, high)[ends - low]
        entered = table.acceptors.kinds_between(start, start + 1)[0]
        explains = np.zeros(len(ends), dtype=bool)
        for intron in table.introns:
            admitted = (kinds == intron.kind) & (entered == intron.kind)
            admitted &= ends <= start - intron.min_length
            explains |= admitted & (surplus == intron.penalty_between(ends, start))
        found = np.flatnonzero(explains)
        return int(ends[found[-1]]) if len(found) else -1

    def _before(self, end: int, phase: int, entry) -> tuple[Cell, int, int, str]:
        start, column, _ = entry
        rows = self.rows
        stored = rows.whole if phase else rows.inside
        value = int(stored[PHASES + end - phase - rows.low, self.places[column]])
        return Cell(end - phase, column, value, phase == 0), end, start, INTRON[phase]
