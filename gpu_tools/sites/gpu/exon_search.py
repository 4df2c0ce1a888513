"""Where an exon of a chain begins, looked for by a warp: the first half of a traceback on a GPU.

W, the most that S' can still gain (see `gpu_tools.splicing.traceback`), is computed row by row from
the exon's end backwards. Its columns are shared out among the lanes, neighbours to one lane.
"""

from __future__ import annotations

from numba import cuda, int32, int64, uint32

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.words import WARP, any_lane, load4, shuffle, store4
from gpu_tools.model.scoring import N_SYMBOLS
from gpu_tools.sites.gpu.trace_table import (
    AT_BEST_SITES,
    AT_CLASS_SIZE,
    AT_CLASSES,
    AT_ENTRIES,
    AT_ENTRY_ROWS,
    AT_FIRSTS,
    AT_LOW,
    AT_N_CLASSES,
    AT_N_ENTRIES,
    AT_N_EXITS,
    AT_N_FIRSTS,
    AT_PARTS,
    AT_STOPS,
    AT_USUAL_FIRST,
    FIRST,
    KIND,
    KIND_OF,
    PENALTY,
    SITE,
    VALUE,
)
from gpu_tools.sites.scores import CLOSED
from gpu_tools.splicing import recurrence
from gpu_tools.splicing.codons import FRAMES

_LOW = -(2**29)
NOT_FOUND = 2**30
_USUAL_EXON = 8 if simulated() else 512
"""Nucleotides of an exon that is looked for first; then four times as many, and so on."""


empty_chain = cuda.jit(device=True)(recurrence.empty_chain)


@cuda.jit(device=True)
def least_of(value, scratch):
    """Return the smallest value of all lanes."""
    distance = int32(1)
    while distance < WARP:
        value = min(value, shuffle(value, int32(int32(cuda.threadIdx.x) ^ distance), scratch))
        distance = int32(distance * 2)
    return value


@cuda.jit(device=True)
def _suffix(value, scratch):
    """Return the largest value of the lanes behind, `_LOW` in the last one."""
    lane, distance = int32(cuda.threadIdx.x), int32(1)
    while distance < WARP:
        other = shuffle(value, int32(min(lane + distance, WARP - 1)), scratch)
        value = max(value, other)
        distance = int32(distance * 2)
    behind = shuffle(value, int32(min(lane + 1, WARP - 1)), scratch)
    return behind if lane < WARP - 1 else int32(_LOW)


