"""Loose ends of an alignment: what exons outside of the aligned part could win."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.annotate.options import Alignment
from gpu_tools.search.windows import CONTEXT, USUAL, longest_intron
from gpu_tools.splicing.proteins.scored import sure_stretch


class LooseEnd(NamedTuple):
    """An end of a target, up to the first stretch that chance does not align."""

    # by how much its score is below what the rest of the target has for as many residues
    points: float
    nucleotides: int
    symbols: int  # of the target, from the end to behind that stretch

    def reach(self, intron_costs: Iterable[tuple[int, int]], max_intron: int) -> int:
        """Return the nucleotides beside an alignment in which other exons could win the points."""
        intron = longest_intron(int(self.points) + USUAL, intron_costs, max_intron)
        return self.nucleotides + intron + CONTEXT


def loose_ends(
    alignment: Alignment, scores: NDArray, own: NDArray, codons: tuple[int, int], step: int
) -> tuple[LooseEnd, LooseEnd]:
    """Return both ends of an alignment, in reading direction.

    `scores` are those of its columns, and `own` those of each column's symbol with itself, in
    points of the search. `codons` are the points of a start and a stop codon, where they are
    missing, and `step` the nucleotides of a symbol.
    """
    expected = own * min(max(scores.sum() / max(own.sum(), 1), 0), 1)
    start, end = alignment.target_start, alignment.target_end
    mean = expected.sum() / max(end - start, 1)
    behind = alignment.target_length - end
    return (
        _loose(scores, expected, start, mean, codons[0], step),
        _loose(scores[::-1], expected[::-1], behind, mean, codons[1], step),
    )


def _loose(
    scores: NDArray, expected: NDArray, left_out: int, mean: float, codon: int, step: int
) -> LooseEnd:
    """Return the end of columns that lacks most points; `left_out` symbols lie outside of them."""
    _, columns = sure_stretch(scores)
    lacks = np.append(0, np.cumsum(expected - scores))[: columns + 1]
    most = int(lacks.argmax())
    points = float(lacks[most]) + mean * left_out + codon
    return LooseEnd(points, step * (most + left_out), columns + left_out)
