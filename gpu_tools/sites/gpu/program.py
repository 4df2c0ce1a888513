"""What a GPU does at each boundary, compiled from a table: rows of cells in numbered places.

All that is special about site mode happens column by column: a row is kept, raised to another one
plus a bonus, or cleared. So a kernel needs no notion of exons and introns; it advances the current
rows by one base, then carries out the boundary's operations. Rows that a traceback needs have
places of their own. Of the other exits, those that every entry sees alike, because none comes
between the boundaries from which on they may precede one, share a row: their *group*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.sites.cpu.state import Sites
from gpu_tools.sites.table import FIRST_ENTRY, INNER_ENTRY, INNER_EXIT, LAST_EXIT

RAISE, PUT, BEGIN, CLEAR, FINAL, ADVANCE = range(6)
"""Operations (kind, to, source, bonus): `BEGIN` raises to the empty chain's row; `FINAL` looks for
the best end in row `to` at boundary `source`; `ADVANCE` moves row `to` on by the symbol `source`.
"""
LAST = 8
"""Added to the kind of a boundary's last operation."""
SPECIAL, CHANGES = 8, 16
"""Added to a boundary's symbol if it has operations, and if exons are entered there."""
NO_SYMBOL = 5
"""Symbol of the first boundary, before which there is no base."""
IN_REGISTERS = -1
"""Place of the current row in a kernel that keeps it in registers."""
BEST_EXIT = 0
"""Place of the maximum over the exits of the block."""


class Places(NamedTuple):
    """Where rows lie: the first place of each kind of row.

    `before` are the maxima over the exits that may precede an entry, `row` the current row,
    `start` the empty chain's, `groups` those of the exits that no later block needs, `kept` what a
    traceback reads.
    """

    before: int
    row: int
    start: int
    groups: int
    kept: int


class Kept(NamedTuple):
    """Places that a traceback reads: of each exit, and of each block's rows.

    A block has, one after the other, the current row and the maxima before entries at its end,
    and the maximum over its exits; `n_places` is the number of places in all.
    """

    exits: NDArray[np.int32]
    blocks: NDArray[np.int32]
    n_places: int


class Program(NamedTuple):
    """A compiled table: one word a boundary (symbol, `SPECIAL`), operations, places."""

    boundaries: NDArray[np.int32]
    operations: NDArray[np.int32]
    kept: Kept


@njit
def emit(operations, n, kind, to, source, bonus):
    """Append an operation; return how many there are."""
    operations[n, 0], operations[n, 1] = kind, to
    operations[n, 2], operations[n, 3] = source, bonus
    return n + 1


def boundaries_of(sites: Sites) -> NDArray[np.int32]:
    """Return the symbol before each boundary."""
    boundaries = np.full(len(sites.codes) + 1, NO_SYMBOL, dtype=np.int32)
    boundaries[1:] = sites.codes
    return boundaries


def most_pending(sites: Sites) -> int:
    """Return how many exits can lie closer to a boundary than the longest least intron."""
    rows = np.flatnonzero(sites.flags & INNER_EXIT)
    longest = int(sites.intron_lengths.max(initial=0))
    first = np.searchsorted(rows, rows - longest, side="right")
    return int((np.arange(len(rows)) - first + 1).max(initial=0)) + 1


def kept_exits(sites: Sites, blocks: list[tuple[int, int]]) -> int:
    """Return how many exits lie closer to their block's end than the longest least intron."""
    rows = np.flatnonzero(sites.flags & INNER_EXIT)
    ends = np.array([high - 1 for _, high in blocks])
    longest = int(sites.intron_lengths.max(initial=0))
    return int((rows + longest > ends[np.searchsorted(ends, rows)]).sum())


def places_in_registers(sites: Sites, hot: int) -> Places:
    """Return the places of a kernel that keeps the current row in registers.

    What is used most has the lowest places; `kept` rows have none of the first `hot` ones.
    """
    before = BEST_EXIT + 1
    groups = before + len(sites.intron_kinds)
    kept = max(groups + most_pending(sites), hot)
    return Places(before, IN_REGISTERS, IN_REGISTERS, groups, kept)


def places_in_memory(sites: Sites) -> Places:
    """Return the places of a kernel that has all rows in memory, what is used most first."""
    row = BEST_EXIT + 1
    before = row + 2
    groups = before + len(sites.intron_kinds)
    return Places(before, row, row + 1, groups, groups + most_pending(sites))


