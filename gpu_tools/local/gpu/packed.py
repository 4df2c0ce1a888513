"""Kernel of the score pass in packed 16-bit arithmetic: strips of rows that follow each other.

A *strip* is as many rows as a warp holds in registers, two rows a register: each half of a lane is
a *virtual lane* with neighbouring rows of its own, one column behind the one above. Columns stream
past. What comes out below a strip, cell by cell, goes to the strip below through memory, and that
strip begins as soon as the first cells are there.

A cell in memory is one word of 64 bits: the best score, how much more the gap that goes on below
scores if it need not be opened, and the number of the strip that reads it. So a reader sees whether
a word is already the one it waits for, and neither flags nor fences are needed.

A strip skips the cells of a chunk of columns if no score that it holds, and none that arrives, can
reach the threshold up to the last row or column: it writes 0 below, and goes on as if the matrix
began there.

The lanes of a warp exchange cells by shuffles, which need no barrier. Through shared memory go only
the cells below the last lane, from that lane to all others, see `_write_bottom`.

Scores are *tilted*: the penalty of a mismatch is added to a cell once for each column. Then a
mismatch adds nothing, a match a positive number, and if extending a gap costs as much as a
mismatch, extending it along a row is free.

In registers, tilted scores are less the strip's *base*, which moves with them. Scores of cells that
are in registers at one time differ by no more than a bound, the *reach*, so that all of them fit 16
bits, and none is so small that a penalty would make it negative. Where the empty alignment's score
is below that, all cells' are far above it, and the smallest one allowed stands for it.

Beside skipped cells, scores may be too small for 16 bits, or far below those of others. They are
raised to the smallest one allowed, which is not above their value without skipped cells. So scores
are never too large, and those of alignments above the threshold are exact.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, int32, int64, uint32
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.rows import (
    add_each,
    affine_column,
    at_least,
    load_each,
    load_pair,
    repeated,
    store_pair,
)
from gpu_tools.hardware.gpu.intrinsics.words import (
    WARP,
    any_lane,
    kernel,
    max2,
    permute,
    shuffle,
    shuffle_up,
    sync_lanes,
)
from gpu_tools.local.problem import Problem

VIRTUAL_LANES = 2 * WARP
LARGEST = (1 << 15) - 1
"""The largest score less its base."""
NOT_REACHED = (1 << 31) - 1
"""A number above any score."""
OF_CODE = np.array([0x80, 0x91, 0xA2, 0xB3, 0x88], dtype=np.int32)
"""Selector by query code: the byte of the score and of its sign; for others a sign of 0 alone."""
# elements of the scoring: the (negative) score of opening a gap along a row, in both halves;
# packed, those of opening and extending a gap down, and of extending one along a row; tilt;
# `Range`; strips of a group; largest score of a pair; slack of lowest cells; whether the
# threshold rises
OPENS_ROW, OPENS, DOWN, ALONG, TILT, FLOOR, LIMIT, LOW, SWING, GROUP, GAIN, SLACK, RISES = range(13)
ROWS = (1,) if simulated() else (4, 8, 16)
"""Rows of a virtual lane for which the kernel is compiled."""
LEAD = VIRTUAL_LANES
"""Elements before column 0 of a row and of a subject's words, for steps before the first column."""
TAIL = 2 * VIRTUAL_LANES
"""Elements after the last column, for steps behind it."""
WARPS = 1 if simulated() else 4
"""Warps of a thread block."""
_OUT = WARPS * 2 * WARP
"""Words of shared memory: the cells and gaps of a chunk below the last lane of each warp."""

# columns of the job table: first selector, element of rows and words, and tile; whole chunks of
# columns, tiles across, chunks of a tile (as a power of two), rows of a tile, rows and columns
SELECTORS, COLUMN, TILES, CHUNKS, ACROSS, SPAN, SIDE, HEIGHT, WIDTH, FIELDS = range(10)
UNROLLED = 4
"""Steps of a group, which are written out one after the other."""
READS = WARP // UNROLLED - 1
"""Group of steps before which the cells of the next chunk are prefetched."""
_NEXT = (0,) * UNROLLED
"""Tuple whose length is the number of words that a group of steps prefetches."""
_NEIGHBOURS_HIGH_THEN_OWN_LOW = 0x5432


