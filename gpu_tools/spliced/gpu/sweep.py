"""The packed sweep on a GPU: exons stay in the lanes, the target streams past them.

One warp holds a *warp tile* (see `warp_tiles`): parts of tracks side by side, two int16 rows a
register. Virtual lane v of a part (two a lane) owns neighbouring rows and works on target column
s - v in step s, some chunks later if the part is behind. The row above a part streams in at its
top, column by column. The last rows of the exons that end in it, each the last of its virtual lane,
stream out. So the ends of exons are handled outside of the inner loop, and warp tiles that depend
on each other run one behind the other.

What one warp hands to another is a cell in memory that was `NEVER` before: its reader waits until
it is not. So no flags and no fences are needed.

Inside a track cells are lifted once more: S''(i, j) = S'(i, j) - gap * i for the track's row i, the
first of which is 1. Then a step down is free as well, a pair adds its score less two gaps, or 0 if
that is less, and no cell is below 0. So a plain addition adds to two cells at once and carries
nothing from one to the other. The reader of an exon's last row adds `gap` times its length.

A virtual lane with fewer rows has empty ones at its top, which pass on the cell above.

    S''(i, j) = max(S''(i-1, j-1) + max(w - 2 gap, 0), S''(i-1, j), S''(i, j-1))
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import cuda, int32, int64, uint32
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.intrinsics.words import (
    FOUR_WORDS,
    WARP,
    add2,
    address,
    funnel,
    kernel,
    load2,
    load4,
    look_around,
    max2,
    min2,
    moved,
    permute,
    put_four,
    shuffle_up,
    store4,
    times_plus,
)
from gpu_tools.model.scoring import N_SYMBOLS, SplicedScoring
from gpu_tools.spliced.gpu.warp_tiles import BEHIND, PART_FIELDS, SOURCE_FIELDS, Capacity
from gpu_tools.splicing import recurrence

# The job table has a row of numbers for each job, which is one strand of one case.
# Its columns: counts, of columns of the target with column 0, elements of a stored row, warp tiles,
# parts, spans, sources and exits of the graph; where the graph's tables and the target begin; where
# the job's parts of the buffers begin; the jobs of the same case, first and past the last; and the
# elements from one copy of the target's words to the next, see `launch.write_job_inputs`
(
    COLUMNS, STRIDE, TILES, PARTS, SPANS, N_SOURCES, N_EXITS,
    NUMBERS, GRAPH_SOURCES, EXITS, SYMBOLS, TARGET,
    CELLS, SOURCES, WORDS, STRIPS, BORDERS, MOVES, FOUND,
    FIRST_RIVAL, PAST_RIVALS, WORD_STRIDE, FIELDS,
) = range(23)  # fmt: skip

# the scoring: the gap, whether ends are free, the intron penalty, the most that a pair adds to S',
# at least 0; of each target symbol what a pair with each of the four nucleotides adds to S'', and
# to S', as bytes
GAP, FREE, PENALTY, MOST, RAISED = range(5)
LIFTED = RAISED + N_SYMBOLS


def scoring_table(scoring: SplicedScoring) -> NDArray[np.int32]:
    """Return the elements of a scoring as the kernels read them."""
    lifted = (scoring.substitution() - scoring.gap).astype(np.int64)
    table = np.zeros(LIFTED + N_SYMBOLS, dtype=np.int32)
    table[[GAP, PENALTY]] = scoring.gap, scoring.intron_penalty
    table[FREE] = scoring.ends != "global"
    table[MOST] = max(int(lifted.max()), 0)
    nucleotides = lifted[:4].T
    table[RAISED : RAISED + N_SYMBOLS] = _words(np.maximum(nucleotides - scoring.gap, 0))
    table[LIFTED:] = _words(nucleotides)
    return table


def _words(scores: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return words of four bytes each; all that a GPU is given fit, see `schedule.scores_fit`."""
    return np.ascontiguousarray((scores & 0xFF).astype(np.uint8)).view(np.int32).ravel()


# The row above a part is the maximum of its sources, stored rows that other warps write meanwhile.
# A warp fetches the rows above the parts of its tile a chunk of columns at a time: eight lanes
# fetch the row of one part, four columns each, so that four parts are served side by side. A cell
# is `NEVER` until it is written, and its reader waits for that.

