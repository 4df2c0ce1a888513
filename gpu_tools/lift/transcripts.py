"""Transcripts on the new genome: their exons and coding sequences, and what happened to them."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as List
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.formats.scales import load_matrix
from gpu_tools.lift.alignment import (
    ACCEPTOR,
    DONOR,
    KINDS,
    OUTSIDE_OF_EXONS,
    GeneLocus,
    LocusAlignment,
)
from gpu_tools.local.api import global_align
from gpu_tools.model.genes import LiftedTranscript, ReferenceTranscript, with_phases
from gpu_tools.model.scoring import AffineScoring
from gpu_tools.model.sequences import ProteinSequence
from gpu_tools.model.translation import amino_acids

INTACT, FRAMESHIFT, STOP_INSIDE = "intact", "frameshift", "stop inside"
START_LOST, STOP_LOST, SITE_CHANGED = "start lost", "stop lost", "splice site changed"
TRUNCATED, EXON_LOST = "truncated", "exon lost"
INTRON_LOST, INTRON_GAINED = "intron lost", "intron gained"
STATUSES = (
    INTACT, FRAMESHIFT, STOP_INSIDE, START_LOST, STOP_LOST, SITE_CHANGED, EXON_LOST, INTRON_LOST,
    INTRON_GAINED, TRUNCATED,
)  # fmt: skip
"""What may be said of a transcript; all but the first one may be said together."""
_AMINO_ACIDS = AffineScoring(gap_open=11, gap_extend=1, matrix=load_matrix("BLOSUM62"))
_STOP = 26
_MOST_SLID, _BITS_OF_MATCH = 20, 4.0
"""Nucleotides by which an insertion may lie elsewhere, and bits that a lost match costs."""
_BITS_OF_INTRON = 10.0
"""Bits for an intron of what is inserted in an exon and long enough, whatever its sites."""


class Reading(NamedTuple):
    """Positions of a stretch in reading direction, as those of a record's forward strand."""

    strand: str
    low: int
    high: int

    def to_forward(self, start: int, end: int) -> tuple[int, int]:
        """Return an interval on the forward strand of the record."""
        if self.strand == "+":
            return self.low + start, self.low + end
        return self.high - end, self.high - start

    def to_reading(self, start: int, end: int) -> tuple[int, int]:
        """Return an interval of the record in the stretch."""
        if self.strand == "+":
            return start - self.low, end - self.low
        return self.high - end, self.high - start


class TranscriptChain(NamedTuple):
    """A transcript of the reference in its gene's locus, in reading direction."""

    transcript: ReferenceTranscript
    exons: list[tuple[int, int]]
    coding: list[tuple[int, int]]

    @classmethod
    def of(cls, transcript: ReferenceTranscript, reading: Reading) -> TranscriptChain:
        """Return a transcript's chain in a stretch of its record."""
        exons = sorted(reading.to_reading(*exon) for exon in transcript.exons)
        coding = [reading.to_reading(part.start, part.end) for part in transcript.coding]
        return cls(transcript, exons, coding)


@dataclass(frozen=True)
class TranscriptOutcome:
    """A transcript on the new genome and what is known of it.

    Attributes
    ----------
    lifted : LiftedTranscript
    coverage : float
        Part of the exons' nucleotides that are aligned.
    identity : float
        Identical nucleotides of the columns of the exons' alignment.
    protein_identity : float or None
        The same for the proteins; None without a coding sequence.
    statuses : tuple of str
        Of `STATUSES`.
    protein : ndarray of uint8
        What the coding sequence reads, without the last stop codon.
    """

    lifted: LiftedTranscript
    coverage: float
    identity: float
    protein_identity: float | None
    statuses: tuple[str, ...]
    protein: NDArray[np.uint8] = field(repr=False)


class ExonFigures(NamedTuple):
    """Columns of the alignment of some exons."""

    length: int  # of the exons in the reference
    aligned: int
    identical: int
    columns: int

    @property
    def coverage(self) -> float:
        """Part of the nucleotides that are aligned."""
        return self.aligned / self.length if self.length else 0.0

    @property
    def identity(self) -> float:
        """Identical nucleotides of all columns."""
        return self.identical / self.columns if self.columns else 0.0


