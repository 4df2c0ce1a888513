"""From a sweep to the best chain and its alignment.

The chain is followed backwards, as in `gpu_tools.spliced.cpu.traceback` and with the same ties: an
exon is the shortest one that explains its last value, entered at the smallest target column; it
is the first one if that is as good, else the nearest exit before it precedes it. Blocks of rows
are computed again where the chain has exons.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.cpu.sweep import Block, SiteSweep
from gpu_tools.sites.table import CLOSED, SiteTable
from gpu_tools.splicing.recurrence import empty_row
from gpu_tools.splicing.traceback import (  # fmt: skip
    ROWS_BETWEEN_CHECKPOINTS,
    ExonRows,
    align_exon,
    cigar_of,
    entered_at,
    pair_scores,
    previous_row,
    with_leading_gap,
)


class SiteTrace(NamedTuple):
    """A chain in reading direction: half-open intervals, first target column, CIGAR runs."""

    chain: list[tuple[int, int]]
    first_column: int
    cigar: tuple[tuple[str, int], ...]


class Exon(NamedTuple):
    """An exon of the chain: where, at which column and with which value it is entered."""

    start: int
    column: int
    entry: int
    first: bool
    operations: NDArray[np.uint8]


class Firsts(NamedTuple):
    """The empty chain's S' by column, and the first entries' scores by boundary."""

    empty: NDArray[np.int32]
    first_entry: NDArray[np.int64]


class Blocks:
    """Blocks of a sweep, the last one computed again kept."""

    def __init__(self, sweep: SiteSweep, columns: int):
        self.sweep, self.columns = sweep, columns
        self.number, self.kept = -1, None

    def __getitem__(self, number: int) -> Block:
        if number != self.number:
            self.number, self.kept = number, self.sweep.block(number, self.columns)
        return self.kept


class Steps:
    """What a chain's exons are asked for on the way back, whatever they may be.

    Parameters
    ----------
    table : SiteTable
    """

    tracks = 1
    """Rows of an exit."""

    def __init__(self, table: SiteTable):
        self.table = table

    def search(self, *where):
        """Look for an exon's entry in a block, see `_search`."""
        return _search(*where)

    def chosen(self, exon: Exon, rows: NDArray[np.int64], explains: NDArray[np.bool_]):
        """Return which of a block's exits at boundaries `rows` precedes an exon, and its track.

        The nearest one; None if there is none. `explains`, shape (exits, tracks), says which
        could for their values.
        """
        nearest = np.flatnonzero(explains[:, 0])
        return (nearest[-1], 0) if len(nearest) else None


def trace(
    sweep: SiteSweep, table: SiteTable, codes: NDArray[np.uint8], target, scoring: SplicedScoring
) -> SiteTrace:
    """Recover the best chain and its alignment.

    Parameters
    ----------
    sweep : SiteSweep
    table : SiteTable
    codes : ndarray of uint8, shape (m,)
        The strand's bases in reading direction.
    target : ndarray of uint8, shape (n,)
        Encoded target.
    scoring : SplicedScoring

    Returns
    -------
    SiteTrace
    """
    return followed(sweep, codes, target, scoring, Steps(table))


def followed(sweep, codes, target, scoring: SplicedScoring, steps: Steps) -> SiteTrace:
    """Follow the best chain of a sweep backwards."""
    lifted, profile = pair_scores(target, scoring)
    blocks, table = Blocks(sweep, sweep.column + 1), steps.table
    end, column = sweep.end, sweep.column
    value = sweep.score - int(table.last_exit[end]) - scoring.gap * column
    firsts = _firsts(table, column + 1, scoring)
    chain, parts = [], []
    while True:
        rows = ExonRows(codes[:end], target[:column], lifted, profile, scoring.gap)
        exon = _trace_exon(rows, blocks, firsts, value, steps)
        chain.append((exon.start, end))
        parts.append(exon.operations)
        column = exon.column
        if exon.first:
            break
        end, value = _predecessor(blocks, exon, steps)
    cigar = cigar_of(parts[::-1], chain[::-1])
    # free ends leave the symbols before the first exon out, unless gaps are worth taking
    first = column if scoring.ends != "global" and scoring.gap <= 0 else 0
    return SiteTrace(chain[::-1], first, with_leading_gap(cigar, column - first))


def _firsts(table: SiteTable, columns: int, scoring: SplicedScoring) -> Firsts:
    """Return what a traceback needs to know of first entries."""
    empty = empty_row(np.arange(columns), scoring.gap, scoring.ends != "global")
    return Firsts(empty.astype(np.int32), table.first_entry)


