"""What a chain translates to, column by column of its alignment with the protein."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.model.genetic_codes import amino_acids
from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.model.sequences import AMINO_ACIDS, decode_protein, encode_protein
from gpu_tools.splicing.proteins.walk import (
    CODON_RUN,
    INTRON_RUN,
    LETTERS,
    MISSING_RUN,
    SHIFT_RUN,
    SHIFTED_RUN,
    TracedProtein,
)

_CODON = 3
_STOP = encode_protein(b"*")[0]
_ASCII = np.frombuffer(
    decode_protein(np.arange(len(AMINO_ACIDS), dtype=np.uint8)).encode(), np.uint8
)
"""Letters of residues, by number."""
_GAP, _SHIFT_SIGN, _LOWER = ord("-"), ord("!"), 0x20
"""Signs in an alignment, and the bit that a lower-case letter has; ``*`` has it, too."""


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
    runs = [(LETTERS.index(letter), length) for letter, length in traced.runs]
    # an intron has one column at most
    most = sum(length if letter < INTRON_RUN else 1 for letter, length in runs)
    lines, scoring = np.empty((2, most), np.uint8), question.scoring
    count, positives = _fill(
        lines, np.array(runs, dtype=np.int64), sequence, amino_acids(scoring.genetic_code),
        scoring.codons, scoring.substitution, _ASCII, question.target, traced.first,
    )  # fmt: skip
    codons, residues = (line.tobytes().decode("ascii") for line in lines[:, :count])
    phases = [INTRON_RUN - letter for letter, _ in runs if letter >= INTRON_RUN]
    return codons, residues, (0, *(phase % _CODON for phase in phases)), positives


@njit(cache=True, nogil=True)
def _fill(lines, runs, sequence, acids, codons, substitution, letters, target, residue):
    """Fill in both lines of the alignment; return their columns and the number of positive pairs.

    `residue` is the first one that is aligned.
    """
    at, count, positives = 0, 0, 0
    for run in range(len(runs)):
        kind, length = runs[run]
        if kind >= INTRON_RUN:
            kind, length = CODON_RUN, 1 if kind > INTRON_RUN else 0
        if kind in (SHIFT_RUN, SHIFTED_RUN):
            at += length
            length = 1 if kind == SHIFTED_RUN else 0
        for column in range(count, count + length):
            lines[0, column], lines[1, column] = _GAP, _GAP
            if kind in (CODON_RUN, MISSING_RUN):
                word = sequence[at], sequence[at + 1], sequence[at + 2]
                lines[0, column] = letters[acids[word]]
                at += _CODON
                if kind == MISSING_RUN:
                    lines[0, column] |= _LOWER
                elif substitution[codons[word], target[residue]] > 0:
                    positives += 1
            elif kind == SHIFTED_RUN:
                lines[0, column] = _SHIFT_SIGN
            if kind != MISSING_RUN:
                lines[1, column] = letters[target[residue]]
                residue += 1
        count += length
    return count, positives
