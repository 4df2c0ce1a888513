"""How well candidate sets hold annotated coding segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpu_tools.exons.model import ExonModel, model_from_dict
from gpu_tools.exons.predict import parse
from gpu_tools.exons.training import Design, train
from gpu_tools.model.annotation import AnnotatedSequence
from gpu_tools.model.exon_set import EXON_TYPES, ExonSet

INTERNAL = EXON_TYPES.index("Intr")
NO_TYPE = 0


def folds(
    records: Sequence[AnnotatedSequence],
) -> Iterator[tuple[AnnotatedSequence, list[AnnotatedSequence]]]:
    """Yield each record with the list of the others."""
    for k, record in enumerate(records):
        yield record, [*records[:k], *records[k + 1 :]]


def trained_on(
    records: Sequence[AnnotatedSequence],
    design: Design | None = None,
    usage: NDArray[np.float64] | None = None,
) -> ExonModel:
    """Return a model of records."""
    return model_from_dict(train(records, "unnamed", "unnamed", design, usage))


@dataclass(frozen=True)
class Ranking:
    """The annotated segments of sequences and all intervals that could be candidates.

    Ranks are values by which intervals are ordered, high first.
    """

    segments: NDArray[np.float64]
    internal: NDArray[np.bool_]
    intervals: NDArray[np.float64]
    bases: int

    @classmethod
    def together(cls, rankings: Iterable[Ranking]) -> Ranking:
        """Pool the sequences of several rankings."""
        several = list(rankings)
        return cls(
            np.concatenate([r.segments for r in several]),
            np.concatenate([r.internal for r in several]),
            np.sort(np.concatenate([r.intervals for r in several]))[::-1],
            sum(r.bases for r in several),
        )

    def found(self, cutoff: float) -> NDArray[np.bool_]:
        """Return which segments reach a cut-off."""
        return self.segments >= cutoff

    def density(self, cutoff: float) -> float:
        """Return the intervals that reach a cut-off for each kilobase and strand."""
        return float((self.intervals >= cutoff).sum()) / self.bases * 500

    def cutoff_at(self, density: float) -> float:
        """Return the cut-off that `density` intervals a kilobase and strand reach."""
        n = min(int(density * self.bases / 500), len(self.intervals))
        return float(self.intervals[n - 1]) if n else np.inf


def segment_types(record: AnnotatedSequence) -> dict[tuple[bool, int, int], int]:
    """Return the distinct annotated segments of a record.

    Keys are reverse, start and end. Values are indexes into `EXON_TYPES`: internal if it is
    so in any transcript, 0 for a partial one.
    """
    types: dict[tuple[bool, int, int], int] = {}
    for coding in record.coding:
        last = len(coding.segments) - 1
        for k, segment in enumerate(coding.segments):
            name = "Sngl" if last == 0 else {0: "Init", last: "Term"}.get(k, "Intr")
            code = NO_TYPE if segment.partial else EXON_TYPES.index(name)
            key = (coding.strand == "-", segment.start, segment.end)
            types[key] = INTERNAL if INTERNAL in (code, types.get(key)) else code
    return types


def rank_probabilities(record: AnnotatedSequence, model: ExonModel) -> Ranking:
    """Rank by the logarithm of the posterior probability; of several types the likeliest counts."""
    parsed = parse(record.sequence.codes, model)
    return rank(record, parsed.exons, parsed.logarithms)


def rank_scores(record: AnnotatedSequence, model: ExonModel) -> Ranking:
    """Rank by the score of sites and bases alone."""
    exons = parse(record.sequence.codes, model).exons
    return rank(record, exons, exons.scores)


def rank(record: AnnotatedSequence, exons: ExonSet, values: NDArray[np.float64]) -> Ranking:
    """Rank annotated segments among intervals by some value, the best of equal intervals."""
    best: dict[tuple[bool, int, int], float] = {}
    keys = zip(exons.reverse.tolist(), exons.starts.tolist(), exons.ends.tolist(), strict=True)
    for key, value in zip(keys, values.tolist(), strict=True):
        best[key] = max(value, best.get(key, -np.inf))
    types = segment_types(record)
    return Ranking(
        np.array([best.get(key, -np.inf) for key in types]),
        np.array([code == INTERNAL for code in types.values()]),
        np.sort(np.array(list(best.values())))[::-1],
        len(record.sequence),
    )


def sensitivity_curve(ranking: Ranking, densities: Sequence[float]) -> list[dict[str, float]]:
    """Return the found fractions of all and of internal segments by density."""
    rows = []
    for density in densities:
        found = ranking.found(cutoff := ranking.cutoff_at(density))
        rows.append({
            "density": density, "cutoff": round(cutoff, 3), "all": round(found.mean(), 4),
            "internal": round(found[ranking.internal].mean(), 4),
        })  # fmt: skip
    return rows
