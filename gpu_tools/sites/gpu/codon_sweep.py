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
    filled,
    further,
    load_row,
    place_of,
    raised,
    ramp,
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
from gpu_tools.sites.gpu.codon_rows import (
    HIGH_TWICE,
    HIGHS,
    HOT_SLOTS,
    LOW_SIGNED,
    SHARED_ARRIVING_AT,
    SHARED_SLOTS_AT,
    SWAPPED,
    advance_tracks,
    leave_group,
    make_exit_place,
    make_operate,
    make_resume,
    make_save,
    make_slot_place,
    next_words,
    peek_pair,
    put_words,
    settled_carry,
)
from gpu_tools.sites.gpu.job_table import (
    ADVANCES,
    BORDERS,
    BOUNDARIES,
    CELLS,
    CHECKPOINT_STRIDE,
    CHECKPOINTS,
    COLUMN,
    COLUMNS,
    COPY_BASE,
    ENDS,
    EVERY,
    EXIT_BASE,
    FIRST_STEP,
    FLOOR,
    LAST_SIZE,
    LOWEST_SCORE,
    MASK,
    N_SLOTS,
    NUMBER,
    OPERANDS,
    OPERATIONS,
    RING,
    ROWS,
    SCORE,
    SIZE,
    SLOTS,
    START,
    STRIDE,
    STRIPS,
    TARGET,
)
from gpu_tools.sites.gpu.packed_strip import (
    END_GAP_AT,
    EXTRA_AT,
    GAP_AT,
    NARROW,
    NEVER,
    WIDE,
    WORDS_AT,
    begin_strip,
    lowered_by,
    make_choose,
    make_columns,
    make_find_column,
)
from gpu_tools.sites.gpu.row_plan import NO_SYMBOL
from gpu_tools.sites.gpu.steps import BEST_END
from gpu_tools.splicing.codons import FRAMES

# A step of the packed kernel of chains that translate: operations, then three boundaries.


def make_happen(size: int):
    """Return the device function that does the events of a boundary."""
    load, stride = load_row(size), size * WARP
    slot_place, exit_place = make_slot_place(size), make_exit_place(size)

    @cuda.jit(device=True)
    def noted(row, leaving, boundary, best, drops, cells):
        """Return score and boundary of the lane's best end; a better one's row is stored."""
        top = best_sum(row, ramp(row, drops[0], drops[1]))
        top = max2(top, permute(top, top, int32(SWAPPED)))
        score, (best_score, best_boundary) = int32(permute(top, top, int32(LOW_SIGNED))), best
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
            slot, bonus = (
                int32(operand & int32(0xFFFF)),
                permute(operand, operand, int32(HIGH_TWICE)),
            )
            row = raised(row, load(slot_place(slot, places)), bonus)
            at = int32(at + 1)
            operand = operands[at]
        if events & int32(EXIT):
            leave(row, rows, carries, track, exits, stored)
            exits = int32(exits + 1)
        if events & int32(ENTER):
            row = raised(row, load(slot_place(int32(ENTERED + track), places)), int32(0))
        carry = settled_carry(row[-1], left, fixed[2], fixed[4])
        return row, carry, (at, operand, exits, best)

    return happen


def make_codon_step(size: int):
    """Return the device function that does a step.

    The state is the three rows, the first of them that of the next boundary; their carries; the
    cursor of border words; and what `happen` notes.
    """
    happen, operate = make_happen(size), make_operate(size)

    @cuda.jit(device=True)
    def cross(track, info, step, state, strip):
        """Advance all rows by a nucleotide, and do what happens at the boundary behind it."""
        fixed, _, borders, (lane, is_last), _, _ = strip
        rows, carries, cursor, notes = state
        words, at, cursor = next_words(cursor, borders, fixed[3], lane)
        symbol = int32((info >> int32(SYMBOL_BITS * track)) & int32(7))
        rows, carries = advance_tracks(rows, carries, symbol, words, fixed)
        first, second = max2(rows[0][-1], carries[0]), max2(rows[1][-1], carries[1])
        third = max2(rows[2][-1], carries[2])
        leaving, row, carry = permute(first, second, int32(HIGHS)), rows[0], carries[0]
        events = int32((info >> int32(EVENTS_AT + EVENT_BITS * track)) & int32(63))
        if events != 0:
            boundary = int32(FRAMES * step + track)
            row, carry, notes = happen(
                events, track, boundary, rows, carries, words[1], notes, strip
            )
            first = row[-1]
        put_words(fixed[3], at, (leaving, permute(third, first, int32(HIGHS))), is_last)
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


