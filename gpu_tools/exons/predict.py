"""Prediction of candidate exons by a generalised hidden Markov model of genes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.exons.candidates import ExonSet
from gpu_tools.exons.model import ExonModel
from gpu_tools.exons.parse import parse

WINDOW = 2_000_000
"""Bases that are parsed at once: longer sequences take more time, not more memory."""
MARGIN = 100_000
"""Bases parsed on either side of a window's own, so that its parses know what lies around."""


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
        Encoded sequence, see `gpu_tools.sequences.encode`.
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
    for window in _windows(len(codes)):
        parsed = parse(window.cut(codes), model)
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
        than two million bases is parsed in pieces and two pieces disagree.
    """
    sets = []
    for window in _windows(len(codes)):
        parsed = parse(window.cut(codes), model)
        sets.append(window.own(parsed.exons.take(parsed.chosen)))
    return _sorted(ExonSet.concatenate(sets))


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
    """A piece of a sequence: its own bases, and how far its margins reach."""

    low: int
    high: int
    own_low: int
    own_high: int

    def cut(self, codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return codes[self.low : self.high]

    def own(self, exons: ExonSet) -> ExonSet:
        """Return the exons that begin among the window's own bases, on the whole sequence."""
        exons = ExonSet(
            exons.starts + self.low, exons.ends + self.low, exons.reverse, exons.scores,
            exons.types, exons.probabilities,
        )  # fmt: skip
        return exons.take((exons.starts >= self.own_low) & (exons.starts < self.own_high))


def _windows(n: int) -> Iterator[_Window]:
    """Yield pieces of equal size whose own bases are the sequence, each base in one of them."""
    pieces = max(-(-n // WINDOW), 1)
    edges = [n * k // pieces for k in range(pieces + 1)]
    for low, high in pairwise(edges):
        yield _Window(max(low - MARGIN, 0), min(high + MARGIN, n), low, high)


def _sorted(exons: ExonSet) -> ExonSet:
    return exons.take(np.lexsort((exons.types, exons.ends, exons.starts, exons.reverse)))
