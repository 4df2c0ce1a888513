"""Result types of the tools, free of any algorithm or file format."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.locus import Loci, Locus

FRAMESHIFTS = KEEP, SPLIT, DROP = "keep", "split", "drop"
"""What becomes of structures with frameshifts or stop codons inside, see `with_frameshifts`."""
CigarOperation = tuple[str, int]
"""One run of an alignment: operation letter and length."""


def cigar_text(cigar: Iterable[CigarOperation]) -> str:
    """Return a CIGAR as it is written."""
    return "".join([f"{n}{operation}" for operation, n in cigar])  # a list is faster here


def count_columns(cigar: Iterable[CigarOperation], operations: str) -> int:
    """Return the number of columns of some operations."""
    return sum([n for operation, n in cigar if operation in operations])


def _leading(cigar: Iterable[CigarOperation], until: str, counted: str) -> int:
    """Return the columns of some operations before the first one of others."""
    before = takewhile(lambda run: run[0] not in until, cigar)
    return count_columns(before, counted)


class _Changeable:
    """What all alignments share: copies with other values."""

    def changed(self, **fields: Any) -> Self:
        """Return a copy with other values; `dataclasses.replace` takes ten times as long.

        Of a CIGAR that is not made yet its runs and counts go along.
        """
        other = object.__new__(type(self))
        vars(other).update(vars(self), **fields)
        return other


class _ColumnCounts(_Changeable):
    """What the results with a CIGAR share: its runs, and counts of its columns."""

    cigar: tuple[CigarOperation, ...]

    def with_runs(self, runs: Runs) -> Self:
        """Return the alignment with the CIGAR that some runs come to."""
        other = self.changed(_runs=runs, _counts=runs.columns)
        del vars(other)["cigar"]
        return other

    @cached_property
    def _counts(self) -> Mapping[str, int]:
        """Columns by operation, counted once: a long CIGAR takes a while."""
        counts: defaultdict[str, int] = defaultdict(int)
        for operation, n in self.cigar:
            counts[operation] += n
        return counts

    @property
    def matches(self) -> int:
        """Number of alignment columns with equal symbols."""
        return self._counts["="]

    @property
    def columns(self) -> int:
        """Number of alignment columns; introns have none."""
        counts = self._counts
        return counts["="] + counts["X"] + counts["I"] + counts["D"]


class _ExonChain(_Changeable):
    """What alignments of cDNAs and of proteins to a chain of exons share."""

    chain: tuple[tuple[int, int], ...]
    target_length: int
    beyond: tuple[int, int]
    score: int | None
    intron_confidences: tuple[int, ...] | None
    exon_confidences: tuple[int, ...] | None
    evidence_points: int

    @property
    def score_alone(self) -> int | None:
        """The score without the points of evidence, of which laws of chance say nothing."""
        return None if self.score is None else self.score - self.evidence_points

    @property
    def n_chain(self) -> int:
        """Number of exons in the chain."""
        return len(self.chain)

    @property
    def identity(self) -> float | None:
        """Matches / alignment columns, or None if there is no column."""
        columns = self.columns
        return self.matches / columns if columns else None

    def moved(self, base: Locus) -> Self:
        """Return the alignment in the coordinates of the record that the base is a locus of.

        The record's name and length, which must be known, replace the base's.
        """
        if (base.record, base.start, base.record_length) == (self.base, 0, self.base_length):
            return self
        chain = tuple(map(base.to_record, self.chain))
        return self.changed(base=base.record, base_length=base.record_length, chain=chain)

    def within(self, base: Locus) -> Self:
        """Return the alignment to a record in the coordinates of a locus that holds its chain."""
        chain = tuple((start - base.start, end - base.start) for start, end in self.chain)
        return self.changed(base=base.name, base_length=base.end - base.start, chain=chain)

    @property
    def coverage(self) -> float | None:
        """Target symbols aligned to symbols of the base / target length, or None without a chain.

        Those of a protein are aligned to codons.
        """
        return self._paired / self.target_length if self.chain else None

    @property
    def coverage_within(self) -> float | None:
        """Coverage of the target but what lies `beyond` the base, or None without a chain."""
        within = self.target_length - sum(self.beyond)
        return self._paired / max(within, 1) if self.chain else None

    @property
    def min_confidence(self) -> int | None:
        """Least confidence of the introns, of the exon without introns; None if it is not known."""
        if not self.chain or self.intron_confidences is None:
            return None
        return min(self.intron_confidences or self.exon_confidences)

    def with_evalue(self, evalue: float | None) -> Self:
        """Return the alignment with an E-value."""
        return self.changed(evalue=evalue)


class Runs(NamedTuple):
    """The runs of a CIGAR before they are objects: there may be thousands of alignments."""

    letters: str  # the operation of each run
    lengths: NDArray[np.int64]  # shape (n,)
    columns: Mapping[str, int]  # the sum of each operation's lengths

    @property
    def cigar(self) -> tuple[CigarOperation, ...]:
        """The runs as objects."""
        return tuple(zip(self.letters, self.lengths.tolist(), strict=True))


class _CigarOfRuns:
    """The field of a CIGAR: where `Runs` came in its place, it is made of them when it is read."""

    def __get__(self, alignment, owner=None) -> tuple[CigarOperation, ...]:
        if alignment is None:
            return ()  # the field's default
        cigar = vars(alignment)["cigar"] = alignment._runs.cigar
        return cigar


@dataclass(frozen=True)
class SplicedAlignment(_ExonChain, _ColumnCounts):
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
    n_exons : int or None
        Candidates of the strand of the chain, equal intervals counted once; None if they were never
        listed.
    cells : int
        Nominal cells, sum of exon lengths times target length over both strands; without a list,
        base length times target length for each strand tried.
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
    phases : tuple of int
        Of a chain that translates, by exon: nucleotides before the first whole codon. Else empty.
    start_codon, stop_codon : bool
        Whether a chain that translates begins with ATG, and whether it ends with a stop codon.
    evalue : float or None
        How many best scores of one unrelated target are expected to be at least this high, see
        `gpu_tools.with_evalues`; None if that is not known.
    target_reversed : bool
        Whether it is the target's reverse complement that is aligned, to which `target_start` and
        `target_end` refer.
    beyond : tuple of (int, int)
        Target symbols at its begin and at its end, as aligned, that would lie beyond an end of the
        base's record or in a gap, see `gpu_tools.model.acceptance`.
    intron_confidences, exon_confidences : tuple of int, or None
        What each intron and each exon is worth in points, in transcript order, see
        `gpu_tools.with_confidence`; None if that is not known.
    evidence_points : int
        What the score has for introns by evidence, say that the target's gene has them, too.
        E-values leave it out.
    rank : int or None
        1 for the best chain of a case, 2 and more for further ones that share no aligned pair with
        a better one; None where only the best one was looked for.
    """

    base: str
    target: str
    base_length: int
    target_length: int
    strand: str | None = None
    score: int | None = None
    n_exons: int | None = 0
    cells: int = 0
    chain: tuple[tuple[int, int], ...] = ()
    target_start: int = 0
    target_end: int = 0
    cigar: tuple[CigarOperation, ...] = _CigarOfRuns()
    exon_scores: tuple[float, ...] = ()
    phases: tuple[int, ...] = ()
    start_codon: bool = False
    stop_codon: bool = False
    evalue: float | None = None
    target_reversed: bool = False
    beyond: tuple[int, int] = (0, 0)
    intron_confidences: tuple[int, ...] | None = None
    exon_confidences: tuple[int, ...] | None = None
    evidence_points: int = 0
    rank: int | None = None

    def with_target_reversed(self) -> SplicedAlignment:
        """Return the alignment as that of the target's reverse complement."""
        return self.changed(target_reversed=True)

    @property
    def _paired(self) -> int:
        return self._counts["="] + self._counts["X"]

    @property
    def unaligned_ends(self) -> tuple[int, int]:
        """Target symbols before the first one paired with a base symbol, and behind the last."""
        front, back = (_leading(cigar, "=X", "I") for cigar in (self.cigar, self.cigar[::-1]))
        return self.target_start + front, self.target_length - self.target_end + back


