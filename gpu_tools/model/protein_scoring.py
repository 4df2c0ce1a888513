"""Scoring of the alignment of a protein with the codons of a chain of exons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.model.genetic_codes import STANDARD, amino_acids
from gpu_tools.model.scoring import ENDS, LIMIT_INT32, SubstitutionMatrix, exon_bonus
from gpu_tools.model.sequences import AMINO_ACIDS, encode_protein

_STOP, _U, _C = encode_protein(b"*UC")
TGA_CODON = len(AMINO_ACIDS)
"""Number of the codon TGA where it is a stop; codons else have the numbers of amino acids."""
N_CODONS = TGA_CODON + 1
CANDIDATE_WEIGHTS = {"exon_weight": 1.0, "intron_penalty": 20}
"""The command's weights of listed candidates with scores in bits, as `exons predict` gives them."""


@dataclass(frozen=True)
class ProteinScoring:
    """Scores of codons against residues, of gaps, frameshifts and stop codons.

    Parameters
    ----------
    matrix : SubstitutionMatrix
        Scores of amino acids, say BLOSUM62.
    gap_open, gap_extend : int
        A gap of k residues or k codons costs ``gap_open + k * gap_extend``; both at least 0.
    frameshift : int
        Subtracted for one or two nucleotides too many, or one or two too few of a codon.
    stop : int
        Subtracted for a stop codon inside a chain, whether a residue is aligned to it or not.
    ends : {"global", "free-target", "free"}
        With ``global`` residues left out before the first and behind the last aligned one are a gap
        each; else they cost nothing. With ``free`` a begin or an end of a chain in site mode costs
        nothing, either: it has 0 points where it had less.
    genetic_code : int
        Number of the code at NCBI.
    exon_weight : float
        Of listed candidates alone: round(`exon_weight` * candidate's score) is added once for each
        exon of the chain.
    intron_penalty : int
        Of listed candidates alone: subtracted for each exon after the chain's first.

    Notes
    -----
    A residue U (selenocysteine) pairs with the codon TGA as C does with C, where TGA is a stop
    codon. All ambiguity codes of nucleotides are N: a codon with N has the amino acid that all
    codons have which it may be, else it scores as X, and it is never a stop codon. A residue that
    the matrix lacks scores 0: see `SubstitutionMatrix`.
    """

    matrix: SubstitutionMatrix
    gap_open: int = 11
    gap_extend: int = 1
    frameshift: int = 23
    stop: int = 23
    ends: str = "global"
    genetic_code: int = STANDARD
    exon_weight: float = 0.0
    intron_penalty: int = 0

    def __post_init__(self):
        penalties = self.gap_open, self.gap_extend, self.frameshift, self.stop
        if min(penalties) < 0 or max(penalties) >= LIMIT_INT32:
            raise ScoringError(f"penalties {penalties}; expected integers from 0 to 2^30 - 1")
        if self.ends not in ENDS:
            raise ScoringError(f"ends {self.ends!r}; expected one of {ENDS}")
        if not np.isfinite(self.exon_weight) or abs(self.intron_penalty) >= LIMIT_INT32:
            raise ScoringError(
                f"exon weight {self.exon_weight} and intron penalty {self.intron_penalty}; "
                "expected finite numbers, the latter below 2^30"
            )
        amino_acids(self.genetic_code)

    @cached_property
    def codons(self) -> NDArray[np.uint8]:
        """Numbers of words of three nucleotide codes, shape (5, 5, 5): rows of `substitution`."""
        table = amino_acids(self.genetic_code).copy()
        tga = 3, 2, 0
        if table[tga] == _STOP:
            table[tga] = TGA_CODON
        return table

    @cached_property
    def codon_numbers(self) -> NDArray[np.int64]:
        """The numbers that some codon has, rising."""
        return np.unique(self.codons).astype(np.int64)

    @cached_property
    def substitution(self) -> NDArray[np.int64]:
        """Scores of codons against residues, shape (28, 27): a row is a number of `codons`."""
        table = self.matrix.table().astype(np.int64)
        scores = np.vstack([table, np.full((1, len(table)), -self.stop)])
        scores[_STOP] = -self.stop
        scores[TGA_CODON, _U] = table[_C, _C]
        return scores

    @cached_property
    def codon_gaps(self) -> NDArray[np.int64]:
        """What it costs to leave a codon out, gap open not counted, by number; shape (28,)."""
        costs = np.full(N_CODONS, self.gap_extend, dtype=np.int64)
        costs[[_STOP, TGA_CODON]] = self.stop
        return costs

    def exon_bonus(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the integer that each candidate's own score adds to a chain, halves to even."""
        return exon_bonus(self.exon_weight, scores)

    @property
    def free(self) -> bool:
        """Whether residues at the ends may stay unaligned at no cost."""
        return self.ends != "global"
