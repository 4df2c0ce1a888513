"""Kernel of the score pass in packed 16-bit arithmetic: strips of rows that follow each other.

A *strip* is as many rows as a warp holds in registers, two rows a register: each half of a lane is
a *virtual lane* with neighbouring rows of its own, one column behind the one above. Columns stream
past. What comes out below a strip, cell by cell, goes to the strip below through memory, and that
strip begins as soon as the first cells are there.

A cell in memory is one word of 64 bits: the best score, how much more the gap that goes on below
scores if it need not be opened, and the number of the strip that reads it. So a reader sees whether
a word is already the one it waits for, and neither flags nor fences are needed.

A strip leaves out the cells of a chunk of columns if whatever it holds and whatever comes in gains
too little up to the last row or column to reach the threshold: it hands on nothing, and goes on as
if the matrix began there. `gpu_tools.local.gpu.packed_scores` explains how scores are stored.

The lanes of a warp exchange cells by shuffles, which need no barrier. Through shared memory go only
the cells below the last lane, from that lane to all others, see `_hand_on`.
"""

from __future__ import annotations

from numba import cuda, int32, int64, uint32

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.columns import (
    add_each,
    affine_column,
    load_each,
    load_pair,
    repeated,
    store_pair,
)
from gpu_tools.hardware.gpu.intrinsics.rows import at_least
from gpu_tools.hardware.gpu.intrinsics.words import (
    WARP,
    any_lane,
    max2,
    permute,
    shuffle,
    shuffle_up,
    sync_lanes,
)
from gpu_tools.local.gpu.packed_scores import (
    ALONG,
    DOWN,
    FLOOR,
    GROUP,
    LARGEST,
    NOT_REACHED,
    OPENS,
    OPENS_ROW,
    RISES,
    TILT,
    VIRTUAL_LANES,
    both,
    largest_half,
    least_of_interest,
    lifted,
    rise_of,
)
from gpu_tools.local.gpu.packed_state import (
    ChunkColumns,
    Lane,
    NextCells,
    Registers,
    StripConstants,
    StripState,
)

ROWS = (1,) if simulated() else (4, 8, 16)
"""Rows a virtual lane that the kernel is compiled for."""
LEAD = VIRTUAL_LANES
"""Elements before column 0 of a row and of a subject's words: steps that come too early."""
TAIL = 2 * VIRTUAL_LANES
"""Elements after the last column, for steps that come too late."""
UNROLLED = 4  # steps that are written out one after the other
READS = WARP // UNROLLED - 1
"""Group of steps before which the cells of the next chunk are read."""
_NEXT = (0,) * UNROLLED
"""As many elements as words that a group of steps prefetches."""
WARPS = 1 if simulated() else 4
"""Warps of a thread block."""
_OUT = WARPS * 2 * WARP
"""Words of shared memory: of each warp a chunk's cells and gaps below its last lane."""
_NEIGHBOURS_HIGH_THEN_OWN_LOW = 0x5432

# columns of the job table: first selector, element of rows and words, and tile; whole chunks of
# columns, tiles across, chunks of a tile (as a power of two), rows of a tile, rows and columns
SELECTORS, COLUMN, TILES, CHUNKS, ACROSS, SPAN, SIDE, HEIGHT, WIDTH, FIELDS = range(10)


