"""The packed sweep of site mode on a GPU: 16-bit cells, each lane a step behind the lane before it.

A warp holds a strip of target columns, two int16 cells a register. The two halves of a lane's
registers are two *virtual lanes*, each with columns side by side. While lane 0 does step t (see
`gpu_tools.sites.gpu.steps`), lane l does step t - l. So what comes from the lane to the left is
there when it is needed, handed on by one shuffle, and no row waits for a maximum over all lanes.
Lanes are at different boundaries at a time, so each step does all that a boundary may need, in the
lane's part of the slots in shared memory.

From lane to lane as from strip to strip goes a word for each boundary: the last column's value with
the exons that are entered there, and without.
"""

from __future__ import annotations

from numba import cuda, int32, int64, uint32

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.rows import (
    at_least,
    copy_quads,
    filled,
    load_quads,
    load_words,
    moved,
    place_of,
    plus_times,
    raised,
    store_quads,
    store_word,
)
from gpu_tools.hardware.gpu.intrinsics.words import (
    FOUR_WORDS,
    WARP,
    address,
    any_lane,
    kernel,
    load4,
    max2,
    permute,
    shuffle_up,
    sync_lanes,
)
from gpu_tools.sites.gpu.job_table import (
    BORDERS,
    BOUNDARIES,
    CELLS,
    FLOOR,
    LAST_SIZE,
    OPERATIONS,
    ROWS,
    SIZE,
    STRIDE,
    STRIPS,
    SYMBOLS,
)
from gpu_tools.sites.gpu.row_plan import NO_SYMBOL
from gpu_tools.sites.gpu.steps import (
    COPY_AT,
    FROM_ROW,
    LATE_AT,
    LEAST,
    LOWEST,
    OLD_AT,
    SOURCE_AT,
    TO_AT,
    ZERO,
)
from gpu_tools.sites.gpu.strips import NEVER, await_word, begin_strip, peek

NARROW, WIDE = 4, 8
"""Registers of cells a lane: of strips for the longest base sequences, and for all others."""
QUAD = 4
"""Neighbouring registers whose words lie side by side in a slot."""
HOT_SLOTS = {NARROW: 14, WIDE: 7} if simulated() else {NARROW: 42, WIDE: 21}
"""Slots in shared memory by registers a lane.

With these a multiprocessor of an H100 or H200 holds eight strips, two for each of its schedulers.
"""
GAP_AT, EXTRA_AT, WORDS_AT, LANES_AT = 0, 1, 2, 8
"""Where the scoring array has: the gap, bytes 4 to 7 of the words of lifted scores, those words by
symbol of the base sequence, and for each lane 0 if it is the last one, else `WARP`.
"""

_LEAST_WORD = -0x7FFF8000
_HIGH_TWICE, _LOW_TWICE, _SECOND_THEN_LOW = 0x3232, 0x1010, 0x1054
_LOW_THEN_SECOND_LOW, _HIGH_THEN_SECOND_HIGH = 0x5410, 0x7632

# shared memory: four quads a step of two groups of steps, border words that come and that go. When
# the last step of a group is done, lanes also load the border words behind the group's. Nobody uses
# them, but they must be none that another lane has written: so a quad lies between.
_QUADS, _RING = 4, 8 * WARP
_BORDERS_AT = _QUADS * _RING
_OUTS_AT = _BORDERS_AT + 2 * WARP + QUAD
_SLOTS_AT = _OUTS_AT + 4 * WARP


@cuda.jit(device=True)
def _parts_of(job, strip, buffers):
    """Return a strip's steps, selectors and cells, and the borders around it."""
    steps, more_of_steps, selectors, memory = buffers
    n_rows = job[ROWS]
    before = job[BORDERS] + max(strip - 1, 0) * n_rows
    return (
        steps[job[BOUNDARIES] :], more_of_steps[job[OPERATIONS] :],
        selectors[job[SYMBOLS] + strip * job[SIZE] * WARP :],
        memory[job[CELLS] + strip * job[STRIDE] :],
        memory[before : before + n_rows], memory[job[BORDERS] + strip * n_rows :],
    )  # fmt: skip


