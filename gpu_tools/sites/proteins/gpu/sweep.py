"""The packed sweep of proteins on a GPU: 16-bit cells, all lanes of a warp at one boundary.

A warp holds a strip of columns of the latest three rows in registers, two cells a register, and so
the three rows of chains that leave a codon out. At each boundary it branches as the plan says, see
`gpu_tools.sites.proteins.gpu.plan`. Of the rows in slots those of most use lie in shared memory.

The first column of a strip is the last one of the strip before, whose cells come as border words,
or lies before the first column. `checkpoints` and the best end come every so many boundaries.
"""

from __future__ import annotations

from numba import cuda, int32, int64, uint32

from gpu_tools.hardware.gpu.intrinsics import rows
from gpu_tools.hardware.gpu.intrinsics.words import (
    FOUR_WORDS,
    WARP,
    address,
    any_lane,
    kernel,
    load4,
    permute,
    store4,
    sync_lanes,
)
from gpu_tools.sites.gpu import codon_rows
from gpu_tools.sites.gpu.packed_strip import WIDE, begin_strip
from gpu_tools.sites.proteins.gpu import step
from gpu_tools.sites.proteins.gpu.plan import FRAMES, START
from gpu_tools.sites.proteins.gpu.strips import (
    BORDERS,
    BOUNDARIES,
    CELL_STRIDE,
    CELLS,
    CHECKPOINT_STRIDE,
    CHECKPOINTS,
    CODONS,
    COLUMN_STRIDE,
    COLUMNS,
    ENDS,
    EVERY,
    FINAL_COLUMN,
    NEVER_BEGUN,
    NONE,
    OPERATIONS,
    PLACED_ROWS,
    RESIDUES,
    RING,
    SLOTS,
    STEPS,
    STRIPS,
    SYMBOLS,
)

_LOWEST = -(2**31)
_SHARED_WORDS = step.SHARED_WORDS


