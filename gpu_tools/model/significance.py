"""Laws of the best scores of unrelated sequences: Gumbel's, and its parameters by lengths.

All numbers here are plain; nothing knows where scores come from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

EULER = 0.5772156649015329
SPREAD = math.pi / math.sqrt(6)
"""Standard deviation of Gumbel's law in units of its scale."""
LEAST_SCALE = 0.5
"""Scale of a law in points, at least: scores are whole numbers."""
_USUAL_LENGTH = 400.0
_CLEARLY = 5.0
"""Scales by which a score is clearly above another one."""
_ROUNDS, _STEPS = 30, 60
_EVERY, _LEAST_EVALUE, _MOST_EXPONENT = 2.0**31, 1e-300, 700.0
NO_SCORE = 2.0**28
"""Points that no chain reaches."""


class Gumbel(NamedTuple):
    """Gumbel's law of the best score, P(score >= s) = 1 - exp(-exp(-(s - location) / scale)).

    Parameters
    ----------
    location, scale : float
        In points of the alignment's scores.
    smaller : tuple of Gumbel
        Laws of smaller spaces. A larger space holds the smaller ones, so that chance is at least
        theirs.
    least : float
        The least E-value: the chance of a copy of the whole target, which no chain outdoes.
    known : bool
        Whether the law holds for targets and bases of such a composition.
    """

    location: float
    scale: float
    smaller: tuple[Gumbel, ...] = ()
    least: float = 0.0
    known: bool = True

    def evalue(self, score: float) -> float:
        """Return how often one unrelated target's best score is at least `score`, 0 to 1."""
        exponent = max((law.location - score) / law.scale for law in (self, *self.smaller))
        return max(chance_of(min(exponent, _MOST_EXPONENT)), self.least)

    def among(self, places: float) -> Gumbel:
        """Return the law of the best score in a number of independent places."""
        return self._replace(location=self.location + self.scale * math.log(places))

    def is_clearly_above(self, score: float, other: float) -> bool:
        """Return whether a score is so far above another one that chance does not explain it."""
        return score - other >= _CLEARLY * self.scale

    def score_at(self, evalue: float) -> float:
        """Return the score that has an E-value; for 1 and more one that every score reaches.

        For less than the least E-value it is one that no score reaches.
        """
        if evalue >= 1:
            return -_EVERY
        if evalue < self.least:
            return NO_SCORE
        exponent = math.log(-math.log1p(-max(evalue, _LEAST_EVALUE)))
        return max(law.location - law.scale * exponent for law in (self, *self.smaller))


NOT_CREDIBLE = Gumbel(math.inf, 1.0)
"""The law of targets whose best score is a matter of chance: its E-values are 1."""


def chance_of(logarithm: float) -> float:
    """Return the chance of at least one event, by the logarithm of the number expected."""
    return -math.expm1(-math.exp(logarithm))


def fit_gumbel(scores: ArrayLike) -> Gumbel:
    """Fit Gumbel's law to best scores by their mean and standard deviation.

    Parameters
    ----------
    scores : array_like of float, shape (n,)
        At least two.

    Returns
    -------
    Gumbel
        The scale is at least `LEAST_SCALE`.

    Raises
    ------
    ValueError
        If there are fewer than two scores.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if len(scores) < 2:
        raise ValueError(f"{len(scores)} scores; expected at least 2")
    return _law(float(scores.mean()), float(scores.std(ddof=1)))


def _law(mean: float, deviation: float, margin: float = 1.0) -> Gumbel:
    scale = max(deviation / SPREAD, LEAST_SCALE)
    return Gumbel(mean - EULER * scale, margin * scale)


class Circumstances(NamedTuple):
    """What the law of a case's best score depends on.

    Attributes
    ----------
    lengths : ndarray of float64, shape (n,)
        Symbols of the target.
    spaces : ndarray of float64, shape (n,)
        Size of what is searched: in site mode nucleotides of the strands tried, in list mode
        distinct candidates of both strands.
    agreements : ndarray of float64, shape (n,)
        Chance that a nucleotide of the target equals one of the base, or a residue the amino acid
        of three of them, by their frequencies.
    repetitions : ndarray of float64, shape (n,), optional
        Chance that two codons of the target have equal nucleotides at the same place; 1/4 for
        random ones. Models with a `RepetitionShift` need them.
    copies : ndarray of float64, shape (n,), optional
        Logarithms of the number of copies of the whole target that chance makes in the base, by
        the frequencies of its symbols; residues of proteins may be similar ones.
    """

    lengths: NDArray[np.float64]
    spaces: NDArray[np.float64]
    agreements: NDArray[np.float64]
    repetitions: NDArray[np.float64] | None = None
    copies: NDArray[np.float64] | None = None

    def least_evalues(self) -> list[float]:
        """Return the chance of at least one copy of each target, 0 where copies are not known."""
        if self.copies is None:
            return [0.0] * len(self.lengths)
        return [chance_of(min(number, _MOST_EXPONENT)) for number in self.copies.tolist()]


class RepetitionShift(NamedTuple):
    """How locations depend on the repetition of the target's codons, in scales.

    Parameters
    ----------
    usual : float
        The repetition that shifts nothing.
    slope : float
        Scales for a repetition that is higher by 1.
    least : float
        The smallest shift, a negative number of scales.
    """

    usual: float
    slope: float
    least: float

    def of(self, repetitions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the shifts of locations, in scales."""
        return np.maximum(self.slope * (repetitions - self.usual), self.least)


