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
from gpu_tools.sites.gpu.strand_lists import OWN, first_from, lists_on_gpu
from gpu_tools.sites.table import CLOSED
from gpu_tools.splicing import codons, recurrence
from gpu_tools.splicing.reading import FRAMES

TRACKS, BEST_SITES = range(OWN, OWN + 2)
"""Numbers of a strand behind those of `strand_lists`: rows at each site; and the largest sum of
sites less penalties of a part of a chain.
"""
(
    JOB, STRAND,
    # what is to be followed: boundary and column where it ends, S' there without the exit's score,
    # frame of the last exon's codons if the chain translates, and whether that is the chain's last
    END, COLUMN, VALUE, FRAME, IS_LAST,
    GAINS,  # where the job's columns of W begin
    LOW, FIRST_EXIT,  # the first boundary whose rows there are, and the first exit from there
) = range(10)  # fmt: skip
"""What the traceback of a job begins with: its rows of both tables, and these."""
WHOLE, NOT_EXPLAINED, TOO_MANY, OUTSIDE = range(4)
"""Whether a chain was followed to its start, and if not, why: the sweep is wrong, there are more
exons than the buffer takes, or rows are needed that are not in memory.
"""
FOLLOWED = 7
"""Numbers that a traceback returns beside exons: one of those, a count, and what is to be followed
next, from `END` to `IS_LAST`.
"""
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
def packed_value(cells, row, column):
    """Return a cell of a stored row that the packed kernel wrote."""
    memory, layout = cells
    at, shift, lifted = _packed_place(layout, row, column)
    return int32(int32(int32(memory[at] << shift) >> int32(16)) + lifted)


