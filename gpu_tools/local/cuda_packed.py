"""Kernel of the score pass in packed 16-bit arithmetic: strips of rows that follow each other.

A *strip* is as many rows as a warp holds in registers, two rows a register: each half of a lane is
a *virtual lane* with neighbouring rows of its own, one column behind the one above. Columns stream
past. What comes out below a strip, cell by cell, goes to the strip below through memory, and that
strip begins as soon as the first cells are there.

A cell in memory is one word of 64 bits: the best score, how much more what goes on below a cell is
worth (both whatever the strip's base), and the number of the strip that reads it. So a reader sees
whether a word is already the one it waits for, and neither flags nor fences are needed.

Scores in registers are less the strip's *base*, which moves with them. Scores of cells that are in
registers at one time differ by no more than a bound, the *reach* (`Range`); so all of them fit 16
bits and, unless the base is 0, none is under it. That is why one comparison with 0 serves both as
the floor of local alignment and does no harm where the base is higher.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import cuda, int32, int64, uint32, uint64

from gpu_tools.device import simulated
from gpu_tools.local.problem import Problem
from gpu_tools.ptx import (
    WARP,
    add_each,
    affine_column,
    any_lane,
    load_each,
    load_pair,
    permute,
    repeated,
    shuffle,
    shuffle_up,
    store_pair,
)

ROWS = (1,) if simulated() else (4, 8, 16)
"""Rows a virtual lane that the kernel is compiled for."""
VIRTUAL_LANES = 2 * WARP
LEAD = VIRTUAL_LANES
"""Elements before column 0 of a row and of a subject's words: steps that come too early."""
TAIL = 2 * VIRTUAL_LANES
"""Elements after the last column, for steps that come too late."""
WARPS = 1 if simulated() else 4
"""Warps of a thread block."""
LARGEST = (1 << 15) - 1
"""The largest score less its base."""
_NEIGHBOURS_HIGH_THEN_OWN_LOW = 0x5432

# columns of the job table: first selector, element of rows and words, and tile; whole chunks of
# columns, tiles across, chunks of a tile (as a power of two), rows of a tile
SELECTORS, COLUMN, TILES, CHUNKS, ACROSS, SPAN, SIDE, FIELDS = range(8)
# elements of the scoring
OPEN, EXTEND, LIMIT, LOW, SWING, GROUP = range(6)


