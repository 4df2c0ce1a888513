"""The sweep of site mode on a CPU: one row a base, vectors whose lanes own blocks of columns.

A row is computed in every lane as if nothing came from the lane before; then the lanes' last
columns are compared, and what comes over, the *carry*, joins the row when it is next read (a step
to the left is free in S', so that a carry is the same for all columns of a lane). Threads take
*stripes* of columns, which follow each other as in `gpu_tools.spliced.cpu`. Rows are swept in
blocks; a stripe's state before each block is kept, so that any block can be computed again.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools import simd
from gpu_tools.scoring import N_SYMBOLS, SplicedScoring
from gpu_tools.sequences import OTHER
from gpu_tools.sites.table import (
    CLOSED,
    FIRST_ENTRY,
    INNER_ENTRY,
    INNER_EXIT,
    LAST_EXIT,
    SiteTable,
)  # fmt: skip
from gpu_tools.sites.widths import limits
from gpu_tools.spliced.core import empty_chain
from gpu_tools.spliced.cpu import blocks_of, run_stripes
from gpu_tools.spliced.widths import narrowest

ROWS_PER_BLOCK = 1 << 10
"""Fewest rows of a block; long bases have longer blocks, so that there are not too many."""
_GAP, _FLOOR, _LOWEST = range(3)
_SCORE, _END, _COLUMN = range(3)
_NO_SCORE = -(2**62)


class Sites(NamedTuple):
    """A table's arrays as the loops want them."""

    codes: NDArray[np.uint8]
    flags: NDArray[np.uint8]
    first_entry: NDArray
    inner_entry: NDArray
    inner_exit: NDArray
    last_exit: NDArray
    entry_kind: NDArray[np.uint8]
    exit_kind: NDArray[np.uint8]
    intron_kinds: NDArray[np.int64]
    intron_lengths: NDArray[np.int64]
    intron_penalties: NDArray


class Stripe(NamedTuple):
    """A stripe's columns; column c of lane l is element c * lanes + l.

    `profile` holds the lifted scores by base symbol, `start` S' of the empty chain, `drop` what
    turns S' into S, `final` 1 where a chain may end, all of it from element `final_span[0]` to
    before `final_span[1]`.
    """

    profile: NDArray
    start: NDArray
    drop: NDArray
    final: NDArray
    final_span: tuple[int, int]


class State(NamedTuple):
    """A stripe's state between two blocks.

    `row` and `carry` together are the current row; `before` the maxima over the exits that may
    precede an entry, a row an intron class; `exits` the rows of the block's exits behind those
    still pending, `exit_rows` their boundaries, `counts` how many there are, then how many each
    intron class has taken; `block_exits` the maximum over the block's exits; `entries` the rows of
    the block's inner entries; `best` score, boundary and column of the best end so far.
    """

    row: NDArray
    carry: NDArray
    before: NDArray
    exits: NDArray
    exit_rows: NDArray[np.int64]
    counts: NDArray[np.int64]
    block_exits: NDArray
    entries: NDArray
    best: NDArray[np.int64]


class Border(NamedTuple):
    """S' of one column at each boundary, before and after exons may be entered there."""

    arriving: NDArray
    leaving: NDArray


@njit(nogil=True)
def _put(to, to_row, source, source_row, width, lanes, bonus):
    """Set a row to another one plus a bonus."""
    added = simd.splat(to.dtype.type(bonus))
    for k in range(0, width, lanes):
        value = simd.add(simd.load(source, source_row * width + k), added)
        simd.store(to, to_row * width + k, value)


@njit(nogil=True)
def _raise(to, to_row, source, source_row, width, lanes, bonus):
    """Raise a row to at least another one plus a bonus."""
    added = simd.splat(to.dtype.type(bonus))
    for k in range(0, width, lanes):
        value = simd.add(simd.load(source, source_row * width + k), added)
        simd.store(to, to_row * width + k, simd.maximum(value, simd.load(to, to_row * width + k)))


@njit(nogil=True)
def _settle(row, carry, lanes):
    """Let the carry join the row."""
    for k in range(0, len(row), lanes):
        simd.store(row, k, simd.maximum(simd.load(row, k), carry))