@cuda.jit(device=True)
def _step_of(shared, at):
    """Return a step that lies in shared memory; its quads lie `_RING` apart."""
    return (
        load4(shared, at), load4(shared, at + int32(_RING)),
        load4(shared, at + int32(2 * _RING)), load4(shared, at + int32(3 * _RING)),
    )  # fmt: skip


@cuda.jit(device=True)
def _put_step(shared, at, step):
    """Write a step to shared memory from element `at` on."""
    for quad in step:
        shared[at], shared[at + uint32(1)] = quad[0], quad[1]
        shared[at + uint32(2)], shared[at + uint32(3)] = quad[2], quad[3]
        at += uint32(_RING)


def _make_decode(stride: int):
    """Return the device function that turns a step's words into what lanes can use at once."""

    @cuda.jit(device=True)
    def boundary(symbol, begin, scoring):
        high, cost = scoring[uint32(EXTRA_AT)], scoring[uint32(GAP_AT)]
        if symbol == NO_SYMBOL:
            high, cost = int32(NEVER), int32(0)
        return scoring[uint32(symbol + WORDS_AT)], high, cost, begin

    @cuda.jit(device=True)
    def slot(number):
        return int32((number & int32(127)) * int32(4 * stride))

    @cuda.jit(device=True)
    def decode(words, scoring):
        what, bonuses, others, begins = words
        return (
            boundary(
                int32(what & int32(7)), permute(begins, begins, int32(_LOW_TWICE)), scoring
            ),
            boundary(
                int32((what >> int32(LATE_AT)) & int32(7)),
                permute(begins, begins, int32(_HIGH_TWICE)), scoring,
            ),
            (
                permute(bonuses, bonuses, int32(_LOW_TWICE)),
                permute(bonuses, bonuses, int32(_HIGH_TWICE)),
                slot(what >> int32(SOURCE_AT)), slot(what >> int32(OLD_AT)),
            ),
            (
                slot(what >> int32(TO_AT)), slot(others),
                int32((others >> int32(COPY_AT)) * int32(stride)),
                int32(what & int32(FROM_ROW) != 0),
            ),
        )  # fmt: skip

    return decode


@cuda.jit(device=True)
def _moved_on(row, diagonal, boundary, came, chosen):
    """Return the row at the next boundary, raised to the empty chain's.

    What the lane's last columns have before that is returned as well.
    """
    score, high, cost, begin = boundary
    left = permute(came, came, int32(_HIGH_TWICE))
    row = moved(row, chosen, (score, high), diagonal, left, cost)
    own = permute(row[-1], int32(NEVER), int32(_SECOND_THEN_LOW))
    return at_least(at_least(row, own), begin), max2(row[-1], own)


@cuda.jit(device=True)
def _handed_on(came, before, after):
    """Return what stands to the next row's upper left, and the word for the next lane."""
    diagonal = permute(came, after, int32(_LOW_THEN_SECOND_LOW))
    return diagonal, permute(after, before, int32(_HIGH_THEN_SECOND_HIGH))


@cuda.jit(device=True)
def _words_of(here, there, n, n_steps):
    """Return the words of a step, of the last one if there are not so many."""
    n = min(int32(n), int32(n_steps - 1))
    return (
        here[uint32(n)], here[uint32(n + n_steps)], there[uint32(n)], there[uint32(n + n_steps)],
    )  # fmt: skip


