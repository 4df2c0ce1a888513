"""Trains exon models: checks the records, estimates the model, leaves records out in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.exons.model import ExonModel, model_from_dict
from gpu_tools.exons.training.design import Design
from gpu_tools.exons.training.estimation import estimate
from gpu_tools.model.annotated_strands import strands_of
from gpu_tools.model.annotation import AnnotatedSequence


def train(
    records: Sequence[AnnotatedSequence],
    name: str,
    source: str,
    design: Design | None = None,
    usage: NDArray[np.float64] | None = None,
) -> dict[str, Any]:
    """Train an exon model.

    Parameters
    ----------
    records : sequence of AnnotatedSequence
        At least one; together they need a splice site of each kind and a start codon.
    name, source : str
        What the model is called, and what it was trained on.
    design : Design, optional
        Choices that are not estimated.
    usage : ndarray of float64, shape (64,), optional
        Codon usage, see `gpu_tools.exons.training.estimation.estimate`.

    Returns
    -------
    dict
        The content of the model's JSON file, see `gpu_tools.exons.model.model_from_dict`.

    Raises
    ------
    InputError
        If a record has no coding sequence, or the records have no start or no intron.
    """
    check_records(records)
    return estimate(records, design or Design(), usage) | {"name": name, "source": source}


def check_records(records: Sequence[AnnotatedSequence]) -> None:
    """Raise `InputError` unless there is something to estimate all parts of a model from."""
    if not records:
        raise InputError("no records to train on", expected="annotated sequences")
    for record in records:
        if not record.coding:
            raise InputError("no coding sequence", record=record.sequence.name)
    strands = [strand for record in records for strand in strands_of(record)]
    for kind, expected in (
        ("starts", "a coding sequence that begins with ATG"),
        ("introns", "coding sequences of several segments"),
    ):
        if not any(len(getattr(strand, kind)) for strand in strands):
            raise InputError(f"no {kind} to train on", expected=expected)


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
    return model_from_dict(estimate(records, design or Design(), usage))
