"""Scoring of alignments of cDNAs, patterns, pairs of sequences and proteins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.model.sequences import AMINO_ACIDS, encode_protein
from gpu_tools.model.translation import STANDARD, amino_acids

N_SYMBOLS = 5
LIMIT_INT32 = 2**30
"""Scores stay below this magnitude in 32-bit cells, so that adding one more never overflows."""

ENDS = ("global", "free-target", "free")


def _check_whole(**scores: int) -> None:
    """Raise `ScoringError` for a score that is no whole number."""
    for name, score in scores.items():
        if not isinstance(score, Integral):
            raise ScoringError(f"{name} {score!r}; expected a whole number".replace("_", " ", 1))


@dataclass(frozen=True)
class SplicedScoring:
    """Scoring of spliced alignment.

    Parameters
    ----------
    match, mismatch : int
        Scores of an aligned pair of equal and of unequal nucleotides.
    gap : int
        Score added for each gap symbol, normally negative.
    matrix : array_like of int, shape (5, 5), optional
        Substitution scores by code (A, C, G, T, other), base symbol first; replaces
        `match` and `mismatch`.
    exon_weight : float
        round(`exon_weight` * candidate's score) is added once for each exon of the chain; halves
        are rounded to the even neighbour.
    intron_penalty : int
        Subtracted for each exon after the chain's first.
    ends : {"global", "free-target", "free"}
        ``free-target``: the target's ends may stay unaligned at no cost. ``free``: also, the chain
        may enter its first exon and leave its last one anywhere.
    end_cost : int
        Points that leaving out an end of the target costs with ends that are not ``global``,
        however long it is, if gaps do not cost less; at least 0. For site mode alone.
    """

    match: int = 1
    mismatch: int = -1
    gap: int = -2
    matrix: ArrayLike | None = None
    exon_weight: float = 0.0
    intron_penalty: int = 0
    ends: str = "global"
    end_cost: int = 0

    def __post_init__(self):
        if self.ends not in ENDS:
            raise ScoringError(f"unknown ends {self.ends!r}; expected one of {', '.join(ENDS)}")
        if not np.isfinite(self.exon_weight):
            raise ScoringError(f"exon weight {self.exon_weight} is not a finite number")
        _check_whole(match=self.match, mismatch=self.mismatch, gap=self.gap,
                     intron_penalty=self.intron_penalty, end_cost=self.end_cost)  # fmt: skip
        if self.end_cost < 0:
            raise ScoringError(f"end cost {self.end_cost}; expected 0 or more")
        pairs = [self.match, self.mismatch]
        if self.matrix is not None:
            pairs = self._checked_matrix().ravel().tolist()
        largest = max(
            abs(int(score)) for score in (*pairs, self.gap, self.intron_penalty, self.end_cost)
        )
        if largest >= LIMIT_INT32:
            raise ScoringError(f"a score of {largest} is too large; expected less than 2^30")

    def substitution(self) -> NDArray[np.int64]:
        """Return the 5 x 5 substitution scores, base symbol first; ambiguity codes mismatch.

        The array is read-only.
        """
        return self._substitution

    @cached_property
    def _substitution(self) -> NDArray[np.int64]:
        if self.matrix is not None:
            scores = self._checked_matrix()
        else:
            scores = np.full((N_SYMBOLS, N_SYMBOLS), self.mismatch, dtype=np.int64)
            np.fill_diagonal(scores[:4, :4], self.match)
        scores.flags.writeable = False
        return scores

    @property
    def clip_cost(self) -> int:
        """What leaving out an end of the target costs, 0 where no end may be left out."""
        return 0 if self.ends == "global" else self.end_cost

    @cached_property
    def lifted(self) -> NDArray[np.int64]:
        """The substitution scores less the gap score; read-only."""
        scores = self.substitution() - self.gap
        scores.flags.writeable = False
        return scores

    @cached_property
    def lifted_range(self) -> tuple[int, int]:
        """The least and the largest of the lifted scores."""
        return int(self.lifted.min()), int(self.lifted.max())

    def _checked_matrix(self) -> NDArray[np.int64]:
        matrix = np.asarray(self.matrix)
        if matrix.shape != (N_SYMBOLS, N_SYMBOLS) or not np.issubdtype(matrix.dtype, np.integer):
            raise ScoringError(
                f"substitution matrix has shape {matrix.shape} and type {matrix.dtype}; "
                "expected 5 x 5 integers"
            )
        return matrix.astype(np.int64)

    def exon_bonus(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the integer that each candidate's own score adds to a chain, halves to even."""
        return exon_bonus(self.exon_weight, scores)


def exon_bonus(weight: float, scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return round(weight * score) of candidates, halves to even."""
    bonus = np.rint(weight * np.asarray(scores, dtype=np.float64))
    if bonus.size and not np.abs(bonus).max() < LIMIT_INT32:
        raise ScoringError("exon weight times a candidate's score is too large or not a number")
    return bonus.astype(np.int64)


GENE_SCORING = SplicedScoring(exon_weight=0.5, intron_penalty=10, ends="free-target")
"""The defaults of the command and of the workflow, which give good gene structures.

`SplicedScoring()` is the alignment score alone.
"""
SITE_SCORING = SplicedScoring(ends=GENE_SCORING.ends, end_cost=5)
"""The same in site mode, where the model has the weights of sites and introns."""


@dataclass(frozen=True)
class EditCosts:
    """Costs of approximate matching.

    Parameters
    ----------
    insertion : int or array_like of int, shape (C,)
        Cost of a text symbol that the pattern lacks, of all or by text code of the alphabet; at
        least 1, so that a match ends somewhere.
    deletion : int or array_like of int, shape (S,)
        Cost of a pattern symbol that the text lacks, of all or by pattern symbol; at least 1, so
        that not everything matches.
    substitution : int
        Cost of a pattern symbol aligned to a text symbol that it does not match; at least 0.
    table : array_like of int, shape (S, C), optional
        Costs of aligning each pattern symbol to each text code of the alphabet, see
        `gpu_tools.matching.Alphabet`; replaces `substitution`. No negative ones.

    Notes
    -----
    `gpu_tools.matching.ALPHABETS` has functions that make the arrays from costs by letter.
    """

    insertion: int | ArrayLike = 1
    deletion: int | ArrayLike = 1
    substitution: int = 1
    table: ArrayLike | None = None

    def __post_init__(self):
        for name, least in (("insertion", 1), ("deletion", 1), ("substitution", 0)):
            for value in {*np.atleast_1d(getattr(self, name)).tolist()}:
                _check_whole(**{f"{name}_cost": value})
                if not least <= value < LIMIT_INT32:
                    raise ScoringError(
                        f"{name} cost {value} is out of range; expected {least} to 2^30 - 1"
                    )

    @property
    def unit(self) -> bool:
        """Whether every edit costs 1."""
        weights = (self.insertion, self.deletion, self.substitution)
        return all(np.all(np.equal(weight, 1)) for weight in weights) and self.table is None

    def by_symbol(self, matches: NDArray[np.bool_]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the costs of inserting each text code, (C,), and of deleting each symbol, (S,)."""
        sizes = {"insertion": matches.shape[1], "deletion": len(matches)}
        for name, size in sizes.items():
            shape = np.shape(getattr(self, name))
            if shape not in ((), (size,)):
                raise ScoringError(f"{name} costs have shape {shape}; expected {size} integers")
        return tuple(
            np.full(size, getattr(self, name), dtype=np.int32) for name, size in sizes.items()
        )

    def pair_costs(self, matches: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Return the cost of each pair of a pattern symbol and a text code, shape (S, C).

        `matches`, of the same shape, says which symbols match which codes.
        """
        if self.table is None:
            return np.where(matches, 0, self.substitution).astype(np.int32)
        table = np.asarray(self.table)
        if table.shape != matches.shape or not np.issubdtype(table.dtype, np.integer):
            raise ScoringError(
                f"substitution table has shape {table.shape} and type {table.dtype}; "
                f"expected {matches.shape[0]} x {matches.shape[1]} integers"
            )
        if table.min() < 0 or table.max() >= LIMIT_INT32:
            raise ScoringError("a cost in the substitution table is negative or above 2^30 - 1")
        return table.astype(np.int32)


_SUBSTITUTES = {"U": "C", "O": "K", "J": "X"}
"""Amino acids that a matrix may lack, and those whose scores they take then."""


@dataclass(frozen=True)
class SubstitutionMatrix:
    """Scores of pairs of letters.

    Parameters
    ----------
    name : str
        For messages.
    letters : str
        The letters that the matrix has, of A to Z and ``*``, each once.
    scores : ndarray of int, shape (len(letters), len(letters))
        Query letter first.
    """

    name: str
    letters: str
    scores: NDArray[np.int64]

    def __post_init__(self):
        size = len(self.letters)
        if np.shape(self.scores) != (size, size) or len(set(self.letters)) != size:
            raise ScoringError(f"matrix {self.name} is not square in {size} different letters")
        if max(int(np.max(self.scores)), -int(np.min(self.scores))) >= LIMIT_INT32:
            raise ScoringError(f"matrix {self.name} has a score too large; expected less than 2^30")

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which codes of `AMINO_ACIDS` have scores, substitutes included; shape (27,)."""
        return np.array([self._letter(letter) in self.letters for letter in AMINO_ACIDS])

    def table(self) -> NDArray[np.int32]:
        """Return the scores by code of `AMINO_ACIDS`, 0 where a letter is unknown; (27, 27)."""
        return self._table.copy()

    @cached_property
    def _table(self) -> NDArray[np.int32]:
        columns = [self.letters.find(self._letter(letter)) for letter in AMINO_ACIDS]
        scores = np.asarray(self.scores, dtype=np.int32)[np.ix_(columns, columns)]
        return scores * np.outer(self.known, self.known)

    def _letter(self, letter: str) -> str:
        return letter if letter in self.letters else _SUBSTITUTES.get(letter, letter)


@dataclass(frozen=True)
class AffineScoring:
    """Scoring of pairwise alignment: a gap of n symbols costs open + (n - 1) * extend.

    Parameters
    ----------
    match, mismatch : int
        Scores of a pair of equal and of unequal nucleotides; ambiguity codes mismatch.
    gap_open, gap_extend : int
        Penalties, 0 or positive; `gap_extend` is at most `gap_open`. Equal ones are linear gaps.
    matrix : SubstitutionMatrix, optional
        For proteins; replaces `match` and `mismatch`.
    """

    match: int = 5
    mismatch: int = -4
    gap_open: int = 16
    gap_extend: int = 4
    matrix: SubstitutionMatrix | None = None

    def __post_init__(self):
        _check_whole(match=self.match, mismatch=self.mismatch, gap_open=self.gap_open,
                     gap_extend=self.gap_extend)  # fmt: skip
        if not 0 <= self.gap_extend <= self.gap_open:
            raise ScoringError(
                f"gap penalties open {self.gap_open} and extend {self.gap_extend}; "
                "expected 0 <= extend <= open"
            )
        largest = max(abs(self.match), abs(self.mismatch), self.gap_open)
        if largest >= LIMIT_INT32:
            raise ScoringError(f"a score of {largest} is too large; expected less than 2^30")

    def table(self) -> NDArray[np.int32]:
        """Return the substitution scores by code, query first: 5 x 5, or 27 x 27 of a matrix."""
        if self.matrix is not None:
            return self.matrix.table()
        scores = np.full((N_SYMBOLS, N_SYMBOLS), self.mismatch, dtype=np.int32)
        np.fill_diagonal(scores[:4, :4], self.match)
        return scores

    def check_length(self, shorter: int) -> None:
        """Raise `ScoringError` if a local score of sequences this long might leave 32 bits."""
        highest = shorter * max(int(self.table().max()), 0) + self.gap_open
        if highest >= LIMIT_INT32:
            raise ScoringError(
                f"scores up to {highest} could arise for these lengths; expected less than 2^30"
            )


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
    def lifted(self) -> NDArray[np.int64]:
        """What pairs add to lifted cells, by codon and residue; the last column is of no residue.

        A cell is lifted by the gap extend for each residue up to its column.
        """
        return np.pad(self.substitution + self.gap_extend, ((0, 0), (0, 1)))

    @cached_property
    def lifted_most(self) -> NDArray[np.int64]:
        """The largest lifted score of each residue, and the largest magnitude, a row each."""
        scores = self.lifted[:, :-1]
        return np.stack([scores.max(axis=0), np.abs(scores).max(axis=0)])

    @cached_property
    def codon_gaps(self) -> NDArray[np.int64]:
        """What it costs to leave a codon out, gap open not counted, by number; shape (28,)."""
        costs = np.full(N_CODONS, self.gap_extend, dtype=np.int64)
        costs[[_STOP, TGA_CODON]] = self.stop
        return costs

    def exon_bonus(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the integer that each candidate's own score adds to a chain, halves to even."""
        return exon_bonus(self.exon_weight, scores)

    def all_left_out(self, residues: int) -> int:
        """Return what it costs to leave all residues of a protein out."""
        return 0 if self.free or not residues else self.gap_open + self.gap_extend * residues

    @property
    def free(self) -> bool:
        """Whether residues at the ends may stay unaligned at no cost."""
        return self.ends != "global"