_SHARED_WORDS = SHARED_SLOTS_AT + HOT_SLOTS * WIDE * WARP


@cuda.jit(device=True)
def _put_scores(scoring, shared, lane):
    """Write each symbol's words of lifted scores, and what a step down costs, to shared memory."""
    for symbol in range(lane, NO_SYMBOL + 1, WARP):
        at, is_none = uint32(4 * symbol), symbol == NO_SYMBOL
        shared[at] = scoring[uint32(symbol + WORDS_AT)]
        shared[at + uint32(1)] = int32(NEVER) if is_none else scoring[uint32(EXTRA_AT)]
        shared[at + uint32(2)] = int32(0) if is_none else scoring[uint32(GAP_AT)]


@cuda.jit(device=True)
def _parts_of(job, strip, buffers):
    """Return a strip's plan, operations, target and cells, the borders around it, checkpoints.

    The first checkpoint is the one to begin with, or the first one to be written.
    """
    plan, operations, targets, cells, borders, checkpoints = buffers
    advances = job[ADVANCES]
    before = job[BORDERS] + max(strip - 1, 0) * advances
    leaving = job[BORDERS] + strip * advances
    return (
        plan[job[BOUNDARIES] :], operations[job[OPERATIONS] :], targets[job[TARGET] :],
        cells[job[CELLS] + strip * job[STRIDE] :],
        borders[before : before + advances], borders[leaving : leaving + advances],
        checkpoints[job[CHECKPOINTS] + strip * job[CHECKPOINT_STRIDE] :],
    )  # fmt: skip