@njit(nogil=True)
def _begin(row, carry, start, bonus, lanes):
    """Let the carry join the row, and exons begin there as the first of a chain."""
    added = simd.splat(row.dtype.type(bonus))
    for k in range(0, len(row), lanes):
        here = simd.maximum(simd.load(row, k), carry)
        simd.store(row, k, simd.maximum(here, simd.add(simd.load(start, k), added)))


@njit(nogil=True)
def _advance(row, profile, symbol, diagonal, carry, left, gap, lanes):
    """Compute the next row, each lane for itself; return the vector of the lanes' last columns."""
    gaps = simd.splat(gap)
    offset = symbol * len(row)
    for k in range(0, len(row), lanes):
        up = simd.maximum(simd.load(row, k), carry)
        pair = simd.add(diagonal, simd.load(profile, offset + k))
        left = simd.maximum(simd.maximum(pair, simd.add(up, gaps)), left)
        simd.store(row, k, left)
        diagonal = up
    return left


@njit(nogil=True)
def _take_exits(before, exits, exit_rows, counts, exit_kind, kinds, lengths, row, lanes):
    """Let the exits that lie far enough behind `row` precede its entries."""
    width = before.shape[1]
    for k in range(len(kinds)):
        while counts[1 + k] < counts[0] and exit_rows[counts[1 + k]] + lengths[k] <= row:
            if exit_kind[exit_rows[counts[1 + k]]] == kinds[k]:
                _raise(before, k, exits, counts[1 + k], width, lanes, 0)
            counts[1 + k] += 1


@njit(nogil=True)
def _drop_taken(exits, exit_rows, counts):
    """Move the exits that some intron class has not taken yet to the front."""
    taken = counts[0]
    for k in range(1, len(counts)):
        taken = min(taken, counts[k])
    for e in range(taken, counts[0]):
        exits[e - taken] = exits[e]
        exit_rows[e - taken] = exit_rows[e]
    for k in range(len(counts)):
        counts[k] -= taken


@njit(nogil=True)
def _final_score(row, drop, final, span, lowest, carry, lanes):
    """Return the largest S of the columns at which a chain may end."""
    one, best = simd.splat(row.dtype.type(1)), simd.splat(lowest)
    for k in range(span[0], span[1], lanes):
        here = simd.maximum(simd.load(row, k), carry)
        value = simd.add(here, simd.load(drop, k))
        value = simd.where_equal(simd.load(final, k), one, value, best)
        best = simd.maximum(best, value)
    return np.int64(simd.last_lane(simd.prefix_maximum(best)))


