"""The 32-bit sweep of site mode on a GPU, for what the packed one cannot take.

That is: chains that translate, free ends, wide scores, GPUs before compute capability 9.0. All rows
lie in memory, in numbered places (see `gpu_tools.sites.cuda_program`), also the current ones, of
which chains that translate have three. As in the packed sweep a warp holds a strip of columns, all
its lanes work on the same boundary, and strips of a job run one behind the other.
"""

from __future__ import annotations

from numba import cuda, int32, int64, uint32

from gpu_tools.device import simulated
from gpu_tools.ptx import WARP, load4, shuffle, shuffle_up, shuffle_up_by
from gpu_tools.ptx_rows import load_word, store_word
from gpu_tools.scoring import N_SYMBOLS
from gpu_tools.sites.cuda_program import (
    ADVANCE,
    CLEAR,
    FINAL,
    LAST,
    NO_SYMBOL,
    PUT,
    SPECIAL,
)
from gpu_tools.sites.cuda_strips import begin_strip
from gpu_tools.spliced import core

COLUMNS_PER_LANE = 2 if simulated() else 8
STRIP = WARP * COLUMNS_PER_LANE
"""Columns of a strip, and words of a place."""
NEVER_BYTE = 0x80
NEVER = int64(-0x7F7F7F7F7F7F7F80)
"""A border word that is not there yet."""
LOWEST = -(2**31)

# columns of the job table: counts, first places, where the job's parts begin in the buffers
FLOOR, ROWS, STRIPS, ADVANCES, TRACKS, COLUMNS, ROW, START = range(8)
BOUNDARIES, OPERATIONS, TARGET, CELLS, STRIDE, BORDERS, ENDS = range(8, 15)
# elements of the scoring
GAP = N_SYMBOLS * N_SYMBOLS
FREE = GAP + 1
# what a lane says of its best end
SCORE, BOUNDARY, COLUMN = range(3)

cell = cuda.jit(device=True)(core.cell)
empty_chain = cuda.jit(device=True)(core.empty_chain)


@cuda.jit(device=True)
def _border(strip, number, word, advances, arriving, scratch):
    """Return the border words of a warp's advances around `number`, and that of `number` itself.

    Lane k holds the word of the k-th of each so many advances, and waits for it.
    """
    if strip > 0 and number & int32(WARP - 1) == 0:
        at = uint32(min(int32(number + cuda.threadIdx.x), int32(advances - 1)))
        word = load_word(arriving, at)
        while word == NEVER:
            word = load_word(arriving, at)
    return word, shuffle(word, int32(number & int32(WARP - 1)), scratch)


@cuda.jit(device=True)
def _advance(cells, at, lifted, target, border, floor, gap, scratch):
    """Move a row on by one base; return its last column before and after, as a border word.

    `cells` from `at` on are the lane's; `lifted` are the scores of the base by target symbol.
    """
    row = cuda.local.array(COLUMNS_PER_LANE, int32)
    for c in range(COLUMNS_PER_LANE):
        row[c] = cells[uint32(at + c * WARP)]
    last, left = row[COLUMNS_PER_LANE - 1], floor
    diagonal, before = shuffle_up(last, scratch), int32(0)
    if cuda.threadIdx.x == 0:
        diagonal = int32(border)
    for c in range(COLUMNS_PER_LANE):
        up = row[c]
        left = cell(diagonal, up, left, lifted[target[c]], gap)
        row[c] = left
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
        cells[uint32(at + c * WARP)] = max(row[c], before)
    return (int64(max(left, before)) << int64(32)) | (int64(last) & int64(0xFFFFFFFF))


@cuda.jit(device=True)
def _raise(cells, to, source, bonus):
    """Raise the lane's columns of a row to another one plus a bonus."""
    for c in range(COLUMNS_PER_LANE):
        value = int32(cells[uint32(source + c * WARP)] + bonus)
        cells[uint32(to + c * WARP)] = max(value, cells[uint32(to + c * WARP)])


@cuda.jit(device=True)
def _put(cells, to, source, bonus):
    """Set the lane's columns of a row to another one plus a bonus."""
    for c in range(COLUMNS_PER_LANE):
        cells[uint32(to + c * WARP)] = int32(cells[uint32(source + c * WARP)] + bonus)


@cuda.jit(device=True)
def _fill(cells, to, value):
    for c in range(COLUMNS_PER_LANE):
        cells[uint32(to + c * WARP)] = value


@cuda.jit(device=True)
def _find_end(cells, at, columns, gap, boundary, bonus, best):
    """Take the lane's best final column of a row if it beats `best`; the first of equals."""
    first, low, high = columns
    for c in range(COLUMNS_PER_LANE):
        column = int32(first + c)
        if column >= low and column <= high:
            score = int32(cells[uint32(at + c * WARP)] + gap * column + bonus)
            if score > best[SCORE]:
                best[SCORE], best[BOUNDARY], best[COLUMN] = score, boundary, column


