"""What the published designs solve: one strand of a case, in transcript direction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpu_tools import Case, SplicedScoring
from gpu_tools.errors import ScoringError
from gpu_tools.model.scoring import LIMIT_INT32
from gpu_tools.model.sequences import reverse_complement


@dataclass(frozen=True)
class Problem:
    """One strand of one case.

    Exons are distinct, 0-based and half-open on the base in transcript direction, ordered by start
    then end; int32 of shape (B, 2).
    """

    base: NDArray[np.uint8]
    target: NDArray[np.uint8]
    exons: NDArray[np.int32]
    match: np.int32
    mismatch: np.int32
    gap: np.int32

    @property
    def columns(self) -> int:
        """Columns of a row, column 0 included."""
        return len(self.target) + 1


def problems(case: Case, scoring: SplicedScoring) -> list[Problem]:
    """Return the problems of the strands that have candidates, ``+`` first.

    A scoring with more than match, mismatch and gap is an error, and so are scores that might
    overflow 32 bits.
    """
    case.check()
    _check(case, scoring)
    weights = [np.int32(w) for w in (scoring.match, scoring.mismatch, scoring.gap)]
    return [
        Problem(base, case.target.codes, exons, *weights)
        for base, exons in _strands(case)
        if len(exons)
    ]


def _check(case: Case, scoring: SplicedScoring) -> None:
    added = scoring.exon_weight, scoring.intron_penalty, scoring.ends
    if scoring.matrix is not None or added != (0, 0, "global"):
        raise ScoringError("the published designs know match, mismatch and gap alone")
    largest = max(abs(scoring.match), abs(scoring.mismatch), abs(scoring.gap), 1)
    if largest * (len(case.base) + len(case.target)) >= LIMIT_INT32:
        raise ScoringError("scores could overflow 32-bit integers")


def _strands(case: Case):
    unique, length = case.exons.unique(), len(case.base)
    for strand in "+-":
        exons = unique.on_strand(strand)
        pairs = np.column_stack([exons.starts, exons.ends])
        if strand == "-":
            pairs = length - pairs[:, ::-1]
        ordered = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))].astype(np.int32)
        yield case.base.codes if strand == "+" else reverse_complement(case.base.codes), ordered


def groups(exons: NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Yield groups of exons of which none can precede another, one at a time.

    A group is closed by the first exon, in order, that starts past the smallest end in the group.
    """
    first, smallest = 0, exons[0, 1]
    for k, (start, end) in enumerate(exons):
        if start >= smallest:
            yield first, k
            first, smallest = k, end
        smallest = min(smallest, end)
    yield first, len(exons)
