"""Accuracy of predicted exons, introns and intron chains, after Burset and Guigo (1996)."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.formats.exons.annotation import TranscriptExons
from gpu_tools.model.exon_set import ExonSet

STRANDS = ("+", "-")


@dataclass(frozen=True)
class Accuracy:
    """Counts at one level, nucleotides or exons."""

    annotated: int  # items of the annotation, of the prediction, and of both
    predicted: int
    true: int

    @property
    def sensitivity(self) -> float | None:
        """True / annotated, or None without annotation."""
        return self.true / self.annotated if self.annotated else None

    @property
    def precision(self) -> float | None:
        """True / predicted, or None without prediction."""
        return self.true / self.predicted if self.predicted else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of sensitivity and precision, or None if there is nothing at all."""
        both = self.annotated + self.predicted
        return 2 * self.true / both if both else None

    def __add__(self, other: Accuracy) -> Accuracy:
        return Accuracy(
            self.annotated + other.annotated,
            self.predicted + other.predicted,
            self.true + other.true,
        )


def compare_exons(
    candidates: Mapping[str, ExonSet], truth: Mapping[str, ExonSet]
) -> dict[str, Accuracy]:
    """Compare predicted exons with annotated ones.

    A nucleotide is annotated or predicted once for each strand on which an exon covers it. An
    exon is true if start, end and strand are right; equal intervals, as several transcripts have
    them, count once. Types and scores do not matter.
    """
    check_in_common(candidates, truth)
    total = {"nucleotide": Accuracy(0, 0, 0), "exon": Accuracy(0, 0, 0)}
    for name in sorted(candidates.keys() | truth.keys()):
        predicted, annotated = (side.get(name, ExonSet.empty()) for side in (candidates, truth))
        for strand in STRANDS:
            one, other = predicted.on_strand(strand), annotated.on_strand(strand)
            total["nucleotide"] += _nucleotides(one, other)
            total["exon"] += _of_sets(_intervals(one), _intervals(other))
    return total


def check_in_common(candidates: Collection[str], truth: Collection[str]) -> None:
    """Raise `InputError` if both sides name sequences, but none in common."""
    if candidates and truth and not set(candidates) & set(truth):
        raise InputError(
            f"candidates and truth have no sequence in common, {next(iter(candidates))!r} and "
            f"{next(iter(truth))!r} being the first of each",
            expected="the same names",
        )


def _nucleotides(predicted: ExonSet, annotated: ExonSet) -> Accuracy:
    edges = np.unique(
        np.concatenate([predicted.starts, predicted.ends, annotated.starts, annotated.ends])
    )
    widths = np.diff(edges)
    by_prediction, by_annotation = (_covered(side, edges) for side in (predicted, annotated))
    return Accuracy(
        int(widths[by_annotation].sum()),
        int(widths[by_prediction].sum()),
        int(widths[by_annotation & by_prediction].sum()),
    )


def _covered(exons: ExonSet, edges: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each interval between two edges whether an exon covers it."""
    change = np.zeros(len(edges), dtype=np.int64)
    np.add.at(change, np.searchsorted(edges, exons.starts), 1)
    np.add.at(change, np.searchsorted(edges, exons.ends), -1)
    return np.cumsum(change)[:-1] > 0


def _intervals(exons: ExonSet) -> set[tuple[int, int]]:
    return set(zip(exons.starts.tolist(), exons.ends.tolist(), strict=True))


def _of_sets(predicted: set, annotated: set) -> Accuracy:
    return Accuracy(len(annotated), len(predicted), len(predicted & annotated))


def compare_transcripts(
    candidates: Iterable[TranscriptExons], truth: Iterable[TranscriptExons]
) -> dict[str, Accuracy]:
    """Compare the introns of predicted transcripts with those of annotated ones.

    An intron is true if strand and both ends are right; an intron chain, all introns of a
    transcript, if all are right and none is missing. Equal ones count once, and transcripts
    without an intron have no chain.
    """
    predicted, annotated = (set(map(_chain_of, side)) for side in (candidates, truth))
    chains = [{chain for chain in side if chain[2]} for side in (predicted, annotated)]
    introns = [{(*chain[:2], one) for chain in side for one in chain[2]} for side in chains]
    return {"intron": _of_sets(*introns), "intron_chain": _of_sets(*chains)}


def _chain_of(transcript: TranscriptExons) -> tuple:
    introns = tuple((a[1], b[0]) for a, b in pairwise(transcript.exons))
    return transcript.record, transcript.strand, introns


def overlapping(
    transcripts: Sequence[TranscriptExons], others: Iterable[TranscriptExons]
) -> Iterator[TranscriptExons]:
    """Yield the transcripts whose span overlaps another one's on its strand."""
    spans = defaultdict(list)
    for other in others:
        spans[other.record, other.strand].append((other.exons[0][0], other.exons[-1][1]))
    known = {}
    for place, several in spans.items():
        several.sort()
        furthest = list(accumulate((end for _, end in several), max))
        known[place] = [start for start, _ in several], furthest
    for transcript in transcripts:
        starts, furthest = known.get(transcript[:2], ([], []))
        before = bisect_left(starts, transcript.exons[-1][1])
        if before and furthest[before - 1] > transcript.exons[0][0]:
            yield transcript
