"""Columns and rows of a protein's sweep, and operations on rows, compiled into the sweeps.

Column j ends the first j residues; columns beyond the last residue are padding. Cells are lifted,
H' = H + extend * j, so that a residue left out costs nothing more. A row is computed from the three
before it, see docs/design/proteins.md. Lanes of a vector own neighbouring columns: column c of
lane l is element c * lanes + l. A residue left out costs the same in every column, lifted as cells
are. So what a lane's residues left out bring to the lanes on its right is one number for all their
columns, the *carry*, which joins the row when the next one is computed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.model.scoring import N_CODONS, N_SYMBOLS, ProteinScoring
from gpu_tools.splicing.best_chains import NO_PAIRS, BannedPairs
from gpu_tools.splicing.bounds import Bounds
from gpu_tools.splicing.proteins.bans import Bans, bans_of
from gpu_tools.splicing.proteins.target_introns import PHASES, intron_points
from gpu_tools.splicing.rows import aligned_empty, aligned_zeros, lanes_of, padded


class ProteinLimits(NamedTuple):
    """The cells of a sweep; no cell and no intermediate value leaves the bounds."""

    dtype: np.dtype
    none: int  # value of a cell that no chain has reached
    bounds: Bounds
    bias: int = 0  # cells are H' less this


class ProteinColumns(NamedTuple):
    """What a sweep reads of a protein and its scoring."""

    profile: NDArray  # lifted scores of codons, row by row of `ProteinScoring.substitution`
    start: NDArray  # cells of a chain that begins, its points left out
    span: tuple[int, int]  # elements, in whole vectors, between which columns lie that may be last
    none: np.integer  # value of a cell that no chain has reached
    costs: NDArray  # `ProteinScoring.codon_gaps`
    weights: NDArray  # gap open, frameshift, and frameshift less gap extend
    lanes: int
    symbols: int  # codes of nucleotides that the strand has: 5 with ambiguity codes, else 4
    points: NDArray  # see `target_introns`, a row a phase
    bans: Bans  # pairs that chains must not have

    def without(
        self, banned: BannedPairs, codes: NDArray[np.uint8], scoring: ProteinScoring
    ) -> ProteinColumns:
        """Return the columns for chains of a strand without banned pairs."""
        if not len(banned.rows):
            return self
        return self._replace(bans=bans_of(banned, codes, scoring, self.none.dtype))

    @property
    def width(self) -> int:
        """Elements of a row."""
        return len(self.start)

    @property
    def bias(self) -> int:
        """What cells are less than H', which is 0 where a chain begins."""
        return -int(self.start[0])

    def place(self, column):
        """Return the element of a column, or those of an array of columns."""
        each = self.width // self.lanes
        return column % each * self.lanes + column // each


def begun(residues: int, scoring: ProteinScoring) -> NDArray[np.int64]:
    """Return H' of a chain that begins with some residues left out, 0 to `residues`."""
    left_out = np.arange(residues + 1)
    if scoring.free:
        return left_out * scoring.gap_extend
    return np.where(left_out, -scoring.gap_open, 0)