class Lane(NamedTuple):
    """A lane's number, the tilt of a step in both halves, and its warp's words of shared memory."""

    number: int
    step_up: int
    out: Any
    slot: int
    scratch: Any


class StripState(NamedTuple):
    """State of a strip between chunks: its base, and each lane's cells, gaps, and cells above."""

    base: int
    cells: tuple
    gaps: tuple
    above: tuple


class Registers(NamedTuple):
    """Registers of a lane between steps."""

    cells: tuple
    gaps: tuple
    selectors: tuple
    diagonal: int
    falling: int
    floor: int
    tilted: int


class ChunkColumns(NamedTuple):
    """The columns of the warp's first lane, of the last virtual lane, and of the lane itself."""

    first: int
    last: int
    own: int


class NextCells(NamedTuple):
    """Arrays and indices of the cells of the next chunk, and of the threshold."""

    source: Any
    incoming: int
    limits: Any
    limit_at: int


class BottomCells(NamedTuple):
    """Array and index for the cells below a chunk, and the number of the strip that reads them."""

    target: Any
    outgoing: int
    tag: int


class StripConstants(NamedTuple):
    """Constants of the sweep of a strip."""

    selectors: tuple
    penalties: tuple
    lane: Lane
    enters: int
    scoring: Any


# ---- scores in registers and in memory


class Range(NamedTuple):
    """Bounds of scores: the base rises if one is above `limit`, and falls if one is below `low`.

    It moves by `swing`, after which no score is below `low`, or, if it fell, above `limit`. The
    score of an empty alignment is never less than `floor`.
    """

    floor: int
    limit: int
    low: int
    swing: int


def tilt(problem: Problem) -> int:
    """Return the number that is added to scores with each column."""
    return -int(problem.table[0, 1])


def score_range(problem: Problem, rows: int) -> Range | None:
    """Return the range for strips of `rows` rows per virtual lane, None if 16 bits do not suffice.

    From a cell to one n rows or columns away a score falls by a gap's cost at most, and rises by no
    more than n pairs and the cost of a gap on the other path.
    """
    down = max(int(problem.table.max()), 0) + problem.gap_extend
    across = down + tilt(problem)
    floor = problem.gap_open + problem.gap_extend + tilt(problem)
    slack = 2 * (floor + across)
    reach = down * VIRTUAL_LANES * rows + across * (VIRTUAL_LANES + WARP) + slack
    low = floor + down * rows + across * WARP + slack
    limit = LARGEST - reach - low
    swing = limit - reach - low
    return Range(floor, limit, low, swing) if swing > 0 else None


def scoring_of(problem: Problem, rows: int, group: int, rises: bool) -> NDArray[np.int32]:
    """Return the elements of the scoring for strips of `rows` rows per virtual lane."""
    per_column, opens, extends = tilt(problem), problem.gap_open, problem.gap_extend
    added = np.array([-opens, -extends, per_column - extends]) & 0xFFFF
    packed = (added | added << 16).astype(np.uint32).view(np.int32)
    bases = score_range(problem, rows)
    slack = opens + extends * rows
    limits = int(problem.table.max()), slack, rises
    first = (per_column - opens) * 65537
    return np.array([first, *packed, per_column, *bases, group, *limits], dtype=np.int32)


def words_of(problem: Problem) -> NDArray[np.int32]:
    """Return a word of scores with the four query nucleotides by subject code, 0 for padding."""
    scores = np.ascontiguousarray((problem.table[:4].T + tilt(problem)).astype(np.int8))
    return np.append(scores.view(np.int32).ravel(), np.int32(0))


