"""The traceback of site mode on a GPU: from a job's stored rows to its best chain.

A warp follows the chain of one job from its end to its start. `gpu_tools.splicing.traceback`
describes how an exon is found; ties are those of `gpu_tools.sites.cpu.sweep`.
"""

from __future__ import annotations

from numba import cuda, int32, int64, uint32

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.words import (
    WARP,
    any_lane,
    kernel,
    load4,
    shuffle,
    store4,
    sync_lanes,
)
from gpu_tools.model.scoring import N_SYMBOLS
from gpu_tools.sites import introns
from gpu_tools.sites.gpu import job_table
from gpu_tools.sites.gpu.packed_strip import QUAD, WIDE
from gpu_tools.sites.table import CLOSED
from gpu_tools.splicing import codons, recurrence
from gpu_tools.splicing.reading import FRAMES

# elements of the scoring: lifted scores, and what follows them
GAP = N_SYMBOLS * N_SYMBOLS
FREE = GAP + 1
MOST = GAP + 2
COST = GAP + 3

# Rows that the kernels have stored for tracebacks, read cell by cell.


_LOG_LANES = (2 * WARP).bit_length() - 1


@cuda.jit(device=True)
def packed_layout(job):
    """Return where the packed kernel's rows lie: two strips' widths as powers of two, and places.

    A strip of eight registers a lane has twice the columns of one of four.
    """
    log = int32(3 if job[job_table.SIZE] == WIDE else 2)
    last_log = int32(3 if job[job_table.LAST_SIZE] == WIDE else 2)
    first = job[job_table.CELLS], job[job_table.FIRST_STORED], job[job_table.STRIDE]
    return log, last_log, int32(job[job_table.STRIPS] - 1), int32(job[job_table.LIFTING]), first


@cuda.jit(device=True)
def _packed_place(layout, row, column):
    """Return where a cell's word lies, by how much it is shifted up, and how much it is lifted."""
    log, last_log, last_strip, lifting, (cells, first_stored, stride) = layout
    strip = int32(column >> int32(log + _LOG_LANES))
    left = int32(column - int32(strip << int32(log + _LOG_LANES)))
    if strip == last_strip:
        log = last_log
    half, k = int32(left >> log), int32(left & int32(int32(1 << log) - 1))
    word = int32((k & ~int32(QUAD - 1)) * WARP + (half >> 1) * QUAD + (k & int32(QUAD - 1)))
    first = cells + strip * stride + (first_stored + row) * int64(WARP << log)
    return first + word, int32(16 - 16 * (half & 1)), int32(strip * lifting)


@cuda.jit(device=True)
def packed_value(memory, layout, row, column):
    """Return a cell of a stored row that the packed kernel wrote."""
    at, shift, lifted = _packed_place(layout, row, column)
    return int32(int32(int32(memory[at] << shift) >> int32(16)) + lifted)


@cuda.jit(device=True)
def packed_values(memory, layout, row, column):
    """Return four cells of such a row, from a column on that is a multiple of four."""
    at, shift, lifted = _packed_place(layout, row, column)
    four = load4(memory, at)
    return (
        int32(int32(int32(four[0] << shift) >> int32(16)) + lifted),
        int32(int32(int32(four[1] << shift) >> int32(16)) + lifted),
        int32(int32(int32(four[2] << shift) >> int32(16)) + lifted),
        int32(int32(int32(four[3] << shift) >> int32(16)) + lifted),
    )  # fmt: skip


# Where an exon of a chain begins, looked for by a warp: the first half of a traceback on a GPU.
#
# W, the most that S' can still gain (see `gpu_tools.splicing.traceback`), is computed row by row
# from the exon's end backwards. Its columns are shared out among the lanes, neighbours to one lane.


_LOW = -(2**29)
NOT_FOUND = 2**30
_USUAL_EXON = 8 if simulated() else 512
"""Nucleotides of an exon that is looked for first; then four times as many, and so on."""
_LONG_EXON = 1 << 13
"""Nucleotides of an exon that is looked for in a window that is not all of a job, at most."""


