"""The 32-bit sweep of site mode on a GPU, for what the packed one cannot take.

That is: chains that translate with introns below three nucleotides, large scores, tables with many
rows at a time, and GPUs before compute capability 9.0. All rows lie in memory, in numbered slots
(see `gpu_tools.sites.gpu.row_plan`), also the current ones, of which chains that translate have
three. A warp holds a strip of columns. Its lanes work on the same boundary, and strips of a job run
one behind the other.
"""

from __future__ import annotations

from numba import cuda, int32, int64, uint32

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.rows import load_word, store_word
from gpu_tools.hardware.gpu.intrinsics.words import (
    WARP,
    kernel,
    load4,
    shuffle,
    shuffle_up,
    shuffle_up_by,
)
from gpu_tools.model.scoring import N_SYMBOLS
from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.gpu.job_table import (
    ADVANCES,
    BORDERS,
    BOUNDARIES,
    CELLS,
    COLUMN,
    COLUMNS,
    ENDS,
    FLOOR,
    KEPT,
    LOWEST_SCORE,
    NUMBER,
    OPERATIONS,
    ROW,
    ROWS,
    SCORE,
    SLOTS,
    START,
    STRIDE,
    TARGET,
    TRACKS,
)
from gpu_tools.sites.gpu.packed_strip import begin_strip
from gpu_tools.sites.gpu.row_plan import LAST, NO_SYMBOL, SPECIAL
from gpu_tools.sites.introns import ADVANCE, CLEAR, FINAL, LOWER, PUT
from gpu_tools.splicing import recurrence as core
from gpu_tools.splicing.recurrence_gpu import cell

COLUMNS_PER_LANE = 2 if simulated() else 8
STRIP = WARP * COLUMNS_PER_LANE
"""Columns of a strip, and words of a slot."""
SHARED_SLOTS = 6 if simulated() else 13
"""The first so many slots lie in shared memory until the strip is done.

They have what changes at every nucleotide, all current rows and the empty chain's among them.
Global memory is written through to the L2 cache, which cannot take the rows of as many strips as a
multiprocessor could compute.
"""
_SHARED_WORDS = SHARED_SLOTS * STRIP
NEVER_PAIR = int64(-0x7F7F7F7F7F7F7F80)
"""A pair of border words that is not there yet."""
_NOT_FINAL = -3 * 2**29
"""Makes less of any cell than a final one can be, in 32 bits."""

# elements of the scoring
GAP = N_SYMBOLS * N_SYMBOLS
FREE = GAP + 1
MOST = GAP + 2
COST = GAP + 3

clipped_chain = cuda.jit(device=True)(core.clipped_chain)


@cuda.jit(device=True)
def _border(strip, number, word, advances, arriving, scratch):
    """Return the border words of a warp's advances around `number`, and that of `number` itself.

    Lane k holds the word of the k-th of each so many advances, and waits for it.
    """
    if strip > 0 and number & int32(WARP - 1) == 0:
        at = uint32(min(int32(number + cuda.threadIdx.x), int32(advances - 1)))
        word = load_word(arriving, at)
        while word == NEVER_PAIR:
            word = load_word(arriving, at)
    return word, shuffle(word, int32(number & int32(WARP - 1)), scratch)


@cuda.jit(device=True)
def _advance(row, lifted, target, border, floor, gap, scratch):
    """Advance a row by one nucleotide; return its last column before and after, as a border word.

    `row` begins with the lane's first word; `lifted` are the nucleotide's scores by target symbol.
    """
    made = cuda.local.array(COLUMNS_PER_LANE, int32)
    last, left = row[(COLUMNS_PER_LANE - 1) * WARP], floor
    diagonal = shuffle_up(last, scratch)
    if cuda.threadIdx.x == 0:
        diagonal = int32(border)
    for c in range(COLUMNS_PER_LANE):
        up = row[c * WARP]
        left = cell(diagonal, up, left, lifted[target[c]], gap)
        made[c] = left
        diagonal = up
    before = shuffle_up(left, scratch)
    if cuda.threadIdx.x == 0:
        before = int32(border >> int64(32))
    before = max(before, shuffle_up_by(before, 1, scratch))
    before = max(before, shuffle_up_by(before, 2, scratch))
    before = max(before, shuffle_up_by(before, 4, scratch))
    before = max(before, shuffle_up_by(before, 8, scratch))
    before = max(before, shuffle_up_by(before, 16, scratch))
    for c in range(COLUMNS_PER_LANE):
        row[c * WARP] = max(made[c], before)
    return (int64(max(left, before)) << int64(32)) | (int64(last) & int64(0xFFFFFFFF))


@cuda.jit(device=True)
def _advance_next(row, lifted, number, word, strip, target, fixed):
    """Do the strip's advance of a number with a row; return the border words."""
    advances, arriving, leaving, floor, gap, scratch = fixed
    word, border = _border(strip, number, word, advances, arriving, scratch)
    out = _advance(row, lifted, target, border, floor, gap, scratch)
    if cuda.threadIdx.x == WARP - 1:
        store_word(leaving, uint32(number), out)
    return word


@cuda.jit(device=True)
def _begin_columns(job, column, symbols, scoring, start, target, drops):
    """Set the lane's part of the empty chain's row, its target symbols, what final columns drop.

    Return whether one of its columns is final.
    """
    gap, free, high = scoring[GAP], scoring[FREE] != 0, int32(job[COLUMNS] - 1)
    low, cost, kept = int32(0) if free else high, scoring[COST], int32(job[KEPT])
    for c in range(COLUMNS_PER_LANE):
        own = int32(column + c)
        target[c] = int32(symbols[own - 1]) if own >= 1 and own <= high else int32(OTHER)
        start[c * WARP] = clipped_chain(own, gap, free, cost)
        drops[c] = int32(gap * own) if own >= low and own <= high else int32(_NOT_FINAL)
        if own < kept:
            drops[c] = int32(drops[c] - cost)
    return column <= high and column + COLUMNS_PER_LANE > low


