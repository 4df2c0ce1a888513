"""The traceback that list mode and site mode share: from a chain's end back over its exons.

Only the chain's exons are computed again, backwards, from the cell where the chain leaves them.
W(r, c) is the most that S' can still gain from column c on with r nucleotides left:

    W(r, c) = max(W(r-1, c+1) + w - gap, W(r-1, c) + gap, W(r, c+1)), W(0, c) = 0

An exon of r nucleotides continues a chain at column c exactly if entry(c) + W(r, c) is the wanted
value. Each mode lists the `Entries` at which an exon may begin; `trace_exon` finds the one that
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
from gpu_tools.splicing.best_chains import (
    NO_PAIRS,
    BannedPairs,
    banned_of_row,
    banned_within,
    is_banned,
)

ROWS_BETWEEN_CHECKPOINTS = 64
_LANES = simd.VECTOR_BYTES // 4
CELLS_STORED = 1 << 18
"""Rows of so many cells are stored; to compute more cells again is as fast as more memory."""
EQUAL, UNEQUAL, INSERTION, DELETION, INTRON = range(5)


class Entries(NamedTuple):
    """K places where an exon may begin, by the exon's length."""

    lengths: NDArray[np.int64]  # (K,) nucleotides of the exon, rising
    rows: NDArray[np.int64]  # (K,) row of `stored` with S' at the entry; -1 stands for `empty`
    wanted: NDArray[np.int64]  # (K,) sum of S' at the entry and the exon's gain
    stored: NDArray  # (E, > n) S' by target column
    empty: NDArray[np.int32]  # (> n,) S' of the empty chain by target column


class ExonRows(NamedTuple):
    """What one backward pass needs, up to the cell where the exon ends."""

    base: NDArray[np.uint8]
    target: NDArray[np.uint8]
    lifted: NDArray[np.int32]  # scores of pairs by symbols, see `pair_scores`
    profile: NDArray[np.int32]  # scores of pairs by nucleotide and target column
    gap: int
    banned: BannedPairs  # by nucleotide of `base` and symbol of `target`


def lifted_scores(scoring: SplicedScoring) -> NDArray[np.int32]:
    """Return the lifted scores of all pairs of symbols, the nucleotide first."""
    return scoring.lifted.astype(np.int32)


def pair_scores(target, scoring: SplicedScoring) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return lifted scores of all pairs of symbols, and of each symbol with the target's."""
    lifted = lifted_scores(scoring)
    return lifted, np.take(lifted, target, axis=1)  # C-contiguous, unlike what indexing gives


@njit(nogil=True)
def profile_of(lifted, target):
    """Return lifted scores of each symbol with the target's, as `pair_scores` does."""
    profile = np.empty((len(lifted), len(target)), np.int32)
    for symbol in range(len(lifted)):
        for c in range(len(target)):
            profile[symbol, c] = lifted[symbol, target[c]]
    return profile


@njit
def previous_row(profile, symbol, gap, cells, before, columns, first):
    """Fill row ``before + 1`` of `cells` with W(r, c), where row `before` holds W(r - 1, c).

    All columns c from `columns` down to `first` are filled. `profile` holds the scores of each
    nucleotide with each target symbol; all arrays are of int32 and C-contiguous.
    """
    below, scores = before * cells.shape[1], symbol * profile.shape[1]
    out, c = (before + 1) % len(cells) * cells.shape[1], columns
    right = np.int32(simd.element(cells, below + c) + gap)
    simd.set_element(cells, out + c, right)
    if columns - first < _LANES:
        while c > first:
            c -= 1
            paired = simd.element(cells, below + c + 1) + simd.element(profile, scores + c)
            right = max(right, np.int32(paired), np.int32(simd.element(cells, below + c) + gap))
            simd.set_element(cells, out + c, right)
        return
    gaps, carry = simd.splat(gap), simd.splat(right)
    while c > first:
        c -= _LANES
        if c < first:  # the last vector overlaps the one before it
            c = first
            carry = simd.splat(simd.element(cells, out + c + _LANES))
        paired = simd.add(simd.load(cells, below + c + 1), simd.load(profile, scores + c))
        best = simd.maximum(paired, simd.add(simd.load(cells, below + c), gaps))
        best = simd.maximum(simd.suffix_maximum(best), carry)
        simd.store(cells, out + c, best)
        carry = simd.splat(simd.first_lane(best))