@njit(nogil=True)
def _column_of(row, drop, final, score, carry, lanes):
    """Return the smallest column that ends with `score`."""
    columns = len(row) // lanes
    for column in range(len(row)):
        k = column % columns * lanes + column // columns
        here = max(np.int64(row[k]), np.int64(carry[column // columns]))
        if final[k] == 1 and here + np.int64(drop[k]) == score:
            return column
    return -1


@njit(cache=True, nogil=True)
def sweep_block(sites, stripe, state, border, following, weights, rows):
    """Sweep the boundaries ``rows[0]`` to ``rows[1] - 1`` of a stripe.

    Parameters
    ----------
    sites : Sites
    stripe : Stripe
    state : State
        Carried on.
    border, following : Border
        The column before the stripe, read, and the stripe's last column, written.
    weights : ndarray, shape (3,)
        Gap score, floor and lowest value, in the cells' type.
    rows : tuple of (int, int)
    """
    # local names: an array read out of a tuple inside the loop costs an atomic reference count
    codes, flags = sites.codes, sites.flags
    first_entry, inner_entry = sites.first_entry, sites.inner_entry
    inner_exit, last_exit = sites.inner_exit, sites.last_exit
    entry_kind, exit_kind = sites.entry_kind, sites.exit_kind
    kinds, lengths, penalties = sites.intron_kinds, sites.intron_lengths, sites.intron_penalties
    profile, start, drop, final = stripe.profile, stripe.start, stripe.drop, stripe.final
    row, before, exits, exit_rows = state.row, state.before, state.exits, state.exit_rows
    counts, block_exits, entries, best = state.counts, state.block_exits, state.entries, state.best
    arriving, leaving = border.arriving, border.leaving
    next_arriving, next_leaving = following.arriving, following.leaving
    gap, floor, lowest = weights[_GAP], weights[_FLOOR], weights[_LOWEST]
    lanes = len(state.carry)
    width = len(row)
    low = simd.splat(floor)
    carry, kept_carry, span = simd.load(state.carry, 0), state.carry, stripe.final_span
    _drop_taken(exits, exit_rows, counts)
    block_exits[:] = floor
    entry = 0
    for i in range(rows[0], rows[1]):
        if i > 0:
            last = simd.maximum(simd.load(row, width - lanes), carry)
            diagonal = simd.shift_in(last, leaving[i - 1])
            last = _advance(row, profile, np.int64(codes[i - 1]), diagonal, carry, low, gap, lanes)
            carry = simd.prefix_maximum(simd.shift_in(last, arriving[i]))
            carry = simd.maximum(carry, low)
            next_arriving[i] = simd.last_lane(simd.maximum(last, carry))
        if flags[i] & LAST_EXIT:
            score = _final_score(row, drop, final, span, lowest, carry, lanes)
            if score + last_exit[i] > best[_SCORE]:
                simd.store(kept_carry, 0, carry)
                best[_SCORE], best[_END] = score + last_exit[i], i
                best[_COLUMN] = _column_of(row, drop, final, score, kept_carry, lanes)
        if flags[i] & (INNER_EXIT | INNER_ENTRY):
            _settle(row, carry, lanes)
            carry = low
        if flags[i] & INNER_EXIT:
            _put(exits, counts[0], row, 0, width, lanes, inner_exit[i])
            _raise(block_exits, 0, exits, counts[0], width, lanes, 0)
            exit_rows[counts[0]] = i
            counts[0] += 1
        if flags[i] & FIRST_ENTRY:
            _begin(row, carry, start, first_entry[i], lanes)
            carry = low
        if flags[i] & INNER_ENTRY:
            _take_exits(before, exits, exit_rows, counts, exit_kind, kinds, lengths, i, lanes)
            entries[entry] = floor
            for k in range(len(kinds)):
                if kinds[k] == entry_kind[i]:
                    bonus = inner_entry[i] - penalties[k]
                    _raise(entries, entry, before, k, width, lanes, bonus)
            _raise(row, 0, entries, entry, width, lanes, 0)
            entry += 1
        next_leaving[i] = simd.last_lane(simd.maximum(simd.load(row, width - lanes), carry))
    _take_exits(before, exits, exit_rows, counts, exit_kind, kinds, lengths, rows[1] - 1, lanes)
    simd.store(kept_carry, 0, carry)


class Block(NamedTuple):
    """Rows of one block that a traceback reads, column by target column from 0 on.

    `entry_rows` and `exit_rows` are boundaries, rising; `entries` the rows from which exons start
    there, `exits` the rows with which they leave there, the exits' scores included.
    """

    entry_rows: NDArray[np.int64]
    entries: NDArray
    exit_rows: NDArray[np.int64]
    exits: NDArray


@dataclass
class SiteSweep:
    """A finished sweep: the best end, and what it takes to compute any block again.

    Attributes
    ----------
    score, end, column : int
        Score of the best chain, the boundary where it ends, and the target column.
    blocks : list of (int, int)
        Boundaries of each block.
    """

    score: int
    end: int
    column: int
    blocks: list[tuple[int, int]]
    sites: Sites
    stripes: list[Stripe]
    snapshots: list[list[State]]
    block_exits: list[list[NDArray]]
    borders: list[Border]
    weights: NDArray

    def block_of(self, boundary: int) -> int:
        """Return the number of the block that holds a boundary."""
        return boundary // (self.blocks[0][1] - self.blocks[0][0])

    def best_exit(self, block: int, column: int) -> int:
        """Return the largest value with which an exon of a block leaves at a column."""
        width = len(self.block_exits[0][block])
        k = column % width
        columns = width // len(self.snapshots[0][0].carry)
        place = k % columns * (width // columns) + k // columns
        return int(self.block_exits[column // width][block][place])

    def block(self, number: int, columns: int) -> Block:
        """Compute a block again, at least up to a number of target columns."""
        rows = self.blocks[number]
        width = len(self.stripes[0].start)
        parts = [self._again(stripe, number) for stripe in range(-(-columns // width))]
        flags = self.sites.flags[rows[0] : rows[1]]
        entry_rows = np.flatnonzero(flags & INNER_ENTRY) + rows[0]
        exit_rows = np.flatnonzero(flags & INNER_EXIT) + rows[0]
        entries = [_by_column(s.entries[: len(entry_rows)], len(s.carry)) for s in parts]
        exits = [
            _by_column(s.exits[s.counts[0] - len(exit_rows) : s.counts[0]], len(s.carry))
            for s in parts
        ]
        return Block(entry_rows, np.hstack(entries), exit_rows, np.hstack(exits))

    def _again(self, stripe: int, number: int) -> State:
        state = _restored(self.snapshots[stripe][number], _capacity(self.sites, self.blocks))
        unused = Border(*(np.empty_like(column) for column in self.borders[0]))
        sweep_block(
            self.sites, self.stripes[stripe], state, self.borders[stripe], unused, self.weights,
            self.blocks[number],
        )  # fmt: skip
        return state


def _by_column(rows: NDArray, lanes: int) -> NDArray:
    """Return rows in the order of target columns."""
    count, width = rows.shape
    return rows.reshape(count, width // lanes, lanes).transpose(0, 2, 1).reshape(count, width)


def sweep(
    codes: NDArray[np.uint8], table: SiteTable, target: NDArray[np.uint8],
    scoring: SplicedScoring, threads: int = 1,
) -> SiteSweep:  # fmt: skip
    """Sweep one strand of one case.

    Parameters
    ----------
    codes : ndarray of uint8, shape (m,)
        The strand's bases, in reading direction.
    table : SiteTable
        Of the same strand; it has a chain.
    target : ndarray of uint8, shape (n,)
        Encoded target.
    scoring : SplicedScoring
        Its exon weight and intron penalty have no use here: the table has both.
    threads : int
        Threads that share the work, each with a stripe of its own.

    Returns
    -------
    SiteSweep
    """
    limit = limits(table, _padded(len(target) + 1, threads, 2), scoring)
    dtype = narrowest(limit.bounds, scoring)
    width = _padded(len(target) + 1, threads, dtype.itemsize) // threads
    sites = _sites(codes, table, dtype)
    stripes = [_stripe(target, k * width, width, scoring, dtype) for k in range(threads)]
    blocks = blocks_of(len(codes) + 1, max(ROWS_PER_BLOCK, isqrt(len(codes))))
    weights = np.array([scoring.gap, limit.floor, limit.bounds.lowest], dtype=dtype)
    borders = [
        Border(*np.full((2, len(codes) + 1), limit.floor, dtype)) for _ in range(threads + 1)
    ]
    capacity = _capacity(sites, blocks)
    states = [_state(sites, width, capacity, weights) for _ in range(threads)]
    snapshots: list[list[State]] = [[] for _ in range(threads)]
    block_exits: list[list[NDArray]] = [[] for _ in range(threads)]

    def block(k: int, rows: tuple[int, int]) -> None:
        snapshots[k].append(_snapshot(states[k]))
        sweep_block(sites, stripes[k], states[k], borders[k], borders[k + 1], weights, rows)
        block_exits[k].append(states[k].block_exits.copy())

    run_stripes(block, threads, blocks)
    score, end, column = _best([state.best for state in states], width)
    return SiteSweep(
        score, end, column, blocks, sites, stripes, snapshots, block_exits, borders, weights
    )


def _best(ends: list[NDArray[np.int64]], width: int) -> tuple[int, int, int]:
    """Return score, boundary and target column of the best end: the first, at the least column."""
    found = [
        (-int(e[_SCORE]), int(e[_END]), k * width + int(e[_COLUMN])) for k, e in enumerate(ends)
    ]
    score, end, column = min(found)
    return -score, end, column


def _lanes(dtype) -> int:
    return simd.VECTOR_BYTES // dtype.itemsize


def _padded(columns: int, threads: int, itemsize: int) -> int:
    width = threads * simd.VECTOR_BYTES // itemsize
    return max(-(-columns // width), 1) * width


def _sites(codes, table: SiteTable, dtype) -> Sites:
    scores = (np.where(s == CLOSED, 0, s).astype(dtype) for s in table.scores)
    introns = np.array(table.introns, dtype=np.int64).reshape(-1, 3)
    return Sites(
        np.ascontiguousarray(codes), table.flags(), *scores, table.entry_kind, table.exit_kind,
        introns[:, 0].copy(), introns[:, 1].copy(), introns[:, 2].astype(dtype),
    )  # fmt: skip


def _stripe(target, first: int, width: int, scoring: SplicedScoring, dtype) -> Stripe:
    lanes = _lanes(dtype)
    columns = first + np.arange(width)
    symbols = np.full(width, OTHER, dtype=np.uint8)
    known = (columns >= 1) & (columns <= len(target))
    symbols[known] = target[columns[known] - 1]
    lifted = scoring.substitution() - scoring.gap
    free = scoring.ends != "global"
    start = [empty_chain(int(column), scoring.gap, free) for column in columns]
    final = columns <= len(target) if free else columns == len(target)
    laid_out = (
        _by_lane(np.asarray(row)[None], lanes, dtype)[0]
        for row in (start, np.where(final, scoring.gap * columns, 0), final)
    )
    profile = _by_lane(lifted[:N_SYMBOLS, symbols], lanes, dtype).ravel()
    return Stripe(profile, *laid_out, _span(final, lanes))


def _span(final, lanes: int) -> tuple[int, int]:
    """Return the elements, in whole vectors, between which the final columns lie."""
    of_lane = np.flatnonzero(final) % (len(final) // lanes)
    return (int(of_lane.min()) * lanes, int(of_lane.max() + 1) * lanes) if len(of_lane) else (0, 0)


def _by_lane(rows, lanes: int, dtype) -> NDArray:
    """Return rows with column c of lane l at c * lanes + l."""
    count, width = rows.shape
    blocked = rows.reshape(count, lanes, width // lanes).transpose(0, 2, 1)
    return np.ascontiguousarray(blocked, dtype=dtype).reshape(count, width)


def _capacity(sites: Sites, blocks) -> tuple[int, int]:
    """Return how many exits, pending ones included, and entries a block has at most."""
    longest = int(sites.intron_lengths.max(initial=0))
    exits = np.concatenate(([0], np.cumsum(sites.flags & INNER_EXIT != 0)))
    entries = np.concatenate(([0], np.cumsum(sites.flags & INNER_ENTRY != 0)))
    return (
        max(int(exits[high] - exits[max(low - longest, 0)]) for low, high in blocks),
        max(int(entries[high] - entries[low]) for low, high in blocks),
    )


def _state(sites: Sites, width: int, capacity: tuple[int, int], weights) -> State:
    dtype, floor, classes = weights.dtype, weights[_FLOOR], len(sites.intron_kinds)
    return State(
        np.full(width, floor, dtype), np.full(_lanes(dtype), floor, dtype),
        np.full((classes, width), floor, dtype), np.empty((capacity[0], width), dtype),
        np.empty(capacity[0], np.int64), np.zeros(1 + classes, np.int64),
        np.full(width, floor, dtype), np.empty((capacity[1], width), dtype),
        np.array([_NO_SCORE, 0, 0], np.int64),
    )  # fmt: skip


def _snapshot(state: State) -> State:
    """Copy what the next block needs: the pending exits, and none of the other rows kept."""
    pending = slice(int(state.counts[1:].min(initial=state.counts[0])), int(state.counts[0]))
    return State(
        state.row.copy(), state.carry.copy(), state.before.copy(), state.exits[pending].copy(),
        state.exit_rows[pending].copy(), state.counts - pending.start, state.block_exits[:0],
        state.entries[:0], state.best.copy(),
    )  # fmt: skip


def _restored(snapshot: State, capacity: tuple[int, int]) -> State:
    width, pending = len(snapshot.row), len(snapshot.exit_rows)
    dtype = snapshot.row.dtype
    exits, exit_rows = np.empty((capacity[0], width), dtype), np.empty(capacity[0], np.int64)
    exits[:pending], exit_rows[:pending] = snapshot.exits, snapshot.exit_rows
    return State(
        snapshot.row.copy(), snapshot.carry.copy(), snapshot.before.copy(), exits, exit_rows,
        snapshot.counts.copy(), np.empty(width, dtype), np.empty((capacity[1], width), dtype),
        snapshot.best.copy(),
    )  # fmt: skip
