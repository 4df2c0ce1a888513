"""The sweep on a CPU: vectors whose lanes own neighbouring blocks of target columns.

Lane l works on stream row s - l in step s, so that what it needs from the lane before is what
that lane computed one step earlier. A *stripe* is as many columns as all lanes own together; a
stripe needs nothing of the next one, and of the one before only its last column, the *border*.
Long sweeps are cut into blocks of steps, so that the stripes of one case can follow each other
on several threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Semaphore
from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload, register_jitable
from numpy.typing import NDArray

from gpu_tools import simd
from gpu_tools.scoring import SplicedScoring
from gpu_tools.sequences import OTHER
from gpu_tools.spliced import core
from gpu_tools.spliced.core import Sweep
from gpu_tools.spliced.program import SweepProgram
from gpu_tools.spliced.widths import bounds, narrowest

STEPS_PER_BLOCK = 1 << 11
"""Steps after which a stripe lets the next one follow; fewer are not worth a signal."""
_MATCH, _MISMATCH, _GAP, _PENALTY = range(4)
_TARGET_OTHER = OTHER + 1
_TARGET_PAD = OTHER + 2

empty_chain = register_jitable(core.empty_chain)


class Stream(NamedTuple):
    """A program's arrays as the loops want them; symbols reversed, with a vector of padding."""

    symbols: NDArray
    n_rows: int
    track_rows: NDArray[np.int64]
    track_commits: NDArray[np.int64]
    exit_rows: NDArray[np.int64]
    exit_ends: NDArray[np.int64]
    exit_bonus: NDArray


class Border(NamedTuple):
    """S' of one column: after each stream row, and as each track's entry."""

    rows: NDArray
    entries: NDArray


class Stripe(NamedTuple):
    """A stripe's target and its state between two blocks of steps.

    `row` holds column c of lane l at c * lanes + l; `maxima` is the maximum over the empty chain
    and all committed ends, by column; `edge` holds two vectors, the diagonal and the left
    neighbours of the lanes' first columns; `corner` the entry of each lane's last column;
    `committed` how many ends each lane has committed; `cursor` the windows of tracks and exons
    that some lane may still meet.
    """

    target: NDArray
    first_column: int
    row: NDArray
    maxima: NDArray
    edge: NDArray
    corner: NDArray
    committed: NDArray[np.int64]
    cursor: NDArray[np.int64]


def _pair_scores(target, position, base, match, mismatch):
    raise NotImplementedError("only for jitted code")


@overload(_pair_scores, inline="always")
def _overload_pair_scores(target, position, base, match, mismatch):
    def by_equality(target, position, base, match, mismatch):
        return simd.where_equal(simd.load(target, position), base, match, mismatch)

    def by_profile(target, position, base, match, mismatch):
        columns = target.shape[1]
        scores = simd.load(target, OTHER * columns + position)
        for code in range(OTHER):
            of_code = simd.splat(target.dtype.type(code))
            of_pair = simd.load(target, code * columns + position)
            scores = simd.where_equal(base, of_code, of_pair, scores)
        return scores

    return by_equality if target.ndim == 1 else by_profile


@njit(nogil=True)
def _commit(maxima, ends, first, columns, end, shift, penalty):
    """Raise the maxima of `columns` columns from `first` on to an end's values less a penalty."""
    place = end * ends.shape[1] + first + shift
    for c in range(columns):
        value = maxima.dtype.type(simd.element(ends, place + c) - penalty)
        here = simd.element(maxima, first + c)
        simd.set_element(maxima, first + c, value if value > here else here)


@njit(nogil=True)
def _enter(row, maxima, entries, first, columns, track, shift, lane, lanes):
    """Load the row from which `track` starts, and keep it for the traceback."""
    place = track * entries.shape[1] + first + shift
    for c in range(columns):
        simd.set_element(entries, place + c, simd.element(maxima, first + c))
    for c in range(columns):
        simd.set_element(row, c * lanes + lane, simd.element(maxima, first + c))