def chunks(columns: int) -> int:
    """Return the chunks of columns that come in together."""
    return -(-columns // WARP)


def stride(columns: int) -> int:
    """Return the elements of a row, and of a subject's words."""
    return LEAD + chunks(columns) * WARP + TAIL


class Range(NamedTuple):
    """How scores less the base move: above `limit` the base rises, below `low` it falls.

    It moves by `swing`, after which no score is below 0 or, if it rose, above `limit`.
    """

    limit: int
    low: int
    swing: int


def score_range(problem: Problem, rows: int) -> Range | None:
    """Return the range of scores in a strip of `rows` rows a virtual lane, None if 16 bits are few.

    From a cell to one n rows or columns away a score falls by a gap's cost at most, and rises by no
    more than n pairs and what a gap costs that the other path pays.
    """
    match, costs = int(problem.table.max()), problem.gap_open + problem.gap_extend
    slope = max(match, 0) + problem.gap_extend
    slack = 2 * (match + costs - int(problem.table.min()))
    reach = slope * (VIRTUAL_LANES * (rows + 1) + WARP) + slack
    low = slope * (rows + WARP) + slack
    limit = LARGEST - reach - low
    swing = limit - reach - low
    return Range(limit, low, swing) if swing > 0 else None


@cuda.jit(device=True)
def _halves(packed):
    return int32(int32(packed << int32(16)) >> int32(16)), int32(packed >> int32(16))


@cuda.jit(device=True)
def _rise(base, bottom, scoring):
    """Return by how much the base of a strip rises; all lanes agree."""
    low, high = _halves(bottom)
    if any_lane(max(low, high) > scoring[LIMIT]):
        return scoring[SWING]
    if base > 0 and any_lane(min(low, high) < scoring[LOW]):
        return int32(-min(base, scoring[SWING]))
    return int32(0)


@cuda.jit(device=True)
def _raise_tile(most, tile, value):
    if value > most[tile]:
        cuda.atomic.max(most, tile, value)


def make_kernel(rows: int, capped: bool):
    """Return the kernel with `rows` rows a virtual lane.

    Parameters
    ----------
    rows : int
        One of `ROWS`.
    capped : bool
        Whether some query symbols match none, so that their scores have caps.
    """
    slots = (0,) * rows
    cap_slots = slots if capped else ()

    @cuda.jit(device=True)
    def sweep(strip, job, inputs, borders, most, scoring, scratch):
        selectors, caps, words = inputs
        source, target = borders
        lane = int32(cuda.threadIdx.x)
        penalties = (scoring[OPEN], scoring[EXTEND])
        place = int64(job[SELECTORS] + int64(strip) * rows * WARP + lane)
        chosen = load_each(slots, selectors, place, int64(WARP))
        cap = load_each(cap_slots, caps, place, int64(WARP))
        cells, gaps = repeated(slots, int32(0)), repeated(slots, int32(0))
        diagonal, bottom, falling, largest, late = int32(0), int32(0), int32(0), int32(0), int32(0)
        base, n_chunks, span = int32(0), int32(job[CHUNKS]), int32(job[SPAN])
        tag, last_of_tile = int32(strip & 0xFFFF), int32((1 << span) - 1)
        tile_row = int32((strip * VIRTUAL_LANES + 2 * lane) * rows // job[SIDE])
        tiles = int64(job[TILES]) + int64(tile_row) * int64(job[ACROSS])
        at = uint64(job[COLUMN]) + uint64(LEAD) - uint64(2 * lane)
        incoming = uint32(job[COLUMN]) + uint32(LEAD) + uint32(lane)
        outgoing = uint32(job[COLUMN]) + uint32(LEAD - VIRTUAL_LANES + 1)
        behind = int32(0) if lane < WARP // 2 else int32(1)  # chunks
        next_tag = int32((strip + 1) & 0xFFFF)
        word = words[at]
        score, rest = load_pair(source, incoming)
        for chunk in range(int32(0), int32(n_chunks + 2)):
            rise = _rise(base, bottom, scoring)
            if rise != 0:
                lower = int32((-rise & 0xFFFF) | (-rise << 16))
                cells, gaps = add_each(cells, lower), add_each(gaps, lower)
                diagonal, bottom, falling, largest = add_each(
                    (diagonal, bottom, falling, largest), lower
                )
                base = int32(base + rise)
            arriving, arriving_gap = int32(0), int32(0)
            if chunk < n_chunks:
                while int32(rest & 0xFFFF) != tag:
                    score, rest = load_pair(source, incoming)
                arriving = int32((score - base) << int32(16))
                arriving_gap = int32(arriving + int32(rest & int32(-65536)))
            incoming += uint32(WARP)
            score, rest = load_pair(source, incoming)
            for k in range(int32(0), int32(WARP)):
                up, up_gap = shuffle_up(bottom, scratch), shuffle_up(falling, scratch)
                top, top_gap = shuffle(arriving, k, scratch), shuffle(arriving_gap, k, scratch)
                if lane == 0:
                    up, up_gap = top, top_gap
                above = permute(up, bottom, int32(_NEIGHBOURS_HIGH_THEN_OWN_LOW))
                falling = permute(up_gap, falling, int32(_NEIGHBOURS_HIGH_THEN_OWN_LOW))
                at += uint64(1)
                following = words[at]
                state = (word, late, diagonal, falling, largest)
                cells, gaps, falling, largest = affine_column(
                    cells, gaps, chosen, cap, state, penalties
                )
                bottom = cells[rows - 1]
                diagonal, late, word = above, word, following
                if lane == WARP - 1:
                    rest_out = int32(int32(falling - bottom) & int32(-65536)) | next_tag
                    store_pair(target, outgoing, int32((bottom >> int32(16)) + base), rest_out)
                outgoing += uint32(1)
            # a lane is in two tiles during one chunk, whose cells count for both
            own = int32(chunk - behind)
            within = int32(own & last_of_tile)
            if within == last_of_tile or within == 0 or chunk == n_chunks + 1:
                low, high = _halves(largest)
                largest = int32(max(low, high) + base)
                tile = int64(tiles + max(own >> span, int32(0)))
                _raise_tile(most, tile, largest)
                if within != last_of_tile and own > last_of_tile:
                    _raise_tile(most, tile - 1, largest)
                largest = int32(0)

    @cuda.jit
    def fill_strips(jobs, units, selectors, caps, words, borders, most, scoring):
        """Fill all strips, each by one warp.

        A strip needs only strips that were begun before it, so a warp that waits always waits for
        one that runs.

        Parameters
        ----------
        jobs : int64 array, shape (J, 7)
            Where the parts of each job lie, and its shape.
        units : int32 array, shape (1 + U, 2)
            The number of units and of those begun, then job and strip of each.
        selectors, caps : int32 array
            Of each strip, shape (rows, WARP): the bytes that look up a pair of rows' scores in two
            words, and the largest scores they may find, for symbols that match none.
        words : int32 array
            Of each column four scores, one byte a query symbol.
        borders : tuple of int64 array
            Cells above each strip, those that come from a strip elsewhere, those for one elsewhere.
        most : int32 array
            Raised to the largest score of each tile.
        scoring : int32 array, shape (6,)
            Penalties, negative and packed, the range of scores, strips that stay together.
        """
        scratch = cuda.shared.array(WARP, int32)
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
            inputs = (selectors, caps, words)
            sweep(strip, jobs[job], inputs, (source, target), most, scoring, scratch)

    return fill_strips
