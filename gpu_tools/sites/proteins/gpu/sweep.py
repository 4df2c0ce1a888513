"""The packed sweep of proteins on a GPU: 16-bit cells, all lanes of a warp at one boundary.

A warp holds a strip of columns of the latest three rows in registers, two cells a register, and so
the three rows of chains that leave a codon out. At each boundary it branches as the plan says, see
`gpu_tools.sites.proteins.gpu.plan`. Of the rows in slots those of most use lie in shared memory.

The first column of a strip is the last one of the strip before, whose cells come as border words,
or lies before the first column. `checkpoints` and the best end come every so many boundaries.
"""

from __future__ import annotations

from numba import cuda, int32, int64, uint32

from gpu_tools.hardware.gpu.intrinsics.rows import (
    at_least,
    filled,
    further,
    load_quads,
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
    store4,
    sync_lanes,
)
from gpu_tools.sites.gpu.codon_borders import (
    SHARED_ARRIVING_AT,
    SHARED_SLOTS_AT,
    leave_group,
    next_words,
    peek_pair,
    put_words,
)
from gpu_tools.sites.gpu.codon_rows import (
    HIGH_THEN_LOW,
    HIGH_TWICE,
    LOW_TWICE,
    LOWS,
    settled_carry,
)
from gpu_tools.sites.gpu.packed_columns import NARROW, WIDE
from gpu_tools.sites.gpu.strips import begin_strip
from gpu_tools.sites.proteins.gpu.cells import (
    advanced,
    begun,
    first_at_least,
    left_out,
    residues_left_out,
)
from gpu_tools.sites.proteins.gpu.checkpoints import make_save
from gpu_tools.sites.proteins.gpu.job_table import (
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
    LAST_SIZE,
    NONE,
    OPERATIONS,
    RESIDUES,
    RING,
    SIZE,
    SLOTS,
    STEPS,
    STRIPS,
    SYMBOLS,
)
from gpu_tools.sites.proteins.gpu.operations import (
    HOT_SLOTS,
    PLAN_AT,
    PLAN_RING,
    PROFILE_AT,
    SHARED_WORDS,
    make_exit_place,
    make_operate,
    make_profile_of,
    make_slot_place,
)
from gpu_tools.sites.proteins.gpu.plan import (
    CLOSED,
    CODON_MASK,
    ENTER,
    EXIT,
    FRAMES,
    HAS_OPERATIONS,
    JOIN,
    OPERAND_SLOT_BITS,
    SPECIAL,
    START,
    STOP,
    WAITING,
    WAITS,
)

_LOWEST = -(2**31)


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
    return permute(int32(value), int32(value), int32(LOW_TWICE))


@cuda.jit(device=True)
def _next_boundary(number, ahead, plan, shared, lane):
    """Return a boundary, the next one, and what is ahead then.

    A group of boundaries is read while the one before is crossed.
    """
    here, seen = ahead
    if number & int32(WARP - 1) == 0:
        sync_lanes()
        at = int32((number + WARP + lane) & int32(PLAN_RING - 1))
        store4(shared, int64(PLAN_AT + 4 * at), seen)
        sync_lanes()
        seen = load4(plan, int64(4) * int64(number + 2 * WARP + lane))
    at = int32((number + 1) & int32(PLAN_RING - 1))
    following = load4(shared, int64(PLAN_AT + 4 * at))
    return here, following, (following, seen)


def _make_happen(size: int):
    """Return the device function that does the events of a boundary."""
    load, load_start, exit_place = load_row(size), load_quads(size), make_exit_place(size)
    slot_place = make_slot_place(size)

    @cuda.jit(device=True)
    def happen(boundary, row, one, two, exits, halo, strip):
        """Return the row behind them, and how many exits there are so far."""
        (shared, _), places = strip[1], strip[2]
        word, _, begins, entered = boundary
        if word & int32(EXIT):
            store_row(exit_place(exits, int32(0), places), row)
            store_row(exit_place(exits, int32(1), places), one)
            store_row(exit_place(exits, int32(2), places), two)
            exits = int32(exits + 1)
        row = raised(row, load_start(shared, strip[8]), begins)
        if word & int32(ENTER):
            slot = int32(entered & int32((1 << OPERAND_SLOT_BITS) - 1))
            bonus = permute(entered, entered, int32(HIGH_TWICE))
            row = raised(row, load(slot_place(slot, places)), bonus)
        return first_at_least(row, halo), exits

    return happen


