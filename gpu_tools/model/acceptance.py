"""Which chains are accepted, and what of their targets lies beyond an end of the sequence."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median_low
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.locus import Locus
from gpu_tools.model.results import ProteinAlignment, SplicedAlignment
from gpu_tools.model.sequences import OTHER, Sequence

YES, PART, NO = "yes", "part", "no"
"""Values of the column ``accepted``."""
GAP = 10
"""Unknown nucleotides in a row, at least, that are a gap: GenBank reads such a run of N in an
assembly as a gap, whose length need not be that of what is missing."""
_CODON = 3
_Chain = TypeVar("_Chain", SplicedAlignment, ProteinAlignment)


@dataclass(frozen=True)
class Acceptance:
    """What a chain must reach to be accepted.

    Parameters
    ----------
    max_evalue, min_identity : float
        Largest E-value and smallest identity of a credible chain; an unknown E-value counts as 0.
    min_coverage : float
        Smallest coverage of an accepted one, see `SplicedAlignment.coverage_within`.
    min_confidence : int
        Least confidence of the introns of a credible chain, if that is known.
    """

    max_evalue: float = 0.001
    min_identity: float = 0.0
    min_coverage: float = 0.5
    min_confidence: int = 0

    def is_credible(self, alignment: SplicedAlignment | ProteinAlignment) -> bool:
        """Return whether there is a chain within all limits but that of coverage."""
        return (
            alignment.columns > 0
            and (alignment.evalue or 0.0) <= self.max_evalue
            and (not self.min_identity or alignment.identity >= self.min_identity)
            and (
                alignment.min_confidence is None or alignment.min_confidence >= self.min_confidence
            )
        )

    def verdict(self, alignment: SplicedAlignment | ProteinAlignment) -> str:
        """Return `YES`, `PART` for a credible chain that covers too little, or `NO`."""
        if not self.is_credible(alignment):
            return NO
        return YES if alignment.coverage_within >= self.min_coverage else PART


def with_cut_ends(alignment: _Chain, base: Sequence, first: int = 0) -> _Chain:
    """Return an alignment that knows which symbols of its target lie beyond the sequence.

    A target's end that is aligned to nothing would go on beside the chain, behind an intron as long
    as the chain's usually are. Of its nucleotides those lie beyond the sequence that do not fit
    between there and the next gap (`GAP`) or end of the record; an end of a locus that is none of
    its record is no such end.

    Parameters
    ----------
    alignment : SplicedAlignment or ProteinAlignment
    base : Sequence
        That to which the target is aligned, on the forward strand.
    first : int
        Coordinate of its first nucleotide in the alignment.
    """
    if not alignment.chain:
        return alignment
    unit = _CODON if isinstance(alignment, ProteinAlignment) else 1
    exons = [(start - first, end - first) for start, end in sorted(alignment.chain)]
    introns = [right - left for (_, left), (right, _) in pairwise(exons)]
    intron = median_low(introns) if introns else 0
    locus, codes = Locus.of(base), base.codes
    below = codes[: exons[0][0]][::-1], locus.start == 0
    above = codes[exons[-1][1] :], locus.end == locus.record_length
    sides = (below, above) if alignment.strand == "+" else (above, below)
    beyond = []
    for symbols, side in zip(alignment.unaligned_ends, sides, strict=True):
        room = _room(*side, unit * symbols + intron)
        fitting = symbols if room is None else max(room - intron, 0) // unit
        beyond.append(max(symbols - fitting, 0))
    return alignment.changed(beyond=tuple(beyond))


def _room(codes: NDArray[np.uint8], is_end: bool, enough: int) -> int | None:
    """Return the nucleotides before the first gap or the end; None if none is near."""
    near = codes[: enough + GAP]
    known = np.concatenate([[-1], np.flatnonzero(near != OTHER), [len(near)]])
    gaps = np.flatnonzero(np.diff(known) > GAP)
    if len(gaps):
        return int(known[gaps[0]]) + 1
    return len(codes) if is_end and len(near) == len(codes) else None