def _make_step(size: int):
    """Return the device function that moves the state of a strip on by a step.

    The state is the row's cells, what stands to its upper left, and two words of the lane before.
    Two words for the next strip are returned as well.
    """
    load = load_quads(size)

    @cuda.jit(device=True)
    def do_step(state, step, borders, fixed):
        row, diagonal, early_came, late_came = state
        early, late, (bonus, row_bonus, source, old), (to, raising, copy, from_row) = step
        chosen, own, is_first, shared, copies, scratch = fixed
        other, before = load(shared, int32(source + own)), load(shared, int32(old + own))
        entering = load(shared, int32(raising + own))
        row, last = _moved_on(row, diagonal, early, early_came, chosen)
        diagonal, early_out = _handed_on(early_came, last, row[-1])
        early_came = shuffle_up(early_out, scratch)
        row, last = _moved_on(row, diagonal, late, late_came, chosen)
        entered = raised(row, entering, row_bonus)
        diagonal, late_out = _handed_on(late_came, last, entered[-1])
        made = raised(before, plus_times(row, from_row, other), bonus)
        store_quads(shared, int32(to + own), made)
        copy_quads(copies, copy, made)
        state = entered, diagonal, early_came, shuffle_up(late_out, scratch)
        return _from_border(state, borders, is_first), (early_out, late_out)

    return do_step


@cuda.jit(device=True)
def _from_border(state, borders, is_first):
    """Return the state with the border's words as those of the lane before the first one."""
    row, diagonal, early_came, late_came = state
    if is_first:
        early_came, late_came = borders
    return row, diagonal, early_came, late_came


@cuda.jit(device=True)
def _borders_of(shared, k):
    """Return the border words for step `k` of a group."""
    at = uint32(_BORDERS_AT + 2 * k)
    return shared[at], shared[at + uint32(1)]


def _make_start(size: int):
    """Return the device function that fills the slots that never change, and begins a row."""
    stride = 4 * size * WARP

    @cuda.jit(device=True)
    def start(chosen, floor, own, shared):
        store_quads(shared, int32(own + ZERO * stride), filled(chosen, int32(0)))
        store_quads(shared, int32(own + LOWEST * stride), filled(chosen, floor))
        store_quads(shared, int32(own + LEAST * stride), filled(chosen, int32(_LEAST_WORD)))
        return filled(chosen, floor), floor, floor, floor

    return start


def _make_sweep(size: int):
    """Return the device function that sweeps a strip of `size` registers a lane."""
    load, decode = load_words(size), _make_decode(size * WARP)
    start, do_step = _make_start(size), _make_step(size)

    @cuda.jit(device=True)
    def advance(state, step, first, k, own_out, fixed):
        """Do step `k` of a group; return the next one as well."""
        shared, out, k = fixed[3], own_out + uint32(2 * k), int32(k + 1)
        following, borders = _step_of(shared, int32(first + 4 * k)), _borders_of(shared, k)
        state, (shared[out], shared[out + uint32(1)]) = do_step(state, step, borders, fixed)
        return state, following

    @cuda.jit(device=True)
    def sweep(job, strip, parts, numbers, scoring, shared, scratch):
        here, there, looked_up, cells, arriving, leaving = parts
        lane, own, own_out = numbers
        n_steps, floor = int32(job[ROWS] >> 1), int32(job[FLOOR])
        own_step, own_border = uint32(4 * lane), uint32(_BORDERS_AT + 2 * lane)
        next_step = own_step + uint32(4 * WARP)
        chosen = load(looked_up, uint32(lane), uint32(WARP))
        is_first = lane == 0
        fixed = chosen, own, is_first, shared, address(cells[4 * lane :]), scratch
        sync_lanes()
        state = start(chosen, floor, own, shared)
        # the last step does nothing: so do the lanes that are before the first one
        idle = _words_of(here, there, int32(n_steps - 1), n_steps)
        _put_step(shared, next_step, decode(idle, scoring))
        words, at = _words_of(here, there, lane, n_steps), int32(2 * (lane + WARP - 1))
        early, late = peek(arriving, strip, at), peek(arriving, strip, int32(at + 1))
        first = int32(0)
        while any_lane(first < n_steps):
            early = await_word(arriving, strip, at, early, floor)
            late = await_word(arriving, strip, int32(at + 1), late, floor)
            sync_lanes()
            _put_step(shared, own_step, _step_of(shared, int32(4 * WARP + 4 * lane)))
            _put_step(shared, next_step, decode(words, scoring))
            shared[own_border], shared[own_border + uint32(1)] = early, late
            sync_lanes()
            words = _words_of(here, there, int32(first + lane + WARP), n_steps)
            at = int32(at + 2 * WARP)
            early, late = peek(arriving, strip, at), peek(arriving, strip, int32(at + 1))
            own_first, k, more = int32(4 * WARP - 4 * lane), int32(0), True
            step = _step_of(shared, own_first)
            state = _from_border(state, _borders_of(shared, k), is_first)
            while more:
                # known long before the branch
                more = any_lane(k < int32(WARP - 2))
                state, step = advance(state, step, own_first, k, own_out, fixed)
                # twice, for then few words have to change places
                state, step = advance(state, step, own_first, int32(k + 1), own_out, fixed)
                k = int32(k + 2)
            sync_lanes()
            out, left = uint32(2 * (first + lane)), uint32(_OUTS_AT + 2 * lane)
            store_word(leaving, out, shared[left])
            store_word(leaving, out + uint32(1), shared[left + uint32(1)])
            first = int32(first + WARP)

    return sweep