def chunks(columns: int) -> int:
    """Return the chunks of columns that come in together."""
    return -(-columns // WARP)


def stride(columns: int) -> int:
    """Return the elements of a row, and of a subject's words."""
    return LEAD + chunks(columns) * WARP + TAIL


@cuda.jit(device=True)
def _hand_on(out, own, target, outgoing, offset, next_tag):
    """Write the cells below the last virtual lane, a lane a column, for the strip below."""
    sync_lanes()  # the last lane has written the whole chunk
    bottom, gap = out[own], out[own + uint32(WARP)]
    sync_lanes()  # all lanes have read it before the last lane writes the next chunk
    rest = int32(int32(gap - bottom) & int32(-65536)) | next_tag
    store_pair(target, outgoing, int32((bottom >> int32(16)) + offset), rest)


@cuda.jit(device=True)
def _raise_tile(most, tiles, largest, chunk, limit):
    """Raise the tile of a lane's chunk of columns if that is the tile's last one.

    `tiles` are the number of the row's first tile, how many come after it, the last one of which
    includes what is behind it, and the chunks of a tile. Returned is the largest score since then.
    `limit` is the score that is known to be reached, the array that holds it, and its index there.
    """
    first, others, span = tiles
    known, limits, limit_at = limit
    if chunk >= 0 and int32((chunk + int32(1)) & int32((1 << span) - 1)) == 0:
        cuda.atomic.max(most, int64(first + min(int32(chunk >> span), others)), largest)
        if largest > known:
            cuda.atomic.max(limits, int64(limit_at), int64(largest))
        return int32(0)
    return largest


@cuda.jit(device=True)
def _tiles_of(job, row):
    """Return a row's first tile, how many come after it, and the chunks of one."""
    first = int64(job[TILES] + row // job[SIDE] * job[ACROSS])
    return first, int32(job[ACROSS] - 1), int32(job[SPAN])


@cuda.jit(device=True)
def _arrived(source, incoming, tag, prefetched, comes):
    """Return a cell once it is there; `prefetched` is what was read; nothing if none comes."""
    score, rest = prefetched
    if not comes:
        return int32(0), int32(0)
    while int32(rest & 0xFFFF) != tag:
        score, rest = load_pair(source, incoming)
    return score, rest


@cuda.jit(device=True)
def _words_from(words, at):
    """Return the index of the next step's word, the word before it, and the next words."""
    return at, words[at - int64(1)], load_each(_NEXT, words, at, int64(1))


def make_kernel(rows: int, level: bool):
    """Return the kernel with `rows` rows a virtual lane.

    Parameters
    ----------
    rows : int
        One of `ROWS`.
    level : bool
        Whether extending a gap along a row changes no tilted score.
    """
    slots = (0,) * rows

    @cuda.jit(device=True)
    def penalties_of(scoring):
        if level:
            return scoring[OPENS_ROW], scoring[OPENS], scoring[DOWN]
        return scoring[OPENS_ROW], scoring[OPENS], scoring[DOWN], scoring[ALONG]

    @cuda.jit(device=True)
    def emptied(column, lane, scoring):
        """Return base, cells, gaps, and what is above, as if the matrix began at a column."""
        # the base is such that the last virtual lane is at the floor
        slope = scoring[TILT]
        base = int32(slope * int32(column - int32(VIRTUAL_LANES)) - scoring[FLOOR])
        own = int32(column - int32(2) * lane - int32(1))
        empty = both(slope * own - base, slope * (own - int32(1)) - base)
        # a gap open there was opened a column sooner, where tilted scores are lower
        gaps = repeated(slots, int32(empty - both(slope, slope)))
        return StripState(base, repeated(slots, empty), gaps, (empty, empty))

    @cuda.jit(device=True)
    def lowered(values, rise, scoring):
        """Return scores less what the base has risen by."""
        lower, floor = int32(-min(rise, int32(LARGEST))), scoring[FLOOR]
        return at_least(add_each(values, both(lower, lower)), both(floor, floor))

    @cuda.jit(device=True)
    def rebased(state, empty, arriving, scoring, scratch):
        """Move the base until what the strip holds, and what arrives, is in range.

        `empty` and `arriving` are tilted scores: of an empty alignment, and the one that arrives.
        """
        base, cells, gaps, above = state
        rise = rise_of(empty - base, cells[rows - 1], arriving - base, scoring, scratch)
        while rise != 0:
            base = int32(base + rise)
            cells, gaps = lowered(cells, rise, scoring), lowered(gaps, rise, scoring)
            above = lowered(above, rise, scoring)
            rise = rise_of(empty - base, cells[rows - 1], arriving - base, scoring, scratch)
        return StripState(base, cells, gaps, above)

    @cuda.jit(device=True)
    def step(k, arriving, words, registers, penalties, lane):
        """Move all lanes on by one column; lane 0 reads what arrives for column `k`.

        Also returned is the largest cell, less the tilt since column 0.
        """
        cells, gaps, selectors, diagonal, falling, floor, tilted = registers
        out, slot, scratch = lane.out, lane.slot, lane.scratch
        bottom = cells[rows - 1]
        up, up_gap = shuffle_up(bottom, scratch), shuffle_up(falling, scratch)
        top, top_gap = shuffle(arriving[0], k, scratch), shuffle(arriving[1], k, scratch)
        if lane.number == 0:
            up, up_gap = top, top_gap
        above = permute(up, bottom, int32(_NEIGHBOURS_HIGH_THEN_OWN_LOW))
        falling = permute(up_gap, falling, int32(_NEIGHBOURS_HIGH_THEN_OWN_LOW))
        state = (words[0], words[1], diagonal, falling, floor)
        cells, gaps, falling, peak = affine_column(cells, gaps, selectors, state, penalties)
        peak = int32(peak - tilted)
        if lane.number == WARP - 1:  # several lanes must not write one word
            out[slot + uint32(k)], out[slot + uint32(k + WARP)] = cells[rows - 1], falling
        floor, tilted = int32(floor + lane.step_up), int32(tilted + lane.step_up)
        return Registers(cells, gaps, selectors, above, falling, floor, tilted), peak

    @cuda.jit(device=True)
    def run_chunk(registers, arriving, words, prefetched, next_cells, constants):
        """Move all lanes on by a chunk of columns, and prefetch the cells that come in next.

        Also returned are the largest cells of the chunk before the lane's, and of its own.
        """
        at, late, (w0, w1, w2, w3) = prefetched
        source, incoming, limits, limit_at = next_cells
        penalties, lane, enters = constants.penalties, constants.lane, constants.enters
        before, highest = int32(0), int32(0)
        score, rest, known = int32(0), int32(0), int32(0)
        for group in range(int32(0), int32(WARP // UNROLLED)):
            # the compiler waits for these before the next group
            at += int64(UNROLLED)
            following = load_each(_NEXT, words, at, int64(1))
            if group == READS:  # sooner it would seldom be there
                score, rest = load_pair(source, incoming)
                _, known = load_pair(limits, limit_at)
            k = int32(group * int32(UNROLLED))
            registers, peak0 = step(k, arriving, (w0, late), registers, penalties, lane)
            registers, peak1 = step(int32(k + 1), arriving, (w1, w0), registers, penalties, lane)
            registers, peak2 = step(int32(k + 2), arriving, (w2, w1), registers, penalties, lane)
            registers, peak3 = step(int32(k + 3), arriving, (w3, w2), registers, penalties, lane)
            peak = max2(max2(peak0, peak1), max2(peak2, peak3))
            highest = max2(highest, peak)
            if group == enters:  # these steps count for both
                before, highest = highest, peak
            late = w3
            w0, w1, w2, w3 = following
        prefetched = at, late, (w0, w1, w2, w3)
        return registers, (before, highest), prefetched, (score, rest, known)

    @cuda.jit(device=True)
    def is_of_interest(state, score, columns, height, width, scoring, known):
        """Tell whether a score that the strip holds, or that arrives, may reach the threshold."""
        slope = scoring[TILT]
        lift = state.base - slope * (columns.own - int32(1))
        inside = largest_half(state.cells[rows - 1], lift, slope)
        least = least_of_interest(height, int32(width - columns.last), scoring, known)
        return any_lane(max(inside, score) >= least)

    @cuda.jit(device=True)
    def filled(state, arrived, columns, words, prefetched, next_cells, constants):
        """Fill the cells of a chunk.

        Returned are what the strip holds then, the words to come, the two largest scores of
        `run_chunk`, what comes in next, and by how much scores are more than in registers.
        """
        scoring, lane, own = constants.scoring, constants.lane, columns.own
        slope, (score, rest) = scoring[TILT], arrived
        tilted = int32(score + slope * (columns.first + lane.number))
        state = rebased(state, int32(slope * columns.last), tilted, scoring, lane.scratch)
        base, cells, gaps, (diagonal, falling) = state
        arriving = lifted(int32(tilted - base), rest, scoring[FLOOR])
        floor = both(
            max(slope * own - base, scoring[FLOOR]),
            max(slope * (own - int32(1)) - base, scoring[FLOOR]),
        )
        registers = Registers(cells, gaps, constants.selectors, diagonal, falling, floor, int32(0))
        registers, (before, highest), prefetched, coming = run_chunk(
            registers, arriving, words, prefetched, next_cells, constants
        )
        lift = int32(base - slope * own)
        peaks = largest_half(before, lift, slope), largest_half(highest, lift, slope)
        above = registers.diagonal, registers.falling
        state = StripState(base, registers.cells, registers.gaps, above)
        return state, prefetched, peaks, coming

    @cuda.jit(device=True)
    def sweep(unit, jobs, inputs, borders, results, scoring, shared):
        number, strip = unit
        job = jobs[number]
        selectors, words = inputs
        source, target = borders
        most, limits = results
        out, scratch = shared
        lane = int32(cuda.threadIdx.x)
        slot = uint32(cuda.threadIdx.y) * uint32(2 * WARP)
        slope = scoring[TILT]
        own_lane = Lane(lane, both(slope, slope), out, slot, scratch)
        chosen = load_each(
            slots, selectors, int64(job[SELECTORS] + int64(strip) * rows * WARP + lane), int64(WARP)
        )
        # a lane enters its chunk, one or two behind the warp's, within this group of steps
        behind = int32(1) if lane < WARP // 2 else int32(2)
        enters = int32((2 * lane & int32(WARP - 1)) // UNROLLED)
        constants = StripConstants(chosen, penalties_of(scoring), own_lane, enters, scoring)
        state = emptied(int32(0), lane, scoring)
        largest, left_out = int32(0), int32(0)
        tag, next_tag = int32(strip & 0xFFFF), int32((strip + 1) & 0xFFFF)
        top = int32(int32(strip) * int32(VIRTUAL_LANES * rows))
        tiles = _tiles_of(job, int64(top + 2 * lane * rows))
        incoming = uint32(job[COLUMN]) + uint32(LEAD) + uint32(lane)
        outgoing = uint32(job[COLUMN]) + uint32(LEAD - VIRTUAL_LANES + 1) + uint32(lane)
        prefetched = _words_from(words, int64(job[COLUMN] + LEAD - 2 * lane))
        limit_at = uint32(2 * number)
        n_chunks, (_, known) = int32(job[CHUNKS]), load_pair(limits, limit_at)
        arrived = load_pair(source, incoming)
        for chunk in range(int32(0), int32(n_chunks + 2)):
            column = int32(chunk * int32(WARP))
            last = int32(column - int32(VIRTUAL_LANES - 1))
            columns = ChunkColumns(column, last, int32(column - 2 * lane))
            arrived = _arrived(source, incoming, tag, arrived, chunk < n_chunks)
            incoming += uint32(WARP)
            limit = (known if scoring[RISES] else int32(NOT_REACHED), limits, limit_at)
            height, width = int32(job[HEIGHT] - top), int32(job[WIDTH])
            if is_of_interest(state, arrived[0], columns, height, width, scoring, known):
                next_cells = NextCells(source, incoming, limits, limit_at)
                state, prefetched, peaks, (score, rest, known) = filled(
                    state, arrived, columns, words, prefetched, next_cells, constants
                )
                offset = int32(state.base - slope * (columns.last + lane))
                _hand_on(out, slot + uint32(lane), target, outgoing, offset, next_tag)
                arrived = (score, rest)
            else:
                state = emptied(int32(column + int32(WARP)), lane, scoring)
                store_pair(target, outgoing, int32(0), next_tag)
                prefetched = _words_from(words, prefetched[0] + int64(WARP))
                peaks = (int32(0), int32(0))
                left_out += int32(1)
                _, known = load_pair(limits, limit_at)
                arrived = load_pair(source, incoming)
            outgoing += uint32(WARP)
            largest = _raise_tile(most, tiles, max(largest, peaks[0]), int32(chunk - behind), limit)
            largest = max(largest, peaks[1])
        cuda.atomic.max(most, tiles[0] + tiles[1], largest)
        if lane == 0 and left_out > 0:
            cuda.atomic.add(limits, int64(limit_at + uint32(1)), int64(left_out))

    @cuda.jit
    def fill_strips(jobs, units, inputs, borders, most, limits, scoring):
        """Fill all strips, each by one warp.

        A strip needs only strips that were begun before it, so a warp that waits always waits for
        one that runs.

        Parameters
        ----------
        jobs : int64 array, shape (J, 9)
            Where the parts of each job lie, and its shape.
        units : int32 array, shape (1 + U, 2)
            The number of units and of those begun, then job and strip of each.
        inputs : tuple of int32 array
            Selectors and words, as `packed_scores.look_up_thread` makes them.
        borders : tuple of int64 array
            Cells above each strip, those that come from a strip elsewhere, those for one elsewhere.
        most : int32 array
            Raised to the largest score of each tile.
        limits : int64 array, shape (2 * J,)
            Of each job the threshold, raised to scores that are reached if only the best alignment
            is of interest; and how many chunks of its strips were left out.
        scoring : int32 array, shape (13,)
            Penalties, the tilt, the range of scores, strips that stay together, what a pair adds at
            most, the slack of limits, and whether these rise.
        """
        scratch = cuda.shared.array(WARP, int32)
        shared = (cuda.shared.array(_OUT, int32), scratch)
        row, received, handed = borders
        while True:
            begun = int32(0)
            if cuda.threadIdx.x == 0:
                begun = int32(cuda.atomic.add(units, (0, 1), 1))
            begun = shuffle(begun, int32(0), scratch)
            if begun >= units[0, 0]:
                return
            job, strip = units[begun + 1, 0], units[begun + 1, 1]
            source = received if strip % scoring[GROUP] == 0 else row
            target = handed if (strip + 1) % scoring[GROUP] == 0 else row
            results = (most, limits)
            sweep((job, strip), jobs, inputs, (source, target), results, scoring, shared)

    return fill_strips
