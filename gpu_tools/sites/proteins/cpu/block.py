"""The sweep of a protein: rows of H from boundary to boundary.

Rows and the carry are those of `gpu_tools.splicing.proteins.rows`. At a boundary with a site, or
where a split codon ends, the row is settled first, and the carry found again behind the entries.
"""

from __future__ import annotations

import numpy as np

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.sites.cpu.block import cross_border, listed
from gpu_tools.sites.introns import next_border
from gpu_tools.splicing.proteins.bans import close_exits, exchange
from gpu_tools.splicing.proteins.rows import (
    ONE,
    PHASES,
    RECENT,
    SPLITS,
    TWO,
    carried,
    leave_residues_out,
    next_codon_row,
    raise_ends,
    raise_entered,
    raise_paired,
    settle_row,
)
from gpu_tools.splicing.rows import clear, put, raise_to


@njit(nogil=True, makes_arrays=False)
def _enter_splits(
    waiting, waits, before, codes, codons, profile, points, placed, boundary, row, bonus, symbols,
    none, lanes,
):  # fmt: skip
    """Let exons that begin with the rest of a split codon wait for its end.

    `row` is that of the intron class in `before`, `placed` whether there are any points.
    """
    width, left = before.shape[1], len(codes) - boundary
    if left >= 1:
        slot, source = (boundary + 1) % RECENT, row + TWO + np.int64(codes[boundary])
        if placed:
            raise_entered(waiting, slot, before, source, points, 2, bonus, lanes)
        else:
            raise_to(waiting, slot, before, source, width, lanes, bonus)
        waits[slot] = True
    if left >= 2:
        slot = (boundary + 2) % RECENT
        # with points codons are paired in a row that nothing waits in
        to, added = slot, bonus
        if placed:
            to, added = (boundary + 3) % RECENT, bonus - bonus
        for one in range(symbols):
            pairs = np.int64(codons[one, codes[boundary], codes[boundary + 1]]) * width
            raise_paired(
                waiting, to, before, row + ONE + one, profile, pairs, added, none, lanes, width
            )  # fmt: skip
        if placed:
            raise_entered(waiting, slot, waiting, to, points, 1, bonus, lanes)
            clear(waiting, to, none, lanes)
        waits[slot] = True


@njit(nogil=True, makes_arrays=False)
def _enter_junction(
    rows, waiting, waits, kept, row, codes, codons, profile, points, donor, boundary, bonus, none,
    lanes,
):  # fmt: skip
    """Enter an exon behind an intron that has a penalty of its own.

    `row` is the first of those that its donor has left.
    """
    width, left, spare = rows.shape[1], len(codes) - boundary, (boundary + 3) % RECENT
    raise_entered(rows, boundary % RECENT, kept, row, points, 0, bonus, lanes)
    for phase in range(1, PHASES):
        if donor < phase or left < PHASES - phase:
            continue
        if phase == 1:
            codon = codons[codes[donor - 1], codes[boundary], codes[boundary + 1]]
        else:
            codon = codons[codes[donor - 2], codes[donor - 1], codes[boundary]]
        slot, pairs = (boundary + PHASES - phase) % RECENT, np.int64(codon) * width
        raise_paired(
            waiting, spare, kept, row + phase, profile, pairs, 0, none, lanes, width
        )  # fmt: skip
        raise_entered(waiting, slot, waiting, spare, points, phase, bonus, lanes)
        clear(waiting, spare, none, lanes)
        waits[slot] = True


@njit(nogil=True, error_model="numpy", makes_arrays=False)
def _leave(exits, place, rows, boundary, score, best_exits, lanes):
    """Store the rows of an exit, one a phase, and raise the best exits to them."""
    width, added = rows.shape[1], simd.splat(rows.dtype.type(score))
    for phase in range(min(PHASES, boundary + 1)):
        source, to = (boundary - phase) % RECENT * width, (place * PHASES + phase) * width
        for k in range(0, width, lanes):
            here = simd.add(simd.load(rows, source + k), added)
            simd.store(exits, to + k, here)
            simd.store(best_exits, k, simd.maximum(here, simd.load(best_exits, k)))


@njit(nogil=True, error_model="numpy", makes_arrays=False)
def _take_exits(
    before, exits, exit_rows, exit_kinds, counts, lists, codons, profile, reach, symbols, none,
    lanes,
):  # fmt: skip
    """Raise the maxima before entries to the exits that an intron up to `reach` may follow."""
    codes, kinds, lengths, penalties = lists
    width, places = exits.shape[1], len(exit_rows) - 1
    for k in range(len(kinds)):
        to, bonus = k * SPLITS, -penalties[k]
        while counts[1 + k] < counts[0]:
            place = counts[1 + k] & places
            boundary, source = exit_rows[place], place * PHASES
            if boundary + lengths[k] > reach:
                break
            counts[1 + k] += 1
            if exit_kinds[place] != kinds[k]:
                continue
            raise_to(before, to, exits, source, width, lanes, bonus)
            if boundary >= 1:
                row = to + ONE + np.int64(codes[boundary - 1])
                raise_to(before, row, exits, source + 1, width, lanes, bonus)
            if boundary >= 2:
                one, two = codes[boundary - 2], codes[boundary - 1]
                for last in range(symbols):
                    raise_paired(
                        before, to + TWO + last, exits, source + 2, profile,
                        np.int64(codons[one, two, last]) * width, bonus, none, lanes, width,
                    )  # fmt: skip