CHUNK = WARP
"""Columns that come in together."""
UNROLLED = 4
"""Columns that a lane brings in, steps whose values are stored together."""
LANES = CHUNK // UNROLLED
"""Lanes that bring the chunk of a row in."""
_ABREAST = WARP // LANES
"""TrackParts whose rows come in side by side."""
NEVER = -32_640
"""Stands for minus infinity and for a cell that is not there yet; its two bytes are equal."""
BOTH_NEVER = int32((NEVER & 0xFFFF) | (NEVER << 16))
STAGED = CHUNK + UNROLLED
"""Staged columns of a part; more than needed, so that parts lie in different banks."""
LOWS, _SWAPPED = 0x5410, 0x1032
_HIGH = -0x10000

empty_chain = cuda.jit(device=True)(recurrence.empty_chain)


class Arriving(NamedTuple):
    """The rows above the parts of a warp tile."""

    parts: object  # table of parts
    sources: object  # table of sources
    first: int  # first column that the lane fetches for a part that is not behind
    columns: int  # their number


@cuda.jit(device=True)
def _source(sources, source, column):
    """Return where a source has its cells from a column on, and what it adds to each of them."""
    place, added = load2(sources, int64(SOURCE_FIELDS) * source)
    return int32(place + column), added


@cuda.jit(device=True)
def _look(cells, at):
    """Return four neighbouring cells of a row, as two pairs."""
    first, second, third = look_around(cells, at)
    # an odd place is in the middle of a pair; a shift by 32 is none
    distance = uint32(at << int32(4))
    return int32(funnel(first, second, distance)), int32(funnel(second, third, distance))


@cuda.jit(device=True)
def _least(pairs):
    return min2(pairs[0], pairs[1])


@cuda.jit(device=True)
def _missing(least):
    """Return whether one of two cells is `NEVER`."""
    return min2(least, permute(least, least, int32(_SWAPPED))) == BOTH_NEVER


@cuda.jit(device=True)
def _raise(row, pairs, added):
    return max2(row[0], add2(pairs[0], added)), max2(row[1], add2(pairs[1], added))


@cuda.jit(device=True)
def _fold(cells, sources, part, column, scoring):
    """Return the row above a part from a column on, as two pairs, waiting for its sources."""
    _, _, source, past = part
    row = BOTH_NEVER, BOTH_NEVER
    if source == past:
        row = _empty(column, scoring), _empty(int32(column + 2), scoring)
    while source < past:
        # behind the last source it comes again, which changes no maximum
        a, of_a = _source(sources, source, column)
        b, of_b = _source(sources, min(int32(source + 1), int32(past - 1)), column)
        c, of_c = _source(sources, min(int32(source + 2), int32(past - 1)), column)
        at_a, at_b, at_c = _look(cells, a), _look(cells, b), _look(cells, c)
        while _missing(min2(_least(at_a), min2(_least(at_b), _least(at_c)))):
            at_a, at_b, at_c = _look(cells, a), _look(cells, b), _look(cells, c)
        row = _raise(_raise(_raise(row, at_a, of_a), at_b, of_b), at_c, of_c)
        source = int32(source + 3)
    return row


@cuda.jit(device=True)
def _empty(column, scoring):
    """Return the empty chain's cells at a column and the next."""
    gap, free = scoring[GAP], scoring[FREE] != 0
    one, two = empty_chain(column, gap, free), empty_chain(column + 1, gap, free)
    return permute(int32(one), int32(two), int32(LOWS))


