"""How good the best scores of unrelated sequences are: Gumbel's law and E-values.

First the law and its fit to simulated scores, as plain numbers; then the shipped parameters by
scoring, the lengths and compositions of cases that the law depends on, and E-values of alignments.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpu_tools.model.resources import resource_path
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.scoring import ProteinScoring, SplicedScoring
from gpu_tools.model.sequences import AMINO_ACIDS, OTHER, ProteinSequence
from gpu_tools.model.sequences import Sequence as Nucleotides
from gpu_tools.model.translation import amino_acids

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
        return score >= self.clearly_above(other)

    def clearly_above(self, other: float) -> float:
        """Return the least score that is clearly above another one."""
        return other + _CLEARLY * self.scale

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
    """What the law of a case's best score depends on."""

    lengths: NDArray[np.float64]  # shape (n,): symbols of the target
    # shape (n,): size of what is searched: in site mode nucleotides of the strands tried, in
    # list mode distinct candidates of both strands
    spaces: NDArray[np.float64]
    # shape (n,): chance that a nucleotide of the target equals one of the base, or a residue
    # the amino acid of three of them, by their frequencies
    agreements: NDArray[np.float64]
    # shape (n,): chance that two codons of the target have equal nucleotides at the same
    # place; 1/4 for random ones. Models with a `RepetitionShift` need them.
    repetitions: NDArray[np.float64] | None = None
    # shape (n,): logarithms of the number of copies of the whole target that chance makes in
    # the base, by the frequencies of its symbols; residues of proteins may be similar ones
    copies: NDArray[np.float64] | None = None

    def least_evalues(self) -> list[float]:
        """Return the chance of at least one copy of each target, 0 where copies are not known."""
        if self.copies is None:
            return [0.0] * len(self.lengths)
        return [chance_of(min(number, _MOST_EXPONENT)) for number in self.copies.tolist()]


