"""Whether annotated coding sequences read through."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.model.annotation import AnnotatedSequence, CodingSequence
from gpu_tools.model.sequences import Sequence, decode, reverse_complement
from gpu_tools.model.translation import STOP_CODONS

_log = logging.getLogger(__name__)


def annotated_sequences(
    sequences: Iterable[Sequence], coding: Mapping[str, tuple[CodingSequence, ...]]
) -> list[AnnotatedSequence]:
    """Join sequences with what of their coding sequences can be learned from.

    Sequences without a coding sequence, and coding sequences that do not read through, are left
    out, with a warning that counts them.

    Parameters
    ----------
    sequences : iterable of Sequence
        Genomic sequences.
    coding : mapping of str to tuple of CodingSequence
        Coding sequences by the sequence's name.

    Returns
    -------
    list of AnnotatedSequence
        In the order of `sequences`.

    Raises
    ------
    InputError
        If the annotation names a sequence that is not there, a segment leaves its sequence, or no
        coding sequence reads through.
    """
    by_name = {sequence.name: sequence for sequence in sequences}
    for name, several in coding.items():
        if name not in by_name:
            raise InputError(
                "annotated, but not among the sequences", record=name, line=several[0].line
            )
    records = [_sound(sequence, coding.get(name, ())) for name, sequence in by_name.items()]
    retained = [record for record in records if record.coding]
    annotated, sound = (sum(map(len, c)) for c in (coding.values(), [r.coding for r in retained]))
    if not retained:
        raise InputError(
            f"none of {annotated} coding sequences reads from ATG to a stop codon",
            expected="features CDS of these sequences, the stop codon included",
        )
    _warn(len(by_name) - len(retained), "sequences have no coding sequence that reads through")
    _warn(annotated - sound, "coding sequences do not read from ATG to a stop codon")
    return retained


def _warn(count: int, what: str) -> None:
    if count:
        _log.warning("%d %s; left out", count, what)


def _sound(sequence: Sequence, coding: tuple[CodingSequence, ...]) -> AnnotatedSequence:
    for one in coding:
        for segment in one.segments:
            if segment.end > len(sequence):
                raise InputError(
                    f"coding segment {segment.start + 1}-{segment.end} of {one.name} does not lie "
                    "within the sequence",
                    record=sequence.name,
                    line=one.line,
                    expected=f"positions 1 to {len(sequence)}",
                )
    sound = tuple(one for one in coding if reads_through(one, sequence.codes))
    return AnnotatedSequence(sequence, sound)


def reads_through(coding: CodingSequence, codes: NDArray[np.uint8]) -> bool:
    """Whether a coding sequence is what an annotation says.

    Parameters
    ----------
    coding : CodingSequence
        Within the sequence.
    codes : ndarray of uint8
        The sequence, forward strand.

    Returns
    -------
    bool
        True if its phases agree with its lengths, its segments do not overlap, it has no inner
        stop codon, and it begins with ATG and ends with a stop codon, except where it is partial.
    """
    parts = [codes[s.start : s.end] for s in coding.segments]
    if coding.strand == "-":
        parts = [reverse_complement(part) for part in parts]
    first, last = coding.segments[0], coding.segments[-1]
    text = decode(np.concatenate(parts))[first.phase :]
    codons = [text[k : k + 3] for k in range(0, len(text), 3)]
    inner = codons if last.partial else codons[:-1]
    begins = first.partial or (first.phase == 0 and codons[0] == "ATG")
    ends = last.partial or codons[-1] in STOP_CODONS
    sound = bool(codons) and begins and ends and not set(inner) & set(STOP_CODONS)
    return sound and _in_order(coding)


def _in_order(coding: CodingSequence) -> bool:
    """Whether phases follow from lengths and segments from each other."""
    phase, edges = coding.segments[0].phase, []
    for segment in coding.segments:
        if segment.phase != phase:
            return False
        phase = (phase - (segment.end - segment.start)) % 3
        edges += [segment.start, segment.end]
    if coding.strand == "-":
        edges = [edge for start, end in zip(edges[::2], edges[1::2], strict=True) for edge in
                 (-end, -start)]  # fmt: skip
    return edges == sorted(edges)
