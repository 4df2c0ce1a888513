"""Windows around chains: what they leave out at their ends, and windows that overlap.

Places are nucleotides in reading direction of a record's strand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

MARGIN = 200
"""Nucleotides on both sides beyond everything else, for the contexts of sites."""
RISING = (0, 256), (8, 2048), (16, 16384)
"""Points of longer introns: first ones, and nucleotides of each further one; the least counts."""
UNSEEN = 20
"""Points that an exon without a hit has at most, about."""
LEAST_COST = 4
"""Points that the shortest intron costs with usual sites, about."""
COPY = 0.4
"""Least score of another copy of a gene, as a share of its neighbour's."""


@dataclass(frozen=True)
class ChainSpan:
    """A chain, and the window around it.

    Attributes
    ----------
    first, last : int
        Symbols of the target from the first hit's first one to behind the last hit's last one.
    start, end : int
        Nucleotides of the chain.
    low, high : int
        Nucleotides of the window.
    score : int
    """

    first: int
    last: int
    start: int
    end: int
    low: int
    high: int
    score: int


@dataclass(frozen=True)
class Reach:
    """How far the ends that a chain leaves out may lie from it.

    Attributes
    ----------
    worth : ndarray of int64, shape (m + 1,)
        Sums of the scores of the target's symbols with themselves, from 0.
    step : int
        Nucleotides of a symbol.
    max_intron : int
    """

    worth: NDArray[np.int64]
    step: int
    max_intron: int

    def before(self, first: int, rate: float) -> int:
        """Return the nucleotides for the symbols before one; see `longest_intron` for the rate."""
        return self._nucleotides(first, rate * float(self.worth[first]))

    def after(self, last: int, rate: float) -> int:
        """Return the nucleotides for the symbols from one on."""
        left = len(self.worth) - 1 - last
        return self._nucleotides(left, rate * float(self.worth[-1] - self.worth[last]))

    def _nucleotides(self, symbols: int, points: float) -> int:
        paid = int(min(points, UNSEEN)) - LEAST_COST
        intron = longest_intron(paid, self.max_intron) if symbols and paid >= 0 else 0
        return self.step * symbols + intron + MARGIN


def longest_intron(points: int, max_intron: int) -> int:
    """Return the longest intron that costs no more than symbols behind it bring.

    Parameters
    ----------
    points : int
        What the symbols that a chain leaves out would score at its own rate: points of its hits
        for each point of their symbols with themselves.
    max_intron : int
    """
    lengths = (every * (points - first) for first, every in RISING if points >= first)
    return min(max(lengths, default=0), max_intron)


def resolved(spans: list[ChainSpan], step: int, length: int) -> list[ChainSpan]:
    """Merge windows of a strand that overlap, or put a border between two copies.

    Parameters
    ----------
    spans : list of ChainSpan
    step : int
        Nucleotides of a symbol.
    length : int
        Symbols of the target.

    Returns
    -------
    list of ChainSpan
        By start; no two windows overlap.
    """
    done: list[ChainSpan] = []
    for span in sorted(spans, key=lambda s: (s.start, s.end, s.first)):
        done.append(span)
        while len(done) > 1 and done[-2].high > done[-1].low:
            done[-2:] = _together(*done[-2:], step, length)
    return done


def _together(a: ChainSpan, b: ChainSpan, step: int, length: int) -> list[ChainSpan]:
    """Return what becomes of two chains whose windows overlap, `a` beginning first.

    Chains that overlap are one. A chain that is much weaker than the other one and lies in its
    window is part of it. Else there is a border between them.
    """
    if b.start < a.end:
        return [_merged(a, b)]
    weak_a, weak_b = a.score < COPY * b.score, b.score < COPY * a.score
    if weak_a and b.low <= a.start:
        return [b]
    if weak_b and b.end <= a.high:
        return [a]
    border = a.end if weak_a else b.start if weak_b else _border(a, b, step, length)
    return [replace(a, high=min(a.high, border)), replace(b, low=max(b.low, border))]


def _border(a: ChainSpan, b: ChainSpan, step: int, length: int) -> int:
    """Share what lies between two copies by what each leaves out there."""
    behind, before = step * (length - a.last) + MARGIN, step * b.first + MARGIN
    return a.end + (b.start - a.end) * behind // (behind + before)


def _merged(a: ChainSpan, b: ChainSpan) -> ChainSpan:
    return ChainSpan(
        min(a.first, b.first), max(a.last, b.last), a.start, max(a.end, b.end),
        min(a.low, b.low), max(a.high, b.high), max(a.score, b.score),
    )  # fmt: skip
