"""Strips of target columns of the packed kernel: borders between strips, their cells, one step."""

from __future__ import annotations

from numba import cuda, int32, int64, uint32

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics import rows
from gpu_tools.hardware.gpu.intrinsics.words import (
    WARP,
    add2,
    address,
    any_lane,
    max2,
    permute,
    shuffle,
    shuffle_up,
)
from gpu_tools.sites.gpu.job_table import (
    COPY_BASE,
    EXIT_BASE,
    KEPT,
    LIFTING,
    LOWEST_SCORE,
    RING,
    SIZE,
    SLOTS,
)
from gpu_tools.sites.gpu.plan import NO_SYMBOL
from gpu_tools.sites.gpu.steps import (
    BEST_END,
    COPY_AT,
    FIRST_STORED,
    FROM_ROW,
    LATE_AT,
    LEAST,
    LOWEST,
    NOWHERE,
    OLD_AT,
    OWN_SLOTS,
    SOURCE_AT,
    START,
    TO_AT,
    ZERO,
)

# What one strip of columns hands on to the next, and which strip a warp begins.
#
# Where one strip ends and the next begins, a *border* word of each boundary lies in memory: the
# last column's value with the exons that are entered there, and without. It is `NEVER` before, so
# that a warp that needs it sees whether it is there; no flags and no fences are needed. Who has
# read it makes it `NEVER` again: so words can follow each other in a ring, whose writer waits for
# its reader. Of a job with a ring all strips must run at the same time.


NEVER_BYTE = 0x80
NEVER = int32(-0x7F7F7F80)
"""A word that is not there yet: in each half less than any cell, each byte `NEVER_BYTE`."""
RING_WORDS = 1 << 12
"""Words of a ring."""


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
def lowered_by(job, strip):
    """Return what is added to packed border words because lifting begins anew with each strip."""
    each = int32(-job[LIFTING]) if strip > 0 else int32(0)
    return int32(int32(each & int32(0xFFFF)) | int32(each << int32(16)))


@cuda.jit(device=True)
def peek(words, at):
    """Look at two border words without waiting."""
    return rows.load_word(words, uint32(at)), rows.load_word(words, uint32(at + 1))


@cuda.jit(device=True)
def receive(words, at, seen, wanted, lowered, floor):
    """Return two border words once they are there, and make place for others.

    `seen` is what was seen of them last. What is not `wanted` does not matter.
    """
    early, late = seen
    while any_lane(wanted and (early == NEVER or late == NEVER)):
        early, late = peek(words, at)
    if not wanted:
        return floor, floor
    rows.store_word(words, uint32(at), int32(NEVER))
    rows.store_word(words, uint32(at + 1), int32(NEVER))
    return max2(add2(early, lowered), floor), max2(add2(late, lowered), floor)


@cuda.jit(device=True)
def hand_on(words, at, seen, wanted, pair):
    """Write two border words, if they are wanted, once there is place."""
    early, late = seen
    while any_lane(wanted and (early != NEVER or late != NEVER)):
        early, late = peek(words, at)
    if wanted:
        rows.store_word(words, uint32(at), pair[0])
        rows.store_word(words, uint32(at + 1), pair[1])


# What the packed kernel holds of a strip's columns beside their cells, and its shared memory.


NARROW, WIDE = 4, 8
"""Registers of cells a lane: of strips for the longest base sequences, and for all others."""
QUAD = 4
"""Neighbouring registers whose words lie side by side in a slot."""
HOT_SLOTS = {NARROW: 32, WIDE: 7} if simulated() else {NARROW: 42, WIDE: 21}
"""Slots in shared memory by registers a lane.

With these a multiprocessor of an H100 or H200 holds eight strips, two for each of its schedulers.
"""
OUTSIDE = 5
"""Byte of the words of lifted scores for columns without a symbol; 4 is for ambiguous symbols."""
_LEAST_WORD = -0x7FFF8000

# shared memory: five quads a step of two groups of steps, border words that come and that go. When
# the last step of a group is done, lanes also load the border words behind the group's. Nobody uses
# them, but they must be none that another lane has written: so a quad lies between.
_QUADS, SHARED_RING = 5, 8 * WARP
SHARED_BORDERS_AT = _QUADS * SHARED_RING
SHARED_OUTS_AT = SHARED_BORDERS_AT + 2 * WARP + QUAD
SHARED_SLOTS_AT = SHARED_OUTS_AT + 2 * WARP


def make_start(size: int):
    """Return the device function that fills the slots that never change, and begins a row."""
    stride = 4 * size * WARP

    @cuda.jit(device=True)
    def start(chosen, starts, floor, lane, own, shared):
        rows.store_quads(shared, int32(own + ZERO * stride), rows.filled(chosen, int32(0)))
        rows.store_quads(shared, int32(own + START * stride), starts)
        rows.store_quads(shared, int32(own + LOWEST * stride), rows.filled(chosen, floor))
        rows.store_quads(
            shared, int32(own + LEAST * stride), rows.filled(chosen, int32(_LEAST_WORD))
        )
        best = int32(LOWEST_SCORE), int32(0)
        return rows.filled(chosen, floor), floor, floor, floor, best, int32(-2 * lane)

    return start


