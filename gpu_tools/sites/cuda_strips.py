"""What strips of columns hand on: from lane to lane in a warp, and from one strip to the next.

A strip's lanes hold packed words; the halves of a word belong to two virtual lanes, one after the
other. Where one strip ends and the next begins, a *border* word of each boundary lies in memory:
the last column's value with the exons that are entered there, and without. It is `NEVER` before,
so that whoever needs it sees whether it is there; no flags and no fences are needed.
"""

from __future__ import annotations

from numba import cuda, int32, uint32

from gpu_tools.ptx import WARP, max2, permute, shuffle, shuffle_up, shuffle_up_by
from gpu_tools.ptx_rows import load_word

NEVER_BYTE = 0x80
NEVER = int32(-0x7F7F7F80)
"""A word that is not there yet, in each half less than any cell."""

_OWN, _SECOND_HIGH_TWICE, _SECOND_LOW_THEN_HIGH = 0x3210, 0x7676, 0x3254
_NEIGHBOURS_HIGH_THEN_LOW = 0x5432


def lane_selectors() -> list[int]:
    """Return which bytes each lane takes of its own word and of the border's, by use and lane.

    First for the word to the upper left, then for values from 1 to 5 lanes before. They
    are read from memory, for otherwise they are worked out anew in each row.
    """
    corner = [_SECOND_LOW_THEN_HIGH if lane == 0 else _OWN for lane in range(WARP)]
    before = [
        _OWN if lane >= distance else _SECOND_HIGH_TWICE
        for distance in range(1, 6) for lane in range(WARP)
    ]  # fmt: skip
    return corner + before


@cuda.jit(device=True)
def own_selectors(table, lane):
    """Return a lane's part of `lane_selectors`."""
    at, use = uint32(lane), uint32(WARP)
    return (
        table[at], table[at + use], table[at + uint32(2) * use],
        table[at + uint32(3) * use], table[at + uint32(4) * use],
        table[at + uint32(5) * use],
    )  # fmt: skip


@cuda.jit(device=True)
def maximum_before(value, border, selectors, scratch):
    """Return the maximum over the lanes before this one and the border's second half.

    First over five lanes, then over the fives: two steps, for each takes as long as a shuffle.
    """
    _, s1, s2, s3, s4, s5 = selectors
    d1, d2 = shuffle_up_by(value, 1, scratch), shuffle_up_by(value, 2, scratch)
    d3, d4 = shuffle_up_by(value, 3, scratch), shuffle_up_by(value, 4, scratch)
    d5 = permute(shuffle_up_by(value, 5, scratch), border, s5)
    near = max2(max2(permute(d1, border, s1), permute(d2, border, s2)), permute(d3, border, s3))
    value = max2(max2(near, permute(d4, border, s4)), d5)
    d5, d10 = shuffle_up_by(value, 5, scratch), shuffle_up_by(value, 10, scratch)
    d15, d20 = shuffle_up_by(value, 15, scratch), shuffle_up_by(value, 20, scratch)
    d25, d30 = shuffle_up_by(value, 25, scratch), shuffle_up_by(value, 30, scratch)
    return max2(max2(max2(max2(value, d5), d10), max2(max2(d15, d20), d25)), d30)


@cuda.jit(device=True)
def begin_strip(strips, scratch):
    """Return the number of the next strip to begin, the same in all lanes; -1 if none is left."""
    number = int32(0)
    if cuda.threadIdx.x == 0:
        number = int32(cuda.atomic.add(strips, (strips.shape[0] - 1, 0), 1))
        if number >= strips.shape[0] - 1:
            number = int32(-1)
    return shuffle(number, int32(0), scratch)


@cuda.jit(device=True)
def peek(arriving, strip, at):
    """Look, without waiting, at a border word; the clamped place if there is no such row."""
    if strip == 0:
        return int32(NEVER)
    return load_word(arriving, uint32(min(at, int32(arriving.shape[0] - 1))))


@cuda.jit(device=True)
def await_word(arriving, strip, at, value, floor):
    """Return a border word once it is there; `value` is what was seen of it last."""
    if strip == 0:
        return floor
    index = uint32(min(at, int32(arriving.shape[0] - 1)))
    while value == NEVER:
        value = load_word(arriving, index)
    return value


@cuda.jit(device=True)
def corner(last, begins, came, lane_bytes, scratch):
    """Return what the next row has to its upper left, from the lanes' last words of this row."""
    up = shuffle_up(last, scratch)
    word = max2(permute(up, last, int32(_NEIGHBOURS_HIGH_THEN_LOW)), begins)
    return permute(word, came, lane_bytes[0])
