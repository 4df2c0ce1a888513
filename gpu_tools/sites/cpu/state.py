"""What the sweeps of site mode work on: sites, strips of target columns, and their state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.sites.table import CLOSED, INNER_ENTRY, INNER_EXIT, SiteTable
from gpu_tools.splicing.strip import lanes_of

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


class State(NamedTuple):
    """A strip's state between two blocks.

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


class SiteBorder(NamedTuple):
    """S' of one column at each boundary, before and after exons may be entered there."""

    arriving: NDArray
    leaving: NDArray


def sites_of(codes, table: SiteTable, dtype) -> Sites:
    """Return a table as the loops want it."""
    scores = (np.where(s == CLOSED, 0, s).astype(dtype) for s in table.scores)
    introns = np.array(table.introns, dtype=np.int64).reshape(-1, 3)
    return Sites(
        np.ascontiguousarray(codes), table.flags(), *scores, table.entry_kind, table.exit_kind,
        introns[:, 0].copy(), introns[:, 1].copy(), introns[:, 2].astype(dtype),
    )  # fmt: skip


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