@cuda.jit(device=True)
def _halves(low, high):
    """Return the word of two halves."""
    return int32(int32(low & int32(0xFFFF)) | int32(high << int32(16)))


@cuda.jit(device=True)
def ends_of(job, strip, scoring):
    """Return what leaving out an end costs a strip's columns.

    That is the cost; the strip's first column; the column from which on the target's end costs
    nothing, counted from there; and what lifting adds before the strip.
    """
    before = int32(2 * WARP * strip * job[SIZE])
    kept, lifted = int32(job[KEPT] - before), int32(strip * job[LIFTING])
    return scoring[uint32(END_COST_AT)], before, kept, lifted


def make_columns(size: int):
    """Return the device function that returns the empty chain's row and what columns drop.

    The row is higher by the cost of an end, so that it is never below 0; what is compiled of the
    strand takes that off again. `rows.clipped_ramp` makes of the latter what turns cells into S,
    less what leaving out the target's end costs. `gap` is that of free ends. `first` is counted
    from the strip's first column.
    """

    @cuda.jit(device=True)
    def columns(chosen, first, gap, ends):
        cost, _, kept, lifted = ends
        low, high = int32(-gap * first), int32(-gap * (first + size))
        least = int32(max(cost - lifted, int32(0)))
        starts = rows.ramp(chosen, _halves(low, high), _halves(int32(-gap), int32(-gap)))
        # columns beyond `kept`, as far as they matter
        over = int32(min(max(first + 1 - kept, int32(-size)), int32(1)) * cost)
        high_over = int32(min(max(first + size + 1 - kept, int32(-size)), int32(1)) * cost)
        drops = (
            _halves(int32(-low - cost), int32(-high - cost)), _halves(gap, gap),
            _halves(over, high_over), _halves(cost, cost),
        )  # fmt: skip
        return rows.at_least(starts, _halves(least, least)), drops

    return columns


def make_save(size: int):
    """Return the device function that writes a strip's state to a checkpoint."""
    load, stride = rows.load_quads(size), size * WARP

    @cuda.jit(device=True)
    def save(area, state, n_slots, shared, own):
        """Write the row, three words, and the slots that change."""
        row, diagonal, early, late, _, _ = state
        to = address(area[int32(4) * int32(cuda.threadIdx.x) :])
        rows.store_row(to, row)
        rows.store_row(rows.further(to, int64(stride)), (diagonal, early, late, late))
        to = rows.further(to, int64(stride + QUAD * WARP))
        for slot in range(OWN_SLOTS, n_slots):
            rows.store_row(to, load(shared, int32(own + slot * 4 * stride)))
            to = rows.further(to, int64(stride))

    return save


def make_resume(size: int):
    """Return the device function that brings a strip's state back from a checkpoint."""
    load, load_words, stride = rows.load_row(size), rows.load_row(QUAD), size * WARP

    @cuda.jit(device=True)
    def resume(area, n_slots, shared, own):
        """Bring back the slots; return the row and the three words."""
        at = address(area[int32(4) * int32(cuda.threadIdx.x) :])
        row, words = load(at), load_words(rows.further(at, int64(stride)))
        at = rows.further(at, int64(stride + QUAD * WARP))
        for slot in range(OWN_SLOTS, n_slots):
            rows.store_quads(shared, int32(own + slot * 4 * stride), load(at))
            at = rows.further(at, int64(stride))
        return row, words

    return resume


