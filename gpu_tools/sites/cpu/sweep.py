"""The sweep of site mode on a CPU: one row a nucleotide, lanes of vectors hold target columns.

A row is computed in every lane as if nothing came from the lane before; then the lanes' last
columns are compared, and what comes over, the *carry*, joins the row when it is next read (a step
to the left is free in S', so that a carry is the same for all columns of a lane). Threads work on
*strips* of columns, which follow each other as in `gpu_tools.spliced.cpu.sweep`. Rows are swept in
blocks; a strip's state before each block is stored, so that any block can be computed again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.cpu.wavefront import blocks_of, run_strips
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.bounds import Limits, limits, possible, table_limits
from gpu_tools.sites.cpu.borders import cross_border
from gpu_tools.sites.cpu.coding import sweep_coding_block
from gpu_tools.sites.cpu.state import (
    SiteBorder,
    Sites,
    State,
    capacity_of,
    drop_taken,
    fresh_border,
    fresh_state,
    restored,
    sites_of,
    snapshot_of,
)
from gpu_tools.sites.rising import BORDER
from gpu_tools.sites.table import FIRST_ENTRY, INNER_ENTRY, INNER_EXIT, LAST_EXIT, SiteTable
from gpu_tools.splicing.bounds import narrowest
from gpu_tools.splicing.rows import advance, begin, column_of, final_score, put, raise_to, settle
from gpu_tools.splicing.strip import Strip, by_column, lanes_of, padded, strip_of

ROWS_PER_BLOCK = 1 << 9
"""Fewest rows of a block; long bases have longer blocks, so that there are not too many."""
MOST_BLOCKS = 1 << 11
"""A base sequence has at most about so many blocks, for each of which a state is stored."""
BOUNDARIES_PER_WINDOW = 1 << 16
"""Sites are laid out for so many boundaries at a time, or for a block if that is longer."""
_GAP, _FLOOR, _LOWEST = range(3)
_SCORE, _END, _COLUMN = range(3)


@njit(nogil=True)
def _take_exits(before, exits, exit_rows, exit_kinds, counts, kinds, lengths, row, lanes):
    """Let the exits that lie far enough behind `row` precede its entries."""
    width = before.shape[1]
    for k in range(len(kinds)):
        while counts[1 + k] < counts[0] and exit_rows[counts[1 + k]] + lengths[k] <= row:
            if exit_kinds[counts[1 + k]] == kinds[k]:
                raise_to(before, k, exits, counts[1 + k], width, lanes, 0)
            counts[1 + k] += 1


@njit(cache=True, nogil=True)
def sweep_block(sites, strip, state, border, following, weights, rows):
    """Sweep the boundaries ``rows[0]`` to ``rows[1] - 1`` of a strip.

    Parameters
    ----------
    sites : Sites
        The window holds these boundaries.
    strip : Strip
    state : State
        Carried on.
    border, following : SiteBorder
        The column before the strip, read, and the strip's last column, written.
    weights : ndarray, shape (3,)
        Gap score, floor and lowest value, in the cells' type.
    rows : tuple of (int, int)
    """
    # local names: an array read out of a tuple inside the loop costs an atomic reference count
    codes, flags, window = sites.codes, sites.flags, sites.first
    first_entry, inner_entry = sites.first_entry, sites.inner_entry
    inner_exit, last_exit = sites.inner_exit, sites.last_exit
    entry_kind, exit_kind = sites.entry_kind, sites.exit_kind
    kinds, lengths, penalties = sites.intron_kinds, sites.intron_lengths, sites.intron_penalties
    profile, start, drop, final = strip.profile, strip.start, strip.drop, strip.final
    row, before, exits, exit_rows = state.rows[0], state.before, state.exits, state.exit_rows
    exit_kinds, counts, entries, best = state.exit_kinds, state.counts, state.entries, state.best
    block_exits = state.block_exits
    arriving, leaving = border.arriving, border.leaving
    next_arriving, next_leaving = following.arriving, following.leaving
    gap, floor, lowest = weights[_GAP], weights[_FLOOR], weights[_LOWEST]
    last_carry, span, low = state.carries[0], strip.final_span, simd.splat(floor)
    carry, lanes, width = simd.load(last_carry, 0), len(last_carry), len(row)
    drop_taken(exits, exit_rows, exit_kinds, counts, 1)
    next_leaving[0] = simd.last_lane(simd.maximum(simd.load(row, width - lanes), carry))
    block_exits[:] = floor
    entry = 0
    for i in range(rows[0], rows[1]):
        at, of_border = i - window, i - rows[0] + 1
        if i > 0:
            last = simd.maximum(simd.load(row, width - lanes), carry)
            diagonal = simd.shift_in(last, leaving[of_border - 1])
            last = advance(row, profile, np.int64(codes[i - 1]), diagonal, carry, low, gap, lanes)
            carry = simd.prefix_maximum(simd.shift_in(last, arriving[of_border]))
            carry = simd.maximum(carry, low)
            next_arriving[of_border] = simd.last_lane(simd.maximum(last, carry))
        if flags[at] & BORDER:
            _take_exits(before, exits, exit_rows, exit_kinds, counts, kinds, lengths, i - 1, lanes)
            cross_border(before, sites.rising, i, 1, floor, lanes)
        if flags[at] & LAST_EXIT:
            score = final_score(row, drop, final, span, lowest, carry, lanes)
            if score + last_exit[at] > best[_SCORE]:
                simd.store(last_carry, 0, carry)
                best[_SCORE], best[_END] = score + last_exit[at], i
                best[_COLUMN] = column_of(row, drop, final, score, last_carry, lanes)
        if flags[at] & (INNER_EXIT | INNER_ENTRY):
            settle(row, carry, lanes)
            carry = low
        if flags[at] & INNER_EXIT:
            put(exits, counts[0], row, 0, width, lanes, inner_exit[at])
            raise_to(block_exits, 0, exits, counts[0], width, lanes, 0)
            exit_rows[counts[0]], exit_kinds[counts[0]] = i, exit_kind[at]
            counts[0] += 1
        if flags[at] & FIRST_ENTRY:
            begin(row, carry, start, first_entry[at], lanes)
            carry = low
        if flags[at] & INNER_ENTRY:
            _take_exits(before, exits, exit_rows, exit_kinds, counts, kinds, lengths, i, lanes)
            entries[entry] = floor
            for k in range(len(kinds)):
                if kinds[k] == entry_kind[at]:
                    bonus = inner_entry[at] - penalties[k]
                    raise_to(entries, entry, before, k, width, lanes, bonus)
            raise_to(row, 0, entries, entry, width, lanes, 0)
            entry += 1
        next_leaving[of_border] = simd.last_lane(simd.maximum(simd.load(row, width - lanes), carry))
    _take_exits(before, exits, exit_rows, exit_kinds, counts, kinds, lengths, rows[1] - 1, lanes)
    simd.store(last_carry, 0, carry)


class Block(NamedTuple):
    """Rows of one block that a traceback reads, column by target column from 0 on.

    `entry_rows` and `exit_rows` are boundaries, rising; `entries` the rows from which exons start
    there, `exits` the rows with which they leave there, the exits' scores included. If chains
    translate, each boundary has three rows, see `gpu_tools.sites.cpu.state.State`.
    """

    entry_rows: NDArray[np.int64]
    entries: NDArray
    exit_rows: NDArray[np.int64]
    exits: NDArray


class SweepInputs(NamedTuple):
    """What a sweep reads.

    Attributes
    ----------
    limit : Limits
    table : SiteTable
    sites : callable
        Returns the `Sites` of a block, given its number.
    strips : list of Strip
    blocks : list of (int, int)
        First boundary of each block, and the one behind its last.
    weights : ndarray, shape (3,)
        Gap score, floor and lowest value, in the cells' type.
    """

    limit: Limits
    table: SiteTable
    sites: Callable[[int], Sites]
    strips: list[Strip]
    blocks: list[tuple[int, int]]
    weights: NDArray

    def block_of(self, boundary: int) -> int:
        """Return the number of the block that holds a boundary."""
        first, past = self.blocks[0]
        return boundary // (past - first)


def site_blocks(length: int, rows_per_block: int = ROWS_PER_BLOCK) -> list[tuple[int, int]]:
    """Cut the boundaries of a base sequence of a length into blocks."""
    return blocks_of(length + 1, max(rows_per_block, isqrt(length)))


def windows_of(codes, table: SiteTable, dtype, blocks, count: int) -> Callable[[int], Sites]:
    """Return a function that lays out the sites of a block, together with some of its neighbours'.

    What it has laid out last stays in memory for the next calls: `count` windows.
    """
    each = max(BOUNDARIES_PER_WINDOW // (blocks[0][1] - blocks[0][0]), 1)

    @lru_cache(count)
    def window(number: int) -> Sites:
        of_window = blocks[number * each : (number + 1) * each]
        return sites_of(codes, table, dtype, of_window[0][0], of_window[-1][1])

    return lambda block: window(block // each)


def inputs_of(
    limit: Limits, blocks, codes, table: SiteTable, target, scoring: SplicedScoring, strips: int
) -> SweepInputs:
    """Choose the cells' type and lay out what a sweep reads."""
    dtype = narrowest(limit.bounds, scoring)
    width = padded(len(target) + 1, strips, dtype.itemsize) // strips
    return SweepInputs(
        limit,
        table,
        windows_of(codes, table, dtype, blocks, strips + 1),
        [strip_of(target, k * width, width, scoring, dtype) for k in range(strips)],
        blocks,
        np.array([scoring.gap, limit.floor, limit.bounds.lowest], dtype=dtype),
    )