clipped_chain = cuda.jit(device=True)(recurrence.clipped_chain)


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
def _junctions_of(trace, sites, acceptor):
    """Return the numbers of the last junction of an acceptor, -1 without one, and of the first."""
    first, count = trace[job_table.AT_JUNCTIONS], trace[job_table.AT_N_JUNCTIONS]
    last = last_up_to(sites, first, count, job_table.SITE, acceptor)
    before = last_up_to(sites, first, count, job_table.SITE, int32(acceptor - 1))
    return (last if last > before else int32(-1)), int32(before + 1)


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
    if trace[job_table.AT_STOPS] < 0:
        return int32(1)
    whole = int32(FRAMES if is_last else 0)
    if not inner:
        return int32(FRAMES + whole) if split == 0 else int32(NOT_FOUND)
    return int32(1) if split == 0 else int32(FRAMES - split + whole)


@cuda.jit(device=True)
def split_before(trace, start, frame):
    """Return how many nucleotides of a split codon lie before a start; 0 if none matters."""
    return int32((start - frame) % FRAMES) if trace[job_table.AT_STOPS] >= 0 else int32(0)


@cuda.jit(device=True)
def _first_wanted(trace, sites, first, state, left):
    """Return S' with which a first exon of `left` nucleotides is entered, `_LOW` if none can be.

    `first` is the number of the last listed first entry up to there. Its next value comes second.
    """
    end, _, value, frame, is_last = state
    start, score = int32(end - left), trace[job_table.AT_USUAL_FIRST]
    at = trace[job_table.AT_FIRSTS] + first * job_table.FIRST
    if first >= 0 and sites[at] == start:
        score, first = int64(sites[at + job_table.VALUE]), int32(first - 1)
    least = _least_length(trace, split_before(trace, start, frame), is_last, False)
    if score == CLOSED or left < least:
        return int32(_LOW), first
    return int32(value - score), first


@cuda.jit(device=True)
def _equal_ones(values, bonus, wanted):
    """Return which of four values are the wanted ones less a bonus, a bit each."""
    found = int32(0)
    for k in range(4):
        found |= int32(values[k] + bonus == wanted[k]) << int32(k)
    return found


@cuda.jit(device=True)
def _entered_by(trace, sites, entry, split):
    """Return the row from which an inner entry starts, and what is added to it."""
    tracks = FRAMES if trace[job_table.AT_STOPS] >= 0 else 1
    row = (trace[job_table.AT_N_EXITS] + entry) * tracks + split - trace[job_table.AT_ENTRY_ROWS]
    at, bonus = trace[job_table.AT_ENTRIES] + entry * job_table.SITE, int32(0)
    if trace[job_table.AT_STOPS] < 0:
        bonus = sites[at + job_table.VALUE]
    return int32(row), bonus


