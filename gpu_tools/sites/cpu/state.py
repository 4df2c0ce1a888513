"""The sites that sweeps of site mode read, and the state of a strip of target columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.sites.rising import Rising, rising_of
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.codons import SPLITS
from gpu_tools.splicing.strip import lanes_of

WAITING = 4
"""Rows that wait for the end of their first codon, by boundary modulo this."""
_NO_SCORE = -(2**62)


class Sites(NamedTuple):
    """The sites of a window of boundaries in the form that the loops read, one element a boundary.

    Boundary `first` is the window's first one. `codes` are all of the strand's nucleotides. `stops`
    is empty if the table has no stop codons.
    """

    codes: NDArray[np.uint8]
    first: int
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
    rising: Rising
    stops: NDArray[np.bool_]


class State(NamedTuple):
    """A strip's state between two blocks.

    `rows` and `carries` together are the tracks' current rows; if chains translate, another one
    follows them, see `gpu_tools.sites.cpu.coding`, and `waiting` are rows that join their track
    behind a codon, `waits` whether there are any. `before` are the maxima over the exits that may
    precede an entry, a row an intron class and kind of split codon, then the far rows of
    `gpu_tools.sites.rising`; `exits` the rows of the block's exits behind those still pending, one
    a track, `exit_rows` their boundaries, `exit_kinds` their kinds, `counts` how many exits there
    are, then how many each intron class has passed; `block_exits` the maximum over the block's
    exits; `entries` the rows of the block's inner entries, one a number of nucleotides of the split
    codon before it; `best` score, boundary and column of the best end so far.
    """

    rows: NDArray
    carries: NDArray
    waiting: NDArray
    waits: NDArray[np.bool_]
    before: NDArray
    exits: NDArray
    exit_rows: NDArray[np.int64]
    exit_kinds: NDArray[np.uint8]
    counts: NDArray[np.int64]
    block_exits: NDArray
    entries: NDArray
    best: NDArray[np.int64]


class SiteBorder(NamedTuple):
    """S' of one column at each boundary of a block, before and after exons may be entered there.

    The first element belongs to the boundary before the block.
    """

    arriving: NDArray
    leaving: NDArray


def fresh_border(rows: tuple[int, int], floor) -> SiteBorder:
    """Return the border of a block that nothing comes over."""
    return SiteBorder(*np.full((2, rows[1] - rows[0] + 1), floor))


def sites_of(codes, table: SiteTable, dtype, low: int = 0, high: int | None = None) -> Sites:
    """Return the sites of boundaries `low` to `high` - 1, by default of all."""
    high = table.length + 1 if high is None else high
    introns = np.array([i[:3] for i in table.introns], dtype=np.int64).reshape(-1, 3)
    rising, flags = rising_of(table.introns), table.flags(low, high)
    rising.mark_borders(flags, low)
    return Sites(
        np.ascontiguousarray(codes), low, flags,
        *(scores.between(low, high, dtype, closed=0) for scores in table.lists),
        table.acceptors.kinds_between(low, high), table.donors.kinds_between(low, high),
        introns[:, 0].copy(), introns[:, 1].copy(), introns[:, 2].astype(dtype), rising,
        np.empty((0, 0, 0), dtype=bool) if table.stops is None else table.stops,
    )  # fmt: skip


def capacity_of(table: SiteTable, blocks) -> tuple[int, int]:
    """Return how many exits, pending ones included, and entries a block has at most."""
    longest = max((intron.min_length for intron in table.introns), default=0)
    exits = (table.donors.listed(max(low - longest, 0), high) for low, high in blocks)
    entries = (table.acceptors.listed(low, high) for low, high in blocks)
    return tuple(max(part.stop - part.start for part in parts) for parts in (exits, entries))


def fresh_state(table: SiteTable, width: int, capacity: tuple[int, int], floor) -> State:
    """Return the state before the first block, all cells at the floor."""
    dtype, tracks, classes = floor.dtype, table.tracks, len(table.introns)
    maxima = classes + len(rising_of(table.introns).far_class)
    current, waiting, splits = (tracks + 1, WAITING, SPLITS) if tracks > 1 else (1, 0, 1)
    return State(
        np.full((current, width), floor, dtype), np.full((current, lanes_of(dtype)), floor, dtype),
        np.full((waiting, width), floor, dtype), np.zeros(waiting, bool),
        np.full((splits * maxima, width), floor, dtype),
        np.empty((tracks * capacity[0], width), dtype), np.empty(capacity[0], np.int64),
        np.empty(capacity[0], np.uint8), np.zeros(1 + classes, np.int64),
        np.full(width, floor, dtype), np.empty((tracks * capacity[1], width), dtype),
        np.array([_NO_SCORE, 0, 0], np.int64),
    )  # fmt: skip


@njit(nogil=True)
def drop_taken(exits, exit_rows, exit_kinds, counts, tracks):
    """Move the exits that some intron class has not passed yet to the front; `tracks` rows each."""
    passed = counts[1:].min() if len(counts) > 1 else counts[0]
    for e in range(passed, counts[0]):
        for track in range(tracks):
            exits[(e - passed) * tracks + track] = exits[e * tracks + track]
        exit_rows[e - passed], exit_kinds[e - passed] = exit_rows[e], exit_kinds[e]
    for k in range(len(counts)):
        counts[k] -= passed


def snapshot_of(state: State, tracks: int) -> State:
    """Copy what the next block needs of a state: the pending exits, and no other stored rows."""
    pending = slice(int(state.counts[1:].min(initial=state.counts[0])), int(state.counts[0]))
    needed = state._replace(
        exits=state.exits[tracks * pending.start : tracks * pending.stop],
        exit_rows=state.exit_rows[pending], exit_kinds=state.exit_kinds[pending],
        counts=state.counts - pending.start,
        block_exits=state.block_exits[:0], entries=state.entries[:0],
    )  # fmt: skip
    return State(*(part.copy() for part in needed))


def restored(snapshot: State, capacity: tuple[int, int], tracks: int) -> State:
    """Return a state to continue from, with space for a block's rows."""
    width, pending, dtype = snapshot.before.shape[1], len(snapshot.exit_rows), snapshot.before.dtype
    exits = np.empty((tracks * capacity[0], width), dtype)
    exit_rows, exit_kinds = np.empty(capacity[0], np.int64), np.empty(capacity[0], np.uint8)
    exits[: tracks * pending] = snapshot.exits
    exit_rows[:pending], exit_kinds[:pending] = snapshot.exit_rows, snapshot.exit_kinds
    copied = State(*(part.copy() for part in snapshot))
    return copied._replace(
        exits=exits, exit_rows=exit_rows, exit_kinds=exit_kinds,
        block_exits=np.empty(width, dtype),
        entries=np.empty((tracks * capacity[1], width), dtype),
    )  # fmt: skip
