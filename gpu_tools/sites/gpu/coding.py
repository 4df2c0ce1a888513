"""Chains that translate on a GPU: the operations of `sites.cpu.coding` at each boundary."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.sites.cpu.coding import SLOTS
from gpu_tools.sites.cpu.state import Sites
from gpu_tools.sites.gpu.program import (
    ADVANCE,
    BEST_EXIT,
    CLEAR,
    FINAL,
    LAST,
    PUT,
    RAISE,
    SPECIAL,
    Kept,
    Program,
    boundaries_of,
    emit,
    most_pending,
)
from gpu_tools.sites.table import FIRST_ENTRY, INNER_ENTRY, INNER_EXIT, LAST_EXIT
from gpu_tools.splicing.codons import FRAMES, SPLITS, completes, split_class


class CodingPlaces(NamedTuple):
    """Where rows lie, see `gpu_tools.sites.gpu.program.Places` and `coding.CodingState`.

    `row` is the first of three, as are `entries`; exits have three places each.
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


def coding_places(sites: Sites) -> CodingPlaces:
    """Return the places of a table's rows, what is used most first."""
    row, ring_size = BEST_EXIT + 1, most_pending(sites)
    alone, start, waiting = row + FRAMES, row + FRAMES + 1, row + FRAMES + 2
    entries = waiting + SLOTS
    before = entries + FRAMES
    ring = before + SPLITS * len(sites.intron_kinds)
    return CodingPlaces(
        before, row, alone, start, waiting, entries, ring, ring_size, ring + FRAMES * ring_size
    )


def compile_coding(sites: Sites, blocks: list[tuple[int, int]], stops) -> tuple[Program, NDArray]:
    """Compile a table with stop codons; also return which rows wait at each block's end.

    A block keeps, one after the other, three current rows, those that wait, the maxima before
    entries, and the maximum over its exits.
    """
    classes = len(sites.intron_kinds)
    exits, entries, firsts, finals = (
        int((sites.flags & bit != 0).sum())
        for bit in (INNER_EXIT, INNER_ENTRY, FIRST_ENTRY, LAST_EXIT)
    )
    kept_rows = FRAMES + SLOTS + SPLITS * classes + 1
    most = (
        (2 * FRAMES + FRAMES * classes) * exits + (SPLITS * classes + 14) * entries + 5 * firsts
        + finals + 3 * len(sites.flags) + (len(blocks) + 1) * (kept_rows + 6)
    )  # fmt: skip
    operations = np.empty((most, 4), dtype=np.int32)
    boundaries, ends = boundaries_of(sites), np.array([high - 1 for _, high in blocks])
    kept = np.empty(exits, np.int32), np.empty(len(blocks), np.int32)
    waiting = np.zeros((len(blocks), SLOTS), dtype=bool)
    n, n_places = _coding(
        sites, stops, coding_places(sites), ends, (boundaries, operations), kept, waiting
    )
    return Program(boundaries, operations[:n].copy(), Kept(*kept, n_places)), waiting


@njit
def _take_exits(sites, places, row, pending, exit_places, operations, n):
    """Raise the maxima before entries to the exits that lie far enough behind `row`."""
    codes, kinds, lengths = sites.codes, sites.intron_kinds, sites.intron_lengths
    exit_rows, counts = pending
    for k in range(len(kinds)):
        while counts[1 + k] < counts[0] and exit_rows[counts[1 + k]] + lengths[k] <= row:
            exit = counts[1 + k]
            boundary = exit_rows[exit]
            if sites.exit_kind[boundary] == kinds[k]:
                for frame in range(FRAMES):
                    bases = (boundary - frame) % FRAMES
                    if bases <= boundary:
                        to = places.before + k * SPLITS + split_class(codes, boundary, bases)
                        n = emit(operations, n, RAISE, to, exit_places[exit] + frame, 0)
            counts[1 + k] += 1
    return n


@njit
def _wait(codes, places, boundary, left, operations, n, waits):
    """Advance the row alone by `left` bases and let it wait there for its track."""
    for k in range(left):
        n = emit(operations, n, ADVANCE, places.alone, codes[boundary + k], 0)
    slot = (boundary + left) % SLOTS
    waits[slot] = True
    return emit(operations, n, RAISE, places.waiting + slot, places.alone, 0)


