"""The sweep of site mode for chains that translate: a track of rows for each reading frame.

Track f holds exons with codons that begin at positions f, f + 3, ... of the base. It is emptied
where one of its codons is a stop. There is a class of exits for each kind of codon that an intron
splits: no nucleotide before the intron; T; another one; TA; TG; two others. Where an exon completes
a split codon, the classes that would make it a stop are excluded, and the exon joins its track only
behind the codon: until then it is in a separate row. The first codon of a chain is treated alike,
so that it lies in one exon; the row behind it depends on the codon alone and is known beforehand.

One pass over the three tracks lets carries and chains with a whole first codon join, stores the
rows of an exit, and advances by a nucleotide.
"""

from __future__ import annotations

import numpy as np

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.sites.cpu import block
from gpu_tools.sites.cpu.memory import WAITING, exits_row, part
from gpu_tools.sites.table import CLOSED
from gpu_tools.splicing.best_chains import allow_pairs, ban_pairs, banned_of_row, next_banned
from gpu_tools.splicing.codons import SPLITS, completes, split_bases, split_class
from gpu_tools.splicing.reading import FRAMES
from gpu_tools.splicing.rows import (
    clear,
    column_of,
    final_score,
    final_span,
    next_row,
    put,
    raise_to,
    settle,
)
from gpu_tools.splicing.target_introns import add_points

_ALONE = FRAMES
_SCORE, _END, _COLUMN = range(3)
# a call would cost some atomic reference counts
_completes, _split_class = (njit(inline="always")(each) for each in (completes, split_class))


@njit(nogil=True, error_model="numpy")
def _step_at(rows, slot, profile, codes, position, target, gap, floor, lanes):
    """Compute the next row, behind the nucleotide at a position, without its banned pairs."""
    symbol = np.int64(simd.element(codes, position))
    first, past = banned_of_row(target.banned, position)
    ban_pairs(profile, symbol, 0, target.banned, (first, past), gap)
    next_row(rows[slot], profile, symbol, gap, floor, lanes)
    allow_pairs(profile, symbol, 0, target, (first, past))


@njit(nogil=True)
def _enter_by_junctions(
    entries, kept, junctions, first, codes, stops, boundary, place, score, lanes
):  # fmt: skip
    """Raise the rows of an entry to those at donors of junctions, from the junction `first` on.

    Return the number of the first junction of another acceptor.
    """
    donors, acceptors, numbers, penalties = junctions
    while first < len(acceptors) and acceptors[first] == boundary:
        donor, points = np.int64(donors[numbers[first]]), score - penalties[first]
        for track in range(FRAMES):
            bases = (donor - track) % FRAMES
            if bases <= donor and _completes(
                codes, stops, _split_class(codes, donor, bases), boundary
            ):
                to, source = place * FRAMES + bases, numbers[first] * FRAMES + track
                raise_to(entries, to, kept, source, entries.shape[1], lanes, points)
        first += 1
    return first


@njit(inline="always")
def _enter(
    rows, before, entries, waiting, waits, codes, stops, kinds, penalties, profile, boundary, place,
    score, kind, gap, floor, lanes, kept, junctions, join, target, points,
):  # fmt: skip
    """Let exons that are not the first of their chain begin at a boundary.

    `place` is where the rows of the entry are stored. Return the number of the next junction.
    """
    width = rows.shape[1]
    for to in range(place * FRAMES, (place + 1) * FRAMES):
        clear(entries, to, floor, lanes)
    for split in range(SPLITS):
        if _completes(codes, stops, split, boundary):
            to = place * FRAMES + split_bases(split)
            for k in range(len(kinds)):
                if kinds[k] == kind:
                    source, bonus = k * SPLITS + split, score - penalties[k]
                    raise_to(entries, to, before, source, width, lanes, bonus)
    join = _enter_by_junctions(
        entries, kept, junctions, join, codes, stops, boundary, place, score, lanes
    )
    if len(target.points) > 0:
        for to in range(place * FRAMES, (place + 1) * FRAMES):
            add_points(entries, to, points, floor, lanes)
    raise_to(rows, boundary % FRAMES, entries, place * FRAMES, width, lanes, 0)
    for bases in range(1, FRAMES):
        left = FRAMES - bases
        if boundary + left <= len(codes):
            put(rows, _ALONE, entries, place * FRAMES + bases, width, lanes, 0)
            for k in range(left):
                _step_at(
                    rows, _ALONE, profile, codes, boundary + k, target, gap, floor, lanes
                )  # fmt: skip
            slot = (boundary + left) % WAITING
            raise_to(waiting, slot, rows, _ALONE, width, lanes, 0)
            waits[slot] = True
    return join


