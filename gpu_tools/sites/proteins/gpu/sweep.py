"""The packed sweep of proteins on a GPU: 16-bit cells, all lanes of a warp at one boundary.

A warp holds a strip of columns of the latest three rows in registers, two cells a register, and so
the three rows of chains that leave a codon out. At each boundary it branches as the plan says, see
`gpu_tools.sites.proteins.gpu.plan`. Of the rows in slots those of most use lie in shared memory.

The first column of a strip is the last one of the strip before, whose cells come as border words,
or lies before the first column. A strand has parts: of each a checkpoint before it is written, its
best end, and the largest rows of its exits.
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
    shuffle,
    store4,
    sync_lanes,
)
from gpu_tools.sites.gpu import codon_rows
from gpu_tools.sites.gpu.packed_strip import WIDE, begin_strip
from gpu_tools.sites.proteins.gpu import step
from gpu_tools.sites.proteins.gpu.plan import FRAMES, LARGEST, START
from gpu_tools.sites.proteins.gpu.strips import (
    BEFORE_FIRST,
    BIAS,
    BORDERS,
    BOUNDARIES,
    CELL_STRIDE,
    CELLS,
    CHECKPOINT_STRIDE,
    CHECKPOINTS,
    CODONS,
    ENDS,
    EVERY,
    EXITS,
    FINAL_COLUMN,
    HOT,
    N_BOUNDARIES,
    NEVER_BEGUN,
    NONE,
    OPERATIONS,
    PLACED_ROWS,
    POINTS,
    RESIDUES,
    RING,
    SLOTS,
    STRIPS,
    SYMBOLS,
    TARGET,
)

_LOWEST = -(2**31)


@cuda.jit(device=True)
def parts_of(job, strip, buffers, first):
    """Return a strip's boundaries from one on, operations, columns and cells, and two borders."""
    boundaries, operations, columns, cells, borders = buffers
    advances = -(-job[N_BOUNDARIES] // WARP) * WARP
    before = job[BORDERS] + max(strip - 1, 0) * advances
    leaving = job[BORDERS] + strip * advances
    return (
        boundaries[job[BOUNDARIES] + 4 * first :], operations[job[OPERATIONS] :],
        columns,
        cells[job[CELLS] + strip * job[CELL_STRIDE] :],
        borders[before + first : before + advances], borders[leaving + first : leaving + advances],
    )  # fmt: skip


@cuda.jit(device=True)
def _twice(value):
    """Return a value in both halves of a word."""
    return permute(int32(value), int32(value), int32(codon_rows.LOW_TWICE))


@cuda.jit(device=True)
def _symbol(job, columns, place):
    """Return the column of the table of scores for a place: that of a residue, or one of none."""
    targets, scores, _ = columns
    if 2 <= place < 2 + job[RESIDUES]:
        return int32(targets[job[TARGET] + place - 2])
    return int32(scores.shape[1] - (1 if place == 1 else 2))


def _make_lay_profile(size: int):
    """Return the device function that writes the scores of a lane's columns to shared memory.

    They are bytes, four a word: of two registers both halves.
    """

    @cuda.jit(device=True)
    def lay_profile(job, columns, first, shared, lane):
        """`first` is the lane's first column, 1 the first one of all strips."""
        scores = columns[1]
        for k in range(0, size, 2):
            a, b = _symbol(job, columns, first + k), _symbol(job, columns, first + k + size)
            c, d = _symbol(job, columns, first + k + 1), _symbol(job, columns, first + k + 1 + size)
            for codon in range(job[CODONS]):
                low = scores[codon, a] & int32(255) | (scores[codon, b] & int32(255)) << int32(8)
                high = (scores[codon, c] & int32(255)) << int32(16) | scores[codon, d] << int32(24)
                at = int32(codon * WARP + lane) * int32(size // 2) + int32(k // 2)
                shared[uint32(step.PROFILE_AT + at)] = int32(low | high)

    return lay_profile


@cuda.jit(device=True)
def _begun(job, scoring, place):
    """Return the cell of a chain that begins, its points left out, at a place."""
    column = int32(min(place - 1, job[RESIDUES]))
    cell = int32(job[BEFORE_FIRST])
    if column == 0:
        cell = int32(0)
    elif column > 0 and job[FINAL_COLUMN] == 0:
        cell = int32(column * scoring[5])
    elif column > 0:
        cell = int32(int32(scoring[0] << int32(16)) >> int32(16))
    return int32(cell - int32(job[BIAS]))


@cuda.jit(device=True)
def _point(job, points, phase, place):
    """Return the points of introns of a phase at a place."""
    if 1 <= place <= 1 + job[RESIDUES]:
        return int32(points[job[POINTS] + phase, place - 1])
    return int32(0)


def _make_lay_begins(size: int):
    """Return the device function that writes cells of chains that begin, and points of introns."""
    stride = size * WARP

    @cuda.jit(device=True)
    def lay_begins(job, columns, scoring, first, shared, cells, lane):
        placed = job[CELL_STRIDE] - int64(1 + job[PLACED_ROWS]) * int64(stride)
        for k in range(size):
            at, place = int32((k // 4 * WARP + lane) * 4 + k % 4), int32(first + k)
            low, high = _begun(job, scoring, place), _begun(job, scoring, int32(place + size))
            words = permute(low, high, int32(codon_rows.LOWS))
            shared[uint32(step.SLOTS_AT + at)] = words
            for phase in range(job[PLACED_ROWS]):
                low = _point(job, columns[2], phase, place)
                high = _point(job, columns[2], phase, int32(place + size))
                words = permute(low, high, int32(codon_rows.LOWS))
                cells[placed + phase * stride + at] = words

    return lay_begins


def make_prepare(size: int):
    """Return the device function that puts what never changes into its place."""
    stride, slot_place = size * WARP, step.make_slot_place(size)
    lay_profile, lay_begins = _make_lay_profile(size), _make_lay_begins(size)

    @cuda.jit(device=True)
    def prepare(job, strip, parts, scoring, shared, scratch):
        """Return what all boundaries need."""
        sync_lanes()
        plan, todo, columns, cells, arriving, leaving = parts
        lane, none = int32(cuda.threadIdx.x), _twice(job[NONE])
        first = int32(strip) * int32(2 * stride - 1) + int32(2 * size) * lane
        lay_profile(job, columns, first, shared, lane)
        lay_begins(job, columns, scoring, first, shared, cells, lane)
        at = uint32(codon_rows.SHARED_ARRIVING_AT + 2 * lane)
        shared[at], shared[at + uint32(1)] = none, none
        store4(shared, int64(step.PLAN_AT + 4 * lane), load4(plan, int64(4 * lane)))
        sync_lanes()
        behind = int64(1 + job[PLACED_ROWS] + FRAMES * job[RING]) * int64(stride)
        first = address(cells[4 * lane :])
        places = (
            address(shared[uint32(step.SLOTS_AT + 4 * lane) :]), first,
            rows.further(first, job[CELL_STRIDE] - behind), int32(job[RING] - 1), int32(job[HOT]),
        )  # fmt: skip
        never = _twice(job[NEVER_BEGUN])
        weights = scoring[0], scoring[1], scoring[2], scoring[3], scoring[4], never
        lanes = lane, lane == 0, lane == int32(WARP - 1)
        borders = (
            (arriving, int32(-1), strip > 0), (leaving, int32(-1), strip < job[STRIPS] - 1),
            int32(0), none,
        )  # fmt: skip
        return (
            lanes, (shared, scratch), places, none, int32(job[SYMBOLS]), borders, weights, todo,
            rows.place_of(shared, uint32(step.SLOTS_AT + 4 * lane)), plan,
            slot_place(int32(LARGEST), places),
        )  # fmt: skip

    return prepare


def _make_note(size: int):
    """Return the device function that notes the best end of some boundaries."""

    @cuda.jit(device=True)
    def note(job, strip, row, extend, scratch_row, lane, scratch):
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
        distance = int32(1)
        while distance < WARP:
            best = max(best, shuffle(best, int32(lane ^ distance), scratch))
            distance = int32(distance * 2)
        return best

    return note


def make_sweep_on(size: int):
    """Return the device function that sweeps boundaries, part by part."""
    stride, cross, save = size * WARP, step.make_cross(size), step.make_save(size)
    note, load = _make_note(size), rows.load_row(size)

    @cuda.jit(device=True)
    def part_done(job, strip, state, places, part, noted, scoring, fixed):
        """Note the best end of a part, and the largest rows of its exits; forget both."""
        (lane, _, _), (_, scratch), (exits, ends) = fixed[0], fixed[1], noted
        best = note(job, strip, state[4], scoring[5], places[1], lane, scratch)
        number = part * job[STRIPS] + strip
        if lane == 0:
            ends[number] = best
        to = address(exits[number * stride + 4 * lane :])
        rows.store_row(to, load(fixed[10]))
        low = rows.filled(state[4], fixed[3])
        rows.store_row(fixed[10], low)
        return (
            state[0], state[1], state[2], state[3], low, state[5], state[6], state[7],
        )  # fmt: skip

    @cuda.jit(device=True)
    def sweep_on(job, strip, state, cells, limits, areas, scoring, fixed):
        """Sweep boundaries from a state on; return the state behind them.

        `limits` are how many there are, and those of a part; `areas` the memory of checkpoints, of
        the largest rows of exits and of best ends.
        """
        lane, (length, every) = int32(cuda.threadIdx.x), limits
        places = fixed[2], cells[job[CELL_STRIDE] - stride :]
        boundary, part, next_part = int32(0), int32(0), int32(0)
        counts, saved = (int32(job[SLOTS]), int32(job[RING])), strip * job[CHECKPOINT_STRIDE]
        while boundary < length:
            if boundary == next_part:
                if boundary > 0:
                    state = part_done(job, strip, state, places, part, areas[1:], scoring, fixed)
                    part = int32(part + 1)
                save(areas[0][saved:], state, counts, lane, places[0])
                saved += job[STRIPS] * job[CHECKPOINT_STRIDE]
                next_part = int32(next_part + every)
            # three copies of this code need no moves of rows, but the cache misses instructions
            state = cross(boundary, state, fixed, int32(0))
            boundary = int32(boundary + 1)
        sync_lanes()
        return part_done(job, strip, state, places, part, areas[1:], scoring, fixed)

    return sweep_on


def _make_sweep(size: int):
    """Return the device function that sweeps a strip of `size` registers a lane."""
    slot_place, begin_row = step.make_slot_place(size), step.make_begin_row(size)
    joining = step.make_joining(size)
    prepare, sweep_on, load = make_prepare(size), make_sweep_on(size), rows.load_row(size)

    @cuda.jit(device=True)
    def begin(parts, fixed, model):
        """Return the state before the first boundary."""
        none = fixed[3]
        low = rows.filled(model, none)
        cursor = int32(0), codon_rows.peek_pair(int32(0), fixed[5], fixed[0][0])
        first = load4(parts[0], int64(0))
        before, joined = joining(first, int32(0), low, none, fixed)
        row, gap = begin_row(first[0], before, joined, low, fixed)
        seen = load4(parts[0], int64(4) * int64(WARP + fixed[0][0]))
        return (
            row, (low, low, low), (gap, low, low), (none, none, none), low, cursor,
            (load4(parts[1], int64(0)), int32(0), int32(0)),
            (first, load4(parts[0], int64(4)), seen),
        )  # fmt: skip

    @cuda.jit(device=True)
    def sweep(job, strip, parts, buffers, scoring, shared, scratch):
        """Sweep a strip; `buffers` are checkpoints, largest rows of exits and best ends."""
        fixed = prepare(job, strip, parts, scoring, shared, scratch)
        model = load(slot_place(int32(START), fixed[2]))
        for slot in range(1, job[SLOTS]):
            rows.store_row(slot_place(int32(slot), fixed[2]), rows.filled(model, fixed[3]))
        state, areas = begin(parts, fixed, model), own_areas(job, buffers)
        limits = int32(job[N_BOUNDARIES]), int32(job[EVERY])
        state = sweep_on(job, strip, state, parts[3], limits, areas, scoring, fixed)
        reached = int32((state[5][0] + WARP - 1) & ~int32(WARP - 1))
        codon_rows.leave_group(reached, fixed[5], shared, fixed[0][0])
        sync_lanes()

    return sweep


@cuda.jit(device=True)
def own_areas(job, buffers):
    """Return a job's checkpoints, largest rows of exits, and best ends."""
    checkpoints, exits, ends = buffers
    return checkpoints[job[CHECKPOINTS] :], exits[job[EXITS] :], ends[job[ENDS] :]


_sweep = _make_sweep(WIDE)


@kernel()
def sweep_proteins_warp(
    jobs, strips, boundaries, operations, targets, scores, points, cells, borders, checkpoints,
    exits, ends, scoring,
):  # fmt: skip
    """Sweep strips of jobs, as long as there are any; a thread block is one warp.

    A strip needs only strips that were begun before it, so a warp that waits always waits for one
    that runs.
    """
    scratch = cuda.shared.array(WARP, int32)
    shared = cuda.shared.array(0, int32, alignment=FOUR_WORDS)
    while True:
        k = begin_strip(strips, scratch)
        if any_lane(k < 0):
            return
        job, strip = jobs[strips[k, 0]], strips[k, 1]
        inputs = boundaries, operations, (targets, scores, points), cells, borders
        parts = parts_of(job, strip, inputs, 0)
        _sweep(job, strip, parts, (checkpoints, exits, ends), scoring, shared, scratch)
