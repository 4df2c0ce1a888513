"""The sweep of site mode for chains that translate: a track of rows for each reading frame.

Track f holds exons with codons that begin at positions f, f + 3, ... of the base. It is emptied
where one of its codons is a stop. There is a class of exits for each kind of codon that an intron
splits: no nucleotide before the intron; T; another one; TA; TG; two others. Where an exon completes
a split codon, the classes that would make it a stop are excluded, and the exon joins its track only
behind the codon: until then it is in a separate row. The first codon of a chain is treated alike,
so that it lies in one exon.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from gpu_tools.hardware.cpu import simd
from gpu_tools.sites.cpu.borders import cross_border
from gpu_tools.sites.cpu.state import WAITING, drop_taken
from gpu_tools.sites.rising import BORDER
from gpu_tools.sites.table import FIRST_ENTRY, INNER_ENTRY, INNER_EXIT, LAST_EXIT
from gpu_tools.splicing.codons import FRAMES, SPLITS, completes, split_bases, split_class
from gpu_tools.splicing.rows import advance, column_of, final_score, put, raise_to, settle

_ALONE = FRAMES
_SCORE, _END, _COLUMN = range(3)


@njit(nogil=True)
def _step(rows, carries, slot, profile, symbol, gap, floor, lanes):
    """Compute the next row of a track."""
    row, low, width = rows[slot], simd.splat(floor), rows.shape[1]
    carry = simd.load(carries, slot * lanes)
    last = simd.maximum(simd.load(row, width - lanes), carry)
    diagonal = simd.shift_in(last, floor)
    last = advance(row, profile, symbol, diagonal, carry, low, gap, lanes)
    carry = simd.prefix_maximum(simd.shift_in(last, floor))
    simd.store(carries, slot * lanes, simd.maximum(carry, low))


@njit(nogil=True)
def _joined(rows, carries, slot, floor, lanes):
    """Let a track's carry join its row."""
    settle(rows[slot], simd.load(carries, slot * lanes), lanes)
    simd.store(carries, slot * lanes, simd.splat(floor))


@njit(nogil=True)
def _wait(state, codes, profile, boundary, left, gap, floor, lanes):
    """Advance the row alone by `left` nucleotides and let it wait there for its track."""
    rows, carries, waiting = state.rows, state.carries, state.waiting
    width = rows.shape[1]
    simd.store(carries, _ALONE * lanes, simd.splat(floor))
    for k in range(left):
        _step(rows, carries, _ALONE, profile, np.int64(codes[boundary + k]), gap, floor, lanes)
    _joined(rows, carries, _ALONE, floor, lanes)
    slot = (boundary + left) % WAITING
    raise_to(waiting, slot, rows, _ALONE, width, lanes, 0)
    state.waits[slot] = True


@njit(nogil=True)
def _take_exits(state, sites, row, lanes):
    """Let the exits that lie far enough behind `row` precede its entries."""
    before, exits, exit_rows, counts = state.before, state.exits, state.exit_rows, state.counts
    kinds, lengths, codes = sites.intron_kinds, sites.intron_lengths, sites.codes
    width = before.shape[1]
    for k in range(len(kinds)):
        while counts[1 + k] < counts[0] and exit_rows[counts[1 + k]] + lengths[k] <= row:
            boundary = exit_rows[counts[1 + k]]
            if state.exit_kinds[counts[1 + k]] == kinds[k]:
                for frame in range(FRAMES):
                    bases = (boundary - frame) % FRAMES
                    if bases <= boundary:
                        split = split_class(codes, boundary, bases)
                        source = counts[1 + k] * FRAMES + frame
                        raise_to(before, k * SPLITS + split, exits, source, width, lanes, 0)
            counts[1 + k] += 1


