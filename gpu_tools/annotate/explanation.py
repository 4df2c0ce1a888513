"""Explanation of targets by structures: how well a target aligns with what a chain makes."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_tools.annotate.gene_set import Hit
from gpu_tools.annotate.genome import GenomeRecords
from gpu_tools.annotate.targets import TargetSet
from gpu_tools.local.problem import global_score
from gpu_tools.model.sequences import Sequence as Nucleotides
from gpu_tools.model.sequences import reverse_complement


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
            codes = target.codes
            if getattr(hit.alignment, "target_reversed", False):
                codes = reverse_complement(codes)
            self._scores[key] = global_score(product.codes, codes[low:high], own.pairwise)
        return self._scores[key]
