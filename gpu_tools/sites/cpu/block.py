"""One block of rows of site mode on a CPU, for chains that need not translate.

What a chain may do at a boundary is done on the way to the next row: one pass over the row lets the
carry join it, stores the row of an exit, lets chains begin or exons be entered, and advances by a
nucleotide. Boundaries where a pass does not do all of it have passes of their own first. Ends are
looked for where a bound on the row's S allows a better one.

Each vector of a row waits for the one before it. So the columns of each lane are two halves, which
a pass works on in turns; ``carry2``, ``left2`` and so on belong to the second one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.sites.cpu.memory import clear_rows, copy_rows, exits_row, part
from gpu_tools.sites.introns import crossed, next_border, next_step
from gpu_tools.sites.table import CLOSED
from gpu_tools.splicing.best_chains import allow_pairs, ban_pairs, banned_of_row, next_banned
from gpu_tools.splicing.rows import (
    begin,
    clear,
    column_of,
    final_score,
    final_span,
    lower,
    put,
    raise_to,
)
from gpu_tools.splicing.target_introns import add_points

# Rising penalties on a CPU, see `gpu_tools.sites.introns`: rows before entries, near and far.


@njit(nogil=True, error_model="numpy")
def cross_marks(rows, to, others, source, rising, marks, splits, floor, lanes):
    """Set rows before entries to others, or to themselves, lowered by some marks.

    `marks` are the number of the first one and of the one behind the last.
    """
    width, classes, (first, past) = rows.shape[1], len(rising.near_level), marks
    for k in range(classes):
        points = crossed(rising, rising.near_level[k], first, past)
        for split in range(splits):
            near = k * splits + split
            for f in range(len(rising.far_class)):
                if rising.far_class[f] == k:
                    far = (classes + f) * splits + split
                    less = crossed(rising, rising.far_level[f], first, past)
                    lower(rows, to + far, others, source + far, width, lanes, -less, floor)
                    less += rising.far_extra[f]
                    raise_to(rows, to + far, others, source + near, width, lanes, -less)
            lower(rows, to + near, others, source + near, width, lanes, -points, floor)
            for f in range(len(rising.far_class)):
                if rising.far_class[f] == k:
                    far = (classes + f) * splits + split
                    raise_to(rows, to + near, rows, to + far, width, lanes, 0)


@njit(nogil=True, error_model="numpy")
def cross_border(before, rising, boundary, splits, floor, lanes):
    """Bring the rows before entries up to date at a border, all earlier exits being taken."""
    mark = first_from(rising.boundaries, boundary)
    cross_marks(before, 0, before, 0, rising, (mark, mark + 1), splits, floor, lanes)


# A longest intron on a CPU: the rows of `gpu_tools.sites.introns`, and what a step's end does.


class WindowRows(NamedTuple):
    """Rows of a strip: sets of rows as there are before entries, near and far.

    `step` is the maximum over the exits of the current step, and `steps` are those of the steps of
    the current group. `group` is the maximum over the current group, and `ends` are the maxima over
    the ends of the group before. `stored` are the rows that entries read behind each step: written
    by a sweep, and read where `again` says that some of its rows are computed again.
    """

    step: NDArray
    steps: NDArray
    group: NDArray
    ends: NDArray
    stored: NDArray
    again: bool


@njit(nogil=True)
def window_in(cells, rows, again):
    """Return the rows among those of a strip; `rows` are its `RowStarts`."""
    return WindowRows(
        part(cells, rows.step, rows.steps), part(cells, rows.steps, rows.group),
        part(cells, rows.group, rows.ends), part(cells, rows.ends, rows.block_ends),
        part(cells, rows.stored, rows.best_ends), again,
    )  # fmt: skip


@njit(nogil=True)
def raise_both(before, to, window, exits, source, lanes):
    """Raise a row before entries, and its row of the current step, to that of an exit."""
    width, step = before.shape[1], window.step
    for k in range(0, width, lanes):
        value, at = simd.load(exits, source * width + k), to * width + k
        simd.store(before, at, simd.maximum(value, simd.load(before, at)))
        simd.store(step, at, simd.maximum(value, simd.load(step, at)))


@njit(nogil=True, error_model="numpy")
def next_event(rising, longest, boundary):
    """Return the first boundary from one on that is a border or ends a step, or 2^62."""
    return min(next_border(rising, boundary), next_step(longest, boundary))


@njit(nogil=True, error_model="numpy")
def cross_event(before, window, longest, rising, boundary, splits, floor, lanes):
    """Bring the rows before entries up to date, all earlier exits being taken.

    The boundary is a border, the end of a step, or both.
    """
    if boundary == next_border(rising, boundary):
        cross_border(before, rising, boundary, splits, floor, lanes)
        if longest.step > 0 and not window.again:
            cross_border(window.step, rising, boundary, splits, floor, lanes)
            cross_border(window.group, rising, boundary, splits, floor, lanes)
    if boundary == next_step(longest, boundary):
        number, count = (boundary + longest.origin) // longest.step, len(before)
        stored = (number - longest.first) * count
        if not window.again:
            _end_step(window, longest, rising, number, stored, splits, floor, lanes)
        copy_rows(before, 0, window.stored, stored, count)


@njit(nogil=True, error_model="numpy")
def _raise(rows, to, others, source, count, lanes):
    """Raise some rows to other ones."""
    for k in range(count):
        raise_to(rows, to + k, others, source + k, rows.shape[1], lanes, 0)


@njit(nogil=True, error_model="numpy")
def _end_step(window, longest, rising, number, stored, splits, floor, lanes):
    """Take the step that ends into its group; write the stored rows, from row `stored` on."""
    most, count, group = longest.most, len(window.step), window.group
    place = number % most if most > 0 else 0
    if most > 0:
        copy_rows(window.steps, place * count, window.step, 0, count)
        _raise(group, 0, window.step, 0, count, lanes)
    marks = _first_mark(longest, rising, number)
    if place + 1 < most:
        behind = _first_mark(longest, rising, number - place - 1), marks
        source = (place + 1) * count
        cross_marks(
            window.stored, stored, window.ends, source, rising, behind, splits, floor, lanes
        )
        _raise(window.stored, stored, group, 0, count, lanes)
    else:
        copy_rows(window.stored, stored, group, 0, count)
        for place in range(most - 1, -1, -1):
            behind, to = (
                (_first_mark(longest, rising, number - most + 1 + place), marks),
                place * count,
            )
            cross_marks(window.ends, to, window.steps, to, rising, behind, splits, floor, lanes)
            if place + 1 < most:
                _raise(window.ends, to, window.ends, to + count, count, lanes)
        clear_rows(group, 0, count, floor)
    clear_rows(window.step, 0, count, floor)


@njit(nogil=True, error_model="numpy")
def _first_mark(longest, rising, number):
    """Return the number of the first mark behind the end of a step."""
    return first_from(rising.boundaries, number * longest.step - longest.origin + 1)


_GAP, _FLOOR, _LOWEST = range(3)
_SCORE, _END, _COLUMN = range(3)
_NOWHERE = np.int64(2**62)
UNKNOWN = np.int64(2**61)
"""Bound on the S of a row of which nothing is known."""
_ADVANCE, _BEGIN, _LEAVE, _ENTER = range(4)
"""What a pass does: advance only, or also let chains begin, also at an exit or an entry."""


@njit(inline="always")
def _enter(entries, entry, before, kinds, penalties, kind, score, floor, lanes):
    """Set the row of an entry to the best that may precede it."""
    width, begun = before.shape[1], False
    for k in range(len(kinds)):
        if kinds[k] == kind and begun:
            raise_to(entries, entry, before, k, width, lanes, score - penalties[k])
        elif kinds[k] == kind:
            lower(entries, entry, before, k, width, lanes, score - penalties[k], floor)
            begun = True
    if not begun:
        clear(entries, entry, floor, lanes)


@njit(nogil=True, forceinline=True)
def _pass(
    todo, free, row, half, carry, carry2, diagonal, diagonal2, profile, pairs, start, begun,
    gap, floor, lanes, exits, block_exits, entries, site_row, bonus,
):  # fmt: skip
    """Do what a boundary allows and compute the next row, each half of each lane for itself.

    `todo` is a constant where this is compiled in. An exit's row is `site_row` of `exits`, with its
    bonus; an entry's is `site_row` of `entries`. The halves are worked on in turns, as each vector
    waits for the one before it.

    Returns the vectors of the halves' last columns.
    """
    low, gaps, begins, site = (
        simd.splat(floor), simd.splat(gap), simd.splat(begun), simd.splat(bonus)
    )  # fmt: skip
    left, left2 = low, low
    at = site_row * 2 * half
    for k in range(0, half, lanes):
        j = half + k
        up, up2 = simd.maximum(simd.load(row, k), carry), simd.maximum(simd.load(row, j), carry2)
        if todo == _LEAVE:
            leaving, leaving2 = simd.add(up, site), simd.add(up2, site)
            simd.store(exits, at + k, leaving)
            simd.store(exits, at + j, leaving2)
            simd.store(block_exits, k, simd.maximum(leaving, simd.load(block_exits, k)))
            simd.store(block_exits, j, simd.maximum(leaving2, simd.load(block_exits, j)))
        if free and todo != _ADVANCE:
            up = simd.maximum(up, simd.add(simd.load(start, k), begins))
            up2 = simd.maximum(up2, simd.add(simd.load(start, j), begins))
        elif todo == _LEAVE:
            up, up2 = simd.maximum(up, begins), simd.maximum(up2, begins)
        if todo == _ENTER:
            up = simd.maximum(up, simd.load(entries, at + k))
            up2 = simd.maximum(up2, simd.load(entries, at + j))
        pair = simd.add(diagonal, simd.load(profile, pairs + k))
        pair2 = simd.add(diagonal2, simd.load(profile, pairs + j))
        left = simd.maximum(simd.maximum(pair, simd.add(up, gaps)), left)
        left2 = simd.maximum(simd.maximum(pair2, simd.add(up2, gaps)), left2)
        simd.store(row, k, left)
        simd.store(row, j, left2)
        diagonal, diagonal2 = up, up2
    return left, left2


@njit(inline="always")
def listed(boundaries, number):
    """Return a listed boundary; behind the last one, a boundary that no strand has."""
    return np.int64(simd.element(boundaries, number)) if number < len(boundaries) else _NOWHERE


@njit(nogil=True)
def _settle(row, half, carry, carry2, lanes):
    """Let the carries join the halves of a row."""
    for k in range(0, len(row), lanes):
        simd.store(row, k, simd.maximum(simd.load(row, k), carry if k < half else carry2))


@njit(nogil=True, error_model="numpy")
def sweep_block(lists, sizes, target, memory, weights, strip, rows, again):
    """Sweep the boundaries ``rows[0]`` to ``rows[1] - 1`` of a strip."""
    # local names: an array read out of a tuple inside the loop costs an atomic reference count
    codes, rising, longest = lists.codes, lists.rising, lists.longest
    first_usual, firsts, first_scores = lists.first
    last_usual, lasts, last_scores = lists.last
    acceptors, acceptor_scores, acceptor_kinds = lists.acceptors
    donors, donor_scores, donor_kinds = lists.donors
    kinds, lengths, penalties = lists.kinds, lists.lengths, lists.penalties
    kept_donors, joined, of_joined, joined_penalties = lists.junctions
    cells, numbers = memory.cells[strip], memory.numbers[strip]
    at, marks = sizes.rows, sizes.numbers
    profile, start = part(cells, at.profile, at.start), cells[at.start]
    drop, final = cells[at.drop], cells[at.final]
    row = cells[at.rows]
    before, exits = part(cells, at.before, at.step), part(cells, at.exits, at.kept)
    entries, counts = part(cells, at.entries, at.exits), part(numbers, marks.counts, marks.waits)
    kept = part(cells, at.kept, at.stored)
    exit_rows = part(numbers, marks.exit_rows, marks.exit_kinds)
    exit_kinds = part(numbers, marks.exit_kinds, marks.saved_waits)
    best, block_exits = part(numbers, 0, marks.counts), cells[exits_row(sizes, rows[0], again)]
    window, limited = window_in(cells, at, again), longest.step > 0
    leaving, next_leaving = memory.borders[strip, 1], memory.borders[strip + 1, 1]
    arriving, next_arriving = memory.borders[strip, 0], memory.borders[strip + 1, 0]
    lanes, width, ring = simd.lanes_of(cells), len(row), len(arriving)
    free, columns = target.free, len(target.symbols)
    span = final_span(strip * width, width, lanes, columns, free)
    gain, left, (cost, free_from) = target.gain, strip * width - 1, target.clip
    edge = target.gap * (left if free else columns) - (cost if left < free_from else 0)
    begin_edge = -cost if free else edge
    # ends from a column on are free: there S' of the strip's last column is a bound
    has_tail, tail_edge = free and left + width >= free_from, target.gap * max(free_from, left + 1)
    gap, floor, lowest = weights[_GAP], weights[_FLOOR], weights[_LOWEST]
    low, high = rows
    first, acceptor = first_from(firsts, low), first_from(acceptors, low)
    donor, last = first_from(donors, low), first_from(lasts, low)
    border_row = next_event(rising, longest, low)
    half, tail, entry, here = width // 2, width - lanes, 0, low % ring
    places, entry_rows = sizes.places - 1, 1
    if again:
        places, entry_rows = sizes.places_again - 1, len(entries)
    todo, begun, bonus = _ADVANCE, floor, floor
    site_row = np.int64(0)  # numba compiles functions again for literals
    bottom, most, ends = simd.splat(floor), UNKNOWN, span[1] > span[0]
    most_free = -UNKNOWN
    carry, carry2, right, right2, across = bottom, bottom, bottom, bottom, bottom
    settled, next_first, next_last = low > 0, listed(firsts, first), listed(lasts, last)
    next_donor, next_acceptor = listed(donors, donor), listed(acceptors, acceptor)
    keep, join = first_from(kept_donors, low), first_from(joined, low)
    next_kept, next_joined = listed(kept_donors, keep), listed(joined, join)
    banned_row = next_banned(target.banned, low - 1)
    of_place, placed = cells[at.points], len(target.points) > 0
    clear(block_exits, 0, floor, lanes)
    for i in range(low, high):
        if i > 0:
            before_here = (here if here > 0 else ring) - 1
            more, more2 = bottom, bottom
            if settled:
                more, more2 = simd.load(row, half - lanes), simd.load(row, tail)
            elif free and todo != _ADVANCE:
                begins_at = simd.splat(begun)
                more = simd.add(simd.load(start, half - lanes), begins_at)
                more2 = simd.add(simd.load(start, tail), begins_at)
            elif not free:
                more, more2 = simd.splat(begun), simd.splat(begun)
            if todo == _ENTER:
                more = simd.maximum(more, simd.load(entries, site_row * width + half - lanes))
                more2 = simd.maximum(more2, simd.load(entries, site_row * width + tail))
            end = simd.maximum(simd.maximum(right, right2), simd.maximum(carry, more2))
            simd.set_element(next_leaving, before_here, simd.last_lane(end))
            left_up, left_here = simd.element(leaving, before_here), simd.element(arriving, here)
            from_left = simd.shift_in(more2, left_up)
            diagonal = simd.maximum(across, from_left)
            diagonal2 = simd.maximum(simd.maximum(right, carry), more)
            symbol = np.int64(simd.element(codes, i - 1))
            pairs, has_banned = symbol * width, i == banned_row
            if has_banned:
                own = banned_of_row(target.banned, i - 1)
                ban_pairs(profile, symbol, strip * width, target.banned, own, gap)
            if todo == _ADVANCE:
                right, right2 = _pass(
                    _ADVANCE, free, row, half, carry, carry2, diagonal, diagonal2, profile, pairs,
                    start, begun, gap, floor, lanes, exits, block_exits, entries, site_row, bonus,
                )  # fmt: skip
            elif todo == _BEGIN:
                right, right2 = _pass(
                    _BEGIN, free, row, half, carry, carry2, diagonal, diagonal2, profile, pairs,
                    start, begun, gap, floor, lanes, exits, block_exits, entries, site_row, bonus,
                )  # fmt: skip
            elif todo == _LEAVE:
                right, right2 = _pass(
                    _LEAVE, free, row, half, carry, carry2, diagonal, diagonal2, profile, pairs,
                    start, begun, gap, floor, lanes, exits, block_exits, entries, site_row, bonus,
                )  # fmt: skip
            else:
                right, right2 = _pass(
                    _ENTER, free, row, half, carry, carry2, diagonal, diagonal2, profile, pairs,
                    start, begun, gap, floor, lanes, exits, block_exits, entries, site_row, bonus,
                )  # fmt: skip
            if has_banned:
                own = banned_of_row(target.banned, i - 1)
                allow_pairs(profile, symbol, strip * width, target, own)
                banned_row = next_banned(target.banned, i)
            end = simd.maximum(right, right2)
            carry = simd.prefix_maximum(simd.shift_in(end, left_here))
            carry = simd.maximum(carry, bottom)
            carry2, across, settled = simd.maximum(carry, right), carry, False
            end = simd.maximum(end, carry)
            simd.set_element(next_arriving, here, simd.last_lane(end))
            # no score of an end in the row is above `most`, and of a free one above `most_free`
            most = max(most, np.int64(max(left_up, left_here)) + edge) + gain
            if has_tail:
                most_free = np.int64(simd.last_lane(end)) + tail_edge
        leave, begin_score = last_usual, first_usual
        if i == next_last:
            leave, last = np.int64(last_scores[last]), last + 1
            next_last = listed(lasts, last)
        if i == next_first:
            begin_score, first = np.int64(first_scores[first]), first + 1
            next_first = listed(firsts, first)
        is_exit, is_entry = i == next_donor, i == next_acceptor
        if ends and leave != CLOSED and max(most, most_free) + leave > best[_SCORE]:
            _settle(row, half, carry, carry2, lanes)
            most = final_score(row, drop, final, span, lowest, bottom, lanes)
            if most + leave > best[_SCORE]:
                best[_SCORE], best[_END] = most + leave, i
                best[_COLUMN] = column_of(row, drop, final, span, most, lanes)
        begins, todo = begin_score != CLOSED, _BEGIN
        begun = row.dtype.type(begin_score) if begins else floor
        slot = counts[0] & places
        if is_exit:
            bonus, todo = row.dtype.type(donor_scores[donor]), _LEAVE
        elif is_entry:
            todo = _ENTER
        many = (is_exit and is_entry) or (free and not begins) or i == next_kept
        if i == high - 1 or (todo != _BEGIN and many):
            _settle(row, half, carry, carry2, lanes)
            carry, carry2, settled, todo = bottom, bottom, True, _ADVANCE
            if is_exit:
                put(exits, slot, row, 0, width, lanes, bonus)
                raise_to(block_exits, 0, exits, slot, width, lanes, 0)
                exit_rows[slot], exit_kinds[slot] = i, donor_kinds[donor]
                counts[0], donor = counts[0] + 1, donor + 1
                next_donor = listed(donors, donor)
            if i == next_kept:
                put(kept, keep, exits, slot, width, lanes, 0)
                keep, next_kept = keep + 1, listed(kept_donors, keep + 1)
            if begins:
                begin(row, carry, start, begun, lanes)
        elif todo == _BEGIN and (not free or not begins):
            todo = _ADVANCE
        reach = i - 1 if i == border_row else i
        while is_exit or is_entry or reach < i or i == high - 1:
            for k in range(len(kinds)):
                while counts[1 + k] < counts[0]:
                    taken = counts[1 + k] & places
                    if exit_rows[taken] + lengths[k] > reach:
                        break
                    if exit_kinds[taken] == kinds[k]:
                        if limited:
                            raise_both(before, k, window, exits, taken, lanes)
                        else:
                            raise_to(before, k, exits, taken, width, lanes, 0)
                    counts[1 + k] += 1
            if reach == i:
                break
            cross_event(before, window, longest, rising, i, 1, floor, lanes)
            border_row, reach = next_event(rising, longest, i + 1), i
        if todo == _LEAVE:
            site_row, exit_rows[slot], exit_kinds[slot] = slot, i, donor_kinds[donor]
            counts[0], donor = counts[0] + 1, donor + 1
            next_donor = listed(donors, donor)
        elif is_entry:
            score, kind = acceptor_scores[acceptor], acceptor_kinds[acceptor]
            site_row = np.int64(entry % entry_rows)
            _enter(entries, site_row, before, kinds, penalties, kind, score, floor, lanes)
            while i == next_joined:
                points = score - joined_penalties[join]
                raise_to(entries, site_row, kept, of_joined[join], width, lanes, points)
                join, next_joined = join + 1, listed(joined, join + 1)
            if placed:
                add_points(entries, site_row, of_place, floor, lanes)
            if todo == _ADVANCE:
                raise_to(row, 0, entries, site_row, width, lanes, 0)
        most = max(most, begin_score + begin_edge)
        if is_entry:
            most, entry, acceptor = UNKNOWN, entry + 1, acceptor + 1
            next_acceptor = listed(acceptors, acceptor)
        if not free and todo != _LEAVE:
            carry = simd.maximum(carry, simd.splat(begun))
            carry2 = simd.maximum(carry2, simd.splat(begun))
        here = here + 1 if here + 1 < ring else 0
