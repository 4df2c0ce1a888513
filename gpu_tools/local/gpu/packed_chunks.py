"""How a strip of packed rows moves on by a chunk of columns; see `gpu_tools.local.gpu.packed`."""

from __future__ import annotations

from numba import cuda, int32, int64, uint32

from gpu_tools.hardware.gpu.intrinsics.columns import (
    add_each,
    affine_column,
    load_each,
    load_pair,
    repeated,
)
from gpu_tools.hardware.gpu.intrinsics.rows import at_least
from gpu_tools.hardware.gpu.intrinsics.words import (
    WARP,
    any_lane,
    max2,
    permute,
    shuffle,
    shuffle_up,
)
from gpu_tools.local.gpu.packed_scores import (
    FLOOR,
    LARGEST,
    TILT,
    VIRTUAL_LANES,
    both,
    largest_half,
    least_of_interest,
    lifted,
    rise_of,
)
from gpu_tools.local.gpu.packed_state import Registers, StripState

UNROLLED = 4  # steps that are written out one after the other
READS = WARP // UNROLLED - 1
"""Group of steps before which the cells of the next chunk are read."""
_NEXT = (0,) * UNROLLED
"""As many elements as words that a group of steps prefetches."""
_NEIGHBOURS_HIGH_THEN_OWN_LOW = 0x5432


@cuda.jit(device=True)
def words_from(words, at):
    """Return the index of the next step's word, the word before it, and the next words."""
    return at, words[at - int64(1)], load_each(_NEXT, words, at, int64(1))


@cuda.jit(device=True)
def emptied(slots, column, lane, scoring):
    """Return what a strip holds as if the matrix began at a column.

    `slots` is a tuple as long as a virtual lane has rows.
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
    """Return scores less what the base has risen by."""
    lower, floor = int32(-min(rise, int32(LARGEST))), scoring[FLOOR]
    return at_least(add_each(values, both(lower, lower)), both(floor, floor))


@cuda.jit(device=True)
def _rebased(state, empty, arriving, scoring, scratch):
    """Move the base until what the strip holds, and what arrives, is in range.

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
    """Move all lanes on by one column; lane 0 reads what arrives for column `k`.

    Also returned is the largest cell, less the tilt since column 0.
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
    """Move all lanes on by a chunk of columns, and prefetch the cells that come in next.

    Also returned are the largest cells of the chunk before the lane's, and of its own.
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
def is_of_interest(state, score, columns, height, width, scoring, known):
    """Tell whether a score that the strip holds, or that arrives, may reach the threshold."""
    slope = scoring[TILT]
    lift = state.base - slope * (columns.own - int32(1))
    inside = largest_half(state.cells[-1], lift, slope)
    least = least_of_interest(height, int32(width - columns.last), scoring, known)
    return any_lane(max(inside, score) >= least)


@cuda.jit(device=True)
def filled(state, arrived, columns, words, prefetched, next_cells, constants):
    """Fill the cells of a chunk.

    Returned are what the strip holds then, the words to come, the two largest scores of
    `_run_chunk`, and the cell that comes in next with the score that is known to be reached.
    """
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
