"""What the sweeps of site mode work on: sites, stripes of target columns, and their state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools import simd
from gpu_tools.scoring import N_SYMBOLS, SplicedScoring
from gpu_tools.sequences import OTHER
from gpu_tools.sites.table import CLOSED, INNER_ENTRY, INNER_EXIT, SiteTable
from gpu_tools.spliced.core import empty_row

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


def by_column(rows: NDArray, lanes: int) -> NDArray:
    """Return rows in the order of target columns."""
    count, width = rows.shape
    return rows.reshape(count, width // lanes, lanes).transpose(0, 2, 1).reshape(count, width)


def by_lane(rows, lanes: int, dtype) -> NDArray:
    """Return rows with column c of lane l at c * lanes + l."""
    count, width = rows.shape
    blocked = rows.reshape(count, lanes, width // lanes).transpose(0, 2, 1)
    return np.ascontiguousarray(blocked, dtype=dtype).reshape(count, width)


def lanes_of(dtype) -> int:
    """Return the lanes of a vector."""
    return simd.VECTOR_BYTES // dtype.itemsize


def padded(columns: int, threads: int, itemsize: int) -> int:
    """Return the columns that whole vectors of all threads have, at least `columns`."""
    width = threads * simd.VECTOR_BYTES // itemsize
    return max(-(-columns // width), 1) * width


def sites_of(codes, table: SiteTable, dtype) -> Sites:
    """Return a table as the loops want it."""
    scores = (np.where(s == CLOSED, 0, s).astype(dtype) for s in table.scores)
    introns = np.array(table.introns, dtype=np.int64).reshape(-1, 3)
    return Sites(
        np.ascontiguousarray(codes), table.flags(), *scores, table.entry_kind, table.exit_kind,
        introns[:, 0].copy(), introns[:, 1].copy(), introns[:, 2].astype(dtype),
    )  # fmt: skip


def stripe_of(target, first: int, width: int, scoring: SplicedScoring, dtype) -> Stripe:
    """Return the stripe of `width` columns from `first` on."""
    lanes = lanes_of(dtype)
    columns = first + np.arange(width)
    symbols = np.full(width, OTHER, dtype=np.uint8)
    known = (columns >= 1) & (columns <= len(target))
    symbols[known] = target[columns[known] - 1]
    lifted = scoring.substitution() - scoring.gap
    free = scoring.ends != "global"
    start = empty_row(columns, scoring.gap, free)
    final = columns <= len(target) if free else columns == len(target)
    laid_out = (
        by_lane(np.asarray(row)[None], lanes, dtype)[0]
        for row in (start, np.where(final, scoring.gap * columns, 0), final)
    )
    profile = by_lane(lifted[:N_SYMBOLS, symbols], lanes, dtype).ravel()
    return Stripe(profile, *laid_out, _span(final, lanes))


def _span(final, lanes: int) -> tuple[int, int]:
    """Return the elements, in whole vectors, between which the final columns lie."""
    of_lane = np.flatnonzero(final) % (len(final) // lanes)
    return (int(of_lane.min()) * lanes, int(of_lane.max() + 1) * lanes) if len(of_lane) else (0, 0)


def capacity_of(sites: Sites, blocks) -> tuple[int, int]:
    """Return how many exits, pending ones included, and entries a block has at most."""
    longest = int(sites.intron_lengths.max(initial=0))
    exits = np.concatenate(([0], np.cumsum(sites.flags & INNER_EXIT != 0)))
    entries = np.concatenate(([0], np.cumsum(sites.flags & INNER_ENTRY != 0)))
    return (
        max(int(exits[high] - exits[max(low - longest, 0)]) for low, high in blocks),
        max(int(entries[high] - entries[low]) for low, high in blocks),
    )


def fresh_state(sites: Sites, width: int, capacity: tuple[int, int], floor) -> State:
    """Return the state before the first block, all cells at the floor."""
    dtype, classes = floor.dtype, len(sites.intron_kinds)
    return State(
        np.full(width, floor, dtype), np.full(lanes_of(dtype), floor, dtype),
        np.full((classes, width), floor, dtype), np.empty((capacity[0], width), dtype),
        np.empty(capacity[0], np.int64), np.zeros(1 + classes, np.int64),
        np.full(width, floor, dtype), np.empty((capacity[1], width), dtype),
        np.array([_NO_SCORE, 0, 0], np.int64),
    )  # fmt: skip


def snapshot_of(state: State) -> State:
    """Copy what the next block needs: the pending exits, and none of the other rows kept."""
    pending = slice(int(state.counts[1:].min(initial=state.counts[0])), int(state.counts[0]))
    return State(
        state.row.copy(), state.carry.copy(), state.before.copy(), state.exits[pending].copy(),
        state.exit_rows[pending].copy(), state.counts - pending.start, state.block_exits[:0],
        state.entries[:0], state.best.copy(),
    )  # fmt: skip


def restored(snapshot: State, capacity: tuple[int, int]) -> State:
    """Return a state to go on from, with room for a block's rows."""
    width, pending = len(snapshot.row), len(snapshot.exit_rows)
    dtype = snapshot.row.dtype
    exits, exit_rows = np.empty((capacity[0], width), dtype), np.empty(capacity[0], np.int64)
    exits[:pending], exit_rows[:pending] = snapshot.exits, snapshot.exit_rows
    return State(
        snapshot.row.copy(), snapshot.carry.copy(), snapshot.before.copy(), exits, exit_rows,
        snapshot.counts.copy(), np.empty(width, dtype), np.empty((capacity[1], width), dtype),
        snapshot.best.copy(),
    )  # fmt: skip
