"""From a sweep of chains that translate to the best chain; ties as in `sites.traceback`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.scoring import SplicedScoring
from gpu_tools.sites.coding import FRAMES, CodingSweep, completes, split_class
from gpu_tools.sites.table import CLOSED, SiteTable
from gpu_tools.sites.traceback import Blocks, Exon, Firsts, SiteTrace, firsts_of
from gpu_tools.spliced.traceback import (
    ROWS_BETWEEN_CHECKPOINTS,
    ExonRows,
    align_exon,
    cigar_of,
    entered_at,
    pair_scores,
    previous_row,
    with_leading_gap,
)  # fmt: skip


class _Reading(NamedTuple):
    """Frame of an exon, whether it is the chain's last one, and the stop codons."""

    frame: int
    last: bool
    stops: NDArray[np.bool_]


def trace_coding(
    sweep: CodingSweep, table: SiteTable, codes: NDArray[np.uint8], target, scoring: SplicedScoring
) -> SiteTrace:
    """Recover the best chain that translates, and its alignment.

    Parameters
    ----------
    sweep : CodingSweep
        With a score.
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
    lifted, profile = pair_scores(target, scoring)
    blocks = Blocks(sweep, sweep.column + 1)
    end, column, frame = sweep.end, sweep.column, sweep.end % FRAMES
    value = sweep.score - int(table.last_exit[end]) - scoring.gap * column
    firsts = firsts_of(table, column + 1, scoring)
    chain, parts = [], []
    while True:
        rows = ExonRows(codes[:end], target[:column], lifted, profile, scoring.gap)
        exon = _trace_exon(rows, blocks, firsts, value, _Reading(frame, not chain, table.stops))
        chain.append((exon.start, end))
        parts.append(exon.operations)
        column = exon.column
        if exon.first:
            break
        end, frame, value = _predecessor(blocks, table, codes, exon, frame)
    first = column if scoring.ends != "global" and scoring.gap <= 0 else 0
    cigar = cigar_of(parts[::-1], chain[::-1])
    return SiteTrace(chain[::-1], first, with_leading_gap(cigar, column - first))


def _trace_exon(
    rows: ExonRows, blocks: Blocks, firsts: Firsts, value: int, reading: _Reading
) -> Exon:
    """Return the exon that ends with `value`."""
    end, columns = len(rows.base), len(rows.target) + 1
    gain, checkpoints, left = np.zeros(columns, dtype=np.int32), [], 0
    for number in range(blocks.sweep.block_of(max(end - 1, 0)), -1, -1):
        block = blocks[number]
        low = blocks.sweep.blocks[number][0]
        kept = np.empty(((end - low) // ROWS_BETWEEN_CHECKPOINTS + 2, columns), dtype=np.int32)
        inner = block.entry_rows[: np.searchsorted(block.entry_rows, end)]
        before = -(-left // ROWS_BETWEEN_CHECKPOINTS)
        left, column, entry, first = _search(
            rows, gain, kept, (left, low), (inner, block.entries), firsts, value, reading
        )
        checkpoints.append(kept[: -(-left // ROWS_BETWEEN_CHECKPOINTS) - before])
        if column >= 0:
            operations = align_exon(rows, np.concatenate(checkpoints), left, column)
            return Exon(end - left, int(column), int(entry), first, operations)
    raise ValueError("no exon explains the value at its end: the sweep is wrong")


@njit(cache=True, nogil=True)
def _search(rows, gain, kept, span, inner, firsts, value, reading):
    """Go back from boundary end - `span[0]` to `span[1]`, or to the entry that explains `value`.

    As in `gpu_tools.sites.traceback`, but an entry must leave room for the codon that it
    completes, and in the chain's last exon for another one.
    """
    left, low = span
    base, columns, profile, gap = rows.base, len(rows.target), rows.profile, np.int32(rows.gap)
    boundaries, entries = inner
    empty, first_entry = firsts
    end, n_kept, k = len(base), 0, len(boundaries) - 1
    more = FRAMES if reading.last else 0
    following = np.empty_like(gain)
    while end - left >= low:
        here = end - left
        split = (here - reading.frame) % FRAMES
        column, first, entry = -1, False, 0
        whole = split == 0 and left >= FRAMES + (1 if reading.last else 0)
        if whole and reading.stops[base[here], base[here + 1], base[here + 2]]:
            break
        if split == 0 and left >= FRAMES + more and first_entry[here] != CLOSED:
            column = entered_at(empty, gain, 0, value - first_entry[here])
            first = column >= 0
            entry = empty[column] + first_entry[here] if first else 0
        if k >= 0 and boundaries[k] == here:
            needed = 1 if split == 0 else FRAMES - split + more
            if left >= needed:
                other = entered_at(entries[FRAMES * k + split], gain, 0, value)
                if other >= 0 and (column < 0 or other < column):
                    column, first = other, False
                    entry = np.int64(entries[FRAMES * k + split, other])
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


def _predecessor(blocks: Blocks, table: SiteTable, codes, exon: Exon, frame: int):
    """Return end, frame and last value of the nearest exon that explains an entry."""
    start, column = exon.start, exon.column
    wanted = exon.entry - int(table.inner_entry[start])
    least = min(intron.penalty for intron in table.introns)
    for number in range(blocks.sweep.block_of(start), -1, -1):
        if blocks.sweep.best_exit(number, column) - least < wanted:
            continue
        block = blocks[number]
        values = block.exits[:, column].astype(np.int64).reshape(-1, FRAMES)
        explains = np.zeros(values.shape, dtype=bool)
        for intron in table.introns:
            near = block.exit_rows <= start - intron.min_length
            near &= table.exit_kind[block.exit_rows] == intron.kind
            near &= table.entry_kind[start] == intron.kind
            explains |= near[:, None] & (values - intron.penalty == wanted)
        for k in np.flatnonzero(explains.any(axis=1))[::-1]:
            end = int(block.exit_rows[k])
            before = (end - (start - frame)) % FRAMES
            if explains[k, before] and _joins(codes, table, end, start, frame):
                return end, before, int(values[k, before]) - int(table.inner_exit[end])
    raise ValueError("no exit explains the value of an entry: the sweep is wrong")


def _joins(codes, table: SiteTable, end: int, start: int, frame: int) -> bool:
    """Return whether the codon that an intron splits is no stop."""
    split = (start - frame) % FRAMES
    return bool(
        split <= end and completes(codes, table.stops, split_class(codes, end, split), start)
    )
