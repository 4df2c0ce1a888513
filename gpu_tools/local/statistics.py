"""Bit scores and E-values of local alignments, for scorings whose parameters are known.

Scores of the best gapped alignments of unrelated sequences follow an extreme value distribution.
Its two parameters are simulated for each scoring. Those here are NCBI BLAST's, for sequences of
usual composition.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from gpu_tools.model.scoring import AffineScoring


class KarlinAltschul(NamedTuple):
    """Parameters lambda and K of the best scores of unrelated sequences."""

    scale: float
    k: float

    def bits(self, score: int) -> float:
        """Return the bit score, (lambda * score - ln K) / ln 2."""
        return (self.scale * score - math.log(self.k)) / math.log(2)

    def evalue(self, score: int, cells: int) -> float:
        """Return the number of alignments of that score expected by chance, K m n e^(-lambda S).

        `cells` is query length times subject length, for all pairs and strands searched. Edge
        effects are not corrected: for short sequences the value is too large.
        """
        return self.k * cells * math.exp(-self.scale * score)


# by matrix or by match and mismatch: penalty of a gap before its first symbol, penalty of each
# symbol, lambda, K
_KNOWN = {
    "BLOSUM62": (
        (11, 2, 0.297, 0.082), (10, 2, 0.291, 0.075), (9, 2, 0.279, 0.058), (8, 2, 0.264, 0.045),
        (7, 2, 0.239, 0.027), (6, 2, 0.201, 0.012), (13, 1, 0.292, 0.071), (12, 1, 0.283, 0.059),
        (11, 1, 0.267, 0.041), (10, 1, 0.243, 0.024), (9, 1, 0.206, 0.010),
    ),
    "BLOSUM80": (
        (25, 2, 0.342, 0.17), (13, 2, 0.336, 0.15), (9, 2, 0.319, 0.11), (8, 2, 0.308, 0.090),
        (7, 2, 0.293, 0.070), (6, 2, 0.268, 0.045), (11, 1, 0.314, 0.095), (10, 1, 0.299, 0.071),
        (9, 1, 0.279, 0.048),
    ),
    "PAM30": ((7, 2, 0.305, 0.15), (6, 2, 0.287, 0.11), (5, 2, 0.264, 0.079), (10, 1, 0.309, 0.15)),
    "5/-4": ((10, 6, 0.163, 0.068), (8, 6, 0.146, 0.039)),
}  # fmt: skip
_USUAL = {"BLOSUM62": (11, 1), "BLOSUM80": (10, 1), "PAM30": (10, 1), "5/-4": (10, 6)}
"""Default penalties: those of BLAST, or the nearest known ones to ours."""


def statistics_of(scoring: AffineScoring) -> KarlinAltschul | None:
    """Return the parameters of a scoring, None if they are not known.

    .. [1] S. Karlin, S. F. Altschul, "Methods for assessing the statistical significance of
       molecular sequence features by using general scoring schemes", PNAS 87 (1990) 2264-2268,
       doi:10.1073/pnas.87.6.2264.
    .. [2] S. F. Altschul, W. Gish, "Local alignment statistics", Methods Enzymol. 266 (1996)
       460-480, doi:10.1016/S0076-6879(96)66029-7.
    """
    gaps = scoring.gap_open - scoring.gap_extend, scoring.gap_extend
    for existence, extension, scale, k in _KNOWN.get(_name(scoring), ()):
        if (existence, extension) == gaps:
            return KarlinAltschul(scale, k)
    return None


def known_penalties(scoring: AffineScoring) -> list[tuple[int, int]]:
    """Return the penalties, opening and extending, for which the scores' parameters are known."""
    return [(e + x, x) for e, x, _, _ in _KNOWN.get(_name(scoring), ())]


def usual_penalties(scoring: AffineScoring) -> tuple[int, int] | None:
    """Return default penalties whose parameters are known, None if there are none."""
    usual = _USUAL.get(_name(scoring))
    return usual and (sum(usual), usual[1])


def _name(scoring: AffineScoring) -> str:
    if scoring.matrix is not None:
        return scoring.matrix.name
    return f"{scoring.match}/{scoring.mismatch}"
