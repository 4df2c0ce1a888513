"""Which law the best scores of unrelated targets follow: shipped parameters by scoring."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.genetic_codes import amino_acids
from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.model.resources import resource_path
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import AMINO_ACIDS, OTHER, ProteinSequence
from gpu_tools.model.sequences import Sequence as Nucleotides
from gpu_tools.model.significance import Circumstances, Gumbel, NullModel, RepetitionShift

SIGNIFICANCE_FORMAT = "gpu-tools significance"
_CODON = 3
_N_NUCLEOTIDES = 4
_STRANDS = 2
_SIMILAR = 2
"""Residues that score nearly alike, itself counted; so chance copies of proteins are more."""
_RANDOM = 1 / _N_NUCLEOTIDES
"""Chance that two random nucleotides are equal."""
_NUCLEOTIDES_AT_ONCE = 1 << 20
"""Nucleotides that are counted together: numpy makes eight bytes of each."""


class Question(Protocol):
    """A case of list mode or of site mode."""

    base: Nucleotides
    target: Nucleotides

    @property
    def space(self) -> int:
        """Size of what is searched for the target."""


def setting_of(
    scoring: SplicedScoring | ProteinScoring, reading: str = "any", sites: str | None = None
) -> dict[str, Any]:
    """Return all that the law of best scores depends on, except lengths and composition.

    Parameters
    ----------
    scoring : SplicedScoring or ProteinScoring
    reading : {"any", "complete", "incomplete"}
        Of nucleotides; proteins have none.
    sites : str, optional
        Fingerprint of the site model; none in list mode.

    Returns
    -------
    dict
        Values that JSON holds unchanged. In site mode exon weight and intron penalty are 0, for
        they are parts of the model.
    """
    if isinstance(scoring, ProteinScoring):
        costs = {name: getattr(scoring, name) for name in ("gap_open", "gap_extend", "frameshift")}
        pairs = sha256(scoring.substitution.tobytes() + scoring.codons.tobytes()).hexdigest()[:16]
        found = {"sites": sites, "pairs": pairs, **costs, "ends": scoring.ends}
        weights = {"exon_weight": scoring.exon_weight, "intron_penalty": scoring.intron_penalty}
        return found if sites else found | weights
    scores = {name: getattr(scoring, name) for name in ("match", "mismatch", "gap", "ends")}
    own = (0.0, 0) if sites else (float(scoring.exon_weight), scoring.intron_penalty)
    weights = dict(zip(("exon_weight", "intron_penalty"), own, strict=True))
    return {"sites": sites, **scores, **weights, "reading": reading}


def null_model(
    scoring: SplicedScoring | ProteinScoring | None = None, reading: str = "any",
    sites: Any = None,
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

    Returns
    -------
    NullModel or None
        None if nothing is shipped for these scores.

    Notes
    -----
    The parameters come from ``resources/models/calibrate.py``. Those of list mode with an exon
    weight hold for the candidates of ``exons predict``.
    """
    scoring = scoring or SplicedScoring()
    if isinstance(scoring, SplicedScoring) and scoring.matrix is not None:
        return None
    setting = setting_of(scoring, reading, sites and sites.fingerprint)
    return next((model for known, model in _shipped() if known == setting), None)


def nearest_setting(setting: dict[str, Any]) -> dict[str, Any]:
    """Return the setting with a shipped model that differs from another one in the least values."""
    alike = (known for known, _ in _shipped() if known.keys() == setting.keys())
    return min(alike, key=lambda known: sum(known[name] != setting[name] for name in known))


@cache
def _shipped() -> tuple[tuple[dict[str, Any], NullModel], ...]:
    folder = resource_path("models", "significance")
    files = (json.loads(path.read_text("ascii")) for path in sorted(folder.glob("*.json")))
    return tuple(
        (law["setting"], _null_model_of(law)) for content in files for law in content["laws"]
    )


def _null_model_of(law: dict[str, Any]) -> NullModel:
    limits = law["usual_space"], law["least_space"], law.get("least_agreement", 0.0)
    margin, shift = law.get("margin", 1.0), law.get("repetition")
    terms = tuple(law["mean"]), tuple(law["variance"])
    largest = law["largest_agreement"]
    return NullModel(*terms, *limits, largest, margin, RepetitionShift(**shift) if shift else None)


def null_laws(model: NullModel, cases: Iterable[Question]) -> list[Gumbel]:
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


