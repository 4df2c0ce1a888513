"""The traceback of site mode: from a sweep to the best chain and its alignment.

`gpu_tools.splicing.traceback` describes how an exon is found; ties are those of
`gpu_tools.spliced.cpu.traceback`. The sweep has not stored the rows at sites: blocks of rows are
computed again where the chain has exons.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.cpu.sweep import Block, SiteSweep
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.codons import FRAMES, completes, split_class
from gpu_tools.splicing.exon_traceback import (
    ROWS_BETWEEN_CHECKPOINTS,
    Entries,
    ExonRows,
    align_exon,
    find_entry,
    pair_scores,
)
from gpu_tools.splicing.recurrence import empty_row
from gpu_tools.splicing.traceback import TracedChain, TracedExon, trace_back


def trace(
    sweep: SiteSweep,
    table: SiteTable,
    codes: NDArray[np.uint8],
    target: NDArray[np.uint8],
    scoring: SplicedScoring,
) -> TracedChain:
    """Recover the best chain and its alignment.

    Parameters
    ----------
    sweep : SiteSweep
        With a score.
    table : SiteTable
    codes : ndarray of uint8, shape (m,)
        The strand's nucleotides in reading direction.
    target : ndarray of uint8, shape (n,)
        Encoded target.
    scoring : SplicedScoring

    Returns
    -------
    TracedChain
        An exon's `entry` is the value of its entry, None for the first exon.
    """
    tracer = (_SiteTracer if table.stops is None else _CodingTracer)(
        sweep, table, codes, target, scoring
    )
    value = sweep.score - table.last.at(sweep.end) - scoring.gap * sweep.column
    return trace_back(tracer, SiteEnd(sweep.end, value), sweep.column, scoring)


class SiteEnd(NamedTuple):
    """Where an exon ends, and its last value, the exit's score not included."""

    boundary: int
    value: int


class _SiteTracer:
    """The exons of a chain of a `SiteTable`."""

    tracks = 1
    """Rows of an exit."""

    def __init__(self, sweep, table: SiteTable, codes, target, scoring: SplicedScoring):
        self.sweep, self.table, self.codes, self.target = sweep, table, codes, target
        self.gap, self.pairs = scoring.gap, pair_scores(target, scoring)
        columns = np.arange(sweep.column + 1)
        self.empty = empty_row(columns, self.gap, scoring.ends != "global").astype(np.int32)
        self.computed: tuple[int, Block | None] = -1, None

    def block(self, number: int) -> Block:
        """Return a block of the sweep; the latest one is there already."""
        if number != self.computed[0]:
            self.computed = number, self.sweep.block(number, self.sweep.column + 1)
        return self.computed[1]

    def exon_before(self, end: SiteEnd, column: int) -> TracedExon:
        """Return the exon; its entry is looked for block by block."""
        rows = ExonRows(self.codes[: end.boundary], self.target[:column], *self.pairs, self.gap)
        gains, left = np.zeros((2, column + 1), dtype=np.int32), 0
        checkpoints = np.empty((0, column + 1), dtype=np.int32)
        for number in range(self.sweep.inputs.block_of(max(end.boundary - 1, 0)), -1, -1):
            until = end.boundary - self.sweep.inputs.blocks[number][0]
            more = until // ROWS_BETWEEN_CHECKPOINTS + 1 - len(checkpoints)
            if more > 0:
                checkpoints = np.concatenate([checkpoints, np.empty((more, column + 1), np.int32)])
            entries = self._entries(number, end)
            k, at, left = find_entry(rows, entries, gains, checkpoints, 0, left, until)
            if k >= 0:
                row, operations = entries.rows[k], align_exon(rows, checkpoints, left, at)
                entry = None if row < 0 else int(entries.stored[row, at])
                return TracedExon(end.boundary - left, end.boundary, at, operations, entry)
        raise ValueError("no exon explains the value at its end: the sweep is wrong")

    def _entries(self, number: int, end: SiteEnd) -> Entries:
        """Return the entries in a block of exons that end there."""
        block, table, (low, high) = self.block(number), self.table, self.sweep.inputs.blocks[number]
        high = min(high, end.boundary)
        firsts, scores = table.first.open_between(low, high), table.first.between(low, high)
        firsts = firsts[self.may_be_first(firsts, end.boundary)]
        inner, rows = self.inner_entries(block.entry_rows[block.entry_rows < high], end.boundary)
        lengths = end.boundary - np.concatenate([firsts, inner])
        rows = np.concatenate([np.full(len(firsts), -1), rows])
        wanted = np.concatenate([end.value - scores[firsts - low], np.full(len(inner), end.value)])
        order = np.argsort(lengths, kind="stable")  # a first entry goes before an inner one
        return Entries(lengths[order], rows[order], wanted[order], block.entries, self.empty)

    def may_be_first(self, starts: NDArray[np.int64], end: int) -> NDArray[np.bool_]:
        """Return which exons, of those from a first entry to an end, may be a chain's first."""
        return np.ones(len(starts), dtype=bool)

    def inner_entries(self, starts: NDArray[np.int64], end: int) -> tuple[NDArray, NDArray]:
        """Return the inner entries from which an exon may lead to an end, and their rows.

        `starts` are all inner entries of a block before the end.
        """
        return starts, np.arange(len(starts))

    def end_before(self, exon: TracedExon) -> SiteEnd | None:
        """Return the nearest exit that explains an entry's value, None for the first exon."""
        if exon.entry is None:
            return None
        table, column = self.table, exon.column
        wanted = exon.entry - table.acceptors.at(exon.start)
        for number in range(self.sweep.inputs.block_of(exon.start), -1, -1):
            last = self.sweep.inputs.blocks[number][1] - 1
            least = _least_penalty(table, last, exon.start)
            if self.sweep.best_exit(number, column) - least < wanted:
                continue
            block = self.block(number)
            values = block.exits_at(column).astype(np.int64).reshape(-1, self.tracks)
            explains = _explains(table, exon.start, block.exit_rows, values - wanted)
            chosen = self.nearest(exon, block.exit_rows, explains)
            if chosen is not None:
                end = int(block.exit_rows[chosen[0]])
                return SiteEnd(end, int(values[chosen]) - table.donors.at(end))
        raise ValueError("no exit explains the value of an entry: the sweep is wrong")

    def nearest(self, exon: TracedExon, rows: NDArray[np.int64], explains: NDArray[np.bool_]):
        """Return the nearest of a block's exits that may precede an exon, and its track.

        None if there is none. `explains`, shape (exits, tracks), tells which exits, at boundaries
        `rows`, have the right value.
        """
        found = np.flatnonzero(explains[:, 0])
        return (found[-1], 0) if len(found) else None


