"""Genes of an annotation with their transcripts and lines, and the same genes on another genome."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gpu_tools.model.annotation import CodingSegment

Interval = tuple[int, int]
Attributes = tuple[tuple[str, str], ...]
"""Keys and values of attributes in their order; values are escaped as GFF3 writes them."""
EXON, CODING, FIVE_UTR, THREE_UTR, UTR = "exon", "CDS", "five_prime_UTR", "three_prime_UTR", "UTR"
START, STOP, INTRON, PROTEIN, OTHER = "start_codon", "stop_codon", "intron", "protein", "other"


@dataclass(frozen=True)
class ReferenceLine:
    """A line of an annotation."""

    kind: str  # of a part of a transcript, EXON to OTHER; else the type
    type: str
    record: str
    source: str
    interval: Interval  # 0-based half-open
    score: str
    strand: str
    phase: str
    attributes: Attributes
    line: int | None  # 1-based; None if the file has no line for it, as GTF may have none for genes

    def attribute(self, key: str) -> str | None:
        """Return the value of an attribute, None without it."""
        return next((value for name, value in self.attributes if name == key), None)


@dataclass(frozen=True)
class ReferenceTranscript:
    """A transcript of an annotation; what lies directly under a gene is one without own line."""

    id: str
    record: str
    strand: str  # {"+", "-"}
    exons: tuple[Interval, ...]  # by position, 0-based half-open; those that abut are one
    coding: tuple[CodingSegment, ...]  # in reading order, with the stop codon; () if non-coding
    feature: ReferenceLine | None  # None: the parts are the gene's
    parts: tuple[ReferenceLine, ...]  # in the order of the file

    @property
    def interval(self) -> Interval:
        """From the first exon's start to the last one's end."""
        return self.exons[0][0], self.exons[-1][1]


@dataclass(frozen=True)
class ReferenceGene:
    """A gene of an annotation."""

    id: str
    record: str
    strand: str  # {"+", "-"}
    interval: Interval  # that of its line, else of its transcripts
    feature: ReferenceLine | None  # None: the transcript stands alone
    transcripts: tuple[ReferenceTranscript, ...]  # in the order of the file, at least one


class OddGene(NamedTuple):
    """A gene, or one transcript of it, that is left out, and why."""

    gene: str
    transcript: str  # "" if the whole gene is left out
    line: int  # 1-based, in the annotation
    reason: str


@dataclass(frozen=True)
class GeneAnnotation:
    """The genes of an annotation's file."""

    genes: list[ReferenceGene]  # in the order of the file
    odd: list[OddGene]
    others: dict[str, int]  # number of features, by type, that belong to no gene
    is_gtf: bool


@dataclass(frozen=True)
class LiftedTranscript:
    """A transcript on another genome."""

    transcript: ReferenceTranscript
    exons: tuple[Interval, ...]  # by position, 0-based half-open
    coding: tuple[CodingSegment, ...] = ()  # in reading order, with the stop codon if there is one
    # for each of `exons` the index of the reference's exon, which gives the line's attributes;
    # None: as many exons as the reference has, in reading order
    exon_origins: tuple[int, ...] | None = None
    has_start: bool = True  # whether `coding` begins with a start codon and ends with a stop codon
    has_stop: bool = True
    attributes: Attributes = ()  # further ones of its line, behind its own

    @property
    def interval(self) -> Interval:
        """From the first exon's start to the last one's end."""
        return self.exons[0][0], self.exons[-1][1]


@dataclass(frozen=True)
class LiftedGene:
    """A gene on another genome: all of its transcripts lie on one strand of one record."""

    gene: ReferenceGene
    record: str
    strand: str  # {"+", "-"}
    transcripts: tuple[LiftedTranscript, ...]  # in the order of the reference, at least one
    attributes: Attributes = ()  # further ones of its line
    copy: int = 0  # 0 for the gene itself, 1 and on for further copies

    @property
    def interval(self) -> Interval:
        """From the first transcript's start to the last one's end."""
        return (
            min(one.exons[0][0] for one in self.transcripts),
            max(one.exons[-1][1] for one in self.transcripts),
        )


def with_phases(
    intervals: Iterable[Interval], strand: str, phase: int = 0
) -> tuple[CodingSegment, ...]:
    """Return the coding segments, in reading order, of intervals that are read in one frame.

    `phase` is that of the first segment.
    """
    segments = []
    for start, end in sorted(intervals, reverse=strand == "-"):
        segments.append(CodingSegment(start, end, phase))
        phase = (phase - (end - start)) % 3
    return tuple(segments)


def untranslated(
    exons: Sequence[Interval], coding: Sequence[CodingSegment], strand: str
) -> tuple[list[Interval], list[Interval]]:
    """Return the parts of exons before and behind the coding sequence in reading direction."""
    begin, end = min(s.start for s in coding), max(s.end for s in coding)
    left = [(a, min(b, begin)) for a, b in exons if a < begin]
    right = [(max(a, end), b) for a, b in exons if b > end]
    return (left, right) if strand == "+" else (right, left)
