"""The traceback of site mode in compiled code: from a chain's end back over its exons.

An exon is found as `gpu_tools.splicing.traceback` says. Exits and entries are those of a block of
rows, which the caller computes again where `follow` needs it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.sites.introns import KIND, LENGTH, joins, penalty_of
from gpu_tools.sites.table import CLOSED
from gpu_tools.splicing.best_chains import banned_of_row
from gpu_tools.splicing.codons import completes, split_class
from gpu_tools.splicing.reading import FRAMES
from gpu_tools.splicing.recurrence import clipped_chain
from gpu_tools.splicing.traceback import align_exons, previous_row, profile_of

(
    STAGE, END, COLUMN, VALUE, LEFT, START, FRAME, LAST, BLOCK, THERE, PAST, EXONS, NUMBERS,
) = range(13)  # fmt: skip
"""Numbers of a path: what is looked for; where an exon ends and in which column; S' there, without
the exit's score, or S' at an entry; how many of the exon's nucleotides are done; where it starts;
its frame; if it is the chain's last; the block that may have its exit; the block that is there, and
the boundary behind the ones that are; how many exons there are.
"""
FIND_ENTRY, FIND_EXIT, DONE, LOST = range(4)
_clipped_chain, _completes, _split_class = map(njit, (clipped_chain, completes, split_class))


class ChainWork(NamedTuple):
    """What a traceback works in.

    `gains` are two rows of W, `profile` the scores of each nucleotide with each target symbol,
    `exons` start, end, first and last column of each exon so far, from the last one on.
    """

    gains: NDArray[np.int32]
    profile: NDArray[np.int32]
    exons: NDArray[np.int32]


@njit(nogil=True, error_model="numpy")
def work_of(acceptors, target, needed):
    """Return what a traceback works in, empty arrays unless it is `needed`."""
    symbols = target.symbols if needed else target.symbols[:0]
    exons = np.empty((len(acceptors) + 1 if needed else 0, 4), np.int32)
    gains = np.empty((2, len(symbols) + 1), np.int32)
    return ChainWork(gains, profile_of(target.lifted, symbols), exons)


@njit(nogil=True)
def nothing_followed():
    """Return what `aligned_path` returns, of nothing."""
    numbers = np.empty(0, np.int64)
    return np.empty((0, 4), np.int32), np.empty(0, np.uint8), numbers, numbers


@njit(nogil=True)
def aligned_path(codes, target, path, work):
    """Return the exons of a path in reading direction, and what `align_exons` returns of them."""
    if path[STAGE] == LOST:
        return nothing_followed()
    n = path[EXONS]
    exons = np.empty((n, 4), np.int32)
    for k in range(n):
        for number in range(4):
            exons[k, number] = work.exons[n - 1 - k, number]
    ends = target.gap, target.free, target.clip[0]
    letters, lengths, columns = align_exons(
        codes, target.symbols, exons, target.lifted, *ends, target.banned
    )
    return exons, letters, lengths, columns


@njit(nogil=True, error_model="numpy")
def follow(lists, stops, sizes, target, cells, path, work):
    """Follow a chain back through the stored rows; tell whether block ``path[THERE]`` is needed."""
    while path[STAGE] < DONE:
        if path[STAGE] == FIND_ENTRY:
            there = _find_entry(lists, sizes, target, cells, path, work)
        else:
            there = _find_exit(lists, stops, sizes, target, cells, path)
        if not there:
            return True
    return False


@njit(nogil=True, error_model="numpy")
def _is_there(block, path, number, past):
    """Return whether a block's rows are in memory; else note that they are needed before `past`.

    A path goes back: no later boundary of the block is needed then.
    """
    if path[THERE] == number:
        return True
    path[THERE], path[PAST] = number, min((number + 1) * block, past)
    return False


@njit(nogil=True, error_model="numpy")
def _find_entry(lists, sizes, target, cells, path, work):
    """Go back through an exon to the first boundary where an entry explains the value at its end.

    If chains translate, a first exon begins with a whole codon, and a chain's only exon has two; a
    split codon, and in the last exon another one, ends in the exon. Returns False if a block is
    needed.
    """
    codes, gains, profile = lists.codes, work.gains, work.profile
    (usual, firsts, scores), acceptors = lists.first, lists.acceptors[0]
    columns, end, value = path[COLUMN], path[END], path[VALUE]
    left, tracks, frame = path[LEFT], sizes.tracks, path[FRAME]
    start, inside, gap = end - left, tracks * (1 + path[LAST]), np.int32(target.gap)
    none = np.int64(0)  # numba compiles a function again for literal numbers
    begins = none  # with fewer nucleotides no chain that begins explains the value
    first, acceptor = first_from(firsts, start), first_from(acceptors, start)
    if left == 0:
        for c in range(columns + 1):
            gains[0, c] = 0
    while True:
        here, column, entry = left % 2, np.int64(-1), np.int64(-1)
        score, bases = np.int64(usual), (start - frame) % tracks
        if first < len(firsts) and firsts[first] == start:
            score = np.int64(scores[first])
        if score != CLOSED and bases == 0 and left >= max(inside if tracks > 1 else 1, begins):
            column = _begun_at(gains, here, columns, value - score, target)
            if column < 0 and len(firsts) == 0:
                begins = left + _rows_short(gains, here, columns, value - score, target)
        least = inside - bases if bases > 0 else 1
        if acceptor < len(acceptors) and acceptors[acceptor] == start and left >= least:
            number = start // sizes.block
            if not _is_there(sizes.block, path, number, start + 1):
                path[LEFT] = left
                return False
            row = sizes.rows.entries + bases
            row += tracks * (acceptor - first_from(acceptors, number * sizes.block))
            most = column - 1 if column >= 0 else columns
            entered = _entered_at(cells, row, gains, here, most, value)
            if entered >= 0:
                column, entry = entered, row
        if column >= 0:
            n, exons = path[EXONS], work.exons
            exons[n, 0], exons[n, 1] = start, end
            exons[n, 2], exons[n, 3] = column, columns
            path[EXONS], path[START], path[COLUMN] = n + 1, start, column
            path[STAGE], path[BLOCK] = FIND_EXIT, start // sizes.block
            if entry < 0:
                path[STAGE] = DONE
            else:
                path[VALUE] = _value(cells, entry, column)
            return True
        if start == 0:
            path[STAGE] = LOST
            return True
        start -= 1
        symbol, (ban, past) = np.int64(codes[start]), banned_of_row(target.banned, start)
        for k in range(ban, past):
            profile[symbol, target.banned.columns[k]] = gap
        previous_row(profile, symbol, gap, gains, here, columns, none)
        for k in range(ban, past):
            at = target.banned.columns[k]
            profile[symbol, at] = target.lifted[symbol, target.symbols[at]]
        left += 1
        if first > 0 and firsts[first - 1] == start:
            first -= 1
        if acceptor > 0 and acceptors[acceptor - 1] == start:
            acceptor -= 1


@njit(nogil=True, error_model="numpy")
def _begun_at(gains, here, columns, wanted, target):
    """Return the smallest column where a chain that begins explains a value, or -1."""
    gap, free, cost = target.gap, target.free, target.clip[0]
    for c in range(columns + 1):
        if _clipped_chain(c, gap, free, cost) + gains[here, c] == wanted:
            return c
    return -1


@njit(nogil=True, error_model="numpy")
def _rows_short(gains, here, columns, wanted, target):
    """Return how many more nucleotides it takes at least until a beginning may explain a value."""
    gap, free, cost = target.gap, target.free, target.clip[0]
    best, most = np.int64(gains[here, 0]), np.int64(1)
    for c in range(1, columns + 1):
        best = max(best, _clipped_chain(c, gap, free, cost) + gains[here, c])
    for scores in target.lifted:
        for score in scores:
            most = max(most, np.int64(score) + max(gap, 0))
    return (wanted - best + most - 1) // most


@njit(nogil=True, error_model="numpy")
def _entered_at(cells, row, gains, here, columns, wanted):
    """Return the smallest column where S' of a row explains a value, or -1."""
    strips, _, width = cells.shape
    lanes, c = simd.lanes_of(cells), 0
    for strip in range(strips):
        for lane in range(lanes):
            for place in range(lane, width, lanes):
                if c > columns:
                    return -1
                if np.int64(cells[strip, row, place]) + gains[here, c] == wanted:
                    return c
                c += 1
    return -1


