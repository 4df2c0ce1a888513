"""Chains that translate on a GPU: the operations of `sites.cpu.coding` at each boundary."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.sites.cpu.memory import WAITING
from gpu_tools.sites.gpu.row_plan import (
    LAST,
    SPECIAL,
    RowPlan,
    Sites,
    SlotLayout,
    StoredRows,
    boundaries_of,
    kept_slots,
    most_pending,
    n_maxima,
)
from gpu_tools.sites.introns import (
    ADVANCE,
    BORDER,
    CLEAR,
    FINAL,
    PUT,
    RAISE,
    emit,
    most_operations,
    write_border,
)
from gpu_tools.sites.table import FIRST_ENTRY, INNER_ENTRY, INNER_EXIT, LAST_EXIT
from gpu_tools.splicing.codons import SPLITS, completes, split_bases, split_class
from gpu_tools.splicing.reading import FRAMES


class CodingSlots(NamedTuple):
    """Which slots hold what: the first slot of each kind of row.

    `row` is the first of three current rows, one a reading frame; `entries` are three, too, and
    each exit has three slots. `alone` is the row of an exon that has not joined its frame's row
    yet, `waiting` are rows that wait to join. `ring` are slots of exits, used in turn, `kept` those
    of donors of junctions, `stored` what a traceback reads. See also `row_plan.SlotLayout`.
    """

    before: int
    row: int
    alone: int
    start: int
    waiting: int
    entries: int
    ring: int
    ring_size: int
    kept: int
    stored: int


def _slots_of(sites: Sites) -> CodingSlots:
    """Return the slots of a table's rows, what is used most first."""
    row, ring_size = 0, _most_pending(sites.flags, sites.intron_lengths)
    alone, start, waiting = row + FRAMES, row + FRAMES + 1, row + FRAMES + 2
    entries = waiting + WAITING
    before = entries + FRAMES
    ring = before + SPLITS * n_maxima(sites)
    kept = ring + FRAMES * ring_size
    stored = int(_kept_slots(sites.junctions, kept)[1])
    return CodingSlots(
        before, row, alone, start, waiting, entries, ring, ring_size, kept, stored
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _most_pending(flags, lengths):
    return most_pending(flags, lengths)


@njit(cache=True, nogil=True)
def _kept_slots(junctions, first):
    return kept_slots(junctions, first, FRAMES)


def compile_coding(sites: Sites) -> RowPlan:
    """Compile a table with stop codons."""
    classes, slots = len(sites.intron_kinds), _slots_of(sites)
    exits, entries, firsts, finals = (
        int((sites.flags & bit != 0).sum())
        for bit in (INNER_EXIT, INNER_ENTRY, FIRST_ENTRY, LAST_EXIT)
    )
    stored = StoredRows(exits, entries, FRAMES, FRAMES)
    borders = int((sites.flags & BORDER != 0).sum())
    most = (
        FRAMES * (2 + classes) * exits + (SPLITS * classes + 17) * entries + 5 * firsts
        + finals + 3 * len(sites.flags) + slots.ring
        + borders * SPLITS * most_operations(sites.rising)
        + FRAMES * (len(sites.junctions.donors) + len(sites.junctions.acceptors))
    )  # fmt: skip
    operations, boundaries = np.empty((most, 4), dtype=np.int32), boundaries_of(sites)
    n = _write_operations(sites, slots, stored, boundaries, operations)
    layout = SlotLayout(slots.before, slots.row, slots.start, slots.ring, slots.stored)
    return RowPlan(boundaries, operations[:n].copy(), layout, stored, slots.stored)


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
def _enter_by_junctions(sites, slots, boundary, kept, operations, n):
    """Raise the rows of an entry to those kept at donors of junctions."""
    codes, junctions, score = sites.codes, sites.junctions, sites.inner_entry[boundary]
    k = first_from(junctions.acceptors, boundary)
    while k < len(junctions.acceptors) and junctions.acceptors[k] == boundary:
        number = junctions.kept[k]
        donor, bonus = np.int64(junctions.donors[number]), score - junctions.penalties[k]
        for track in range(FRAMES):
            bases = (donor - track) % FRAMES
            if bases <= donor and completes(
                codes, sites.stops, split_class(codes, donor, bases), boundary
            ):
                source = kept[number] + track
                n = emit(operations, n, RAISE, slots.entries + bases, source, bonus)
        k += 1
    return n


@njit
def _enter(sites, slots, boundary, kept, operations, n, waits):
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
    n = _enter_by_junctions(sites, slots, boundary, kept, operations, n)
    n = emit(operations, n, RAISE, slots.row + boundary % FRAMES, slots.entries, 0)
    for of_codon in range(1, FRAMES):
        if boundary + FRAMES - of_codon <= len(codes):
            n = emit(operations, n, PUT, slots.alone, slots.entries + of_codon, 0)
            n = _wait(codes, slots, boundary, FRAMES - of_codon, operations, n, waits)
    return n


@njit(cache=True, nogil=True)
def _write_operations(sites, slots, stored, boundaries, operations):
    """Write the operations of all boundaries; return how many."""
    flags, codes, stops = sites.flags, sites.codes, sites.stops
    exit_slots = np.empty(stored.n_exits, np.int64)
    pending = np.empty(stored.n_exits, np.int64), np.zeros(1 + len(sites.intron_kinds), np.int64)
    exit_rows, counts = pending
    waits = np.zeros(WAITING, np.bool_)
    kept_donors, (kept, _) = sites.junctions.donors, kept_slots(sites.junctions, slots.kept, FRAMES)
    keep = 0
    n, exit, to_store = 0, 0, slots.stored + FRAMES * stored.n_exits
    for slot in range(slots.ring):
        if slot != slots.start:
            n = emit(operations, n, CLEAR, slot, 0, 0)
    for i in range(len(flags)):
        before = 0 if i == 0 else n
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
        if flags[i] & (INNER_EXIT | INNER_ENTRY):
            n = _take_exits(sites, slots, i, pending, exit_slots, operations, n)
        if flags[i] & INNER_EXIT:
            to = slots.ring + FRAMES * (exit % slots.ring_size)
            exit_slots[exit], exit_rows[exit] = to, i
            for track in range(FRAMES):
                source, copy = slots.row + track, slots.stored + FRAMES * exit + track
                n = emit(operations, n, PUT, copy, source, 0)
                n = emit(operations, n, PUT, to + track, source, sites.inner_exit[i])
                if keep < len(kept_donors) and kept_donors[keep] == i:
                    n = emit(operations, n, PUT, kept[keep] + track, source, sites.inner_exit[i])
            keep += keep < len(kept_donors) and kept_donors[keep] == i
            exit += 1
            counts[0] = exit
            n = _take_exits(sites, slots, i, pending, exit_slots, operations, n)
        whole = i + FRAMES <= len(codes)
        if flags[i] & FIRST_ENTRY and whole and not stops[codes[i], codes[i + 1], codes[i + 2]]:
            n = emit(operations, n, PUT, slots.alone, slots.start, sites.first_entry[i])
            n = _wait(codes, slots, i, FRAMES, operations, n, waits)
        if flags[i] & INNER_ENTRY:
            n = _enter(sites, slots, i, kept, operations, n, waits)
            for part in range(FRAMES):
                n = emit(operations, n, PUT, to_store, slots.entries + part, 0)
                to_store += 1
        if n > before:
            operations[n - 1, 0] |= LAST
            boundaries[i] |= SPECIAL
    return n
