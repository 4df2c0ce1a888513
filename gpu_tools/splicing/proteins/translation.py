"""What a chain translates to, column by column of its alignment with the protein."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.genetic_codes import amino_acids
from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.model.sequences import decode_protein, encode_protein
from gpu_tools.splicing.proteins.walk import (
    CODON,
    INTRON,
    MISSING,
    RESIDUE,
    SHIFTED,
    TracedProtein,
)

_CODON = 3
_STOP = encode_protein(b"*")[0]


class StrandAndProtein(NamedTuple):
    """A strand's nucleotides in reading direction, residues, and their scoring."""

    codes: NDArray[np.uint8]
    target: NDArray[np.uint8]
    scoring: ProteinScoring


def stop_behind(codes: NDArray[np.uint8], end: int, scoring: ProteinScoring) -> bool:
    """Tell whether a stop codon begins at a boundary."""
    word = tuple(codes[end : end + _CODON])
    return len(word) == _CODON and bool(amino_acids(scoring.genetic_code)[word] == _STOP)


def with_stop(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return exons with the stop codon behind the last one."""
    start, end = intervals[-1]
    return [*intervals[:-1], (start, end + _CODON)]


def shown(traced: TracedProtein, question: StrandAndProtein, stop: bool) -> dict:
    """Return what a result shows of a chain; `stop` tells whether a stop codon is its end.

    Returns
    -------
    dict
        Fields of `gpu_tools.model.protein_alignment.ProteinAlignment`.
    """
    start, codes = traced.intervals[0][0], question.codes
    codons, residues, phases, positives = _columns(traced, question)
    return {
        "target_start": traced.first, "target_end": traced.last, "cigar": tuple(traced.runs),
        "translation": codons, "residues": residues, "positives": positives, "phases": phases,
        "start_codon": codes[start : start + _CODON].tolist() == [0, 3, 2],
        "stop_codon": stop,
    }  # fmt: skip


def _columns(traced: TracedProtein, question: StrandAndProtein):
    """Return both lines of the alignment, the exons' phases, and the number of positive pairs."""
    sequence = np.concatenate([question.codes[s:e] for s, e in traced.intervals])
    acids, scoring = amino_acids(question.scoring.genetic_code), question.scoring
    target, at, j = decode_protein(question.target), 0, traced.first
    codons, residues, phases, positives = [], [], [0], 0

    def pair(count: int) -> None:
        nonlocal at, j, positives
        words = tuple(sequence[at : at + _CODON * count].reshape(-1, _CODON).T)
        codons.append(decode_protein(acids[words]))
        residues.append(target[j : j + count])
        paired = scoring.substitution[scoring.codons[words], question.target[j : j + count]]
        positives += int((paired > 0).sum())
        at, j = at + _CODON * count, j + count

    for letter, length in traced.runs:
        if letter == CODON:
            pair(length)
        elif letter in INTRON:
            phase = INTRON.index(letter)
            phases.append(-phase % _CODON)
            if phase:
                pair(1)
        elif letter == RESIDUE:
            codons.append("-" * length)
            residues.append(target[j : j + length])
            j += length
        elif letter == MISSING:
            words = sequence[at : at + _CODON * length].reshape(-1, _CODON)
            codons.append(decode_protein(acids[tuple(words.T)]).lower())
            residues.append("-" * length)
            at += _CODON * length
        else:
            at += length
            if letter == SHIFTED:
                codons.append("!")
                residues.append(target[j])
                j += 1
    return "".join(codons), "".join(residues), tuple(phases), positives
