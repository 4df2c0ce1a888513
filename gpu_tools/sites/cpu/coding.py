"""The sweep of site mode for chains that translate: a track of rows for each reading frame.

Track f holds exons with codons that begin at positions f, f + 3, ... of the base. It is emptied
where one of its codons is a stop. There is a class of exits for each kind of codon that an intron
splits: no nucleotide before the intron; T; another one; TA; TG; two others. Where an exon completes
a split codon, the classes that would make it a stop are excluded, and the exon joins its track only
behind the codon: until then it has a row of its own. The first codon of a chain is treated alike,
so that it lies in one exon.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.hardware.cpu import simd
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.bounds import Limits
from gpu_tools.sites.cpu.state import Sites, capacity_of, drop_taken, restored, snapshot_of
from gpu_tools.sites.cpu.sweep import Block, BlockSweep, inputs_of
from gpu_tools.sites.table import FIRST_ENTRY, INNER_ENTRY, INNER_EXIT, LAST_EXIT, SiteTable
from gpu_tools.splicing.codons import FRAMES, SPLITS, completes, split_bases, split_class
from gpu_tools.splicing.rows import advance, column_of, final_score, put, raise_to, settle
from gpu_tools.splicing.strip import Strip, lanes_of

SLOTS = 4
"""Rows that wait for the end of their first codon, by boundary modulo this."""
_ALONE = FRAMES
_SCORE, _END, _COLUMN = range(3)
_NO_SCORE = -(2**62)


class CodingState(NamedTuple):
    """State between two blocks.

    `rows` and `carries` are the frames' current rows and a row alone; `waiting` the rows that join
    their track behind a codon, `waits` whether there are any; `before` the maxima over the exits,
    a row an intron class and split; `exits` three rows a boundary of `exit_rows`, by frame;
    `counts` how many boundaries there are, then how many each intron class has taken; `entries`
    three rows a boundary, by bases of the split codon that lie before it; `best` as in
    `gpu_tools.sites.cpu.state.State`.
    """

    rows: NDArray
    carries: NDArray
    waiting: NDArray
    waits: NDArray[np.bool_]
    before: NDArray
    exits: NDArray
    exit_rows: NDArray[np.int64]
    counts: NDArray[np.int64]
    block_exits: NDArray
    entries: NDArray
    best: NDArray[np.int64]


@njit(nogil=True)
def _step(rows, carries, slot, profile, symbol, gap, floor, lanes):
    """Compute the next row of a track."""
    row, low, width = rows[slot], simd.splat(floor), rows.shape[1]
    carry = simd.load(carries, slot * lanes)
    last = simd.maximum(simd.load(row, width - lanes), carry)
    diagonal = simd.shift_in(last, floor)
    last = advance(row, profile, symbol, diagonal, carry, low, gap, lanes)
    carry = simd.prefix_maximum(simd.shift_in(last, floor))
    simd.store(carries, slot * lanes, simd.maximum(carry, low))


@njit(nogil=True)
def _joined(rows, carries, slot, floor, lanes):
    """Let a track's carry join its row."""
    settle(rows[slot], simd.load(carries, slot * lanes), lanes)
    simd.store(carries, slot * lanes, simd.splat(floor))


@njit(nogil=True)
def _wait(state, codes, profile, boundary, left, gap, floor, lanes):
    """Advance the row alone by `left` bases and let it wait there for its track."""
    rows, carries, waiting = state.rows, state.carries, state.waiting
    width = rows.shape[1]
    simd.store(carries, _ALONE * lanes, simd.splat(floor))
    for k in range(left):
        _step(rows, carries, _ALONE, profile, np.int64(codes[boundary + k]), gap, floor, lanes)
    _joined(rows, carries, _ALONE, floor, lanes)
    slot = (boundary + left) % SLOTS
    raise_to(waiting, slot, rows, _ALONE, width, lanes, 0)
    state.waits[slot] = True


