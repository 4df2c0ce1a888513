"""Result types of the tools, free of any algorithm or file format."""

from __future__ import annotations

from dataclasses import dataclass

CigarOperation = tuple[str, int]
"""One run of an alignment: operation letter and length."""


@dataclass(frozen=True)
class SplicedAlignment:
    """The best chain of candidate exons for one case.

    Parameters
    ----------
    base, target : str
        Names of the genomic sequence and of the target.
    base_length, target_length : int
        Lengths in symbols.
    strand : {"+", "-"} or None
        Strand of the chain; None if the case has no candidate exon.
    score : int or None
        Score of the best chain; None if the case has no candidate exon.
    n_exons : int
        Candidates of the strand that won, equal intervals counted once.
    cells : int
        Nominal cells, sum of exon lengths times target length over both strands.
    chain : tuple of (int, int)
        The chain's exons in transcript order (falling positions on ``-``), each 0-based
        half-open on the forward strand of the base.
    target_start, target_end : int
        Aligned part of the target, 0-based half-open; 0 and `target_length` if ends are global.
    cigar : tuple of (str, int)
        The alignment in transcript order: ``=`` equal, ``X`` unequal, ``I`` target symbol without
        a base symbol, ``D`` base symbol without a target symbol, ``N`` intron. Adjacent runs
        have different letters.
    exon_scores : tuple of float
        The candidates' own scores, in the order of `chain`.
    """

    base: str
    target: str
    base_length: int
    target_length: int
    strand: str | None = None
    score: int | None = None
    n_exons: int = 0
    cells: int = 0
    chain: tuple[tuple[int, int], ...] = ()
    target_start: int = 0
    target_end: int = 0
    cigar: tuple[CigarOperation, ...] = ()
    exon_scores: tuple[float, ...] = ()

    @property
    def n_chain(self) -> int:
        """Number of exons in the chain."""
        return len(self.chain)

    @property
    def matches(self) -> int:
        """Number of alignment columns with equal symbols."""
        return sum(n for op, n in self.cigar if op == "=")

    @property
    def columns(self) -> int:
        """Number of alignment columns; introns have none."""
        return sum(n for op, n in self.cigar if op != "N")

    @property
    def identity(self) -> float | None:
        """Matches / alignment columns, or None if there is no column."""
        return self.matches / self.columns if self.columns else None


@dataclass(frozen=True)
class PairwiseAlignment:
    """An alignment of a part of a query with a part of a subject.

    Parameters
    ----------
    query, subject : str
        Names.
    query_length, subject_length : int
        Lengths in symbols.
    rank : int
        1 for the best of a pair of sequences.
    score : int
        Sum over the alignment's columns.
    query_start, query_end, subject_start, subject_end : int
        The aligned parts, 0-based half-open on the forward strands.
    cigar : tuple of (str, int)
        Along the forward subject: ``=`` identical, ``X`` not, ``I`` query symbol without a subject
        symbol, ``D`` subject symbol without a query symbol. Adjacent runs have different letters.
    strand : {"+", "-"}
        ``-``: the query's reverse complement is aligned.
    """

    query: str
    subject: str
    query_length: int
    subject_length: int
    rank: int
    score: int
    query_start: int
    query_end: int
    subject_start: int
    subject_end: int
    cigar: tuple[CigarOperation, ...]
    strand: str = "+"

    @property
    def matches(self) -> int:
        """Number of columns with identical symbols."""
        return sum(n for op, n in self.cigar if op == "=")

    @property
    def columns(self) -> int:
        """Number of alignment columns."""
        return sum(n for _, n in self.cigar)

    @property
    def gaps(self) -> int:
        """Number of gap symbols."""
        return sum(n for op, n in self.cigar if op in "ID")

    @property
    def identity(self) -> float:
        """Matches / columns."""
        return self.matches / self.columns
