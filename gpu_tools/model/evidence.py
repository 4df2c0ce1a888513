"""Splice evidence: introns that were seen, say by RNA-seq, and scores of splice sites.

Evidence is given on the forward strand of a genome's records. A strand of a piece of a record takes
what lies in the piece, in its own reading direction: a chain has the same score in every piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.model.locus import Locus
from gpu_tools.model.sequences import Sequence

JUNCTION_BITS = 1.0
"""Default weight of junctions: bits for each doubling of one more than the count."""
MOST_HALF_BITS, UNLISTED_HALF_BITS = 14, -7
"""A splice score counts as at most so much, and at least minus that; that of a place without."""


@dataclass(frozen=True, eq=False)
class RecordJunctions:
    """Introns seen on a record, each interval of a strand once, by their starts.

    Attributes
    ----------
    starts, ends : ndarray of int64
        0-based half-open intervals on the forward strand.
    reverse : ndarray of bool
        Which are introns of the reverse strand.
    counts : ndarray of int64
        How often each was seen, at least 1.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    reverse: NDArray[np.bool_]
    counts: NDArray[np.int64]

    @classmethod
    def summed(cls, starts, ends, reverse, counts) -> RecordJunctions:
        """Return introns in order; counts of equal ones are added up."""
        keys = np.stack([starts, ends, reverse]).astype(np.int64)
        distinct, places = np.unique(keys, axis=1, return_inverse=True)
        totals = np.zeros(distinct.shape[1], np.int64)
        np.add.at(totals, places.ravel(), counts)
        return cls(distinct[0], distinct[1], distinct[2] > 0, totals)

    def within(self, locus: Locus, reverse: bool) -> NDArray[np.int64]:
        """Return the numbers of the introns of a strand that lie in a locus."""
        low, high = np.searchsorted(self.starts, [locus.start, locus.end])
        part = slice(low, high)
        inside = (self.ends[part] <= locus.end) & (self.reverse[part] == reverse)
        return low + np.flatnonzero(inside)


@dataclass(frozen=True, eq=False)
class PlacedScores:
    """Scores of donors or acceptors of one strand: rising positions on the forward strand."""

    positions: NDArray[np.int64]
    half_bits: NDArray[np.int8]

    @classmethod
    def highest(cls, positions, half_bits) -> PlacedScores:
        """Return scores by position; of several at one position the highest counts."""
        order = np.lexsort((half_bits, positions))
        positions, half_bits = positions[order], half_bits[order]
        is_last = np.append(positions[1:] != positions[:-1], True)[: len(positions)]
        return cls(positions[is_last], half_bits[is_last])

    def read(self, locus: Locus, reverse: bool) -> PlacedScores:
        """Return the scores in a locus at the boundaries of its strand, in reading direction."""
        part = slice(*np.searchsorted(self.positions, [locus.start, locus.end + 1]))
        positions, half_bits = self.positions[part], self.half_bits[part]
        if reverse:
            return PlacedScores(locus.end - positions[::-1], half_bits[::-1])
        return PlacedScores(positions - locus.start, half_bits)

    def at(self, boundaries: NDArray) -> NDArray[np.int64]:
        """Return the scores of boundaries; `UNLISTED_HALF_BITS` where none is given."""
        if not len(self.positions):
            return np.full(len(boundaries), UNLISTED_HALF_BITS)
        places = np.searchsorted(self.positions, boundaries).clip(max=len(self.positions) - 1)
        found = self.half_bits[places].astype(np.int64).clip(-MOST_HALF_BITS, MOST_HALF_BITS)
        return np.where(self.positions[places] == boundaries, found, UNLISTED_HALF_BITS)


NO_SCORES = PlacedScores(np.empty(0, np.int64), np.empty(0, np.int8))
DONOR, ACCEPTOR = "D", "A"


@dataclass(frozen=True, eq=False)
class StrandEvidence:
    """Evidence on a strand of a piece of a record, by boundaries in reading direction.

    Attributes
    ----------
    donors, acceptors : ndarray of int64
        Boundaries of introns that were seen.
    counts : ndarray of int64
        How often each was seen.
    donor_scores, acceptor_scores : PlacedScores, optional
        Splice scores, None if the record has none at all.
    weights : EvidenceWeights
    """

    donors: NDArray[np.int64]
    acceptors: NDArray[np.int64]
    counts: NDArray[np.int64]
    donor_scores: PlacedScores | None
    acceptor_scores: PlacedScores | None
    weights: EvidenceWeights