def compile_packed(sites: Sites, blocks: list[tuple[int, int]], hot: int) -> Program:
    """Compile a table for the packed kernel.

    It takes the first entries' scores with the boundaries, and finds the best end by itself;
    only where a row is kept does `BEGIN` stand among the operations.
    """
    begins = (sites.flags & FIRST_ENTRY != 0) & _closing(blocks)
    return _compiled(sites, blocks, places_in_registers(sites, hot), begins, np.zeros_like(begins))


def compile_wide(sites: Sites, blocks: list[tuple[int, int]]) -> Program:
    """Compile a table for the kernel with all rows in memory."""
    begins, finals = (sites.flags & bit != 0 for bit in (FIRST_ENTRY, LAST_EXIT))
    return _compiled(sites, blocks, places_in_memory(sites), begins, finals)


def _closing(blocks: list[tuple[int, int]]) -> NDArray[np.bool_]:
    """Return which boundaries are the last of their block."""
    closing = np.zeros(blocks[-1][1], dtype=bool)
    closing[[high - 1 for _, high in blocks]] = True
    return closing


def _joins(sites: Sites, rows, blocks, kept) -> NDArray[np.bool_]:
    """Return which exits, at boundaries `rows`, join the group of the one of their kind before.

    Both must lie in one block, and none of them be `kept`.
    """
    kinds, joins = sites.exit_kind[rows], np.zeros(len(rows), dtype=bool)
    entries, entry_kinds = np.flatnonzero(sites.flags & INNER_ENTRY), sites.entry_kind
    for kind in np.unique(kinds):
        own = np.flatnonzero(kinds == kind)
        seen_first = [
            np.searchsorted(entries[entry_kinds[entries] == kind], rows[own] + length)
            for length in sites.intron_lengths[sites.intron_kinds == kind]
        ]
        alike = [of[1:] == of[:-1] for of in (*seen_first, blocks[own], kept[own])]
        joins[own[1:]] = np.logical_and.reduce(alike) & ~kept[own[1:]]
    return joins


def _compiled(sites: Sites, blocks, places: Places, begins, finals) -> Program:
    classes, rows = len(sites.intron_kinds), np.flatnonzero(sites.flags & INNER_EXIT)
    n_entries, n_exits = int((sites.flags & INNER_ENTRY != 0).sum()), len(rows)
    most = (2 + 2 * classes) * n_exits + classes * n_entries + int(begins.sum() + finals.sum())
    operations = np.empty((most + (len(blocks) + 1) * (classes + 3), 4), dtype=np.int32)
    boundaries, ends = boundaries_of(sites), np.array([high - 1 for _, high in blocks])
    of_exits = np.searchsorted(ends, rows)
    kept = rows + int(sites.intron_lengths.max(initial=0)) > ends[of_exits]
    exits, of_blocks = np.full(n_exits, -1, np.int32), np.empty(len(blocks), np.int32)
    n, n_places = _plain(
        sites, places, ends, (begins, finals), (boundaries, operations), (exits, of_blocks),
        (kept, _joins(sites, rows, of_exits, kept)),
    )  # fmt: skip
    return Program(boundaries, operations[:n].copy(), Kept(exits, of_blocks, n_places))


class _Groups(NamedTuple):
    """Groups of exits so far: last boundary, place, kind, classes that will take it, if kept.

    `counts` says how many there are, then how many each class has looked at; `free` are places
    of groups that are done, the last one to be used first, `free[0]` how many.
    """

    rows: NDArray[np.int64]
    places: NDArray[np.int64]
    kinds: NDArray[np.int64]
    users: NDArray[np.int64]
    kept: NDArray[np.bool_]
    counts: NDArray[np.int64]
    free: NDArray[np.int64]


@njit
def _fresh_groups(n_exits, classes, places):
    numbers = np.empty((4, n_exits), np.int64)
    free = np.empty(n_exits + places.kept + 1, np.int64)
    free[0] = places.kept - places.groups
    for k in range(free[0]):
        free[1 + k] = places.kept - 1 - k
    return _Groups(
        numbers[0], numbers[1], numbers[2], numbers[3], np.empty(n_exits, np.bool_),
        np.zeros(1 + classes, np.int64), free,
    )  # fmt: skip