def _make_ahead(size: int):
    """Return the device function that begins the row of a boundary, before the one in front is."""
    load_hot, profile_of, stride = load_quads(size), make_profile_of(size), 4 * size * WARP

    @cuda.jit(device=True)
    def ahead(boundary, number, three, gaps, diagonal, strip):
        """Return that part of the row, and the row of chains that leave a codon out."""
        (lane, _, _), (shared, _), weights = strip[0], strip[1], strip[6]
        word, _, bonus, _ = boundary
        place = strip[8]
        if word & int32(SPECIAL):
            bonus = strip[3]
            if word & int32(JOIN):
                bonus = int32(0)
                place = int32(place + stride * int32(WAITING + (number & int32(WAITS - 1))))
        leaving = weights[1]
        if word & int32(STOP):
            leaving = weights[2]
        gap = left_out(gaps, three, weights[0], leaving)
        profile = profile_of(shared, int32(word & int32(CODON_MASK)), lane)
        return begun(three, gap, load_hot(shared, place), profile, diagonal, bonus), gap

    return ahead


def _make_cross(size: int):
    """Return the device function that goes on by a boundary.

    The state is the row that `ahead` has begun; the three rows before it, the last one first; those
    of chains that leave a codon out, that of the boundary first; what stands before the rows; the
    best ends; the cursor of border words; the next operation, its number, and the exits so far; and
    the boundary, with one of those that a lane has read ahead.
    """
    operate, happen, ahead = make_operate(size), _make_happen(size), _make_ahead(size)

    @cuda.jit(device=True)
    def cross(number, state, strip):
        row, (one, two, _), gaps, edges, ends, cursor, (operation, n, exits), plan = state
        (lane, is_first, is_last), (shared, scratch) = strip[0], strip[1]
        none, borders, weights = strip[3], strip[5], strip[6]
        here, following, plan = _next_boundary(number, plan, strip[9], shared, lane)
        word = here[0]
        if word & int32(HAS_OPERATIONS):
            operation, n = operate(operation, n, strip[7], strip)
        words, place, cursor = next_words(cursor, borders, shared, lane)
        few = max2(edges[0], edges[1])
        made = advanced(row, one, two, few, (weights[0], weights[3], weights[4]), none)
        # the next row is begun here: exchanges between lanes take long
        next_row, next_gap = ahead(following, int32(number + 1), two, gaps[2], edges[1], strip)
        before = permute(words[0], words[0], int32(HIGH_TWICE))
        carry, most = residues_left_out(made[size], before, is_first, weights[0], scratch)
        inside, whole = none, none
        if is_first:
            inside = permute(words[0], none, int32(LOWS))
            whole = permute(words[1], none, int32(LOWS))
        row = first_at_least(at_least(made[:size], carry), inside)
        leaves = permute(row[-1], most, int32(HIGH_THEN_LOW))
        if word & int32(CLOSED) == 0:
            ends = raised(ends, row, here[1])
        if word & int32(SPECIAL):
            row, exits = happen(here, row, one, two, exits, whole, strip)
        put_words(shared, place, (leaves, permute(row[-1], row[-1], int32(HIGH_TWICE))), is_last)
        edge = settled_carry(row[-1], none, is_first, scratch)
        return (
            next_row, (row, one, two), (next_gap, gaps[0], gaps[1]), (edge, edges[0], edges[1]),
            ends, cursor, (operation, n, exits), plan,
        )  # fmt: skip

    return cross


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
            shared[uint32(PROFILE_AT + k)] = columns[k]
        for k in range(lane, stride, WARP):
            shared[uint32(SHARED_SLOTS_AT + k)] = columns[profile + k]
        at = uint32(SHARED_ARRIVING_AT + 2 * lane)
        shared[at], shared[at + uint32(1)] = none, none
        store4(shared, int64(PLAN_AT + 4 * lane), load4(plan, int64(4 * lane)))
        sync_lanes()
        in_memory = int64(max(job[SLOTS] - HOT_SLOTS, 0)) * int64(stride)
        first = address(cells[4 * lane :])
        places = (
            address(shared[uint32(SHARED_SLOTS_AT + 4 * lane) :]), first,
            further(first, in_memory), int32(job[RING] - 1),
        )  # fmt: skip
        weights = scoring[0], scoring[1], scoring[2], scoring[3], scoring[4]
        lanes = lane, lane == 0, lane == int32(WARP - 1)
        borders = arriving, leaving, strip == 0, int32(0), none
        return (
            lanes, (shared, scratch), places, none, int32(job[SYMBOLS]), borders, weights, todo,
            place_of(shared, uint32(SHARED_SLOTS_AT + 4 * lane)), plan,
        )  # fmt: skip

    return prepare


