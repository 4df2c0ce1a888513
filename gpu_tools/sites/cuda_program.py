"""What a GPU does at each boundary, compiled from a table: rows of cells in numbered places.

All that is special about site mode happens column by column: a row is kept, raised to another one
plus a bonus, or cleared. So a kernel needs no notion of exons and introns; it advances the current
rows by one base, then carries out the boundary's operations. Rows that a traceback needs have
places of their own; exits that no later block needs share a few.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.sites.state import Sites
from gpu_tools.sites.table import FIRST_ENTRY, INNER_ENTRY, INNER_EXIT, LAST_EXIT

LEAVE, RAISE, PUT, BEGIN, CLEAR, FINAL, ADVANCE = range(7)
"""Operations (kind, to, source, bonus): `LEAVE` puts an exit's row and raises the maximum over the
block's exits to it; `BEGIN` raises to the empty chain's row; `FINAL` looks for the best end in row
`to` at boundary `source`; `ADVANCE` moves row `to` on by the symbol `source`.
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
    `start` the empty chain's, `ring` the exits that no later block needs, `kept` what a traceback
    reads.
    """

    before: int
    row: int
    start: int
    ring: int
    ring_size: int
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
    before, ring_size = BEST_EXIT + 1, most_pending(sites)
    ring = before + len(sites.intron_kinds)
    kept = max(ring + ring_size, hot)
    return Places(before, IN_REGISTERS, IN_REGISTERS, ring, ring_size, kept)


def places_in_memory(sites: Sites) -> Places:
    """Return the places of a kernel that has all rows in memory."""
    before, ring_size = BEST_EXIT + 1, most_pending(sites)
    row = before + len(sites.intron_kinds)
    return Places(before, row, row + 1, row + 2, ring_size, row + 2 + ring_size)


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


def _compiled(sites: Sites, blocks, places: Places, begins, finals) -> Program:
    classes, n_exits = len(sites.intron_kinds), int((sites.flags & INNER_EXIT != 0).sum())
    n_entries = int((sites.flags & INNER_ENTRY != 0).sum())
    most = (1 + classes) * n_exits + classes * n_entries + int(begins.sum() + finals.sum())
    operations = np.empty((most + (len(blocks) + 1) * (classes + 3), 4), dtype=np.int32)
    boundaries, ends = boundaries_of(sites), np.array([high - 1 for _, high in blocks])
    exits, of_blocks = np.empty(n_exits, np.int32), np.empty(len(blocks), np.int32)
    n, n_places = _plain(
        sites, places, ends, begins, finals, (boundaries, operations), (exits, of_blocks)
    )
    return Program(boundaries, operations[:n].copy(), Kept(exits, of_blocks, n_places))


@njit
def _take_exits(sites, places, row, pending, exit_places, operations, n):
    """Raise the maxima before entries to the exits that lie far enough behind `row`."""
    kinds, lengths, exit_kind = sites.intron_kinds, sites.intron_lengths, sites.exit_kind
    exit_rows, counts = pending
    for k in range(len(kinds)):
        while counts[1 + k] < counts[0] and exit_rows[counts[1 + k]] + lengths[k] <= row:
            exit = counts[1 + k]
            if exit_kind[exit_rows[exit]] == kinds[k]:
                n = emit(operations, n, RAISE, places.before + k, exit_places[exit], 0)
            counts[1 + k] += 1
    return n


@njit(cache=True)
def _plain(sites, places, block_ends, begins, finals, written, kept):
    """Write the operations of all boundaries; return how many, and the number of places."""
    flags, kinds, entry_kind = sites.flags, sites.intron_kinds, sites.entry_kind
    boundaries, operations = written
    exit_places, block_places = kept
    row, classes, longest = places.row, len(kinds), np.int64(0)
    for k in range(classes):
        longest = max(longest, sites.intron_lengths[k])
    pending = np.empty(len(exit_places), np.int64), np.zeros(1 + classes, np.int64)
    exit_rows, counts = pending
    n, free, block, shared = 0, places.kept, 0, 0
    for place in range(BEST_EXIT, places.before + classes):
        n = emit(operations, n, CLEAR, place, 0, 0)
    if row >= 0:
        n = emit(operations, n, CLEAR, row, 0, 0)
    for i in range(len(flags)):
        before, closes = (0 if i == 0 else n), i == block_ends[block]
        if finals[i]:
            n = emit(operations, n, FINAL, row, i, sites.last_exit[i])
        if closes or flags[i] & (INNER_EXIT | INNER_ENTRY):
            n = _take_exits(sites, places, i, pending, exit_places, operations, n)
        if flags[i] & INNER_EXIT:
            if i + longest > block_ends[block]:
                to, free = free, free + 1
            else:
                to, shared = places.ring + shared, (shared + 1) % places.ring_size
            exit_places[counts[0]], exit_rows[counts[0]] = to, i
            counts[0] += 1
            n = emit(operations, n, LEAVE, to, row, sites.inner_exit[i])
            n = _take_exits(sites, places, i, pending, exit_places, operations, n)
        if begins[i]:
            n = emit(operations, n, BEGIN, row, places.start, sites.first_entry[i])
        if flags[i] & INNER_ENTRY:
            for k in range(classes):
                if kinds[k] == entry_kind[i]:
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