def _trace_exon(rows: ExonRows, blocks: Blocks, firsts: Firsts, value: int, steps: Steps) -> Exon:
    """Return the exon that ends with `value`."""
    end, columns = len(rows.base), len(rows.target) + 1
    gain, checkpoints, left = np.zeros(columns, dtype=np.int32), [], 0
    for number in range(blocks.sweep.block_of(max(end - 1, 0)), -1, -1):
        block = blocks[number]
        low = blocks.sweep.blocks[number][0]
        kept = np.empty(((end - low) // ROWS_BETWEEN_CHECKPOINTS + 2, columns), dtype=np.int32)
        inner = block.entry_rows[: np.searchsorted(block.entry_rows, end)]
        before = -(-left // ROWS_BETWEEN_CHECKPOINTS)
        left, column, entry, first = steps.search(
            rows, gain, kept, (left, low), (inner, block.entries), firsts, value
        )
        checkpoints.append(kept[: -(-left // ROWS_BETWEEN_CHECKPOINTS) - before])
        if column >= 0:
            operations = align_exon(rows, np.concatenate(checkpoints), left, column)
            return Exon(end - left, int(column), int(entry), first, operations)
    raise ValueError("no exon explains the value at its end: the sweep is wrong")


@njit(cache=True, nogil=True)
def _search(rows, gain, kept, span, inner, firsts, value):
    """Go back from boundary end - `span[0]` to `span[1]`, or to the entry that explains `value`.

    `inner` holds the inner entries' boundaries and rows. Returns the exon's length so far, the
    column it is entered at or -1, the entry's value there, and whether it is a first entry.
    `gain` is carried on, `kept` takes its rows at multiples of the distance of checkpoints.
    """
    left, low = span
    base, columns, profile, gap = rows.base, len(rows.target), rows.profile, np.int32(rows.gap)
    boundaries, entries = inner
    empty, first_entry = firsts
    end, n_kept, k = len(rows.base), 0, len(boundaries) - 1
    following = np.empty_like(gain)
    while end - left >= low:
        here = end - left
        column, first, entry = -1, False, 0
        if left > 0 and first_entry[here] != CLOSED:
            column = entered_at(empty, gain, 0, value - first_entry[here])
            first = column >= 0
            entry = empty[column] + first_entry[here] if first else 0
        if k >= 0 and boundaries[k] == here:
            other = entered_at(entries[k], gain, 0, value)
            if other >= 0 and (column < 0 or other < column):
                column, first, entry = other, False, np.int64(entries[k, other])
            k -= 1
        if column >= 0:
            return left, column, entry, first
        if here == 0:
            break
        if left % ROWS_BETWEEN_CHECKPOINTS == 0:
            kept[n_kept] = gain
            n_kept += 1
        previous_row(profile[base[here - 1]], columns, gap, gain, 0, following)
        gain[:] = following
        left += 1
    return left, -1, 0, False


def _predecessor(blocks: Blocks, exon: Exon, steps: Steps) -> tuple[int, int]:
    """Return the exit that explains the value of an entry, and the exon's last value there."""
    table, column = steps.table, exon.column
    wanted = exon.entry - int(table.inner_entry[exon.start])
    least = min(intron.penalty for intron in table.introns)
    for number in range(blocks.sweep.block_of(exon.start), -1, -1):
        if blocks.sweep.best_exit(number, column) - least < wanted:
            continue
        block = blocks[number]
        values = block.exits[:, column].astype(np.int64).reshape(-1, steps.tracks)
        explains = _explains(table, exon.start, block.exit_rows, values - wanted)
        chosen = steps.chosen(exon, block.exit_rows, explains)
        if chosen is not None:
            end = int(block.exit_rows[chosen[0]])
            return end, int(values[chosen]) - int(table.inner_exit[end])
    raise ValueError("no exit explains the value of an entry: the sweep is wrong")


def _explains(table: SiteTable, start: int, rows, surplus) -> NDArray[np.bool_]:
    """Return which exits, at boundaries `rows`, an intron takes to an entry for their surplus."""
    explains = np.zeros(surplus.shape, dtype=bool)
    for intron in table.introns:
        admitted = rows <= start - intron.min_length
        admitted &= table.exit_kind[rows] == intron.kind
        admitted &= table.entry_kind[start] == intron.kind
        explains |= admitted[:, None] & (surplus == intron.penalty)
    return explains
