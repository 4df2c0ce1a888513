"""The result of aligning a protein to the best chain of exons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpu_tools.model.locus import Locus
from gpu_tools.model.results import CigarOperation


@dataclass(frozen=True)
class ProteinAlignment:
    """The best chain of exons for a genomic sequence and a protein.

    Parameters
    ----------
    base, target : str
        Names of the genomic sequence and of the protein.
    base_length, target_length : int
        Nucleotides and residues.
    strand : {"+", "-"} or None
        Strand of the chain; None if there is no chain, or in site mode none that scores more than
        a chain without nucleotides, all residues left out.
    score : int or None
        Score of the best chain.
    cells : int
        Nucleotides times residues for each strand tried; those of candidates if they are listed.
    chain : tuple of (int, int)
        The chain's exons in transcript order, each 0-based half-open on the forward strand. The
        last one ends with the stop codon, if the chain ends in front of one.
    target_start, target_end : int
        Aligned residues, 0-based half-open; all if ends are global.
    cigar : tuple of (str, int)
        The alignment in transcript order, with the letters of miniprot's PAF: ``M`` codons with
        residues, ``I`` residues left out, ``D`` codons left out, ``F`` nucleotides of a frameshift,
        ``G`` nucleotides of a frameshift with a residue, ``N``, ``U`` and ``V`` nucleotides of an
        intron before a codon, behind its first and behind its second nucleotide. With ``U`` and
        ``V`` goes the residue of the split codon. The stop codon at the end is not part of it.
    translation : str
        The aligned pairs, residue by residue: amino acid of the codon, ``*`` for a stop codon,
        ``U`` for TGA, a stop codon, aligned to U, ``-`` for a residue left out, ``!`` for one with
        a frameshift; codons left out in lower case.
    residues : str
        The protein's residues in the same columns, ``-`` for codons left out.
    positives : int
        Pairs whose score is above 0.
    phases : tuple of int
        By exon: nucleotides before the first whole codon, as in GFF3.
    start_codon, stop_codon : bool
        Whether the chain's first codon is ATG, and whether a stop codon ends it. The first codon
        is the first three nucleotides of the chain, in one exon and without a frameshift, whether a
        residue is aligned to it or not.
    evalue : float or None
        See `gpu_tools.SplicedAlignment`.
    n_exons : int or None
        Listed candidates of the strand of the chain, equal intervals counted once, whatever their
        phases; None in site mode, and without a chain.
    exon_scores : tuple of float
        The scores of the listed candidates, in the order of `chain`; empty in site mode.
    """

    base: str
    target: str
    base_length: int
    target_length: int
    strand: str | None = None
    score: int | None = None
    cells: int = 0
    chain: tuple[tuple[int, int], ...] = ()
    target_start: int = 0
    target_end: int = 0
    cigar: tuple[CigarOperation, ...] = ()
    translation: str = ""
    residues: str = ""
    positives: int = 0
    phases: tuple[int, ...] = ()
    start_codon: bool = False
    stop_codon: bool = False
    evalue: float | None = None
    n_exons: int | None = None
    exon_scores: tuple[float, ...] = ()

    @property
    def n_chain(self) -> int:
        """Number of exons in the chain."""
        return len(self.chain)

    @property
    def matches(self) -> int:
        """Codons whose amino acid is the residue aligned to them; a stop codon has none."""
        pairs = zip(self.translation, self.residues, strict=True)
        return sum(a == b != "*" for a, b in pairs)

    @property
    def columns(self) -> int:
        """Columns of the alignment."""
        return len(self.residues)

    @property
    def identity(self) -> float | None:
        """Matches / alignment columns, or None if there is no column."""
        return self.matches / self.columns if self.columns else None

    @property
    def coverage(self) -> float | None:
        """Residues aligned to a codon / protein length, or None without a chain."""
        paired = sum(
            a != "-" and b != "-" for a, b in zip(self.translation, self.residues, strict=True)
        )
        return paired / self.target_length if self.chain else None

    @property
    def frameshifts(self) -> int:
        """Number of frameshifts."""
        return sum(letter in "FG" for letter, _ in self.cigar)

    @property
    def inner_stops(self) -> int:
        """Number of stop codons inside the chain, those that stand for U not among them."""
        return self.translation.count("*")

    def with_evalue(self, evalue: float | None) -> ProteinAlignment:
        """Return the alignment with an E-value."""
        return self.changed(evalue=evalue)

    def moved(self, base: Locus) -> ProteinAlignment:
        """Return the alignment in the coordinates of the record that the base is a locus of."""
        chain = tuple(map(base.to_record, self.chain))
        return self.changed(base=base.record, base_length=base.record_length, chain=chain)

    def changed(self, **fields: Any) -> ProteinAlignment:
        """Return a copy with other values; `dataclasses.replace` takes ten times as long."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), **fields)
        return other
