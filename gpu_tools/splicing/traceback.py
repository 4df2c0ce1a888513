"""The traceback that list mode and site mode share: from a chain's end back over its exons.

Only the chain's exons are computed again, backwards, from the cell where the chain leaves them.
W(r, c) is the most that S' can still gain on the way from column c with r nucleotides left. An exon
of r nucleotides continues a chain at column c exactly if entry(c) + W(r, c) is the wanted value.
Each mode lists the `Entries` at which an exon may begin; `exon_traceback` finds the one that
explains the value: the shortest exon, then the smallest target column, then the entry listed first.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.model.results import CigarOperation, Runs
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.splicing.exon_traceback import (
    INSERTION,
    INTRON,
    ExonRows,
    align_all,
    lifted_scores,
    profile_of,
)

LETTERS = "=XIDN"
"""Letters of the operations, by number."""
_TO_LETTERS = LETTERS.encode("ascii").ljust(256)
End = TypeVar("End")


@register_jitable
def merge_runs(letters, lengths):
    """Merge neighbouring runs of the same operation, and drop empty ones."""
    n = 0
    for k in range(len(letters)):
        if lengths[k] == 0:
            continue
        if n > 0 and letters[n - 1] == letters[k]:
            lengths[n - 1] += lengths[k]
        else:
            letters[n], lengths[n] = letters[k], lengths[k]
            n += 1
    return letters[:n], lengths[:n]


_merge_runs = njit(cache=True, nogil=True)(merge_runs)


@njit(cache=True, nogil=True)
def _columns_of(letters, lengths):
    """Return the columns of each operation."""
    columns = np.zeros(len(LETTERS), np.int64)
    for k in range(len(letters)):
        columns[letters[k]] += lengths[k]
    return columns


def runs_of(letters, lengths) -> tuple[CigarOperation, ...]:
    """Return operations as numbered here, and their lengths, as runs with letters."""
    return tuple(zip(letters_of(letters), lengths.tolist(), strict=True))


def letters_of(numbers: NDArray[np.uint8]) -> str:
    """Return the letters of operations as numbered here."""
    return numbers.tobytes().translate(_TO_LETTERS).decode("ascii")


class TracedExon(NamedTuple):
    """An exon of a chain, in reading direction: its interval, its entry column, its operations.

    `entry` says how the exon is entered, in the terms of its mode.
    """

    start: int
    end: int
    column: int
    operations: NDArray[np.uint8]
    entry: object


class ExonTracer(Protocol, Generic[End]):
    """What a mode contributes to a traceback; an `End` is where an exon ends, in its terms."""

    def exon_before(self, end: End, column: int) -> TracedExon:
        """Return the exon that ends there at a target column."""

    def end_before(self, exon: TracedExon) -> End | None:
        """Return the end that explains the value of an exon's entry; None for a first exon."""


class TracedChain(NamedTuple):
    """A chain in reading direction, its exons as half-open intervals, and its alignment.

    `entries` says how each exon is entered, in the terms of its mode; it may be left out.
    """

    intervals: list[tuple[int, int]]
    first_column: int
    runs: Runs
    entries: tuple = ()

    @classmethod
    def of_runs(
        cls, intervals: list[tuple[int, int]], first_column: int, letters, lengths, columns,
        entries: tuple = (),
    ) -> TracedChain:  # fmt: skip
        """Return a chain given runs with operations as numbered here, and columns of each one."""
        counts = dict(zip(LETTERS, columns.tolist(), strict=True))
        return cls(intervals, first_column, Runs(letters_of(letters), lengths, counts), entries)

    @property
    def cigar(self) -> tuple[CigarOperation, ...]:
        """The alignment as in `gpu_tools.SplicedAlignment`."""
        return self.runs.cigar


def trace_back(
    tracer: ExonTracer[End], end: End, column: int, scoring: SplicedScoring
) -> TracedChain:
    """Walk from a chain's end at a target column back over its exons."""
    exons = []
    while end is not None:
        exons.append(tracer.exon_before(end, column))
        column, end = exons[-1].column, tracer.end_before(exons[-1])
    exons.reverse()
    first = first_column(column, scoring.gap, scoring.ends != "global")
    letters, lengths = [[INSERTION]], [[column - first]]
    for before, exon in zip([None, *exons], exons, strict=False):
        intron = exon.start - before.end if before else 0
        letters += [[INTRON], exon.operations]
        lengths += [[intron], np.ones_like(exon.operations)]
    runs = np.concatenate(letters).astype(np.uint8), np.concatenate(lengths).astype(np.int64)
    intervals = [(exon.start, exon.end) for exon in exons]
    entries = tuple(exon.entry for exon in exons)
    letters, lengths = _merge_runs(*runs)
    columns = _columns_of(letters, lengths)
    return TracedChain.of_runs(intervals, first, letters, lengths, columns, entries)


def align_chain(codes, target, exons: NDArray[np.int32], scoring: SplicedScoring) -> TracedChain:
    """Align a chain whose exons and their columns are known.

    Parameters
    ----------
    codes : ndarray of uint8, shape (m,)
        The strand's nucleotides in reading direction.
    target : ndarray of uint8, shape (n,)
        Encoded target.
    exons : ndarray of int32, shape (E, 4)
        Start, end, first and last target column of each exon, in reading direction; an exon's first
        column is the last one of the exon before.
    scoring : SplicedScoring

    Returns
    -------
    TracedChain
        Its alignment is that of `trace_back`.
    """
    lifted, free = lifted_scores(scoring), scoring.ends != "global"
    return chain_of(exons, *align_exons(codes, target, exons, lifted, scoring.gap, free), scoring)


def chain_of(
    exons: NDArray[np.int32], letters, lengths, columns, scoring: SplicedScoring
) -> TracedChain:
    """Return a chain of exons as `align_chain` reads them, and what `align_exons` returns."""
    rows = exons.tolist()
    first = first_column(rows[0][2], scoring.gap, scoring.ends != "global")
    intervals = [(start, end) for start, end, *_ in rows]
    return TracedChain.of_runs(intervals, first, letters, lengths, columns)


@njit(cache=True, nogil=True)
def align_exons(codes, target, exons, lifted, gap, free):
    """Return the runs of operations of a chain, and the columns of each operation.

    Of the runs these are their letters, as numbered here, and their lengths.
    """
    first = first_column(np.int64(exons[0, 2]), gap, free)
    most = len(exons) + 1 + len(target)
    for e in range(len(exons)):
        most += exons[e, 1] - exons[e, 0]
    letters, lengths = np.empty(most, np.uint8), np.ones(most, np.int64)
    letters[0], lengths[0], n = INSERTION, exons[0, 2] - first, 1
    for e in range(len(exons)):
        if e > 0:
            letters[n], lengths[n] = INTRON, exons[e, 0] - exons[e - 1, 1]
            n += 1
        base, part = codes[exons[e, 0] : exons[e, 1]], target[exons[e, 2] : exons[e, 3]]
        operations = align_all(ExonRows(base, part, lifted, profile_of(lifted, part), gap))
        simd.copy(operations, letters[n:])
        n += len(operations)
    letters, lengths = merge_runs(letters[:n], lengths[:n])
    # copies, for what there was space for is several times as much
    return letters.copy(), lengths.copy(), _columns_of(letters, lengths)


@register_jitable
def first_column(column, gap, free):
    """Return where the aligned part of the target begins if a chain is entered at a column.

    Free ends leave the symbols before it out, unless gaps score more than nothing.
    """
    return column if free and gap <= 0 else 0
