"""The packed sweep of chains that translate on a GPU: 16-bit cells, all lanes at one boundary.

A warp holds a strip of target columns of the three current rows in registers, two cells a register.
At each boundary it branches as the plan says (see `gpu_tools.sites.gpu.codon_plan`): so what is
rare costs nothing elsewhere. Of the rows in slots those of most use lie in shared memory.

Cells are lifted as those of the other packed kernel are, and rows for the traceback lie as its rows
do. Each lane notes its best end.
"""

from __future__ import annotations

from numba import cuda, int32, int64, uint32

from gpu_tools.hardware.gpu.intrinsics.rows import (
    at_least,
    best_sum,
    clipped_ramp,
    filled,
    further,
    load_row,
    place_of,
    raised,
    store_row,
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
    sync_lanes,
)
from gpu_tools.sites.gpu import codon_rows, job_table, packed_strip
from gpu_tools.sites.gpu.codon_plan import (
    BEGIN,
    ENTER,
    ENTERED,
    EVENT_BITS,
    EVENTS_AT,
    EXIT,
    FINAL,
    HAS_OPERATIONS,
    JOIN,
    JOINING,
    JOINS,
    STOP,
    SYMBOL_BITS,
)
from gpu_tools.sites.gpu.plan import NO_SYMBOL
from gpu_tools.sites.gpu.steps import BEST_END
from gpu_tools.splicing.reading import FRAMES

# A step of the packed kernel of chains that translate: operations, then three boundaries.


def make_happen(size: int):
    """Return the device function that does the events of a boundary."""
    load, stride = load_row(size), size * WARP
    slot_place, exit_place = codon_rows.make_slot_place(size), codon_rows.make_exit_place(size)

    @cuda.jit(device=True)
    def noted(row, leaving, boundary, best, drops, cells):
        """Return score and boundary of the lane's best end; a better one's row is stored."""
        dropped = clipped_ramp(row, drops[0], drops[1], drops[2], drops[3])
        top = best_sum(row, dropped)
        top = max2(top, permute(top, top, int32(codon_rows.SWAPPED)))
        score = int32(permute(top, top, int32(codon_rows.LOW_SIGNED)))
        best_score, best_boundary = best
        score = int32(score + leaving)
        if score > best_score:
            best_score, best_boundary = score, boundary
            store_row(further(cells, int64(BEST_END * stride)), row)
        return best_score, best_boundary

    @cuda.jit(device=True)
    def leave(row, rows, carries, track, exit, stored):
        """Store the rows of an exit: that of a track, and the two behind it with their carries."""
        second, third = int32((track + 1) % FRAMES), int32((track + 2) % FRAMES)
        store_row(exit_place(exit, int32(track), stored), row)
        store_row(exit_place(exit, second, stored), at_least(rows[1], carries[1]))
        store_row(exit_place(exit, third, stored), at_least(rows[2], carries[2]))

    @cuda.jit(device=True)
    def happen(events, track, boundary, rows, carries, left, notes, strip):
        """Do the events of a boundary whose codons are the first row's.

        `notes` are the number of the next operand, that operand, the exits so far, and the best
        end. Return the first row, its carry, and the notes.
        """
        fixed, places, _, _, stored, (operands, drops) = strip
        at, operand, exits, best = notes
        row = at_least(rows[0], carries[0])
        if events & int32(FINAL):
            best = noted(row, operand, boundary, best, drops, stored[0])
            at = int32(at + 1)
            operand = operands[at]
        if events & int32(STOP):
            row = filled(row, fixed[1])
        if events & int32(JOIN):
            slot = int32(JOINING + boundary % int32(JOINS))
            row = raised(row, load(slot_place(slot, places)), int32(0))
        if events & int32(BEGIN):
            slot = int32(operand & int32(0xFFFF))
            bonus = permute(operand, operand, int32(codon_rows.HIGH_TWICE))
            row = raised(row, load(slot_place(slot, places)), bonus)
            at = int32(at + 1)
            operand = operands[at]
        if events & int32(EXIT):
            leave(row, rows, carries, track, exits, stored)
            exits = int32(exits + 1)
        if events & int32(ENTER):
            row = raised(row, load(slot_place(int32(ENTERED + track), places)), int32(0))
        carry = codon_rows.settled_carry(row[-1], left, fixed[2], fixed[4])
        return row, carry, (at, operand, exits, best)

    return happen


