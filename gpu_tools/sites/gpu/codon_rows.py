"""Rows of chains that translate in packed cells: three current rows of which a warp owns columns.

All lanes of a warp work on the same boundary. The two halves of a lane's registers are two *virtual
lanes*, each with columns side by side. What a virtual lane's row owes to those before it is one
number for all its columns, the *carry*: a maximum over the lanes. It joins the row when that is
needed. The carry also stands to the upper left of the next row's first column, as it is the last
value of the virtual lane before.
"""

from __future__ import annotations

from numba import cuda, int32

from gpu_tools.hardware.gpu.intrinsics.rows import at_least, tracks_moved
from gpu_tools.hardware.gpu.intrinsics.words import (
    load4,
    max2,
    permute,
    shuffle_up,
    shuffle_up_by,
)
from gpu_tools.sites.gpu.strips import NEVER

LOWS, HIGHS = 0x5410, 0x7632
"""Selectors: the low halves of two words, and the high halves."""
LOW_TWICE, HIGH_TWICE, SWAPPED, LOW_SIGNED = 0x1010, 0x3232, 0x1032, 0x9910
HIGH_THEN_LOW, SECOND_THEN_LOW = 0x5432, 0x1054


@cuda.jit(device=True)
def maxima_before(value, scratch):
    """Return the packed maxima over a lane and all lanes before it."""
    # three shuffles at a time: each is waited for some thirty cycles
    one, two = shuffle_up_by(value, 1, scratch), shuffle_up_by(value, 2, scratch)
    three = shuffle_up_by(value, 3, scratch)
    value = max2(max2(value, one), max2(two, three))
    one, two = shuffle_up_by(value, 4, scratch), shuffle_up_by(value, 8, scratch)
    three = shuffle_up_by(value, 12, scratch)
    value = max2(max2(value, one), max2(two, three))
    return max2(value, shuffle_up_by(value, 16, scratch))


@cuda.jit(device=True)
def carry_of(maximum, last):
    """Return a carry: what comes from other lanes, and for the second half what the first one has.

    Both halves of `maximum` are what comes.
    """
    return max2(maximum, permute(last, int32(NEVER), int32(SECOND_THEN_LOW)))


@cuda.jit(device=True)
def settled_carry(last, left, is_first, scratch):
    """Return the carry of a row that owes nothing, from its last words.

    `left` has in its higher half what stands before the strip.
    """
    before = shuffle_up(last, scratch)
    if is_first:
        before = left
    return permute(before, last, int32(HIGH_THEN_LOW))


@cuda.jit(device=True)
def carries_of(tracks, words, is_first, scratch):
    """Return the carries of three rows that have just been advanced.

    `words` are what stands before the strip: in halves that of the first row, of the second one and
    of the third one.
    """
    first, second, third = tracks[0][-1], tracks[1][-1], tracks[2][-1]
    lows = permute(first, second, int32(LOWS))
    pair = max2(lows, permute(first, second, int32(HIGHS)))
    single = max2(third, permute(third, third, int32(SWAPPED)))
    pair, single = shuffle_up(pair, scratch), shuffle_up(single, scratch)
    if is_first:
        pair, single = words[0], permute(words[1], words[1], int32(LOW_TWICE))
    pair, single = maxima_before(pair, scratch), maxima_before(single, scratch)
    return (
        carry_of(permute(pair, pair, int32(LOW_TWICE)), first),
        carry_of(permute(pair, pair, int32(HIGH_TWICE)), second), carry_of(single, third),
    )  # fmt: skip


@cuda.jit(device=True)
def advance_tracks(tracks, carries, symbol, words, fixed):
    """Return three rows advanced by a nucleotide, and their carries."""
    chosen, floor, is_first, shared, scratch = fixed
    low, high, cost, _ = load4(shared, int32(4 * symbol))
    tracks = tracks_moved(tracks, chosen, (low, high), carries, floor, cost)
    return tracks, carries_of(tracks, words, is_first, scratch)


@cuda.jit(device=True)
def advance_alone(row, symbol, word, fixed):
    """Return a row that owes nothing, advanced by a nucleotide; and the border word of both.

    `word` has in its lower half what stands before the row, in its higher one what stands before
    the next row.
    """
    chosen, floor, is_first, shared, scratch = fixed
    low, high, cost, _ = load4(shared, int32(4 * symbol))
    before = row[-1]
    left = permute(word, word, int32(LOW_TWICE))
    carry = settled_carry(before, left, is_first, scratch)
    (row,) = tracks_moved((row,), chosen, (low, high), (carry,), floor, cost)
    last = row[-1]
    most = shuffle_up(max2(last, permute(last, last, int32(SWAPPED))), scratch)
    if is_first:
        most = permute(word, word, int32(HIGH_TWICE))
    row = at_least(row, carry_of(maxima_before(most, scratch), last))
    return row, permute(before, row[-1], int32(HIGHS))
