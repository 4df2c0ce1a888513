"""The packed sweep of site mode on a GPU: 16-bit cells, each lane a step behind the lane before it.

A warp holds a strip of target columns, two int16 cells a register. The two halves of a lane's
registers are two *virtual lanes*, each with columns side by side. While lane 0 does step t (see
`gpu_tools.sites.gpu.steps`), lane l does step t - l. So what comes from the lane to the left is
there when it is needed, handed on by one shuffle, and no row waits for a maximum over all lanes.
Lanes are at different boundaries at a time, so each step does all that a boundary may need, in the
lane's part of the slots in shared memory.

With global ends a cell is S'. With free ends it is S' less what lifting adds in all columns before
the strip: so 16 bits are enough for long targets. From lane to lane as from strip to strip goes a
word for each boundary: the last column's value with the exons that are entered there, and without.

Each lane notes its best end. A column that is no end of a chain is never better than one that is:
with global ends no column has more than the last one; with free ends columns behind the target have
less.
"""

from __future__ import annotations

from numba import cuda, int32, int64, uint32

from gpu_tools.hardware.gpu.intrinsics.rows import (
    clipped_ramp,
    place_of,
)
from gpu_tools.hardware.gpu.intrinsics.words import (
    FOUR_WORDS,
    WARP,
    address,
    any_lane,
    kernel,
    load2,
    load4,
    sync_lanes,
)
from gpu_tools.sites.gpu import job_table, packed_strip
from gpu_tools.sites.gpu.steps import BEST_END, WORDS


@cuda.jit(device=True)
def _parts_of(job, strip, buffers):
    """Return a strip's steps, the target, its cells, the borders around it, and checkpoints.

    The first checkpoint is the one to begin with, or the first one to be written.
    """
    steps, targets, memory, checkpoints = buffers
    n_words = job[job_table.BORDER_WORDS]
    before = job[job_table.BORDERS] + max(strip - 1, 0) * n_words
    return (
        steps[job[job_table.BOUNDARIES] :],
        targets[job[job_table.TARGET] :],
        memory[job[job_table.CELLS] + strip * job[job_table.STRIDE] :],
        memory[before:], memory[job[job_table.BORDERS] + strip * n_words :],
        checkpoints[job[job_table.CHECKPOINTS] + strip * job[job_table.CHECKPOINT_STRIDE] :],
    )  # fmt: skip


@cuda.jit(device=True)
def _step_of(shared, at):
    """Return a step that lies in shared memory; its quads lie `SHARED_RING` apart."""
    ring = int32(packed_strip.SHARED_RING)
    return (
        load4(shared, at), load4(shared, at + ring), load4(shared, at + 2 * ring),
        load4(shared, at + 3 * ring), load4(shared, at + 4 * ring),
    )  # fmt: skip


@cuda.jit(device=True)
def _put_step(shared, at, step):
    """Write a step to shared memory from element `at` on."""
    for quad in step:
        shared[at], shared[at + uint32(1)] = quad[0], quad[1]
        shared[at + uint32(2)], shared[at + uint32(3)] = quad[2], quad[3]
        at += uint32(packed_strip.SHARED_RING)


@cuda.jit(device=True)
def _words_of(steps, n, idle):
    """Return the words of a step, those of the last one, which is `idle`, if there is none."""
    at = uint32(min(int32(n), idle) * int32(WORDS))
    return (
        steps[at], steps[at + uint32(1)], steps[at + uint32(2)], steps[at + uint32(3)],
        steps[at + uint32(4)],
    )  # fmt: skip


@cuda.jit(device=True)
def _borders_of(shared, k):
    """Return the border words for step `k` of a group."""
    at = uint32(packed_strip.SHARED_BORDERS_AT + 2 * k)
    return shared[at], shared[at + uint32(1)]