@njit(nogil=True, error_model="numpy")
def _value(cells, row, column):
    """Return S' of a row at a target column."""
    width, lanes = cells.shape[2], simd.lanes_of(cells)
    place, each = column % width, width // lanes
    return np.int64(cells[column // width, row, place % each * lanes + place // each])


@njit(nogil=True, error_model="numpy")
def _find_exit(lists, stops, sizes, target, cells, path):
    """Find the nearest exit that explains an entry; return False if a block is needed."""
    (boundaries, scores, kinds), introns = lists.donors, lists.introns
    tracks, start, column = sizes.tracks, path[START], path[COLUMN]
    starts, acceptor_scores, acceptor_kinds = lists.acceptors
    acceptor, rows = first_from(starts, start), sizes.rows
    wanted, kind = path[VALUE] - acceptor_scores[acceptor], acceptor_kinds[acceptor]
    if len(target.points) > 0:
        wanted -= target.points[column]
    joined, of_joined = _junction_before(lists, stops, sizes, cells, path, wanted)
    while path[BLOCK] >= 0:
        number = path[BLOCK]
        low, high = number * sizes.block, min((number + 1) * sizes.block, start + 1)
        surplus, nearer = _value(cells, rows.best_exits + number, column) - wanted, max(low, joined)
        if _may_join(introns, kind, surplus, nearer, high, start):
            if not _is_there(sizes.block, path, number, high):
                return False
            oldest = first_from(boundaries, low)
            pending = sizes.pending[number + 1] - sizes.pending[number]
            last, first = first_from(boundaries, high) - 1, first_from(boundaries, nearer)
            for donor in range(last, first - 1, -1):
                end = np.int64(boundaries[donor])
                track = (end - (start - path[FRAME])) % tracks
                row = rows.exits + tracks * (pending + donor - oldest) + track
                value = _value(cells, row, column)
                if kinds[donor] != kind or not joins(introns, kind, value - wanted, end, start):
                    continue
                # numba leaves this out where there are no stop codons, but not an `and` of the two
                if stops is not None:  # noqa: SIM102
                    if not _no_stop(lists.codes, stops, end, start, path[FRAME]):
                        continue
                path[STAGE], path[END], path[LEFT] = FIND_ENTRY, end, 0
                path[VALUE], path[FRAME], path[LAST] = value - scores[donor], track, 0
                return True
        if joined >= low:
            track = (joined - (start - path[FRAME])) % tracks
            value = _value(cells, rows.kept + tracks * of_joined + track, column)
            path[STAGE], path[END], path[LEFT] = FIND_ENTRY, joined, 0
            path[VALUE] = value - scores[first_from(boundaries, joined)]
            path[FRAME], path[LAST] = track, 0
            return True
        path[BLOCK] -= 1
    path[STAGE] = LOST
    return True


@njit(nogil=True, error_model="numpy")
def _junction_before(lists, stops, sizes, cells, path, wanted):
    """Return the nearest donor of the junctions that explain an entry, and its number, or -1."""
    donors, acceptors, numbers, penalties = lists.junctions
    tracks, start, first = sizes.tracks, path[START], first_from(acceptors, path[START])
    for k in range(first_from(acceptors, start + 1) - 1, first - 1, -1):
        end = np.int64(donors[numbers[k]])
        track = (end - (start - path[FRAME])) % tracks
        row = sizes.rows.kept + tracks * numbers[k] + track
        if _value(cells, row, path[COLUMN]) - wanted != penalties[k]:
            continue
        # numba leaves this out where there are no stop codons, but not an `and` of the two
        if stops is not None:  # noqa: SIM102
            if not _no_stop(lists.codes, stops, end, start, path[FRAME]):
                continue
        return end, numbers[k]
    return np.int64(-1), np.int64(-1)


@njit(nogil=True, error_model="numpy")
def _may_join(introns, kind, surplus, low, high, start):
    """Return whether an exit of a block may precede an entry.

    `surplus` is the most by which an exit's value exceeds the wanted one. The block has the
    boundaries `low` to ``high - 1``; its last exits have the least penalties.
    """
    rows = introns.rows
    for k in range(len(rows)):
        end = min(high - 1, start - rows[k, LENGTH])
        if rows[k, KIND] == kind and end >= low and surplus >= penalty_of(introns, k, end, start):
            return True
    return False


@njit(nogil=True, error_model="numpy")
def _no_stop(codes, stops, end, start, frame):
    """Return whether the codon that an intron splits is no stop codon."""
    bases = (start - frame) % FRAMES
    return bases <= end and _completes(codes, stops, _split_class(codes, end, bases), start)
