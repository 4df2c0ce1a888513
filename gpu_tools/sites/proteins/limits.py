"""Bounds on the cells of a protein's sweep, and the value that stands for `no chain`.

A chain may begin at every boundary for the usual points of a first entry. So no cell is below what
such a chain has there, and what lies below that value, a gap's opening included, is of no use.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.sites.bounds import best_sites
from gpu_tools.sites.scores import CLOSED
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.bounds import Bounds, fit_int16
from gpu_tools.splicing.proteins.columns import ProteinLimits, lifted_pairs


def protein_limits(
    table: SiteTable, target: NDArray[np.uint8], scoring: ProteinScoring, width: int
) -> ProteinLimits:
    """Work out the limits of a sweep.

    Parameters
    ----------
    table : SiteTable
        In which a chain may begin and end at every boundary.
    target : ndarray of uint8, shape (m,)
        Encoded residues.
    scoring : ProteinScoring
    width : int
        Columns of the sweep.

    Raises
    ------
    ScoringError
        If 32 bits could overflow, or a chain may not begin or end everywhere.
    """
    if CLOSED in (table.first.usual, table.last.usual):
        raise ScoringError("a table that is closed somewhere; expected chains to begin anywhere")
    pairs = lifted_pairs(target, scoring)
    step, pair = sum(table.largest_scores()), int(np.abs(pairs).max(initial=0))
    once = scoring.gap_open + max(scoring.gap_extend, scoring.stop) + scoring.frameshift
    none = table.first.usual - once - step - pair - 1
    highest = int(np.maximum(pairs.max(axis=0), 0).sum()) + scoring.gap_extend * width
    highest += table.first.largest + _from_introns(table, len(target), scoring)
    bounds = Bounds(none - once - step - pair, highest + step + pair)
    narrow = fit_int16(np.array([bounds.magnitude]))[0]
    return ProteinLimits(np.dtype(np.int16 if narrow else np.int32), none, bounds)


def _from_introns(table: SiteTable, residues: int, scoring: ProteinScoring) -> int:
    """Return the most that introns bring.

    An exon without a residue costs at least a codon left out or a frameshift. If an intron brings
    less than that, there are no more introns than residues, and two.
    """
    least = min((intron.penalty for intron in table.introns), default=0)
    most = max(_largest(table.donors) + _largest(table.acceptors) - least, 0)
    dearest = min(
        scoring.frameshift, scoring.gap_open + min(scoring.gap_extend, scoring.stop)
    )  # fmt: skip
    if most <= dearest:
        return (residues + 2) * most
    return best_sites(table)


def _largest(sites) -> int:
    return int(sites.scores.max(initial=0))


def nothing(table: SiteTable, residues: int, scoring: ProteinScoring) -> int:
    """Return the score of leaving all residues out, behind a chain without nucleotides."""
    left_out = 0
    if residues and not scoring.free:
        left_out = scoring.gap_open + scoring.gap_extend * residues
    return table.first.usual + table.last.usual - left_out
