"""The rows above the parts of a warp tile, which a warp fetches a chunk of columns at a time.

The row above a part is the maximum of its sources, stored rows that other warps write meanwhile.
Eight lanes fetch the row of one part, four columns each, so that four parts are served side by
side. A cell is `NEVER` until it is written; its reader looks until it is not.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import cuda, int32, int64, uint32

from gpu_tools.hardware.gpu.intrinsics.words import (
    WARP,
    add2,
    funnel,
    load2,
    load4,
    look_around,
    max2,
    min2,
    moved,
    permute,
    put_four,
    store4,
)
from gpu_tools.spliced.gpu.job_table import FREE, GAP
from gpu_tools.spliced.gpu.tile_tables import PART_FIELDS, SOURCE_FIELDS
from gpu_tools.splicing import recurrence as core

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

empty_chain = cuda.jit(device=True)(core.empty_chain)


class Arriving(NamedTuple):
    """What arrives above a warp tile: the tables of parts and sources, and the columns.

    `first` is the first column that the lane fetches if no part is behind, `columns` their number.
    """

    parts: object
    sources: object
    first: int
    columns: int


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
    """Tell whether one of two cells is `NEVER`."""
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