def _make_sweep(size: int):
    """Return the device function that sweeps a strip of `size` registers a lane."""
    decode, choose = packed_strip.make_decode(size * WARP), packed_strip.make_choose(size)
    start, do_step = packed_strip.make_start(size), packed_strip.make_step(size)
    columns, find_column = packed_strip.make_columns(size), packed_strip.make_find_column(size)
    save, resume, stride = packed_strip.make_save(size), packed_strip.make_resume(size), size * WARP

    @cuda.jit(device=True)
    def advance(state, step, first, k, is_last, fixed):
        """Do step `k` of a group; return the next one as well."""
        shared, out, k = fixed[5], uint32(packed_strip.SHARED_OUTS_AT + 2 * k), int32(k + 1)
        following, borders = _step_of(shared, int32(first + 4 * k)), _borders_of(shared, k)
        state, leaving = do_step(state, step, borders, fixed)
        if is_last:
            shared[out], shared[out + uint32(1)] = leaving
        return state, following

    @cuda.jit(device=True)
    def prepare(job, strip, parts, lane, own, places, scoring, shared):
        """Put what never changes into its place; return that of columns, and the first state."""
        first_column, begin = places
        chosen = choose(parts[1], first_column, int32(job[job_table.COLUMNS]), own, lane, shared)
        at_ends, gap = (
            packed_strip.ends_of(job, strip, scoring),
            scoring[uint32(packed_strip.END_GAP_AT)],
        )
        starts, drops = columns(chosen, int32(2 * lane * size), gap, at_ends)
        drops = clipped_ramp(chosen, drops[0], drops[1], drops[2], drops[3])
        sync_lanes()
        state = start(chosen, starts, int32(job[job_table.FLOOR]), lane, own, shared)
        if begin > 0:
            n_slots = int32(job[job_table.N_SLOTS])
            row, (diagonal, early, late, _) = resume(parts[5], n_slots, shared, own)
            state = row, diagonal, early, late, state[4], int32(state[5] + 2 * begin)
        return (chosen, starts, drops), state

    @cuda.jit(device=True)
    def note_end(job, strip, best, copies, first_column, ends, scoring):
        """Write the lane's best end."""
        ends[job_table.SCORE], ends[job_table.NUMBER] = best
        ends[job_table.COLUMN] = first_column
        if best[0] > job_table.LOWEST_SCORE:  # else there is no row
            at_ends, row = packed_strip.ends_of(job, strip, scoring), copies[BEST_END * stride :]
            gap = scoring[uint32(packed_strip.END_GAP_AT)]
            ends[job_table.COLUMN] = find_column(row, first_column, gap, at_ends)

    @cuda.jit(device=True)
    def sweep(job, strip, parts, numbers, ends, scoring, shared, scratch):
        """Sweep a strip; `ends` takes the lane's best end."""
        steps, _, cells, arriving, leaving, checkpoints = parts
        lane, own = numbers
        begin, every = int32(job[job_table.FIRST_STEP]), int32(job[job_table.EVERY])
        stored, n_slots = packed_strip.stored_rows(job), int32(job[job_table.N_SLOTS])
        n_steps, floor = int32(job[job_table.ROWS] >> 1), int32(job[job_table.FLOOR])
        own_step, own_border = uint32(4 * lane), uint32(packed_strip.SHARED_BORDERS_AT + 2 * lane)
        next_step, copies = own_step + uint32(4 * WARP), cells[4 * lane :]
        first_column = int32(2 * (strip * int32(job[job_table.SIZE]) * WARP + lane * size))
        # the last step of all does nothing: so do the lanes that are before the first one
        idle = int32(job[job_table.OPERANDS] - 1)
        before = int32(begin - WARP + lane) if begin > 0 else idle
        places = first_column, begin
        chosen, state = prepare(job, strip, parts, lane, own, places, scoring, shared)
        is_first, is_last = lane == 0, lane == int32(WARP - 1)
        fixed = chosen[0], chosen[1], chosen[2], own, is_first, shared, address(copies), scratch
        lowered = packed_strip.lowered_by(job, strip)
        _put_step(shared, next_step, decode(_words_of(steps, before, idle), scoring, stored))
        words, mask = _words_of(steps, int32(begin + lane), idle), int32(job[job_table.BORDER_MASK])
        # steps whose border words come; those behind them do not matter
        receives = int32(0) if strip == 0 else int32(n_steps - WARP + 1)
        hands_on, out = (
            strip < job[job_table.STRIPS] - 1, int32(packed_strip.SHARED_OUTS_AT + 2 * lane)
        )  # fmt: skip
        arrived = packed_strip.peek(arriving, int32(2 * lane))
        first, next_save, saved = begin, every if every > 0 else n_steps, int64(0)
        while any_lane(first < n_steps):
            if any_lane(first == next_save):
                save(checkpoints[saved:], state, n_slots, shared, own)
                saved += job[job_table.STRIPS] * job[job_table.CHECKPOINT_STRIDE]
                next_save = int32(next_save + every)
            number, own_first = int32(first - begin + lane), int32(4 * WARP - 4 * lane)
            at, wanted = int32(int32(2 * number) & mask), first + lane < receives
            early, late = packed_strip.receive(arriving, at, arrived, wanted, lowered, floor)
            sync_lanes()
            _put_step(shared, own_step, _step_of(shared, int32(4 * WARP + 4 * lane)))
            _put_step(shared, next_step, decode(words, scoring, stored))
            shared[own_border], shared[own_border + uint32(1)] = early, late
            sync_lanes()
            words = _words_of(steps, int32(first + lane + WARP), idle)
            arrived = packed_strip.peek(arriving, int32(int32(2 * (number + WARP)) & mask))
            # the last lane is behind by all others
            number = int32(number - (WARP - 1))
            at, leaves = int32(int32(2 * number) & mask), hands_on and number >= 0
            there = packed_strip.peek(leaving, at if leaves else int32(0))
            k, more, step = int32(0), True, _step_of(shared, own_first)
            state = packed_strip.from_border(state, _borders_of(shared, k), is_first)
            while more:
                # known long before the branch
                more = any_lane(k < int32(WARP - 2))
                state, step = advance(state, step, own_first, k, is_last, fixed)
                # twice, for then few words have to change places
                state, step = advance(state, step, own_first, int32(k + 1), is_last, fixed)
                k = int32(k + 2)
            sync_lanes()
            packed_strip.hand_on(leaving, at, there, leaves, load2(shared, out))
            first = int32(first + WARP)
        note_end(job, strip, state[4], copies, first_column, ends, scoring)
        sync_lanes()

    return sweep