@kernel()
def look_up_thread(queries, subjects, of_query, of_subject, selectors, words, rows):
    """Translate the codes of all rows and columns to selectors and words, an element per thread."""
    # of_query, of_subject: by code a row's part of a selector, and a column's word
    # selectors (rows, WARP) of each strip: bytes that look up the scores of two rows in two words
    # words: the tilted scores of a column, one byte per query symbol
    start, step = cuda.grid(1), cuda.gridsize(1)
    for column in range(start, len(subjects), step):
        words[column] = of_subject[subjects[column]]
    for k in range(start, len(selectors), step):
        # rows of the strips and lanes before, then of the lane itself
        lane, row = k % WARP, k // WARP % rows
        low = (k // (WARP * rows) * VIRTUAL_LANES + 2 * lane) * rows + row
        pair = of_query[queries[low]] | (of_query[queries[low + rows]] | 0x44) << 8
        selectors[k] = pair


@cuda.jit(device=True)
def halves(packed):
    """Return the lower and the upper half."""
    return int32(int32(packed << int32(16)) >> int32(16)), int32(packed >> int32(16))


@cuda.jit(device=True)
def both(low, high):
    """Return two halves as one."""
    return int32(int32(low & int32(0xFFFF)) | int32(high << int32(16)))


@cuda.jit(device=True)
def rise_of(empty, bottom, arriving, scoring, scratch):
    """Return the rise of a strip's base, the same in all lanes.

    `empty` is the score of an empty alignment in the last virtual lane. Beside skipped cells, those
    that arrive may be far above all others.
    """
    low, high = halves(bottom)
    highest, retained = max(max(low, high), arriving), int32(scoring[LIMIT] - scoring[SWING])
    if any_lane(highest > scoring[LIMIT]):
        return max(scoring[SWING], int32(shuffle(arriving, int32(WARP - 1), scratch) - retained))
    falls = empty < scoring[FLOOR] and any_lane(min(low, high) < scoring[LOW])
    if falls and not any_lane(highest > retained):
        return int32(-min(scoring[FLOOR] - empty, scoring[SWING]))
    return int32(0)


@cuda.jit(device=True)
def lifted(score, rest, floor):
    """Return the best score and the gap down, in the upper halves."""
    least = max(score, floor)
    gap = max(int32(score + int32(rest >> int32(16))), least)
    return int32(least << int32(16)), int32(gap << int32(16))


@cuda.jit(device=True)
def least_to_reach(rows, columns, scoring, known):
    """Return the least score of a lane's lowest cell with which its cells can reach the threshold.

    Its other cells are at most `SLACK` larger. `rows` and `columns` remain up to the end.
    """
    return int32(known - scoring[SLACK] - scoring[GAIN] * min(rows, columns))


@cuda.jit(device=True)
def largest_half(highest, lift, slope):
    """Return the larger score; the virtual lane in the upper half is a column behind the other."""
    low, high = halves(highest)
    return int32(max(low, int32(high + slope)) + lift)


# ---- a chunk of columns


@cuda.jit(device=True)
def words_from(words, at):
    """Return the index of the next step's word, the word before it, and the next words."""
    return at, words[at - int64(1)], load_each(_NEXT, words, at, int64(1))


@cuda.jit(device=True)
def empty_state(slots, column, lane, scoring):
    """Return the state of a strip as if the matrix began at a column.

    The length of the tuple `slots` is the number of rows of a virtual lane.
    """
    # the base is such that the last virtual lane is at the floor
    slope = scoring[TILT]
    base = int32(slope * int32(column - int32(VIRTUAL_LANES)) - scoring[FLOOR])
    own = int32(column - int32(2) * lane - int32(1))
    empty = both(slope * own - base, slope * (own - int32(1)) - base)
    # a gap open there was opened a column sooner, where tilted scores are lower
    gaps = repeated(slots, int32(empty - both(slope, slope)))
    return StripState(base, repeated(slots, empty), gaps, (empty, empty))


@cuda.jit(device=True)
def _lowered(values, rise, scoring):
    """Return scores less the rise of the base, at least the floor."""
    lower, floor = int32(-min(rise, int32(LARGEST))), scoring[FLOOR]
    return at_least(add_each(values, both(lower, lower)), both(floor, floor))


@cuda.jit(device=True)
def _rebased(state, empty, arriving, scoring, scratch):
    """Move the base until all scores of the strip, and the one that arrives, are in range.

    `empty` and `arriving` are tilted scores: of an empty alignment, and the one that arrives.
    """
    base, cells, gaps, above = state
    rise = rise_of(empty - base, cells[-1], arriving - base, scoring, scratch)
    while rise != 0:
        base = int32(base + rise)
        cells, gaps = _lowered(cells, rise, scoring), _lowered(gaps, rise, scoring)
        above = _lowered(above, rise, scoring)
        rise = rise_of(empty - base, cells[-1], arriving - base, scoring, scratch)
    return StripState(base, cells, gaps, above)


@cuda.jit(device=True)
def _step(k, arriving, words, registers, penalties, lane):
    """Advance all lanes by a column; return registers and the largest cell, less the tilt since 0.

    Lane 0 reads the cell that arrives for column `k`.
    """
    cells, gaps, selectors, diagonal, falling, floor, tilted = registers
    out, slot, scratch = lane.out, lane.slot, lane.scratch
    bottom = cells[-1]
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
        out[slot + uint32(k)], out[slot + uint32(k + WARP)] = cells[-1], falling
    floor, tilted = int32(floor + lane.step_up), int32(tilted + lane.step_up)
    return Registers(cells, gaps, selectors, above, falling, floor, tilted), peak


@cuda.jit(device=True)
def _run_chunk(registers, arriving, words, prefetched, next_cells, constants):
    """Advance all lanes by a chunk of columns, and prefetch the cells that arrive next.

    Returned are also the largest cells of the chunk before the lane's, and of its own.
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
        registers, peak0 = _step(k, arriving, (w0, late), registers, penalties, lane)
        registers, peak1 = _step(int32(k + 1), arriving, (w1, w0), registers, penalties, lane)
        registers, peak2 = _step(int32(k + 2), arriving, (w2, w1), registers, penalties, lane)
        registers, peak3 = _step(int32(k + 3), arriving, (w3, w2), registers, penalties, lane)
        peak = max2(max2(peak0, peak1), max2(peak2, peak3))
        highest = max2(highest, peak)
        if group == enters:  # these steps count for both
            before, highest = highest, peak
        late = w3
        w0, w1, w2, w3 = following
    prefetched = at, late, (w0, w1, w2, w3)
    return registers, (before, highest), prefetched, (score, rest, known)


@cuda.jit(device=True)
def can_reach_threshold(state, score, columns, height, width, scoring, known):
    """Return whether a score of the strip, or one that arrives, can reach the threshold."""
    slope = scoring[TILT]
    lift = state.base - slope * (columns.own - int32(1))
    inside = largest_half(state.cells[-1], lift, slope)
    least = least_to_reach(height, int32(width - columns.last), scoring, known)
    return any_lane(max(inside, score) >= least)


@cuda.jit(device=True)
def fill_chunk(state, arrived, columns, words, prefetched, next_cells, constants):
    """Fill the cells of a chunk.

    Return the state of the strip, the next words, the two largest scores of `_run_chunk`, and the
    cell that arrives next with the best score known.
    """
    # best(i, j) = max(0, best(i-1, j-1) + pair(i, j), down(i, j), along(i, j))
    # down(i, j) = max(best(i-1, j) - open, down(i-1, j) - extend), along likewise from (i, j-1)
    scoring, lane, own = constants.scoring, constants.lane, columns.own
    slope, (score, rest) = scoring[TILT], arrived
    tilted = int32(score + slope * (columns.first + lane.number))
    state = _rebased(state, int32(slope * columns.last), tilted, scoring, lane.scratch)
    base, cells, gaps, (diagonal, falling) = state
    arriving = lifted(int32(tilted - base), rest, scoring[FLOOR])
    floor = both(
        max(slope * own - base, scoring[FLOOR]),
        max(slope * (own - int32(1)) - base, scoring[FLOOR]),
    )
    registers = Registers(cells, gaps, constants.selectors, diagonal, falling, floor, int32(0))
    registers, (before, highest), prefetched, coming = _run_chunk(
        registers, arriving, words, prefetched, next_cells, constants
    )
    lift = int32(base - slope * own)
    peaks = largest_half(before, lift, slope), largest_half(highest, lift, slope)
    above = registers.diagonal, registers.falling
    state = StripState(base, registers.cells, registers.gaps, above)
    return state, prefetched, peaks, coming


# ---- a strip of rows


def chunks(columns: int) -> int:
    """Return the number of chunks of columns."""
    return -(-columns // WARP)


def stride(columns: int) -> int:
    """Return the number of elements of a row, and of a subject's words."""
    return LEAD + chunks(columns) * WARP + TAIL


@cuda.jit(device=True)
def _write_bottom(out, own, target, outgoing, offset, next_tag):
    """Write the cells below the last virtual lane for the strip below, a column per lane."""
    sync_lanes()  # the last lane has written the whole chunk
    bottom, gap = out[own], out[own + uint32(WARP)]
    sync_lanes()  # all lanes have read it before the last lane writes the next chunk
    rest = int32(int32(gap - bottom) & int32(-65536)) | next_tag
    store_pair(target, outgoing, int32((bottom >> int32(16)) + offset), rest)


@cuda.jit(device=True)
def _raise_tile(most, tiles, largest, chunk, limit):
    """Raise a tile's bound after its last chunk; return the largest score since then."""
    # tiles: the row's first tile, the number of tiles behind it, and the chunks of a tile; the last
    #   tile includes the chunks behind it
    # limit: the best score known, its array, and its index there
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
    """Return a row's first tile, the number of tiles behind it, and the chunks of a tile."""
    first = int64(job[TILES] + row // job[SIDE] * job[ACROSS])
    return first, int32(job[ACROSS] - 1), int32(job[SPAN])


@cuda.jit(device=True)
def _arrived(source, incoming, tag, prefetched, comes):
    """Return a cell once it is written, `prefetched` or read again; 0 behind the last chunk."""
    score, rest = prefetched
    if not comes:
        return int32(0), int32(0)
    while int32(rest & 0xFFFF) != tag:
        score, rest = load_pair(source, incoming)
    return score, rest


@cuda.jit(device=True)
def _fill(state, arrived, columns, words, prefetched, next_cells, below, constants):
    """Fill a chunk and write the cells below it; return as `fill_chunk`, then the score known."""
    lane, target = constants.lane, below.target
    state, prefetched, peaks, (score, rest, known) = fill_chunk(
        state, arrived, columns, words, prefetched, next_cells, constants
    )
    offset = int32(state.base - constants.scoring[TILT] * (columns.last + lane.number))
    own = lane.slot + uint32(lane.number)
    _write_bottom(lane.out, own, target, below.outgoing, offset, below.tag)
    return state, prefetched, peaks, (score, rest), known


@cuda.jit(device=True)
def _skip_chunk(columns, words, prefetched, next_cells, below, constants):
    """Write 0 below a chunk; return the same as `_fill`."""
    after = int32(columns.first + int32(WARP))
    state = empty_state(constants.selectors, after, constants.lane.number, constants.scoring)
    store_pair(below.target, below.outgoing, int32(0), below.tag)
    prefetched = words_from(words, prefetched[0] + int64(WARP))
    _, known = load_pair(next_cells.limits, next_cells.limit_at)
    arrived = load_pair(next_cells.source, next_cells.incoming)
    return state, prefetched, (int32(0), int32(0)), arrived, known


@cuda.jit(device=True)
def _constants_of(slots, selectors, first, penalties, scoring, shared):
    """Return the constants of a strip; `first` is its first selector."""
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
    """Return the columns of a chunk's first step."""
    column = int32(chunk * int32(WARP))
    return ChunkColumns(column, int32(column - int32(VIRTUAL_LANES - 1)), int32(column - 2 * lane))


@cuda.jit(device=True)
def _sweep(job, unit, words, borders, results, constants):
    """Fill a strip; `unit` is the number of its job, its own, and its first row."""
    number, strip, top = unit
    source, target = borders
    most, limits = results
    scoring, lane, rows = constants.scoring, constants.lane.number, len(constants.selectors)
    state = empty_state(constants.selectors, int32(0), lane, scoring)
    largest = int32(0)
    tag, next_tag = int32(strip & 0xFFFF), int32((strip + 1) & 0xFFFF)
    tiles = _tiles_of(job, int64(top + 2 * lane * rows))
    incoming = uint32(job[COLUMN]) + uint32(LEAD) + uint32(lane)
    outgoing = uint32(job[COLUMN]) + uint32(LEAD - VIRTUAL_LANES + 1) + uint32(lane)
    prefetched = words_from(words, int64(job[COLUMN] + LEAD - 2 * lane))
    limit_at = uint32(number)
    n_chunks, (_, known) = int32(job[CHUNKS]), load_pair(limits, limit_at)
    behind = int32(1) if lane < WARP // 2 else int32(2)  # chunks that the lane is behind the warp
    arrived = load_pair(source, incoming)
    for chunk in range(int32(0), int32(n_chunks + 2)):
        columns = _columns_of(chunk, lane)
        arrived = _arrived(source, incoming, tag, arrived, chunk < n_chunks)
        incoming += uint32(WARP)
        limit = (known if scoring[RISES] else int32(NOT_REACHED), limits, limit_at)
        following = NextCells(source, incoming, limits, limit_at)
        below = BottomCells(target, outgoing, next_tag)
        height, width = int32(job[HEIGHT] - top), int32(job[WIDTH])
        if can_reach_threshold(state, arrived[0], columns, height, width, scoring, known):
            state, prefetched, peaks, arrived, known = _fill(
                state, arrived, columns, words, prefetched, following, below, constants
            )
        else:
            state, prefetched, peaks, arrived, known = _skip_chunk(
                columns, words, prefetched, following, below, constants
            )
        outgoing += uint32(WARP)
        largest = _raise_tile(most, tiles, max(largest, peaks[0]), int32(chunk - behind), limit)
        largest = max(largest, peaks[1])
    cuda.atomic.max(most, tiles[0] + tiles[1], largest)


@cuda.jit(device=True)
def _begin_unit(units, scratch):
    """Take the next unit; return its number."""
    begun = int32(0)
    if cuda.threadIdx.x == 0:
        begun = int32(cuda.atomic.add(units, (0, 1), 1))
    return shuffle(begun, int32(0), scratch)


@cache
def make_kernel(rows: int, level: bool):
    """Return the kernel with `rows` rows per virtual lane.

    With `level`, extending a gap along a row changes no tilted score.
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

        A strip needs only strips that were begun before it, so a warp waits only for warps that
        run.
        """
        # jobs (J, 9): see `SELECTORS` and following
        # units (1 + U, 2): number of units and of those begun, then job and strip of each
        # inputs: selectors and words of `look_up_thread`
        # borders: cells above each strip, those from a strip on another GPU, those for such a strip
        # most: raised to the largest score of each tile
        # limits (J,): threshold of each job, which rises to the best score if only the best
        #   alignment is requested
        scratch = cuda.shared.array(WARP, int32)
        shared = (cuda.shared.array(_OUT, int32), scratch)
        row, from_other, for_other = borders
        selectors, words = inputs
        while True:
            begun = _begin_unit(units, scratch)
            if begun >= units[0, 0]:
                return
            number, strip = units[begun + 1, 0], units[begun + 1, 1]
            source = from_other if strip % scoring[GROUP] == 0 else row
            target = for_other if (strip + 1) % scoring[GROUP] == 0 else row
            job = jobs[number]
            first = job[SELECTORS] + int64(strip) * rows * WARP
            penalties = penalties_of(scoring)
            constants = _constants_of(slots, selectors, first, penalties, scoring, shared)
            unit = number, strip, int32(int32(strip) * int32(VIRTUAL_LANES * rows))
            _sweep(job, unit, words, (source, target), (most, limits), constants)

    return fill_strips
