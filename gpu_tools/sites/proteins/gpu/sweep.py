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
    load_row,
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
    first_at_least,
    left_out,
    residues_left_out,
)
from gpu_tools.sites.proteins.gpu.checkpoints import make_save
from gpu_tools.sites.proteins.gpu.job_table import (
    BEGUN,
    BORDERS,
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
    OPERANDS,
    OPERATIONS,
    RESIDUES,
    RING,
    SIZE,
    SLOTS,
    STEPS,
    STRIPS,
    SYMBOLS,
    WORDS,
)
from gpu_tools.sites.proteins.gpu.operations import (
    HOT_SLOTS,
    PROFILE_AT,
    SHARED_WORDS,
    make_exit_place,
    make_operate,
    make_profile_of,
    make_slot_place,
)
from gpu_tools.sites.proteins.gpu.plan import (
    BEGIN,
    CLOSED,
    CODON_MASK,
    ENTER,
    EXIT,
    FINAL,
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
    """Return a strip's words, operands, operations, columns and cells, and its two borders."""
    words, operands, operations, columns, cells, borders = buffers
    advances = -(-FRAMES * job[STEPS] // WARP) * WARP
    before = job[BORDERS] + max(strip - 1, 0) * advances
    leaving = job[BORDERS] + strip * advances
    return (
        words[job[WORDS] :], operands[job[OPERANDS] :], operations[job[OPERATIONS] :],
        columns[job[COLUMNS] + strip * job[COLUMN_STRIDE] :],
        cells[job[CELLS] + strip * job[CELL_STRIDE] :],
        borders[before : before + advances], borders[leaving : leaving + advances],
    )  # fmt: skip


@cuda.jit(device=True)
def _twice(value):
    """Return a value in both halves of a word."""
    return permute(int32(value), int32(value), int32(LOW_TWICE))


def _make_happen(size: int):
    """Return the device function that does the events of a boundary."""
    load = load_row(size)
    slot_place, exit_place = make_slot_place(size), make_exit_place(size)

    @cuda.jit(device=True)
    def happen(word, row, one, two, notes, halo, strip):
        """Return the row behind them, and the notes: next operand, its number, exits so far."""
        places, operands, begin = strip[2], strip[6], strip[7][5]
        operand, at, exits = notes
        if word & int32(EXIT):
            store_row(exit_place(exits, int32(0), places), row)
            store_row(exit_place(exits, int32(1), places), one)
            store_row(exit_place(exits, int32(2), places), two)
            exits = int32(exits + 1)
        if word & int32(BEGIN):
            begin, at = operand, int32(at + 1)
            operand = operands[at]
        row = raised(row, load(slot_place(int32(START), places)), begin)
        if word & int32(ENTER):
            slot = int32(operand & int32((1 << OPERAND_SLOT_BITS) - 1))
            bonus = permute(operand, operand, int32(HIGH_TWICE))
            row, at = raised(row, load(slot_place(slot, places)), bonus), int32(at + 1)
            operand = operands[at]
        return first_at_least(row, halo), (operand, at, exits)

    return happen


def _make_cross(size: int):
    """Return the device function that goes on by a boundary.

    The state is the latest three rows, the last one first; those of chains that leave a codon out;
    what stands before them; the best ends; the cursor of border words; the next operation and its
    number; and what `happen` notes.
    """
    load, profile_of, slot_place = load_row(size), make_profile_of(size), make_slot_place(size)
    operate, happen = make_operate(size), _make_happen(size)

    @cuda.jit(device=True)
    def cross(word, boundary, state, strip):
        (one, two, three), gaps, edges, ends, cursor, (following, n), notes = state
        (lane, is_first, is_last), (shared, scratch), places, none = strip[:4]
        borders, weights = strip[5], strip[7]
        opening, leaving, stopping, shifts, shifts_on, begun = weights
        if word & int32(HAS_OPERATIONS):
            following, n = operate(following, n, strip[8], strip)
        words, place, cursor = next_words(cursor, borders, shared, lane)
        slot, bonus = int32(START), begun
        if word & int32(SPECIAL):
            bonus = none
            if word & int32(JOIN):
                slot, bonus = int32(WAITING + (boundary & int32(WAITS - 1))), int32(0)
        joined, codon = load(slot_place(slot, places)), int32(word & int32(CODON_MASK))
        if word & int32(STOP):
            leaving = stopping
        gap = left_out(gaps[2], three, opening, leaving)
        made = advanced(
            (one, two, three), gap, joined, profile_of(shared, codon, lane),
            (edges[2], max2(edges[0], edges[1])), (opening, shifts, shifts_on, bonus), none,
        )  # fmt: skip
        before = permute(words[0], words[0], int32(HIGH_TWICE))
        carry, most = residues_left_out(made[size], before, is_first, opening, scratch)
        inside, whole = none, none
        if is_first:
            inside = permute(words[0], none, int32(LOWS))
            whole = permute(words[1], none, int32(LOWS))
        row = first_at_least(at_least(made[:size], carry), inside)
        leaves = permute(row[-1], most, int32(HIGH_THEN_LOW))
        if word & int32(CLOSED) == 0:
            added = int32(0)
            if word & int32(FINAL):
                added, at = notes[0], int32(notes[1] + 1)
                notes = strip[6][at], at, notes[2]
            ends = raised(ends, row, added)
        if word & int32(SPECIAL):
            row, notes = happen(word, row, one, two, notes, whole, strip)
        put_words(shared, place, (leaves, permute(row[-1], row[-1], int32(HIGH_TWICE))), is_last)
        edge = settled_carry(row[-1], none, is_first, scratch)
        return (
            (row, one, two), (gap, gaps[0], gaps[1]), (edge, edges[0], edges[1]), ends, cursor,
            (following, n), notes,
        )  # fmt: skip

    return cross


def _make_prepare(size: int):
    """Return the device function that puts what never changes into its place."""
    stride = size * WARP

    @cuda.jit(device=True)
    def prepare(job, strip, parts, scoring, shared, scratch):
        """Return what all boundaries need."""
        _, operands, todo, columns, cells, arriving, leaving = parts
        lane, none = int32(cuda.threadIdx.x), _twice(job[NONE])
        profile = int32(job[CODONS]) * int32(stride // 2)
        for k in range(lane, profile, WARP):
            shared[uint32(PROFILE_AT + k)] = columns[k]
        for k in range(lane, stride, WARP):
            shared[uint32(SHARED_SLOTS_AT + k)] = columns[profile + k]
        at = uint32(SHARED_ARRIVING_AT + 2 * lane)
        shared[at], shared[at + uint32(1)] = none, none
        sync_lanes()
        in_memory = int64(max(job[SLOTS] - HOT_SLOTS, 0)) * int64(stride)
        first = address(cells[4 * lane :])
        places = (
            address(shared[uint32(SHARED_SLOTS_AT + 4 * lane) :]), first,
            further(first, in_memory), int32(job[RING] - 1),
        )  # fmt: skip
        weights = scoring[0], scoring[1], scoring[2], scoring[3], scoring[4], _twice(job[BEGUN])
        lanes = lane, lane == 0, lane == int32(WARP - 1)
        borders = arriving, leaving, strip == 0, int32(0), none
        return (
            lanes, (shared, scratch), places, none, int32(job[SYMBOLS]), borders, operands,
            weights, todo,
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
    cross, prepare = _make_cross(size), _make_prepare(size)
    note, save = _make_note(size), make_save(size)

    @cuda.jit(device=True)
    def begin(parts, fixed, model):
        """Return the state before the first boundary; slots but the first are cleared."""
        none = fixed[3]
        low = filled(model, none)
        cursor = int32(0), peek_pair(int32(0), fixed[5], fixed[0][0])
        return (
            (low, low, low), (low, low, low), (none, none, none), low, cursor,
            (load4(parts[2], int64(0)), int32(0)), (parts[1][0], int32(0), int32(0)),
        )  # fmt: skip

    @cuda.jit(device=True)
    def sweep(job, strip, parts, buffers, scoring, shared, scratch):
        """Sweep a strip; `buffers` are checkpoints and best ends."""
        fixed, words, cells = (
            prepare(job, strip, parts, scoring, shared, scratch),
            parts[0],
            parts[4],
        )
        lane, end, every = int32(cuda.threadIdx.x), int32(job[STEPS]), int32(job[EVERY])
        model = load_row(size)(slot_place(int32(START), fixed[2]))
        state = begin(parts, fixed, model)
        for slot in range(1, job[SLOTS]):
            store_row(slot_place(int32(slot), fixed[2]), state[3])
        step, number, next_note = int32(0), int32(0), every
        scratch_row = cells[job[CELL_STRIDE] - stride :]
        counts, saved = (int32(job[SLOTS]), int32(job[RING])), job[CHECKPOINTS]
        saved += strip * job[CHECKPOINT_STRIDE]
        first, second, third = words[0], words[1], words[2]
        while step < end:
            at, boundary = uint32(FRAMES * (step + 1)), int32(FRAMES * step)
            here, following, last = first, second, third
            first, second, third = words[at], words[at + uint32(1)], words[at + uint32(2)]
            if boundary == next_note:
                note(job, strip, number, state[3], buffers[1], scoring[5], scratch_row, lane)
                save(buffers[0][saved:], state[0], state[1], counts, lane, fixed[2])
                saved += job[STRIPS] * job[CHECKPOINT_STRIDE]
                number, next_note = int32(number + 1), int32(next_note + every)
                state = (*state[:3], filled(model, fixed[3]), *state[4:])
            state = cross(here, boundary, state, fixed)
            state = cross(following, int32(boundary + 1), state, fixed)
            state = cross(last, int32(boundary + 2), state, fixed)
            step = int32(step + 1)
        sync_lanes()
        reached = int32((state[4][0] + WARP - 1) & ~int32(WARP - 1))
        leave_group(reached, fixed[5], shared, lane)
        note(job, strip, number, state[3], buffers[1], scoring[5], scratch_row, lane)
        sync_lanes()

    return sweep


_sweep_narrow, _sweep_wide = _make_sweep(NARROW), _make_sweep(WIDE)


@kernel()
def sweep_proteins_warp(
    jobs, strips, words, operands, operations, columns, cells, borders, checkpoints, ends, scoring
):
    """Sweep strips of jobs, as long as there are any; a thread block is one warp.

    A strip needs only strips that were begun before it, so a warp that waits always waits for one
    that runs.

    Parameters
    ----------
    jobs : int64 array, shape (J, 24)
        See `gpu_tools.sites.proteins.gpu.job_table`.
    strips : int32 array, shape (S + 1, 2)
        Job and strip, in the order in which they are begun; how many are begun stands last.
    words, operands, operations : int32 array
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
        parts = _parts_of(job, strip, (words, operands, operations, columns, cells, borders))
        is_last, buffers = strip == job[STRIPS] - 1, (checkpoints, ends)
        if any_lane(job[LAST_SIZE if is_last else SIZE] == WIDE):
            _sweep_wide(job, strip, parts, buffers, scoring, shared, scratch)
        else:
            _sweep_narrow(job, strip, parts, buffers, scoring, shared, scratch)
