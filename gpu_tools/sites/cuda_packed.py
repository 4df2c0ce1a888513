"""The packed sweep of site mode on a GPU: lanes own target columns, a warp works on one row.

A warp holds a strip of columns, two int16 cells a register: virtual lane v (two a lane) owns
neighbouring columns. All lanes work on the same boundary, so that what is special about it is so
for all of them. A row is computed in each virtual lane as if nothing came from the columns before
its own; then a prefix maximum over their last columns gives what each must be raised to, the
*carry*, which joins the row when that is next read. It also takes a first exon's beginning along,
which raises all columns alike; and it is what the next row has to its upper left.

Strips of one job run one behind the other, see `gpu_tools.sites.cuda_strips`.
"""

from __future__ import annotations

from functools import cache

from numba import cuda, int32, int64, uint32

from gpu_tools.device import simulated
from gpu_tools.ptx import WARP, load4, max2, permute, shuffle
from gpu_tools.ptx_rows import (
    advanced,
    at_least,
    filled,
    foreseen,
    load_words,
    plus,
    prefetch,
    raised,
    store_word_if,
    store_words,
)
from gpu_tools.sites.cuda_program import (
    BEGIN,
    BEST_EXIT,
    CHANGES,
    CLEAR,
    IN_REGISTERS,
    LAST,
    LEAVE,
    RAISE,
    SPECIAL,
)
from gpu_tools.sites.cuda_strips import (
    NEVER,
    await_word,
    begin_strip,
    corner,
    maximum_before,
    own_selectors,
    peek,
)

HOT_PLACES = {1: 4, 2: 3} if simulated() else {4: 92, 8: 46, 16: 5, 24: 4}
"""Registers of cells a lane that the kernel is compiled for, and places in shared memory then.

Strips for long bases have so many that few warps share a multiprocessor with them.
"""
WIDEST_AHEAD = 1 if simulated() else 8
"""Registers of cells a lane up to which rows are computed ahead of their carries."""
OUTSIDE = 5
"""Byte of the words of lifted scores for columns without a symbol; 4 is for ambiguous symbols."""

# columns of the job table
FLOOR, ROWS, STRIPS, COUNT = range(4)
BOUNDARIES, OPERATIONS, SELECTORS, CELLS, STRIDE, BORDERS = range(4, 10)
# elements of the scoring, then the words by base symbol, then by lane what it does at borders
GAP, EXTRA, WORDS = range(3)
LANES = 8

_SWAPPED, _LOW_TWICE, _HIGH_TWICE, _LOWS, _SECOND_THEN_LOW = 0x1032, 0x1010, 0x3232, 0x5410, 0x1054


@cuda.jit(device=True)
def _parts(job, strip, strip_words, buffers):
    """Return a strip's boundaries, operations, selectors, rows, and the borders around it."""
    boundaries, operations, selectors, memory = buffers
    n_rows = job[ROWS]
    before = job[BORDERS] + max(strip - 1, 0) * n_rows
    return (
        boundaries[job[BOUNDARIES] :], operations[job[OPERATIONS] :],
        selectors[job[SELECTORS] + strip * strip_words :],
        memory[job[CELLS] + strip * job[STRIDE] :],
        memory[before : before + n_rows], memory[job[BORDERS] + strip * n_rows :],
    )  # fmt: skip


def _make_operate(size):
    """Return the device function that carries out a boundary's operations."""
    load, stride, hot_places = load_words(size), size * WARP, HOT_PLACES[size]

    @cuda.jit(device=True)
    def fetch(place, stored, lane):
        hot, cells = stored
        if place < hot_places:
            return load(hot, uint32(place * stride + lane), uint32(WARP))
        return load(cells, uint32((place - hot_places) * stride + lane), uint32(WARP))

    @cuda.jit(device=True)
    def keep(place, stored, lane, row):
        hot, cells = stored
        if place < hot_places:
            store_words(hot, uint32(place * stride + lane), uint32(WARP), row)
        else:
            store_words(cells, uint32((place - hot_places) * stride + lane), uint32(WARP), row)

    @cuda.jit(device=True)
    def operate(row, todo, following, stored, lane, floor):
        """Return the row after a boundary's operations, and what follows them.

        `following` is the next operation, loaded ahead, and the number of the one after it.
        """
        operation, n = following
        hot, _ = stored
        while True:
            code, to, source, bonus = operation
            operation, n = load4(todo, n * 4), int32(n + 1)
            kind, bonus = code & int32(LAST - 1), permute(bonus, bonus, int32(_LOW_TWICE))
            if kind == LEAVE:
                keep(to, stored, lane, plus(row, bonus))
                best = load(hot, uint32(BEST_EXIT * stride + lane), uint32(WARP))
                best = raised(best, row, bonus)
                store_words(hot, uint32(BEST_EXIT * stride + lane), uint32(WARP), best)
            elif kind == RAISE:
                other = fetch(source, stored, lane)
                if to == IN_REGISTERS:
                    row = raised(row, other, bonus)
                else:
                    keep(to, stored, lane, raised(fetch(to, stored, lane), other, bonus))
            elif kind == BEGIN:
                row = at_least(row, bonus)
            elif kind == CLEAR:
                keep(to, stored, lane, filled(row, floor))
            elif source == IN_REGISTERS:
                keep(to, stored, lane, row)
            else:
                keep(to, stored, lane, fetch(source, stored, lane))
            if code & int32(LAST):
                return row, (operation, n)

    return operate