@cuda.jit(device=True)
def _parts_of(job, strip, buffers):
    """Return a strip's boundaries, operations, columns and cells, and its two borders."""
    boundaries, operations, columns, cells, borders = buffers
    advances = -(-FRAMES * job[STEPS] // WARP) * WARP
    before = job[BORDERS] + max(strip - 1, 0) * advances
    leaving = job[BORDERS] + strip * advances
    return (
        boundaries[job[BOUNDARIES] :], operations[job[OPERATIONS] :],
        columns[job[COLUMNS] + strip * job[COLUMN_STRIDE] :],
        cells[job[CELLS] + strip * job[CELL_STRIDE] :],
        borders[before : before + advances], borders[leaving : leaving + advances],
    )  # fmt: skip


@cuda.jit(device=True)
def _twice(value):
    """Return a value in both halves of a word."""
    return permute(int32(value), int32(value), int32(codon_rows.LOW_TWICE))


def _make_prepare(size: int):
    """Return the device function that puts what never changes into its place."""
    stride = size * WARP

    @cuda.jit(device=True)
    def prepare(job, strip, parts, scoring, shared, scratch):
        """Return what all boundaries need."""
        plan, todo, columns, cells, arriving, leaving = parts
        lane, none = int32(cuda.threadIdx.x), _twice(job[NONE])
        profile = int32(job[CODONS]) * int32(stride // 2)
        for k in range(lane, profile, WARP):
            shared[uint32(step.PROFILE_AT + k)] = columns[k]
        for k in range(lane, stride, WARP):
            shared[uint32(codon_rows.SHARED_SLOTS_AT + k)] = columns[profile + k]
        points = job[CELL_STRIDE] - int64(1 + job[PLACED_ROWS]) * int64(stride)
        for k in range(lane, job[PLACED_ROWS] * stride, WARP):
            cells[points + k] = columns[profile + stride + k]
        at = uint32(codon_rows.SHARED_ARRIVING_AT + 2 * lane)
        shared[at], shared[at + uint32(1)] = none, none
        store4(shared, int64(step.PLAN_AT + 4 * lane), load4(plan, int64(4 * lane)))
        sync_lanes()
        in_memory = int64(max(job[SLOTS] - step.HOT_SLOTS, 0)) * int64(stride)
        first = address(cells[4 * lane :])
        places = (
            address(shared[uint32(codon_rows.SHARED_SLOTS_AT + 4 * lane) :]), first,
            rows.further(first, in_memory), int32(job[RING] - 1),
        )  # fmt: skip
        never = _twice(job[NEVER_BEGUN])
        weights = scoring[0], scoring[1], scoring[2], scoring[3], scoring[4], never
        lanes = lane, lane == 0, lane == int32(WARP - 1)
        borders = arriving, leaving, strip == 0, int32(0), none
        return (
            lanes, (shared, scratch), places, none, int32(job[SYMBOLS]), borders, weights, todo,
            rows.place_of(shared, uint32(codon_rows.SHARED_SLOTS_AT + 4 * lane)), plan,
        )  # fmt: skip

    return prepare


def _make_note(size: int):
    """Return the device function that notes the best end of some boundaries."""

    @cuda.jit(device=True)
    def note(job, strip, number, row, ends, extend, scratch_row, lane):
        """`scratch_row` are words of the strip's cells that have no other use."""
        rows.store_row(address(scratch_row[4 * lane :]), row)
        best, first = int32(_LOWEST), int32(2 * size * lane - 1)
        before = int32(strip) * int32(2 * size * WARP - 1)
        for half in range(2):
            for k in range(size):
                word = scratch_row[uint32((k // 4) * 4 * WARP + 4 * lane + k % 4)]
                value = int32(int32(word << int32(16 - 16 * half)) >> int32(16))
                own = int32(first + half * size + k)
                column = int32(before + own)
                if own >= 0 and column >= job[FINAL_COLUMN] and column <= job[RESIDUES]:
                    best = max(best, int32(value - extend * column))
        cuda.atomic.max(ends, job[ENDS] + number * job[STRIPS] + strip, best)

    return note


def _make_sweep(size: int):
    """Return the device function that sweeps a strip of `size` registers a lane."""
    stride, slot_place = size * WARP, step.make_slot_place(size)
    begin_row = step.make_begin_row(size)
    cross = step.make_cross(size)
    prepare = _make_prepare(size)
    note, save, load = _make_note(size), step.make_save(size), rows.load_row(size)

    @cuda.jit(device=True)
    def begin(parts, fixed, model):
        """Return the state before the first boundary."""
        none = fixed[3]
        low = rows.filled(model, none)
        cursor = int32(0), codon_rows.peek_pair(int32(0), fixed[5], fixed[0][0])
        first = load4(parts[0], int64(0))
        row, gap = begin_row(first, int32(0), low, low, none, fixed)
        seen = load4(parts[0], int64(4) * int64(WARP + fixed[0][0]))
        return (
            row, (low, low, low), (gap, low, low), (none, none, none), low, cursor,
            (load4(parts[1], int64(0)), int32(0), int32(0)), (first, seen),
        )  # fmt: skip

    @cuda.jit(device=True)
    def sweep(job, strip, parts, buffers, scoring, shared, scratch):
        """Sweep a strip; `buffers` are checkpoints and best ends."""
        fixed = prepare(job, strip, parts, scoring, shared, scratch)
        cells = parts[3]
        lane, every = int32(cuda.threadIdx.x), int32(job[EVERY])
        end = int32(FRAMES) * int32(job[STEPS])
        model = load(slot_place(int32(START), fixed[2]))
        for slot in range(1, job[SLOTS]):
            rows.store_row(slot_place(int32(slot), fixed[2]), rows.filled(model, fixed[3]))
        state = begin(parts, fixed, model)
        boundary, number, next_note = int32(0), int32(0), every
        scratch_row = cells[job[CELL_STRIDE] - stride :]
        counts, saved = (int32(job[SLOTS]), int32(job[RING])), job[CHECKPOINTS]
        saved += strip * job[CHECKPOINT_STRIDE]
        while boundary < end:
            if boundary == next_note:
                note(job, strip, number, state[4], buffers[1], scoring[5], scratch_row, lane)
                save(buffers[0][saved:], state[1], state[2], counts, lane, fixed[2])
                saved += job[STRIPS] * job[CHECKPOINT_STRIDE]
                number, next_note = int32(number + 1), int32(next_note + every)
                low = rows.filled(model, fixed[3])
                state = (state[0], state[1], state[2], state[3], low, state[5], state[6], state[7])
            # three copies of this code need no moves of rows, but the cache misses instructions
            state = cross(boundary, state, fixed)
            boundary = int32(boundary + 1)
        sync_lanes()
        reached = int32((state[5][0] + WARP - 1) & ~int32(WARP - 1))
        codon_rows.leave_group(reached, fixed[5], shared, lane)
        note(job, strip, number, state[4], buffers[1], scoring[5], scratch_row, lane)
        sync_lanes()

    return sweep


_sweep = _make_sweep(WIDE)


@kernel()
def sweep_proteins_warp(
    jobs, strips, boundaries, operations, columns, cells, borders, checkpoints, ends, scoring
):
    """Sweep strips of jobs, as long as there are any; a thread block is one warp.

    A strip needs only strips that were begun before it, so a warp that waits always waits for one
    that runs.
    """
    scratch = cuda.shared.array(WARP, int32)
    shared = cuda.shared.array(_SHARED_WORDS, int32, alignment=FOUR_WORDS)
    while True:
        k = begin_strip(strips, scratch)
        if any_lane(k < 0):
            return
        job, strip = jobs[strips[k, 0]], strips[k, 1]
        parts = _parts_of(job, strip, (boundaries, operations, columns, cells, borders))
        _sweep(job, strip, parts, (checkpoints, ends), scoring, shared, scratch)