@cuda.jit(device=True)
def packed_values(cells, row, column):
    """Return four cells of such a row, from a column on that is a multiple of four."""
    memory, layout = cells
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
def _first_wanted(lists, first, state, left, least):
    """Return S' with which a first exon of `left` nucleotides is entered, `_LOW` if none can be.

    It has `least` nucleotides or more. `first` is the number of the last listed first entry up to
    there; its next value comes second.
    """
    (usual, boundaries, scores), (end, _, value, _, _) = lists.first, state
    score = int64(usual)
    if first >= 0 and boundaries[first] == end - left:
        score, first = int64(scores[first]), int32(first - 1)
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
def _advance(cells, work, scores, state, here, first_wanted, inner):
    """Look at a row of W for entries, and make the next row from it.

    `here` says which half of the buffer the row is in, its first column, its columns by fours,
    the nucleotide, what comes from the lanes behind, and the next lane's first value. `inner`
    is the number of the inner entry, or -1, its row, and what is added to that.
    Return the lane's smallest column at which an exon is entered, twice, plus one for an inner
    entry; W there; and the lane's part of what the next row takes over.
    """
    _, gains, symbols = work
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
            values = packed_values(cells, inner[1], int32(own - 3))
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
def _look_for(lists, rows, cells, work, scores, state, limits, scratch):
    """Find the entry of an exon from a column on, of an exon of at most some nucleotides.

    If chains translate, a first exon begins with a whole codon, and a chain's only exon has two; a
    split codon, and in the last exon another one, ends in the exon.
    """
    (end, column, _, frame, is_last), (acceptors, bonuses, _) = state, lists.acceptors
    (target, gains, symbols), (low, until), (tracks, _, entry_rows) = work, limits, rows
    quads, lane = int32((column - low) // (4 * WARP) + 1), int32(cuda.threadIdx.x)
    _begin(gains, symbols, target, low, quads, column)
    entry = int32(first_from(acceptors, end) - 1)
    first = int32(first_from(lists.first[1], end) - 1)
    inside = int32(tracks * (2 if is_last else 1)) if tracks > 1 else int32(1)
    left, carry, best = int32(0), int32(_LOW), int32(gains[4 * lane])
    first_wanted, inner = int32(_LOW), (int32(-1), int32(0), int32(0))
    while left <= until:
        right = shuffle(max(best, carry), int32(min(lane + 1, WARP - 1)), scratch)
        if lane == WARP - 1:
            right = int32(_LOW)
        nucleotide = int32(lists.codes[max(end - 1 - left, 0)])
        here = left & int32(1) == 0, low, quads, nucleotide, carry, right
        own, gained, best = _advance(cells, work, scores, state, here, first_wanted, inner)
        if any_lane(own < NOT_FOUND):
            found = least_of(own, scratch)
            gained = shuffle(gained, int32(((found >> 1) - low) // (4 * quads)), scratch)
            return found, inner[0], left, gained
        carry, left = _suffix(best, scratch), int32(left + 1)
        split = int32((end - left - frame) % tracks)
        least = int32(NOT_FOUND) if split > 0 else inside
        first_wanted, first = _first_wanted(lists, first, state, left, least)
        inner = int32(-1), int32(0), int32(0)
        if entry >= 0 and acceptors[entry] == end - left:
            if left >= (inside - split if split > 0 else 1):
                bonus = int32(bonuses[entry]) if tracks == 1 else int32(0)
                inner = entry, int32(entry_rows + tracks * entry + split), bonus
            entry = int32(entry - 1)
    return int32(NOT_FOUND), int32(-1), left, int32(0)


@cuda.jit(device=True)
def _find_exon(trace, best_sites, lists, rows, cells, work, scores, state, scratch):
    """Find the entry of an exon.

    Columns too far left for an exon's length are left out: S' at a column is at most what all
    columns before it and all sites can bring. Return the entry's column twice, plus one for an
    inner entry; its number; the exon's nucleotides; and W there. The first is `NOT_FOUND` if
    no entry whose rows are there explains the value at the exon's end.
    """
    end, column, value, _, _ = state
    most = int32(end - trace[LOW])
    if trace[LOW] > 0:  # the exon may begin before a window: a longer one tells
        most = int32(min(most, _LONG_EXON))
    longest, first, lifted = int32(_USUAL_EXON), int32(0), scores[4]
    if lifted > 0:
        first = int32((value - best_sites) // lifted)
    while True:
        low = int32(min(max(first - longest, 0), column) & ~int32(3))  # four cells are loaded
        until = most if low == 0 else min(most, longest)
        found = _look_for(lists, rows, cells, work, scores, state, (low, until), scratch)
        if found[0] < NOT_FOUND or until == most:
            return found
        longest = int32(4 * longest)


_joins = cuda.jit(device=True)(introns.joins)
_split_class = cuda.jit(device=True)(codons.split_class)
_completes = cuda.jit(device=True)(codons.completes)


@cuda.jit(device=True)
def _explains(lists, stops, donor, kind, surplus, start, joined, split):
    """Return whether an intron of a penalty `surplus` joins a donor and a start.

    `joined` are the first one of the start's junctions and the one behind; `split` the nucleotides
    before the intron of the codon that it splits, -1 if chains do not translate.
    """
    (boundaries, _, kinds), (donors, _, numbers, penalties) = lists.donors, lists.junctions
    end = int32(boundaries[donor])
    found = kinds[donor] == kind and _joins(lists.introns, kind, surplus, end, start)
    for k in range(joined[0], joined[1]):
        found |= donors[numbers[k]] == end and penalties[k] == surplus
    if not found or split < 0:
        return found
    of_codon = _split_class(lists.codes, end, split) if split <= end else int32(0)
    return split <= end and _completes(lists.codes, stops, of_codon, start)


@cuda.jit(device=True)
def _find_exit(first, lists, stops, rows, cells, state, start, entry, gained, scratch):
    """Return the state at the nearest exit that explains an entry; its end is -1 without one.

    `first` is the first exit whose rows are there; `state` that of the exon behind, but for its
    first column.
    """
    (boundaries, scores, _), (tracks, exit_rows, _) = lists.donors, rows
    (_, column, value, frame, _), (_, bonuses, kinds) = state, lists.acceptors
    wanted, kind = int32(value - gained - bonuses[entry]), int32(kinds[entry])
    frame, split = int32(start - frame), int32((start - frame) % FRAMES if tracks > 1 else -1)
    last, starts = int32(first_from(boundaries, start + 1) - 1), lists.junctions.acceptors
    joined = int32(first_from(starts, start)), int32(first_from(starts, start + 1))
    while last >= first:
        donor, found = int32(last - cuda.threadIdx.x), int32(NOT_FOUND)
        if donor >= first:
            row = int32(tracks * donor + (boundaries[donor] - frame) % tracks - exit_rows)
            surplus = int32(packed_value(cells, row, column) + scores[donor] - wanted)
            if _explains(lists, stops, donor, kind, surplus, start, joined, split):
                found = int32(cuda.threadIdx.x)
        if any_lane(found < NOT_FOUND):
            donor = int32(last - least_of(found, scratch))
            end = int32(boundaries[donor])
            track = int32((end - frame) % tracks)
            row = int32(tracks * donor + track - exit_rows)
            return end, column, packed_value(cells, row, column), track, False
        last = int32(last - WARP)
    return int32(-1), column, value, frame, False


@cuda.jit(device=True)
def _follow(trace, job, strand, lists, stops, memory, work, scoring, exons, followed):
    """Follow the chain of a job back; write its exons, and what `FOLLOWED` says."""
    # a line each: the simulator tells shared arrays apart by it
    scratch = cuda.shared.array(WARP, int32)
    table = cuda.shared.array(GAP, int32)
    for k in range(cuda.threadIdx.x, GAP, WARP):
        table[k] = scoring[k]
    sync_lanes()
    cells, n = (memory, packed_layout(job)), int32(0)
    tracks = int32(strand[TRACKS])
    rows = (
        tracks, int32(tracks * job[job_table.EXIT_BASE]),
        int32(tracks * len(lists.donors[0]) - job[job_table.COPY_BASE]),
    )  # fmt: skip
    scores = table, scoring[GAP], scoring[FREE] != 0, scoring[COST], scoring[MOST]
    end, column = int32(trace[END]), int32(trace[COLUMN])
    value, frame = int32(trace[VALUE]), int32(trace[FRAME])
    state, first_exit = (end, column, value, frame, trace[IS_LAST] != 0), int32(trace[FIRST_EXIT])
    left_out = OUTSIDE if trace[LOW] > 0 else NOT_EXPLAINED
    why = int32(TOO_MANY)
    while n < len(exons):
        found, entry, left, gained = _find_exon(
            trace, strand[BEST_SITES], lists, rows, cells, work, scores, state, scratch
        )
        if found == NOT_FOUND:
            why = int32(left_out)
            break
        start, column = int32(state[0] - left), int32(found >> 1)
        if cuda.threadIdx.x == 0:
            exons[n, 0], exons[n, 1] = start, state[0]
            exons[n, 2], exons[n, 3] = column, state[1]
        before = state[0], column, state[2], state[3], state[4]
        if found & 1:
            before = _find_exit(
                first_exit, lists, stops, rows, cells, before, start, entry, gained, scratch
            )
            if before[0] < 0:
                why = int32(left_out)
                break
        n, state = int32(n + 1), before
        if found & 1 == 0:
            why = int32(WHOLE)
            break
    if cuda.threadIdx.x == 0:
        followed[0], followed[1], followed[2], followed[3] = why, n, state[0], state[1]
        followed[4], followed[5], followed[6] = state[2], state[3], int32(state[4])


@kernel()
def trace_packed_warp(
    traces, jobs, strands, sites, codes, classes, counts, stops, targets, scoring, memory, gains,
    symbols, exons, followed,
):  # fmt: skip
    """Follow the chain of a job that the packed kernel swept; a thread block is one warp."""
    k = cuda.blockIdx.x
    trace = traces[k]
    job, strand = jobs[trace[JOB]], strands[trace[STRAND]]
    lists, _ = lists_on_gpu(strand, sites, codes, classes, counts)
    target, first = targets[job[job_table.TARGET] :], trace[GAINS]
    work = target, gains[2 * first :], symbols[first:]
    _follow(
        trace, job, strand, lists, stops[trace[STRAND]], memory, work, scoring, exons[k],
        followed[k],
    )  # fmt: skip
