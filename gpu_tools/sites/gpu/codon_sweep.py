"""The packed sweep of chains that translate on a GPU: 16-bit cells, all lanes at one boundary.

A warp holds a strip of target columns of the three current rows in registers, two cells a register.
At each boundary it branches as the plan says (see `gpu_tools.sites.gpu.codon_plan`): so what is
rare costs nothing elsewhere. Of the rows in slots those of most use lie in shared memory.

Cells are lifted as those of the other packed kernel are, and rows for the traceback lie as its rows
do. Each lane notes its best end.
"""

from __future__ import annotations

from numba import cuda, int32, int64, uint32

from gpu_tools.hardware.gpu.intrinsics.rows import filled, further, place_of, store_row
from gpu_tools.hardware.gpu.intrinsics.words import (
    FOUR_WORDS,
    WARP,
    address,
    any_lane,
    kernel,
    load4,
    sync_lanes,
)
from gpu_tools.sites.gpu.codon_borders import (
    SHARED_ARRIVING_AT,
    SHARED_SLOTS_AT,
    leave_group,
    peek_pair,
)
from gpu_tools.sites.gpu.codon_checkpoints import make_resume, make_save
from gpu_tools.sites.gpu.codon_operations import HOT_SLOTS, make_slot_place
from gpu_tools.sites.gpu.codon_step import make_codon_step
from gpu_tools.sites.gpu.ends import COLUMN, LOWEST_SCORE, NUMBER, SCORE
from gpu_tools.sites.gpu.job_table import (
    ADVANCES,
    BORDERS,
    BOUNDARIES,
    CELLS,
    CHECKPOINT_STRIDE,
    CHECKPOINTS,
    COLUMNS,
    COPY_BASE,
    ENDS,
    EVERY,
    EXIT_BASE,
    FIRST_STEP,
    FLOOR,
    LAST_SIZE,
    MASK,
    N_SLOTS,
    OPERANDS,
    OPERATIONS,
    RING,
    ROWS,
    SIZE,
    SLOTS,
    START,
    STRIDE,
    STRIPS,
    TARGET,
)
from gpu_tools.sites.gpu.packed_columns import (
    NARROW,
    WIDE,
    make_choose,
    make_columns,
    make_find_column,
)
from gpu_tools.sites.gpu.packed_step import END_GAP_AT, EXTRA_AT, GAP_AT, WORDS_AT
from gpu_tools.sites.gpu.row_plan import NO_SYMBOL
from gpu_tools.sites.gpu.steps import BEST_END
from gpu_tools.sites.gpu.strips import NEVER, begin_strip, lowered_by

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

    Parameters
    ----------
    jobs : int64 array, shape (J, 30)
        See `gpu_tools.sites.gpu.job_table`.
    strips : int32 array, shape (S + 1, 2)
        Job and strip, in the order in which they are begun; how many are begun stands last.
    plans, operations : int32 array
        The jobs' `CodonPlan`: words with operands behind them, and operations.
    targets : uint8 array
        The jobs' symbols.
    cells : int32 array
        Of each strip an unused row, the one with a lane's best end, stored rows and slots; written.
    borders : int64 array
        Of each strip a word an advance, all `NEVER_PAIR`; written.
    checkpoints : int32 array
        Those of all strips one behind the other, then the next ones. Written by jobs that begin
        with the first step, read by the others.
    ends : int32 array, shape (strips, WARP, 3)
        Score, number and column of the best end of each strip and lane; written.
    scoring : int32 array
        As in `sweep_packed_warp`.
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