@cuda.jit(device=True)
def _advance(trace, layout, buffers, scores, state, here, first_wanted, inner):
    """Look at a row of W for entries, and make the next row from it.

    `here` says which half of the buffer the row is in, its first column, its columns by fours,
    the nucleotide, what comes from the lanes behind, and the next lane's first value. `inner`
    is the number of the inner entry, or -1, and what `_entered_by` says of it.
    Return the lane's smallest column at which an exon is entered, twice, plus one for an inner
    entry; W there; and the lane's part of what the next row takes over.
    """
    gains, symbols = buffers[4], buffers[5]
    (even, low, quads, nucleotide, carry, right), (table, gap, free, cost, _) = here, scores
    _, column, value, _, _ = state
    lane, found, gained = int32(cuda.threadIdx.x), int32(NOT_FOUND), int32(0)
    before, after = (int32(0), quads) if even else (quads, int32(0))
    best = int32(_LOW)
    for n in range(quads):
        quad = int32(quads - 1 - n)
        own = int32(low + 4 * (lane * quads + quad) + 3)
        four = load4(gains, int64(4 * ((before + quad) * WARP + lane)))
        letters = load4(symbols, int64(4 * (quad * WARP + lane)))
        a = max(four[0], carry)
        b = max(four[1], carry)
        c = max(four[2], carry)
        d = max(four[3], carry)
        entered = int32(0)
        if inner[0] >= 0 and own - 3 <= column:
            wanted = int32(value - a), int32(value - b), int32(value - c), int32(value - d)
            values = packed_values(buffers[0], layout, inner[1], int32(own - 3))
            entered = _equal_ones(values, inner[2], wanted)
        for k in range(4):
            gain = d if k == 0 else (c if k == 1 else (b if k == 2 else a))
            if own <= column and entered & int32(8 >> k):
                found, gained = int32(2 * own + 1), gain
            is_open = first_wanted > _LOW and own <= column
            if is_open and gain + clipped_chain(own, gap, free, cost) == first_wanted:
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
def _look_for(trace, layout, buffers, scores, state, limits, scratch):
    """Find the entry of an exon from a column on, of an exon of at most some nucleotides."""
    sites, codes, targets, gains, symbols = buffers[1:]
    end, column, _, frame, is_last = state
    low, until = limits
    quads, lane = int32((column - low) // (4 * WARP) + 1), int32(cuda.threadIdx.x)
    _begin(gains, symbols, targets, low, quads, column)
    entry = last_up_to(
        sites,
        trace[job_table.AT_ENTRIES],
        trace[job_table.AT_N_ENTRIES],
        job_table.SITE,
        int32(end - 1),
    )
    first = last_up_to(
        sites,
        trace[job_table.AT_FIRSTS],
        trace[job_table.AT_N_FIRSTS],
        job_table.FIRST,
        int32(end - 1),
    )
    left, carry, best = int32(0), int32(_LOW), int32(gains[4 * lane])
    first_wanted, inner = int32(_LOW), (int32(-1), int32(0), int32(0))
    while left <= until:
        right = shuffle(max(best, carry), int32(min(lane + 1, WARP - 1)), scratch)
        if lane == WARP - 1:
            right = int32(_LOW)
        nucleotide = int32(codes[max(end - 1 - left, 0)])
        here = left & int32(1) == 0, low, quads, nucleotide, carry, right
        own, gained, best = _advance(
            trace, layout, buffers, scores, state, here, first_wanted, inner
        )
        if any_lane(own < NOT_FOUND):
            found = least_of(own, scratch)
            gained = shuffle(gained, int32(((found >> 1) - low) // (4 * quads)), scratch)
            return found, inner[0], left, gained
        carry, left = _suffix(best, scratch), int32(left + 1)
        first_wanted, first = _first_wanted(trace, sites, first, state, left)
        inner = int32(-1), int32(0), int32(0)
        if entry >= 0 and sites[trace[job_table.AT_ENTRIES] + entry * job_table.SITE] == end - left:
            split = split_before(trace, int32(end - left), frame)
            row, bonus = _entered_by(trace, sites, entry, split)
            if left >= _least_length(trace, split, is_last, True):
                inner = entry, row, bonus
            entry = int32(entry - 1)
    return int32(NOT_FOUND), int32(-1), left, int32(0)


@cuda.jit(device=True)
def _find_exon(trace, layout, buffers, scores, state, scratch):
    """Find the entry of an exon.

    Columns too far left for an exon's length are left out: S' at a column is at most what all
    columns before it and all sites can bring. Return the entry's column twice, plus one for an
    inner entry; its number; the exon's nucleotides; and W there. The first is `NOT_FOUND` if
    no entry whose rows are there explains the value at the exon's end.
    """
    end, column, value, _, _ = state
    most = int32(end - trace[job_table.AT_LOW])
    if trace[job_table.AT_LOW] > 0:  # the exon may begin before a window: a longer one tells
        most = int32(min(most, _LONG_EXON))
    longest, first, lifted = int32(_USUAL_EXON), int32(0), scores[4]
    if lifted > 0:
        first = int32((value - trace[job_table.AT_BEST_SITES]) // lifted)
    while True:
        low = int32(min(max(first - longest, 0), column) & ~int32(3))  # four cells are loaded
        until = most if low == 0 else min(most, longest)
        found = _look_for(trace, layout, buffers, scores, state, (low, until), scratch)
        if found[0] < NOT_FOUND or until == most:
            return found
        longest = int32(4 * longest)


split_class = cuda.jit(device=True)(codons.split_class)
split_bases = cuda.jit(device=True)(codons.split_bases)


@cuda.jit(device=True)
def _marks_up_to(trace, sites, mark, level):
    """Return how many marks of a level there are up to the one of a number."""
    size = trace[job_table.AT_MARK_SIZE]
    return sites[trace[job_table.AT_MARKS] + mark * size + 1 + level] if mark >= 0 else int32(0)


@cuda.jit(device=True)
def _penalty(trace, sites, at, donor, acceptor):
    """Return the penalty of an intron of a class, which it is long enough for."""
    marks, count = trace[job_table.AT_MARKS], trace[job_table.AT_N_MARKS]
    size, shortest = trace[job_table.AT_MARK_SIZE], int32(donor + sites[at + introns.LENGTH])
    first = last_up_to(sites, marks, count, size, shortest)
    last = last_up_to(sites, marks, count, size, acceptor)
    least = int32(0)
    for line in range(sites[at + introns.N_LINES]):
        extra = sites[at + introns.LINES + 2 * line]
        level = sites[at + introns.LINES + 2 * line + 1]
        crossed = _marks_up_to(trace, sites, last, level) - _marks_up_to(trace, sites, first, level)
        own = int32(extra + crossed)
        least = own if line == 0 else min(least, own)
    return int32(sites[at + introns.PENALTY] + least)


@cuda.jit(device=True)
def _completes(codes, stops, length, split, boundary):
    """Return `codons.completes`; `stops` are words of three codes one behind the other."""
    if boundary + (FRAMES - split_bases(split)) % FRAMES > length:
        return False
    first = codes[boundary] if boundary < length else 0
    if split == 1:
        return stops[(3 * N_SYMBOLS + first) * N_SYMBOLS + codes[boundary + 1]] == 0
    if split == 3:
        return stops[3 * N_SYMBOLS * N_SYMBOLS + first] == 0
    if split == 4:
        return stops[(3 * N_SYMBOLS + 2) * N_SYMBOLS + first] == 0
    return True


@cuda.jit(device=True)
def _admits(trace, buffers, at, start, kind, surplus):
    """Return whether an intron of some class, of a penalty `surplus`, joins exit and start."""
    sites, found = buffers[1], False
    for k in range(trace[job_table.AT_N_CLASSES]):
        of_class = trace[job_table.AT_CLASSES] + k * trace[job_table.AT_CLASS_SIZE]
        if (
            sites[at + job_table.KIND] == kind and sites[of_class + introns.KIND] == kind
            and sites[at] + sites[of_class + introns.LENGTH] <= start
            and surplus >= sites[of_class + introns.PENALTY]
        ):  # fmt: skip
            found |= surplus == _penalty(trace, sites, of_class, sites[at], start)
    return found


@cuda.jit(device=True)
def _has_junction(trace, sites, junctions, donor, surplus):
    """Return whether one of some junctions has a donor and a penalty."""
    (last, first), found = junctions, False
    for k in range(first, last + 1):
        at = trace[job_table.AT_JUNCTIONS] + k * job_table.SITE
        found |= sites[at + job_table.KIND] == donor and sites[at + job_table.VALUE] == surplus
    return found


@cuda.jit(device=True)
def _joins(trace, buffers, boundary, start, frame):
    """Return whether the codon that an intron splits is no stop codon."""
    sites, codes = buffers[1:3]
    split = split_before(trace, start, frame)
    if trace[job_table.AT_STOPS] < 0 or split > boundary:
        return trace[job_table.AT_STOPS] < 0
    of_codon = split_class(codes, boundary, split)
    return _completes(
        codes, sites[trace[job_table.AT_STOPS] :], trace[job_table.AT_LENGTH], of_codon, start
    )


@cuda.jit(device=True)
def _row_of(trace, donor, boundary, start, frame):
    """Return the stored row of an exit of the exon before, and the exon's frame."""
    row = donor
    if trace[job_table.AT_STOPS] >= 0:
        frame = int32((boundary - (start - frame)) % FRAMES)
        row = int32(donor * FRAMES + frame)
    return int32(row - trace[job_table.AT_EXIT_ROWS]), frame


@cuda.jit(device=True)
def _find_exit(trace, layout, buffers, state, start, entry, gained, scratch):
    """Return the state at the nearest exit that explains an entry; its end is -1 without one.

    `state` is that of the exon behind, but for its first column.
    """
    memory, sites = buffers[:2]
    _, column, value, frame, _ = state
    at = trace[job_table.AT_ENTRIES] + entry * job_table.SITE
    kind = sites[at + job_table.KIND]
    wanted = int32(value - gained - sites[at + job_table.VALUE])
    last = last_up_to(
        sites, trace[job_table.AT_EXITS], trace[job_table.AT_N_EXITS], job_table.SITE, start
    )
    junctions = _junctions_of(trace, sites, start)
    while last >= trace[job_table.AT_FIRST_EXIT]:
        donor, found = int32(last - cuda.threadIdx.x), int32(NOT_FOUND)
        if donor >= trace[job_table.AT_FIRST_EXIT]:
            at = trace[job_table.AT_EXITS] + donor * job_table.SITE
            row, _ = _row_of(trace, donor, sites[at], start, frame)
            surplus = int32(
                packed_value(memory, layout, row, column) + sites[at + job_table.VALUE] - wanted
            )
            admitted = _admits(trace, buffers, at, start, kind, surplus)
            admitted |= _has_junction(trace, sites, junctions, sites[at], surplus)
            if admitted and _joins(trace, buffers, sites[at], start, frame):
                found = int32(cuda.threadIdx.x)
        if any_lane(found < NOT_FOUND):
            donor = int32(last - least_of(found, scratch))
            end = sites[trace[job_table.AT_EXITS] + donor * job_table.SITE]
            row, frame = _row_of(trace, donor, end, start, frame)
            return end, column, packed_value(memory, layout, row, column), frame, False
        last = int32(last - WARP)
    return int32(-1), column, value, frame, False


@cuda.jit(device=True)
def _follow(trace, job, buffers, scoring, exons, followed):
    """Follow the chain of a job back; write its exons, and what `FOLLOWED` says."""
    # a line each: the simulator tells shared arrays apart by it
    scratch = cuda.shared.array(WARP, int32)
    table = cuda.shared.array(GAP, int32)
    for k in range(cuda.threadIdx.x, GAP, WARP):
        table[k] = scoring[k]
    sync_lanes()
    layout, at, n = packed_layout(job), trace[job_table.AT_EXONS], int32(0)
    scores = table, scoring[GAP], scoring[FREE] != 0, scoring[COST], scoring[MOST]
    end, column = int32(trace[job_table.AT_END]), int32(trace[job_table.AT_COLUMN])
    value, frame = int32(trace[job_table.AT_VALUE]), int32(trace[job_table.AT_FRAME])
    state = end, column, value, frame, trace[job_table.AT_IS_LAST] != 0
    left_out = job_table.OUTSIDE if trace[job_table.AT_LOW] > 0 else job_table.NOT_EXPLAINED
    why = int32(job_table.TOO_MANY)
    while n < trace[job_table.AT_MOST_EXONS]:
        found, entry, left, gained = _find_exon(trace, layout, buffers, scores, state, scratch)
        if found == NOT_FOUND:
            why = int32(left_out)
            break
        start, column = int32(state[0] - left), int32(found >> 1)
        if cuda.threadIdx.x == 0:
            exons[at + n, 0], exons[at + n, 1] = start, state[0]
            exons[at + n, 2], exons[at + n, 3] = column, state[1]
        before = state[0], column, state[2], state[3], state[4]
        if found & 1:
            before = _find_exit(trace, layout, buffers, before, start, entry, gained, scratch)
            if before[0] < 0:
                why = int32(left_out)
                break
        n, state = int32(n + 1), before
        if found & 1 == 0:
            why = int32(job_table.WHOLE)
            break
    if cuda.threadIdx.x == 0:
        followed[0], followed[1], followed[2], followed[3] = why, n, state[0], state[1]
        followed[4], followed[5], followed[6] = state[2], state[3], int32(state[4])


@cuda.jit(device=True)
def _buffers_of(trace, memory, sites, codes, targets, gains, symbols):
    """Return the buffers from where a job's parts begin."""
    return (
        memory, sites, codes[trace[job_table.AT_CODES] :], targets[trace[job_table.AT_TARGET] :],
        gains[2 * trace[job_table.AT_GAINS] :], symbols[trace[job_table.AT_GAINS] :],
    )  # fmt: skip


@kernel()
def trace_packed_warp(
    traces, jobs, memory, sites, codes, targets, gains, symbols, scoring, exons, followed
):
    """Follow the chain of a job that the packed kernel swept; a thread block is one warp."""
    trace = traces[cuda.blockIdx.x]
    buffers = _buffers_of(trace, memory, sites, codes, targets, gains, symbols)
    own = followed[cuda.blockIdx.x]
    _follow(trace, jobs[trace[job_table.AT_JOB]], buffers, scoring, exons, own)