@njit(nogil=True)
def _row_before(rows, left, cells, before, first):
    """Fill a row of cells with W(left + 1, c), see `previous_row`; banned pairs are two gaps."""
    base, target, lifted, profile, gap, banned = rows
    place, gap = len(base) - 1 - left, np.int32(gap)
    symbol = np.int64(base[place])
    at, past = banned_of_row(banned, place)
    for k in range(at, past):
        if banned.columns[k] < len(target):
            profile[symbol, banned.columns[k]] = gap
    previous_row(profile, symbol, gap, cells, before, len(target), first)
    for k in range(at, past):
        column = banned.columns[k]
        if column < len(target):
            profile[symbol, column] = lifted[symbol, target[column]]


@njit
def _entered_at(entry, gain, first, missing):
    """Return the smallest column from `first` on with entry + gain = missing, or -1."""
    for c in range(first, len(gain)):
        if entry[c] + gain[c] == missing:
            return c
    return -1


@njit(nogil=True)
def find_entry(rows, entries, gains, checkpoints, first, left, until):
    """Go back through an exon until one of its entries explains the value at its end."""
    # local names: an array read out of a tuple inside the loop costs an atomic reference count
    lengths, numbers = entries.lengths, entries.rows
    columns, k, every = len(rows.target), 0, ROWS_BETWEEN_CHECKPOINTS
    while True:
        best, found, here = columns + 1, -1, left % len(gains)
        while k < len(lengths) and lengths[k] == left:
            if numbers[k] < 0:
                column = _entered_at(entries.empty, gains[here], first, entries.wanted[k])
            else:
                stored = entries.stored[numbers[k]]
                column = _entered_at(stored, gains[here], first, entries.wanted[k])
            if 0 <= column < best:
                best, found = column, k
            k += 1
        if found >= 0 or left == until:
            return found, best, left
        if len(checkpoints) and left % every == 0:
            for c in range(first, columns + 1):
                checkpoints[left // every, c] = gains[here, c]
        _row_before(rows, left, gains, here, first)
        left += 1


@njit
def _first_column(rows, entries):
    """Return the first column at which an exon could have been entered.

    Each nucleotide gains at most the best lifted score, and S' never falls from left to right.
    """
    most = np.int64(0)
    for scores in rows.lifted:
        for score in scores:
            most = max(most, np.int64(score))
    most += max(rows.gap, 0)
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
    n_rows, first = len(rows.base), _first_column(rows, entries)
    gains, checkpoints = _cells_for(n_rows, len(rows.target) + 1)
    found, column, left = find_entry(rows, entries, gains, checkpoints, first, 0, n_rows)
    if found < 0:
        raise ValueError("no exon explains the value at its end: the sweep is wrong")
    return found, column, _operations(rows, gains, checkpoints, left, column)


@njit
def _cells_for(n_rows, width):
    """Return an exon's gains with those of 0 nucleotides, and checkpoints if not all are stored."""
    stores_all = (n_rows + 1) * width <= CELLS_STORED
    gains = np.empty((n_rows + 1 if stores_all else 2, width), dtype=np.int32)
    for c in range(width):
        gains[0, c] = 0
    n_checkpoints = 0 if stores_all else n_rows // ROWS_BETWEEN_CHECKPOINTS + 1
    return gains, np.empty((n_checkpoints, width), dtype=np.int32)


@njit
def _operations(rows, gains, checkpoints, left, column):
    """Align an exon of `left` nucleotides that is entered at a column."""
    if len(checkpoints):
        return align_exon(rows, checkpoints, left, column)
    operations = np.empty(left + len(rows.target) - column, dtype=np.uint8)
    none = np.int64(0)  # numba compiles a function again for literal numbers
    return operations[: _walk(rows, gains, (left, none), column, operations, none)[1]]


@njit(nogil=True)
def align_exon(rows, checkpoints, left, column):
    """Walk from the exon's entry to its end, block by block of recomputed rows."""
    columns, every = len(rows.target), ROWS_BETWEEN_CHECKPOINTS
    operations = np.empty(left + columns - column, dtype=np.uint8)
    block, n = np.empty((every + 1, columns + 1), dtype=np.int32), np.int64(0)
    while True:
        bottom = max(left - 1, 0) // every * every
        for c in range(column, columns + 1):
            block[0, c] = checkpoints[bottom // every, c]
        for r in range(left - bottom):
            _row_before(rows, bottom + r, block, r, column)
        column, n = _walk(rows, block, (left, bottom), column, operations, n)
        left = bottom
        if left == 0:
            return operations[:n]


@njit(nogil=True)
def _walk(rows, cells, span, column, operations, n):
    """Write the operations of the nucleotides of a part of an exon.

    `span` says how many nucleotides of the exon are left before and behind the part; row k of
    `cells` holds W of k more nucleotides than behind it. Returns the column and the number of
    operations; behind the exon's last nucleotide come the target's symbols that are left.
    """
    base, target, lifted, gap, banned = rows.base, rows.target, rows.lifted, rows.gap, rows.banned
    columns, (left, bottom) = len(target), span
    while left > bottom:
        value, below = cells[left - bottom, column], left - bottom - 1
        symbol = base[len(base) - left]
        if (
            column < columns
            and value == cells[below, column + 1] + lifted[symbol, target[column]]
            and not is_banned(banned, len(base) - left, column)
        ):
            equal = symbol == target[column] and symbol < 4
            operations[n] = EQUAL if equal else UNEQUAL
            left, column = left - 1, column + 1
        elif value == cells[below, column] + gap:
            operations[n] = DELETION
            left -= 1
        else:
            operations[n] = INSERTION
            column += 1
        n += 1
    while bottom == 0 and column < columns:
        operations[n] = INSERTION
        n, column = n + 1, column + 1
    return column, n


@njit
def align_all(rows):
    """Align an exon with all symbols of its part of the target."""
    n_rows, columns, every = len(rows.base), len(rows.target), ROWS_BETWEEN_CHECKPOINTS
    none = np.int64(0)  # numba compiles a function again for literal numbers
    gains = np.zeros((2, columns + 1), np.int32)
    checkpoints = np.empty((n_rows // every + 1, columns + 1), np.int32)
    for left in range(n_rows):
        here = left % 2
        if left % every == 0:
            for c in range(columns + 1):
                checkpoints[left // every, c] = gains[here, c]
        _row_before(rows, left, gains, here, none)
    return align_exon(rows, checkpoints, n_rows, none)


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
    first = first_column(column, scoring.gap, scoring.ends != "global", scoring.clip_cost)
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
    """Align a chain whose exons and their columns are known."""
    lifted, free, cost = lifted_scores(scoring), scoring.ends != "global", scoring.clip_cost
    runs = align_exons(codes, target, exons, lifted, scoring.gap, free, cost, NO_PAIRS)
    return chain_of(exons, *runs, scoring)


def chain_of(
    exons: NDArray[np.int32], letters, lengths, columns, scoring: SplicedScoring
) -> TracedChain:
    """Return a chain of exons as `align_chain` reads them, and what `align_exons` returns."""
    rows = exons.tolist()
    first = first_column(rows[0][2], scoring.gap, scoring.ends != "global", scoring.clip_cost)
    intervals = [(start, end) for start, end, *_ in rows]
    return TracedChain.of_runs(intervals, first, letters, lengths, columns)


@njit(cache=True, nogil=True)
def align_exons(codes, target, exons, lifted, gap, free, cost, banned):
    """Return the runs of operations of a chain, and the columns of each operation.

    Of the runs these are their letters, as numbered here, and their lengths.
    """
    first = first_column(np.int64(exons[0, 2]), gap, free, cost)
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
        left_out = banned_within(banned, exons[e, 0], exons[e, 1], exons[e, 2], exons[e, 3])
        profile = profile_of(lifted, part)
        operations = align_all(ExonRows(base, part, lifted, profile, gap, left_out))
        simd.copy(operations, letters[n:])
        n += len(operations)
    letters, lengths = merge_runs(letters[:n], lengths[:n])
    # copies, for what there was space for is several times as much
    return letters.copy(), lengths.copy(), _columns_of(letters, lengths)


@register_jitable
def first_column(column, gap, free, cost):
    """Return where the aligned part of the target begins if a chain is entered at a column.

    Free ends leave the symbols before it out, unless gaps score more than that costs.
    """
    return column if free and -gap * column >= cost else 0
