"""Windows around chains: what they leave out at their ends, and windows that overlap.

Places are nucleotides in reading direction of a record's strand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpu_tools.search.cpu.chains import rise

MARGIN = 200
"""Nucleotides on both sides beyond everything else, for the contexts of sites."""
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
        intron = longest_intron(int(points), self.max_intron) if symbols else 0
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
    low, high = 0, max_intron
    while low < high:
        middle = (low + high + 1) // 2
        if rise(middle) <= points:
            low = middle
        else:
            high = middle - 1
    return low


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
            a, b = done[-2:]
            if _are_copies(a, b):
                border = _border(a, b, step, length)
                done[-2:] = replace(a, high=min(a.high, border)), replace(b, low=max(b.low, border))
                break
            done[-2:] = [_merged(a, b)]
    return done


def _are_copies(a: ChainSpan, b: ChainSpan) -> bool:
    """Tell whether a chain that begins first and another one may be two copies of a gene."""
    apart = a.end <= b.start
    again = b.first < a.last - min(a.last - a.first, b.last - b.first) // 2
    return apart and again and min(a.score, b.score) >= COPY * max(a.score, b.score)


def _border(a: ChainSpan, b: ChainSpan, step: int, length: int) -> int:
    """Share what lies between two copies by what each leaves out there."""
    behind, before = step * (length - a.last) + MARGIN, step * b.first + MARGIN
    return a.end + (b.start - a.end) * behind // (behind + before)


def _merged(a: ChainSpan, b: ChainSpan) -> ChainSpan:
    score = a.score + b.score if b.first >= a.last and b.start >= a.end else max(a.score, b.score)
    return ChainSpan(
        min(a.first, b.first), max(a.last, b.last), a.start, max(a.end, b.end),
        min(a.low, b.low), max(a.high, b.high), score,
    )  # fmt: skip
