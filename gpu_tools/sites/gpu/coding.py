"""Chains that translate on a GPU: the operations of `sites.cpu.coding` at each boundary."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from gpu_tools.sites.cpu.state import WAITING, Sites
from gpu_tools.sites.gpu.row_plan import (
    BEST_EXIT,
    LAST,
    SPECIAL,
    RowPlan,
    TracebackSlots,
    boundaries_of,
    close_block,
    most_pending,
    n_maxima,
)
from gpu_tools.sites.operations import ADVANCE, CLEAR, FINAL, PUT, RAISE, emit
from gpu_tools.sites.rising import BORDER, most_operations, write_border
from gpu_tools.sites.table import FIRST_ENTRY, INNER_ENTRY, INNER_EXIT, LAST_EXIT
from gpu_tools.splicing.codons import FRAMES, SPLITS, completes, split_bases, split_class


class CodingSlots(NamedTuple):
    """Which slots hold what: the first slot of each kind of row.

    `row` is the first of three current rows, one a reading frame; `entries` are three, too, and
    each exit has three slots. `alone` is the row of an exon that has not joined its frame's row
    yet, `waiting` are rows that wait to join. `ring` are slots of exits that no later block needs,
    used in turn, `stored` what a traceback reads. See also `row_plan.SlotLayout`.
    """

    before: int
    row: int
    alone: int
    start: int
    waiting: int
    entries: int
    ring: int
    ring_size: int
    stored: int


def _slots_of(sites: Sites) -> CodingSlots:
    """Return the slots of a table's rows, what is used most first."""
    row, ring_size = BEST_EXIT + 1, most_pending(sites)
    alone, start, waiting = row + FRAMES, row + FRAMES + 1, row + FRAMES + 2
    entries = waiting + WAITING
    before = entries + FRAMES
    ring = before + SPLITS * n_maxima(sites)
    return CodingSlots(
        before, row, alone, start, waiting, entries, ring, ring_size, ring + FRAMES * ring_size
    )


def compile_coding(sites: Sites, blocks: list[tuple[int, int]]) -> RowPlan:
    """Compile a table with stop codons."""
    classes, slots = len(sites.intron_kinds), _slots_of(sites)
    exits, entries, firsts, finals = (
        int((sites.flags & bit != 0).sum())
        for bit in (INNER_EXIT, INNER_ENTRY, FIRST_ENTRY, LAST_EXIT)
    )
    rows_of_block = FRAMES + WAITING + SPLITS * n_maxima(sites) + 1
    borders = int((sites.flags & BORDER != 0).sum())
    most = (
        (2 * FRAMES + FRAMES * classes) * exits + (SPLITS * classes + 14) * entries + 5 * firsts
        + finals + 3 * len(sites.flags) + (len(blocks) + 1) * (rows_of_block + 6)
        + borders * SPLITS * most_operations(sites.rising)
    )  # fmt: skip
    operations = np.empty((most, 4), dtype=np.int32)
    boundaries, ends = boundaries_of(sites), np.array([high - 1 for _, high in blocks])
    stored = np.empty(exits, np.int32), np.empty(len(blocks), np.int32)
    waiting = np.zeros((len(blocks), WAITING), dtype=bool)
    n, n_slots = _write_operations(sites, slots, ends, (boundaries, operations), stored, waiting)
    traceback = TracebackSlots(*stored, n_slots, waiting)
    return RowPlan(boundaries, operations[:n].copy(), traceback, slots.row, slots.start, FRAMES)


@njit
def _take_exits(sites, slots, row, pending, exit_slots, operations, n):
    """Raise the maxima before entries to the exits that lie far enough behind `row`."""
    codes, kinds, lengths = sites.codes, sites.intron_kinds, sites.intron_lengths
    exit_rows, counts = pending
    for k in range(len(kinds)):
        while counts[1 + k] < counts[0] and exit_rows[counts[1 + k]] + lengths[k] <= row:
            exit = counts[1 + k]
            boundary = exit_rows[exit]
            if sites.exit_kind[boundary] == kinds[k]:
                for frame in range(FRAMES):
                    before = (boundary - frame) % FRAMES
                    if before <= boundary:
                        to = slots.before + k * SPLITS + split_class(codes, boundary, before)
                        n = emit(operations, n, RAISE, to, exit_slots[exit] + frame, 0)
            counts[1 + k] += 1
    return n


@njit
def _wait(codes, slots, boundary, left, operations, n, waits):
    """Advance the row alone by `left` nucleotides and let it wait there for its frame's row."""
    for k in range(left):
        n = emit(operations, n, ADVANCE, slots.alone, codes[boundary + k], 0)
    number = (boundary + left) % WAITING
    waits[number] = True
    return emit(operations, n, RAISE, slots.waiting + number, slots.alone, 0)


