"""The packed sweep of site mode on a GPU: lanes own target columns, a warp works on one row.

A warp holds a strip of columns, two int16 cells a register: virtual lane v (two a lane) owns
neighbouring columns. All lanes work on the same boundary, so that what is special about it is so
for all of them. A row is computed in each virtual lane as if nothing came from the columns before
its own; then a prefix maximum over their last columns gives what each must be raised to, the
*carry*, which joins the row when that is next read. It also takes a first exon's beginning along,
which raises all columns alike; and it is what the next row has to its upper left.

Strips of one job run one behind the other, see `gpu_tools.sites.gpu.strips`.

What a warp does next is put to the vote, though all lanes know it: so the compiler knows too that
they stay together, and neither guards shuffles nor gathers lanes again behind branches.
"""

from __future__ import annotations

from functools import cache

from numba import cuda, int32, int64, uint32

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics import (
    FOUR_WORDS,
    WARP,
    any_lane,
    kernel,
    load4,
    max2,
    permute,
    sync_lanes,
)
from gpu_tools.hardware.gpu.packed_rows import (
    advanced,
    at_least,
    filled,
    load_words,
    store_word,
)
from gpu_tools.sites.gpu.packed_operations import (
    OUTS_AT,
    ROWS_AT,
    first_operations,
    make_operate,
)
from gpu_tools.sites.gpu.program import CHANGES, SPECIAL
from gpu_tools.sites.gpu.strips import (
    NEVER,
    await_word,
    begin_strip,
    corner,
    maximum_before,
    near_maximum,
    own_numbers,
    peek,
)

HOT_PLACES = {1: 4} if simulated() else {16: 13, 24: 8}
"""Registers of cells a lane that the kernel is compiled for, and places in shared memory then.

So many that a multiprocessor holds eight strips, two for each of its four schedulers: more would
add little to the cells a second and much to the time of a row. The loops of all kernels together
take less than 32 kB: with more, instructions have to be fetched anew all the time where kernels of
different widths share a multiprocessor, and rows take up to four times as long.
"""
OUTSIDE = 5
"""Byte of the words of lifted scores for columns without a symbol; 4 is for ambiguous symbols."""

# columns of the job table
FLOOR, ROWS, STRIPS = range(3)
BOUNDARIES, OPERATIONS, SELECTORS, CELLS, STRIDE, BORDERS = range(3, 9)
SIZE, LAST_SIZE = range(9, 11)
# elements of the scoring, then the words by base symbol, then the table of the lanes
GAP, EXTRA, WORDS = range(3)
LANES = 8

_SWAPPED, _HIGH_TWICE, _LOWS, _SECOND_THEN_LOW = 0x1032, 0x3232, 0x5410, 0x1054


@cuda.jit(device=True)
def parts_of(job, strip, buffers):
    """Return a strip's boundaries, operations, selectors, rows, and the borders around it."""
    boundaries, operations, selectors, memory = buffers
    n_rows = job[ROWS]
    before = job[BORDERS] + max(strip - 1, 0) * n_rows
    return (
        boundaries[job[BOUNDARIES] :], operations[job[OPERATIONS] :],
        selectors[job[SELECTORS] + strip * job[SIZE] * WARP :],
        memory[job[CELLS] + strip * job[STRIDE] :],
        memory[before : before + n_rows], memory[job[BORDERS] + strip * n_rows :],
    )  # fmt: skip


@cuda.jit(device=True)
def _largest(last, border):
    """Return the maximum over a lane's last columns and the border."""
    return max2(max2(last, permute(last, last, int32(_SWAPPED))), border)


@cuda.jit(device=True)
def _own(last):
    """Return what a lane's columns are raised to by those of its first virtual lane."""
    return permute(last, int32(NEVER), int32(_SECOND_THEN_LOW))


def _make_step(size, operate):
    """Return device functions: the state of a strip, and what moves it on by a row.

    The state is a row's cells, what the next row has to its upper left, and the carry.
    """

    @cuda.jit(device=True)
    def start(chosen, gap, floor):
        return filled(chosen, floor), floor, floor

    @cuda.jit(device=True)
    def step(state, record, following, fixed):
        row, diagonal, carry = state
        word, came, border, code = record
        begins = permute(code, code, int32(_HIGH_TWICE))
        chosen, extra, gap, floor, lane, numbers, todo, stored, scratch = fixed
        row = advanced(row, chosen, (word, extra), diagonal, carry, floor, gap)
        largest = _largest(row[size - 1], border)
        before = maximum_before(near_maximum(largest, border, numbers, scratch), numbers, scratch)
        own, arrived = _own(row[size - 1]), max2(before, largest)
        carry, left = max2(before, max2(own, begins)), max2(arrived, begins)
        diagonal = carry
        if any_lane(code & int32(SPECIAL) != 0):
            row = at_least(row, max2(before, own))
            row, following = operate(row, todo, following, stored, lane, floor)
            if any_lane(code & int32(CHANGES) != 0):
                last, carry = row[size - 1], max2(floor, begins)
                diagonal = corner(last, begins, came, numbers[0], scratch)
                left = max2(permute(last, last, int32(_HIGH_TWICE)), begins)
        return (row, diagonal, carry), following, permute(left, arrived, int32(_LOWS))

    return start, step