@dataclass(frozen=True)
class EvidenceWeights:
    """What evidence is worth.

    Parameters
    ----------
    junction : float, optional
        A chain that uses an intron seen n times gains round(junction * log2(1 + n)) points. By
        default `JUNCTION_BITS` times the site model's points of a bit.
    splice : float
        Splice scores are half bits; they count `splice` times the site model's points of a bit.
    splice_only : bool
        Whether splice scores stand for the sites' own points and are not added to them.

    Raises
    ------
    ScoringError
        If a weight is negative or not finite.
    """

    junction: float | None = None
    splice: float = 1.0
    splice_only: bool = False

    def __post_init__(self):
        for weight in (self.junction, self.splice):
            if weight is not None and not 0 <= weight < np.inf:
                raise ScoringError(f"a weight of evidence of {weight}; expected 0 or more")

    def bonuses(self, counts: NDArray[np.int64], points_per_bit: float) -> NDArray[np.int64]:
        """Return the points that introns seen so often gain."""
        weight = JUNCTION_BITS * points_per_bit if self.junction is None else self.junction
        return np.rint(weight * np.log2(1.0 + counts)).astype(np.int64)

    def points(
        self, own: NDArray[np.int32], half_bits: NDArray[np.int64], points_per_bit: float
    ) -> NDArray[np.int64]:
        """Return the points of sites that have some points of their own and splice scores."""
        added = np.rint(self.splice * points_per_bit * half_bits / 2).astype(np.int64)
        return added if self.splice_only else own + added


@dataclass(frozen=True, eq=False)
class SpliceEvidence:
    """Splice evidence on a genome.

    Parameters
    ----------
    junctions : mapping of str to RecordJunctions
        Introns that were seen, by record.
    scores : mapping of (str, str, str) to PlacedScores, optional
        Splice scores by record, strand, and ``D`` for donors or ``A`` for acceptors. On a record
        with any score each site without one has `UNLISTED_HALF_BITS`.
    weights : EvidenceWeights
    source : str, optional
        A text that differs for other files, of which this may be a part.
    """

    junctions: Mapping[str, RecordJunctions] = field(default_factory=dict)
    scores: Mapping[tuple[str, str, str], PlacedScores] | None = None
    weights: EvidenceWeights = EvidenceWeights()
    source: str | None = None

    def on(self, base: Sequence, strand: str) -> StrandEvidence:
        """Return the evidence on a strand of a sequence, which may be a locus of a record."""
        locus, reverse = Locus.of(base), strand == "-"
        seen, empty = self.junctions.get(locus.record), np.empty(0, np.int64)
        donors = acceptors = counts = empty
        if seen is not None:
            own = seen.within(locus, reverse)
            donors, acceptors = seen.starts[own] - locus.start, seen.ends[own] - locus.start
            counts = seen.counts[own]
            if reverse:
                donors, acceptors = len(base) - acceptors, len(base) - donors
        scores = (None, None) if locus.record not in self._scored else (
            self.scores.get((locus.record, strand, kind), NO_SCORES).read(locus, reverse)
            for kind in (DONOR, ACCEPTOR)
        )  # fmt: skip
        return StrandEvidence(donors, acceptors, counts, *scores, self.weights)

    def counts_of(
        self, record: str, strand: str, introns: Iterable[tuple[int, int]]
    ) -> tuple[int, ...]:
        """Return how often introns of a record were seen, given on its forward strand."""
        seen, reverse = self.junctions.get(record), strand == "-"
        if seen is None:
            return tuple(0 for _ in introns)
        counts = []
        for start, end in introns:
            low, high = np.searchsorted(seen.starts, [start, start + 1])
            same = (seen.ends[low:high] == end) & (seen.reverse[low:high] == reverse)
            counts.append(int(seen.counts[low:high][same].sum()))
        return tuple(counts)

    @cached_property
    def _scored(self) -> set[str]:
        """The records that have splice scores."""
        return {record for record, *_ in self.scores or ()}

    @cached_property
    def digest(self) -> str:
        """A text that differs for other evidence or weights."""
        found = sha256(repr((self.weights, self.source, self.scores is None)).encode())
        if self.source is None:
            for record, seen in sorted(self.junctions.items()):
                found.update(f"\n{record}\n".encode())
                for column in (seen.starts, seen.ends, seen.reverse, seen.counts):
                    found.update(np.ascontiguousarray(column).tobytes())
            for key, placed in sorted((self.scores or {}).items()):
                found.update(f"\n{key}\n".encode())
                found.update(placed.positions.tobytes() + placed.half_bits.tobytes())
        return found.hexdigest()[:16]