@cuda.jit
def sweep_strips_warp(jobs, strips, numbers, targets, cells, borders, ends, scoring):
    """Sweep strips of jobs, as long as there are any; a block is one warp.

    Parameters
    ----------
    jobs : int64 array, shape (J, 15)
        Counts and places of each job, see the constants of this module.
    strips : int32 array, shape (S + 1, 2)
        Job and strip, in the order in which they are begun; how many are begun stands last.
    numbers : int32 array
        Boundaries and operations of all jobs, see `gpu_tools.sites.cuda_program`.
    targets : uint8 array
        Target symbols by column of each job, padded to whole strips.
    cells : int32 array
        Of each strip, by place, word and lane: the rows, written.
    borders : int64 array, all `NEVER`
        Of each strip and advance, its last column before and after; written.
    ends : int32 array, shape (strips, WARP, 3)
        Score, boundary and column of the best end of each strip and lane; written.
    scoring : int32 array, shape (27,)
        Lifted substitution scores, gap, free ends.
    """
    scratch = cuda.shared.array(WARP, int64)
    table = cuda.shared.array(GAP, int32)
    target = cuda.local.array(COLUMNS_PER_LANE, int32)
    best = cuda.local.array(3, int32)
    lane = int32(cuda.threadIdx.x)
    for k in range(lane, GAP, WARP):
        table[k] = scoring[k]
    cuda.syncthreads()
    gap, free = scoring[GAP], scoring[FREE] != 0
    while True:
        k = begin_strip(strips, scratch)
        if k < 0:
            return
        job, strip = jobs[strips[k, 0]], strips[k, 1]
        n_rows, tracks, floor = int32(job[ROWS]), int32(job[TRACKS]), int32(job[FLOOR])
        advances, high = int32(job[ADVANCES]), int32(job[COLUMNS] - 1)
        infos, todo = numbers[job[BOUNDARIES] :], numbers[job[OPERATIONS] :]
        own = cells[job[CELLS] + strip * job[STRIDE] :]
        leaving = borders[job[BORDERS] + strip * advances :]
        arriving = borders[job[BORDERS] + max(strip - 1, 0) * advances :]
        column, row = int32(strip * STRIP + lane * COLUMNS_PER_LANE), int32(job[ROW])
        columns = (column, int32(0) if free else high, high)
        for c in range(COLUMNS_PER_LANE):
            target[c] = targets[job[TARGET] + column + c]
            start = empty_chain(int32(column + c), gap, free)
            own[uint32(job[START] * STRIP + c * WARP + lane)] = start
        best[SCORE], best[BOUNDARY], best[COLUMN] = int32(LOWEST), int32(0), int32(0)
        word = (int64(floor) << int64(32)) | (int64(floor) & int64(0xFFFFFFFF))
        n, number = int32(0), int32(0)
        # numbers are read ahead: memory is too far away to wait for them
        following, next_info = load4(todo, 0), infos[0]
        for i in range(n_rows):
            info, next_info = next_info, infos[uint32(min(int32(i + 1), int32(n_rows - 1)))]
            symbol = int32(info & int32(SPECIAL - 1))
            if symbol != NO_SYMBOL:
                for track in range(tracks):
                    word, border = _border(strip, number, word, advances, arriving, scratch)
                    at = int32((row + track) * int32(STRIP) + lane)
                    lifted = table[symbol * N_SYMBOLS :]
                    out = _advance(own, at, lifted, target, border, floor, gap, scratch)
                    if lane == WARP - 1:
                        store_word(leaving, uint32(number), out)
                    number += int32(1)
            more = info & int32(SPECIAL)
            while more:
                code, to, source, bonus = following
                kind, n = int32(code & int32(LAST - 1)), int32(n + 1)
                following = load4(todo, n * 4)
                at = int32(to * int32(STRIP) + lane)
                other = int32(source * int32(STRIP) + lane)
                if kind == CLEAR:
                    _fill(own, at, floor)
                elif kind == FINAL:
                    _find_end(own, at, columns, gap, source, bonus, best)
                elif kind == ADVANCE:
                    word, border = _border(strip, number, word, advances, arriving, scratch)
                    lifted = table[source * N_SYMBOLS :]
                    out = _advance(own, at, lifted, target, border, floor, gap, scratch)
                    if lane == WARP - 1:
                        store_word(leaving, uint32(number), out)
                    number += int32(1)
                elif kind == PUT:
                    _put(own, at, other, bonus)
                else:
                    _raise(own, at, other, bonus)
                more = int32(code & int32(LAST)) == 0
        for k in range(3):
            ends[job[ENDS] + strip, lane, k] = best[k]