@dataclass(frozen=True)
class ProteinAlignment(_ExonChain):
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
    beyond : tuple of (int, int)
    intron_confidences, exon_confidences : tuple of int, or None
    evidence_points : int
    rank : int or None
        See `gpu_tools.SplicedAlignment`.
    splits_frameshifts : bool
        Whether the nucleotides of frameshifts belong to no coding sequence, which then reads in one
        frame.
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
    beyond: tuple[int, int] = (0, 0)
    intron_confidences: tuple[int, ...] | None = None
    exon_confidences: tuple[int, ...] | None = None
    evidence_points: int = 0
    rank: int | None = None
    splits_frameshifts: bool = False

    @property
    def matches(self) -> int:
        """Codons whose amino acid is the residue aligned to them; a stop codon has none."""
        acids, residues = self._lines
        return int(((acids == residues) & (acids != ord("*"))).sum())

    @property
    def columns(self) -> int:
        """Columns of the alignment."""
        return len(self.residues)

    @property
    def _lines(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        acids, residues = (line.encode() for line in (self.translation, self.residues))
        return np.frombuffer(acids, np.uint8), np.frombuffer(residues, np.uint8)

    @property
    def _pairs(self) -> NDArray[np.int64]:
        """The columns in which a codon and a residue are aligned."""
        acids, residues = self._lines
        return np.flatnonzero((acids != ord("-")) & (residues != ord("-")))

    @property
    def _paired(self) -> int:
        return len(self._pairs)

    @property
    def unaligned_ends(self) -> tuple[int, int]:
        """Residues before the first one that is aligned to a codon, and behind the last one."""
        pairs = self._pairs
        first, past = (pairs[0], pairs[-1] + 1) if len(pairs) else (self.columns, self.columns)
        front, back = (
            len(part) - part.count("-") for part in (self.residues[:first], self.residues[past:])
        )
        return self.target_start + front, self.target_length - self.target_end + back

    @property
    def frameshifts(self) -> int:
        """Number of frameshifts."""
        return sum(letter in "FG" for letter, _ in self.cigar)

    @property
    def inner_stops(self) -> int:
        """Number of stop codons inside the chain, those that stand for U not among them."""
        return self.translation.count("*")


def faults_of(alignment: SplicedAlignment | ProteinAlignment) -> int:
    """Return the number of frameshifts and of stop codons inside; a cDNA's alignment has none."""
    if not isinstance(alignment, ProteinAlignment):
        return 0
    return alignment.frameshifts + alignment.inner_stops


def with_frameshifts(
    alignment: SplicedAlignment | ProteinAlignment, kept: str
) -> SplicedAlignment | ProteinAlignment:
    """Return an alignment whose coding sequence is written as one of `FRAMESHIFTS` says."""
    if kept != SPLIT or not isinstance(alignment, ProteinAlignment) or not alignment.frameshifts:
        return alignment
    return alignment.changed(splits_frameshifts=True)


@dataclass(frozen=True)
class Segment:
    """A run of consecutive values and its sum.

    Parameters
    ----------
    start, end : int
        0-based half-open.
    score : int or float
        Sum of the values; an integer if they are.
    """

    start: int
    end: int
    score: int | float


@dataclass(frozen=True, eq=False)
class Segments:
    """Disjoint segments of one sequence of values, in the order of their positions.

    Parameters
    ----------
    starts, ends : ndarray of int64, shape (k,)
        0-based half-open.
    scores : ndarray of int64 or float64, shape (k,)
        Sums of the segments' values.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    scores: NDArray

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, k: int) -> Segment:
        return Segment(int(self.starts[k]), int(self.ends[k]), self.scores[k].item())

    def take(self, chosen: NDArray) -> Segments:
        """Return the segments that a mask or an array of indices chooses."""
        return Segments(self.starts[chosen], self.ends[chosen], self.scores[chosen])

    def ranked(self) -> Segments:
        """Return the segments by falling score, equal scores by position."""
        return self.take(np.argsort(-self.scores, kind="stable"))


@dataclass(frozen=True)
class Submatrix:
    """A rectangle of neighbouring rows and columns and its sum.

    Parameters
    ----------
    row_start, row_end, column_start, column_end : int
        0-based half-open.
    score : int or float
        Sum of the values; an integer if they are.
    """

    row_start: int
    row_end: int
    column_start: int
    column_end: int
    score: int | float


@dataclass(frozen=True, slots=True)
class ApproximateMatch:
    """An end position of a pattern in a text, with the longest best match that ends there.

    Parameters
    ----------
    pattern, text : str
        Names.
    start, end : int
        Matched part of the text, 0-based half-open on the forward strand; never empty.
    strand : {"+", "-"}
        ``-``: the reverse complement of the pattern matches the forward text.
    distance : int
        Cost of the alignment.
    cigar : tuple of (str, int)
        The alignment along the forward text: ``=`` match, ``X`` substitution, ``I`` pattern
        symbol that the text lacks, ``D`` text symbol that the pattern lacks.
    """

    pattern: str
    text: str
    start: int
    end: int
    strand: str
    distance: int
    cigar: tuple[CigarOperation, ...]


@dataclass(frozen=True)
class ExactMatches:
    """Occurrences of patterns in texts, as columns sorted by text, start and pattern.

    At equal positions ``+`` comes before ``-``. Iteration gives a tuple (pattern, text, start, end,
    strand) for each, with names.

    Parameters
    ----------
    pattern_names, text_names : sequence of str
        Names by number.
    patterns, texts : ndarray of int64, shape (n,)
        Numbers of pattern and text.
    starts, ends : ndarray of int64, shape (n,)
        Matched part of the text, 0-based half-open on the forward strand.
    reverse : ndarray of bool, shape (n,)
        Whether the reverse complement of the pattern occurs.
    """

    pattern_names: Sequence[str]
    text_names: Sequence[str]
    patterns: NDArray[np.int64]
    texts: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    reverse: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[tuple[str, str, int, int, str]]:
        columns = (self.patterns, self.texts, self.starts, self.ends, self.reverse)
        for pattern, text, start, end, reverse in zip(*(c.tolist() for c in columns), strict=True):
            name, other = self.pattern_names[pattern], self.text_names[text]
            yield name, other, start, end, "-" if reverse else "+"


@dataclass(frozen=True)
class PairwiseAlignment(_ColumnCounts):
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
    cigar: tuple[CigarOperation, ...] = _CigarOfRuns()
    strand: str = "+"

    @property
    def gaps(self) -> int:
        """Number of gap symbols."""
        return count_columns(self.cigar, "ID")

    @property
    def identity(self) -> float:
        """Matches / columns."""
        return self.matches / self.columns

    def moved(self, query: Locus, subject: Locus) -> PairwiseAlignment:
        """Return the alignment in the coordinates of the records of both loci.

        The records' names and lengths, which must be known, replace the sequences'.
        """
        query_start, query_end = query.to_record((self.query_start, self.query_end))
        subject_start, subject_end = subject.to_record((self.subject_start, self.subject_end))
        return replace(
            self, query=query.record, query_length=query.record_length,
            subject=subject.record, subject_length=subject.record_length,
            query_start=query_start, query_end=query_end,
            subject_start=subject_start, subject_end=subject_end,
        )  # fmt: skip


class PairLoci(NamedTuple):
    """Where the queries and the subjects of pairwise alignments lie, by their names."""

    queries: Loci
    subjects: Loci

    def moved(self, alignment: PairwiseAlignment) -> PairwiseAlignment:
        """Return an alignment in the coordinates of the records."""
        return alignment.moved(self.queries[alignment.query], self.subjects[alignment.subject])
