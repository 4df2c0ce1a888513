"""Annotated coding sequences, and strands in reading direction that models are trained on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.exon_set import EXON_TYPES
from gpu_tools.model.sequences import Sequence, decode, reverse_complement


@dataclass(frozen=True)
class CodingSegment:
    """One segment of a coding sequence."""

    start: int  # 0-based half-open interval on the forward strand
    end: int
    phase: int  # nucleotides to skip, in reading direction, to the first whole codon: 0, 1 or 2
    # whether the annotation cuts the segment short, so that its outer edge is no exon's end
    partial: bool = False


@dataclass(frozen=True)
class CodingSequence:
    """The coding segments of one transcript, in reading order."""

    name: str  # identifier of the transcript or of its coding sequence
    strand: str  # {"+", "-"}: strand of all segments
    # rising positions on ``+``, falling on ``-``; the last segment includes the stop codon
    segments: tuple[CodingSegment, ...]
    # 1-based line of the annotation's file that names it first; equality ignores it
    line: int | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class AnnotatedSequence:
    """A genomic sequence with its annotated coding sequences."""

    sequence: Sequence
    coding: tuple[CodingSequence, ...]


@dataclass(frozen=True)
class ReadingStrand:
    """One strand in reading direction, what transcripts share counted once."""

    codes: NDArray[np.uint8]  # shape (n,): encoded sequence
    acceptors: NDArray[np.int64]  # edges at sites
    donors: NDArray[np.int64]
    starts: NDArray[np.int64]
    # start, end without a stop codon, and phase of the coding segments
    readings: tuple[tuple[int, int, int], ...]
    # start, end and type (index into `EXON_TYPES`) of the complete segments
    exons: tuple[tuple[int, int, int], ...]
    # start and end of the introns, and the phase of the segment behind
    introns: tuple[tuple[int, int, int], ...]

    @property
    def distinct_introns(self) -> list[tuple[int, int]]:
        """Start and end of the introns, those that differ only in phase once."""
        return sorted({(start, end) for start, end, _ in self.introns})


def strands_of(record: AnnotatedSequence) -> list[ReadingStrand]:
    """Return the forward strand of an annotated sequence and the reverse one, as they are read."""
    codes = record.sequence.codes
    mirrored = reverse_complement(codes)
    forward = [coding for coding in record.coding if coding.strand == "+"]
    reverse = [_mirrored(coding, len(codes)) for coding in record.coding if coding.strand == "-"]
    return [_strand(codes, forward), _strand(mirrored, reverse)]


def _mirrored(coding: CodingSequence, n: int) -> CodingSequence:
    segments = (replace(s, start=n - s.end, end=n - s.start) for s in coding.segments)
    return replace(coding, strand="+", segments=tuple(segments))


def _strand(codes: NDArray[np.uint8], coding: list[CodingSequence]) -> ReadingStrand:
    inner = [(c.segments[:-1], c.segments[1:]) for c in coding]
    first = [c.segments[0] for c in coding if not c.segments[0].partial]
    introns = {
        (one.end, other.start, other.phase) for c in coding for one, other in pairwise(c.segments)
    }
    return ReadingStrand(
        codes,
        _distinct(s.start for _, following in inner for s in following),
        _distinct(s.end for preceding, _ in inner for s in preceding),
        _distinct(s.start for s in first if decode(codes[s.start : s.start + 3]) == "ATG"),
        tuple(sorted({_reading(s, c) for c in coding for s in c.segments})),
        tuple(sorted({exon for c in coding for exon in _complete(c)})),
        tuple(sorted(introns)),
    )


def _distinct(positions: Iterable[int]) -> NDArray[np.int64]:
    return np.array(sorted(set(positions)), dtype=np.int64)


def _reading(segment: CodingSegment, coding: CodingSequence) -> tuple[int, int, int]:
    """Return start, end without the stop codon, and phase."""
    ends = segment is coding.segments[-1] and not segment.partial
    end = max(segment.end - 3, segment.start) if ends else segment.end
    return segment.start, end, segment.phase


def _complete(coding: CodingSequence) -> Iterator[tuple[int, int, int]]:
    """Yield the segments that are exons of a known type."""
    last = len(coding.segments) - 1
    for k, segment in enumerate(coding.segments):
        if not segment.partial:
            name = "Sngl" if last == 0 else {0: "Init", last: "Term"}.get(k, "Intr")
            yield segment.start, segment.end, EXON_TYPES.index(name)
