"""An axis of a record on which exons are drawn to scale and what lies between them is shortened."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

Interval = tuple[int, int]
AXIS_WIDTH = 860.0
"""Pixels of an axis."""
_SIDE = 22.0
"""Pixels at either end, for what lies beside the exons."""
_GAPS = 0.4
"""Largest part of the axis for what is shortened."""
_MOST_PER_NUCLEOTIDE = 1.0
"""Pixels of a nucleotide at most, so that a short exon does not fill the axis."""
_JOINED = 12
"""Gaps of fewer nucleotides are drawn to scale."""


class Stretch(NamedTuple):
    """A part of the axis: nucleotides, pixels, and whether it is to scale."""

    start: int
    end: int
    left: float
    right: float
    to_scale: bool


class ShortenedAxis:
    """Pixels of positions.

    Parameters
    ----------
    exons : iterable of (int, int)
        At least one interval, 0-based half-open; what they cover is drawn to one scale.
    shown : (int, int)
        Interval around them that the axis reaches over.
    """

    def __init__(self, exons: Iterable[Interval], shown: Interval):
        covered = merged(exons)
        gaps = [(a[1], b[0]) for a, b in pairwise(covered)]
        nucleotides = sum(end - start for start, end in covered)
        width = AXIS_WIDTH - 2 * _SIDE
        weights = [math.log2(1 + (end - start) / 40) + 1 for start, end in gaps]
        budget = min(width * _GAPS, 45.0 * len(gaps))
        self.scale = min((width - budget) / nucleotides, _MOST_PER_NUCLEOTIDE)
        """Pixels of a nucleotide of an exon."""
        widths = [
            min(budget * weight / sum(weights), self.scale * (end - start))
            for weight, (start, end) in zip(weights, gaps, strict=True)
        ]
        self.stretches = self._laid_out(covered, widths, shown)
        """Parts of the axis from left to right."""

    def _laid_out(self, covered, widths, shown) -> list[Stretch]:
        stretches = [Stretch(min(shown[0], covered[0][0]), covered[0][0], 0.0, _SIDE, False)]
        for k, (start, end) in enumerate(covered):
            left = stretches[-1].right
            right = left + self.scale * (end - start)
            stretches.append(Stretch(start, end, left, right, True))
            if k < len(widths):
                after = Stretch(end, covered[k + 1][0], right, right + widths[k], False)
                stretches.append(after)
        last = stretches[-1]
        side = Stretch(last.end, max(shown[1], last.end), last.right, last.right + _SIDE, False)
        return [*stretches, side]

    def __call__(self, position: int) -> float:
        """Return the pixel of a position between two nucleotides, within the axis."""
        k = bisect_right(self.stretches, position, key=lambda stretch: stretch.start) - 1
        s = self.stretches[max(k, 0)]
        if s.end == s.start:
            return round(s.right, 1)
        part = min(max((position - s.start) / (s.end - s.start), 0.0), 1.0)
        return round(s.left + part * (s.right - s.left), 1)

    def labels(self, apart: float) -> list[tuple[float, int]]:
        """Return pixels and 1-based positions of first nucleotides of exons, for labels.

        They are at least `apart` pixels apart; the last exon's end is one of them.
        """
        exons = [stretch for stretch in self.stretches if stretch.to_scale]
        last = exons[-1].right, exons[-1].end
        chosen: list[tuple[float, int]] = []
        for stretch in exons:
            far = not chosen or stretch.left - chosen[-1][0] >= apart
            if far and (not chosen or last[0] - stretch.left >= apart):
                chosen.append((round(stretch.left, 1), stretch.start + 1))
        return [*chosen, (round(last[0], 1), last[1])]


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """Return what intervals cover, those joined that fewer than `_JOINED` nucleotides part."""
    covered: list[Interval] = []
    for start, end in sorted(intervals):
        if covered and start - covered[-1][1] < _JOINED:
            covered[-1] = covered[-1][0], max(covered[-1][1], end)
        else:
            covered.append((start, end))
    return covered