class RepetitionShift(NamedTuple):
    """How locations depend on the repetition of the target's codons, in scales."""

    usual: float  # the repetition that shifts nothing
    slope: float  # scales for a repetition that is higher by 1
    least: float  # the smallest shift, a negative number of scales

    def of(self, repetitions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the shifts of locations, in scales."""
        return np.maximum(self.slope * (repetitions - self.usual), self.least)


@dataclass(frozen=True)
class NullModel:
    """Mean and variance of the best scores of unrelated sequences, as functions of a case.

    Parameters
    ----------
    mean : tuple of float
        Factors of the terms of the mean, see `terms_of`.
    variance : tuple of float
        Factors of the terms of the variance's logarithm.
    usual_space : float
        Where the space's logarithm is 0.
    least_space : float
        The smallest space that was simulated; a smaller one counts as this, which is on the safe
        side.
    least_agreement : float
        A smaller agreement counts as this, which is on the safe side. 0, the default, changes
        nothing.
    largest_agreement : float
        The largest simulated agreement, except for a few. Beyond it laws are not
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
        limited = circumstances._replace(
            spaces=np.maximum(circumstances.spaces, self.least_space),
            agreements=np.maximum(circumstances.agreements, self.least_agreement),
        )
        means, variances = terms_of(limited, self.usual_space)
        deviations = np.exp(variances @ np.array(self.variance) / 2).tolist()
        pairs = zip((means @ np.array(self.mean)).tolist(), deviations, strict=True)
        laws = [_law(mean, deviation, self.margin) for mean, deviation in pairs]
        if self.shift is None:
            return laws
        pairs = zip(laws, self.shift.of(circumstances.repetitions).tolist(), strict=True)
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


# Shipped parameters by scoring.

SIGNIFICANCE_FORMAT = "gpu-tools significance"
_COST = "end_cost"
_CODON = 3
_N_NUCLEOTIDES = 4
_STRANDS = 2
_SIMILAR = 2
"""Residues that score nearly alike, itself counted; so chance copies of proteins are more."""
_RANDOM = 1 / _N_NUCLEOTIDES
"""Chance that two random nucleotides are equal."""
_NUCLEOTIDES_AT_ONCE = 1 << 20
"""Nucleotides that are counted together: numpy makes eight bytes of each."""


def setting_of(
    scoring: SplicedScoring | ProteinScoring, reading: str = "any", sites: str | None = None,
    coding: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Return all that the law of best scores depends on, except lengths and composition."""
    if isinstance(scoring, ProteinScoring):
        costs = {name: getattr(scoring, name) for name in ("gap_open", "gap_extend", "frameshift")}
        pairs = sha256(scoring.substitution.tobytes() + scoring.codons.tobytes()).hexdigest()[:16]
        found = {"sites": sites, "pairs": pairs, **costs, "ends": scoring.ends}
        weights = {"exon_weight": scoring.exon_weight, "intron_penalty": scoring.intron_penalty}
        return found if sites else found | weights
    pairs = {"match": scoring.match, "mismatch": scoring.mismatch}
    if scoring.matrix is not None:
        pairs = {"pairs": sha256(scoring.substitution().tobytes()).hexdigest()[:16]}
    scores = pairs | {"gap": scoring.gap, "ends": scoring.ends}
    if sites:
        kind = {"reading": reading, "coding": coding or reading != "any"}
        return {"sites": sites, **scores, "end_cost": scoring.clip_cost, **kind}
    weights = {"exon_weight": float(scoring.exon_weight), "intron_penalty": scoring.intron_penalty}
    return {"sites": sites, **scores, **weights, "reading": reading}


def null_model(
    scoring: SplicedScoring | ProteinScoring | None = None, reading: str = "any",
    sites: Any = None, coding: bool = False,
) -> NullModel | None:  # fmt: skip
    """Return the shipped model of the best scores of unrelated targets.

    Parameters
    ----------
    scoring : SplicedScoring or ProteinScoring, optional
        The default scoring of cDNAs by default.
    reading : {"any", "complete", "incomplete"}
        Whether chains must translate.
    sites : GeneSites, optional
        The site model; none in list mode.
    coding : bool
        Whether the targets are coding from end to end, as for `tables_of`.

    Returns
    -------
    NullModel or None
        None if nothing is shipped for these scores.

    Notes
    -----
    The parameters come from ``resources/models/calibrate.py``. Those of list mode with an exon
    weight hold for the candidates of ``exons predict``. For a cost of clipped ends that is not
    shipped those of the next smaller one count, which is on the safe side: unrelated targets have
    both ends clipped, so that their scores fall as the cost rises.
    """
    scoring = scoring or SplicedScoring()
    setting = setting_of(scoring, reading, sites and sites.fingerprint, coding)
    return _model_for(setting, shipped_models())


def _model_for(
    setting: dict[str, Any], laws: Iterable[tuple[dict[str, Any], NullModel]]
) -> NullModel | None:
    cost = setting.get(_COST, 0)
    costs = {
        known.get(_COST, 0): model for known, model in laws
        if known.get(_COST, 0) <= cost and known | {_COST: cost} == setting | {_COST: cost}
    }  # fmt: skip
    return costs[max(costs)] if costs else None


def nearest_setting(setting: dict[str, Any]) -> dict[str, Any]:
    """Return the setting with a shipped model that differs from another one in the least values."""
    alike = (known for known, _ in shipped_models() if known.keys() == setting.keys())
    return min(alike, key=lambda known: sum(known[name] != setting[name] for name in known))


def null_model_of_sites(
    name: str, scoring: SplicedScoring | ProteinScoring, reading: str = "any", coding: bool = False
) -> NullModel | None:
    """Return the shipped model for a site model by its name, whatever its weights are now."""
    kind = "proteins-" if isinstance(scoring, ProteinScoring) else ""
    laws = _laws_by_file().get(kind + name, ())
    renamed = ((known | {"sites": name}, model) for known, model in laws)
    return _model_for(setting_of(scoring, reading, name, coding), renamed)


def shipped_models() -> tuple[tuple[dict[str, Any], NullModel], ...]:
    """Return the settings and models of the shipped laws."""
    return tuple(chain.from_iterable(_laws_by_file().values()))


@cache
def _laws_by_file() -> dict[str, tuple[tuple[dict[str, Any], NullModel], ...]]:
    """Return the settings and models of the shipped laws by the names of their files."""
    paths = sorted(resource_path("models", "significance").glob("*.json"))
    contents = {path.stem: json.loads(path.read_text("ascii")) for path in paths}
    return {
        stem: tuple((law["setting"], _null_model_of(law)) for law in content["laws"])
        for stem, content in contents.items()
    }


def _null_model_of(law: dict[str, Any]) -> NullModel:
    limits = law["usual_space"], law["least_space"], law.get("least_agreement", 0.0)
    margin, shift = law.get("margin", 1.0), law.get("repetition")
    terms = tuple(law["mean"]), tuple(law["variance"])
    largest = law["largest_agreement"]
    return NullModel(*terms, *limits, largest, margin, RepetitionShift(**shift) if shift else None)


# Lengths and compositions of cases.


class AlignmentCase(Protocol):
    """A case of list mode or of site mode."""

    base: Nucleotides
    target: Nucleotides
    space: int  # size of what is searched for the target


def null_laws(model: NullModel, cases: Iterable[AlignmentCase]) -> list[Gumbel]:
    """Return the law of the best score of an unrelated target, for each case.

    Parameters
    ----------
    model : NullModel
        Of the scores that the cases were aligned with, see `null_model`.
    cases : iterable of Case or SiteCase

    Returns
    -------
    list of Gumbel
        One for each case: for one target of the case's length and composition, on the strands
        that were tried of the case's base.
    """
    return model.laws(circumstances_of(cases))


def laws_by(models: Sequence[NullModel], circumstances: Circumstances) -> list[Gumbel]:
    """Return the law of each case by a model of its own."""
    laws = {model: model.laws(circumstances) for model in dict.fromkeys(models)}
    return [laws[model][k] for k, model in enumerate(models)]


def circumstances_of(cases: Iterable[AlignmentCase]) -> Circumstances:
    """Return lengths, spaces, agreements and repetitions of cases."""
    # what cases share is counted once
    compositions: dict[int, _TargetComposition] = {}
    expected: dict[tuple[int, type], NDArray[np.float64]] = {}
    rows = []
    for case in cases:
        base, target, key = case.base, case.target, (id(case.base), type(case.target))
        if id(target) not in compositions:
            compositions[id(target)] = _composition_of(target)
        if key not in expected:
            expected[key] = _expected(_shares(_symbols(base)), target)
        own = compositions[id(target)]
        rows.append(_row(expected[key], target, own, case.space, len(base)))
    return _columns(rows)


def least_evalues(cases: Iterable[AlignmentCase]) -> list[float]:
    """Return the least E-value of each case: the chance of a copy of its whole target.

    A short target's copy lies in a long base by chance. So no chain of it is credible, whatever
    its score.
    """
    return circumstances_of(cases).least_evalues()


class Composition(NamedTuple):
    """How long a genome is, and how many A, C, G and T it has; those of parts add up."""

    length: int = 0
    counts: tuple[int, ...] = (0,) * _N_NUCLEOTIDES

    def with_record(self, record: Nucleotides) -> Composition:
        """Return the composition of one more record."""
        counts = zip(self.counts, _counts(record.codes).tolist(), strict=True)
        return Composition(self.length + len(record), tuple(map(sum, counts)))


def genome_circumstances(genome: Composition, targets: Iterable[Nucleotides]) -> Circumstances:
    """Return lengths, space and agreements of targets, both strands of a genome being searched."""
    base, space = _shares(np.array(genome.counts)), _STRANDS * genome.length
    return _columns([
        _row(_expected(base, target), target, _composition_of(target), space, genome.length)
        for target in targets
    ])  # fmt: skip


def _expected(base: NDArray[np.float64], target: Nucleotides) -> NDArray[np.float64]:
    """Return the frequencies that a base has of the symbols of a target, on both its strands."""
    return _acids_of(base) if isinstance(target, ProteinSequence) else (base + base[::-1]) / 2


class _TargetComposition(NamedTuple):
    counts: NDArray[np.int64]
    repetition: float


def _composition_of(target: Nucleotides) -> _TargetComposition:
    repetition = _RANDOM if isinstance(target, ProteinSequence) else repetition_of(target)
    return _TargetComposition(_symbols(target), repetition)


def _row(expected, target: Nucleotides, own: _TargetComposition, space: int, length: int) -> tuple:
    """Return a target's length, space, agreement, repetition and copies by chance."""
    agreement = float(_shares(own.counts) @ expected)
    there = own.counts > 0
    with np.errstate(divide="ignore"):  # of a symbol that the base lacks there is no copy
        logarithms = np.log(_chances(expected, target)[there])
    copies = math.log(max(_STRANDS * length, 1)) + float(own.counts[there] @ logarithms)
    return max(len(target), 1), max(space, 1), agreement, own.repetition, copies


def _chances(expected: NDArray[np.float64], target: Nucleotides) -> NDArray[np.float64]:
    """Return the chance that a place of a base is like each symbol; 1 where it is not known."""
    if not expected.any():  # the base is N alone
        return np.ones(len(expected))
    if not isinstance(target, ProteinSequence):
        return expected
    made = _acids_of(np.ones(_N_NUCLEOTIDES)) > 0  # X and other letters stand for any residue
    return np.where(made, np.minimum(_SIMILAR * expected, 1), 1)


def _columns(rows: list[tuple]) -> Circumstances:
    table = np.array(rows, dtype=np.float64).reshape(-1, len(Circumstances._fields))
    return Circumstances(*table.T)


def repetition_of(target: Nucleotides) -> float:
    """Return how often nucleotides a multiple of three apart are equal, all pairs counted."""
    return float(np.mean([_equal_pairs(_counts(target.codes[k::_CODON])) for k in range(_CODON)]))


def _equal_pairs(counts: NDArray[np.int64]) -> float:
    n = int(counts.sum())
    return float(counts @ (counts - 1)) / (n * (n - 1)) if n > 1 else _RANDOM


def _symbols(sequence: Nucleotides) -> NDArray[np.int64]:
    """Count the amino acids, or A, C, G and T, complements opposite."""
    if isinstance(sequence, ProteinSequence):
        return np.bincount(sequence.codes, minlength=len(AMINO_ACIDS))
    return _counts(sequence.codes)


def _shares(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    return counts / max(counts.sum(), 1)


def _counts(codes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Count A, C, G and T."""
    counts = np.zeros(OTHER + 1, dtype=np.int64)
    for first in range(0, len(codes), _NUCLEOTIDES_AT_ONCE):
        part = codes[first : first + _NUCLEOTIDES_AT_ONCE]
        counts += np.bincount(part, minlength=len(counts))
    return counts[:_N_NUCLEOTIDES]


def _acids_of(nucleotides: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the frequencies of amino acids of both strands' random codons, stops left out."""
    found = np.zeros(len(AMINO_ACIDS))
    for each in (nucleotides, nucleotides[::-1]):
        chances = np.einsum("i,j,k->ijk", each, each, each).ravel() / 2
        acids = amino_acids()[:_N_NUCLEOTIDES, :_N_NUCLEOTIDES, :_N_NUCLEOTIDES].ravel()
        found += np.bincount(acids, chances, minlength=len(AMINO_ACIDS))
    found[AMINO_ACIDS.index("*")] = 0
    return found


def with_evalues(
    alignments: Sequence[SplicedAlignment], laws: Sequence[Gumbel | None]
) -> list[SplicedAlignment]:
    """Return alignments with their E-values.

    Parameters
    ----------
    alignments : sequence of SplicedAlignment
    laws : sequence of Gumbel or None
        The law of each one's best score if its target were unrelated, from `null_laws` or
        `shuffled_laws`; None where it is not known.

    Returns
    -------
    list of SplicedAlignment
        In the same order; `evalue` is None where there is no chain or no law.

    Notes
    -----
    An E-value is the expected number of unrelated targets, of one, whose best score on the base,
    over all strands tried, is at least the given one. So it lies between 0 and 1, and is the
    P-value of one case. For all pairs of T targets and B bases multiply it by T * B.
    """
    pairs = zip(alignments, laws, strict=True)
    return [
        a.with_evalue(law.evalue(a.score_alone)) if law and a.score is not None else a
        for a, law in pairs
    ]
