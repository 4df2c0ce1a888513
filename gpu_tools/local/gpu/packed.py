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
from gpu_tools.hardware.gpu.intrinsics.columns import load_each, load_pair, store_pair
from gpu_tools.hardware.gpu.intrinsics.words import WARP, kernel, shuffle, sync_lanes
from gpu_tools.local.gpu.packed_chunks import (
    UNROLLED,
    emptied,
    filled,
    is_of_interest,
    words_from,
)
from gpu_tools.local.gpu.packed_scores import (
    ALONG,
    DOWN,
    GROUP,
    NOT_REACHED,
    OPENS,
    OPENS_ROW,
    RISES,
    TILT,
    VIRTUAL_LANES,
    both,
)
from gpu_tools.local.gpu.packed_state import (
    ChunkColumns,
    Handover,
    Lane,
    NextCells,
    StripConstants,
)

ROWS = (1,) if simulated() else (4, 8, 16)
"""Rows a virtual lane that the kernel is compiled for."""
LEAD = VIRTUAL_LANES
"""Elements before column 0 of a row and of a subject's words: steps that come too early."""
TAIL = 2 * VIRTUAL_LANES
"""Elements after the last column, for steps that come too late."""
WARPS = 1 if simulated() else 4
"""Warps of a thread block."""
_OUT = WARPS * 2 * WARP
"""Words of shared memory: of each warp a chunk's cells and gaps below its last lane."""

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
def _fill(state, arrived, columns, words, prefetched, next_cells, handover, constants):
    """Fill a chunk and hand on the cells below it.

    Returned are what the strip holds then, the words to come, the two largest scores of `filled`,
    the cell that comes in next, and the score that is known to be reached.
    """
    lane, target = constants.lane, handover.target
    state, prefetched, peaks, (score, rest, known) = filled(
        state, arrived, columns, words, prefetched, next_cells, constants
    )
    offset = int32(state.base - constants.scoring[TILT] * (columns.last + lane.number))
    own = lane.slot + uint32(lane.number)
    _hand_on(lane.out, own, target, handover.outgoing, offset, handover.tag)
    return state, prefetched, peaks, (score, rest), known


@cuda.jit(device=True)
def _leave_out(columns, words, prefetched, next_cells, handover, constants):
    """Hand on nothing below a chunk; return the same as `_fill`."""
    after = int32(columns.first + int32(WARP))
    state = emptied(constants.selectors, after, constants.lane.number, constants.scoring)
    store_pair(handover.target, handover.outgoing, int32(0), handover.tag)
    prefetched = words_from(words, prefetched[0] + int64(WARP))
    _, known = load_pair(next_cells.limits, next_cells.limit_at)
    arrived = load_pair(next_cells.source, next_cells.incoming)
    return state, prefetched, (int32(0), int32(0)), arrived, known


@cuda.jit(device=True)
def _constants_of(slots, selectors, first, penalties, scoring, shared):
    """Return what does not change while a strip is swept; `first` is its first selector."""
    out, scratch = shared
    lane, slope = int32(cuda.threadIdx.x), scoring[TILT]
    slot = uint32(cuda.threadIdx.y) * uint32(2 * WARP)
    own_lane = Lane(lane, both(slope, slope), out, slot, scratch)
    chosen = load_each(slots, selectors, int64(first + lane), int64(WARP))
    # a lane enters its chunk, one or two behind the warp's, within this group of steps
    enters = int32((2 * lane & int32(WARP - 1)) // UNROLLED)
    return StripConstants(chosen, penalties, own_lane, enters, scoring)


@cuda.jit(device=True)
def _columns_of(chunk, lane):
    """Return the columns that a chunk's first step reaches."""
    column = int32(chunk * int32(WARP))
    return ChunkColumns(column, int32(column - int32(VIRTUAL_LANES - 1)), int32(column - 2 * lane))


@cuda.jit(device=True)
def _sweep(job, unit, words, borders, results, constants):
    """Fill a strip; `unit` is the number of its job, its own, and its first row."""
    number, strip, top = unit
    source, target = borders
    most, limits = results
    scoring, lane, rows = constants.scoring, constants.lane.number, len(constants.selectors)
    state = emptied(constants.selectors, int32(0), lane, scoring)
    largest, left_out = int32(0), int32(0)
    tag, next_tag = int32(strip & 0xFFFF), int32((strip + 1) & 0xFFFF)
    tiles = _tiles_of(job, int64(top + 2 * lane * rows))
    incoming = uint32(job[COLUMN]) + uint32(LEAD) + uint32(lane)
    outgoing = uint32(job[COLUMN]) + uint32(LEAD - VIRTUAL_LANES + 1) + uint32(lane)
    prefetched = words_from(words, int64(job[COLUMN] + LEAD - 2 * lane))
    limit_at = uint32(2 * number)
    n_chunks, (_, known) = int32(job[CHUNKS]), load_pair(limits, limit_at)
    behind = int32(1) if lane < WARP // 2 else int32(2)  # chunks that the lane is behind the warp
    arrived = load_pair(source, incoming)
    for chunk in range(int32(0), int32(n_chunks + 2)):
        columns = _columns_of(chunk, lane)
        arrived = _arrived(source, incoming, tag, arrived, chunk < n_chunks)
        incoming += uint32(WARP)
        limit = (known if scoring[RISES] else int32(NOT_REACHED), limits, limit_at)
        following = NextCells(source, incoming, limits, limit_at)
        handover = Handover(target, outgoing, next_tag)
        height, width = int32(job[HEIGHT] - top), int32(job[WIDTH])
        if is_of_interest(state, arrived[0], columns, height, width, scoring, known):
            state, prefetched, peaks, arrived, known = _fill(
                state, arrived, columns, words, prefetched, following, handover, constants
            )
        else:
            state, prefetched, peaks, arrived, known = _leave_out(
                columns, words, prefetched, following, handover, constants
            )
            left_out += int32(1)
        outgoing += uint32(WARP)
        largest = _raise_tile(most, tiles, max(largest, peaks[0]), int32(chunk - behind), limit)
        largest = max(largest, peaks[1])
    cuda.atomic.max(most, tiles[0] + tiles[1], largest)
    if lane == 0 and left_out > 0:
        cuda.atomic.add(limits, int64(limit_at + uint32(1)), int64(left_out))


@cuda.jit(device=True)
def _begin_unit(units, scratch):
    """Return the number of the next unit that no warp has begun."""
    begun = int32(0)
    if cuda.threadIdx.x == 0:
        begun = int32(cuda.atomic.add(units, (0, 1), 1))
    return shuffle(begun, int32(0), scratch)


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

    @kernel(rows, level)
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
        selectors, words = inputs
        while True:
            begun = _begin_unit(units, scratch)
            if begun >= units[0, 0]:
                return
            number, strip = units[begun + 1, 0], units[begun + 1, 1]
            source = received if strip % scoring[GROUP] == 0 else row
            target = handed if (strip + 1) % scoring[GROUP] == 0 else row
            job = jobs[number]
            first = job[SELECTORS] + int64(strip) * rows * WARP
            penalties = penalties_of(scoring)
            constants = _constants_of(slots, selectors, first, penalties, scoring, shared)
            unit = number, strip, int32(int32(strip) * int32(VIRTUAL_LANES * rows))
            _sweep(job, unit, words, (source, target), (most, limits), constants)

    return fill_strips
