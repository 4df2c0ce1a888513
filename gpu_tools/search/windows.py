"""Windows around chains: what they leave out at their ends, and windows that overlap.

Places are nucleotides in reading direction of a record's strand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.windows import SeedChain

CONTEXT = 200
"""Nucleotides on both sides beyond everything else, for the contexts of sites."""
RISING = (0, 256), (8, 2048), (16, 16384)
"""Points of longer introns: first ones, and nucleotides of each further one; the least counts."""
USUAL = 4
"""Points that a first or last exon brings by itself, less those of a short intron, about."""
COMPLETE_PAID = 9
"""Points that an intron may cost where a chain has all symbols: chance may have extended its last
hit over the end of an exon."""
LEAST_PAID, STEP_PAID, MOST_PAID = 10, 10, 20
"""Points that an intron at an end may cost: those of a chain of the least score, points of the
chain for each further one, and the most. It keeps windows of chance short."""
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
    chains : tuple of SeedChain
        The chains that are in the window, in reading direction, too.
    """

    first: int
    last: int
    start: int
    end: int
    low: int
    high: int
    score: int
    chains: tuple[SeedChain, ...]


@dataclass(frozen=True)
class Reach:
    """How far the ends that a chain leaves out may lie from it.

    Attributes
    ----------
    worth : ndarray of int64, shape (m + 1,)
        Sums of the scores of the target's symbols with themselves, from 0.
    least : int
        Least score of a chain.
    step : int
        Nucleotides of a symbol.
    max_intron : int
    """

    worth: NDArray[np.int64]
    least: int
    step: int
    max_intron: int

    def before(self, first: int, rate: float, score: int) -> int:
        """Return the nucleotides for the symbols before one.

        Parameters
        ----------
        first : int
            The first symbol of a chain.
        rate : float
            Points of the chain's hits for each point of their symbols with themselves.
        score : int
            Of the chain.
        """
        return self._nucleotides(first, rate * float(self.worth[first]), score)

    def after(self, last: int, rate: float, score: int) -> int:
        """Return the nucleotides for the symbols from one on; see `before`."""
        points = rate * float(self.worth[-1] - self.worth[last])
        return self._nucleotides(len(self.worth) - 1 - last, points, score)

    def near(self, symbols: int) -> int:
        """Return the nucleotides for so many symbols beside a chain, without a long intron."""
        return self.step * symbols + longest_intron(COMPLETE_PAID, self.max_intron) + CONTEXT

    def _nucleotides(self, symbols: int, points: float, score: int) -> int:
        most = min(LEAST_PAID + max(score - self.least, 0) // STEP_PAID, MOST_PAID)
        paid = max(min(int(points) + USUAL, most), COMPLETE_PAID)
        intron = longest_intron(paid, self.max_intron)
        return self.step * symbols + intron + CONTEXT


def longest_intron(points: int, max_intron: int) -> int:
    """Return the longest intron that costs so many points more than a short one, at most."""
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
        By start; no two windows overlap, and together they hold what all have held.
    """
    done: list[ChainSpan] = []
    for span in sorted(spans, key=lambda s: (s.start, s.end, s.first)):
        _add(done, span, step, length)
    return done


def _add(done: list[ChainSpan], span: ChainSpan, step: int, length: int) -> None:
    """Add a window behind others, of which no two overlap, so that none does."""
    while done and done[-1].high > span.low:
        *before, span = _together(done.pop(), span, step, length)
        if before:
            _add(done, *before, step, length)
            break
    done.append(span)


def _together(a: ChainSpan, b: ChainSpan, step: int, length: int) -> list[ChainSpan]:
    """Return what becomes of two chains whose windows overlap, `a` beginning first.

    Chains that overlap are one. A chain that is much weaker than the other one and lies in its
    window is part of it. Else there is a border between them. Together they keep all nucleotides of
    both windows: the weaker chain may be a gene, too, whose ends lie beside the other window.
    """
    if b.start < a.end:
        return [_merged(a, b)]
    weak_a, weak_b = a.score < COPY * b.score, b.score < COPY * a.score
    low, high = min(a.low, b.low), max(a.high, b.high)
    if weak_a and b.low <= a.start:
        return [replace(b, low=low, high=high, chains=a.chains + b.chains)]
    if weak_b and b.end <= a.high:
        return [replace(a, low=low, high=high, chains=a.chains + b.chains)]
    border = a.end if weak_a else b.start if weak_b else _border(a, b, step, length)
    border = min(max(border, b.low), a.high)
    return [replace(a, low=low, high=border), replace(b, low=border, high=high)]


def _border(a: ChainSpan, b: ChainSpan, step: int, length: int) -> int:
    """Share what lies between two copies by what each leaves out there."""
    behind, before = step * (length - a.last) + CONTEXT, step * b.first + CONTEXT
    return a.end + (b.start - a.end) * behind // (behind + before)


def _merged(a: ChainSpan, b: ChainSpan) -> ChainSpan:
    return ChainSpan(
        min(a.first, b.first), max(a.last, b.last), a.start, max(a.end, b.end),
        min(a.low, b.low), max(a.high, b.high), max(a.score, b.score), a.chains + b.chains,
    )  # fmt: skip