@cache
def sweep_of(size: int):
    """Return the kernel for strips of `size` registers a lane: narrow ones are for long bases."""
    operate, load = make_operate(size, HOT_PLACES[size]), load_words(size)
    start, step = _make_step(size, operate)
    strip_words = size * WARP
    shared_words = ROWS_AT + HOT_PLACES[size] * strip_words

    @kernel(size)
    def sweep_strips_warp(jobs, strips, boundaries, operations, selectors, memory, scoring):
        """Sweep strips of jobs, as long as there are any; a block is one warp.

        A strip needs only strips that were begun before it, so a warp that waits always waits for
        one that runs.

        Parameters
        ----------
        jobs : int64 array, shape (J, 11)
            Floor, numbers of boundaries (a multiple of `WARP`) and strips, where the job's parts
            lie, registers a lane of its strips, and of the last one.
        strips : int32 array, shape (S + 1, 2)
            Job and strip, in the order in which they are begun; how many are begun stands last.
        boundaries : int32 array
            Of each boundary: symbol, `SPECIAL`, the first entry's score in the upper half.
        operations : int32 array
            See `gpu_tools.sites.gpu.program`; the bonus in both halves.
        selectors : int32 array
            Of each strip, word and lane: the bytes that look the columns' lifted scores up.
        memory : int32 array
            Of each strip and boundary the border words, all `NEVER`, then of each strip the rows
            in places behind the hot ones; both are written.
        scoring : int32 array
            Gap twice, bytes 4 to 7 of the words of lifted scores, the words by symbol, what
            `lane_table` says.
        """
        scratch = cuda.shared.array(WARP, int32)
        # one array: the compiler then works its address out once
        shared = cuda.shared.array(shared_words, int32, alignment=FOUR_WORDS)
        lane = int32(cuda.threadIdx.x)
        numbers = own_numbers(scoring[LANES:], lane)
        # all lanes store what they leave to the next, without a branch; the last one's is used
        own_out = uint32(uint32(OUTS_AT) + uint32(numbers[2]))
        gap, extra = scoring[uint32(GAP)], scoring[uint32(EXTRA)]
        while True:
            k = begin_strip(strips, scratch)
            if any_lane(k < 0):
                return
            job, strip = jobs[strips[k, 0]], strips[k, 1]
            n_rows, floor = int32(job[ROWS]), int32(job[FLOOR])
            parts = parts_of(job, strip, (boundaries, operations, selectors, memory))
            infos, todo, looked_up, cells, arriving, leaving = parts
            chosen = load(looked_up, uint32(lane), uint32(WARP))
            fixed = (chosen, extra, gap, floor, lane, numbers, todo, (shared, cells), scratch)
            state = start(chosen, gap, floor)
            following = first_operations(todo, shared, lane)
            info = infos[lane]
            seen = peek(arriving, strip, lane)
            first = int32(0)
            while any_lane(first < n_rows):
                here, at = info, int32(first + lane)
                word = scoring[uint32((here & 7) + WORDS)]
                info = infos[min(int32(at + WARP), int32(n_rows - 1))]
                border = await_word(arriving, strip, at, seen, floor)
                seen = peek(arriving, strip, int32(at + WARP))
                record_at = uint32(4 * lane)
                shared[record_at], shared[record_at + uint32(1)] = word, border
                shared[record_at + uint32(2)] = permute(border, border, int32(_HIGH_TWICE))
                shared[record_at + uint32(3)] = here
                sync_lanes()
                record, k, more = load4(shared, 0), int32(0), True
                while more:
                    # known long before the branch
                    more = any_lane(k < int32(WARP - 1))
                    next_record = load4(shared, 4 * k + 4)
                    state, following, out = step(state, record, following, fixed)
                    shared[own_out + uint32(k)] = out
                    record, k = next_record, int32(k + 1)
                sync_lanes()
                store_word(leaving, uint32(at), shared[uint32(OUTS_AT) + uint32(lane)])
                first = int32(first + WARP)

    return sweep_strips_warp


@cuda.jit
def find_ends_thread(jobs, last_exits, memory, ends):
    """Find the best end of each job; block (x, y) looks at boundaries of job x.

    Parameters
    ----------
    jobs : int64 array, shape (J, 11)
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
