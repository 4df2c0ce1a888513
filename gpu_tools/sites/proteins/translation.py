"""What a chain translates to, column by column of its alignment with the protein."""

from __future__ import annotations

import numpy as np

from gpu_tools.model.genetic_codes import amino_acids
from gpu_tools.model.sequences import decode_protein, encode_protein
from gpu_tools.sites.proteins.cpu.strand import ProteinSweep
from gpu_tools.sites.proteins.cpu.traceback import (
    CODON,
    INTRON,
    MISSING,
    RESIDUE,
    SHIFTED,
    TracedProtein,
)

_CODON = 3
_STOP = encode_protein(b"*")[0]


def shown(traced: TracedProtein, sweep: ProteinSweep) -> tuple[list[tuple[int, int]], dict]:
    """Return a chain's exons, the stop codon at its end included, and what a result shows of it.

    Returns
    -------
    list of (int, int)
        Exons in reading direction.
    dict
        Fields of `gpu_tools.model.protein_alignment.ProteinAlignment`.
    """
    intervals, end = list(traced.intervals), traced.intervals[-1][1]
    codes, table = sweep.codes, amino_acids(sweep.scoring.genetic_code)
    stop = end + _CODON <= len(codes) and table[tuple(codes[end : end + _CODON])] == _STOP
    if stop:
        intervals[-1] = intervals[-1][0], end + _CODON
    start = intervals[0][0]
    codons, residues, phases, positives = _columns(traced, sweep)
    return intervals, {
        "translation": codons, "residues": residues, "positives": positives, "phases": phases,
        "start_codon": codes[start : start + _CODON].tolist() == [0, 3, 2],
        "stop_codon": bool(stop),
    }  # fmt: skip


def _columns(traced: TracedProtein, sweep: ProteinSweep):
    """Return both lines of the alignment, the exons' phases, and the number of positive pairs."""
    sequence = np.concatenate([sweep.codes[s:e] for s, e in traced.intervals])
    acids, scoring = amino_acids(sweep.scoring.genetic_code), sweep.scoring
    target, at, j = decode_protein(sweep.target), 0, traced.first
    codons, residues, phases, positives = [], [], [0], 0

    def pair() -> None:
        nonlocal at, j, positives
        word = tuple(sequence[at : at + _CODON])
        codons.append(decode_protein(acids[word][None]))
        residues.append(target[j])
        positives += scoring.substitution[scoring.codons[word], sweep.target[j]] > 0
        at, j = at + _CODON, j + 1

    for letter, length in traced.runs:
        if letter == CODON:
            for _ in range(length):
                pair()
        elif letter in INTRON:
            phase = INTRON.index(letter)
            phases.append(-phase % _CODON)
            if phase:
                pair()
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
