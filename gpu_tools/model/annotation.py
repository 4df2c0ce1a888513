"""Annotated coding sequences, the truth that models are trained on."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpu_tools.model.sequences import Sequence


@dataclass(frozen=True)
class CodingSegment:
    """One segment of a coding sequence.

    Attributes
    ----------
    start, end : int
        0-based half-open interval on the forward strand.
    phase : int
        Bases to skip, in reading direction, to the first whole codon: 0, 1 or 2.
    partial : bool
        Whether the annotation cuts the segment short, so that its outer edge is no exon's end.
    """

    start: int
    end: int
    phase: int
    partial: bool = False


@dataclass(frozen=True)
class CodingSequence:
    """The coding segments of one transcript, in reading order.

    Attributes
    ----------
    name : str
        Identifier of the transcript or of its coding sequence.
    strand : {"+", "-"}
        Strand of all segments.
    segments : tuple of CodingSegment
        Rising positions on ``+``, falling on ``-``; the last segment includes the stop codon.
    line : int, optional
        1-based line of the annotation's file that names it first; equality ignores it.
    """

    name: str
    strand: str
    segments: tuple[CodingSegment, ...]
    line: int | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class AnnotatedSequence:
    """A genomic sequence with its annotated coding sequences."""

    sequence: Sequence
    coding: tuple[CodingSequence, ...]
