"""Hits of few amino acids: whether the target's order counts, or its composition alone.

The law of a genome holds for loci of usual composition. A stretch of few amino acids scores high
with any target that is made of the same ones, in whatever order.
"""

from __future__ import annotations

import numpy as np

from gpu_tools.model.protein_alignment import ProteinAlignment
from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.splicing.proteins.scored import aligned_codes

BIASED = -0.4
"""Mean score of random pairs of an alignment's residues from which on its composition is biased.
Genes have -0.9, 98 of 100 of them less than -0.65."""


def is_biased(alignment: ProteinAlignment, scoring: ProteinScoring) -> bool:
    """Return whether residues of an alignment, paired at random, score too well.

    Parameters
    ----------
    alignment : ProteinAlignment
        Of a chain.
    scoring : ProteinScoring
    """
    table = scoring.matrix.table()
    acids, residues = (
        np.bincount(codes, minlength=len(table)) for codes in aligned_codes(alignment)
    )
    pairs = acids.sum() * residues.sum()
    return pairs > 0 and bool(acids @ table @ residues >= BIASED * pairs)