def lay_out(
    target: NDArray[np.uint8],
    scoring: ProteinScoring,
    symbols: int,
    limits: ProteinLimits,
    introns: tuple[int, ...] = (),
) -> ProteinColumns:
    """Lay a protein's columns out for sweeps of strands with so many symbols; no pair is banned.

    `introns` are those of a `ProteinSequence`.
    """
    dtype, lanes, residues = limits.dtype, lanes_of(limits.dtype), len(target)
    width = int(padded(residues + 1, 1, dtype.itemsize))
    each = width // lanes
    laid_out = aligned_empty((N_CODONS + 1, width), dtype)
    _fill(laid_out, target, scoring.lifted, begun(residues, scoring) - limits.bias, lanes)
    points = aligned_zeros((PHASES, width), dtype)
    if introns:
        columns = np.arange(width).reshape(lanes, each).T.ravel()
        inside = columns <= residues
        points[:, inside] = intron_points(introns, residues)[:, columns[inside]]
    last = len(target) % each * lanes
    shift = scoring.frameshift
    return ProteinColumns(
        laid_out[:-1].ravel(), laid_out[-1], (0, width) if scoring.free else (last, last + lanes),
        dtype.type(limits.none), scoring.codon_gaps.astype(dtype),
        np.array([scoring.gap_open, shift, shift - scoring.gap_extend], dtype), lanes, symbols,
        points, Bans(NO_PAIRS, np.empty(0, dtype)),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _fill(laid_out, target, lifted, begun, lanes):
    """Fill in a row for the scores of each codon, and one for chains that begin."""
    width, residues, none = laid_out.shape[1], len(target), lifted.shape[1] - 1
    for place in range(width):
        column = place % lanes * (width // lanes) + place // lanes
        symbol = none
        if 0 < column <= residues:
            symbol = target[column - 1]
        for codon in range(len(lifted)):
            laid_out[codon, place] = lifted[codon, symbol]
        laid_out[-1, place] = begun[min(column, residues)]


def lifted_pairs(target: NDArray[np.uint8], scoring: ProteinScoring) -> NDArray[np.int64]:
    """Return what pairs add to H', by codon and residue."""
    return scoring.lifted[:, target]


def most_of_residues(pairs: NDArray[np.int64], scoring: ProteinScoring) -> NDArray[np.int64]:
    """Return the most that each residue adds to H', by a pair or within a frameshift, at least 0.

    A frameshift with a residue adds the gap extend and costs its own points, which may be fewer.
    """
    return np.maximum(pairs.max(axis=0), _most_of_shift(scoring))


def beside_residues(columns: int, scoring: ProteinScoring) -> int:
    """Return the most that frameshifts add in columns without a residue: the first, and padding."""
    return columns * _most_of_shift(scoring)


def _most_of_shift(scoring: ProteinScoring) -> int:
    return max(scoring.gap_extend - scoring.frameshift, 0)


RECENT = 4
"""Rows that are held at a time, boundary i in row i modulo this."""
SPLITS = 1 + N_SYMBOLS + N_SYMBOLS
"""Rows of exits before an entry: for introns before a codon; behind its first nucleotide, by that;
behind its second one, by the third nucleotide, with which the codon is already paired."""
ONE, TWO = 1, 1 + N_SYMBOLS
"""The first of these rows whose introns split a codon behind one nucleotide, or two."""


@njit(nogil=True, inline="always")
def next_codon_row(
    free, rows, now, one, two, three, codon_gaps, gaps, carry, left, profile, pairs, start, begun,
    gap_open, codon_cost, shift, shift_on, none, lanes,
):  # fmt: skip
    """Compute the row at element `now` from those at `one`, `two` and `three`, carry left over.

    `free` is a constant where this is compiled in. It returns the lanes' largest cells.
    """
    width = len(start)
    opening, leaving = simd.splat(gap_open), simd.splat(codon_cost)
    shifts, shifts_on, begins = simd.splat(shift), simd.splat(shift_on), simd.splat(begun)
    tail = width - lanes
    diagonal = simd.shift_in(simd.load(rows, three + tail), none)
    recent = simd.maximum(simd.load(rows, one + tail), carry)
    few = simd.shift_in(simd.maximum(recent, simd.load(rows, two + tail)), none)
    for k in range(0, width, lanes):
        up = simd.maximum(simd.load(rows, one + k), carry)
        simd.store(rows, one + k, up)
        either = simd.maximum(up, simd.load(rows, two + k))
        before = simd.load(rows, three + k)
        gap = simd.maximum(simd.subtract(before, opening), simd.load(codon_gaps, gaps + k))
        gap = simd.subtract(gap, leaving)
        simd.store(codon_gaps, gaps + k, gap)
        cell = simd.maximum(simd.add(diagonal, simd.load(profile, pairs + k)), gap)
        cell = simd.maximum(cell, simd.subtract(either, shifts))
        cell = simd.maximum(cell, simd.subtract(few, shifts_on))
        if free:
            cell = simd.maximum(cell, simd.add(simd.load(start, k), begins))
        simd.store(rows, now + k, simd.maximum(cell, simd.subtract(left, opening)))
        left = simd.maximum(left, cell)
        diagonal, few = before, either
    return left


@njit(nogil=True, makes_arrays=False)
def leave_residues_out(rows, now, gap_open, none, lanes, width):
    """Let the cells of a row leave residues out behind them; the row is settled."""
    opening, left = simd.splat(gap_open), simd.splat(none)
    for k in range(now, now + width, lanes):
        cell = simd.load(rows, k)
        simd.store(rows, k, simd.maximum(cell, simd.subtract(left, opening)))
        left = simd.maximum(left, cell)
    settle_row(rows, now, carried(left, gap_open, none), lanes, width)


@njit(nogil=True, inline="always")
def carried(left, gap_open, none):
    """Return what the lanes' largest cells bring to the lanes on their right."""
    carry = simd.prefix_maximum(simd.shift_in(left, none))
    return simd.subtract(simd.maximum(carry, simd.splat(none)), simd.splat(gap_open))


@njit(nogil=True, makes_arrays=False)
def settle_row(rows, now, carry, lanes, width):
    """Let the carry join a row that begins at element `now`."""
    for k in range(now, now + width, lanes):
        simd.store(rows, k, simd.maximum(simd.load(rows, k), carry))


@njit(nogil=True, makes_arrays=False)
def raise_ends(ends, rows, now, bonus, span, lanes):
    """Raise the best ends of the block to those of a row, between the elements of `span`."""
    added = simd.splat(ends.dtype.type(bonus))
    for k in range(span[0], span[1], lanes):
        here = simd.add(simd.load(rows, now + k), added)
        simd.store(ends, k, simd.maximum(simd.load(ends, k), here))


@njit(nogil=True, makes_arrays=False)
def raise_entered(to, to_row, source, source_row, points, phase, bonus, lanes):
    """Raise a row to one that an exon begins with behind an intron of some phase."""
    width, added = to.shape[1], simd.splat(to.dtype.type(bonus))
    for k in range(0, width, lanes):
        here = simd.add(simd.load(source, source_row * width + k), added)
        here = simd.add(here, simd.load(points, phase * width + k))
        place = to_row * width + k
        simd.store(to, place, simd.maximum(simd.load(to, place), here))


@njit(nogil=True, makes_arrays=False)
def raise_paired(to, to_row, source, source_row, profile, pairs, bonus, none, lanes, width):
    """Raise a row to another one with a codon paired behind it, whose scores begin at `pairs`."""
    added, first = simd.splat(to.dtype.type(bonus)), source_row * width
    diagonal = simd.shift_in(simd.load(source, first + width - lanes), none)
    for k in range(0, width, lanes):
        here = simd.add(simd.add(diagonal, simd.load(profile, pairs + k)), added)
        place = to_row * width + k
        simd.store(to, place, simd.maximum(simd.load(to, place), here))
        diagonal = simd.load(source, first + k)
