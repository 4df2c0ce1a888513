"""Border words between strips of the packed kernel of chains that translate.

Each advance of rows by a nucleotide has a pair of words, in the order in which a strip does them.
Of the three current rows the pair has the last columns' values, and that of the first row again as
events have left it; of the accumulator the first word has those before and behind its advance.
Words come and go in groups of `WARP` through shared memory.
"""

from __future__ import annotations

from numba import cuda, int32, int64, uint32

from gpu_tools.hardware.gpu.intrinsics.rows import load_word, store_word
from gpu_tools.hardware.gpu.intrinsics.words import (
    WARP,
    add2,
    any_lane,
    load2,
    max2,
    sync_lanes,
)

SHARED_ARRIVING_AT = 32
"""Shared memory begins with a quad a symbol: words of lifted scores, and what a step down costs.
Border words that come and that go follow, and then slots.
"""
SHARED_LEAVING_AT = SHARED_ARRIVING_AT + 2 * WARP
SHARED_SLOTS_AT = SHARED_LEAVING_AT + 2 * WARP
NEVER_PAIR = int64(-0x7F7F7F7F7F7F7F80)
"""A pair of border words that is not there yet."""


@cuda.jit(device=True)
def leave_group(number, borders, shared, lane):
    """Write the group of border words before `number` to memory."""
    leaving = borders[1]
    at, place = int32(number - WARP + lane), int32(SHARED_LEAVING_AT + 2 * lane)
    low, high = load2(shared, place)
    if at < leaving.shape[0]:
        pair = (int64(high) << int64(32)) | (int64(low) & int64(0xFFFFFFFF))
        store_word(leaving, uint32(at), pair)


@cuda.jit(device=True)
def peek_pair(number, borders, lane):
    """Look at the lane's pair of the group from `number` on, without waiting."""
    arriving, _, is_first_strip, _, _ = borders
    if is_first_strip:
        return NEVER_PAIR
    return load_word(arriving, uint32(min(int32(number + lane), int32(arriving.shape[0] - 1))))


@cuda.jit(device=True)
def _receive_group(number, seen, borders, shared, lane):
    """Put the group from `number` on into shared memory once it is there; look at the next one."""
    _, _, is_first_strip, lowered, floor = borders
    if is_first_strip:
        return seen
    while any_lane(seen == NEVER_PAIR):
        seen = peek_pair(number, borders, lane)
    at = uint32(SHARED_ARRIVING_AT + 2 * lane)
    shared[at] = max2(add2(int32(seen), lowered), floor)
    shared[at + uint32(1)] = max2(add2(int32(seen >> int64(32)), lowered), floor)
    return peek_pair(int32(number + WARP), borders, lane)


@cuda.jit(device=True)
def next_words(cursor, borders, shared, lane):
    """Return what stands before the strip at the next advance, that one's place, the new cursor.

    A cursor is the number of the next advance, and what was seen of the next group of words. The
    place is where the advance leaves its own words.
    """
    number, seen = cursor
    of_group = int32(number & int32(WARP - 1))
    if of_group == 0:
        sync_lanes()
        if number > 0:
            leave_group(number, borders, shared, lane)
        seen = _receive_group(number, seen, borders, shared, lane)
        sync_lanes()
    words = load2(shared, int32(SHARED_ARRIVING_AT + 2 * of_group))
    return words, int32(SHARED_LEAVING_AT + 2 * of_group), (int32(number + 1), seen)


@cuda.jit(device=True)
def put_words(shared, at, words, is_last):
    """Write the border words of an advance; those of the last lane count."""
    if is_last:
        shared[uint32(at)], shared[uint32(at) + uint32(1)] = words
