"""Training and evaluation of exon models from annotated sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.exons.annotation import AnnotatedSequence
from gpu_tools.exons.candidates import ExonSet
from gpu_tools.exons.estimation import KEEP_ALL, Design, estimate
from gpu_tools.exons.model import ExonModel, model_from_dict
from gpu_tools.exons.predict import predict_exons


@dataclass(frozen=True)
class Evaluation:
    """How a model does on annotated sequences.

    Attributes
    ----------
    annotated, found : int
        Distinct annotated coding segments, and those among the candidates.
    candidates : int
        Distinct candidate intervals, both strands.
    bases : int
        Length of the sequences.
    """

    annotated: int
    found: int
    candidates: int
    bases: int

    @property
    def sensitivity(self) -> float:
        """Found / annotated."""
        return self.found / self.annotated

    @property
    def density(self) -> float:
        """Candidates for each kilobase and strand."""
        return self.candidates / self.bases * 500

    def __add__(self, other: Evaluation) -> Evaluation:
        return Evaluation(
            self.annotated + other.annotated,
            self.found + other.found,
            self.candidates + other.candidates,
            self.bases + other.bases,
        )


def train(
    records: Sequence[AnnotatedSequence], name: str, source: str, design: Design | None = None
) -> dict[str, Any]:
    """Train an exon model.

    The scores come from all records. The cut-off of a candidate's score is set so that
    ``design.loss`` of the annotated segments fall under it when each record is scored by a model
    trained on the others: scored by the final model itself the segments look better than new ones.

    Parameters
    ----------
    records : sequence of AnnotatedSequence
        At least two.
    name, source : str
        What the model is called, and what it was trained on.
    design : Design, optional
        Choices that are not estimated.

    Returns
    -------
    dict
        The content of the model's JSON file, see `gpu_tools.exons.model.model_from_dict`.

    Raises
    ------
    InputError
        If there are fewer than two records, one without coding sequences, or more segments than
        ``design.loss`` allows that no cut-off makes candidates.
    """
    design = design or Design()
    check_records(records)
    scores = np.concatenate(
        [
            segment_scores(held_out, trained_on(others, design))
            for held_out, others in folds(records)
        ]
    )
    cutoff = np.sort(scores)[int(design.loss * len(scores))]
    if np.isneginf(cutoff):
        raise InputError(
            f"{np.isneginf(scores).sum()} of {len(scores)} annotated segments are no candidates",
            expected=f"at most {design.loss:.0%}",
        )
    named = {"name": name, "source": source, "min_score": float(cutoff)}
    return estimate(records, design) | named


def check_records(records: Sequence[AnnotatedSequence]) -> None:
    """Raise `InputError` unless records can be held out in turn."""
    if len(records) < 2:
        raise InputError("too few records to train on", expected="at least 2 annotated ones")
    for record in records:
        if not record.coding:
            raise InputError("no coding sequence", record=record.sequence.name)


def folds(
    records: Sequence[AnnotatedSequence],
) -> Iterator[tuple[AnnotatedSequence, list[AnnotatedSequence]]]:
    """Yield each record with the list of the others."""
    for k, record in enumerate(records):
        yield record, [*records[:k], *records[k + 1 :]]


def cross_validate(
    records: Sequence[AnnotatedSequence], model: ExonModel, design: Design | None = None
) -> list[Evaluation]:
    """Evaluate each record by scores trained on the others, at `model`'s cut-off.

    The cut-off itself was set with all records in view, and so is the one figure that is not
    held out.

    Parameters
    ----------
    records : sequence of AnnotatedSequence
        At least two.
    model : ExonModel
        The model trained on all of them; only its cut-off is used.
    design : Design, optional
        As in `train`.

    Returns
    -------
    list of Evaluation
        One a record, in order.
    """
    return [
        evaluate([held_out], replace(trained_on(others, design), min_score=model.min_score))
        for held_out, others in folds(records)
    ]


def trained_on(records: Sequence[AnnotatedSequence], design: Design | None = None) -> ExonModel:
    """Return the model of all scores, without a cut-off of its own."""
    return model_from_dict(estimate(records, design or Design()))


def evaluate(records: Iterable[AnnotatedSequence], model: ExonModel) -> Evaluation:
    """Count annotated segments, those found, and candidates.

    Parameters
    ----------
    records : iterable of AnnotatedSequence
        Sequences with their truth.
    model : ExonModel
        Predicts the candidates, at its own cut-off.

    Returns
    -------
    Evaluation
        All records together.
    """
    total = Evaluation(0, 0, 0, 0)
    for record in records:
        codes = record.sequence.codes
        candidates = predict_exons(codes, model).unique()
        truth = distinct_segments(record)
        found = len(truth & set(_keys(candidates)))
        total += Evaluation(len(truth), found, len(candidates), len(codes))
    return total


def _keys(exons: ExonSet) -> list[tuple[bool, int, int]]:
    return list(
        zip(exons.reverse.tolist(), exons.starts.tolist(), exons.ends.tolist(), strict=True)
    )


def distinct_segments(record: AnnotatedSequence) -> set[tuple[bool, int, int]]:
    """Return (reverse, start, end) of all coding segments, partial ones included."""
    return {
        (coding.strand == "-", segment.start, segment.end)
        for coding in record.coding
        for segment in coding.segments
    }


def segment_scores(record: AnnotatedSequence, model: ExonModel) -> NDArray[np.float64]:
    """Score the annotated segments.

    Parameters
    ----------
    record : AnnotatedSequence
        Sequence with its truth.
    model : ExonModel
        Predicts the candidates; its cut-off of their scores is not used.

    Returns
    -------
    ndarray of float64, shape (s,)
        Score in bits of each distinct segment, in the order of strand (+ first), start and end;
        -inf for one that is no candidate.
    """
    candidates = predict_exons(record.sequence.codes, model, KEEP_ALL).unique()
    scores = dict(zip(_keys(candidates), candidates.scores.tolist(), strict=True))
    return np.array([scores.get(key, -np.inf) for key in sorted(distinct_segments(record))])