@cuda.jit(device=True)
def _change(row, other, kind, bonus, floor):
    """Clear the lane's columns of a row, or set, lower or raise them by another one's."""
    if kind == CLEAR:
        for c in range(COLUMNS_PER_LANE):
            row[c * WARP] = floor
    elif kind == PUT:
        for c in range(COLUMNS_PER_LANE):
            row[c * WARP] = int32(other[c * WARP] + bonus)
    elif kind == LOWER:
        for c in range(COLUMNS_PER_LANE):
            row[c * WARP] = max(int32(other[c * WARP] + bonus), floor)
    else:
        for c in range(COLUMNS_PER_LANE):
            row[c * WARP] = max(int32(other[c * WARP] + bonus), row[c * WARP])


@cuda.jit(device=True)
def _find_end(row, drops, first, boundary, bonus, best):
    """Take the lane's best final column of a row if it beats `best`; the first of equals."""
    most = int32(LOWEST_SCORE)
    for c in range(COLUMNS_PER_LANE):
        most = max(most, int32(row[c * WARP] + drops[c]))
    if int32(most + bonus) > best[SCORE]:
        best[SCORE], best[NUMBER] = int32(most + bonus), boundary
        for c in range(COLUMNS_PER_LANE - 1, -1, -1):
            if int32(row[c * WARP] + drops[c]) == most:
                best[COLUMN] = int32(first + c)


@kernel()
def sweep32_warp(jobs, strips, boundaries, operations, targets, cells, borders, ends, scoring):
    """Sweep strips of jobs, as long as there are any; a thread block is one warp."""
    scratch = cuda.shared.array(WARP, int64)
    table = cuda.shared.array(GAP, int32)
    hot = cuda.shared.array(_SHARED_WORDS, int32)
    target = cuda.local.array(COLUMNS_PER_LANE, int32)
    drops = cuda.local.array(COLUMNS_PER_LANE, int32)
    best = cuda.local.array(3, int32)
    lane = int32(cuda.threadIdx.x)
    for k in range(lane, GAP, WARP):
        table[k] = scoring[k]
    cuda.syncthreads()
    while True:
        k = begin_strip(strips, scratch)
        if k < 0:
            return
        job, strip = jobs[strips[k, 0]], strips[k, 1]
        n_rows, tracks, floor = int32(job[ROWS]), int32(job[TRACKS]), int32(job[FLOOR])
        advances, current = int32(job[ADVANCES]), int32(job[ROW])
        infos, todo = boundaries[job[BOUNDARIES] :], operations[job[OPERATIONS] :]
        own = cells[job[CELLS] + strip * job[STRIDE] :]
        leaving = borders[job[BORDERS] + strip * advances :]
        arriving = borders[job[BORDERS] + max(strip - 1, 0) * advances :]
        fixed = (advances, arriving, leaving, floor, scoring[GAP], scratch)
        column = int32(strip * STRIP + lane * COLUMNS_PER_LANE)
        start, symbols = hot[job[START] * STRIP + lane :], targets[job[TARGET] :]
        ends_here = _begin_columns(job, column, symbols, scoring, start, target, drops)
        best[SCORE], best[NUMBER], best[COLUMN] = int32(LOWEST_SCORE), int32(0), int32(0)
        word = (int64(floor) << int64(32)) | (int64(floor) & int64(0xFFFFFFFF))
        n, number = int32(0), int32(0)
        # both are read one ahead: memory is too far away to wait for them
        following, next_info = load4(todo, 0), infos[0]
        for i in range(n_rows):
            info, next_info = next_info, infos[uint32(min(int32(i + 1), int32(n_rows - 1)))]
            symbol = int32(info & int32(SPECIAL - 1))
            if symbol != NO_SYMBOL:
                for track in range(tracks):
                    row = hot[uint32((current + track) * int32(STRIP) + lane) :]
                    lifted = table[symbol * N_SYMBOLS :]
                    word = _advance_next(row, lifted, number, word, strip, target, fixed)
                    number += int32(1)
            more = info & int32(SPECIAL)
            while more:
                code, to, source, bonus = following
                kind, n = int32(code & int32(LAST - 1)), int32(n + 1)
                following = load4(todo, n * 4)
                rows = hot if to < SHARED_SLOTS else own
                row = rows[uint32(to * int32(STRIP) + lane) :]
                if kind == FINAL:
                    if ends_here:
                        _find_end(row, drops, column, source, bonus, best)
                elif kind == ADVANCE:
                    lifted = table[source * N_SYMBOLS :]
                    word = _advance_next(row, lifted, number, word, strip, target, fixed)
                    number += int32(1)
                else:
                    rows = hot if source < SHARED_SLOTS else own
                    other = rows[uint32(source * int32(STRIP) + lane) :]
                    _change(row, other, kind, bonus, floor)
                more = int32(code & int32(LAST)) == 0
        for k in range(lane, min(SHARED_SLOTS, int32(job[SLOTS])) * STRIP, WARP):
            own[uint32(k)] = hot[uint32(k)]
        for k in range(3):
            ends[job[ENDS] + strip, lane, k] = best[k]