@njit(nogil=True)
def _leave(row, ends, first, columns, end, shift, lane, lanes, bonus):
    """Take the row of `lane` as the last row of an exon."""
    place = end * ends.shape[1] + first + shift
    for c in range(columns):
        value = row.dtype.type(simd.element(row, c * lanes + lane) + bonus)
        here = simd.element(ends, place + c)
        simd.set_element(ends, place + c, value if value > here else here)


@njit(nogil=True)
def _advance(row, target, base, diagonal, left, weights, lanes):
    """Compute one row in every lane; return the vectors of the last and of the left columns."""
    # splats are made here, for in the loop every store could change `weights`
    match, mismatch = simd.splat(weights[_MATCH]), simd.splat(weights[_MISMATCH])
    gap = simd.splat(weights[_GAP])
    for position in range(0, len(row), lanes):
        up = simd.load(row, position)
        pairs = _pair_scores(target, position, base, match, mismatch)
        left = simd.maximum(simd.maximum(simd.add(diagonal, pairs), simd.add(up, gap)), left)
        simd.store(row, position, left)
        diagonal = up
    return left


@njit(cache=True, nogil=True)
def sweep_block(stream, stripe, sweep, border, following, weights, steps):
    """Run the steps ``steps[0]`` to ``steps[1] - 1`` of a stripe.

    Parameters
    ----------
    stream : Stream
    stripe : Stripe
        Its state is carried on.
    sweep : Sweep
        The stripe's columns are filled in.
    border, following : Border
        The column before the stripe, read, and the stripe's last column, written.
    weights : ndarray, shape (4,)
        Lifted match and mismatch, gap and intron penalty, in the cells' type.
    steps : tuple of (int, int)
    """
    # local names: an array read out of a tuple inside the loop costs an atomic reference count
    symbols, track_rows, track_commits = stream.symbols, stream.track_rows, stream.track_commits
    exit_rows, exit_ends, exit_bonus = stream.exit_rows, stream.exit_ends, stream.exit_bonus
    target, row, maxima, edge = stripe.target, stripe.row, stripe.maxima, stripe.edge
    corner, committed, cursor = stripe.corner, stripe.committed, stripe.cursor
    ends, entries = sweep.ends, sweep.entries
    border_rows, border_entries = border.rows, border.entries
    following_rows, following_entries = following.rows, following.entries
    shift = stripe.first_column
    lanes = len(corner)
    columns = len(row) // lanes
    n_tracks, n_exons, n_rows = len(track_commits), len(exit_rows), stream.n_rows
    first_track, next_track, first_exon, next_exon = cursor[0], cursor[1], cursor[2], cursor[3]
    penalty = weights[_PENALTY]
    for step in range(steps[0], steps[1]):
        while next_track < n_tracks and track_rows[next_track] <= step:
            next_track += 1
        while first_track < next_track and track_rows[first_track] + lanes <= step:
            first_track += 1
        # rising tracks are falling lanes: a lane reads its neighbour's corner before it moves on
        for track in range(first_track, next_track):
            lane = step - track_rows[track]
            for end in range(committed[lane], track_commits[track]):
                _commit(maxima, ends, lane * columns, columns, end, shift, penalty)
            committed[lane] = track_commits[track]
            _enter(row, maxima, entries, lane * columns, columns, track, shift, lane, lanes)
            edge[lane] = corner[lane - 1] if lane > 0 else border_entries[track]
            corner[lane] = maxima[(lane + 1) * columns - 1]
            if lane == lanes - 1:
                following_entries[track] = corner[lane]
        base = simd.load(symbols, n_rows + lanes - 1 - step)
        left = simd.shift_in(simd.load(edge, lanes), border_rows[min(step, n_rows - 1)])
        last = _advance(row, target, base, simd.load(edge, 0), left, weights, lanes)
        simd.store(edge, 0, left)
        simd.store(edge, lanes, last)
        if step >= lanes - 1:
            following_rows[step - lanes + 1] = simd.last_lane(last)
        while next_exon < n_exons and exit_rows[next_exon] <= step:
            next_exon += 1
        while first_exon < next_exon and exit_rows[first_exon] + lanes <= step:
            first_exon += 1
        for exon in range(first_exon, next_exon):
            lane = step - exit_rows[exon]
            _leave(
                row, ends, lane * columns, columns, exit_ends[exon], shift, lane, lanes,
                exit_bonus[exon],
            )  # fmt: skip
    cursor[0], cursor[1], cursor[2], cursor[3] = first_track, next_track, first_exon, next_exon


