"""Prediction of candidate exons by a generalised hidden Markov model of genes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

import gpu_tools.hardware.compile_cache  # noqa: F401  (compiled functions on disk: one process at a time)
from gpu_tools.errors import ScoringError
from gpu_tools.exons.model import ExonModel
from gpu_tools.exons.parse import Parsed, parse
from gpu_tools.model.exon_set import ExonSet

WINDOW = 2_000_000
"""Bases that are parsed at once: longer sequences take more time, not more memory."""
MARGIN = 100_000
"""Most bases parsed on either side of a window's own, so that its parses know what lies around."""
MOST_EXONS = 5_000_000
"""Exons of a strand that are held at once; a window of more, say a tandem repeat, is halved."""
SMALLEST = 20_000
"""Bases of a window that is not halved."""


def predict_exons(
    codes: NDArray[np.uint8],
    model: ExonModel,
    min_score: float | None = None,
    min_probability: float | None = None,
) -> ExonSet:
    """Predict the candidate exons of a sequence on both strands.

    A candidate begins at an acceptor or at ATG and ends at a donor or with a stop codon: Init is
    ATG to donor, Intr acceptor to donor, Term acceptor to stop codon, Sngl ATG to stop codon. It
    has a frame without a stop codon inside. Its probability is the share of the parses of the
    sequence that have it, by the model's weights; candidates are the exons whose probability
    reaches a cut-off, and those of the best parse.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded sequence, see `gpu_tools.model.sequences.encode`.
    model : ExonModel
        See `load_model`.
    min_score : float, optional
        Smallest score, in bits, of a candidate; none by default.
    min_probability : float, optional
        Smallest posterior probability, from 0 to 1, of a candidate that is not in the best parse;
        the model's by default.

    Returns
    -------
    ExonSet
        0-based half-open intervals on the forward strand, sorted by strand (+ first), start, end
        and type, each once for each type. Scores are bits, multiples of 0.01: sites and bases, in
        the best open frame. Probabilities are those of all frames together.

    Raises
    ------
    ScoringError
        If a cut-off is no finite number, or a probability lies outside 0 to 1.
    """
    score, logarithm = _cutoffs(model, min_score, min_probability)
    sets = []
    for window, parsed in _parsed(codes, model):
        kept = (parsed.chosen | (parsed.logarithms >= logarithm)) & (parsed.exons.scores >= score)
        sets.append(window.own(parsed.exons.take(kept)))
    return _sorted(ExonSet.concatenate(sets))


def best_parse(codes: NDArray[np.uint8], model: ExonModel) -> ExonSet:
    """Predict the genes of a sequence: the parse of the greatest weight.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded sequence.
    model : ExonModel
        See `load_model`.

    Returns
    -------
    ExonSet
        Its exons as `predict_exons` gives them; no two overlap, except where a sequence of more
        than two million bases, or one of very many exons, is parsed in pieces and two disagree.
    """
    return _sorted(
        ExonSet.concatenate(
            window.own(parsed.exons.take(parsed.chosen)) for window, parsed in _parsed(codes, model)
        )
    )


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
class _Window:
    """A piece of a sequence, its own bases; margins on either side let it see what lies around."""

    own_low: int
    own_high: int

    @property
    def _margin(self) -> int:
        return min(MARGIN, self.own_high - self.own_low)

    def cut(self, codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the window's own bases with its margins."""
        return codes[self._low : self.own_high + self._margin]

    @property
    def _low(self) -> int:
        return max(self.own_low - self._margin, 0)

    def own(self, exons: ExonSet) -> ExonSet:
        """Return the exons that begin among the window's own bases, on the whole sequence."""
        exons = replace(exons, starts=exons.starts + self._low, ends=exons.ends + self._low)
        return exons.take((exons.starts >= self.own_low) & (exons.starts < self.own_high))

    def most(self) -> int | None:
        """Return how many exons a strand of it may have before the window is halved."""
        return MOST_EXONS if self.own_high - self.own_low > SMALLEST else None

    def halves(self) -> list[_Window]:
        """Return the window in two."""
        middle = (self.own_low + self.own_high) // 2
        return [replace(self, own_high=middle), replace(self, own_low=middle)]


def _parsed(codes: NDArray[np.uint8], model: ExonModel) -> Iterator[tuple[_Window, Parsed]]:
    """Yield the windows of a sequence and what their parses say; each base is in one of them."""
    n = len(codes)
    pieces = max(-(-n // WINDOW), 1)
    edges = [n * k // pieces for k in range(pieces + 1)]
    left = [_Window(low, high) for low, high in pairwise(edges)]
    while left:
        window = left.pop(0)
        parsed = parse(window.cut(codes), model, window.most())
        if parsed is None:
            left[:0] = window.halves()
        else:
            yield window, parsed


def _sorted(exons: ExonSet) -> ExonSet:
    return exons.take(np.lexsort((exons.types, exons.ends, exons.starts, exons.reverse)))