@njit(nogil=True)
def _take_exits(state, sites, row, lanes):
    """Let the exits that lie far enough behind `row` precede its entries."""
    before, exits, exit_rows, counts = state.before, state.exits, state.exit_rows, state.counts
    kinds, lengths, codes = sites.intron_kinds, sites.intron_lengths, sites.codes
    width = before.shape[1]
    for k in range(len(kinds)):
        while counts[1 + k] < counts[0] and exit_rows[counts[1 + k]] + lengths[k] <= row:
            boundary = exit_rows[counts[1 + k]]
            if sites.exit_kind[boundary] == kinds[k]:
                for frame in range(FRAMES):
                    bases = (boundary - frame) % FRAMES
                    if bases <= boundary:
                        split = split_class(codes, boundary, bases)
                        source = counts[1 + k] * FRAMES + frame
                        raise_to(before, k * SPLITS + split, exits, source, width, lanes, 0)
            counts[1 + k] += 1


@njit(nogil=True)
def _enter(state, sites, stops, strip, boundary, entry, weights, lanes):
    """Let exons that are not the first of their chain begin at a boundary."""
    rows, before, entries = state.rows, state.before, state.entries
    codes, kinds, penalties = sites.codes, sites.intron_kinds, sites.intron_penalties
    gap, floor = weights[0], weights[1]
    width = rows.shape[1]
    for split in range(SPLITS):
        to = entry * FRAMES + split_bases(split)
        if split in (0, 1, 3):
            entries[to] = floor
        if completes(codes, stops, split, boundary):
            for k in range(len(kinds)):
                if kinds[k] == sites.entry_kind[boundary]:
                    bonus = sites.inner_entry[boundary] - penalties[k]
                    raise_to(entries, to, before, k * SPLITS + split, width, lanes, bonus)
    raise_to(rows, boundary % FRAMES, entries, entry * FRAMES, width, lanes, 0)
    for bases in range(1, FRAMES):
        if boundary + FRAMES - bases <= len(codes):
            put(rows, _ALONE, entries, entry * FRAMES + bases, width, lanes, 0)
            _wait(state, codes, strip.profile, boundary, FRAMES - bases, gap, floor, lanes)


@njit(cache=True, nogil=True)
def sweep_coding_block(sites, stops, strip, state, weights, bounds):
    """Sweep the boundaries ``bounds[0]`` to ``bounds[1] - 1``.

    Parameters
    ----------
    sites : Sites
    stops : ndarray of bool, shape (5, 5, 5)
        Which words are stop codons.
    strip : Strip
        All target columns.
    state : CodingState
        Carried on.
    weights : ndarray, shape (3,)
        Gap score, floor and lowest value, in the cells' type.
    bounds : tuple of (int, int)
    """
    codes, flags, first_entry = sites.codes, sites.flags, sites.first_entry
    inner_exit, last_exit, profile = sites.inner_exit, sites.last_exit, strip.profile
    rows, carries, waiting, waits = state.rows, state.carries, state.waiting, state.waits
    exits, exit_rows, counts, best = state.exits, state.exit_rows, state.counts, state.best
    drop, final, span, block_exits = strip.drop, strip.final, strip.final_span, state.block_exits
    gap, floor, lowest = weights[0], weights[1], weights[2]
    width = rows.shape[1]
    lanes = carries.shape[1]
    low = simd.splat(floor)
    drop_taken(exits, exit_rows, counts, FRAMES)
    block_exits[:] = floor
    entry = 0
    for i in range(bounds[0], bounds[1]):
        frame = i % FRAMES
        if i > 0:
            for track in range(FRAMES):
                _step(rows, carries, track, profile, np.int64(codes[i - 1]), gap, floor, lanes)
        if flags[i] & LAST_EXIT:
            carry = simd.load(carries, frame * lanes)
            score = final_score(rows[frame], drop, final, span, lowest, carry, lanes)
            if score + last_exit[i] > best[_SCORE]:
                best[_SCORE], best[_END] = score + last_exit[i], i
                best[_COLUMN] = column_of(rows[frame], drop, final, score, carries[frame], lanes)
        if i >= FRAMES and stops[codes[i - 3], codes[i - 2], codes[i - 1]]:
            rows[frame] = floor
            simd.store(carries, frame * lanes, low)
        if waits[i % SLOTS]:
            raise_to(rows, frame, waiting, i % SLOTS, width, lanes, 0)
            waiting[i % SLOTS] = floor
            waits[i % SLOTS] = False
        if flags[i] & INNER_EXIT:
            for track in range(FRAMES):
                _joined(rows, carries, track, floor, lanes)
                to = counts[0] * FRAMES + track
                put(exits, to, rows, track, width, lanes, inner_exit[i])
                raise_to(block_exits, 0, exits, to, width, lanes, 0)
            exit_rows[counts[0]] = i
            counts[0] += 1
        whole = i + FRAMES <= len(codes)
        if flags[i] & FIRST_ENTRY and whole and not stops[codes[i], codes[i + 1], codes[i + 2]]:
            put(rows, _ALONE, strip.start, 0, width, lanes, first_entry[i])
            _wait(state, codes, profile, i, FRAMES, gap, floor, lanes)
        if flags[i] & INNER_ENTRY:
            _take_exits(state, sites, i, lanes)
            _enter(state, sites, stops, strip, i, entry, weights, lanes)
            entry += 1
    _take_exits(state, sites, bounds[1] - 1, lanes)