@njit(cache=True, nogil=True)
def column_zero(stream, sweep, border, weights):
    """Fill in the column before the first target symbol, where every base symbol is a gap."""
    best = weights.dtype.type(0)
    committed, exon = 0, 0
    for track in range(len(stream.track_commits)):
        for end in range(committed, stream.track_commits[track]):
            best = max(best, weights.dtype.type(sweep.ends[end, 0] - weights[_PENALTY]))
        committed = stream.track_commits[track]
        sweep.entries[track, 0] = border.entries[track] = value = best
        for row in range(stream.track_rows[track], stream.track_rows[track + 1]):
            value = weights.dtype.type(value + weights[_GAP])
            border.rows[row] = value
            while exon < len(stream.exit_rows) and stream.exit_rows[exon] == row:
                end = stream.exit_ends[exon]
                leaving = weights.dtype.type(value + stream.exit_bonus[exon])
                sweep.ends[end, 0] = max(sweep.ends[end, 0], leaving)
                exon += 1


def fill_column_zero(
    program: SweepProgram, sweep: Sweep, border: Border, scoring: SplicedScoring
) -> None:
    """Fill in column 0 of a sweep and the border of the first stripe.

    Parameters
    ----------
    program : SweepProgram
    sweep : Sweep
        Column 0 of its `ends` at the type's minimum.
    border : Border
    scoring : SplicedScoring
    """
    dtype = sweep.ends.dtype
    column_zero(_stream(program, dtype), sweep, border, _weights(scoring, dtype))


def sweep(
    program: SweepProgram, target: NDArray[np.uint8], scoring: SplicedScoring, threads: int = 1
) -> Sweep:
    """Sweep one strand of one case.

    Parameters
    ----------
    program : SweepProgram
        With at least one exon.
    target : ndarray of uint8, shape (n,)
        Encoded target.
    scoring : SplicedScoring
    threads : int
        Threads that share the work, each with a stripe of its own.

    Returns
    -------
    Sweep
        Of int16 where that provably suffices, else int32.
    """
    dtype = narrowest(bounds(program, _padded(len(target), threads, 2), scoring), scoring)
    columns = _padded(len(target), threads, dtype.itemsize)
    stream = _stream(program, dtype)
    result = Sweep(
        np.full((len(program.ends), columns + 1), np.iinfo(dtype).min, dtype=dtype),
        np.empty((len(program.starts), columns + 1), dtype=dtype),
        np.arange(len(program.starts)),
    )
    weights = _weights(scoring, dtype)
    borders = [_border(stream, dtype) for _ in range(threads + 1)]
    fill_column_zero(program, result, borders[0], scoring)
    stripes = _stripes(target, columns, threads, scoring, dtype)
    n_steps = stream.n_rows + _lanes(dtype) - 1
    run_stripes(lambda k, steps: sweep_block(
        stream, stripes[k], result, borders[k], borders[k + 1], weights, steps,
    ), threads, blocks_of(n_steps, STEPS_PER_BLOCK if threads > 1 else n_steps))  # fmt: skip
    return result


def _lanes(dtype) -> int:
    return simd.VECTOR_BYTES // dtype.itemsize