def _make_sweep(size):
    operate, load = _make_operate(size), load_words(size)
    strip_words, hot_words = size * WARP, HOT_PLACES[size] * size * WARP

    @cuda.jit
    def sweep_strips_warp(jobs, strips, boundaries, operations, selectors, memory, scoring):
        """Sweep strips of jobs, as long as there are any; a block is one warp.

        A strip needs only strips that were begun before it, so a warp that waits always waits for
        one that runs.

        Parameters
        ----------
        jobs : int64 array, shape (J, 10)
            Floor, numbers of boundaries, strips and operations, where the job's parts lie.
        strips : int32 array, shape (S + 1, 2)
            Job and strip, in the order in which they are begun; how many are begun stands last.
        boundaries : int32 array
            Of each boundary: symbol, `SPECIAL`, the first entry's score in the upper half.
        operations : int32 array
            See `gpu_tools.sites.cuda_program`.
        selectors : int32 array
            Of each strip, word and lane: the bytes that look the columns' lifted scores up.
        memory : int32 array
            Of each strip and boundary the border words, all `NEVER`, then of each strip the rows
            in places behind the hot ones; both are written.
        scoring : int32 array
            Gap twice, bytes 4 to 7 of the words of lifted scores, the words by symbol, what
            `lane_selectors` says.
        """
        scratch = cuda.shared.array(WARP, int32)
        hot = cuda.shared.array(hot_words, int32)
        lane = int32(cuda.threadIdx.x)
        last_lane, lane_bytes = int32(lane == WARP - 1), own_selectors(scoring[LANES:], lane)
        gap, extra = scoring[uint32(GAP)], scoring[uint32(EXTRA)]
        while True:
            k = begin_strip(strips, scratch)
            if k < 0:
                return
            job, strip = jobs[strips[k, 0]], strips[k, 1]
            n_rows, floor, count = int32(job[ROWS]), int32(job[FLOOR]), int32(job[COUNT])
            infos, todo, looked_up, cells, arriving, leaving = _parts(
                job, strip, strip_words, (boundaries, operations, selectors, memory)
            )
            chosen = load(looked_up, uint32(lane), uint32(WARP))
            row, following = filled(chosen, floor), (load4(todo, 0), int32(1))
            carry, diagonal, stored = floor, floor, (hot, cells)
            info, seen = infos[min(lane, n_rows - 1)], peek(arriving, strip, lane)
            for first in range(int32(0), n_rows, int32(WARP)):
                here, at = info, int32(first + lane)
                info = infos[min(int32(at + WARP), int32(n_rows - 1))]
                word = scoring[uint32((here & 7) + WORDS)]
                border = await_word(arriving, strip, at, seen, floor)
                seen = peek(arriving, strip, int32(at + WARP))
                prefetch(todo, uint32(min(int32(following[1] + lane), int32(count - 1)) * 4))
                for k in range(min(int32(WARP), int32(n_rows - first))):
                    code, came = shuffle(here, k, scratch), shuffle(border, k, scratch)
                    words = (shuffle(word, k, scratch), extra)
                    row = advanced(row, chosen, words, diagonal, carry, floor, gap)
                    last = row[size - 1]
                    both = max2(last, permute(last, last, int32(_SWAPPED)))
                    before = maximum_before(both, came, lane_bytes, scratch)
                    own = permute(last, int32(NEVER), int32(_SECOND_THEN_LOW))
                    begins = permute(code, code, int32(_HIGH_TWICE))
                    settled, carry = max2(before, own), max2(before, max2(own, begins))
                    arrived = max2(before, both)
                    diagonal, left_behind = carry, max2(arrived, begins)
                    if code & int32(SPECIAL):
                        row = at_least(row, settled)
                        row, following = operate(row, todo, following, stored, lane, floor)
                        if code & int32(CHANGES):
                            last, carry = row[size - 1], max2(floor, begins)
                            diagonal = corner(last, begins, came, lane_bytes, scratch)
                            left_behind = max2(permute(last, last, int32(_HIGH_TWICE)), begins)
                    out = permute(left_behind, arrived, int32(_LOWS))
                    store_word_if(leaving, uint32(first + k), out, last_lane)

    return sweep_strips_warp