@njit(nogil=True, error_model="numpy")
def sweep_block(lists, columns, codons, state, ends, record, low, high):
    """Sweep the boundaries `low` to ``high - 1``.

    `ends` are the rows that take the maxima over ends and over exits. `record` are rows for what a
    traceback reads, none if there is none. A boundary behind a codon with banned pairs is swept by
    itself, by a profile of its own that has their scores: split codons, of other places, keep
    theirs.
    """
    inside, whole, gaps = record
    profile = columns.profile.copy() if len(columns.bans.scores) > 0 else columns.profile
    codes, bans, width, first = lists.codes, columns.bans, len(columns.start), low
    while first < high:
        part = inside[first - low :], whole[first - low :], gaps[first - low :]
        number = first_from(bans.pairs.rows, first - PHASES)
        banned, past = listed(bans.pairs.rows, number) + PHASES, first + 1
        if banned == first:
            codon = codons[codes[first - 3], codes[first - 2], codes[first - 1]]
            own = first - PHASES, profile, np.int64(codon) * width, width, columns.lanes
            exchange(bans, number, *own)
            _sweep_rows(lists, columns, profile, codons, state, ends, part, first, past)
            exchange(bans, number, *own)
        else:
            past = min(banned, high)
            _sweep_rows(lists, columns, profile, codons, state, ends, part, first, past)
        first = past


