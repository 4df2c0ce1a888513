"""The sites of a strand for proteins: weights, and tables in which a chain ends before its stop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.model.translation import stop_codons
from gpu_tools.sites.model import GeneSites, end_scores
from gpu_tools.sites.table import SiteTable

POINTS_PER_BIT = 1.7
"""Weight of the introns' sites, in points of BLOSUM62, half bits."""
INTRON_PENALTY = 28
START, STOP, BEGIN, END = 12, 10, -8, -8
EXTRA = 4
"""How much faster penalties rise with an intron's length than against cDNAs."""


def protein_sites(model: GeneSites) -> GeneSites:
    """Return a site model with weights for proteins in place of those for cDNAs.

    Parameters
    ----------
    model : GeneSites
        See `gpu_tools.load_sites`.

    Returns
    -------
    GeneSites
        With the same sites, at 1.7 points a bit, points being those of BLOSUM62, half bits. An
        intron costs 28 points at the model's shortest length, and its penalty rises along the
        model's lines with four times the extra points and a fourth of the nucleotides a point. A
        chain has 12 points for a start codon, 10 for a stop codon, and -8 for another begin or end.
    """
    introns = tuple(
        replace(
            intron, penalties=((intron.penalties[0][0], INTRON_PENALTY),),
            rising=tuple((EXTRA * extra, max(every // EXTRA, 1)) for extra, every in intron.rising),
        )
        for intron in model.introns
    )  # fmt: skip
    return replace(
        model, points_per_bit=POINTS_PER_BIT, introns=introns, start=START, stop=STOP, begin=BEGIN,
        end=END,
    )  # fmt: skip


def protein_table(
    model: GeneSites, codes: NDArray[np.uint8], origin: int, scoring: ProteinScoring,
    threads: int = 1,
) -> SiteTable:  # fmt: skip
    """Score the boundaries of a strand; `threads` of the CPU share the work.

    A chain ends in front of its stop codon: the codon is not aligned.
    """
    if model.longest_intron:
        raise ScoringError("a longest intron is not for proteins; expected a model without one")
    table = model.table(codes, scoring.ends, "any", origin, threads)
    end = max(0, model.end) if scoring.ends == "free" else model.end
    last = end_scores(codes, end, stop_codons(scoring.genetic_code), model.stop, 0)
    return SiteTable(table.first, table.acceptors, table.donors, last, table.introns)
