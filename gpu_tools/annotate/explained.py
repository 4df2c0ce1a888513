"""How well structures explain targets, by the scores of global alignments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpu_tools.annotate.genes import Hit
from gpu_tools.annotate.genome import GenomeRecords
from gpu_tools.annotate.targets import TargetSet
from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.model.scoring import AffineScoring
from gpu_tools.model.sequences import Sequence as Nucleotides

_IMPOSSIBLE = -(1 << 30)


class Explanation:
    """Compares structures by how well they explain targets; each alignment is scored once.

    Parameters
    ----------
    genome : GenomeRecords
    targets : sequence of TargetSet
        All targets, whose numbers hits have.
    """

    def __init__(self, genome: GenomeRecords, targets: Sequence[TargetSet]):
        self._genome = genome
        self._targets = [(some, sequence) for some in targets for sequence in some.sequences]
        self._scores: dict[tuple, int] = {}

    def gain(self, hit: Hit, other: Hit) -> float:
        """Return how much better a hit's structure explains its target than another's does.

        It is the difference of the scores of the target, as far as it is aligned, against what
        either chain makes, in units of what is clearly better. A protein is compared with a
        protein, a cDNA with a spliced sequence. Targets of two kinds are not compared.
        """
        own, _ = self._targets[hit.target]
        if self._targets[other.target][0].kind != own.kind:
            return 0.0
        one, two = (self._product(own, each) for each in (hit, other))
        if one.letters() == two.letters():
            return 0.0
        return (self._against(hit, one) - self._against(hit, two)) / own.clearly

    def _product(self, own: TargetSet, hit: Hit) -> Nucleotides:
        record, first = self._genome.sequence_at(hit.alignment.base, hit.exons[0][0])
        return own.product(hit.alignment, record, first)

    def _against(self, hit: Hit, product: Nucleotides) -> int:
        """Return the score of a hit's target against a product."""
        low, high = hit.alignment.target_start, hit.alignment.target_end
        key = hit.target, low, high, product.letters()
        if key not in self._scores:
            own, target = self._targets[hit.target]
            self._scores[key] = global_score(product.codes, target.codes[low:high], own.pairwise)
        return self._scores[key]


def global_score(
    one: NDArray[np.uint8], two: NDArray[np.uint8], scoring: AffineScoring
) -> int:  # fmt: skip
    """Return the score of the best alignment of two whole sequences; the second is not empty."""
    table = scoring.table().astype(np.int32)
    return int(_global_score(one, two, table, scoring.gap_open, scoring.gap_extend))


@njit(cache=True, nogil=True)
def _global_score(one, two, table, gap_open, gap_extend):
    """Compute row by row; cells are lifted by `gap_extend` a column.

    So a gap in a row costs the same wherever it ends, and what it brings is a running maximum. The
    first column is kept apart from the others.
    """
    lanes, opening = simd.VECTOR_BYTES // 4, gap_open - gap_extend
    width = -(-len(two) // lanes) * lanes
    profile = np.zeros((len(table), width), np.int32)
    profile[:, : len(two)] = table[:, two] + gap_extend
    row, gaps = np.full(width, -opening, np.int32), np.full(width, _IMPOSSIBLE, np.int32)
    open, extend = simd.splat(np.int32(gap_open)), simd.splat(np.int32(gap_extend))
    begins, corner = simd.splat(np.int32(opening)), np.int32(0)
    for i in range(len(one)):
        best, before, scores = np.int32(-gap_open - i * gap_extend), corner, one[i] * width
        corner = best
        for k in range(0, width, lanes):
            above = simd.load(row, k)
            gap = simd.maximum(
                simd.subtract(simd.load(gaps, k), extend), simd.subtract(above, open)
            )
            simd.store(gaps, k, gap)
            pair = simd.add(simd.shift_in(above, before), simd.load(profile, scores + k))
            cell = simd.maximum(pair, gap)
            running = simd.maximum(simd.prefix_maximum(cell), simd.splat(best))
            left = simd.subtract(simd.shift_in(running, best), begins)
            simd.store(row, k, simd.maximum(cell, left))
            before, best = simd.last_lane(above), simd.last_lane(running)
    return row[len(two) - 1] - len(two) * gap_extend