def _make_sweep(size: int):
    """Return the device function that sweeps a strip of `size` registers a lane."""
    choose, columns = make_choose(size, SHARED_SLOTS_AT, 0), make_columns(size)
    do_step, find_column = make_codon_step(size), make_find_column(size)
    slot_place, stride = make_slot_place(size), size * WARP
    save, resume = make_save(size), make_resume(size)

    @cuda.jit(device=True)
    def prepare(job, strip, parts, scoring, shared, scratch):
        """Put what never changes into its place, and return what all steps need."""
        plan, _, target, cells, arriving, leaving, _ = parts
        lane, floor, gap = int32(cuda.threadIdx.x), int32(job[FLOOR]), scoring[uint32(END_GAP_AT)]
        first_column = int32(2 * (strip * int32(job[SIZE]) * WARP + lane * size))
        own = place_of(shared, uint32(SHARED_SLOTS_AT + 4 * lane))
        chosen = choose(target, first_column, int32(job[COLUMNS]), own, lane, shared)
        starts, drops = columns(chosen, int32(2 * lane * size), gap)
        sync_lanes()
        first_row = address(cells[4 * lane :])
        places = (
            address(shared[uint32(SHARED_SLOTS_AT + 4 * lane) :]),
            further(first_row, job[SLOTS] * int64(stride)),
        )
        store_row(slot_place(int32(job[START]), places), starts)
        at = uint32(SHARED_ARRIVING_AT + 2 * lane)
        shared[at], shared[at + uint32(1)] = floor, floor
        borders = arriving, leaving, strip == 0, lowered_by(job, strip), floor
        drop_step = int32(int32(gap & int32(0xFFFF)) | int32(gap << int32(16)))
        return (
            (chosen, floor, lane == 0, shared, scratch), places, borders,
            (lane, lane == int32(WARP - 1)),
            (first_row, int32(job[MASK]), int32(job[EXIT_BASE]), int32(job[COPY_BASE])),
            (plan[job[OPERANDS] :], (drops[0], drop_step)),
        )  # fmt: skip

    @cuda.jit(device=True)
    def begin(job, parts, strip_parts):
        """Return the state before the first step, and the next operation with its number."""
        fixed, _, borders, (lane, _), _, (operands, _) = strip_parts
        low, floor = filled(fixed[0], fixed[1]), fixed[1]
        rows, carries = (low, low, low), (floor, floor, floor)
        numbers = int32(0), int32(0), int32(0)
        if job[FIRST_STEP] > 0:
            counts = int32(job[N_SLOTS]), int32(job[RING])
            rows, carries, numbers = resume(parts[6], counts, strip_parts)
        n, at, exits = numbers
        notes = at, operands[at], exits, (int32(LOWEST_SCORE), int32(0))
        cursor = int32(0), peek_pair(int32(0), borders, lane)
        return (rows, carries, cursor, notes), (load4(parts[1], int64(4) * int64(n)), n)

    @cuda.jit(device=True)
    def sweep(job, strip, parts, ends, scoring, shared, scratch):
        """Sweep a strip; `ends` takes the lane's best end."""
        plan, todo, cells, checkpoints = parts[0], parts[1], parts[3], parts[6]
        lane, end = int32(cuda.threadIdx.x), int32(job[ROWS])
        strip_parts = prepare(job, strip, parts, scoring, shared, scratch)
        state, following = begin(job, parts, strip_parts)
        step, every = int32(job[FIRST_STEP]), int32(job[EVERY])
        counts, next_save, saved = (int32(job[N_SLOTS]), int32(job[RING])), every, int64(0)
        next_info = plan[step]
        while step < end:
            info, next_info = next_info, plan[uint32(step + 1)]
            if step == next_save and every > 0:
                numbers = following[1], state[3][0], state[3][2]
                save(checkpoints[saved:], state[0], state[1], numbers, counts, strip_parts)
                saved += job[STRIPS] * job[CHECKPOINT_STRIDE]
                next_save = int32(next_save + every)
            state, following = do_step(state, info, step, following, todo, strip_parts)
            step = int32(step + 1)
        sync_lanes()
        number, gap = state[2][0], scoring[uint32(END_GAP_AT)]
        last = int32((number + WARP - 1) & ~int32(WARP - 1))
        leave_group(last, strip_parts[2], shared, lane)
        ends[SCORE], ends[NUMBER] = state[3][3]
        first_column = int32(2 * (strip * int32(job[SIZE]) * WARP + lane * size))
        ends[COLUMN] = first_column
        if state[3][3][0] > LOWEST_SCORE:  # else there is no row
            best_row = cells[4 * lane + BEST_END * stride :]
            ends[COLUMN] = find_column(best_row, first_column, gap)
        sync_lanes()

    return sweep


_sweep_narrow, _sweep_wide = _make_sweep(NARROW), _make_sweep(WIDE)


@kernel()
def sweep_codons_warp(
    jobs, strips, plans, operations, targets, cells, borders, checkpoints, ends, scoring
):
    """Sweep strips of jobs, as long as there are any; a thread block is one warp.

    A strip needs only strips that were begun before it, so a warp that waits always waits for one
    that runs.
    """
    scratch = cuda.shared.array(WARP, int32)
    shared = cuda.shared.array(_SHARED_WORDS, int32, alignment=FOUR_WORDS)
    lane = int32(cuda.threadIdx.x)
    _put_scores(scoring, shared, lane)
    while True:
        k = begin_strip(strips, scratch)
        if any_lane(k < 0):
            return
        job, strip = jobs[strips[k, 0]], strips[k, 1]
        buffers = plans, operations, targets, cells, borders, checkpoints
        parts = _parts_of(job, strip, buffers)
        is_last, found = strip == job[STRIPS] - 1, ends[job[ENDS] + strip, lane]
        if any_lane(job[LAST_SIZE if is_last else SIZE] == WIDE):
            _sweep_wide(job, strip, parts, found, scoring, shared, scratch)
        else:
            _sweep_narrow(job, strip, parts, found, scoring, shared, scratch)
