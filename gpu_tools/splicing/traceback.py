"""The traceback that list mode and site mode share: from a chain's end back over its exons.

Only the chain's exons are computed again, backwards, from the cell where the chain leaves them.
W(r, c) is the most that S' can still gain on the way from column c with r nucleotides left. An exon
of r nucleotides continues a chain at column c exactly if entry(c) + W(r, c) is the wanted value.
Each mode lists the `Entries` at which an exon may begin; `find_entry` finds the one that explains
the value: the shortest exon, then the smallest target column, then the entry listed first.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.cpu import simd
from gpu_tools.model.scoring import SplicedScoring

ROWS_BETWEEN_CHECKPOINTS = 64
_LANES = simd.VECTOR_BYTES // 4
EQUAL, UNEQUAL, INSERTION, DELETION, INTRON = range(5)
LETTERS = "=XIDN"
"""Letters of the operations, by number."""
_TO_LETTERS = LETTERS.encode("ascii").ljust(256)
End = TypeVar("End")


class Entries(NamedTuple):
    """Where an exon may begin, by the exon's length.

    Attributes
    ----------
    lengths : ndarray of int64, shape (K,)
        Nucleotides of the exon, rising.
    rows : ndarray of int64, shape (K,)
        The row of `stored` with S' at the entry; -1 stands for `empty`.
    wanted : ndarray of int64, shape (K,)
        What S' at the entry and the exon's gain come to together.
    stored : ndarray, shape (E, > n)
        S' by target column.
    empty : ndarray of int32, shape (> n,)
        S' of the empty chain by target column.
    """

    lengths: NDArray[np.int64]
    rows: NDArray[np.int64]
    wanted: NDArray[np.int64]
    stored: NDArray
    empty: NDArray[np.int32]


class ExonRows(NamedTuple):
    """What one backward pass needs, up to the cell where the exon ends.

    `lifted` are pairs' scores by symbols, `profile` by nucleotide and target column; see
    `pair_scores`.
    """

    base: NDArray[np.uint8]
    target: NDArray[np.uint8]
    lifted: NDArray[np.int32]
    profile: NDArray[np.int32]
    gap: int


def lifted_scores(scoring: SplicedScoring) -> NDArray[np.int32]:
    """Return the lifted scores of all pairs of symbols, the nucleotide first."""
    return (scoring.substitution() - scoring.gap).astype(np.int32)


def pair_scores(target, scoring: SplicedScoring) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return lifted scores of all pairs of symbols, and of each symbol with the target's."""
    lifted = lifted_scores(scoring)
    return lifted, np.take(lifted, target, axis=1)  # C-contiguous, unlike what indexing gives


@njit(cache=True)
def previous_row(scores, columns, gap, before, first, out):
    """Fill W(r, c) for c from `columns` down to `first` from W(r - 1, .).

    `scores` are the nucleotide's with each target symbol; all arrays are of int32.
    """
    c = columns
    right = np.int32(before[c] + gap)
    out[c] = right
    gaps, carry = simd.splat(gap), simd.splat(right)
    while c - first >= _LANES:
        c -= _LANES
        paired = simd.add(simd.load(before, c + 1), simd.load(scores, c))
        best = simd.maximum(paired, simd.add(simd.load(before, c), gaps))
        best = simd.maximum(simd.suffix_maximum(best), carry)
        simd.store(out, c, best)
        carry = simd.splat(simd.first_lane(best))
    right = out[c]
    while c > first:
        c -= 1
        right = max(right, np.int32(before[c + 1] + scores[c]), np.int32(before[c] + gap))
        out[c] = right


@njit(cache=True)
def _entered_at(entry, gain, first, missing):
    """Return the smallest column from `first` on with entry + gain = missing, or -1."""
    for c in range(first, len(gain)):
        if entry[c] + gain[c] == missing:
            return c
    return -1