def make_codon_step(size: int):
    """Return the device function that does a step.

    The state is the three rows, the first of them that of the next boundary; their carries; the
    cursor of border words; and what `happen` notes.
    """
    happen, operate = make_happen(size), codon_rows.make_operate(size)

    @cuda.jit(device=True)
    def cross(track, info, step, state, strip):
        """Advance all rows by a nucleotide, and do what happens at the boundary behind it."""
        fixed, _, borders, (lane, is_last), _, _ = strip
        rows, carries, cursor, notes = state
        words, at, cursor = codon_rows.next_words(cursor, borders, fixed[3], lane)
        symbol = int32((info >> int32(SYMBOL_BITS * track)) & int32(7))
        rows, carries = codon_rows.advance_tracks(rows, carries, symbol, words, fixed)
        first, second = max2(rows[0][-1], carries[0]), max2(rows[1][-1], carries[1])
        third = max2(rows[2][-1], carries[2])
        leaving, row, carry = permute(first, second, int32(codon_rows.HIGHS)), rows[0], carries[0]
        events = int32((info >> int32(EVENTS_AT + EVENT_BITS * track)) & int32(63))
        if events != 0:
            boundary = int32(FRAMES * step + track)
            row, carry, notes = happen(
                events, track, boundary, rows, carries, words[1], notes, strip
            )
            first = row[-1]
        codon_rows.put_words(
            fixed[3], at, (leaving, permute(third, first, int32(codon_rows.HIGHS))), is_last
        )
        return (rows[1], rows[2], row), (carries[1], carries[2], carry), cursor, notes

    @cuda.jit(device=True)
    def do_step(state, info, step, following, todo, strip):
        """Do a step; return the state, and the next operation with its number.

        `strip` are what advances need; the places of slots; borders; the lane and whether it is the
        last one; rows in device memory; and operands with what columns drop.
        """
        if info & int32(HAS_OPERATIONS):
            rows, carries, cursor, notes = state
            following, cursor = operate(following, todo, cursor, strip)
            state = rows, carries, cursor, notes
        state = cross(0, info, step, state, strip)
        state = cross(1, info, step, state, strip)
        state = cross(2, info, step, state, strip)
        return state, following

    return do_step


_SHARED_WORDS = codon_rows.SHARED_SLOTS_AT + codon_rows.HOT_SLOTS * packed_strip.WIDE * WARP


@cuda.jit(device=True)
def _put_scores(scoring, shared, lane):
    """Write each symbol's words of lifted scores, and what a step down costs, to shared memory."""
    for symbol in range(lane, NO_SYMBOL + 1, WARP):
        at, is_none = uint32(4 * symbol), symbol == NO_SYMBOL
        shared[at] = scoring[uint32(symbol + packed_strip.WORDS_AT)]
        shared[at + uint32(1)] = (
            int32(packed_strip.NEVER) if is_none else scoring[uint32(packed_strip.EXTRA_AT)]
        )
        shared[at + uint32(2)] = int32(0) if is_none else scoring[uint32(packed_strip.GAP_AT)]


@cuda.jit(device=True)
def _parts_of(job, strip, buffers):
    """Return a strip's plan, operations, target and cells, the borders around it, checkpoints.

    The first checkpoint is the one to begin with, or the first one to be written.
    """
    plan, operations, targets, cells, borders, checkpoints = buffers
    n_words = job[job_table.BORDER_WORDS]
    before = job[job_table.BORDERS] + max(strip - 1, 0) * n_words
    leaving = job[job_table.BORDERS] + strip * n_words
    return (
        plan[job[job_table.BOUNDARIES] :], operations[job[job_table.OPERATIONS] :],
        targets[job[job_table.TARGET] :],
        cells[job[job_table.CELLS] + strip * job[job_table.STRIDE] :],
        borders[before : before + n_words], borders[leaving : leaving + n_words],
        checkpoints[job[job_table.CHECKPOINTS] + strip * job[job_table.CHECKPOINT_STRIDE] :],
    )  # fmt: skip


