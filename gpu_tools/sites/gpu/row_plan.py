"""Site mode's operations on rows of cells, compiled from a table of sites for a GPU.

All that is special about site mode happens column by column: a row is stored, raised to another
row plus a bonus, or cleared. So a kernel knows nothing of exons and introns. At each boundary it
advances the current rows by one nucleotide and then does the boundary's operations. A *slot* is a
numbered row of cells. Each row that a traceback reads has a slot. Other exits share a slot
with those before them if no entry can tell them apart, that is, if no entry lies between the
boundaries from which on they may precede one. Such exits are a *group*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.sites.cpu.state import Sites
from gpu_tools.sites.operations import ADVANCE, BEGIN, CLEAR, FINAL, PUT, RAISE, emit
from gpu_tools.sites.rising import BORDER, is_border, most_operations, write_border
from gpu_tools.sites.table import FIRST_ENTRY, INNER_ENTRY, INNER_EXIT, LAST_EXIT

LAST = 8
"""Added to the kind of a boundary's last operation."""
SPECIAL = 8
"""Added to a boundary's symbol if the boundary has operations."""
NO_SYMBOL = 5
"""Symbol of the first boundary, before which there is no nucleotide."""
IN_REGISTERS = -1
"""Slot of the current row in a kernel that has it in registers."""
BEST_EXIT = 0
"""Slot of the maximum over the exits of the block."""


class SlotLayout(NamedTuple):
    """Which slots hold what: the first slot of each kind of row.

    `before` are the maxima over the exits that may precede an entry, `row` is the current row,
    `start` the empty chain's row, `groups` are groups of exits that no later block needs, and
    `stored` are the rows that a traceback reads.
    """

    before: int
    row: int
    start: int
    groups: int
    stored: int


class TracebackSlots(NamedTuple):
    """Slots that a traceback reads: of each exit, and the first one of each block.

    A block stores, one after the other, what it leaves at its end, as in
    `gpu_tools.sites.cpu.state.State`: current rows, waiting rows, the maxima before entries; then
    the maximum over its exits. `n_slots` is the number of slots in all. `waiting`, shape (blocks,
    rows), tells which of the waiting rows there are.
    """

    exits: NDArray[np.int32]
    blocks: NDArray[np.int32]
    n_slots: int
    waiting: NDArray[np.bool_]


class RowPlan(NamedTuple):
    """A compiled table.

    Attributes
    ----------
    boundaries : ndarray of int32, shape (m + 1,)
        The symbol before each boundary, plus `SPECIAL` if it has operations.
    operations : ndarray of int32, shape (n, 4)
        In the order in which boundaries come.
    traceback : TracebackSlots
    row, start : int
        Slots of the first current row and of the empty chain's row.
    tracks : int
        Current rows, which lie side by side; every nucleotide advances all of them.
    """

    boundaries: NDArray[np.int32]
    operations: NDArray[np.int32]
    traceback: TracebackSlots
    row: int
    start: int
    tracks: int = 1

    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return what the kernel reads: boundaries, and operations one after the other."""
        return self.boundaries, self.operations.ravel()

    def advances(self) -> int:
        """Return how often a row is advanced by a nucleotide."""
        alone = self.operations[:, 0] & (LAST - 1) == ADVANCE
        return self.tracks * (len(self.boundaries) - 1) + int(alone.sum())


def boundaries_of(sites: Sites) -> NDArray[np.int32]:
    """Return the symbol before each boundary."""
    return np.append(NO_SYMBOL, sites.codes).astype(np.int32)


def most_pending(sites: Sites) -> int:
    """Return how many exits can lie closer to a boundary than the longest least intron."""
    rows = np.flatnonzero(sites.flags & INNER_EXIT)
    longest = int(sites.intron_lengths.max(initial=0))
    first = np.searchsorted(rows, rows - longest, side="right")
    return int((np.arange(len(rows)) - first + 1).max(initial=0)) + 1


@njit
def n_maxima(sites):
    """Return how many maxima over exits there are for a kind of split codon: near and far rows."""
    return len(sites.intron_kinds) + len(sites.rising.far_class)


def compile_for_registers(sites: Sites, blocks: list[tuple[int, int]]) -> tuple[RowPlan, int, int]:
    """Compile a table for a kernel that has the current row in registers.

    The kernel takes the first entries' scores with the boundaries and finds the best end by itself.
    So there is no `FINAL`, and `BEGIN` only where a block stores its row.

    Returns
    -------
    tuple of (RowPlan, int, int)
        Also the first slot of a group, and the first one that a traceback reads.
    """
    groups = BEST_EXIT + 1 + n_maxima(sites)
    stored = groups + most_pending(sites)
    closing = np.zeros(blocks[-1][1], dtype=bool)
    closing[[high - 1 for _, high in blocks]] = True
    slots = SlotLayout(BEST_EXIT + 1, IN_REGISTERS, IN_REGISTERS, groups, stored)
    begins = (sites.flags & FIRST_ENTRY != 0) & closing
    return _compiled(sites, blocks, slots, begins, np.zeros_like(begins)), groups, stored


def compile_for_memory(sites: Sites, blocks: list[tuple[int, int]]) -> RowPlan:
    """Compile a table for a kernel that has all rows in memory, those of most use first."""
    row = BEST_EXIT + 1
    groups = row + 2 + n_maxima(sites)
    slots = SlotLayout(row + 2, row, row + 1, groups, groups + most_pending(sites))
    begins, finals = (sites.flags & bit != 0 for bit in (FIRST_ENTRY, LAST_EXIT))
    return _compiled(sites, blocks, slots, begins, finals)


def _joins(sites: Sites, rows, blocks, stored) -> NDArray[np.bool_]:
    """Return which exits, at boundaries `rows`, join the group of the one of their kind before.

    Both must lie in one block, and none of them be `stored`.
    """
    kinds, joins = sites.exit_kind[rows], np.zeros(len(rows), dtype=bool)
    entries, entry_kinds = np.flatnonzero(sites.flags & INNER_ENTRY), sites.entry_kind
    for kind in np.unique(kinds):
        alike = np.flatnonzero(kinds == kind)
        seen_first = [
            np.searchsorted(
                _looked_at(sites, k, entries[entry_kinds[entries] == kind]),
                rows[alike] + sites.intron_lengths[k],
            )
            for k in np.flatnonzero(sites.intron_kinds == kind)
        ]
        equal = [of[1:] == of[:-1] for of in (*seen_first, blocks[alike], stored[alike])]
        joins[alike[1:]] = np.logical_and.reduce(equal) & ~stored[alike[1:]]
    return joins


def _looked_at(sites: Sites, k: int, entries: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the maximum of class `k` is read: at its entries and just before its borders."""
    every = sites.rising.near_every[k]
    if every == 0:
        return entries
    first = -sites.rising.origin % every
    return np.union1d(entries, np.arange(first, len(sites.flags), every) - 1)