@njit(cache=True, nogil=True)
def find_entry(rows, entries, gains, checkpoints, first, left, until):
    """Go back through an exon until one of its entries explains the value at its end.

    Parameters
    ----------
    rows : ExonRows
    entries : Entries
        Those of more than `left` nucleotides, or of `left` if none was looked for there.
    gains : ndarray of int32, shape (2, n + 1)
        W of an even and of an odd number of nucleotides. Updated.
    checkpoints : ndarray of int32, shape (C, n + 1)
        Takes W at multiples of `ROWS_BETWEEN_CHECKPOINTS` below `until`.
    first : int
        No exon is entered at a smaller column.
    left, until : int
        Nucleotides of the exon that are done, and most of them to look at.

    Returns
    -------
    entry, column, left : int
        The number of the entry, or -1 if there is none; the column; the exon's nucleotides so far.
    """
    columns, gap, k = len(rows.target), np.int32(rows.gap), 0
    while True:
        best, found = columns + 1, -1
        while k < len(entries.lengths) and entries.lengths[k] == left:
            row = entries.rows[k]
            if row < 0:
                column = _entered_at(entries.empty, gains[left % 2], first, entries.wanted[k])
            else:
                column = _entered_at(entries.stored[row], gains[left % 2], first, entries.wanted[k])
            if 0 <= column < best:
                best, found = column, k
            k += 1
        if found >= 0 or left == until:
            return found, best, left
        if left % ROWS_BETWEEN_CHECKPOINTS == 0:
            for c in range(first, columns + 1):
                checkpoints[left // ROWS_BETWEEN_CHECKPOINTS, c] = gains[left % 2, c]
        scores = rows.profile[rows.base[len(rows.base) - 1 - left]]
        previous_row(scores, columns, gap, gains[left % 2], first, gains[(left + 1) % 2])
        left += 1


@njit(cache=True)
def _first_column(rows, entries):
    """Return the first column at which an exon could have been entered.

    Each nucleotide gains at most the best lifted score, and S' never falls from left to right.
    """
    most = max(rows.lifted.max(), 0) + max(rows.gap, 0)
    first = len(rows.target)
    for k in range(len(entries.lengths)):
        missing = entries.wanted[k] - entries.lengths[k] * most
        low, high = 0, first
        while low < high:
            middle = (low + high) // 2
            row = entries.rows[k]
            value = entries.empty[middle] if row < 0 else entries.stored[row, middle]
            if value < missing:
                low = middle + 1
            else:
                high = middle
        first = low
    return first


@njit(cache=True, nogil=True)
def trace_exon(rows, entries):
    """Find the entry of an exon and align the exon; all entries are there.

    Returns the number of the entry, the column, and the operations; the exon has as many
    nucleotides as the entry says.
    """
    n_rows, columns, first = len(rows.base), len(rows.target) + 1, _first_column(rows, entries)
    checkpoints = np.zeros((n_rows // ROWS_BETWEEN_CHECKPOINTS + 1, columns), dtype=np.int32)
    gains = np.zeros((2, columns), dtype=np.int32)
    found, column, left = find_entry(rows, entries, gains, checkpoints, first, 0, n_rows)
    if found < 0:
        raise ValueError("no exon explains the value at its end: the sweep is wrong")
    return found, column, align_exon(rows, checkpoints, left, column)


@njit(cache=True, nogil=True)
def align_exon(rows, checkpoints, left, column):
    """Walk from the exon's entry to its end, block by block of recomputed rows."""
    every = ROWS_BETWEEN_CHECKPOINTS
    columns = len(rows.target)
    operations = np.empty(left + columns - column, dtype=np.uint8)
    n = 0
    block = np.empty((every + 1, columns + 1), dtype=np.int32)
    while left > 0:
        bottom = (left - 1) // every * every
        for c in range(column, columns + 1):
            block[0, c] = checkpoints[bottom // every, c]
        for r in range(1, left - bottom + 1):
            scores = rows.profile[rows.base[len(rows.base) - bottom - r]]
            previous_row(scores, columns, np.int32(rows.gap), block[r - 1], column, block[r])
        while left > bottom:
            here, below = block[left - bottom], block[left - bottom - 1]
            symbol = rows.base[len(rows.base) - left]
            if column < columns and (
                here[column] == below[column + 1] + rows.lifted[symbol, rows.target[column]]
            ):
                equal = symbol == rows.target[column] and symbol < 4
                operations[n] = EQUAL if equal else UNEQUAL
                left, column = left - 1, column + 1
            elif here[column] == below[column] + rows.gap:
                operations[n] = DELETION
                left -= 1
            else:
                operations[n] = INSERTION
                column += 1
            n += 1
    operations[n : n + columns - column] = INSERTION
    return operations[: n + columns - column]


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


def runs_of(letters, lengths) -> tuple[tuple[str, int], ...]:
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
    cigar: tuple[tuple[str, int], ...]
    entries: tuple = ()


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
    return TracedChain(intervals, first, runs_of(*_merge_runs(*runs)), entries)


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
    first = first_column(int(exons[0, 2]), scoring.gap, scoring.ends != "global")
    runs = _align_exons(codes, target, exons, lifted_scores(scoring), scoring.gap, first)
    return TracedChain(list(map(tuple, exons[:, :2].tolist())), first, runs_of(*runs))


@njit(cache=True, nogil=True)
def _align_exons(codes, target, exons, lifted, gap, first):
    """Return the runs of operations of a chain."""
    most = len(exons) + 1 + len(target)
    for start, end, _, _ in exons:
        most += end - start
    letters, lengths = np.empty(most, np.uint8), np.ones(most, np.int64)
    letters[0], lengths[0], n = INSERTION, exons[0, 2] - first, 1
    for e in range(len(exons)):
        start, end, low, high = exons[e]
        if e > 0:
            letters[n], lengths[n] = INTRON, start - exons[e - 1, 1]
            n += 1
        base, part = codes[start:end], target[low:high]
        profile = np.empty((len(lifted), len(part)), np.int32)
        for symbol in range(len(lifted)):
            for c in range(len(part)):
                profile[symbol, c] = lifted[symbol, part[c]]
        operations = _align_all(ExonRows(base, part, lifted, profile, gap))
        letters[n : n + len(operations)] = operations
        n += len(operations)
    return merge_runs(letters[:n], lengths[:n])


@njit
def _align_all(rows):
    """Align an exon with all symbols of its part of the target."""
    every, n_rows, columns = ROWS_BETWEEN_CHECKPOINTS, len(rows.base), len(rows.target)
    checkpoints = np.zeros((n_rows // every + 1, columns + 1), np.int32)
    gains = np.zeros((2, columns + 1), np.int32)
    for left in range(n_rows):
        if left % every == 0:
            checkpoints[left // every] = gains[left % 2]
        scores = rows.profile[rows.base[n_rows - 1 - left]]
        gap = np.int32(rows.gap)
        previous_row(scores, columns, gap, gains[left % 2], 0, gains[(left + 1) % 2])
    return align_exon(rows, checkpoints, n_rows, 0)


@register_jitable
def first_column(column, gap, free):
    """Return where the aligned part of the target begins if a chain is entered at a column.

    Free ends leave the symbols before it out, unless gaps score more than nothing.
    """
    return column if free and gap <= 0 else 0
