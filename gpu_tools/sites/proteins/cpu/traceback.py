"""The traceback of a protein: from a sweep to the best chain and its alignment.

Rows of a block are computed again where the chain has exons, and followed cell by cell. Of moves
that explain a cell the first of these is taken: a codon with a residue; a frameshift with a
residue; a codon left out; a frameshift; residues left out, as few as can be; the first exon's
begin; an intron, the shortest, and of these the one that splits the codon behind fewer nucleotides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.sites.proteins.cpu.state import PHASES, BlockRows
from gpu_tools.sites.proteins.cpu.strand import ProteinSweep

(
    _PAIR, _SHIFT_PAIR_1, _SHIFT_PAIR_2, _LEFT_OUT, _SHIFT_1, _SHIFT_2, _RESIDUES, _BEGIN, _INTRON,
    _BEFORE,
) = range(10)  # fmt: skip
_ROWS_AT_A_TIME = 4096
CODON, RESIDUE, MISSING, SHIFT, SHIFTED, INTRON = "M", "I", "D", "F", "G", "NUV"
"""Letters of runs, those of miniprot's CIGAR: codons with residues, residues left out, codons left
out, nucleotides too many, nucleotides too few with a residue, introns by phase."""


class TracedProtein(NamedTuple):
    """A chain and its alignment, in reading direction of the strand.

    `intervals` are the exons, `first` the residues before the alignment, and `runs` letters and
    lengths: codons, residues, nucleotides of frameshifts and introns.
    """

    intervals: list[tuple[int, int]]
    first: int
    last: int
    runs: list[tuple[str, int]]


class Cell(NamedTuple):
    """A cell on the path: boundary, residues, and H'.

    `inside` tells whether its exon must have nucleotides, `gap` whether the path leaves the codon
    out that ends there.
    """

    boundary: int
    column: int
    value: int
    inside: bool
    gap: bool = False


def trace(sweep: ProteinSweep) -> TracedProtein:
    """Recover the best chain of a sweep that has a score."""
    tracer = _ProteinTracer(sweep)
    cell = tracer.last_cell()
    end, last, runs, intervals = cell.boundary, cell.column, [], []
    while True:
        cell, steps, move = tracer.walked(cell)
        runs += steps
        if move == _BEGIN:
            intervals.append((cell.boundary, end))
            break
        cell, exit_, start, letter = tracer.intron_before(cell)
        runs.append((letter, start - exit_))
        intervals.append((start, end))
        end = exit_
    return TracedProtein(intervals[::-1], cell.column, last, list(_merged(runs[::-1])))


def _merged(runs: list[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Join runs of codons with residues, and of what is left out in one gap."""
    letter, length = runs[0]
    for following, count in runs[1:]:
        if following == letter and letter in (CODON, MISSING):
            length += count
        else:
            yield letter, length
            letter, length = following, count
    yield letter, length


class _ProteinTracer:
    """Walks through the cells of a sweep."""

    def __init__(self, sweep: ProteinSweep):
        self.sweep, self.number, self.rows = sweep, -1, None
        scoring, table = sweep.scoring, sweep.table
        self.pairs = scoring.substitution[:, sweep.target] + scoring.gap_extend
        self.weights = np.array([scoring.gap_open, scoring.frameshift, scoring.gap_extend])
        self.first = table.first.between(0, table.length + 1)
        self.start = np.arange(len(sweep.target) + 1) * scoring.gap_extend
        if not scoring.free:
            self.start[:] = np.where(self.start + np.arange(len(self.start)), -scoring.gap_open, 0)

    def block(self, number: int) -> BlockRows:
        """Return the rows of a block; the latest one is there already."""
        if number != self.number:
            self.number, self.rows = number, self.sweep.rows_of(number)
        return self.rows

    def number_of(self, boundary: int) -> int:
        """Return the number of the block of a boundary."""
        return boundary // (self.sweep.blocks[0][1] - self.sweep.blocks[0][0])

    def last_cell(self) -> Cell:
        """Return the cell in which the best chain ends: the first such boundary, then column."""
        sweep, columns = self.sweep, self.sweep.final
        rows, (low, high) = self.block(sweep.block), sweep.blocks[sweep.block]
        # a chain has nucleotides, so that none ends at boundary 0
        for first in range(max(low, 1), high, _ROWS_AT_A_TIME):
            past = min(first + _ROWS_AT_A_TIME, high)
            part = slice(PHASES + first - low, PHASES + past - low)
            values = rows.inside[part, columns].astype(np.int64)
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
            rows = self.block(self.number_of(cell.boundary))
            found = np.empty((2 * PHASES + 2 * (len(rows.whole) + len(sweep.target)), 2), np.int64)
            *numbers, inside, gap, count, move = _walk(
                rows.inside, rows.whole, rows.codon_gaps, rows.low, sweep.codes,
                sweep.scoring.codons, self.pairs, sweep.scoring.codon_gaps, self.weights,
                self.first, self.start, *cell, found,
            )  # fmt: skip
            steps += [_run(int(kind), int(length)) for kind, length in found[:count]]
            cell = Cell(*map(int, numbers), bool(inside), bool(gap))
            if move != _BEFORE:
                return cell, steps, move

    def intron_before(self, cell: Cell) -> tuple[Cell, int, int, str]:
        """Return the cell before an intron, the intron's exit and entry, and its letter."""
        number = self.number_of(cell.boundary)
        entries = list(self._entries(cell))
        while number >= 0:
            if any(self._may_hold(number, entry) for entry in entries):
                found = [self._exit_in(number, phase, entry) for phase, entry in enumerate(entries)]
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

    def _exit_in(self, number: int, phase: int, entry) -> int:
        """Return the last exit of a block that explains an entry, -1 if there is none."""
        (start, column, wanted), table = entry, self.sweep.table
        if wanted is None:
            return -1
        low, high = self.sweep.blocks[number]
        ends = table.donors.open_between(max(low, phase), min(high, start + 1))
        rows = self.block(number)
        values = (rows.whole if phase else rows.inside)[PHASES + ends - phase - low, column]
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
        rows = self.block(self.number_of(end))
        stored = rows.whole if phase else rows.inside
        value = int(stored[PHASES + end - phase - rows.low, column])
        return Cell(end - phase, column, value, phase == 0), end, start, INTRON[phase]


