"""The skewed sweep of site mode on a GPU: a lane is one step of the program behind the one before.

A strip of target columns is cut among the lanes of a warp as in `gpu_tools.sites.cuda_packed`. But
lane l works on step t - l, see `gpu_tools.sites.cuda_steps`, while lane 0 works on step t: what
comes from the left is there when it is needed, handed on from lane to lane by one shuffle, and no
row waits for a maximum over all lanes. What happens at boundaries cannot be put to the vote here;
each step does all that a boundary may ask for, in its lane's part of the places in shared memory.
So a row is done sooner, and takes more instructions a cell.

Between lanes as between strips goes a word a step: the last column's value with what the step
raised the row to, and without.
"""

from __future__ import annotations

from functools import cache

from numba import cuda, int32, uint32

from gpu_tools.device import simulated
from gpu_tools.ptx import (
    FOUR_WORDS,
    WARP,
    address,
    any_lane,
    kernel,
    load4,
    permute,
    shuffle_up,
    sync_lanes,
)
from gpu_tools.ptx_rows import (
    copy_quads,
    either,
    filled,
    joined,
    load_quads,
    load_words,
    moved,
    place_of,
    raised,
    store_quads,
    store_word,
)
from gpu_tools.sites.cuda_packed import EXTRA, FLOOR, GAP, LANES, ROWS, WORDS, parts_of
from gpu_tools.sites.cuda_program import NO_SYMBOL
from gpu_tools.sites.cuda_steps import (
    COPY_AT,
    FROM_ROW,
    LEAST,
    LOWEST,
    NOWHERE,
    OLD_AT,
    SOURCE_AT,
    TO_AT,
    ZERO,
)
from gpu_tools.sites.cuda_strips import NEVER, await_word, begin_strip, peek

HOT_PLACES = {4: 14} if simulated() else {4: 48, 8: 24}
"""Registers of cells a lane that the kernel is compiled for, and places in shared memory then."""

BLOCK = {4: 2, 8: 4}
_LEAST = -0x7FFF8000
_HIGH_TWICE, _LOW_TWICE = 0x3232, 0x1010
_LOW_THEN_SECOND_LOW, _HIGH_THEN_SECOND_HIGH = 0x5410, 0x7632

# shared memory: three quads a step of two groups of steps, words for the next strip, places
_RING = 8 * WARP
_OUTS_AT = 3 * _RING
_ROWS_AT = _OUTS_AT + 2 * WARP


@cuda.jit(device=True)
def _step_of(shared, at):
    """Return a step that has been laid out; its quads lie `_RING` apart."""
    return load4(shared, at), load4(shared, at + int32(_RING)), load4(shared, at + int32(2 * _RING))


@cuda.jit(device=True)
def _put4(shared, at, quad):
    shared[at], shared[at + uint32(1)] = quad[0], quad[1]
    shared[at + uint32(2)], shared[at + uint32(3)] = quad[2], quad[3]


@cuda.jit(device=True)
def _move_on(shared, lane):
    """Make the group that came the one before."""
    at = uint32(4 * lane)
    for quad in _step_of(shared, int32(4 * WARP + 4 * lane)):
        _put4(shared, at, quad)
        at += uint32(_RING)


@cuda.jit(device=True)
def _lay_out(shared, lane, step):
    """Lay a step out, one a lane, in the group that comes."""
    at = uint32(4 * WARP + 4 * lane)
    _put4(shared, at, step[0])
    _put4(shared, at + uint32(_RING), step[1])
    _put4(shared, at + uint32(2 * _RING), step[2])


def _make_decode(stride: int):
    """Return the device function that turns a step's words into what lanes can use at once."""

    @cuda.jit(device=True)
    def decode(what, bonuses, others, border, scoring, gap, extra):
        symbol = int32(what & int32(7))
        score, high, cost = scoring[symbol + int32(WORDS)], extra, gap
        if symbol == NO_SYMBOL:
            high, cost = int32(NEVER), int32(0)
        source = ((what >> int32(SOURCE_AT)) & int32(127)) * int32(4 * stride)
        old = ((what >> int32(OLD_AT)) & int32(127)) * int32(4 * stride)
        to = ((what >> int32(TO_AT)) & int32(127)) * int32(4 * stride)
        return (
            (score, high, cost, permute(bonuses, bonuses, int32(_LOW_TWICE))),
            (source, old, to, permute(bonuses, bonuses, int32(_HIGH_TWICE))),
            (
                (others >> int32(COPY_AT)) * int32(stride), what & int32(FROM_ROW),
                (others & int32(127)) * int32(4 * stride), border,
            ),
        )  # fmt: skip

    return decode


def _make_step(size: int):
    """Return the device function that moves the state of a strip on by a step.

    The state is the row's cells, what stands to its upper left, and the word for the next lane.
    """
    block = BLOCK.get(size, size)
    load, move, join = load_quads(size), moved(block), joined(block)

    @cuda.jit(device=True)
    def do_step(state, step, fixed):
        row, diagonal, out = state
        (score, high, cost, bonus), places, (copy, from_row, raising, border) = step
        source, old, to, row_bonus = places
        chosen, floor, own, outside, shared, copies, scratch = fixed
        other, before = load(shared, int32(source + own)), load(shared, int32(old + own))
        entering = load(shared, int32(raising + own))
        came = permute(shuffle_up(out, scratch), border, outside)
        row = move(row, chosen, (score, high), diagonal, floor, cost)
        row = join(row, permute(came, came, int32(_HIGH_TWICE)))
        entered = raised(row, entering, row_bonus)
        place = raised(before, either(from_row, row, other), bonus)
        store_quads(shared, int32(to + own), place)
        copy_quads(copies, copy, place)
        diagonal = permute(came, entered[size - 1], int32(_LOW_THEN_SECOND_LOW))
        out = permute(entered[size - 1], row[size - 1], int32(_HIGH_THEN_SECOND_HIGH))
        return entered, diagonal, out

    return do_step