def gained_introns(
    locus: GeneLocus, found: LocusAlignment, window: NDArray[np.uint8],
    bits: dict[int, NDArray[np.float64]], shortest: int,
) -> list[tuple[int, int]]:  # fmt: skip
    """Return what is inserted in exons between a donor and an acceptor, at least so long.

    An insertion may lie some nucleotides beside where it was aligned: bits of sites count, less
    those of the matches that are lost.
    """
    rows = np.flatnonzero(found.columns >= 0)
    there, introns = found.columns[rows], []
    in_exon = locus.labels[rows] != OUTSIDE_OF_EXONS
    together = (np.diff(rows) == 1) & (np.diff(there) > shortest) & in_exon[1:] & in_exon[:-1]
    for k in np.flatnonzero(together).tolist():
        row, low, high = int(rows[k]) + 1, int(there[k]) + 1, int(there[k + 1])
        left, right = (
            min(_MOST_SLID, low, row),
            min(_MOST_SLID, len(window) - high, len(locus.codes) - row),
        )
        codes = locus.codes[row - left : row + right]
        before = codes == window[low - left : low + right]
        behind = codes == window[high - left : high + right]
        # of a place the matches before it are those at the insertion's begin
        matches = np.concatenate(([0], np.cumsum(before.astype(int) - behind)))
        bits_there = (
            bits[DONOR][low - left : low + right + 1]
            + (bits[ACCEPTOR][high - left : high + right + 1])
        )
        gain = bits_there + _BITS_OF_MATCH * (matches - matches[left])
        best = int(gain.argmax())
        if gain[best] > -_BITS_OF_INTRON:
            introns.append((low - left + best, high - left + best))
    return introns


def exon_figures(
    locus: GeneLocus, found: LocusAlignment, window: NDArray[np.uint8],
    exons: Iterable[tuple[int, int]], gained: List[tuple[int, int]] = (),
) -> ExonFigures:  # fmt: skip
    """Return figures of the alignment of exons; gained introns are no part of them."""
    length = aligned = identical = columns = 0
    for start, end in exons:
        own = found.columns[start:end]
        pairs = own >= 0
        there = own[pairs]
        length += end - start
        aligned += len(there)
        identical += int((locus.codes[start:end][pairs] == window[there]).sum())
        if len(there):
            introns = sum(b - a for a, b in gained if there[0] < a and b <= there[-1])
            columns += int(there[-1] + 1 - there[0]) - len(there) - introns
        columns += end - start
    return ExonFigures(length, aligned, identical, columns)