@cuda.jit(device=True)
def last_up_to(sites, first, count, each, boundary):
    """Return the number of the last element of a list at a boundary or before; -1 without one."""
    low, high = int32(0), int32(count)
    while low < high:
        middle = int32((low + high) // 2)
        if sites[first + middle * each] <= boundary:
            low = int32(middle + 1)
        else:
            high = middle
    return int32(low - 1)


@cuda.jit(device=True)
def _begin(gains, symbols, target, low, quads, column):
    """Set W of no nucleotide, and lay out the symbols from column `low` up to a column.

    Four neighbouring columns of a lane lie side by side.
    """
    lane = int32(cuda.threadIdx.x)
    for quad in range(quads):
        for k in range(4):
            own = int32(low + 4 * (lane * quads + quad) + k)
            at = uint32(4 * (quad * WARP + lane) + k)
            gains[at] = 0 if own <= column else _LOW
            symbols[at] = target[own] if own < column else 0


@cuda.jit(device=True)
def _least_length(trace, split, is_last, inner):
    """Return how many nucleotides an exon has, at least, behind a codon that is split so."""
    if trace[AT_STOPS] < 0:
        return int32(1)
    whole = int32(FRAMES if is_last else 0)
    if not inner:
        return int32(FRAMES + whole) if split == 0 else int32(NOT_FOUND)
    return int32(1) if split == 0 else int32(FRAMES - split + whole)


@cuda.jit(device=True)
def split_before(trace, start, frame):
    """Return how many nucleotides of a split codon lie before a start; 0 if none matters."""
    return int32((start - frame) % FRAMES) if trace[AT_STOPS] >= 0 else int32(0)


@cuda.jit(device=True)
def _first_wanted(trace, sites, first, state, left):
    """Return S' with which a first exon of `left` nucleotides is entered, `_LOW` if none can be.

    `first` is the number of the last listed first entry up to there. Its next value comes second.
    """
    end, _, value, frame, is_last = state
    start, score = int32(end - left), trace[AT_USUAL_FIRST]
    at = trace[AT_FIRSTS] + first * FIRST
    if first >= 0 and sites[at] == start:
        score, first = int64(sites[at + VALUE]), int32(first - 1)
    least = _least_length(trace, split_before(trace, start, frame), is_last, False)
    if score == CLOSED or left < least:
        return int32(_LOW), first
    return int32(value - score), first


def make_find_exon(value_of):
    """Return the device function that finds where an exon begins."""

    @cuda.jit(device=True)
    def first_row(trace, entry, split):
        """Return the first stored row of an inner entry."""
        coding = trace[AT_STOPS] >= 0
        exits = trace[AT_N_EXITS] * (FRAMES if coding else 1)
        row = exits + entry * trace[AT_PARTS] + (split if coding else 0)
        return int32(row - trace[AT_ENTRY_ROWS])

    @cuda.jit(device=True)
    def first_bonus(trace, sites, entry):
        """Return what an inner entry adds to its first row, `NOT_FOUND` if it has none."""
        at = trace[AT_ENTRIES] + entry * SITE
        for k in range(trace[AT_N_CLASSES]):
            of_class = trace[AT_CLASSES] + k * trace[AT_CLASS_SIZE]
            if trace[AT_STOPS] < 0 and sites[of_class + KIND_OF] == sites[at + KIND]:
                return int32(sites[at + VALUE] - sites[of_class + PENALTY])
        return int32(0) if trace[AT_STOPS] >= 0 else int32(NOT_FOUND)

    @cuda.jit(device=True)
    def explained_by_others(trace, layout, buffers, entry, row, column, wanted):
        """Return whether a further intron class explains an inner entry's value at a column."""
        memory, sites = buffers[:2]
        at, found, n = trace[AT_ENTRIES] + entry * SITE, False, int32(0)
        for k in range(trace[AT_N_CLASSES]):
            of_class = trace[AT_CLASSES] + k * trace[AT_CLASS_SIZE]
            if sites[of_class + KIND_OF] == sites[at + KIND]:
                bonus = int32(sites[at + VALUE] - sites[of_class + PENALTY])
                found |= value_of(memory, layout, int32(row + n), column) + bonus == wanted
                n = int32(n + 1)
        return found

    @cuda.jit(device=True)
    def advance(trace, layout, buffers, scores, state, here, first_wanted, inner):
        """Look at a row of W for entries, and make the next row from it.

        `here` says which half of the buffer the row is in, its first column, its columns by fours,
        the nucleotide, what comes from the lanes behind, and the next lane's first value. `inner`
        is the number of the inner entry, or -1, its first stored row, and what it adds to that.
        Return the lane's smallest column at which an exon is entered, twice, plus one for an inner
        entry; W there; and the lane's part of what the next row takes over.
        """
        memory, gains, symbols = buffers[0], buffers[4], buffers[5]
        (even, low, quads, nucleotide, carry, right), (table, gap, free, _) = here, scores
        _, column, value, _, _ = state
        lane, found, gained = int32(cuda.threadIdx.x), int32(NOT_FOUND), int32(0)
        before, after = (int32(0), quads) if even else (quads, int32(0))
        single = trace[AT_STOPS] >= 0 or trace[AT_PARTS] == 1
        best = int32(_LOW)
        for n in range(quads):
            quad = int32(quads - 1 - n)
            own = int32(low + 4 * (lane * quads + quad) + 3)
            four = load4(gains, int64(4 * ((before + quad) * WARP + lane)))
            letters = load4(symbols, int64(4 * (quad * WARP + lane)))
            a, b, c, d = (
                max(four[0], carry),
                max(four[1], carry),
                max(four[2], carry),
                max(four[3], carry),
            )
            for k in range(4):
                gain = d if k == 0 else (c if k == 1 else (b if k == 2 else a))
                if inner[0] >= 0 and own <= column:
                    wanted = int32(value - gain)
                    entered = value_of(memory, layout, inner[1], own) + inner[2] == wanted
                    if not (entered or single):
                        entered = explained_by_others(
                            trace, layout, buffers, inner[0], inner[1], own, wanted
                        )
                    if entered:
                        found, gained = int32(2 * own + 1), gain
                is_open = first_wanted > _LOW and own <= column
                if is_open and gain + empty_chain(own, gap, free) == first_wanted:
                    found, gained = int32(2 * own), gain
                own = int32(own - 1)
            at = nucleotide * N_SYMBOLS
            d_next = max(max(int32(right + table[at + letters[3]]), int32(d + gap)), best)
            c_next = max(max(int32(d + table[at + letters[2]]), int32(c + gap)), d_next)
            b_next = max(max(int32(c + table[at + letters[1]]), int32(b + gap)), c_next)
            best = max(max(int32(b + table[at + letters[0]]), int32(a + gap)), b_next)
            right = a
            made = best, b_next, c_next, d_next
            store4(gains, int64(4 * ((after + quad) * WARP + lane)), made)
        return found, gained, best

    @cuda.jit(device=True)
    def look_for(trace, layout, buffers, scores, state, limits, scratch):
        """Find the entry of an exon from a column on, of an exon of at most some nucleotides."""
        sites, codes, targets, gains, symbols = buffers[1:]
        end, column, _, frame, is_last = state
        low, until = limits
        quads, lane = int32((column - low) // (4 * WARP) + 1), int32(cuda.threadIdx.x)
        _begin(gains, symbols, targets, low, quads, column)
        entry = last_up_to(sites, trace[AT_ENTRIES], trace[AT_N_ENTRIES], SITE, int32(end - 1))
        first = last_up_to(sites, trace[AT_FIRSTS], trace[AT_N_FIRSTS], FIRST, int32(end - 1))
        left, carry, best = int32(0), int32(_LOW), int32(gains[4 * lane])
        first_wanted, inner = int32(_LOW), (int32(-1), int32(0), int32(0))
        while left <= until:
            right = shuffle(max(best, carry), int32(min(lane + 1, WARP - 1)), scratch)
            if lane == WARP - 1:
                right = int32(_LOW)
            nucleotide = int32(codes[max(end - 1 - left, 0)])
            here = left & int32(1) == 0, low, quads, nucleotide, carry, right
            own, gained, best = advance(
                trace, layout, buffers, scores, state, here, first_wanted, inner
            )
            if any_lane(own < NOT_FOUND):
                found = least_of(own, scratch)
                gained = shuffle(gained, int32(((found >> 1) - low) // (4 * quads)), scratch)
                return found, inner[0], left, gained
            carry, left = _suffix(best, scratch), int32(left + 1)
            first_wanted, first = _first_wanted(trace, sites, first, state, left)
            inner = int32(-1), int32(0), int32(0)
            if entry >= 0 and sites[trace[AT_ENTRIES] + entry * SITE] == end - left:
                split = split_before(trace, int32(end - left), frame)
                bonus = first_bonus(trace, sites, entry)
                if bonus < NOT_FOUND and left >= _least_length(trace, split, is_last, True):
                    inner = entry, first_row(trace, entry, split), bonus
                entry = int32(entry - 1)
        return int32(NOT_FOUND), int32(-1), left, int32(0)

    @cuda.jit(device=True)
    def find_exon(trace, layout, buffers, scores, state, scratch):
        """Find the entry of an exon.

        Columns too far left for an exon's length are left out: S' at a column is at most what all
        columns before it and all sites can bring. Return the entry's column twice, plus one for an
        inner entry; its number; the exon's nucleotides; and W there. The first is `NOT_FOUND` if
        no entry whose rows are there explains the value at the exon's end.
        """
        end, column, value, _, _ = state
        most = int32(end - trace[AT_LOW])
        longest, first, lifted = int32(_USUAL_EXON), int32(0), scores[3]
        if lifted > 0:
            first = int32((value - trace[AT_BEST_SITES]) // lifted)
        while True:
            low = int32(min(max(first - longest, 0), column))
            until = most if low == 0 else min(most, longest)
            found = look_for(trace, layout, buffers, scores, state, (low, until), scratch)
            if found[0] < NOT_FOUND or until == most:
                return found
            longest = int32(4 * longest)

    return find_exon