@dataclass
class SiteSweep:
    """A finished sweep: the best end, and the blocks of boundaries that can be computed again.

    Attributes
    ----------
    score, end, column : int
        Score of the best chain, the boundary where it ends, and the target column. The score is
        None if no chain translates.
    inputs : SweepInputs
    snapshots : list of list of State
        Of each strip, the state before each block.
    block_exits : list of list of ndarray
        Of each strip and block, the maximum over the block's exits.
    """

    score: int | None
    end: int
    column: int
    inputs: SweepInputs
    snapshots: list[list[State]]
    block_exits: list[list[NDArray]]

    def best_exit(self, block: int, column: int) -> int:
        """Return the largest value with which an exon of a block leaves at a column."""
        width, lanes = len(self.block_exits[0][block]), lanes_of(self.inputs.weights.dtype)
        k, columns = column % width, width // lanes
        return int(self.block_exits[column // width][block][k % columns * lanes + k // columns])

    def snapshot(self, strip: int, block: int) -> State:
        """Return the state of a strip before a block."""
        return self.snapshots[strip][block]

    def block(self, number: int, columns: int) -> Block:
        """Compute a block again, at least up to a number of target columns."""
        table, (low, high) = self.inputs.table, self.inputs.blocks[number]
        entry_rows = table.acceptors.open_between(low, high)
        exit_rows = table.donors.open_between(low, high)
        border, entries, exits = fresh_border((low, high), self.inputs.weights[_FLOOR]), [], []
        for strip in range(-(-columns // len(self.inputs.strips[0].start))):
            state, border = self._again(strip, number, border)
            past, lanes = table.tracks * state.counts[0], state.carries.shape[1]
            entries.append(by_column(state.entries[: table.tracks * len(entry_rows)], lanes))
            exits.append(by_column(state.exits[past - table.tracks * len(exit_rows) : past], lanes))
        return Block(entry_rows, np.hstack(entries), exit_rows, np.hstack(exits))

    def _again(self, strip: int, number: int, border: SiteBorder) -> tuple[State, SiteBorder]:
        """Compute a block of a strip again; return the state behind it, and its last column."""
        table, block = self.inputs.table, [self.inputs.blocks[number]]
        state = restored(self.snapshot(strip, number), capacity_of(table, block), table.tracks)
        return state, _sweep_rows(self.inputs, strip, state, border, number)


def _sweep_rows(
    inputs: SweepInputs, strip: int, state: State, border: SiteBorder, block: int
) -> SiteBorder:
    """Sweep a block of a strip, and return its last column.

    Chains that translate have one strip: nothing comes over a border.
    """
    sites, columns, weights = inputs.sites(block), inputs.strips[strip], inputs.weights
    rows, following = inputs.blocks[block], border
    if sites.stops.size:
        sweep_coding_block(sites, columns, state, weights, rows)
    else:
        following = fresh_border(rows, weights[_FLOOR])
        sweep_block(sites, columns, state, border, following, weights, rows)
    return following


def sweep(
    codes: NDArray[np.uint8], table: SiteTable, target: NDArray[np.uint8],
    scoring: SplicedScoring, threads: int = 1, done: Callable[[int], None] | None = None,
) -> SiteSweep:  # fmt: skip
    """Sweep one strand of one case.

    Parameters
    ----------
    codes : ndarray of uint8, shape (m,)
        The strand's nucleotides, in reading direction.
    table : SiteTable
        Of the same strand; it has a chain.
    target : ndarray of uint8, shape (n,)
        Encoded target.
    scoring : SplicedScoring
        Its exon weight and intron penalty have no use here: the table has both.
    threads : int
        Threads that share the work, each with its own strip; 1 if the table has stop codons.
    done : callable, optional
        Called with the number of cells of each block that is done, m * n in all.

    Returns
    -------
    SiteSweep
    """
    known = table_limits(table, scoring.gap, codes)
    limit = limits(known, padded(len(target) + 1, threads, 2), scoring)
    blocks = site_blocks(len(codes), max(ROWS_PER_BLOCK, len(codes) // MOST_BLOCKS))
    inputs = inputs_of(limit, blocks, codes, table, target, scoring, threads)
    width, floor = len(inputs.strips[0].start), inputs.weights[_FLOOR]
    capacity = capacity_of(table, blocks)
    states = [fresh_state(table, width, capacity, floor) for _ in range(threads)]
    borders: list[deque[SiteBorder]] = [deque() for _ in range(threads)]
    snapshots: list[list[State]] = [[] for _ in range(threads)]
    block_exits: list[list[NDArray]] = [[] for _ in range(threads)]

    def block(k: int, rows: tuple[int, int]) -> None:
        snapshots[k].append(snapshot_of(states[k], table.tracks))
        # the strip before has left its last column there
        border = borders[k].popleft() if k else fresh_border(rows, floor)
        border = _sweep_rows(inputs, k, states[k], border, inputs.block_of(rows[0]))
        block_exits[k].append(states[k].block_exits.copy())
        if k + 1 < threads:
            borders[k + 1].append(border)
        elif done:
            done((rows[1] - max(rows[0], 1)) * len(target))

    run_strips(block, threads, blocks)
    ends = enumerate(state.best.tolist() for state in states)
    # of equals the first end, at the least column
    least, end, column = min((-score, end, k * width + column) for k, (score, end, column) in ends)
    score = possible(-least, limit, len(target), scoring)
    return SiteSweep(score, end, column, inputs, snapshots, block_exits)
