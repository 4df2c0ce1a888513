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
from gpu_tools.sites.cpu.state import WAITING, first_from
from gpu_tools.sites.rising import next_border
from gpu_tools.sites.scores import CLOSED
from gpu_tools.splicing.codons import FRAMES, SPLITS, completes, split_bases, split_class
from gpu_tools.splicing.rows import advance, column_of, fill, final_score, put, raise_to, settle

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


@njit(nogil=True, error_model="numpy")
def _take_exits(state, lists, row, lanes):
    """Let the exits that lie far enough behind `row` precede its entries."""
    before, exits, exit_rows, counts = state.before, state.exits, state.exit_rows, state.counts
    exit_kinds, width, places = state.exit_kinds, before.shape[1], len(exit_rows) - 1
    kinds, lengths, codes = lists.kinds, lists.lengths, lists.codes
    for k in range(len(kinds)):
        while counts[1 + k] < counts[0]:
            place = counts[1 + k] & places
            boundary = exit_rows[place]
            if boundary + lengths[k] > row:
                break
            if exit_kinds[place] == kinds[k]:
                for frame in range(FRAMES):
                    bases = (boundary - frame) % FRAMES
                    if bases <= boundary:
                        split = split_class(codes, boundary, bases)
                        source = place * FRAMES + frame
                        raise_to(before, k * SPLITS + split, exits, source, width, lanes, 0)
            counts[1 + k] += 1


@njit(nogil=True)
def _enter(state, lists, strip, boundary, place, site, weights, lanes):
    """Let exons that are not the first of their chain begin at a boundary.

    `site` is the score and the kind of the entry, `place` where its rows are stored.
    """
    rows, before, entries = state.rows, state.before, state.entries
    codes, kinds, penalties = lists.codes, lists.kinds, lists.penalties
    gap, floor = weights[0], weights[1]
    width = rows.shape[1]
    for split in range(SPLITS):
        to = place * FRAMES + split_bases(split)
        if split in (0, 1, 3):
            entries[to] = floor
        if completes(codes, lists.stops, split, boundary):
            for k in range(len(kinds)):
                if kinds[k] == site[1]:
                    bonus = site[0] - penalties[k]
                    raise_to(entries, to, before, k * SPLITS + split, width, lanes, bonus)
    raise_to(rows, boundary % FRAMES, entries, place * FRAMES, width, lanes, 0)
    for bases in range(1, FRAMES):
        if boundary + FRAMES - bases <= len(codes):
            put(rows, _ALONE, entries, place * FRAMES + bases, width, lanes, 0)
            _wait(state, codes, strip.profile, boundary, FRAMES - bases, gap, floor, lanes)


@njit(cache=True, nogil=True, error_model="numpy")
def sweep_coding_block(lists, strip, state, weights, bounds):
    """Sweep the boundaries ``bounds[0]`` to ``bounds[1] - 1``.

    Parameters
    ----------
    lists : SiteLists
        With stop codons.
    strip : SiteStrip
        All target columns.
    state : State
        Carried on.
    weights : ndarray, shape (3,)
        As in `gpu_tools.sites.cpu.block`.
    bounds : tuple of (int, int)
    """
    codes, rising, stops, profile = lists.codes, lists.rising, lists.stops, strip.profile
    first_usual, firsts, first_scores = lists.first
    last_usual, lasts, last_scores = lists.last
    acceptors, acceptor_scores, acceptor_kinds = lists.acceptors
    donors, donor_scores, donor_kinds = lists.donors
    rows, carries, waiting, waits = state.rows, state.carries, state.waiting, state.waits
    exits, exit_rows, counts, best = state.exits, state.exit_rows, state.counts, state.best
    exit_kinds, entries, block_exits = state.exit_kinds, state.entries, state.block_exits
    drop, final, span = strip.drop, strip.final, strip.final_span
    gap, floor, lowest = weights[0], weights[1], weights[2]
    width = rows.shape[1]
    lanes = carries.shape[1]
    first, acceptor = first_from(firsts, bounds[0]), first_from(acceptors, bounds[0])
    donor, last = first_from(donors, bounds[0]), first_from(lasts, bounds[0])
    low, border_row = simd.splat(floor), next_border(rising, bounds[0])
    fill(block_exits, floor, lanes)
    places, kept, entry = len(exit_rows) - 1, max(len(entries) // FRAMES, 1), 0
    for i in range(bounds[0], bounds[1]):
        frame = i % FRAMES
        if i > 0:
            for track in range(FRAMES):
                _step(rows, carries, track, profile, np.int64(codes[i - 1]), gap, floor, lanes)
        leave, begin_score = last_usual, first_usual
        if last < len(lasts) and lasts[last] == i:
            leave, last = np.int64(last_scores[last]), last + 1
        if first < len(firsts) and firsts[first] == i:
            begin_score, first = np.int64(first_scores[first]), first + 1
        if i == border_row:
            _take_exits(state, lists, i - 1, lanes)
            cross_border(state.before, rising, i, SPLITS, floor, lanes)
            border_row = next_border(rising, i + 1)
        if leave != CLOSED:
            carry = simd.load(carries, frame * lanes)
            score = final_score(rows[frame], drop, final, span, lowest, carry, lanes)
            if score + leave > best[_SCORE]:
                best[_SCORE], best[_END] = score + leave, i
                best[_COLUMN] = column_of(
                    rows[frame], drop, final, span, score, carries[frame], lanes
                )
        if i >= FRAMES and stops[codes[i - 3], codes[i - 2], codes[i - 1]]:
            rows[frame] = floor
            simd.store(carries, frame * lanes, low)
        if waits[i % WAITING]:
            raise_to(rows, frame, waiting, i % WAITING, width, lanes, 0)
            waiting[i % WAITING] = floor
            waits[i % WAITING] = False
        if donor < len(donors) and donors[donor] == i:
            _take_exits(state, lists, i, lanes)
            place = counts[0] & places
            for track in range(FRAMES):
                _joined(rows, carries, track, floor, lanes)
                to = place * FRAMES + track
                put(exits, to, rows, track, width, lanes, donor_scores[donor])
                raise_to(block_exits, 0, exits, to, width, lanes, 0)
            exit_rows[place], exit_kinds[place] = i, donor_kinds[donor]
            counts[0], donor = counts[0] + 1, donor + 1
        whole = i + FRAMES <= len(codes)
        if begin_score != CLOSED and whole and not stops[codes[i], codes[i + 1], codes[i + 2]]:
            put(rows, _ALONE, strip.start, 0, width, lanes, begin_score)
            _wait(state, codes, profile, i, FRAMES, gap, floor, lanes)
        if acceptor < len(acceptors) and acceptors[acceptor] == i:
            _take_exits(state, lists, i, lanes)
            site = acceptor_scores[acceptor], acceptor_kinds[acceptor]
            _enter(state, lists, strip, i, entry % kept, site, weights, lanes)
            entry, acceptor = entry + 1, acceptor + 1
    _take_exits(state, lists, bounds[1] - 1, lanes)
    for track in range(FRAMES):
        _joined(rows, carries, track, floor, lanes)