def _padded(columns: int, threads: int, itemsize: int) -> int:
    width = threads * simd.VECTOR_BYTES // itemsize
    return max(-(-columns // width), 1) * width


def _weights(scoring: SplicedScoring, dtype) -> NDArray:
    values = (scoring.match, scoring.mismatch)
    lifted = [value - scoring.gap for value in values] if scoring.matrix is None else [0, 0]
    return np.array([*lifted, scoring.gap, scoring.intron_penalty], dtype=dtype)


def _stream(program: SweepProgram, dtype) -> Stream:
    lanes = _lanes(dtype)
    symbols = np.full(program.n_rows + 2 * lanes, OTHER, dtype=dtype)
    symbols[lanes : lanes + program.n_rows] = program.codes[::-1]
    return Stream(
        symbols, program.n_rows, program.track_rows, program.track_commits,
        program.exit_rows, program.exit_ends, program.exit_bonus.astype(dtype),
    )  # fmt: skip


def _border(stream: Stream, dtype) -> Border:
    n_tracks = len(stream.track_commits)
    return Border(np.zeros(stream.n_rows, dtype=dtype), np.zeros(n_tracks, dtype=dtype))


def _stripes(target, columns, count, scoring, dtype) -> list[Stripe]:
    width = columns // count
    symbols = np.full(columns, _TARGET_PAD, dtype=np.uint8)
    symbols[: len(target)] = np.where(target == OTHER, _TARGET_OTHER, target)
    firsts = range(0, columns, width)
    return [_stripe(symbols[k : k + width], k + 1, scoring, dtype) for k in firsts]


def _stripe(symbols, first_column, scoring, dtype) -> Stripe:
    lanes, width = _lanes(dtype), len(symbols)
    laid_out = np.ascontiguousarray(symbols.reshape(lanes, -1).T).ravel()
    start = np.empty(width, dtype=dtype)
    _fill_empty_chains(start, first_column, scoring.gap, scoring.ends != "global")
    return Stripe(
        _profile(laid_out, scoring, dtype), first_column, np.zeros(width, dtype=dtype),
        start, np.zeros(2 * lanes, dtype=dtype),
        np.zeros(lanes, dtype=dtype), np.zeros(lanes, dtype=np.int64), np.zeros(4, dtype=np.int64),
    )  # fmt: skip


@njit(cache=True)
def _fill_empty_chains(start, first_column, gap, free):
    for k in range(len(start)):
        start[k] = empty_chain(first_column + k, gap, free)


def _profile(symbols, scoring: SplicedScoring, dtype) -> NDArray:
    """Return the target's symbols, or with a substitution matrix its scores by base symbol."""
    if scoring.matrix is None:
        return symbols.astype(dtype)
    lifted = scoring.substitution() - scoring.gap
    return np.ascontiguousarray(lifted[:, np.minimum(symbols, OTHER)], dtype=dtype)


def blocks_of(n_steps: int, size: int) -> list[tuple[int, int]]:
    """Cut steps into blocks of `size`, as (first, past the last)."""
    return [(first, min(first + size, n_steps)) for first in range(0, n_steps, size)]


def run_stripes(
    block: Callable[[int, tuple[int, int]], None], stripes: int, blocks: list[tuple[int, int]]
) -> None:
    """Run all blocks of all stripes, each stripe on a thread, behind the one before it.

    Parameters
    ----------
    block : callable
        Runs one block of one stripe.
    stripes : int
    blocks : list of (int, int)
        Steps of each block, in order.
    """
    # a stripe's block needs border rows that the stripe before finishes up to `lanes` steps later:
    # it waits for one block more, and each stripe gives one more signal at its end
    finished = [Semaphore(0) for _ in range(stripes)]

    def follow(stripe: int) -> None:
        try:
            for number, steps in enumerate(blocks):
                for _ in range((2 if number == 0 else 1) if stripe else 0):
                    finished[stripe - 1].acquire()
                block(stripe, steps)
                finished[stripe].release()
        finally:  # also lets the next stripe end if this one failed
            finished[stripe].release(len(blocks) + 1)

    if stripes == 1:
        follow(0)
        return
    with ThreadPoolExecutor(stripes) as pool:
        list(pool.map(follow, range(stripes)))