_sweep_narrow, _sweep_wide = _make_sweep(NARROW), _make_sweep(WIDE)
_SHARED_WORDS = _SLOTS_AT + WARP * max(size * slots for size, slots in HOT_SLOTS.items())


@kernel()
def sweep_packed_warp(jobs, strips, steps, more_of_steps, selectors, memory, scoring):
    """Sweep strips of jobs, as long as there are any; a thread block is one warp.

    A strip needs only strips that were begun before it, so a warp that waits always waits for one
    that runs. A step's words for the next strip lie `WARP` - 1 pairs behind its number.

    Parameters
    ----------
    jobs : int64 array, shape (J, 18)
        See `gpu_tools.sites.gpu.job_table`.
    strips : int32 array, shape (S + 1, 2)
        Job and strip, in the order in which they are begun; how many are begun stands last.
    steps, more_of_steps : int32 array
        The words of `gpu_tools.sites.gpu.steps`: for each job the first one of all steps, then
        the second one; the third one, then the fourth one.
    selectors : int32 array
        Of each strip, word and lane: the bytes that look the columns' lifted scores up.
    memory : int32 array
        Of each strip and step two border words, all `NEVER`, then of each strip the copies of
        slots; both are written.
    scoring : int32 array
        See `GAP_AT`; scores of both halves.
    """
    scratch = cuda.shared.array(WARP, int32)
    # one array: the compiler then works its address out once
    shared = cuda.shared.array(_SHARED_WORDS, int32, alignment=FOUR_WORDS)
    lane = int32(cuda.threadIdx.x)
    own = place_of(shared, uint32(_SLOTS_AT + 4 * lane))
    # all lanes store what they leave to the next, without a branch; the last one's is used
    own_out = uint32(_OUTS_AT + 2 * scoring[uint32(LANES_AT + lane)])
    numbers = lane, own, own_out
    while True:
        k = begin_strip(strips, scratch)
        if any_lane(k < 0):
            return
        job, strip = jobs[strips[k, 0]], strips[k, 1]
        parts = _parts_of(job, strip, (steps, more_of_steps, selectors, memory))
        is_last = strip == job[STRIPS] - 1
        if any_lane(job[LAST_SIZE if is_last else SIZE] == WIDE):
            _sweep_wide(job, strip, parts, numbers, scoring, shared, scratch)
        else:
            _sweep_narrow(job, strip, parts, numbers, scoring, shared, scratch)


@kernel()
def find_ends_thread(jobs, last_exits, memory, ends):
    """Find the best end of each job; thread block (x, y) looks at boundaries of job x.

    Parameters
    ----------
    jobs : int64 array, shape (J, 18)
    last_exits : int32 array
        Of each job, by border word: the score of a last exit.
    memory : int32 array
        As the sweep left it.
    ends : int64 array, shape (J,)
        Raised to the best S' at the last column, shifted up by 32 bits, less its border word's
        number: so the first of equals wins.
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
