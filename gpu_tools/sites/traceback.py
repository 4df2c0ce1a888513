"""From a sweep to the best chain and its alignment.

The chain is followed backwards, as in `gpu_tools.spliced.traceback` and with the same ties: an
exon is the shortest one that explains its last value, entered at the smallest target column; it
is the first one if that is as good, else the nearest exit before it precedes it. Blocks of rows
are computed again where the chain has exons.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.scoring import SplicedScoring
from gpu_tools.sites.cpu import Block, SiteSweep
from gpu_tools.sites.table import CLOSED, SiteTable
from gpu_tools.spliced.core import empty_chain
from gpu_tools.spliced.traceback import (
    ROWS_BETWEEN_CHECKPOINTS, ExonRows, align_exon, cigar_of, entered_at, previous_row,
    with_leading_gap,
)  # fmt: skip


class SiteTrace(NamedTuple):
    """A chain in reading direction: half-open intervals, first target column, CIGAR runs."""

    chain: list[tuple[int, int]]
    first_column: int
    cigar: tuple[tuple[str, int], ...]


class _Blocks:
    """Blocks of a sweep, the last one computed again kept."""

    def __init__(self, sweep: SiteSweep, columns: int):
        self.sweep, self.columns = sweep, columns
        self.number, self.kept = -1, None

    def __getitem__(self, number: int) -> Block:
        if number != self.number:
            self.number, self.kept = number, self.sweep.block(number, self.columns)
        return self.kept


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
    lifted = (scoring.substitution() - scoring.gap).astype(np.int32)
    blocks = _Blocks(sweep, sweep.column + 1)
    end, column = sweep.end, sweep.column
    value = sweep.score - int(table.last_exit[end]) - scoring.gap * column
    chain, parts = [], []
    while True:
        rows = ExonRows(codes[:end], target[:column], lifted, scoring.gap)
        start, column, entry, operations = _trace_exon(rows, blocks, value)
        chain.append((start, end))
        parts.append(operations)
        if entry == _first_entry(table, start, column, scoring):
            break
        end, value = _predecessor(blocks, table, start, column, entry)
    cigar = cigar_of(parts[::-1], chain[::-1])
    # free ends leave the symbols before the first exon out, unless gaps are worth taking
    first = column if scoring.ends != "global" and scoring.gap <= 0 else 0
    return SiteTrace(chain[::-1], first, with_leading_gap(cigar, column - first))


def _first_entry(table: SiteTable, start: int, column: int, scoring: SplicedScoring) -> int | None:
    if table.first_entry[start] == CLOSED:
        return None
    empty = empty_chain(column, scoring.gap, scoring.ends != "global")
    return empty + int(table.first_entry[start])


def _trace_exon(rows: ExonRows, blocks: _Blocks, value: int):
    """Return the start of the exon that ends with `value`, where and with what it is entered."""
    end, columns = len(rows.base), len(rows.target) + 1
    gain, checkpoints, left = np.zeros(columns, dtype=np.int32), [], 0
    for number in range(blocks.sweep.block_of(max(end - 1, 0)), -1, -1):
        block = blocks[number]
        low = blocks.sweep.blocks[number][0]
        count = np.searchsorted(block.entry_rows, end)
        kept = np.empty(((end - low) // ROWS_BETWEEN_CHECKPOINTS + 2, columns), dtype=np.int32)
        before = left
        left, entered, entry = _search(
            rows, gain, kept, left, low, block.entry_rows[:count], block.entries, value
        )
        first = -(-before // ROWS_BETWEEN_CHECKPOINTS)
        last = -(-left // ROWS_BETWEEN_CHECKPOINTS)
        checkpoints.append(kept[: last - first])
        if entered >= 0:
            row = int(block.entries[entry, entered])
            operations = align_exon(rows, np.concatenate(checkpoints), left, entered)
            return end - left, int(entered), row, operations
    raise ValueError("no exon explains the value at its end: the sweep is wrong")


@njit(cache=True, nogil=True)
def _search(rows, gain, kept, left, low, entry_rows, entries, value):
    """Go back from boundary end - left to `low`; stop at the entry that explains `value`.

    Returns the exon's length so far, the column it is entered at or -1, and the entry's index.
    `gain` is carried on, `kept` takes its rows at multiples of the distance of checkpoints.
    """
    every = ROWS_BETWEEN_CHECKPOINTS
    end, n_kept, entry = len(rows.base), 0, len(entry_rows) - 1
    following = np.empty_like(gain)
    while end - left >= low:
        while entry >= 0 and entry_rows[entry] > end - left:
            entry -= 1
        if left > 0 and entry >= 0 and entry_rows[entry] == end - left:
            column = entered_at(entries[entry], gain, value)
            if column >= 0:
                return left, column, entry
        if end - left == 0:
            break
        if left % every == 0:
            kept[n_kept] = gain
            n_kept += 1
        previous_row(rows, gain, end - 1 - left, following)
        gain[:] = following
        left += 1
        if end - left < low:
            break
    return left, -1, -1


def _predecessor(blocks: _Blocks, table: SiteTable, start: int, column: int, entry: int):
    """Return the nearest exit that explains the value of an entry, and the exon's last value."""
    wanted = entry - int(table.inner_entry[start])
    least = min(intron.penalty for intron in table.introns)
    for number in range(blocks.sweep.block_of(start), -1, -1):
        if blocks.sweep.best_exit(number, column) - least < wanted:
            continue
        block = blocks[number]
        values = block.exits[:, column].astype(np.int64)
        explains = np.zeros(len(values), dtype=bool)
        for intron in table.introns:
            explains |= (
                (values - intron.penalty == wanted)
                & (block.exit_rows <= start - intron.min_length)
                & (table.exit_kind[block.exit_rows] == intron.kind)
                & (table.entry_kind[start] == intron.kind)
            )
        if explains.any():
            nearest = np.flatnonzero(explains)[-1]
            end = int(block.exit_rows[nearest])
            return end, int(values[nearest]) - int(table.inner_exit[end])
    raise ValueError("no exit explains the value of an entry: the sweep is wrong")