def _make_foreseeing_sweep(size):
    operate, load = _make_operate(size), load_words(size)
    strip_words, hot_words = size * WARP, HOT_PLACES[size] * size * WARP

    @cuda.jit
    def sweep_strips_ahead_warp(jobs, strips, boundaries, operations, selectors, memory, scoring):
        """Do what `sweep_strips_warp` does, but compute rows while the carries before are found.

        What a row owes to its carry is the carry plus gains that do not depend on it. So only
        the lanes' last columns wait for the carry, and a row takes no longer than to find it.
        """
        scratch = cuda.shared.array(WARP, int32)
        hot = cuda.shared.array(hot_words, int32)
        lane = int32(cuda.threadIdx.x)
        last_lane, lane_bytes = int32(lane == WARP - 1), own_selectors(scoring[LANES:], lane)
        gap, extra = scoring[uint32(GAP)], scoring[uint32(EXTRA)]
        while True:
            k = begin_strip(strips, scratch)
            if k < 0:
                return
            job, strip = jobs[strips[k, 0]], strips[k, 1]
            n_rows, floor, count = int32(job[ROWS]), int32(job[FLOOR]), int32(job[COUNT])
            infos, todo, looked_up, cells, arriving, leaving = _parts(
                job, strip, strip_words, (boundaries, operations, selectors, memory)
            )
            chosen = load(looked_up, uint32(lane), uint32(WARP))
            row, gains = filled(chosen, floor), filled(chosen, gap)
            carry, stored, following = floor, (hot, cells), (load4(todo, 0), int32(1))
            info, seen = infos[min(lane, n_rows - 1)], peek(arriving, strip, lane)
            symbol = infos[min(int32(lane + 1), int32(n_rows - 1))] & 7
            for first in range(int32(0), n_rows, int32(WARP)):
                here, at, word = info, int32(first + lane), scoring[uint32(symbol + WORDS)]
                info = infos[min(int32(at + WARP), int32(n_rows - 1))]
                symbol = infos[min(int32(at + WARP + 1), int32(n_rows - 1))] & 7
                border = await_word(arriving, strip, at, seen, floor)
                seen = peek(arriving, strip, int32(at + WARP))
                prefetch(todo, uint32(min(int32(following[1] + lane), int32(count - 1)) * 4))
                for k in range(min(int32(WARP), int32(n_rows - first))):
                    code, came = shuffle(here, k, scratch), shuffle(border, k, scratch)
                    words = (shuffle(word, k, scratch), extra)
                    row = raised(row, gains, carry)
                    last = row[size - 1]
                    both = max2(last, permute(last, last, int32(_SWAPPED)))
                    following_row, gains = foreseen(row, chosen, words, floor, gap)
                    before = maximum_before(both, came, lane_bytes, scratch)
                    own = permute(last, int32(NEVER), int32(_SECOND_THEN_LOW))
                    begins = permute(code, code, int32(_HIGH_TWICE))
                    settled, carry = max2(before, own), max2(before, max2(own, begins))
                    arrived = max2(before, both)
                    left_behind = max2(arrived, begins)
                    if code & int32(SPECIAL):
                        row = at_least(row, settled)
                        row, following = operate(row, todo, following, stored, lane, floor)
                        if code & int32(CHANGES):
                            last, carry = row[size - 1], max2(floor, begins)
                            upper_left = corner(last, begins, came, lane_bytes, scratch)
                            left_behind = max2(permute(last, last, int32(_HIGH_TWICE)), begins)
                            following_row = advanced(
                                row, chosen, words, upper_left, carry, floor, gap
                            )
                    row = following_row
                    out = permute(left_behind, arrived, int32(_LOWS))
                    store_word_if(leaving, uint32(first + k), out, last_lane)

    return sweep_strips_ahead_warp


@cache
def sweep_of(size: int):
    """Return the kernel for strips of `size` registers a lane: narrow ones are for long bases."""
    return (_make_foreseeing_sweep if size <= WIDEST_AHEAD else _make_sweep)(size)


@cuda.jit
def find_ends_thread(jobs, last_exits, memory, ends):
    """Find the best end of each job; block (x, y) looks at boundaries of job x.

    Parameters
    ----------
    jobs : int64 array, shape (J, 10)
    last_exits : int32 array
        Of each job, by boundary: the score of a last exit.
    memory : int32 array
        As the sweep left it.
    ends : int64 array, shape (J,)
        Raised to the best S' at the last column, shifted up by 32 bits, less its boundary: so the
        first of equals wins.
    """
    own = int32(cuda.blockIdx.x)
    job = jobs[own]
    n_rows = int32(job[ROWS])
    column = memory[job[BORDERS] + (job[STRIPS] - 1) * n_rows :]
    scores = last_exits[job[BOUNDARIES] :]
    best = int64(-(2**62))
    first = int32(cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x)
    for i in range(first, n_rows, int32(cuda.gridDim.y * cuda.blockDim.x)):
        score = int64(int32(column[uint32(i)] >> int32(16)) + scores[uint32(i)])
        best = max(best, (score << 32) - int64(i))
    cuda.atomic.max(ends, own, best)