def circumstances_of(cases: Iterable[Question]) -> Circumstances:
    """Return lengths, spaces, agreements and repetitions of cases."""
    # what cases share is counted once
    own: dict[int, _Own] = {}
    expected: dict[tuple[int, type], NDArray[np.float64]] = {}
    rows = []
    for case in cases:
        base, target, key = case.base, case.target, (id(case.base), type(case.target))
        if id(target) not in own:
            own[id(target)] = _own(target)
        if key not in expected:
            expected[key] = _expected(_frequencies(base), target)
        rows.append(_row(expected[key], target, own[id(target)], case.space, len(base)))
    return _columns(rows)


def least_evalues(cases: Iterable[Question]) -> list[float]:
    """Return the least E-value of each case: the chance of a copy of its whole target.

    A short target's copy lies in a long base by chance. So no chain of it is credible, whatever
    its score.
    """
    return circumstances_of(cases).least_evalues()


class Composition(NamedTuple):
    """How long a genome is, and how many A, C, G and T it has; those of parts add up.

    Attributes
    ----------
    length : int
    counts : tuple of int
    """

    length: int = 0
    counts: tuple[int, ...] = (0,) * _N_NUCLEOTIDES

    def with_record(self, record: Nucleotides) -> Composition:
        """Return the composition of one more record."""
        counts = zip(self.counts, _counts(record.codes).tolist(), strict=True)
        return Composition(self.length + len(record), tuple(map(sum, counts)))


def genome_circumstances(genome: Composition, targets: Iterable[Nucleotides]) -> Circumstances:
    """Return lengths, space and agreements of targets, both strands of a genome being searched.

    Parameters
    ----------
    genome : Composition
    targets : iterable of Sequence

    Returns
    -------
    Circumstances
        One for each target.
    """
    counts = np.array(genome.counts)
    base = counts / max(counts.sum(), 1)
    space = 2 * genome.length
    return _columns([
        _row(_expected(base, target), target, _own(target), space, genome.length)
        for target in targets
    ])  # fmt: skip


def _expected(base: NDArray[np.float64], target: Nucleotides) -> NDArray[np.float64]:
    """Return the frequencies that a base has of the symbols of a target, on both its strands."""
    return _acids_of(base) if isinstance(target, ProteinSequence) else (base + base[::-1]) / 2


class _Own(NamedTuple):
    """What of a target's composition counts, whatever it is aligned to."""

    counts: NDArray[np.int64]
    repetition: float


def _own(target: Nucleotides) -> _Own:
    repetition = _RANDOM if isinstance(target, ProteinSequence) else repetition_of(target)
    return _Own(_symbols(target), repetition)


def _row(expected: NDArray[np.float64], target: Nucleotides, own: _Own, space: int, length: int):
    """Return length, space, agreement, repetition and chance copies of a target."""
    agreement = float(_shares(own.counts) @ expected)
    similar = _SIMILAR if isinstance(target, ProteinSequence) else 1
    # a symbol whose frequency is not known, such as X, may be any
    chances = np.log(np.where(expected > 0, np.minimum(similar * expected, 1), 1))
    copies = math.log(max(_STRANDS * length, 1)) + float(own.counts @ chances)
    return max(len(target), 1), max(space, 1), agreement, own.repetition, copies


def _columns(rows: list[tuple]) -> Circumstances:
    table = np.array(rows, dtype=np.float64).reshape(-1, len(Circumstances._fields))
    return Circumstances(*table.T)


def repetition_of(target: Nucleotides) -> float:
    """Return how often nucleotides a multiple of three apart are equal, all pairs counted.

    Parameters
    ----------
    target : Sequence
        N is left out. The reading frame does not matter.

    Returns
    -------
    float
        The mean of the three frames; 1/4 for a frame without two nucleotides.
    """
    return float(np.mean([_equal_pairs(_counts(target.codes[k::_CODON])) for k in range(_CODON)]))


def _equal_pairs(counts: NDArray[np.int64]) -> float:
    n = int(counts.sum())
    return float(counts @ (counts - 1)) / (n * (n - 1)) if n > 1 else _RANDOM


def _frequencies(sequence: Nucleotides) -> NDArray[np.float64]:
    """Return the frequencies of amino acids, or of A, C, G and T, complements opposite."""
    return _shares(_symbols(sequence))


def _symbols(sequence: Nucleotides) -> NDArray[np.int64]:
    """Return how many there are of each amino acid, or of A, C, G and T."""
    if isinstance(sequence, ProteinSequence):
        return np.bincount(sequence.codes, minlength=len(AMINO_ACIDS))
    return _counts(sequence.codes)


def _shares(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    return counts / max(counts.sum(), 1)


def _counts(codes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return how many A, C, G and T there are."""
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
        a.with_evalue(law.evalue(a.score)) if law and a.score is not None else a for a, law in pairs
    ]