def _run(kind: int, length: int) -> tuple[str, int]:
    """Return letter and length of a move."""
    if kind == _RESIDUES:
        return RESIDUE, length
    return {
        _PAIR: (CODON, 1), _LEFT_OUT: (MISSING, 1), _SHIFT_1: (SHIFT, 1), _SHIFT_2: (SHIFT, 2),
        _SHIFT_PAIR_1: (SHIFTED, 1), _SHIFT_PAIR_2: (SHIFTED, 2),
    }[kind]  # fmt: skip


@njit(cache=True, nogil=True)
def _walk(
    inside_rows, whole, gap_rows, low, codes, codons, pairs, codon_costs, weights, first, start,
    i, j, value, inside, gap, found,
):  # fmt: skip
    """Follow a path through the rows of a block; return where it leaves them, and why.

    Moves and lengths are written to `found`; the result is a `Cell`'s fields, the number of moves,
    and what follows: the block before, a chain's begin, or an intron.
    """
    count = 0
    gap_open, shift, extend = weights[0], weights[1], weights[2]
    while i >= low:
        k = i - low + PHASES
        codon = np.int64(codons[codes[i - 3], codes[i - 2], codes[i - 1]]) if i >= 3 else -1
        if gap:
            found[count, 0], found[count, 1] = _LEFT_OUT, 1
            value += codon_costs[codon]
            gap = whole[k - 3, j] - gap_open != value
            i, count = i - 3, count + 1
            if not gap:
                value, inside = np.int64(whole[k - 3, j]), False
            continue
        move, length = _move(
            inside_rows if inside else whole, whole, gap_rows, k, i, j, value, codon, pairs,
            gap_open, shift, extend,
        )  # fmt: skip
        if move == _LEFT_OUT:
            gap = True
            continue
        if move == _INTRON:
            if not inside and value == first[i] + start[j]:
                move = _BEGIN
            return i, j, value, inside, gap, count, move
        found[count, 0], found[count, 1] = move, length
        count += 1
        if move == _RESIDUES:
            j -= length
            value = np.int64((inside_rows if inside else whole)[k, j])
            continue
        if move in (_PAIR, _SHIFT_PAIR_1, _SHIFT_PAIR_2):
            j -= 1
        i -= 3 if move == _PAIR else (1 if move in (_SHIFT_1, _SHIFT_PAIR_1) else 2)
        value, inside = np.int64(whole[i - low + PHASES, j]), False
    return i, j, value, inside, gap, count, _BEFORE


@njit(nogil=True)
def _move(here, whole, gap_rows, k, i, j, value, codon, pairs, gap_open, shift, extend):
    """Return the first move that explains a cell, and its length; `_INTRON` if none does."""
    if i >= 3 and j and whole[k - 3, j - 1] + pairs[codon, j - 1] == value:
        return _PAIR, 1
    if j and i >= 1 and whole[k - 1, j - 1] - shift + extend == value:
        return _SHIFT_PAIR_1, 1
    if j and i >= 2 and whole[k - 2, j - 1] - shift + extend == value:
        return _SHIFT_PAIR_2, 1
    if i >= 3 and gap_rows[k, j] == value:
        return _LEFT_OUT, 1
    if i >= 1 and whole[k - 1, j] - shift == value:
        return _SHIFT_1, 1
    if i >= 2 and whole[k - 2, j] - shift == value:
        return _SHIFT_2, 1
    for length in range(1, j + 1):
        if here[k, j - length] - gap_open == value:
            return _RESIDUES, length
    return _INTRON, 0
