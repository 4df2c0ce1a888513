"""Trains exon models: checks the records and estimates all parts of a model from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.exons.model import EXON_FORMAT, EXON_VERSION
from gpu_tools.exons.training.design import Design
from gpu_tools.exons.training.estimation import coding_scores, exon_lengths, gene_states
from gpu_tools.model.annotated_strands import ReadingStrand, strands_of
from gpu_tools.model.annotation import AnnotatedSequence
from gpu_tools.model.translation import STOP_CODONS
from gpu_tools.splicing.site_matrix import dependent_matrix, site_matrix


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
        Codon usage known from elsewhere, codons in the order AAA, AAC, ... TTT, to any scale;
        it is what coding sequence is taken for where the records say little.

    Returns
    -------
    dict
        The content of the model's JSON file, see `gpu_tools.exons.model.model_from_dict`.

    Raises
    ------
    InputError
        If a record has no coding sequence, or the records have no start or no intron.
    """
    design = design or Design()
    strands = checked_strands(records)
    weights = design.site_weight, design.pair_weight, design.site_cutoff
    return {
        "format": EXON_FORMAT,
        "version": EXON_VERSION,
        "name": name,
        "source": source,
        "units": "bits",
        "acceptor": dependent_matrix(strands, "acceptors", design.acceptor, *weights),
        "donor": dependent_matrix(strands, "donors", design.donor, *weights),
        "start": site_matrix(
            strands, "starts", design.start, design.site_weight, design.site_cutoff
        ),
        "stops": list(STOP_CODONS),
        "coding": coding_scores(strands, design, usage),
        "length": exon_lengths(strands, design),
        "min_length": design.min_length,
        "max_length": design.max_length,
        "gene": gene_states(strands, design),
        "min_probability": design.min_probability,
    }


def checked_strands(records: Sequence[AnnotatedSequence]) -> list[ReadingStrand]:
    """Return all strands; raise `InputError` if they lack what a part of a model needs."""
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
    return strands