@njit(nogil=True, error_model="numpy", makes_arrays=False)
def _sweep_rows(lists, columns, pair_profile, codons, state, ends, record, low, high):
    """Sweep the boundaries `low` to ``high - 1``, whole codons by a profile of their own."""
    codes, rising = lists.codes, lists.rising
    first_usual, firsts, first_scores = lists.first
    last_usual, lasts, last_scores = lists.last
    acceptors, acceptor_scores, acceptor_kinds = lists.acceptors
    donors, donor_scores, donor_kinds = lists.donors
    kinds, lengths, penalties = lists.kinds, lists.lengths, lists.penalties
    kept_donors, joined, of_joined, joined_penalties = lists.junctions
    profile, start, span, none = columns.profile, columns.start, columns.span, columns.none
    points, placed = columns.points, columns.points.any()
    costs, lanes = columns.costs, columns.lanes
    gap_open, shift, shift_on = columns.weights[0], columns.weights[1], columns.weights[2]
    rows, codon_gaps, waiting, waits = state.rows, state.codon_gaps, state.waiting, state.waits
    before, exits, exit_rows = state.before, state.exits, state.exit_rows
    exit_kinds, counts, kept = state.exit_kinds, state.counts, state.kept
    best_ends, best_exits = ends
    inside, whole, stored_gaps = record
    width, recorded = len(start), len(inside) > 0
    free = _never_falls(start)
    first, last = first_from(firsts, max(low - PHASES, 0)), first_from(lasts, low)
    donor, acceptor = first_from(donors, low), first_from(acceptors, low)
    next_first, next_last = listed(firsts, first), listed(lasts, last)
    next_donor, next_acceptor = listed(donors, donor), listed(acceptors, acceptor)
    keep, join = first_from(kept_donors, low), first_from(joined, low)
    border_row, nothing = next_border(rising, low), simd.splat(none)
    banned = len(columns.bans.scores) > 0
    begun, carry, settled = rows.dtype.type(first_usual), nothing, True
    corner_begun = rows.dtype.type(first_usual + start[0])
    taking, symbols = (codes, kinds, lengths, penalties), columns.symbols
    for i in range(low, high):
        now, one = i % RECENT, (i - 1) % RECENT
        two, three = (i - 2) % RECENT, (i - 3) % RECENT
        special = i in (0, next_last, next_donor, next_acceptor) or waits[now]
        if i == border_row:
            _take_exits(
                before, exits, exit_rows, exit_kinds, counts, taking, codons, profile, i - 1,
                symbols, none, lanes,
            )  # fmt: skip
            cross_border(before, rising, i, SPLITS, none, lanes)
            border_row = next_border(rising, i + 1)
        pairs, cost, frame = 0, none, i % PHASES
        if i >= 3:
            codon = np.int64(codons[codes[i - 3], codes[i - 2], codes[i - 1]])
            pairs, cost = codon * width, costs[codon]
        else:
            cost = costs[0]
        if i == next_first + PHASES:
            # no row behind this one needs the third before it: its chains need not have the codon
            raise_to(rows, three, start, 0, width, lanes, first_scores[first])
            first += 1
            next_first = listed(firsts, first)
        left = nothing if free or special else simd.splat(corner_begun)
        if free and not special:
            left = next_codon_row(
                True, rows, now * width, one * width, two * width, three * width, codon_gaps,
                frame * width, carry, left, pair_profile, pairs, start, begun, gap_open, cost,
                shift, shift_on, none, lanes,
            )  # fmt: skip
        else:
            left = next_codon_row(
                False, rows, now * width, one * width, two * width, three * width, codon_gaps,
                frame * width, carry, left, pair_profile, pairs, start, begun, gap_open, cost,
                shift, shift_on, none, lanes,
            )  # fmt: skip
        if not settled:
            raise_ends(best_ends, rows, one * width, 0, span, lanes)
        carry = carried(left, gap_open, none)
        settled = special or recorded or i == high - 1
        if settled:
            settle_row(rows, now * width, carry, lanes, width)
            carry = nothing
        if not special:
            if not free:
                corner = simd.element(rows, now * width)
                simd.set_element(rows, now * width, max(corner, corner_begun))
            if settled:
                raise_ends(best_ends, rows, now * width, 0, span, lanes)
            if recorded:
                _record(inside, whole, stored_gaps, i - low, rows, now, codon_gaps, frame, lanes)
            continue
        if i == 0:
            clear(rows, now, none, lanes)
        if waits[now]:
            raise_to(rows, now, waiting, now, width, lanes, 0)
            clear(waiting, now, none, lanes)
            waits[now] = False
            leave_residues_out(rows, now * width, gap_open, none, lanes, width)
        bonus = 0
        if i == next_last:
            bonus, last = np.int64(last_scores[last]) - last_usual, last + 1
            next_last = listed(lasts, last)
        if i > 0:
            raise_ends(best_ends, rows, now * width, bonus, span, lanes)
        if recorded:
            put(inside, PHASES + i - low, rows, now, width, lanes, 0)
        leaves = i == next_donor
        if leaves:
            score = np.int64(donor_scores[donor])
            place = counts[0] & (len(exit_rows) - 1)
            _leave(exits, place, rows, i, score, best_exits, lanes)
            if banned:
                close_exits(columns.bans, i, exits, place * PHASES, none, lanes)
            exit_rows[place], exit_kinds[place] = i, donor_kinds[donor]
            if i == listed(kept_donors, keep):
                for phase in range(PHASES):
                    put(kept, keep * PHASES + phase, exits, place * PHASES + phase, width, lanes, 0)
                keep += 1
            counts[0] += 1
            donor += 1
            next_donor = listed(donors, donor)
        raise_to(rows, now, start, 0, width, lanes, begun)
        if leaves or i == next_acceptor:
            _take_exits(
                before, exits, exit_rows, exit_kinds, counts, taking, codons, profile, i, symbols,
                none, lanes,
            )  # fmt: skip
        if i == next_acceptor:
            for k in range(len(kinds)):
                if kinds[k] == acceptor_kinds[acceptor]:
                    added = rows.dtype.type(acceptor_scores[acceptor])
                    if placed:
                        raise_entered(rows, now, before, k * SPLITS, points, 0, added, lanes)
                    else:
                        raise_to(rows, now, before, k * SPLITS, width, lanes, added)
                    _enter_splits(
                        waiting, waits, before, codes, codons, profile, points, placed, i,
                        k * SPLITS, added, symbols, none, lanes,
                    )  # fmt: skip
            while i == listed(joined, join):
                added = rows.dtype.type(acceptor_scores[acceptor] - joined_penalties[join])
                number = of_joined[join]
                _enter_junction(
                    rows, waiting, waits, kept, number * PHASES, codes, codons, profile, points,
                    np.int64(kept_donors[number]), i, added, none, lanes,
                )  # fmt: skip
                join += 1
            acceptor += 1
            next_acceptor = listed(acceptors, acceptor)
            # what else has joined the row has left residues out already
            leave_residues_out(rows, now * width, gap_open, none, lanes, width)
        if recorded:
            put(whole, PHASES + i - low, rows, now, width, lanes, 0)
            put(stored_gaps, PHASES + i - low, codon_gaps, frame, width, lanes, 0)
    _take_exits(
        before, exits, exit_rows, exit_kinds, counts, taking, codons, profile, high - 1, symbols,
        none, lanes,
    )  # fmt: skip


@njit(nogil=True, makes_arrays=False)
def _never_falls(start):
    """Return whether a chain may begin with any residue at no cost."""
    least = start[0]
    for cost in start:
        least = min(least, cost)
    return least >= start[0]


@njit(nogil=True, makes_arrays=False)
def _record(inside, whole, stored_gaps, k, rows, now, codon_gaps, frame, lanes):
    """Record a boundary without sites."""
    width = rows.shape[1]
    put(inside, PHASES + k, rows, now, width, lanes, 0)
    put(whole, PHASES + k, rows, now, width, lanes, 0)
    put(stored_gaps, PHASES + k, codon_gaps, frame, width, lanes, 0)