@njit
def _enter(sites, stops, places, boundary, operations, n, waits):
    """Let exons that are not the first of their chain begin at a boundary."""
    codes, kinds = sites.codes, sites.intron_kinds
    for split in range(SPLITS):
        bases = 0 if split == 0 else (1 if split < 3 else 2)
        to = places.entries + bases
        if split in (0, 1, 3):
            n = emit(operations, n, CLEAR, to, 0, 0)
        if completes(codes, stops, split, boundary):
            for k in range(len(kinds)):
                if kinds[k] == sites.entry_kind[boundary]:
                    bonus = sites.inner_entry[boundary] - sites.intron_penalties[k]
                    n = emit(operations, n, RAISE, to, places.before + k * SPLITS + split, bonus)
    n = emit(operations, n, RAISE, places.row + boundary % FRAMES, places.entries, 0)
    for bases in range(1, FRAMES):
        if boundary + FRAMES - bases <= len(codes):
            n = emit(operations, n, PUT, places.alone, places.entries + bases, 0)
            n = _wait(codes, places, boundary, FRAMES - bases, operations, n, waits)
    return n


@njit
def _close(places, classes, operations, n, free):
    """Keep what a block leaves; return the numbers of operations and of places."""
    sources = (places.row, FRAMES), (places.waiting, SLOTS), (places.before, SPLITS * classes)
    for first, count in sources:
        for k in range(count):
            n = emit(operations, n, PUT, free, first + k, 0)
            free += 1
    n = emit(operations, n, PUT, free, BEST_EXIT, 0)
    return emit(operations, n, CLEAR, BEST_EXIT, 0, 0), free + 1


@njit(cache=True, nogil=True)
def _coding(sites, stops, places, block_ends, written, kept, waiting):
    """Write the operations of all boundaries; return how many, and the number of places."""
    flags, codes = sites.flags, sites.codes
    boundaries, operations = written
    exit_places, block_places = kept
    classes, longest = len(sites.intron_kinds), np.int64(0)
    for k in range(classes):
        longest = max(longest, sites.intron_lengths[k])
    pending = np.empty(len(exit_places), np.int64), np.zeros(1 + classes, np.int64)
    exit_rows, counts = pending
    waits = np.zeros(SLOTS, np.bool_)
    n, free, block, shared = 0, places.kept, 0, 0
    for place in range(places.ring):
        if place != places.start:
            n = emit(operations, n, CLEAR, place, 0, 0)
    for i in range(len(flags)):
        before, closes = (0 if i == 0 else n), i == block_ends[block]
        row = places.row + i % FRAMES
        if flags[i] & LAST_EXIT:
            n = emit(operations, n, FINAL, row, i, sites.last_exit[i])
        if i >= FRAMES and stops[codes[i - 3], codes[i - 2], codes[i - 1]]:
            n = emit(operations, n, CLEAR, row, 0, 0)
        if waits[i % SLOTS]:
            n = emit(operations, n, RAISE, row, places.waiting + i % SLOTS, 0)
            n = emit(operations, n, CLEAR, places.waiting + i % SLOTS, 0, 0)
            waits[i % SLOTS] = False
        if closes or flags[i] & (INNER_EXIT | INNER_ENTRY):
            n = _take_exits(sites, places, i, pending, exit_places, operations, n)
        if flags[i] & INNER_EXIT:
            if i + longest > block_ends[block]:
                to, free = free, free + FRAMES
            else:
                to = places.ring + FRAMES * shared
                shared = (shared + 1) % places.ring_size
            exit_places[counts[0]], exit_rows[counts[0]] = to, i
            counts[0] += 1
            for track in range(FRAMES):
                source, bonus = places.row + track, sites.inner_exit[i]
                n = emit(operations, n, PUT, to + track, source, bonus)
                n = emit(operations, n, RAISE, BEST_EXIT, source, bonus)
            n = _take_exits(sites, places, i, pending, exit_places, operations, n)
        whole = i + FRAMES <= len(codes)
        if flags[i] & FIRST_ENTRY and whole and not stops[codes[i], codes[i + 1], codes[i + 2]]:
            n = emit(operations, n, PUT, places.alone, places.start, sites.first_entry[i])
            n = _wait(codes, places, i, FRAMES, operations, n, waits)
        if flags[i] & INNER_ENTRY:
            n = _enter(sites, stops, places, i, operations, n, waits)
        if closes:
            waiting[block] = waits
            block_places[block] = free
            n, free = _close(places, classes, operations, n, free)
            block += 1
        if n > before:
            operations[n - 1, 0] |= LAST
            boundaries[i] |= SPECIAL
    return n, free