class _CodingTracer(_SiteTracer):
    """The exons of a chain that translates: the frame of each follows from the exon behind it."""

    tracks = FRAMES

    def __init__(self, sweep: SiteSweep, *inputs):
        super().__init__(sweep, *inputs)
        self.frame, self.last = sweep.end % FRAMES, True

    def may_be_first(self, starts: NDArray[np.int64], end: int) -> NDArray[np.bool_]:
        """Return which exons begin with a whole codon; a chain's only exon has two."""
        least = FRAMES * (1 + self.last)
        return ((starts - self.frame) % FRAMES == 0) & (end - starts >= least)

    def inner_entries(self, starts: NDArray[np.int64], end: int) -> tuple[NDArray, NDArray]:
        """Return the entries behind which the split codon, and in the last exon another, ends."""
        split = (starts - self.frame) % FRAMES
        least = np.where(split == 0, 1, FRAMES - split + FRAMES * self.last)
        found = np.flatnonzero(end - starts >= least)
        return starts[found], FRAMES * found + split[found]

    def nearest(self, exon: TracedExon, rows: NDArray[np.int64], explains: NDArray[np.bool_]):
        """Return the nearest exit in whose frame the codon across the intron is no stop."""
        for k in np.flatnonzero(explains.any(axis=1))[::-1]:
            end = int(rows[k])
            frame = (end - (exon.start - self.frame)) % FRAMES
            if explains[k, frame] and self._joins(end, exon.start):
                self.frame, self.last = frame, False
                return k, frame
        return None

    def _joins(self, end: int, start: int) -> bool:
        """Return whether the codon that an intron splits is no stop."""
        split = (start - self.frame) % FRAMES
        if split > end:
            return False
        before = split_class(self.codes, end, split)
        return bool(completes(self.codes, self.table.stops, before, start))


def _least_penalty(table: SiteTable, last: int, start: int) -> int:
    """Return the least penalty of introns from exits up to boundary `last` to a start."""
    return min(
        int(intron.penalty_between(min(last, start - intron.min_length), start))
        for intron in table.introns
    )


def _explains(table: SiteTable, start: int, rows, surplus) -> NDArray[np.bool_]:
    """Return which exits, at boundaries `rows`, an intron of the right penalty joins to a start.

    `surplus`, shape (exits, tracks), is what the exits have more than the start.
    """
    explains = np.zeros(surplus.shape, dtype=bool)
    if not len(rows):
        return explains
    exit_kinds = table.donors.kinds_between(rows[0], rows[-1] + 1)[rows - rows[0]]
    entry_kind = table.acceptors.kinds_between(start, start + 1)[0]
    for intron in table.introns:
        admitted = intron.admits(rows, start)
        admitted &= (exit_kinds == intron.kind) & (entry_kind == intron.kind)
        penalties = intron.penalty_between(rows, start)
        explains |= admitted[:, None] & (surplus == penalties[:, None])
    return explains