@njit
def _take(sites, places, row, k, groups, operations, n):
    """Raise a class's maximum to the groups whose exits lie far enough behind `row`.

    The first class that takes a group also raises the maximum over the block's exits to it.
    """
    rows, of_groups, kinds, users, kept, counts, free = groups
    kind, length, classes = sites.intron_kinds[k], sites.intron_lengths[k], 0
    for own in sites.intron_kinds:
        classes += own == kind
    while counts[1 + k] < counts[0]:
        group = counts[1 + k]
        if kinds[group] == kind:
            if rows[group] + length > row:
                break
            n = emit(operations, n, RAISE, places.before + k, of_groups[group], 0)
            if users[group] == classes and not kept[group]:
                n = emit(operations, n, RAISE, BEST_EXIT, of_groups[group], 0)
            users[group] -= 1
            if users[group] == 0 and not kept[group]:
                free[0] += 1
                free[free[0]] = of_groups[group]
        counts[1 + k] += 1
    return n


@njit
def _leave(sites, places, row, joins, keeps, groups, operations, n, next_place):
    """Keep the current row for an exit; return its place too, and the next one never used."""
    rows, of_groups, kinds, users, kept, counts, free = groups
    kind, bonus, classes = sites.exit_kind[row], sites.inner_exit[row], 0
    for own in sites.intron_kinds:
        classes += own == kind
    if classes == 0 and not keeps:
        return n, -1, next_place
    if joins:
        group = counts[0] - 1
        while kinds[group] != kind:
            group -= 1
        rows[group] = row
        n = emit(operations, n, RAISE, of_groups[group], places.row, bonus)
        return n, of_groups[group], next_place
    group, to = counts[0], next_place
    counts[0] += 1
    if keeps or free[0] == 0:
        next_place += 1
    else:
        to = free[free[0]]
        free[0] -= 1
    rows[group], of_groups[group], kinds[group] = row, to, kind
    users[group], kept[group] = classes, keeps
    n = emit(operations, n, PUT, to, places.row, bonus)
    if keeps:
        n = emit(operations, n, RAISE, BEST_EXIT, places.row, bonus)
    return n, to, next_place


@njit(cache=True, nogil=True)
def _plain(sites, places, block_ends, marked, written, placed, exits):
    """Write the operations of all boundaries; return how many, and the number of places."""
    flags, kinds, entry_kind = sites.flags, sites.intron_kinds, sites.entry_kind
    (begins, finals), (boundaries, operations) = marked, written
    (exit_places, block_places), (kept, joins) = placed, exits
    row, classes = places.row, len(kinds)
    groups = _fresh_groups(len(exit_places), classes, places)
    n, free, block, exit = 0, places.kept, 0, 0
    n = emit(operations, n, CLEAR, BEST_EXIT, 0, 0)
    for k in range(classes):
        n = emit(operations, n, CLEAR, places.before + k, 0, 0)
    if row >= 0:
        n = emit(operations, n, CLEAR, row, 0, 0)
    for i in range(len(flags)):
        before, closes = (0 if i == 0 else n), i == block_ends[block]
        if finals[i]:
            n = emit(operations, n, FINAL, row, i, sites.last_exit[i])
        if flags[i] & INNER_EXIT:
            n, exit_places[exit], free = _leave(
                sites, places, i, joins[exit], kept[exit], groups, operations, n, free
            )
            exit += 1
        if begins[i]:
            n = emit(operations, n, BEGIN, row, places.start, sites.first_entry[i])
        for k in range(classes):
            enters = flags[i] & INNER_ENTRY and kinds[k] == entry_kind[i]
            if closes or enters:
                n = _take(sites, places, i, k, groups, operations, n)
            if enters:
                bonus = sites.inner_entry[i] - sites.intron_penalties[k]
                n = emit(operations, n, RAISE, row, places.before + k, bonus)
                boundaries[i] |= CHANGES
        if closes:
            block_places[block] = free
            n = emit(operations, n, PUT, free, row, 0)
            for k in range(classes):
                n = emit(operations, n, PUT, free + 1 + k, places.before + k, 0)
            n = emit(operations, n, PUT, free + 1 + classes, BEST_EXIT, 0)
            n = emit(operations, n, CLEAR, BEST_EXIT, 0, 0)
            free, block = free + classes + 2, block + 1
        if n > before:
            operations[n - 1, 0] |= LAST
            boundaries[i] |= SPECIAL
    return n, free
