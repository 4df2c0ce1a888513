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
from gpu_tools.sites.table import CLOSED, SiteTable, once_a_table
from gpu_tools.splicing.bounds import Bounds, fit_int16
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
    """What the pairs of a protein's residues with codons may add to lifted cells."""

    residues: int
    largest: int  # the largest magnitude of a pair
    together: int  # the most that all residues add, each by one pair or within a frameshift
    intron: int  # the most points of an intron's place, see `target_introns`
    introns: int  # of all places, each by one intron


def pair_bounds(
    target: NDArray[np.uint8], scoring: ProteinScoring, introns: tuple[int, ...] = ()
) -> PairBounds:
    """Return the bounds of an encoded protein with the introns of its gene."""
    most, largest = scoring.lifted_most
    together = most_of_residues(most[None], scoring)[target].sum()
    largest = largest[target].max(initial=0)
    points = intron_points(introns, len(target))
    return PairBounds(
        len(target), int(largest), int(together), int(points.max()),
        int(points.sum()),
    )  # fmt: skip


def protein_limits(
    table: SiteTable, pairs: PairBounds, scoring: ProteinScoring, width: int
) -> ProteinLimits:
    """Work out the limits of a sweep."""
    if CLOSED in (table.first.usual, table.last.usual):
        raise ScoringError("a table that is closed somewhere; expected chains to begin anywhere")
    step, pair = _largest_step(table) + pairs.intron, pairs.largest
    once = scoring.gap_open + max(scoring.gap_extend, scoring.stop) + scoring.frameshift
    none = table.first.usual - once - step - pair - 1
    highest = pairs.together + scoring.gap_extend * pairs.residues
    highest += beside_residues(width - pairs.residues, scoring)
    highest += table.first.largest + _from_introns(table, pairs, scoring)
    # a banned pair opens one more gap than a codon left out behind a residue left out
    lowest = none - once - step - pair - scoring.gap_open
    bounds = Bounds(lowest, highest + step + pair)
    narrow = fit_int16(np.array([bounds.magnitude]))[0]
    return ProteinLimits(np.dtype(np.int16 if narrow else np.int32), none, bounds)


@once_a_table
def _largest_step(table: SiteTable) -> int:
    """Return more than what a boundary adds to a cell."""
    return sum(table.largest_scores())


def _from_introns(table: SiteTable, pairs: PairBounds, scoring: ProteinScoring) -> int:
    """Return the most that introns bring.

    Between two introns at one place of the protein lies an exon without a residue, which costs at
    least a codon left out or a frameshift. So the second one brings the points of its place less
    these.
    """
    least = min(
        scoring.frameshift, scoring.gap_open + min(scoring.gap_extend, scoring.stop)
    )  # fmt: skip
    again = max(pairs.intron - least, 0) * len(table.acceptors.boundaries)
    return best_sites(table) + pairs.introns + again


def nothing(table: SiteTable, residues: int, scoring: ProteinScoring) -> int:
    """Return the score of leaving all residues out, behind a chain without nucleotides."""
    return table.first.usual + table.last.usual - scoring.all_left_out(residues)


def columns_of(
    target: NDArray[np.uint8], table: SiteTable, scoring: ProteinScoring, symbols: int,
    introns: tuple[int, ...] = (),
) -> ProteinColumns:  # fmt: skip
    """Lay a protein's columns out for a sweep over the sites of a table."""
    width = int(padded(len(target) + 1, 1, 2))
    limits = protein_limits(table, pair_bounds(target, scoring, introns), scoring, width)
    return lay_out(target, scoring, symbols, limits, introns)