def _compiled(sites: Sites, blocks, slots: SlotLayout, begins, finals) -> RowPlan:
    classes, rows = len(sites.intron_kinds), np.flatnonzero(sites.flags & INNER_EXIT)
    n_entries, n_exits = int((sites.flags & INNER_ENTRY != 0).sum()), len(rows)
    most = (2 + 2 * classes) * n_exits + classes * n_entries + int(begins.sum() + finals.sum())
    most += (len(blocks) + 1) * (n_maxima(sites) + 3)
    most += int((sites.flags & BORDER != 0).sum()) * most_operations(sites.rising)
    operations = np.empty((most, 4), dtype=np.int32)
    boundaries, ends = boundaries_of(sites), np.array([high - 1 for _, high in blocks])
    of_exits = np.searchsorted(ends, rows)
    stored = rows + int(sites.intron_lengths.max(initial=0)) > ends[of_exits]
    exits, of_blocks = np.full(n_exits, -1, np.int32), np.empty(len(blocks), np.int32)
    n, n_slots = _write_operations(
        sites, slots, ends, (begins, finals), (boundaries, operations), (exits, of_blocks),
        (stored, _joins(sites, rows, of_exits, stored)),
    )  # fmt: skip
    traceback = TracebackSlots(exits, of_blocks, n_slots, np.zeros((len(blocks), 0), dtype=bool))
    return RowPlan(boundaries, operations[:n].copy(), traceback, slots.row, slots.start)


class _Groups(NamedTuple):
    """Groups of exits so far: last boundary, slot, kind, classes yet to take it, if it is stored.

    `counts` says how many there are, then how many each class has looked at. `free` are the slots
    of groups that are done, the last one to be used first; `free[0]` says how many.
    """

    rows: NDArray[np.int64]
    slots: NDArray[np.int64]
    kinds: NDArray[np.int64]
    users: NDArray[np.int64]
    stored: NDArray[np.bool_]
    counts: NDArray[np.int64]
    free: NDArray[np.int64]


@njit
def _fresh_groups(n_exits, classes, slots):
    numbers = np.empty((4, n_exits), np.int64)
    free = np.empty(n_exits + slots.stored + 1, np.int64)
    free[0] = slots.stored - slots.groups
    for k in range(free[0]):
        free[1 + k] = slots.stored - 1 - k
    return _Groups(
        numbers[0], numbers[1], numbers[2], numbers[3], np.empty(n_exits, np.bool_),
        np.zeros(1 + classes, np.int64), free,
    )  # fmt: skip


@njit
def _classes_of(kinds, kind):
    """Return how many intron classes have a kind."""
    return np.int64((kinds == kind).sum())


