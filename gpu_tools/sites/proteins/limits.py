"""Bounds on the cells of a protein's sweep, its columns, and the value that stands for `no chain`.

A chain may begin at every boundary for the usual points of a first entry. So no cell is below what
such a chain has there, and what lies below that value, a gap's opening included, is of no use.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.sites.bounds import best_sites
from gpu_tools.sites.table import CLOSED, SiteTable
from gpu_tools.splicing.bounds import Bounds, narrowest
from gpu_tools.splicing.proteins.rows import (
    ProteinColumns,
    ProteinLimits,
    beside_residues,
    lay_out,
    most_of_residues,
)
from gpu_tools.splicing.proteins.target_introns import intron_points
from gpu_tools.splicing.rows import padded


class PairBounds(NamedTuple):
    """What the pairs of a protein's residues with codons may add to lifted cells.

    Each is a number, or an array with one a protein.
    """

    residues: int
    largest: int  # the largest magnitude of a pair
    together: int  # the most that all residues add, each by one pair or within a frameshift
    intron: int  # the most points of an intron's place, see `target_introns`
    introns: int  # of all places, each by one intron


def pair_bounds(
    targets: list[NDArray[np.uint8]], introns: list[tuple[int, ...]], scoring: ProteinScoring
) -> PairBounds:
    """Return the bounds of encoded proteins, and of the introns of their genes, as arrays."""
    most, largest = scoring.lifted_most
    residues, lengths = np.concatenate(targets), np.array([*map(len, targets)])
    starts = np.cumsum(lengths) - lengths
    together = np.add.reduceat(most_of_residues(most[None], scoring)[residues], starts)
    points = [
        intron_points(own, length) if own else np.zeros(1, np.int64)
        for own, length in zip(introns, lengths, strict=True)
    ]
    return PairBounds(
        lengths, np.maximum.reduceat(largest[residues], starts), together,
        np.array([own.max() for own in points]), np.array([own.sum() for own in points]),
    )  # fmt: skip


class StrandBounds(NamedTuple):
    """What the sites of a strand may add; each is a number, or an array with one a strand."""

    usual: int  # points of a first entry that is not listed
    first: int  # the largest magnitude of a first entry
    step: int  # more than what a boundary adds to a cell
    together: int  # see `best_sites`
    acceptors: int  # how many there are


def strand_bounds(table: SiteTable) -> StrandBounds:
    """Return the bounds of a table."""
    if CLOSED in (table.first.usual, table.last.usual):
        raise ScoringError("a table that is closed somewhere; expected chains to begin anywhere")
    first, step = table.first, sum(table.largest_scores())
    return StrandBounds(
        first.usual, first.largest, step, best_sites(table), len(table.acceptors.boundaries)
    )


class CellBounds(NamedTuple):
    """The value that stands for `no chain`, and between what all cells lie, as in the others."""

    none: int
    lowest: int
    highest: int

    @property
    def magnitude(self) -> int:
        """The largest magnitude of a cell."""
        return np.maximum(np.abs(self.lowest), np.abs(self.highest))


def cell_bounds(
    sites: StrandBounds, pairs: PairBounds, scoring: ProteinScoring, width: int
) -> CellBounds:
    """Return the bounds of a sweep of so many columns."""
    step, pair = sites.step + pairs.intron, pairs.largest
    once = scoring.gap_open + max(scoring.gap_extend, scoring.stop) + scoring.frameshift
    none = sites.usual - once - step - pair - 1
    highest = pairs.together + scoring.gap_extend * pairs.residues
    highest += beside_residues(width - pairs.residues, scoring)
    highest += sites.first + _from_introns(sites, pairs, scoring)
    # a banned pair opens one more gap than a codon left out behind a residue left out
    lowest = none - once - step - pair - scoring.gap_open
    return CellBounds(none, lowest, highest + step + pair)


def _from_introns(sites: StrandBounds, pairs: PairBounds, scoring: ProteinScoring) -> int:
    """Return the most that introns bring.

    Between two introns at one place of the protein lies an exon without a residue, which costs at
    least a codon left out or a frameshift. So the second one brings the points of its place less
    these.
    """
    least = min(
        scoring.frameshift, scoring.gap_open + min(scoring.gap_extend, scoring.stop)
    )  # fmt: skip
    again = np.maximum(pairs.intron - least, 0) * sites.acceptors
    return sites.together + pairs.introns + again


def nothing(table: SiteTable, residues: int, scoring: ProteinScoring) -> int:
    """Return the score of leaving all residues out, behind a chain without nucleotides."""
    return table.first.usual + table.last.usual - scoring.all_left_out(residues)


def columns_of(
    target: NDArray[np.uint8], table: SiteTable, scoring: ProteinScoring, symbols: int,
    introns: tuple[int, ...] = (),
) -> ProteinColumns:  # fmt: skip
    """Lay a protein's columns out for a sweep over the sites of a table.

    Of all cells of a long protein something is taken off, so that 16 bits hold them.
    """
    width, sites = int(padded(len(target) + 1, 1, 2)), strand_bounds(table)
    pairs = PairBounds(*(int(own[0]) for own in pair_bounds([target], [introns], scoring)))
    cells = cell_bounds(sites, pairs, scoring, width)
    bias, bounds = 0, Bounds(int(cells.lowest), int(cells.highest))
    if narrowest(bounds) != np.int16:
        middle = (bounds.lowest + bounds.highest) // 2
        nearer = Bounds(bounds.lowest - middle, bounds.highest - middle)
        if narrowest(nearer) == np.int16:
            bias, bounds = middle, nearer
    limits = ProteinLimits(narrowest(bounds), int(cells.none) - bias, bounds, bias)
    return lay_out(target, scoring, symbols, limits, introns)
