"""Accuracy of introns and of whole intron chains of transcripts."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from gpu_tools.exons.accuracy import Accuracy
from gpu_tools.formats.exons.transcripts import TranscriptExons


def compare_transcripts(
    candidates: Iterable[TranscriptExons], truth: Iterable[TranscriptExons]
) -> dict[str, Accuracy]:
    """Compare the introns of predicted transcripts with those of annotated ones.

    An intron is true if strand and both ends are right; an intron chain, all introns of a
    transcript, if all are right and none is missing. Equal ones count once, and transcripts
    without an intron have no chain.

    Parameters
    ----------
    candidates, truth : iterable of TranscriptExons

    Returns
    -------
    dict of str to Accuracy
        Keys ``intron`` and ``intron_chain``.
    """
    predicted, annotated = (set(map(_chain_of, side)) for side in (candidates, truth))
    chains = [{chain for chain in side if chain[2]} for side in (predicted, annotated)]
    introns = [{(*chain[:2], one) for chain in side for one in chain[2]} for side in chains]
    return {
        level: Accuracy(len(sides[1]), len(sides[0]), len(sides[0] & sides[1]))
        for level, sides in (("intron", introns), ("intron_chain", chains))
    }


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