@njit(nogil=True)
def fill_codons(cells, rows, gap, floor):
    """Fill in the rows of a chain behind its first codon, whose score is left out, by codon.

    The row of a codon is that of the number which its three codes are the digits of, by five; the
    last row is that of a first codon with banned pairs. `cells` are a strip's, and `rows` its
    `RowStarts`.
    """
    profile, width = part(cells, rows.profile, rows.start), cells.shape[1]
    lanes = simd.lanes_of(cells)
    for codon in range(rows.rows - rows.codons - 1):
        put(cells, rows.codons + codon, cells, rows.start, width, lanes, 0)
        for symbol in (codon // 25, codon // 5 % 5, codon % 5):
            next_row(cells[rows.codons + codon], profile, symbol, gap, floor, lanes)


@njit(nogil=True, forceinline=True)
def _pass(
    leaves, joins, rows, a, b, c, carry, carry2, carry3, diagonal, diagonal2, diagonal3, profile,
    pairs, gap, floor, lanes, exits, to, to2, to3, bonus, block_exits, codons, codon, begun,
):  # fmt: skip
    """Compute the next row of each track; their rows begin at elements `a`, `b` and `c`.

    `leaves` and `joins` say whether there is an exit, and whether a chain whose first codon is
    `codon` joins the first of the three: LLVM makes loops of their own.
    """
    low, gaps, begins, site = (
        simd.splat(floor), simd.splat(gap), simd.splat(begun), simd.splat(bonus)
    )  # fmt: skip
    left, left2, left3 = low, low, low
    for k in range(0, rows.shape[1], lanes):
        up = simd.maximum(simd.load(rows, a + k), carry)
        up2 = simd.maximum(simd.load(rows, b + k), carry2)
        up3 = simd.maximum(simd.load(rows, c + k), carry3)
        if joins:
            up = simd.maximum(up, simd.add(simd.load(codons, codon + k), begins))
        if leaves:
            leaving, leaving2, leaving3 = (
                simd.add(up, site), simd.add(up2, site), simd.add(up3, site)
            )  # fmt: skip
            simd.store(exits, to + k, leaving)
            simd.store(exits, to2 + k, leaving2)
            simd.store(exits, to3 + k, leaving3)
            most = simd.maximum(simd.maximum(leaving, leaving2), leaving3)
            simd.store(block_exits, k, simd.maximum(most, simd.load(block_exits, k)))
        scores = simd.load(profile, pairs + k)
        left = simd.maximum(
            simd.maximum(simd.add(diagonal, scores), simd.add(up, gaps)), left
        )  # fmt: skip
        left2 = simd.maximum(
            simd.maximum(simd.add(diagonal2, scores), simd.add(up2, gaps)), left2
        )  # fmt: skip
        left3 = simd.maximum(
            simd.maximum(simd.add(diagonal3, scores), simd.add(up3, gaps)), left3
        )  # fmt: skip
        simd.store(rows, a + k, left)
        simd.store(rows, b + k, left2)
        simd.store(rows, c + k, left3)
        diagonal, diagonal2, diagonal3 = up, up2, up3
    return left, left2, left3


@njit(inline="always")
def _carried(left, floor):
    """Return the carry of a track from its lanes' last columns."""
    carry = simd.prefix_maximum(simd.shift_in(left, floor))
    return simd.maximum(carry, simd.splat(floor))


@njit(nogil=True, error_model="numpy")
def sweep_coding_block(lists, stops, sizes, target, memory, weights, bounds, again):
    """Sweep the boundaries ``bounds[0]`` to ``bounds[1] - 1``."""
    # local names: an array read out of a tuple inside the loop costs an atomic reference count
    codes, rising = lists.codes, lists.rising
    first_usual, firsts, first_scores = lists.first
    last_usual, lasts, last_scores = lists.last
    acceptors, acceptor_scores, acceptor_kinds = lists.acceptors
    donors, donor_scores, donor_kinds = lists.donors
    kinds, lengths, penalties = lists.kinds, lists.lengths, lists.penalties
    cells, numbers = memory.cells[0], memory.numbers[0]
    at, marks = sizes.rows, sizes.numbers
    profile, codons = part(cells, at.profile, at.start), part(cells, at.codons, at.rows)
    drop, final, start = cells[at.drop], cells[at.final], cells[at.start]
    rows, waiting = part(cells, at.rows, at.waiting), part(cells, at.waiting, at.gaps)
    before, exits = part(cells, at.before, at.step), part(cells, at.exits, at.kept)
    kept, junctions = part(cells, at.kept, at.stored), lists.junctions
    kept_donors = junctions.donors
    entries, waits = part(cells, at.entries, at.exits), part(numbers, marks.waits, marks.exit_rows)
    exit_rows = part(numbers, marks.exit_rows, marks.exit_kinds)
    exit_kinds = part(numbers, marks.exit_kinds, marks.saved_waits)
    counts, best = part(numbers, marks.counts, marks.waits), part(numbers, marks.best, marks.counts)
    block_exits, gap, floor = cells[exits_row(sizes, bounds[0], again)], weights[0], weights[1]
    window, longest, lowest = block.window_in(cells, at, again), lists.longest, weights[2]
    width, limited = rows.shape[1], longest.step > 0
    lanes = simd.lanes_of(cells)
    span = final_span(0, width, lanes, len(target.symbols), target.free)
    gain, begin_edge = target.gain, 0 if target.free else target.gap * len(target.symbols)
    tail, places = width - lanes, (sizes.places_again if again else sizes.places) - 1
    entry_rows = len(entries) // FRAMES if again else 1
    low, high = bounds
    # chains that begin three nucleotides before join
    first, acceptor = first_from(firsts, low - FRAMES), first_from(acceptors, low)
    donor, last = first_from(donors, low), first_from(lasts, low)
    next_first, next_last = block.listed(firsts, first), block.listed(lasts, last)
    next_donor, next_acceptor = block.listed(donors, donor), block.listed(acceptors, acceptor)
    keep, join = first_from(kept_donors, low), first_from(junctions.acceptors, low)
    next_kept = block.listed(kept_donors, keep)
    border_row, bottom = block.next_event(rising, longest, low), simd.splat(floor)
    carry, carry2, carry3 = bottom, bottom, bottom
    most, most2, most3 = block.UNKNOWN, block.UNKNOWN, block.UNKNOWN
    leaves, joins, begun, bonus, place, entry = False, False, floor, floor, 0, 0
    codon = np.int64(0)  # numba compiles functions again for literal numbers
    banned_row, last_banned = next_banned(target.banned, low - 1), np.int64(-FRAMES)
    if first_from(target.banned.rows, low - 1) > 0:
        last_banned = target.banned.rows[first_from(target.banned.rows, low - 1) - 1] + 1
    clear(block_exits, 0, floor, lanes)
    for i in range(low, high):
        frame = i % FRAMES
        if i > 0:
            # tracks in the order of their next whole codons, the one of the boundary before first
            one, two, three = (i - 1) % FRAMES, frame, (i + 1) % FRAMES
            a, b, c = one * width, two * width, three * width
            up = simd.maximum(simd.load(rows, a + tail), carry)
            if joins:
                chain = simd.add(simd.load(codons, codon + tail), simd.splat(begun))
                up = simd.maximum(up, chain)
            diagonal = simd.shift_in(up, floor)
            diagonal2 = simd.shift_in(simd.maximum(simd.load(rows, b + tail), carry2), floor)
            diagonal3 = simd.shift_in(simd.maximum(simd.load(rows, c + tail), carry3), floor)
            pairs, of_exit = np.int64(simd.element(codes, i - 1)) * width, place * FRAMES
            to, to2, to3 = (
                (of_exit + one) * width,
                (of_exit + two) * width,
                (of_exit + three) * width,
            )
            has_banned = i == banned_row
            if has_banned:
                symbol, own = pairs // width, banned_of_row(target.banned, i - 1)
                ban_pairs(profile, symbol, 0, target.banned, own, gap)
            left, left2, left3 = _pass(
                leaves, joins, rows, a, b, c, carry, carry2, carry3, diagonal, diagonal2,
                diagonal3, profile, pairs, gap, floor, lanes, exits, to, to2, to3, bonus,
                block_exits, codons, codon, begun,
            )  # fmt: skip
            if has_banned:
                own = banned_of_row(target.banned, i - 1)
                allow_pairs(profile, pairs // width, 0, target, own)
                last_banned, banned_row = i, next_banned(target.banned, i)
            # the track whose codon ends here comes first
            carry, carry2, carry3 = (
                _carried(left2, floor),
                _carried(left3, floor),
                _carried(left, floor),
            )
            most, most2, most3 = most2 + gain, most3 + gain, most + gain
        leave, begin_score = last_usual, first_usual if i >= FRAMES else CLOSED
        if i == next_last:
            leave, last = np.int64(last_scores[last]), last + 1
            next_last = block.listed(lasts, last)
        if i - FRAMES == next_first:
            begin_score, first = np.int64(first_scores[first]), first + 1
            next_first = block.listed(firsts, first)
        if leave != CLOSED and most + leave > best[_SCORE]:
            settle(rows[frame], carry, lanes)
            most = final_score(rows[frame], drop, final, span, lowest, bottom, lanes)
            if most + leave > best[_SCORE]:
                best[_SCORE], best[_END] = most + leave, i
                score = most
                best[_COLUMN] = column_of(rows[frame], drop, final, span, score, lanes)
            most += target.clip[0]
        stop = i >= FRAMES and stops[codes[i - 3], codes[i - 2], codes[i - 1]]
        if stop:
            clear(rows, frame, floor, lanes)
            carry, most = bottom, np.int64(floor)
        if waits[i % WAITING]:
            raise_to(rows, frame, waiting, i % WAITING, width, lanes, 0)
            clear(waiting, i % WAITING, floor, lanes)
            waits[i % WAITING], most = False, block.UNKNOWN
        joins = begin_score != CLOSED and not stop
        if joins:
            number = (np.int64(codes[i - 3]) * 5 + codes[i - 2]) * 5 + codes[i - 1]
            if last_banned > i - FRAMES:
                number = np.int64(len(codons) - 1)
                put(codons, number, start, 0, width, lanes, 0)
                for k in range(i - FRAMES, i):
                    _step_at(codons, number, profile, codes, k, target, gap, floor, lanes)
            codon, begun = number * width, rows.dtype.type(begin_score)
            most = max(most, begin_score + begin_edge + FRAMES * gain)
        leaves, is_entry, is_kept = i == next_donor, i == next_acceptor, i == next_kept
        place = counts[0] & places
        if leaves:
            bonus = rows.dtype.type(donor_scores[donor])
        if i == high - 1 or (leaves and is_entry) or is_kept:
            settle(rows[frame], carry, lanes)
            settle(rows[(i + 1) % FRAMES], carry2, lanes)
            settle(rows[(i + 2) % FRAMES], carry3, lanes)
            carry, carry2, carry3 = bottom, bottom, bottom
            if joins:
                raise_to(rows, frame, codons, codon // width, width, lanes, begun)
            if leaves:
                for track in range(FRAMES):
                    to = place * FRAMES + track
                    put(exits, to, rows, track, width, lanes, bonus)
                    raise_to(block_exits, 0, exits, to, width, lanes, 0)
                    if is_kept:
                        put(kept, keep * FRAMES + track, exits, to, width, lanes, 0)
                exit_rows[place], exit_kinds[place] = i, donor_kinds[donor]
                counts[0], donor = counts[0] + 1, donor + 1
                next_donor = block.listed(donors, donor)
            if is_kept:
                keep, next_kept = keep + 1, block.listed(kept_donors, keep + 1)
            leaves, joins = False, False
        reach = i - 1 if i == border_row else i
        while leaves or is_kept or is_entry or reach < i or i == high - 1:
            for k in range(len(kinds)):
                while counts[1 + k] < counts[0]:
                    slot = counts[1 + k] & places
                    boundary = exit_rows[slot]
                    if boundary + lengths[k] > reach:
                        break
                    if exit_kinds[slot] == kinds[k]:
                        for track in range(FRAMES):
                            bases = (boundary - track) % FRAMES
                            if bases <= boundary:
                                to = k * SPLITS + _split_class(codes, boundary, bases)
                                source = slot * FRAMES + track
                                if limited:
                                    block.raise_both(before, to, window, exits, source, lanes)
                                else:
                                    raise_to(before, to, exits, source, width, lanes, 0)
                    counts[1 + k] += 1
            if reach == i:
                break
            block.cross_event(before, window, longest, rising, i, SPLITS, floor, lanes)
            border_row, reach = block.next_event(rising, longest, i + 1), i
        if leaves:
            exit_rows[place], exit_kinds[place] = i, donor_kinds[donor]
            counts[0], donor = counts[0] + 1, donor + 1
            next_donor = block.listed(donors, donor)
        if is_entry:
            join = _enter(
                rows, before, entries, waiting, waits, codes, stops, kinds, penalties, profile, i,
                entry % entry_rows, acceptor_scores[acceptor], acceptor_kinds[acceptor], gap, floor,
                lanes, kept, junctions, join, target, cells[at.points],
            )  # fmt: skip
            most, entry, acceptor = block.UNKNOWN, entry + 1, acceptor + 1
            next_acceptor = block.listed(acceptors, acceptor)
