"""Rows of H of a protein's sweep, and what is done with them; compiled into the sweeps.

A row is computed from the three before it, see docs/design/proteins.md. Lanes of a vector own
neighbouring columns. A residue left out costs the same in every column, lifted as cells are. So
what a lane's residues left out bring to the lanes on its right is one number for all their columns,
the *carry*, which joins the row when the next one is computed.
"""

from __future__ import annotations

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.model.scoring import N_SYMBOLS

PHASES = 3
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


@njit(nogil=True)
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


@njit(nogil=True)
def settle_row(rows, now, carry, lanes, width):
    """Let the carry join a row that begins at element `now`."""
    for k in range(now, now + width, lanes):
        simd.store(rows, k, simd.maximum(simd.load(rows, k), carry))


@njit(nogil=True)
def raise_ends(ends, rows, now, bonus, span, lanes):
    """Raise the best ends of the block to those of a row, between the elements of `span`."""
    added = simd.splat(ends.dtype.type(bonus))
    for k in range(span[0], span[1], lanes):
        here = simd.add(simd.load(rows, now + k), added)
        simd.store(ends, k, simd.maximum(simd.load(ends, k), here))


@njit(nogil=True)
def raise_paired(to, to_row, source, source_row, profile, pairs, bonus, none, lanes, width):
    """Raise a row to another one with a codon paired behind it, whose scores begin at `pairs`."""
    added, first = simd.splat(to.dtype.type(bonus)), source_row * width
    diagonal = simd.shift_in(simd.load(source, first + width - lanes), none)
    for k in range(0, width, lanes):
        here = simd.add(simd.add(diagonal, simd.load(profile, pairs + k)), added)
        place = to_row * width + k
        simd.store(to, place, simd.maximum(simd.load(to, place), here))
        diagonal = simd.load(source, first + k)