def _make_start(size: int):
    """Return the device function that fills the places that never change, and lays out no step."""
    stride = 4 * size * WARP

    @cuda.jit(device=True)
    def start(chosen, floor, own, shared, lane):
        store_quads(shared, int32(own + ZERO * stride), filled(chosen, int32(0)))
        store_quads(shared, int32(own + LOWEST * stride), filled(chosen, floor))
        store_quads(shared, int32(own + LEAST * stride), filled(chosen, int32(_LEAST)))
        nothing = int32(NEVER), int32(NEVER), int32(0), int32(0)
        places = int32(ZERO * stride), int32(LEAST * stride), int32(NOWHERE * stride), int32(0)
        _lay_out(shared, lane, (nothing, places, (0, 0, LEAST * stride, floor)))
        return filled(chosen, floor), floor, floor

    return start


@cache
def sweep_of(size: int):
    """Return the kernel for strips of `size` registers a lane, a multiple of four."""
    load, decode = load_words(size), _make_decode(size * WARP)
    start, do_step = _make_start(size), _make_step(size)
    shared_words = _ROWS_AT + HOT_PLACES[size] * size * WARP

    @kernel(size)
    def sweep_skewed_warp(jobs, strips, steps, more_of_steps, selectors, memory, scoring):
        """Sweep strips of jobs, as long as there are any; a block is one warp.

        A step's word for the next strip lies `WARP` - 1 places behind its number.

        Parameters
        ----------
        jobs, strips, selectors, memory, scoring
            See `gpu_tools.sites.cuda_packed`; rows are steps, and `WARP` - 1 at least follow that
            do nothing.
        steps, more_of_steps : int32 array
            The words of `gpu_tools.sites.cuda_steps`: the first one of all steps; for each job the
            second one of all steps, then the third one.
        """
        scratch = cuda.shared.array(WARP, int32)
        # one array: the compiler then works its address out once
        shared = cuda.shared.array(shared_words, int32, alignment=FOUR_WORDS)
        lane = int32(cuda.threadIdx.x)
        own, outside = (
            place_of(shared, uint32(_ROWS_AT + 4 * lane)),
            scoring[uint32(LANES + WARP + lane)],
        )
        # all lanes store what they leave to the next, without a branch; the last one's is used
        own_out = uint32(uint32(_OUTS_AT) + uint32(scoring[uint32(LANES + 2 * WARP + lane)]))
        gap, extra = scoring[uint32(GAP)], scoring[uint32(EXTRA)]
        while True:
            k = begin_strip(strips, scratch)
            if any_lane(k < 0):
                return
            job, strip = jobs[strips[k, 0]], strips[k, 1]
            n_steps, floor = int32(job[ROWS]), int32(job[FLOOR])
            whats, more_of, looked_up, cells, arriving, leaving = parts_of(
                job, strip, size * WARP, (steps, more_of_steps, selectors, memory)
            )
            chosen = load(looked_up, uint32(lane), uint32(WARP))
            fixed = (chosen, floor, own, outside, shared, address(cells[4 * lane :]), scratch)
            sync_lanes()
            state = start(chosen, floor, own, shared, lane)
            what, bonuses, others = whats[lane], more_of[lane], more_of[n_steps + lane]
            seen = peek(arriving, strip, int32(lane + WARP - 1))
            first = int32(0)
            while any_lane(first < n_steps):
                at = int32(first + lane)
                border = await_word(arriving, strip, int32(at + WARP - 1), seen, floor)
                sync_lanes()
                _move_on(shared, lane)
                now = decode(what, bonuses, others, border, scoring, gap, extra)
                _lay_out(shared, lane, now)
                sync_lanes()
                following = min(int32(at + WARP), int32(n_steps - 1))
                what, bonuses = whats[uint32(following)], more_of[uint32(following)]
                others = more_of[uint32(n_steps + following)]
                seen = peek(arriving, strip, int32(at + 2 * WARP - 1))
                here = int32(4 * WARP - 4 * lane)
                step, k, more = _step_of(shared, here), int32(0), True
                while more:
                    # known long before the branch
                    more = any_lane(k < int32(WARP - 2))
                    next_step = _step_of(shared, int32(here + 4 * k + 4))
                    state = do_step(state, step, fixed)
                    shared[own_out + uint32(k)] = state[2]
                    step, k = next_step, int32(k + 1)
                    next_step = _step_of(shared, int32(here + 4 * k + 4))
                    state = do_step(state, step, fixed)
                    shared[own_out + uint32(k)] = state[2]
                    step, k = next_step, int32(k + 1)
                sync_lanes()
                store_word(leaving, uint32(at), shared[uint32(_OUTS_AT) + uint32(lane)])
                first = int32(first + WARP)

    return sweep_skewed_warp
