"""Loose ends of a protein's alignment: what exons outside of the aligned part could win."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.results import ProteinAlignment
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.search.windows import CONTEXT, USUAL, longest_intron
from gpu_tools.splicing.proteins.scored import column_scores, sure_stretch

_CODON = 3


class LooseEnd(NamedTuple):
    """An end of a target, up to the first stretch that chance does not align."""

    # by how much its score is below what the rest of the target has for as many residues
    points: float
    nucleotides: int

    def reach(self, max_intron: int) -> int:
        """Return the nucleotides beside an alignment in which other exons could win the points."""
        intron = longest_intron(int(self.points) + USUAL, max_intron)
        return self.nucleotides + intron + CONTEXT


def loose_ends(
    alignment: ProteinAlignment, scoring: ProteinScoring, codons: tuple[int, int]
) -> tuple[LooseEnd, LooseEnd]:
    """Return both ends of a protein's alignment, in reading direction."""
    scores, own = column_scores(alignment, scoring)
    expected = own * min(max(scores.sum() / max(own.sum(), 1), 0), 1)
    mean = expected.sum() / max(len(alignment.residues.replace("-", "")), 1)
    before, behind = alignment.target_start, alignment.target_length - alignment.target_end
    return (
        _loose(scores, expected, before, mean, 0 if alignment.start_codon else codons[0]),
        _loose(scores[::-1], expected[::-1], behind, mean,
               0 if alignment.stop_codon else codons[1]),
    )  # fmt: skip


def _loose(scores: NDArray, expected: NDArray, left_out: int, mean: float, codon: int) -> LooseEnd:
    """Return the end of columns that lacks most points; `left_out` residues lie outside of them."""
    _, columns = sure_stretch(scores)
    lacks = np.append(0, np.cumsum(expected - scores))[: columns + 1]
    most = int(lacks.argmax())
    return LooseEnd(float(lacks[most]) + mean * left_out + codon, _CODON * (most + left_out))