class LiftedLocus:
    """A locus of the reference, a window of the new genome, and their alignment."""

    def __init__(
        self, locus: GeneLocus, found: LocusAlignment, window: NDArray[np.uint8],
        reading: Reading, record_length: int, bits: dict[int, NDArray[np.float64]],
        shortest_intron: int = 1,
    ):  # fmt: skip
        self.shortest_intron = shortest_intron
        self.gained = gained_introns(locus, found, window, bits, shortest_intron)
        self.locus, self.found, self.window = locus, found, window
        self.reading, self.record_length = reading, record_length
        # of each edge, as a sum; the bits of whole windows would take much memory
        self.there = sum(kind * (bits[kind][found.edges] > -np.inf) for kind in KINDS)
        self.sites = dict(zip(locus.edges.tolist(), self.there.tolist(), strict=True))
        self.acids = amino_acids()
        self.column = dict(zip(locus.edges.tolist(), found.edges.tolist(), strict=True))
        lost = locus.kinds & ~self.there
        self.lost = dict(zip(locus.edges.tolist(), lost.tolist(), strict=True))

    def outcome(self, chain: TranscriptChain) -> TranscriptOutcome | None:
        """Return a transcript on the new genome, None if none of its exons is there."""
        exons = self._mapped(chain.exons)
        if not exons:
            return None
        figures = exon_figures(self.locus, self.found, self.window, chain.exons, self.gained)
        joined, kept = self._joined(chain, exons)
        whole = list(self._split(joined))
        coding = self._coding(chain, whole)
        origins = self._origins(chain, whole)
        statuses = self._changes(chain, exons, kept, figures)
        statuses += [INTRON_LOST] * (len(joined) < len(exons))
        statuses += [INTRON_GAINED] * (len(joined) < len(whole))
        acids, identity = np.empty(0, np.uint8), None
        segments, has_start, has_stop = (), True, True
        if chain.coding:
            first = chain.transcript.coding[0].phase
            acids, more = self._reading_frame(chain, coding, first)
            statuses += more
            segments = with_phases(
                (self.reading.to_forward(*part) for part in _touching(coding)),
                self.reading.strand, first,
            ) if coding else ()  # fmt: skip
            identity = protein_identity(self._reference_protein(chain), acids)
            has_start, has_stop = START_LOST not in more, STOP_LOST not in more
        statuses = tuple(name for name in STATUSES if name in statuses) or (INTACT,)
        order = sorted(range(len(whole)), key=lambda k: self.reading.to_forward(*whole[k]))
        lifted = LiftedTranscript(
            chain.transcript,
            tuple(self.reading.to_forward(*whole[k]) for k in order),
            segments,
            tuple(origins[k] for k in order),
            has_start, has_stop,
        )  # fmt: skip
        return TranscriptOutcome(
            lifted, figures.coverage, figures.identity, identity, statuses, acids
        )

    def _mapped(self, parts: List[tuple[int, int]]) -> list[tuple[int, int, int]]:
        """Return where parts lie in the window, and their numbers; lost ones are left out."""
        mapped = [(self.column[a], self.column[b], k) for k, (a, b) in enumerate(parts)]
        return [(a, b, k) for a, b, k in mapped if a < b]

    def _origins(self, chain: TranscriptChain, whole: list[tuple[int, int]]) -> list[int]:
        """Return for each exon the reference's exon, by position, whose line it takes."""
        n = len(chain.exons)
        origins = []
        for start, _ in whole:
            number = next(
                k for k, (a, b) in enumerate(chain.exons)
                if start < self.column[b]
            )  # fmt: skip
            origins.append(number if chain.transcript.strand == "+" else n - 1 - number)
        return origins

    def _joined(
        self, chain: TranscriptChain, exons: List[tuple[int, int, int]]
    ) -> tuple[list[tuple[int, int]], set[int]]:
        """Join exons whose introns were lost; return the exons, and which introns are kept.

        What is left of one and is shorter than introns are belongs to the exon if it has not both
        sites, or not half of the least length.
        """
        whole, kept = [exons[0][:2]], set(range(len(chain.exons) - 1))
        for (*_, before), (start, end, k) in pairwise(exons):
            donor, acceptor = chain.exons[before][1], chain.exons[k][0]
            length, least = start - whole[-1][1], min(self.shortest_intron, acceptor - donor)
            has_sites = self.sites[donor] & DONOR and self.sites[acceptor] & ACCEPTOR
            if length <= 0 or 2 * length < least or (length < least and not has_sites):
                whole[-1] = whole[-1][0], max(end, whole[-1][1])
                kept -= set(range(before, k))
            else:
                whole.append((start, end))
        return whole, kept

    def _split(self, exons: List[tuple[int, int]]) -> Iterable[tuple[int, int]]:
        """Yield exons, those with gained introns in parts."""
        for start, end in exons:
            for low, high in self.gained:
                if start < low and high < end:
                    yield start, low
                    start = high
            yield start, end

    def _coding(
        self, chain: TranscriptChain, exons: List[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """Return the coding segments: what of the exons lies between its ends.

        Where the reference leaves out parts of exons between them, each segment is as it is mapped.
        """
        if not chain.coding:
            return []
        whole = _within(chain.exons, chain.coding[0][0], chain.coding[-1][1])
        if whole != chain.coding:
            return [(a, b) for a, b, _ in self._mapped(chain.coding)]
        begin, end = (self.column[chain.coding[k][k]] for k in (0, -1))
        return _within(exons, begin, end)

    def _changes(
        self, chain: TranscriptChain, exons: list, kept: set[int], figures: ExonFigures
    ) -> list[str]:
        """Return what happened to a transcript beside its reading frame."""
        found = []
        if len(exons) < len(chain.exons):
            found.append(EXON_LOST)
        for k, ((_, donor), (acceptor, _)) in enumerate(pairwise(chain.exons)):
            changed = (self.lost[donor] & DONOR) | (self.lost[acceptor] & ACCEPTOR)
            if k in kept and changed and SITE_CHANGED not in found:
                found.append(SITE_CHANGED)
        ends = self.column[chain.exons[0][0]], self.column[chain.exons[-1][1]]
        low, high = self.reading.to_forward(*ends)
        at_end = low == 0 or high == self.record_length
        if at_end and figures.aligned < figures.length:
            found.append(TRUNCATED)
        return found

    def _reading_frame(
        self, chain: TranscriptChain, coding: list[tuple[int, int]], phase: int
    ) -> tuple[NDArray[np.uint8], list[str]]:
        """Return the protein of a coding sequence, and what happened to its frame."""
        own = spliced(self.locus.codes, chain.coding)[phase:]
        codes = spliced(self.window, coding)[phase:]
        acids, before, changes = self._translated(codes), self._translated(own), []
        had_stop = len(before) and before[-1] == _STOP and len(own) % 3 == 0
        if phase == 0 and _is_start(own) and not _is_start(codes):
            changes.append(START_LOST)
        has_stop = len(codes) % 3 == 0 and len(acids) and acids[-1] == _STOP
        if had_stop and not has_stop:
            changes.append(STOP_LOST)
        if has_stop:
            acids = acids[:-1]
        inside = before[:-1] if had_stop else before
        if (acids == _STOP).sum() > (inside == _STOP).sum():
            changes.append(STOP_INSIDE)
        if self._shifts(chain.coding, coding):
            changes.append(FRAMESHIFT)
        return acids, changes

    def _shifts(self, coding: List[tuple[int, int]], new: List[tuple[int, int]]) -> bool:
        """Return whether gaps of the coding sequence shift its frame anywhere."""
        columns = np.concatenate([self.found.columns[a:b] for a, b in coding])
        place = np.full(len(self.window) + 1, -1)
        there = np.concatenate([np.arange(a, b) for a, b in new] or [np.empty(0, np.int64)])
        place[there] = np.arange(len(there))
        place = np.where(columns >= 0, place[columns], -1)
        shift = (place - np.arange(len(place)))[place >= 0]
        return bool((shift % 3 != 0).any()) or len(there) % 3 != len(columns) % 3

    def _reference_protein(self, chain: TranscriptChain) -> NDArray[np.uint8]:
        phase = chain.transcript.coding[0].phase
        acids = self._translated(spliced(self.locus.codes, chain.coding)[phase:])
        return acids[:-1] if len(acids) and acids[-1] == _STOP else acids

    def _translated(self, codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
        codons = codes[: len(codes) // 3 * 3].reshape(-1, 3)
        return self.acids[codons[:, 0], codons[:, 1], codons[:, 2]]


def _is_start(codes: NDArray[np.uint8]) -> bool:
    return codes[:3].tolist() == [0, 3, 2]


def _within(parts: List[tuple[int, int]], begin: int, end: int) -> list[tuple[int, int]]:
    """Return what of some parts lies between two places."""
    cut = ((max(a, begin), min(b, end)) for a, b in parts)
    return [(a, b) for a, b in cut if a < b]


def _touching(parts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in parts:
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def spliced(codes: NDArray[np.uint8], parts: Iterable[tuple[int, int]]) -> NDArray[np.uint8]:
    """Return the nucleotides of parts, joined."""
    return np.concatenate([codes[a:b] for a, b in parts] or [codes[:0]])


def protein_identity(one: NDArray[np.uint8], two: NDArray[np.uint8]) -> float:
    """Return the identical residues of the columns of two proteins' global alignment."""
    if not len(one) or not len(two):
        return 0.0
    if np.array_equal(one, two):
        return 1.0
    pair = ProteinSequence("a", one), ProteinSequence("b", two)
    return global_align([pair], _AMINO_ACIDS, device="cpu", threads=1)[0].identity