_sweep_narrow, _sweep_wide = _make_sweep(packed_strip.NARROW), _make_sweep(packed_strip.WIDE)
_SHARED_WORDS = packed_strip.SHARED_SLOTS_AT + WARP * max(
    size * slots for size, slots in packed_strip.HOT_SLOTS.items()
)


@kernel()
def sweep_packed_warp(jobs, strips, steps, targets, memory, checkpoints, ends, scoring):
    """Sweep strips of jobs, as long as there are any; a thread block is one warp.

    A strip needs words of strips that were begun before it, and such with a ring need that the
    next one is begun: warps that end begin it. So a warp that waits always waits for one that runs.
    """
    scratch = cuda.shared.array(WARP, int32)
    # one array: the compiler then works its address out once
    shared = cuda.shared.array(_SHARED_WORDS, int32, alignment=FOUR_WORDS)
    lane = int32(cuda.threadIdx.x)
    own = place_of(shared, uint32(packed_strip.SHARED_SLOTS_AT + 4 * lane))
    numbers = lane, own
    while True:
        k = packed_strip.begin_strip(strips, scratch)
        if any_lane(k < 0):
            return
        job, strip = jobs[strips[k, 0]], strips[k, 1]
        parts = _parts_of(job, strip, (steps, targets, memory, checkpoints))
        is_last, found = strip == job[job_table.STRIPS] - 1, ends[job[job_table.ENDS] + strip, lane]
        if any_lane(job[job_table.LAST_SIZE if is_last else job_table.SIZE] == packed_strip.WIDE):
            _sweep_wide(job, strip, parts, numbers, found, scoring, shared, scratch)
        else:
            _sweep_narrow(job, strip, parts, numbers, found, scoring, shared, scratch)
