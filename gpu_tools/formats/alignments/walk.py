"""Walks chain and CIGAR of a spliced alignment together."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter

from gpu_tools.model.results import (
    CigarOperation,
    ProteinAlignment,
    SplicedAlignment,
    count_columns,
)

Interval = tuple[int, int]
PAIRS = "=X"
_ON_BASE = "=XD"
CODON = 3
UNKNOWN_QUALITY = 255
"""Mapping quality in SAM and PAF where none is known."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class AlignedExon:
    """One exon of a chain with its part of the alignment; intervals are 0-based half-open.

    `interval` is on the base's forward strand, `target` the part of the target, empty if it skips
    the exon; `cigar` is in transcript order, without N.
    """

    interval: tuple[int, int]
    target: tuple[int, int]
    cigar: tuple[CigarOperation, ...]


@dataclass(frozen=True)
class ForwardAlignment:
    """An alignment along the forward strand of the base, from first to last aligned pair.

    `start` and `end` are 0-based half-open on the base. `cigar` is in the base's direction, N for
    introns, adjacent runs different. It neither begins nor ends in D or N; target symbols before
    the first and after the last pair are I.
    """

    start: int
    end: int
    cigar: tuple[CigarOperation, ...]


def aligned_exons(alignment: SplicedAlignment) -> list[AlignedExon]:
    """Cut the alignment into its exons, in transcript order.

    Target symbols at a junction belong to the exon on whose side of the N they stand; between
    exons that touch, which need no N, to the earlier one.
    """
    _check_introns(alignment)
    exons, start = [], alignment.target_start
    for interval, cigar in zip(alignment.chain, _by_exon(alignment), strict=True):
        end = start + count_columns(cigar, PAIRS + "I")
        if count_columns(cigar, _ON_BASE) != interval[1] - interval[0]:
            raise ValueError(f"CIGAR and exon {interval} have different lengths")
        exons.append(AlignedExon(interval, (start, end), tuple(cigar)))
        start = end
    if start != alignment.target_end:
        raise ValueError(f"CIGAR ends at {start} of the target, not at {alignment.target_end}")
    return exons


def _check_introns(alignment: SplicedAlignment) -> None:
    ordered = sorted(alignment.chain)
    gaps = [right[0] - left[1] for left, right in pairwise(ordered)]
    if alignment.strand == "-":
        gaps.reverse()
    introns = [n for operation, n in alignment.cigar if operation == "N" and n]
    if introns != [gap for gap in gaps if gap]:
        raise ValueError(f"introns {introns} in the CIGAR, {gaps} between the chain's exons")


def _by_exon(alignment: SplicedAlignment) -> list[list[CigarOperation]]:
    lengths = iter([end - start for start, end in alignment.chain])
    parts, left = [[]], _next(lengths)
    for operation, length in alignment.cigar:
        if operation == "N":
            parts, left = parts + [[]], _next(lengths)
            continue
        if operation == "I":
            parts[-1].append((operation, length))
            continue
        while length > left:  # a run over exons that touch
            parts[-1] += [(operation, left)] * (left > 0)
            parts, length, left = parts + [[]], length - left, _next(lengths)
        parts[-1].append((operation, length))
        left -= length
    return parts


def _next(lengths: Iterator[int]) -> int:
    for length in lengths:
        return length
    raise ValueError("the CIGAR goes on after the chain's last exon")


def extent(intervals: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return where the first of some intervals begins and where the last one ends."""
    return min(start for start, _ in intervals), max(end for _, end in intervals)


def outer_codons(alignment: SplicedAlignment) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield feature and interval of start and stop codon, which lie in one exon each, if any."""
    if alignment.start_codon:
        yield "start_codon", first_nucleotides(alignment.chain[0], alignment.strand, CODON)
    if alignment.stop_codon:
        opposite = "-" if alignment.strand == "+" else "+"
        yield "stop_codon", first_nucleotides(alignment.chain[-1], opposite, CODON)


def coding_parts(alignment: SplicedAlignment | ProteinAlignment) -> list[tuple[Interval, int]]:
    """Return interval and phase of each part of the coding sequence, in transcript order.

    They are the exons of a chain that translates; of one that splits frameshifts, what is left of
    them without the frameshifts' nucleotides, with the phases of the parts one behind the other.
    """
    if not getattr(alignment, "splits_frameshifts", False):
        return [*zip(alignment.chain, alignment.phases, strict=False)]
    total = sum(end - start for start, end in alignment.chain)
    edges = [0, *(edge for shift in _frameshifts(alignment) for edge in shift), total]
    parts, first, done = [], 0, 0
    for exon in alignment.chain:
        past = first + exon[1] - exon[0]
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            low, high = max(start, first), min(end, past)
            if low < high:
                part = _part_of(exon, alignment.strand, (low - first, high - first))
                parts.append((part, (alignment.phases[0] - done) % CODON))
                done += high - low
        first = past
    return parts


def _frameshifts(alignment: ProteinAlignment) -> Iterator[Interval]:
    """Yield the nucleotides of each frameshift, 0-based half-open, counted along the exons."""
    at = 0
    for letter, length in alignment.cigar:
        if letter in "FG":
            yield at, at + length
        # the codon that an intron splits goes with the intron
        at += {"M": CODON * length, "D": CODON * length, "F": length, "G": length,
               "U": CODON, "V": CODON}.get(letter, 0)  # fmt: skip


def _part_of(interval: Interval, strand: str, inner: Interval) -> Interval:
    """Return the part of an interval that is given in a strand's direction."""
    start, end = interval
    first, past = inner
    return (start + first, start + past) if strand == "+" else (end - past, end - first)


def first_nucleotides(interval: tuple[int, int], strand: str, length: int) -> tuple[int, int]:
    """Return the first nucleotides of an interval in a strand's direction."""
    start, end = interval
    return (start, start + length) if strand == "+" else (end - length, end)


def forward_alignment(alignment: SplicedAlignment) -> ForwardAlignment | None:
    """Return the alignment along the base, or None, with a warning, if it has no aligned pair."""
    exons = aligned_exons(alignment)
    runs = list(_forward_runs(exons, -1 if alignment.strand == "-" else 1))
    paired = [k for k, (operation, _) in enumerate(runs) if operation in PAIRS]
    if not paired:
        _log.warning("%s on %s has no aligned pair", alignment.target, alignment.base)
        return None
    head, tail = runs[: paired[0]], runs[paired[-1] + 1 :]
    middle = runs[paired[0] : paired[-1] + 1]
    start = extent(alignment.chain)[0] + count_columns(head, "DN")
    end = start + count_columns(middle, _ON_BASE + "N")
    runs = [("I", count_columns(head, "I")), *middle, ("I", count_columns(tail, "I"))]
    return ForwardAlignment(start, end, tuple(merge_runs(runs)))


def _forward_runs(exons: Sequence[AlignedExon], step: int) -> Iterator[CigarOperation]:
    previous_end = None
    for exon in exons[::step]:
        if previous_end is not None:
            yield "N", exon.interval[0] - previous_end
        yield from exon.cigar[::step]
        previous_end = exon.interval[1]


def merge_runs(runs: Iterable[CigarOperation]) -> Iterator[CigarOperation]:
    """Drop empty runs and join adjacent ones of the same operation."""
    for operation, group in groupby((run for run in runs if run[1]), key=itemgetter(0)):
        yield operation, sum(length for _, length in group)
