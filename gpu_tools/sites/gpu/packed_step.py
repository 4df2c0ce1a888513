"""A step of the packed kernel, as each lane does it."""

from __future__ import annotations

from numba import cuda, int32, uint32

from gpu_tools.hardware.gpu.intrinsics.rows import (
    at_least,
    best_sum,
    copy_quads,
    load_quads,
    moved,
    plus_times,
    raised,
    store_quads,
)
from gpu_tools.hardware.gpu.intrinsics.words import WARP, max2, permute, shuffle_up
from gpu_tools.sites.gpu.row_plan import NO_SYMBOL
from gpu_tools.sites.gpu.steps import BEST_END, COPY_AT, FROM_ROW, LATE_AT, OLD_AT, SOURCE_AT, TO_AT
from gpu_tools.sites.gpu.strips import NEVER

GAP_AT, EXTRA_AT, WORDS_AT, END_GAP_AT = 0, 1, 2, 8
"""Where the scoring array has: the gap, bytes 4 to 7 of the words of lifted scores, those words by
symbol of the base sequence, and the gap if ends are free, else 0.
"""
_HIGH_TWICE, _LOW_TWICE, _SECOND_THEN_LOW = 0x3232, 0x1010, 0x1054
_HIGH_THEN_LOW, _LOW_SIGNED, _HIGH_SIGNED = 0x1032, 0x9910, 0xBB32
_LOW_THEN_SECOND_LOW, _HIGH_THEN_SECOND_HIGH = 0x5410, 0x7632


def make_decode(stride: int):
    """Return the device function that turns a step's words into what lanes can use at once."""

    @cuda.jit(device=True)
    def boundary(symbol, begin, scoring):
        high, cost = scoring[uint32(EXTRA_AT)], scoring[uint32(GAP_AT)]
        if symbol == NO_SYMBOL:
            high, cost = int32(NEVER), int32(0)
        return scoring[uint32(symbol + WORDS_AT)], high, cost, begin

    @cuda.jit(device=True)
    def slot(number):
        return int32((number & int32(127)) * int32(4 * stride))

    @cuda.jit(device=True)
    def decode(words, scoring):
        what, bonuses, others, begins, leaving = words
        return (
            boundary(
                int32(what & int32(7)), permute(begins, begins, int32(_LOW_TWICE)), scoring
            ),
            boundary(
                int32((what >> int32(LATE_AT)) & int32(7)),
                permute(begins, begins, int32(_HIGH_TWICE)), scoring,
            ),
            (
                permute(bonuses, bonuses, int32(_LOW_TWICE)),
                permute(bonuses, bonuses, int32(_HIGH_TWICE)),
                slot(what >> int32(SOURCE_AT)), slot(what >> int32(OLD_AT)),
            ),
            (
                slot(what >> int32(TO_AT)), slot(others),
                int32((others >> int32(COPY_AT)) * int32(stride)),
                int32(what & int32(FROM_ROW) != 0),
            ),
            (
                permute(leaving, leaving, int32(_LOW_SIGNED)),
                permute(leaving, leaving, int32(_HIGH_SIGNED)), int32(0), int32(0),
            ),
        )  # fmt: skip

    return decode


@cuda.jit(device=True)
def _moved_on(row, diagonal, boundary, came, chosen):
    """Return the row at the next boundary."""
    score, high, cost, _ = boundary
    left = permute(came, came, int32(_HIGH_TWICE))
    row = moved(row, chosen, (score, high), diagonal, left, cost)
    return at_least(row, permute(row[-1], int32(NEVER), int32(_SECOND_THEN_LOW)))


@cuda.jit(device=True)
def _noted(row, drops, leaving, number, best, copies):
    """Return score and number of the best end so far; a better one's row is written to memory."""
    top = best_sum(row, drops)
    top = max2(top, permute(top, top, int32(_HIGH_THEN_LOW)))
    score, (best_score, best_number) = int32(permute(top, top, int32(_LOW_SIGNED)) + leaving), best
    if score > best_score:
        best_score, best_number = score, number
        own, at = copies
        copy_quads(own, at, row)
    return best_score, best_number


@cuda.jit(device=True)
def _handed_on(came, before, after):
    """Return what stands to the next row's upper left, and the word for the next lane."""
    diagonal = permute(came, after, int32(_LOW_THEN_SECOND_LOW))
    return diagonal, permute(after, before, int32(_HIGH_THEN_SECOND_HIGH))


def make_step(size: int):
    """Return the device function that moves the state of a strip on by a step.

    The state is the row's cells, what stands to its upper left, two words of the lane before, score
    and number of the best end, and twice the step's number. Two words for the next strip are
    returned as well.
    """
    load, best_at = load_quads(size), BEST_END * size * WARP

    @cuda.jit(device=True)
    def do_step(state, step, borders, fixed):
        row, diagonal, early_came, late_came, best, number = state
        early, late, (bonus, row_bonus, source, old), (to, raising, copy, from_row), leaving = step
        chosen, starts, drops, own, is_first, shared, copies, scratch = fixed
        other, before = load(shared, int32(source + own)), load(shared, int32(old + own))
        entering, to_best = load(shared, int32(raising + own)), (copies, int32(best_at))
        row = _moved_on(row, diagonal, early, early_came, chosen)
        best, last = _noted(row, drops, leaving[0], number, best, to_best), row[-1]
        row = raised(row, starts, early[3])
        diagonal, early_out = _handed_on(early_came, last, row[-1])
        early_came = shuffle_up(early_out, scratch)
        row = _moved_on(row, diagonal, late, late_came, chosen)
        best, last = _noted(row, drops, leaving[1], int32(number + 1), best, to_best), row[-1]
        row = raised(row, starts, late[3])
        entered = raised(row, entering, row_bonus)
        diagonal, late_out = _handed_on(late_came, last, entered[-1])
        added = plus_times(row, from_row, other)
        store_quads(shared, int32(to + own), raised(before, added, bonus))
        copy_quads(copies, copy, added)
        copy_quads(copies, int32(-copy), entering)
        late_came, number = shuffle_up(late_out, scratch), int32(number + 2)
        state = entered, diagonal, early_came, late_came, best, number
        return from_border(state, borders, is_first), (early_out, late_out)

    return do_step


@cuda.jit(device=True)
def from_border(state, borders, is_first):
    """Return the state with the border's words as those of the lane before the first one."""
    row, diagonal, early_came, late_came, best, number = state
    if is_first:
        early_came, late_came = borders
    return row, diagonal, early_came, late_came, best, number