@njit
def _enter(sites, slots, boundary, operations, n, waits):
    """Let exons that are not the first of their chain begin at a boundary."""
    codes, kinds = sites.codes, sites.intron_kinds
    for split in range(SPLITS):
        to = slots.entries + split_bases(split)
        if split in (0, 1, 3):
            n = emit(operations, n, CLEAR, to, 0, 0)
        if completes(codes, sites.stops, split, boundary):
            for k in range(len(kinds)):
                if kinds[k] == sites.entry_kind[boundary]:
                    bonus = sites.inner_entry[boundary] - sites.intron_penalties[k]
                    n = emit(operations, n, RAISE, to, slots.before + k * SPLITS + split, bonus)
    n = emit(operations, n, RAISE, slots.row + boundary % FRAMES, slots.entries, 0)
    for of_codon in range(1, FRAMES):
        if boundary + FRAMES - of_codon <= len(codes):
            n = emit(operations, n, PUT, slots.alone, slots.entries + of_codon, 0)
            n = _wait(codes, slots, boundary, FRAMES - of_codon, operations, n, waits)
    return n


@njit(cache=True, nogil=True)
def _write_operations(sites, slots, block_ends, written, traceback, waiting):
    """Write the operations of all boundaries; return how many, and the number of slots."""
    flags, codes, stops = sites.flags, sites.codes, sites.stops
    boundaries, operations = written
    exit_slots, block_slots = traceback
    classes, longest = len(sites.intron_kinds), np.int64(0)
    for length in sites.intron_lengths:
        longest = max(longest, length)
    pending = np.empty(len(exit_slots), np.int64), np.zeros(1 + classes, np.int64)
    exit_rows, counts = pending
    waits = np.zeros(WAITING, np.bool_)
    n, free, block, shared = 0, slots.stored, 0, 0
    maxima = slots.before, SPLITS * n_maxima(sites)
    sources = (slots.row, FRAMES), (slots.waiting, WAITING), maxima
    for slot in range(slots.ring):
        if slot != slots.start:
            n = emit(operations, n, CLEAR, slot, 0, 0)
    for i in range(len(flags)):
        before, closes = (0 if i == 0 else n), i == block_ends[block]
        row = slots.row + i % FRAMES
        if flags[i] & BORDER:
            n = _take_exits(sites, slots, i - 1, pending, exit_slots, operations, n)
            n = write_border(sites.rising, i, SPLITS, slots.before, operations, n)
        if flags[i] & LAST_EXIT:
            n = emit(operations, n, FINAL, row, i, sites.last_exit[i])
        if i >= FRAMES and stops[codes[i - 3], codes[i - 2], codes[i - 1]]:
            n = emit(operations, n, CLEAR, row, 0, 0)
        if waits[i % WAITING]:
            n = emit(operations, n, RAISE, row, slots.waiting + i % WAITING, 0)
            n = emit(operations, n, CLEAR, slots.waiting + i % WAITING, 0, 0)
            waits[i % WAITING] = False
        if closes or flags[i] & (INNER_EXIT | INNER_ENTRY):
            n = _take_exits(sites, slots, i, pending, exit_slots, operations, n)
        if flags[i] & INNER_EXIT:
            if i + longest > block_ends[block]:
                to, free = free, free + FRAMES
            else:
                to = slots.ring + FRAMES * shared
                shared = (shared + 1) % slots.ring_size
            exit_slots[counts[0]], exit_rows[counts[0]] = to, i
            counts[0] += 1
            for track in range(FRAMES):
                source, bonus = slots.row + track, sites.inner_exit[i]
                n = emit(operations, n, PUT, to + track, source, bonus)
                n = emit(operations, n, RAISE, BEST_EXIT, source, bonus)
            n = _take_exits(sites, slots, i, pending, exit_slots, operations, n)
        whole = i + FRAMES <= len(codes)
        if flags[i] & FIRST_ENTRY and whole and not stops[codes[i], codes[i + 1], codes[i + 2]]:
            n = emit(operations, n, PUT, slots.alone, slots.start, sites.first_entry[i])
            n = _wait(codes, slots, i, FRAMES, operations, n, waits)
        if flags[i] & INNER_ENTRY:
            n = _enter(sites, slots, i, operations, n, waits)
        if closes:
            waiting[block] = waits
            block_slots[block] = free
            n, free = close_block(sources, operations, n, free)
            block += 1
        if n > before:
            operations[n - 1, 0] |= LAST
            boundaries[i] |= SPECIAL
    return n, free