@njit(nogil=True)
def _enter(state, sites, strip, boundary, entry, weights, lanes):
    """Let exons that are not the first of their chain begin at a boundary."""
    rows, before, entries = state.rows, state.before, state.entries
    codes, kinds, penalties = sites.codes, sites.intron_kinds, sites.intron_penalties
    gap, floor, at = weights[0], weights[1], boundary - sites.first
    width = rows.shape[1]
    for split in range(SPLITS):
        to = entry * FRAMES + split_bases(split)
        if split in (0, 1, 3):
            entries[to] = floor
        if completes(codes, sites.stops, split, boundary):
            for k in range(len(kinds)):
                if kinds[k] == sites.entry_kind[at]:
                    bonus = sites.inner_entry[at] - penalties[k]
                    raise_to(entries, to, before, k * SPLITS + split, width, lanes, bonus)
    raise_to(rows, boundary % FRAMES, entries, entry * FRAMES, width, lanes, 0)
    for bases in range(1, FRAMES):
        if boundary + FRAMES - bases <= len(codes):
            put(rows, _ALONE, entries, entry * FRAMES + bases, width, lanes, 0)
            _wait(state, codes, strip.profile, boundary, FRAMES - bases, gap, floor, lanes)


@njit(cache=True, nogil=True)
def sweep_coding_block(sites, strip, state, weights, bounds):
    """Sweep the boundaries ``bounds[0]`` to ``bounds[1] - 1``.

    Parameters
    ----------
    sites : Sites
        With stop codons; the window holds these boundaries.
    strip : Strip
        All target columns.
    state : State
        Carried on.
    weights : ndarray, shape (3,)
        Gap score, floor and lowest value, in the cells' type.
    bounds : tuple of (int, int)
    """
    codes, flags, first_entry, stops = sites.codes, sites.flags, sites.first_entry, sites.stops
    inner_exit, last_exit, profile = sites.inner_exit, sites.last_exit, strip.profile
    rows, carries, waiting, waits = state.rows, state.carries, state.waiting, state.waits
    exits, exit_rows, counts, best = state.exits, state.exit_rows, state.counts, state.best
    exit_kinds, exit_kind, window = state.exit_kinds, sites.exit_kind, sites.first
    drop, final, span, block_exits = strip.drop, strip.final, strip.final_span, state.block_exits
    gap, floor, lowest = weights[0], weights[1], weights[2]
    width = rows.shape[1]
    lanes = carries.shape[1]
    low = simd.splat(floor)
    drop_taken(exits, exit_rows, exit_kinds, counts, FRAMES)
    block_exits[:] = floor
    entry = 0
    for i in range(bounds[0], bounds[1]):
        frame, at = i % FRAMES, i - window
        if i > 0:
            for track in range(FRAMES):
                _step(rows, carries, track, profile, np.int64(codes[i - 1]), gap, floor, lanes)
        if flags[at] & BORDER:
            _take_exits(state, sites, i - 1, lanes)
            cross_border(state.before, sites.rising, i, SPLITS, floor, lanes)
        if flags[at] & LAST_EXIT:
            carry = simd.load(carries, frame * lanes)
            score = final_score(rows[frame], drop, final, span, lowest, carry, lanes)
            if score + last_exit[at] > best[_SCORE]:
                best[_SCORE], best[_END] = score + last_exit[at], i
                best[_COLUMN] = column_of(rows[frame], drop, final, score, carries[frame], lanes)
        if i >= FRAMES and stops[codes[i - 3], codes[i - 2], codes[i - 1]]:
            rows[frame] = floor
            simd.store(carries, frame * lanes, low)
        if waits[i % WAITING]:
            raise_to(rows, frame, waiting, i % WAITING, width, lanes, 0)
            waiting[i % WAITING] = floor
            waits[i % WAITING] = False
        if flags[at] & INNER_EXIT:
            for track in range(FRAMES):
                _joined(rows, carries, track, floor, lanes)
                to = counts[0] * FRAMES + track
                put(exits, to, rows, track, width, lanes, inner_exit[at])
                raise_to(block_exits, 0, exits, to, width, lanes, 0)
            exit_rows[counts[0]], exit_kinds[counts[0]] = i, exit_kind[at]
            counts[0] += 1
        whole = i + FRAMES <= len(codes)
        if flags[at] & FIRST_ENTRY and whole and not stops[codes[i], codes[i + 1], codes[i + 2]]:
            put(rows, _ALONE, strip.start, 0, width, lanes, first_entry[at])
            _wait(state, codes, profile, i, FRAMES, gap, floor, lanes)
        if flags[at] & INNER_ENTRY:
            _take_exits(state, sites, i, lanes)
            _enter(state, sites, strip, i, entry, weights, lanes)
            entry += 1
    _take_exits(state, sites, bounds[1] - 1, lanes)
