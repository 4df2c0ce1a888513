"""A set of candidate exons of one sequence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError

EXON_TYPES = ("", "Init", "Intr", "Term", "Sngl")
"""Names of the exon types by code; code 0 means that the type is not known."""
ANY_PHASE = -1
"""The phase of a candidate that is listed without one."""


@dataclass(frozen=True)
class ExonSet:
    """Candidate exons of one sequence, as parallel arrays.

    Parameters
    ----------
    starts, ends : ndarray of int64, shape (B,)
        0-based, half-open intervals on the forward strand.
    reverse : ndarray of bool, shape (B,)
        True for exons of the reverse strand.
    scores : ndarray of float64, shape (B,)
        The source's score of each candidate, 0 where it gives none.
    types : ndarray of uint8, shape (B,)
        Index into `EXON_TYPES`.
    probabilities : ndarray of float64, shape (B,)
        The source's probability of each candidate, NaN where it gives none.
    phases : ndarray of int8, shape (B,)
        Nucleotides at each candidate's beginning that complete a codon split by the intron before
        it, 0 to 2 as in GFF3, `ANY_PHASE` where the source gives none. Proteins alone regard them.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    reverse: NDArray[np.bool_]
    scores: NDArray[np.float64] = field(default=None)
    types: NDArray[np.uint8] = field(default=None)
    probabilities: NDArray[np.float64] = field(default=None)
    phases: NDArray[np.int8] = field(default=None)

    def __post_init__(self):
        n = len(self.starts)
        missing = {"scores": 0.0, "types": np.uint8(0), "probabilities": np.nan,
                   "phases": np.int8(ANY_PHASE)}  # fmt: skip
        for name, value in missing.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.full(n, value))
        if {len(column) for column in self._columns} != {n}:
            raise ValueError("the columns of an ExonSet must have equal lengths")

    @classmethod
    def from_intervals(
        cls, intervals: Iterable[tuple[int, int]], strand: str = "+", scores=None
    ) -> ExonSet:
        """Build a set of one strand.

        Parameters
        ----------
        intervals : iterable of (int, int)
            Start and end of each exon, 0-based and half-open on the forward strand.
        strand : {"+", "-"}
            Strand of all exons.
        scores : array_like of float, optional
            Score of each exon; 0 by default.

        Returns
        -------
        ExonSet
            The exons in the order of `intervals`.
        """
        if strand not in ("+", "-"):
            raise ValueError(f"strand {strand!r}; expected '+' or '-'")
        pairs = _pairs(intervals)
        reverse = np.full(len(pairs), strand == "-")
        scores = None if scores is None else np.asarray(scores, dtype=np.float64)
        return cls(pairs[:, 0].copy(), pairs[:, 1].copy(), reverse, scores)

    @classmethod
    def empty(cls) -> ExonSet:
        """Return a set without any exon."""
        return cls.from_intervals([])

    @classmethod
    def concatenate(cls, sets: Iterable[ExonSet]) -> ExonSet:
        """Join sets of the same sequence.

        Parameters
        ----------
        sets : iterable of ExonSet
            Sets to join, in this order.

        Returns
        -------
        ExonSet
            All their exons.
        """
        columns = zip(*(one._columns for one in (cls.empty(), *sets)), strict=True)
        return cls(*map(np.concatenate, columns))

    @property
    def _columns(self) -> list[NDArray]:
        return [getattr(self, column.name) for column in fields(self)]

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, selection) -> ExonSet:
        """Return the exons that a boolean mask or an index array selects, in its order."""
        return ExonSet(*(column[selection] for column in self._columns))

    def unique(self) -> ExonSet:
        """Return the set sorted by strand (+ first), start and end, equal intervals once.

        Of equal intervals the one of the highest score stays; of equal scores the first.
        """
        return self._unique

    @cached_property
    def _unique(self) -> ExonSet:
        order = np.lexsort((-self.scores, self.ends, self.starts, self.reverse))
        new = np.ones(len(order), dtype=bool)
        columns = (column[order] for column in (self.starts, self.ends, self.reverse))
        new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
        return self.take(order[new])

    @cached_property
    def nucleotides(self) -> int:
        """Sum of the exons' lengths."""
        return int((self.ends - self.starts).sum())

    def on_strand(self, strand: str) -> ExonSet:
        """Return the exons of one strand, ``+`` or ``-``."""
        return self.take(self.reverse == (strand == "-"))

    def check_within(self, length: int, record: str) -> None:
        """Raise `InputError` if an interval is empty or leaves a sequence of `length` symbols."""
        wrong = (self.starts < 0) | (self.ends > length) | (self.starts >= self.ends)
        if wrong.any():
            k = int(np.flatnonzero(wrong)[0])
            raise InputError(
                f"exon {self.starts[k] + 1}-{self.ends[k]} does not lie within the sequence",
                record=record,
                expected=f"positions 1 to {length}, start not after end",
            )


def _pairs(intervals: Iterable[tuple[int, int]]) -> NDArray[np.int64]:
    """Return intervals as an array of shape (B, 2); what else is given is an error."""
    rows = [tuple(interval) for interval in intervals]
    if any(len(row) != 2 for row in rows):
        raise ValueError("an interval has two numbers, start and end; strand is an argument")
    pairs = np.array(rows).reshape(-1, 2)
    if len(pairs) and pairs.dtype.kind not in "iu":
        raise ValueError(f"intervals of type {pairs.dtype}; expected whole numbers")
    return pairs.astype(np.int64)