def _make_sweep(size: int):
    """Return the device function that sweeps a strip of `size` registers a lane."""
    choose = packed_strip.make_choose(size, codon_rows.SHARED_SLOTS_AT, 0)
    columns = packed_strip.make_columns(size)
    do_step, find_column = make_codon_step(size), packed_strip.make_find_column(size)
    slot_place, stride = codon_rows.make_slot_place(size), size * WARP
    save, resume = codon_rows.make_save(size), codon_rows.make_resume(size)

    @cuda.jit(device=True)
    def prepare(job, strip, parts, scoring, shared, scratch):
        """Put what never changes into its place, and return what all steps need."""
        plan, _, target, cells, arriving, leaving, _ = parts
        lane = int32(cuda.threadIdx.x)
        floor = int32(job[job_table.FLOOR])
        gap = scoring[uint32(packed_strip.END_GAP_AT)]
        first_column = int32(2 * (strip * int32(job[job_table.SIZE]) * WARP + lane * size))
        own = place_of(shared, uint32(codon_rows.SHARED_SLOTS_AT + 4 * lane))
        chosen = choose(target, first_column, int32(job[job_table.COLUMNS]), own, lane, shared)
        at_ends = packed_strip.ends_of(job, strip, scoring)
        starts, drops = columns(chosen, int32(2 * lane * size), gap, at_ends)
        sync_lanes()
        first_row = address(cells[4 * lane :])
        places = (
            address(shared[uint32(codon_rows.SHARED_SLOTS_AT + 4 * lane) :]),
            further(first_row, job[job_table.SLOTS] * int64(stride)),
        )
        store_row(slot_place(int32(job[job_table.START]), places), starts)
        at = uint32(codon_rows.SHARED_ARRIVING_AT + 2 * lane)
        shared[at], shared[at + uint32(1)] = floor, floor
        mask = int32(job[job_table.BORDER_MASK])
        borders = (
            (arriving, mask, strip > 0), (leaving, mask, strip < job[job_table.STRIPS] - 1),
            packed_strip.lowered_by(job, strip), floor,
        )  # fmt: skip
        return (
            (chosen, floor, lane == 0, shared, scratch), places, borders,
            (lane, lane == int32(WARP - 1)),
            (first_row, int32(job[job_table.MASK]), int32(job[job_table.EXIT_BASE]),
             int32(job[job_table.COPY_BASE])),
            (plan[job[job_table.OPERANDS] :], drops),
        )  # fmt: skip

    @cuda.jit(device=True)
    def begin(job, parts, strip_parts):
        """Return the state before the first step, and the next operation with its number."""
        fixed, _, borders, (lane, _), _, (operands, _) = strip_parts
        low, floor = filled(fixed[0], fixed[1]), fixed[1]
        rows, carries = (low, low, low), (floor, floor, floor)
        numbers = int32(0), int32(0), int32(0)
        if job[job_table.FIRST_STEP] > 0:
            counts = int32(job[job_table.N_SLOTS]), int32(job[job_table.RING])
            rows, carries, numbers = resume(parts[6], counts, strip_parts)
        n, at, exits = numbers
        notes = at, operands[at], exits, (int32(job_table.LOWEST_SCORE), int32(0))
        cursor = int32(0), codon_rows.peek_pair(int32(0), borders, lane)
        return (rows, carries, cursor, notes), (load4(parts[1], int64(4) * int64(n)), n)

    @cuda.jit(device=True)
    def sweep(job, strip, parts, ends, scoring, shared, scratch):
        """Sweep a strip; `ends` takes the lane's best end."""
        plan, todo, cells, checkpoints = parts[0], parts[1], parts[3], parts[6]
        lane, end = int32(cuda.threadIdx.x), int32(job[job_table.ROWS])
        strip_parts = prepare(job, strip, parts, scoring, shared, scratch)
        state, following = begin(job, parts, strip_parts)
        step, every = int32(job[job_table.FIRST_STEP]), int32(job[job_table.EVERY])
        counts = int32(job[job_table.N_SLOTS]), int32(job[job_table.RING])
        next_save = every
        saved = int64(0)
        next_info = plan[step]
        while step < end:
            info, next_info = next_info, plan[uint32(step + 1)]
            if step == next_save and every > 0:
                numbers = following[1], state[3][0], state[3][2]
                save(checkpoints[saved:], state[0], state[1], numbers, counts, strip_parts)
                saved += job[job_table.STRIPS] * job[job_table.CHECKPOINT_STRIDE]
                next_save = int32(next_save + every)
            state, following = do_step(state, info, step, following, todo, strip_parts)
            step = int32(step + 1)
        sync_lanes()
        number, gap = state[2][0], scoring[uint32(packed_strip.END_GAP_AT)]
        last = int32((number + WARP - 1) & ~int32(WARP - 1))
        codon_rows.leave_group(last, strip_parts[2], shared, lane)
        ends[job_table.SCORE], ends[job_table.NUMBER] = state[3][3]
        first_column = int32(2 * (strip * int32(job[job_table.SIZE]) * WARP + lane * size))
        ends[job_table.COLUMN] = first_column
        if state[3][3][0] > job_table.LOWEST_SCORE:  # else there is no row
            best_row = cells[4 * lane + BEST_END * stride :]
            at_ends = packed_strip.ends_of(job, strip, scoring)
            ends[job_table.COLUMN] = find_column(best_row, first_column, gap, at_ends)
        sync_lanes()

    return sweep


_sweep_narrow, _sweep_wide = _make_sweep(packed_strip.NARROW), _make_sweep(packed_strip.WIDE)


@kernel()
def sweep_codons_warp(
    jobs, strips, plans, operations, targets, cells, borders, checkpoints, ends, scoring
):
    """Sweep strips of jobs, as long as there are any; a thread block is one warp.

    A strip needs words of strips that were begun before it, and such with a ring need that the
    next one is begun: warps that end begin it. So a warp that waits always waits for one that runs.
    """
    scratch = cuda.shared.array(WARP, int32)
    shared = cuda.shared.array(_SHARED_WORDS, int32, alignment=FOUR_WORDS)
    lane = int32(cuda.threadIdx.x)
    _put_scores(scoring, shared, lane)
    while True:
        k = packed_strip.begin_strip(strips, scratch)
        if any_lane(k < 0):
            return
        job, strip = jobs[strips[k, 0]], strips[k, 1]
        buffers = plans, operations, targets, cells, borders, checkpoints
        parts = _parts_of(job, strip, buffers)
        is_last, found = strip == job[job_table.STRIPS] - 1, ends[job[job_table.ENDS] + strip, lane]
        if any_lane(job[job_table.LAST_SIZE if is_last else job_table.SIZE] == packed_strip.WIDE):
            _sweep_wide(job, strip, parts, found, scoring, shared, scratch)
        else:
            _sweep_narrow(job, strip, parts, found, scoring, shared, scratch)