def make_choose(size: int, slots_at: int = SHARED_SLOTS_AT, slot: int = NOWHERE):
    """Return the device function that makes the bytes that look the lane's lifted scores up.

    Slots begin at element `slots_at` of shared memory; `slot` is free.
    """
    load, stride = rows.load_quads(size), 4 * size * WARP

    @cuda.jit(device=True)
    def selector(target, column, columns):
        symbol = int32(OUTSIDE)
        if column >= 1 and column < columns:
            symbol = int32(target[column - 1])
        return int32(symbol | int32(int32(symbol | int32(8)) << int32(4)))

    @cuda.jit(device=True)
    def choose(target, first, columns, own, lane, shared):
        """Make them in that slot, and return them."""
        for k in range(size):
            low = selector(target, int32(first + k), columns)
            high = selector(target, int32(first + size + k), columns)
            at = (slot * size + (k // QUAD) * QUAD) * WARP + lane * QUAD + k % QUAD
            shared[uint32(slots_at + at)] = int32(low | int32(high << int32(8)))
        return load(shared, int32(own + slot * stride))

    return choose


def make_find_column(size: int):
    """Return the device function that finds the smallest column of a lane's best end."""

    @cuda.jit(device=True)
    def find_column(cells, first, gap, ends):
        """`cells` begin with the row's first word of the lane, `first` is its first column."""
        best, column = int32(LOWEST_SCORE), first
        cost, before, kept, _ = ends
        for half in range(2):
            for k in range(size):
                own = int32(first + half * size + k)
                word = cells[uint32((k // QUAD) * QUAD * WARP + k % QUAD)]
                value = int32(int32(word << int32(16 - 16 * half)) >> int32(16))
                value = int32(value + gap * own)
                if own < before + kept:
                    value = int32(value - cost)
                if value > best:
                    best, column = value, own
        return column

    return find_column


# A step of the packed kernel, as each lane does it.


GAP_AT, EXTRA_AT, WORDS_AT, END_GAP_AT, END_COST_AT = 0, 1, 2, 8, 9
"""Where the scoring array has: the gap, bytes 4 to 7 of the words of lifted scores, those words by
symbol of the base sequence, the gap if ends are free, else 0, and what leaving out an end costs.
"""
_HIGH_TWICE, _LOW_TWICE, _SECOND_THEN_LOW = 0x3232, 0x1010, 0x1054
_HIGH_THEN_LOW, _LOW_SIGNED, _HIGH_SIGNED = 0x1032, 0x9910, 0xBB32
_LOW_THEN_SECOND_LOW, _HIGH_THEN_SECOND_HIGH = 0x5410, 0x7632


@cuda.jit(device=True)
def stored_rows(job):
    """Return how numbers of copies become numbers of rows in memory, for `copy_in_memory`."""
    return (
        int32(job[EXIT_BASE]), int32(FIRST_STORED + job[RING]), int32(job[COPY_BASE]),
        int32(job[SLOTS]),
    )  # fmt: skip


@cuda.jit(device=True)
def copy_in_memory(copy, stored):
    """Return the number of the row in memory of a copy, 0 if there is none.

    Copies of the row are those at exits, and come first; copies of a slot are those of entries.
    """
    exit_base, entries_at, entry_base, past = stored
    own = int32(copy - exit_base)
    if copy > 0:
        return own if own >= FIRST_STORED and own < entries_at else int32(0)
    own = int32(-copy - entry_base)
    return int32(-own) if copy < 0 and own >= entries_at and own < past else int32(0)


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
    def decode(words, scoring, stored):
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
                int32(copy_in_memory(int32(others >> int32(COPY_AT)), stored) * int32(stride)),
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
    row = rows.moved(row, chosen, (score, high), diagonal, left, cost)
    return rows.at_least(row, permute(row[-1], int32(NEVER), int32(_SECOND_THEN_LOW)))


@cuda.jit(device=True)
def _noted(row, drops, leaving, number, best, copies):
    """Return score and number of the best end so far; a better one's row is written to memory."""
    top = rows.best_sum(row, drops)
    top = max2(top, permute(top, top, int32(_HIGH_THEN_LOW)))
    score, (best_score, best_number) = int32(permute(top, top, int32(_LOW_SIGNED)) + leaving), best
    if score > best_score:
        best_score, best_number = score, number
        own, at = copies
        rows.copy_quads(own, at, row)
    return best_score, best_number


@cuda.jit(device=True)
def _handed_on(came, before, after):
    """Return the next row's upper left neighbour, and the word for the next lane."""
    diagonal = permute(came, after, int32(_LOW_THEN_SECOND_LOW))
    return diagonal, permute(after, before, int32(_HIGH_THEN_SECOND_HIGH))


def make_step(size: int):
    """Return the device function that moves the state of a strip on by a step.

    The state is the row's cells, what stands to its upper left, two words of the lane before, score
    and number of the best end, and twice the step's number. Two words for the next strip are
    returned as well.
    """
    load, best_at = rows.load_quads(size), BEST_END * size * WARP

    @cuda.jit(device=True)
    def do_step(state, step, borders, fixed):
        row, diagonal, early_came, late_came, best, number = state
        early, late, (bonus, row_bonus, source, old), (to, raising, copy, from_row), leaving = step
        chosen, starts, drops, own, is_first, shared, copies, scratch = fixed
        other, before = load(shared, int32(source + own)), load(shared, int32(old + own))
        entering, to_best = load(shared, int32(raising + own)), (copies, int32(best_at))
        row = _moved_on(row, diagonal, early, early_came, chosen)
        best, last = _noted(row, drops, leaving[0], number, best, to_best), row[-1]
        row = rows.raised(row, starts, early[3])
        diagonal, early_out = _handed_on(early_came, last, row[-1])
        early_came = shuffle_up(early_out, scratch)
        row = _moved_on(row, diagonal, late, late_came, chosen)
        best, last = _noted(row, drops, leaving[1], int32(number + 1), best, to_best), row[-1]
        row = rows.raised(row, starts, late[3])
        entered = rows.raised(row, entering, row_bonus)
        diagonal, late_out = _handed_on(late_came, last, entered[-1])
        added = rows.plus_times(row, from_row, other)
        rows.store_quads(shared, int32(to + own), rows.raised(before, added, bonus))
        rows.copy_quads(copies, copy, added)
        rows.copy_quads(copies, int32(-copy), entering)
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