@cuda.jit(device=True)
def arrive(cells, above, parts, half, stage, scoring):
    """Stage a chunk of the row above each part of a tile, waiting for it.

    In the high half of a word a staged cell goes above the low half of a lane.
    """
    lane = int32(cuda.threadIdx.x)
    for base in range(parts[0], parts[1], int32(_ABREAST)):
        # too many lanes do what others do as well
        number = min(int32(base + lane // int32(LANES)), int32(parts[1] - 1))
        part = load4(above.parts, int64(PART_FIELDS) * number)
        column, row = int32(above.first - part[0]), part[1]
        low, high = BOTH_NEVER, BOTH_NEVER
        if uint32(column) < uint32(above.columns):
            low, high = _fold(cells, above.sources, part, column, scoring)
            if row > 0:
                put_four(moved(cells, row + column), low, high)
        staged = int32(half + (number - parts[0]) * int32(STAGED))
        words = (
            int32(low << int32(16)), int32(low & int32(_HIGH)),
            int32(high << int32(16)), int32(high & int32(_HIGH)),
        )  # fmt: skip
        store4(stage, int64(staged + lane % int32(LANES) * int32(UNROLLED)), words)


SLOTS = 8
"""Rows of a virtual lane, each half a register."""
_SHIFT_BITS = UNROLLED.bit_length() - 1
CAPACITY = Capacity(
    lanes=WARP, slots=SLOTS, chunk=CHUNK, late=UNROLLED, reach=8, parts=16, sources=20
)
APART = CAPACITY._replace(reach=0, parts=1)
"""A part a warp tile, for jobs whose time is that of exons that depend on each other."""
LEAD = 2 * WARP
"""Elements before column 0 of a stored row, for steps that come too early."""
TAIL = 3 * WARP + 2 * UNROLLED
"""Elements after the last column, for steps that come too late."""
WORD_LEAD = LEAD + CAPACITY.reach * CHUNK
"""Elements before the word of column 0: the last part of a tile begins late."""
WORD_TAIL = WORD_LEAD + CHUNK + 2 * UNROLLED
"""Elements after the word of the last column."""
WORDS_AROUND = WORD_LEAD + 1 + WORD_TAIL
"""Elements of a target's words beyond its symbols; column 0 is none."""
NEVER_BYTE = NEVER & 0xFF
_AT_ONCE = min(4 * UNROLLED, CHUNK)
"""Columns between two turns of the inner loop, at the end of which rows move back in registers."""
_NO_COLUMN = -(1 << 30)
_HALF = CAPACITY.parts * STAGED
_STAGE = 2 * _HALF

_SIGN_OF_LOW, _SIGN_OF_HIGH = 0x88, 0xCC
_FIRSTS_HIGH, _SECONDS_HIGH = 0x5432, 0x5476
"""A high half as a low one, under the second's low half, which is 0 where rows are staged."""
_HIGHS = 0x7632


class TileData(NamedTuple):
    """The arrays of a job that its warp tiles read and write, see `sweep_warp_tiles`."""

    codes: object
    words: object
    word_stride: int  # elements from one copy of the target's words to the next
    cells: object


class LaneRows(NamedTuple):
    """A lane's rows and the constants of its steps."""

    cells: object
    selectors: object  # bytes that look up the scores of the rows
    above_bytes: int  # choose the row above the low half: the neighbour's high half or a staged row
    up_a_half: int  # factor that moves a low half up


class Halves(NamedTuple):
    """One value for the low and one for the high half of a lane."""

    low: object
    high: object


@cuda.jit(device=True)
def offset_of(row, stride):
    """Return where column 0 of a stored row is, see `warp_tiles.stored_row`."""
    return int32(int32(LEAD) + (row >> int32(_SHIFT_BITS)) * stride + (row & int32(UNROLLED - 1)))


@cuda.jit(device=True)
def _locate(virtual_lane, parts, first_spans, spans):
    """Return what a virtual lane holds.

    `parts` is where the tile's parts begin and end; `spans` are first rows, ends and stored
    rows of spans, and the elements of a stored row. Returned are the stream row of its first slot,
    the first real one, the place of its span or -1, its part, and its number in the part. A
    lane that is not used has no real row and part -1.
    """
    begins, ends, stored, stride = spans
    row, real, offset, own, number = int32(0), int32(1 << 30), int32(-1), int32(-1), int32(0)
    first = int32(0)
    for part in range(parts[0], parts[1]):
        used = first
        for span in range(first_spans[uint32(part)], first_spans[uint32(part + 1)]):
            begin, end = begins[uint32(span)], ends[uint32(span)]
            after = int32(used + (end - begin + int32(SLOTS - 1)) // int32(SLOTS))
            if virtual_lane >= used and virtual_lane < after:
                row = int32(end - (after - virtual_lane) * int32(SLOTS))
                real = begin
                if virtual_lane == after - 1:
                    offset = offset_of(stored[uint32(span)], stride)
            used = after
        used = int32((used + int32(1)) & int32(~1))
        if virtual_lane >= first and virtual_lane < used:
            own, number = int32(part), int32(virtual_lane - first)
        first = used
    return row, real, offset, own, number


@cuda.jit(device=True)
def _selector(codes, row, real, half):
    """Return the byte that looks a row's lifted score up in a half's table word, see `permute`."""
    if row < real:
        return int32(_SIGN_OF_HIGH if half else _SIGN_OF_LOW)
    code = int32(codes[uint32(row)]) + int32(4 * half)
    return code | int32((code | int32(8)) << int32(4))


@cuda.jit(device=True)
def _step(rows, state, pair, above):
    """Move all lanes on by one column.

    `state` is the diagonal, the lane's own last rows, and those of the lane before; `pair` the
    words of two columns; `above` what is staged. The multiplier moves a low half up: the other
    integer units have enough to do.
    """
    diagonal, bottom, neighbour = state
    word, late = pair
    row, selectors = rows.cells, rows.selectors
    up = times_plus(bottom, rows.up_a_half, permute(neighbour, above, rows.above_bytes))
    before = up
    for c in range(SLOTS):
        left = row[c]
        paired = int32(diagonal + permute(word, late, selectors[c]))
        up = max2(max2(up, left), paired)
        diagonal = left
        row[c] = up
    return before, up


@cuda.jit(device=True)
def _four_steps(rows, state, above, words, scratch, stores, to):
    """Move all lanes on by four columns, and store what leaves them.

    `state` is the diagonal, the lane's own last rows, the words of the last column and of the next
    four, and where the first of these is. `above` is what is staged. `stores` tells whether the
    lane's low and high half end with a row that is stored, `to` where these columns of it go.
    Returned are the new state and places.
    """
    before, bottom, late, w0, w1, w2, w3, at = state
    at = uint32(at + uint32(UNROLLED))
    n0, n1, n2, n3 = load4(words, int64(at))
    last = before, bottom, shuffle_up(bottom, scratch)
    before, b0 = _step(rows, last, (w0, late), above[0])
    last = before, b0, shuffle_up(b0, scratch)
    before, b1 = _step(rows, last, (w1, w0), above[1])
    last = before, b1, shuffle_up(b1, scratch)
    before, b2 = _step(rows, last, (w2, w1), above[2])
    last = before, b2, shuffle_up(b2, scratch)
    before, b3 = _step(rows, last, (w3, w2), above[3])
    if stores.low:
        put_four(to.low, permute(b0, b1, int32(LOWS)), permute(b2, b3, int32(LOWS)))
    if stores.high:
        put_four(to.high, permute(b0, b1, int32(_HIGHS)), permute(b2, b3, int32(_HIGHS)))
    state = before, b3, w3, n0, n1, n2, n3, at
    return state, Halves(moved(to.low, UNROLLED), moved(to.high, UNROLLED))


@cuda.jit(device=True)
def _advance(rows, state, above, chunk, words, scratch, stores, to):
    """Do a chunk of steps; `above` is the stage and where in it what goes above them is."""
    stage, staged = above
    for k in range(int32(0), chunk, int32(_AT_ONCE)):
        at = int32(staged + k)
        above = load4(stage, int64(at))
        state, to = _four_steps(rows, state, above, words, scratch, stores, to)
        if _AT_ONCE > UNROLLED:
            above = load4(stage, int64(at + UNROLLED))
            state, to = _four_steps(rows, state, above, words, scratch, stores, to)
            above = load4(stage, int64(at + 2 * UNROLLED))
            state, to = _four_steps(rows, state, above, words, scratch, stores, to)
            above = load4(stage, int64(at + 3 * UNROLLED))
            state, to = _four_steps(rows, state, above, words, scratch, stores, to)
    return state, to


@cuda.jit(device=True)
def _first_state(words, word_stride, number, delay):
    """Return a lane's state before its first step, see `_four_steps`.

    Of the words, which lie there several times, it takes those whose shift makes four aligned.
    """
    shift = int32(number & int32(UNROLLED - 1))
    at = uint32(shift * word_stride + shift + WORD_LEAD - number - delay)
    w0, w1, w2, w3 = load4(words, int64(at))
    return BOTH_NEVER, BOTH_NEVER, int32(0), w0, w1, w2, w3, at


@cuda.jit(device=True)
def _sweep_tile(tile, tables, data, columns, stage, scratch, scoring):
    """Sweep one tile over all columns."""
    parts, extra = tile
    first_spans, spans, part_table, sources = tables
    lane = int32(cuda.threadIdx.x)
    row = cuda.local.array(SLOTS, int32)
    selectors = cuda.local.array(SLOTS, int32)
    low, real_low, offset_low, own, number = _locate(int32(2 * lane), parts, first_spans, spans)
    high, real_high, offset_high, _, _ = _locate(int32(2 * lane + 1), parts, first_spans, spans)
    for c in range(SLOTS):
        selectors[c] = _selector(data.codes, int32(low + c), real_low, 0) | int32(
            _selector(data.codes, int32(high + c), real_high, 1) << int32(8)
        )
        row[c] = BOTH_NEVER
    # the factor is not known to the compiler, which would shift instead
    above_bytes = int32(_SECONDS_HIGH if number == 0 else _FIRSTS_HIGH)
    rows = LaneRows(row, selectors, above_bytes, int32(cuda.blockDim.z << 16))
    used = own >= 0
    delay = part_table[PART_FIELDS * own + BEHIND] if used else int32(0)
    staged = int32((own - parts[0]) * int32(STAGED)) if used else int32(0)
    state = _first_state(data.words, data.word_stride, number, delay)
    to = Halves(
        moved(data.cells, int64(offset_low - number - delay)),
        moved(data.cells, int64(offset_high - number - 1 - delay)),
    )
    fetches, computes = cuda.threadIdx.y == 0, cuda.threadIdx.y == cuda.blockDim.y - 1
    if first_spans[uint32(parts[0])] == first_spans[uint32(parts[1])]:
        computes = False  # folds alone have no rows
    half, column_offset = int32(0), int32(lane % int32(LANES) * int32(UNROLLED))
    # where tiles wait for each other, columns go on sooner in small chunks
    chunk = int32(int32(CHUNK) // int32(cuda.blockDim.y))
    for first in range(int32(0), int32(columns + extra), chunk):
        if fetches:
            column = int32(first + column_offset) if column_offset < chunk else int32(_NO_COLUMN)
            above = Arriving(part_table, sources, column, columns)
            arrive(data.cells, above, parts, half, stage, scoring)
        # the columns that the other warp works on meanwhile lie in the other half
        cuda.syncthreads()
        here = int32(half + staged)
        half = int32(_HALF) - half
        if computes:
            own_first = int32(first - delay)
            works = own_first >= 0 and own_first < int32(columns + 2 * WARP + UNROLLED)
            stores = Halves(works and offset_low >= 0, works and offset_high >= 0)
            above = stage, here
            state, to = _advance(rows, state, above, chunk, data.words, scratch, stores, to)


@kernel(registers=72)
def sweep_warp_tiles(jobs, block_jobs, numbers, sources, symbols, words, cells, counters, scoring):
    """Sweep warp tiles of the thread block's job until none is left; a block is one or two warps.

    The first warp fetches what the last one works on. With two warps it does so while the last one
    works on the chunk before, in chunks half as long, which is faster for one job; with one warp
    more thread blocks run at the same time.

    A warp tile needs only warp tiles that were begun before it, so a thread block that waits always
    waits for one that runs.
    """
    scratch = cuda.shared.array(WARP, int32)
    begun = cuda.shared.array(1, int32)
    stage = cuda.shared.array(_STAGE, int32, alignment=FOUR_WORDS)
    own = block_jobs[cuda.blockIdx.x]
    job = jobs[own]
    columns, n_tiles, n_parts = int32(job[COLUMNS]), int32(job[TILES]), job[PARTS]
    n_spans = job[SPANS]
    first_parts = numbers[job[NUMBERS] :]
    extra = first_parts[n_tiles + 1 :]
    first_spans = extra[n_tiles:]
    begins = first_spans[n_parts + 1 :]
    spans = begins, begins[n_spans:], begins[2 * n_spans :], int32(job[STRIDE])
    part_table = sources[job[SOURCES] :]
    tables = first_spans, spans, part_table, part_table[PART_FIELDS * n_parts :]
    data = TileData(
        symbols[job[SYMBOLS] :],
        words[job[WORDS] :],
        int32(job[WORD_STRIDE]),
        address(cells[job[CELLS] :]),
    )
    while True:
        if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:
            begun[0] = cuda.atomic.add(counters, own, 1)
        cuda.syncthreads()
        k = begun[0]
        cuda.syncthreads()
        if k >= n_tiles:
            return
        parts = first_parts[uint32(k)], first_parts[uint32(k + 1)]
        _sweep_tile((parts, extra[uint32(k)]), tables, data, columns, stage, scratch, scoring)
