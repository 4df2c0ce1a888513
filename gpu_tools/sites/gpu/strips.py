"""What strips of columns hand on: from lane to lane in a warp, and from one strip to the next.

A strip's lanes hold packed words; the halves of a word belong to two virtual lanes, one after the
other. Where one strip ends and the next begins, a *border* word of each boundary lies in memory:
the last column's value with the exons that are entered there, and without. It is `NEVER` before,
so that whoever needs it sees whether it is there; no flags and no fences are needed.
"""

from __future__ import annotations

from numba import cuda, int32, uint32

from gpu_tools.hardware.gpu.intrinsics import WARP, any_lane, max2, permute, shuffle, shuffle_up
from gpu_tools.hardware.gpu.packed_rows import load_word

NEVER_BYTE = 0x80
NEVER = int32(-0x7F7F7F80)
"""A word that is not there yet, in each half less than any cell."""

_NEAR, _FAR = (1, 2, 3, 4, 5), (5, 10, 15, 20, 25, 30)
_OWN, _SECOND, _SECOND_LOW_THEN_HIGH, _NEIGHBOURS_HIGH_THEN_LOW = 0x3210, 0x7654, 0x3254, 0x5432


def lane_table() -> list[int]:
    """Return what differs from lane to lane: a number for each use and lane.

    First the bytes for the word to the upper left, of the lane's word and the border's; then the
    bytes that let a border stand in for lane 0; then 0 for the last lane, `WARP` for others; then
    the lanes so many before, lane 0 if there is none. They are read from memory, for otherwise
    they are worked out anew in each row.
    """
    corner = [_SECOND_LOW_THEN_HIGH if lane == 0 else _OWN for lane in range(WARP)]
    outside = [_SECOND if lane == 0 else _OWN for lane in range(WARP)]
    aside = [0 if lane == WARP - 1 else WARP for lane in range(WARP)]
    before = [max(lane - d, 0) for d in _NEAR + _FAR[1:] for lane in range(WARP)]
    return corner + outside + aside + before


@cuda.jit(device=True)
def own_numbers(table, lane):
    """Return a lane's part of `lane_table`."""
    at, use = uint32(lane), uint32(WARP)
    return (
        table[at], table[at + use],
        table[at + uint32(2) * use], table[at + uint32(3) * use], table[at + uint32(4) * use],
        table[at + uint32(5) * use], table[at + uint32(6) * use], table[at + uint32(7) * use],
        table[at + uint32(8) * use], table[at + uint32(9) * use], table[at + uint32(10) * use],
        table[at + uint32(11) * use], table[at + uint32(12) * use],
    )  # fmt: skip


@cuda.jit(device=True)
def near_maximum(value, border, numbers, scratch):
    """Return the maximum over the five lanes before this one, the border for lane 0.

    No value may be less than the border: lane 0 stands in for lanes that do not exist.
    """
    _, outside, _, b1, b2, b3, b4, b5, _, _, _, _, _ = numbers
    d1, d2 = shuffle(value, b1, scratch), shuffle(value, b2, scratch)
    d3, d4 = shuffle(value, b3, scratch), shuffle(value, b4, scratch)
    d5 = shuffle(value, b5, scratch)
    return permute(max2(max2(max2(d1, d2), d3), max2(d4, d5)), border, outside)


@cuda.jit(device=True)
def maximum_before(near, numbers, scratch):
    """Return the maximum over all lanes before this one and the border, of `near_maximum`.

    So there are two steps, over five lanes and over the fives, for each takes as long as a shuffle.
    """
    _, _, _, _, _, _, _, b5, b10, b15, b20, b25, b30 = numbers
    d5, d10 = shuffle(near, b5, scratch), shuffle(near, b10, scratch)
    d15, d20 = shuffle(near, b15, scratch), shuffle(near, b20, scratch)
    d25, d30 = shuffle(near, b25, scratch), shuffle(near, b30, scratch)
    return max2(max2(max2(max2(near, d5), d10), max2(max2(d15, d20), d25)), d30)


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
    if any_lane(strip == 0):
        return int32(NEVER)
    return load_word(arriving, uint32(min(at, int32(arriving.shape[0] - 1))))


@cuda.jit(device=True)
def await_word(arriving, strip, at, value, floor):
    """Return a border word once it is there; `value` is what was seen of it last."""
    if any_lane(strip == 0):
        return floor
    index = uint32(min(at, int32(arriving.shape[0] - 1)))
    while any_lane(value == NEVER):
        value = load_word(arriving, index)
    return value


@cuda.jit(device=True)
def corner(last, begins, came, own_bytes, scratch):
    """Return what the next row has to its upper left, from the lanes' last words of this row."""
    up = shuffle_up(last, scratch)
    word = max2(permute(up, last, int32(_NEIGHBOURS_HIGH_THEN_LOW)), begins)
    return permute(word, came, own_bytes)