def _make_note(size: int):
    """Return the device function that notes the best end of some boundaries."""

    @cuda.jit(device=True)
    def note(job, strip, number, row, ends, extend, scratch_row, lane):
        """`scratch_row` are words of the strip's cells that nobody else uses."""
        store_row(address(scratch_row[4 * lane :]), row)
        best, first = int32(_LOWEST), int32(2 * size * lane - 1)
        before = int32(strip) * int32(2 * int32(job[SIZE]) * WARP - 1)
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
    stride, slot_place = size * WARP, make_slot_place(size)
    ahead, cross, prepare = _make_ahead(size), _make_cross(size), _make_prepare(size)
    note, save, load = _make_note(size), make_save(size), load_row(size)

    @cuda.jit(device=True)
    def begin(parts, fixed, model):
        """Return the state before the first boundary."""
        none = fixed[3]
        low = filled(model, none)
        cursor = int32(0), peek_pair(int32(0), fixed[5], fixed[0][0])
        first = load4(parts[0], int64(0))
        row, gap = ahead(first, int32(0), low, low, none, fixed)
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
        lane, end, every = int32(cuda.threadIdx.x), int32(job[STEPS]), int32(job[EVERY])
        model = load(slot_place(int32(START), fixed[2]))
        for slot in range(1, job[SLOTS]):
            store_row(slot_place(int32(slot), fixed[2]), filled(model, fixed[3]))
        state = begin(parts, fixed, model)
        step, number, next_note = int32(0), int32(0), every
        scratch_row = cells[job[CELL_STRIDE] - stride :]
        counts, saved = (int32(job[SLOTS]), int32(job[RING])), job[CHECKPOINTS]
        saved += strip * job[CHECKPOINT_STRIDE]
        while step < end:
            boundary = int32(FRAMES * step)
            if boundary == next_note:
                note(job, strip, number, state[4], buffers[1], scoring[5], scratch_row, lane)
                save(buffers[0][saved:], state[1], state[2], counts, lane, fixed[2])
                saved += job[STRIPS] * job[CHECKPOINT_STRIDE]
                number, next_note = int32(number + 1), int32(next_note + every)
                low = filled(model, fixed[3])
                state = (state[0], state[1], state[2], state[3], low, state[5], state[6], state[7])
            state = cross(boundary, state, fixed)
            state = cross(int32(boundary + 1), state, fixed)
            state = cross(int32(boundary + 2), state, fixed)
            step = int32(step + 1)
        sync_lanes()
        reached = int32((state[5][0] + WARP - 1) & ~int32(WARP - 1))
        leave_group(reached, fixed[5], shared, lane)
        note(job, strip, number, state[4], buffers[1], scoring[5], scratch_row, lane)
        sync_lanes()

    return sweep


_sweep_narrow, _sweep_wide = _make_sweep(NARROW), _make_sweep(WIDE)


@kernel()
def sweep_proteins_warp(
    jobs, strips, boundaries, operations, columns, cells, borders, checkpoints, ends, scoring
):
    """Sweep strips of jobs, as long as there are any; a thread block is one warp.

    A strip needs only strips that were begun before it, so a warp that waits always waits for one
    that runs.

    Parameters
    ----------
    jobs : int64 array, shape (J, 23)
        See `gpu_tools.sites.proteins.gpu.job_table`.
    strips : int32 array, shape (S + 1, 2)
        Job and strip, in the order in which they are begun; how many are begun stands last.
    boundaries, operations : int32 array
        The jobs' `ProteinPlan`.
    columns : int32 array
        Of each strip the profile, four scores a word, and the row of chains that begin.
    cells : int32 array
        Of each strip slots in device memory, rows of exits, and a row for notes; written.
    borders : int64 array
        Of each strip a pair of words a boundary, all `NEVER_PAIR`; written.
    checkpoints : int32 array
        Those of all strips before a boundary one behind the other, then the next ones; written.
    ends : int32 array
        For each distance of checkpoints the best end of each strip, the usual points left out, all
        of the lowest value; raised.
    scoring : int32 array, shape (6,)
        What is added for gaps opened, codons left out, stop codons left out, frameshifts, and
        frameshifts with a residue, each in both halves; and gap extend.
    """
    scratch = cuda.shared.array(WARP, int32)
    shared = cuda.shared.array(SHARED_WORDS, int32, alignment=FOUR_WORDS)
    while True:
        k = begin_strip(strips, scratch)
        if any_lane(k < 0):
            return
        job, strip = jobs[strips[k, 0]], strips[k, 1]
        parts = _parts_of(job, strip, (boundaries, operations, columns, cells, borders))
        is_last, buffers = strip == job[STRIPS] - 1, (checkpoints, ends)
        if any_lane(job[LAST_SIZE if is_last else SIZE] == WIDE):
            _sweep_wide(job, strip, parts, buffers, scoring, shared, scratch)
        else:
            _sweep_narrow(job, strip, parts, buffers, scoring, shared, scratch)