@dataclass(frozen=True)
class NullModel:
    """How mean and spread of the best scores of unrelated sequences depend on the circumstances.

    Parameters
    ----------
    mean : tuple of float
        Factors of the terms of the mean, see `terms_of`.
    variance : tuple of float
        Factors of the terms of the variance's logarithm.
    usual_space : float
        Where the space's logarithm is 0.
    least_space : float
        The smallest space that was looked at; a smaller one counts as this, which is on the safe
        side.
    least_agreement : float
        A smaller agreement counts as this, which is on the safe side. 0, the default, changes
        nothing.
    largest_agreement : float
        The largest agreement that was looked at, but for a few. Beyond it laws are not
        `Gumbel.known`: with ever more to agree on, the best scores rise faster than any fit here.
    margin : float
        Scales are multiplied by it, locations stay. Genomes hold stretches of a few amino acids,
        which random sequences do not.
    shift : RepetitionShift, optional
        Of locations, for targets of few codons find such stretches more often.
    """

    mean: tuple[float, ...]
    variance: tuple[float, ...]
    usual_space: float
    least_space: float
    least_agreement: float = 0.0
    largest_agreement: float = 1.0
    margin: float = 1.0
    shift: RepetitionShift | None = None

    def laws(self, circumstances: Circumstances) -> list[Gumbel]:
        """Return the law of each case's best score.

        Between the least, the usual and a case's own space, the E-value of a score above the mean
        is largest at one of these; so with the laws of the smaller ones it never falls as the
        space grows.
        """
        edges = (np.inf, self.usual_space, self.least_space)
        spaces = circumstances.spaces
        several = [
            self._plain_laws(circumstances._replace(spaces=np.minimum(spaces, edge)))
            for edge in edges
        ]
        least = circumstances.least_evalues()
        known = (circumstances.agreements <= self.largest_agreement).tolist()
        return [
            Gumbel(*own[:2], tuple(law for law in dict.fromkeys(others) if law != own), *more)
            for own, *others, more in zip(*several, zip(least, known, strict=True), strict=True)
        ]

    def _plain_laws(self, circumstances: Circumstances) -> list[Gumbel]:
        """Return the laws at the spaces alone, as they were fitted."""
        means, variances = terms_of(self._limited(circumstances), self.usual_space)
        deviations = np.exp(variances @ np.array(self.variance) / 2)
        means = means @ np.array(self.mean)
        pairs = zip(means.tolist(), deviations.tolist(), strict=True)
        laws = [_law(mean, deviation, self.margin) for mean, deviation in pairs]
        return self._shifted(laws, circumstances) if self.shift else laws

    def _limited(self, circumstances: Circumstances) -> Circumstances:
        return circumstances._replace(
            spaces=np.maximum(circumstances.spaces, self.least_space),
            agreements=np.maximum(circumstances.agreements, self.least_agreement),
        )

    def _shifted(self, laws: list[Gumbel], circumstances: Circumstances) -> list[Gumbel]:
        shifts = self.shift.of(circumstances.repetitions).tolist()
        pairs = zip(laws, shifts, strict=True)
        return [Gumbel(law.location + shift * law.scale, law.scale) for law, shift in pairs]


def terms_of(
    circumstances: Circumstances, usual_space: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the terms of the mean, shape (n, 12), and of the variance's logarithm, (n, 3).

    With the target's length n in thousands, L = log(space / usual space), H = max(L, 0), l =
    log(length / 400) and q = 10 (agreement - 1/4) the mean's terms are 1, L, l, n, nL, nl, nq,
    nqL, H, Hl, q and qH, and the variance's 1, l and L.
    """
    length, space = circumstances.lengths, np.log(circumstances.spaces / usual_space)
    n, short = length / 1000, np.log(length / _USUAL_LENGTH)
    q, large, one = 10 * circumstances.agreements - 2.5, np.maximum(space, 0), np.ones(len(length))
    mean = (
        one, space, short, n, n * space, n * short, n * q, n * q * space, large, large * short,
        q, q * large,
    )  # fmt: skip
    return np.stack(mean, axis=1), np.stack((one, short, space), axis=1)


def fit_null_model(
    circumstances: Circumstances, scores: ArrayLike, usual_space: float
) -> NullModel:
    """Fit mean and variance to simulated best scores, by weighted least squares.

    Parameters
    ----------
    circumstances : Circumstances
    scores : array_like of float, shape (n,)
    usual_space : float
        Where the mean's rise with the space's logarithm may change its slope.

    Returns
    -------
    NullModel

    Notes
    -----
    Residuals weighted by the variance give the mean; a gamma regression with a logarithmic link of
    the squared residuals gives the variance; both in turn. Fits by maximum likelihood of Gumbel's
    law follow its light lower tail too closely: their scale is too large.
    """
    scores = np.asarray(scores, dtype=np.float64)
    means, variances = terms_of(circumstances, usual_space)
    deviation = np.ones(len(scores))
    for _ in range(_ROUNDS):
        mean = np.linalg.lstsq(means / deviation[:, None], scores / deviation, rcond=None)[0]
        variance = _gamma_regression(variances, (scores - means @ mean) ** 2)
        deviation = np.exp(variances @ variance / 2)
    least = float(np.min(circumstances.spaces))
    return NullModel(tuple(mean.tolist()), tuple(variance.tolist()), usual_space, least)


def _gamma_regression(terms: NDArray[np.float64], squares: NDArray[np.float64]):
    """Return factors of terms whose sums' exponentials are the squares' expected values."""
    factors = np.zeros(terms.shape[1])
    factors[0] = np.log(max(squares.mean(), LEAST_SCALE**2))
    for _ in range(_STEPS):
        expected = np.exp(terms @ factors)
        step = np.linalg.lstsq(terms, squares / expected - 1, rcond=None)[0]
        factors = factors + step * min(1, 1 / max(np.abs(step).max(), 1e-12))
    return factors