@dataclass
class CodingSweep(BlockSweep):
    """A finished sweep of chains that translate."""

    stops: NDArray[np.bool_]
    strip: Strip
    snapshots: list[CodingState]
    block_exits: list[NDArray]
    weights: NDArray

    def best_exit(self, block: int, column: int) -> int:
        """Return the largest value with which an exon of a block leaves at a column."""
        lanes = lanes_of(self.weights.dtype)
        columns = len(self.strip.start) // lanes
        return int(self.block_exits[block][column % columns * lanes + column // columns])

    def block(self, number: int, columns: int) -> Block:
        """Compute a block again; all target columns, however few are requested."""
        capacity = capacity_of(self.sites, self.blocks)
        state = restored(self.snapshots[number], capacity, FRAMES)
        sweep_coding_block(
            self.sites, self.stops, self.strip, state, self.weights, self.blocks[number]
        )
        return self.rows_of(number, [state], FRAMES)


def coding_sweep(
    codes: NDArray[np.uint8], table: SiteTable, target: NDArray[np.uint8], scoring: SplicedScoring
) -> CodingSweep:
    """Sweep one strand of one case for chains that translate.

    Parameters
    ----------
    codes : ndarray of uint8, shape (m,)
        The strand's nucleotides, in reading direction.
    table : SiteTable
        Of the same strand, with stop codons.
    target : ndarray of uint8, shape (n,)
        Encoded target.
    scoring : SplicedScoring

    Returns
    -------
    CodingSweep
    """
    limit, sites, (strip,), blocks, weights = inputs_of(codes, table, target, scoring, 1)
    state = fresh_state(sites, len(strip.start), capacity_of(sites, blocks), weights[1])
    snapshots, block_exits = [], []
    for bounds in blocks:
        snapshots.append(snapshot_of(state, FRAMES))
        sweep_coding_block(sites, table.stops, strip, state, weights, bounds)
        block_exits.append(state.block_exits.copy())
    score = possible(int(state.best[_SCORE]), limit, len(target), scoring)
    return CodingSweep(
        score, int(state.best[_END]), int(state.best[_COLUMN]), blocks, sites, table.stops, strip,
        snapshots, block_exits, weights,
    )  # fmt: skip


def possible(score: int, limit: Limits, columns: int, scoring: SplicedScoring) -> int | None:
    """Return the score, or None if only a path from the floor has it: then there is no chain."""
    unaligned = scoring.gap * columns if scoring.ends == "global" else 0
    return score if score >= limit.least + unaligned else None


def fresh_state(sites: Sites, width: int, capacity: tuple[int, int], floor) -> CodingState:
    """Return the state before the first block, all cells at the floor."""
    dtype, classes = floor.dtype, len(sites.intron_kinds)
    return CodingState(
        np.full((FRAMES + 1, width), floor, dtype),
        np.full((FRAMES + 1, lanes_of(dtype)), floor, dtype),
        np.full((SLOTS, width), floor, dtype), np.zeros(SLOTS, bool),
        np.full((SPLITS * classes, width), floor, dtype),
        np.empty((FRAMES * capacity[0], width), dtype), np.empty(capacity[0], np.int64),
        np.zeros(1 + classes, np.int64), np.full(width, floor, dtype),
        np.empty((FRAMES * capacity[1], width), dtype), np.array([_NO_SCORE, 0, 0], np.int64),
    )  # fmt: skip
