"""A strip of rows of gains W, by which a GPU traces chains; see `traceback`.

A warp holds a strip: a lane owns neighbouring rows, and the columns pass from right to left, each
lane one column behind the lane before. The move that led to a cell takes two bits, those of the
rows of a lane 16.
"""

from __future__ import annotations

from numba import cuda, int32, int64, uint32, uint64

from gpu_tools.hardware.gpu.intrinsics.words import (
    WARP,
    permute,
    shuffle,
    shuffle_up,
    sync_lanes,
    times_plus,
)

SLOTS = 8
"""Rows of a lane."""
STRIP = WARP * SLOTS
"""Rows of a strip at most."""
NEVER = -(1 << 29)
_SIGNED_BYTE, _NOTHING = 0x8880, 0x4444


@cuda.jit(device=True)
def sweep_strip(texts, borders, moves, strip, gap, lane, scratch):
    """Compute a strip of rows of W; return the lanes that it takes.

    `strip` holds where the strip's first base symbol and the word of the last column's right
    neighbour are, its rows and steps, where the row before is in `borders`, or -1 if it is all
    zeros, and where the last row goes. Of each two steps a lane writes one word of `moves`.
    """
    symbols, words, _ = texts
    first_symbol, first_word, n_rows, steps, source, target = strip
    used = int32((n_rows + int32(SLOTS - 1)) // int32(SLOTS))
    spare, behind = int32(used * int32(SLOTS) - n_rows), int32(used - 1)
    row = cuda.local.array(SLOTS, int32)
    selectors = cuda.local.array(SLOTS, int32)
    gaps = cuda.local.array(SLOTS, int32)
    for i in range(SLOTS):
        # rows that the first lane lacks come first and do nothing
        number = int32(lane * int32(SLOTS) + i - spare)
        real = number >= 0 and number < n_rows
        code = int32(symbols[uint32(first_symbol - number)]) if real else int32(0)
        selectors[i] = int32(_SIGNED_BYTE + code * int32(0x1111)) if real else int32(_NOTHING)
        gaps[i] = gap if real else int32(0)
        row[i] = int32(NEVER)
    # the factor is not known to the compiler, which would shift instead: see `_step`
    costs = selectors, gaps, int32(cuda.blockDim.z + 1)
    diagonal, at, out = int32(NEVER), uint32(first_word + lane), uint32(lane * move_words(steps))
    word = words[at]
    for first in range(int32(0), steps, int32(WARP)):
        arriving = borders[uint32(source + first + lane)] if source >= 0 else int32(0)
        for k in range(int32(0), int32(WARP), int32(2)):
            at, even = uint32(at - uint32(2)), word
            odd, word = words[at + uint64(1)], words[at]
            below = _below(row, arriving, k, lane, scratch)
            early = _step(row, costs, diagonal, below, even)
            diagonal, column = below, int32(first + k - behind)
            if lane == behind and column >= 0:
                borders[uint32(target + column)] = row[SLOTS - 1]
            below = _below(row, arriving, int32(k + 1), lane, scratch)
            late = _step(row, costs, diagonal, below, odd)
            diagonal, column = below, int32(column + 1)
            if lane == behind and column >= 0:
                borders[uint32(target + column)] = row[SLOTS - 1]
            if lane < used:
                moves[out] = int32(early | int32(late << int32(16)))
            out = uint32(out + uint32(1))
    sync_lanes()
    return used


@cuda.jit(device=True)
def _below(row, arriving, k, lane, scratch):
    """Return the last row of the lane before, for the first lane what has arrived."""
    below, top = shuffle_up(row[SLOTS - 1], scratch), shuffle(arriving, k, scratch)
    return top if lane == 0 else below


@cuda.jit(device=True)
def _step(row, costs, diagonal, below, word):
    """Move a lane's rows on by one column; return two bits of each, the first row's the highest.

    The upper tells that the cell is not as good without a partner of the base symbol, the lower
    that it is not as good as the pair. Bits are put together by products, as the other integer
    lanes have more to do.
    """
    selectors, gaps, two = costs
    up, bits = below, int32(0)
    for i in range(SLOTS):
        paired = int32(diagonal + permute(word, int32(0), selectors[i]))
        dropped = int32(up + gaps[i])
        diagonal = row[i]
        up = max(max(paired, diagonal), dropped)
        row[i] = up
        bits = times_plus(bits, two, min(int32(up - dropped), int32(1)))
        bits = times_plus(bits, two, min(int32(up - paired), int32(1)))
    return bits


@cuda.jit(device=True)
def move_words(steps):
    """Return the words that a lane writes in so many steps."""
    return int32((steps + int32(WARP - 1)) // int32(WARP) * int32(WARP // 2))


@cuda.jit(device=True)
def move_of(moves, steps, lanes, slot, column):
    """Return the two bits of a row's cell, `column` columns before the last."""
    lane = int32(slot >> 3)
    step = int32(column + lane)
    word = moves[int64(lanes + lane) * move_words(steps) + (step >> 1)]
    shift = int32(((step & int32(1)) << 4) + ((~slot & int32(SLOTS - 1)) << 1))
    return int32((word >> shift) & int32(3))