@njit
def _take(sites, slots, row, k, groups, operations, n):
    """Raise a class's maximum to the groups whose exits lie far enough behind `row`.

    The first class that takes a group also raises the maximum over the block's exits to it.
    """
    rows, of_groups, kinds, users, stored, counts, free = groups
    kind, length = sites.intron_kinds[k], sites.intron_lengths[k]
    while counts[1 + k] < counts[0]:
        group = counts[1 + k]
        if kinds[group] == kind:
            if rows[group] + length > row:
                break
            n = emit(operations, n, RAISE, slots.before + k, of_groups[group], 0)
            if users[group] == _classes_of(sites.intron_kinds, kind) and not stored[group]:
                n = emit(operations, n, RAISE, BEST_EXIT, of_groups[group], 0)
            users[group] -= 1
            if users[group] == 0 and not stored[group]:
                free[0] += 1
                free[free[0]] = of_groups[group]
        counts[1 + k] += 1
    return n


@njit
def _leave(sites, slots, row, joins, stores, groups, operations, n, next_slot):
    """Store the current row for an exit; return its slot too, and the next one never used."""
    rows, of_groups, kinds, users, stored, counts, free = groups
    kind, bonus = sites.exit_kind[row], sites.inner_exit[row]
    classes = _classes_of(sites.intron_kinds, kind)
    if classes == 0 and not stores:
        return n, -1, next_slot
    if joins:
        group = counts[0] - 1
        while kinds[group] != kind:
            group -= 1
        rows[group] = row
        n = emit(operations, n, RAISE, of_groups[group], slots.row, bonus)
        return n, of_groups[group], next_slot
    group, to = counts[0], next_slot
    counts[0] += 1
    if stores or free[0] == 0:
        next_slot += 1
    else:
        to = free[free[0]]
        free[0] -= 1
    rows[group], of_groups[group], kinds[group] = row, to, kind
    users[group], stored[group] = classes, stores
    n = emit(operations, n, PUT, to, slots.row, bonus)
    if stores:
        n = emit(operations, n, RAISE, BEST_EXIT, slots.row, bonus)
    return n, to, next_slot


@njit
def close_block(sources, operations, n, free):
    """Store what a block leaves, from slot `free` on; return how many operations and slots.

    `sources` are the first slot and the number of rows of each kind that is stored.
    """
    for first, count in sources:
        for k in range(count):
            n = emit(operations, n, PUT, free, first + k, 0)
            free += 1
    n = emit(operations, n, PUT, free, BEST_EXIT, 0)
    return emit(operations, n, CLEAR, BEST_EXIT, 0, 0), free + 1


@njit(cache=True, nogil=True)
def _write_operations(sites, slots, block_ends, marked, written, traceback, exits):
    """Write the operations of all boundaries; return how many, and the number of slots."""
    flags, kinds, entry_kind = sites.flags, sites.intron_kinds, sites.entry_kind
    (begins, finals), (boundaries, operations) = marked, written
    (exit_slots, block_slots), (stored, joins) = traceback, exits
    row, classes = slots.row, len(kinds)
    groups = _fresh_groups(len(exit_slots), classes, slots)
    n, free, block, exit = 0, slots.stored, 0, 0
    n = emit(operations, n, CLEAR, BEST_EXIT, 0, 0)
    for k in range(n_maxima(sites)):
        n = emit(operations, n, CLEAR, slots.before + k, 0, 0)
    if row >= 0:
        n = emit(operations, n, CLEAR, row, 0, 0)
    for i in range(len(flags)):
        before, closes = (0 if i == 0 else n), i == block_ends[block]
        if flags[i] & BORDER:
            for k in range(classes):
                # others have no border here: exits may yet join a group that they look at
                if is_border(sites.rising, k, i):
                    n = _take(sites, slots, i - 1, k, groups, operations, n)
            n = write_border(sites.rising, i, 1, slots.before, operations, n)
        if finals[i]:
            n = emit(operations, n, FINAL, row, i, sites.last_exit[i])
        if flags[i] & INNER_EXIT:
            n, exit_slots[exit], free = _leave(
                sites, slots, i, joins[exit], stored[exit], groups, operations, n, free
            )
            exit += 1
        if begins[i]:
            n = emit(operations, n, BEGIN, row, slots.start, sites.first_entry[i])
        for k in range(classes):
            enters = flags[i] & INNER_ENTRY and kinds[k] == entry_kind[i]
            if closes or enters:
                n = _take(sites, slots, i, k, groups, operations, n)
            if enters:
                bonus = sites.inner_entry[i] - sites.intron_penalties[k]
                n = emit(operations, n, RAISE, row, slots.before + k, bonus)
        if closes:
            block_slots[block] = free
            sources = (row, 1), (slots.before, n_maxima(sites))
            n, free = close_block(sources, operations, n, free)
            block += 1
        if n > before:
            operations[n - 1, 0] |= LAST
            boundaries[i] |= SPECIAL
    return n, free
