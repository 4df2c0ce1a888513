"""Karlin and Altschul's statistics of segments of independent scores."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

ROUNDS = 400
"""Convolutions after which the series for K is cut off at the latest."""
WIDEST = 200
"""Steps from the lowest to the highest score; wider scales are made coarser for K."""
_ENOUGH = 1e-9
_NEGLIGIBLE = 1e-13


class Statistics(NamedTuple):
    """Parameters of the distribution of segment scores, for scores in whole units.

    ``decay`` (lambda) per unit, and ``factor`` (K).
    """

    decay: float
    factor: float

    def expected(self, length: int, score: int) -> float:
        """Return the number of segments of at least `score` expected in `length` values."""
        return self.factor * length * math.exp(-self.decay * score)


def statistics(values: ArrayLike) -> Statistics | None:
    """Estimate the statistics of a sequence from the frequencies of its scores.

    Scores are taken as independent draws; real sequences are not, so that the numbers are a guide.
    Where scores spread over more than `WIDEST` steps K is that of rounded ones, some per cent off.

    .. [1] S. Karlin, S. F. Altschul, "Methods for assessing the statistical significance of
       molecular sequence features by using general scoring schemes", PNAS 87 (1990) 2264-2268,
       doi:10.1073/pnas.87.6.2264.
    """
    scores, counts = np.unique(np.asarray(values, dtype=np.int64), return_counts=True)
    span = int(np.gcd.reduce(scores)) or 1
    steps, chances = scores // span, counts / counts.sum()
    if not _holds(steps, chances):
        return None
    coarse = np.rint(steps / max((steps[-1] - steps[0]) / WIDEST, 1)).astype(np.int64)
    if not _holds(coarse, chances):
        return None
    return Statistics(_decay(steps, chances) / span, _factor(coarse, chances))


def _holds(steps: NDArray[np.int64], chances: NDArray[np.float64]) -> bool:
    return bool(steps[-1] > 0 > steps @ chances)


def _factor(steps: NDArray[np.int64], chances: NDArray[np.float64]) -> float:
    """Return K of scores in whole steps."""
    decay = _decay(steps, chances)
    drift = float(steps @ (chances * np.exp(decay * steps)))
    return math.exp(-2 * _series(steps, chances, decay)) / (drift * -math.expm1(-decay))


def _decay(steps: NDArray[np.int64], chances: NDArray[np.float64]) -> float:
    """Return the positive root of sum(chance * exp(root * step)) = 1, by halving."""

    def excess(root: float) -> float:
        # the largest exponent is taken out, so that nothing overflows
        return root * steps[-1] + math.log(chances @ np.exp(root * (steps - steps[-1])))

    high = 1.0
    while excess(high) <= 0:
        high *= 2
    while excess(high / 2) > 0:
        high /= 2
    low = high / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) <= 0 else (low, middle)
    return high


def _series(steps: NDArray[np.int64], chances: NDArray[np.float64], decay: float) -> float:
    """Return sum over k of E(exp(decay * min(S_k, 0))) / k, S_k being the sum of k scores."""
    one = np.zeros(int(steps[-1] - steps[0]) + 1)
    np.add.at(one, steps - steps[0], chances)
    total, density, lowest = 0.0, np.ones(1), 0
    for k in range(1, ROUNDS + 1):
        density, lowest = np.convolve(density, one), lowest + int(steps[0])
        sums = lowest + np.arange(len(density))
        term = float(density @ np.exp(decay * np.minimum(sums, 0)))
        total += term / k
        if term / k < _ENOUGH:
            break
        # what lies far below adds nothing; the rest must not grow without bounds
        keep = density * np.exp(decay * np.minimum(sums, 0)) > _NEGLIGIBLE
        first, last = np.flatnonzero(keep)[[0, -1]]
        density, lowest = density[first : last + 1], lowest + int(first)
    return total
