"""Prediction of candidate exons by a generalised hidden Markov model of genes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.exons.model import ExonModel
from gpu_tools.exons.parse import Parsed, parse
from gpu_tools.model.exon_set import ExonSet


class WindowSizes(NamedTuple):
    """How a long sequence is split: longer ones take more time, not more memory."""

    window: int = 2_000_000  # nucleotides that are parsed at once
    # nucleotides, at most, that are parsed on either side of a window, as its surroundings
    margin: int = 100_000
    # exons of a strand in memory at once. A window with more, say a tandem repeat, is halved.
    most_exons: int = 5_000_000
    smallest: int = 20_000  # nucleotides of a window that is not halved


SIZES = WindowSizes()


def predict_exons(
    codes: NDArray[np.uint8],
    model: ExonModel,
    min_score: float | None = None,
    min_probability: float | None = None,
    sizes: WindowSizes = SIZES,
) -> ExonSet:
    """Predict the candidate exons of a sequence on both strands.

    A candidate begins at an acceptor or at ATG and ends at a donor or with a stop codon: Init is
    ATG to donor, Intr acceptor to donor, Term acceptor to stop codon, Sngl ATG to stop codon. It
    has a frame without a stop codon inside. Its probability is the share of the parses of the
    sequence that have it, by the model's weights; candidates are the exons whose probability
    reaches a cut-off, and those of the best parse.
    """
    score, logarithm = _cutoffs(model, min_score, min_probability)
    sets = []
    for window, parsed in parsed_windows(codes, model, sizes):
        chosen = (parsed.chosen | (parsed.logarithms >= logarithm)) & (parsed.exons.scores >= score)
        sets.append(window.starting_in(parsed.exons.take(chosen)))
    return _sorted(ExonSet.concatenate(sets))


def best_parse(codes: NDArray[np.uint8], model: ExonModel) -> ExonSet:
    """Predict the genes of a sequence: the parse of the greatest weight."""
    exons = [
        window.starting_in(parsed.exons.take(parsed.chosen))
        for window, parsed in parsed_windows(codes, model, SIZES)
    ]
    return _sorted(ExonSet.concatenate(exons))


def _cutoffs(
    model: ExonModel, min_score: float | None, min_probability: float | None
) -> tuple[float, float]:
    """Return the smallest score, a little lowered for rounding, and the smallest logarithm."""
    score = -np.inf if min_score is None else min_score
    probability = model.min_probability if min_probability is None else min_probability
    if min_score is not None and not np.isfinite(min_score):
        raise ScoringError(f"smallest score {min_score} is not a finite number")
    if not 0 <= probability <= 1:
        raise ScoringError(f"smallest probability {probability} is not between 0 and 1")
    return score - 1e-6, np.log2(probability) if probability > 0 else -np.inf


@dataclass(frozen=True)
class ParsedWindow:
    """A window of a sequence, parsed with a margin on either side."""

    low: int
    high: int
    margin: int

    @property
    def first(self) -> int:
        """First position of the window with its margin."""
        return max(self.low - self._width, 0)

    @property
    def _width(self) -> int:
        return min(self.margin, self.high - self.low)

    def cut(self, codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the window's nucleotides with its margins."""
        return codes[self.first : self.high + self._width]

    def starting_in(self, exons: ExonSet) -> ExonSet:
        """Return the exons that begin in the window, in the positions of the sequence."""
        exons = replace(exons, starts=exons.starts + self.first, ends=exons.ends + self.first)
        return exons.take((exons.starts >= self.low) & (exons.starts < self.high))

    def halves(self) -> list[ParsedWindow]:
        """Return the window in two."""
        middle = (self.low + self.high) // 2
        return [replace(self, high=middle), replace(self, low=middle)]


def parsed_windows(
    codes: NDArray[np.uint8], model: ExonModel, sizes: WindowSizes
) -> Iterator[tuple[ParsedWindow, Parsed]]:
    """Yield the windows of a sequence and their parses; each nucleotide is in one of them."""
    n = len(codes)
    count = max(-(-n // sizes.window), 1)
    edges = [n * k // count for k in range(count + 1)]
    left = [ParsedWindow(low, high, sizes.margin) for low, high in pairwise(edges)]
    while left:
        window = left.pop(0)
        small = window.high - window.low <= sizes.smallest
        parsed = parse(window.cut(codes), model, None if small else sizes.most_exons)
        if parsed is None:
            left[:0] = window.halves()
        else:
            yield window, parsed


def _sorted(exons: ExonSet) -> ExonSet:
    return exons.take(np.lexsort((exons.types, exons.ends, exons.starts, exons.reverse)))
