"""The sweep on a CPU: vectors whose lanes own neighbouring blocks of target columns.

Lane l works on stream row s - l in step s, so that what it needs from the lane before is what
that lane computed one step earlier. A *strip* is as many columns as all lanes own together; a
strip needs nothing of the next one, and of the one before only its last column, the *border*.
Long sweeps are cut into blocks of steps, so that the strips of one case can follow each other
on several threads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.cpu.simd import VECTOR_BYTES
from gpu_tools.hardware.cpu.wavefront import run_all, strip_tasks, tell_block, wait_for_block
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.spliced.bounds import bounds
from gpu_tools.spliced.cpu.state import (
    Border,
    Stream,
    lay_out_stream,
    lay_out_strip,
    padded,
    terms_of,
)
from gpu_tools.spliced.exon_graph import ExonGraph
from gpu_tools.splicing.bounds import narrowest
from gpu_tools.splicing.recurrence import Sweep

STEPS_PER_BLOCK = 1 << 11
"""Steps after which a strip lets the next one follow; fewer are not worth a signal."""
BLOCKS_A_TURN = 1 << 7
"""After so many blocks, some 10 ms with 512 columns, a thread is back in Python."""
_MATCH, _MISMATCH, _GAP, _PENALTY = range(4)


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
def _join(row, ends, first, columns, join, shift, lane, lanes):
    """Raise the row of `lane` to what joins it."""
    place = join * ends.shape[1] + first + shift
    for c in range(columns):
        value, here = simd.element(ends, place + c), simd.element(row, c * lanes + lane)
        simd.set_element(row, c * lanes + lane, value if value > here else here)


@njit(nogil=True)
def _leave(row, ends, first, columns, end, shift, lane, lanes, bonus):
    """Take the row of `lane` as the last row of an exon, or as what joins another track."""
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
def run_steps(stream, strip, sweep, border, following, weights, steps):
    """Run the steps ``steps[0]`` to ``steps[1] - 1`` of a strip.

    Parameters
    ----------
    stream : Stream
    strip : Strip
        Its state is carried on.
    sweep : Sweep
        The strip's columns are filled in; behind the ends are the rows that join tracks.
    border, following : Border
        The column before the strip, read, and the strip's last column, written.
    weights : ndarray, shape (4,)
        Lifted match and mismatch, gap and intron penalty, in the cells' type.
    steps : tuple of (int, int)
    """
    # local names: an array read out of a tuple inside the loop costs an atomic reference count
    symbols, track_commits, top_rows = stream.symbols, stream.track_commits, stream.top_rows
    top_tracks, top_joins = stream.top_tracks, stream.top_joins
    exit_rows, exit_ends, exit_bonus = stream.exit_rows, stream.exit_ends, stream.exit_bonus
    target, row, maxima, edge = strip.target, strip.row, strip.maxima, strip.edge
    corner, committed, cursor = strip.corner, strip.committed, strip.cursor
    ends, entries = sweep.ends, sweep.entries
    border_rows, border_tops = border.rows, border.tops
    following_rows, following_tops = following.rows, following.tops
    shift = strip.first_column
    lanes = len(corner)
    columns = len(row) // lanes
    n_tops, n_exits, n_rows, n_ends = len(top_rows), len(exit_rows), stream.n_rows, stream.n_ends
    first_top, next_top, first_exit, next_exit = cursor[0], cursor[1], cursor[2], cursor[3]
    penalty = weights[_PENALTY]
    for step in range(steps[0], steps[1]):
        while next_top < n_tops and top_rows[next_top] <= step:
            next_top += 1
        while first_top < next_top and top_rows[first_top] + lanes <= step:
            first_top += 1
        # rising tops are falling lanes: a lane reads its neighbour's corner before it moves on
        for top in range(first_top, next_top):
            lane, track, join = step - top_rows[top], top_tracks[top], top_joins[top]
            first = lane * columns
            if track >= 0:
                for end in range(committed[lane], track_commits[track]):
                    _commit(maxima, ends, first, columns, end, shift, penalty)
                committed[lane] = track_commits[track]
                _enter(row, maxima, entries, first, columns, track, shift, lane, lanes)
            if join >= 0:
                _join(row, ends, first, columns, n_ends + join, shift, lane, lanes)
            edge[lane] = corner[lane - 1] if lane > 0 else border_tops[top]
            corner[lane] = row[(columns - 1) * lanes + lane]
            if lane == lanes - 1:
                following_tops[top] = corner[lane]
        base = simd.load(symbols, n_rows + lanes - 1 - step)
        left = simd.shift_in(simd.load(edge, lanes), border_rows[min(step, n_rows - 1)])
        last = _advance(row, target, base, simd.load(edge, 0), left, weights, lanes)
        simd.store(edge, 0, left)
        simd.store(edge, lanes, last)
        if step >= lanes - 1:
            following_rows[step - lanes + 1] = simd.last_lane(last)
        while next_exit < n_exits and exit_rows[next_exit] <= step:
            next_exit += 1
        while first_exit < next_exit and exit_rows[first_exit] + lanes <= step:
            first_exit += 1
        for exit_ in range(first_exit, next_exit):
            lane = step - exit_rows[exit_]
            _leave(
                row, ends, lane * columns, columns, exit_ends[exit_], shift, lane, lanes,
                exit_bonus[exit_],
            )  # fmt: skip
    cursor[0], cursor[1], cursor[2], cursor[3] = first_top, next_top, first_exit, next_exit


@njit(cache=True, nogil=True)
def _sweep_blocks(stream, strip, sweep, borders, weights, place, blocks):
    """Run blocks of a strip, each once the strip before lets it, see `run_steps`.

    `place` is what all strips have done and the strip's number; `blocks` the numbers of the first
    one and past the last one, how many steps a block has and all have.
    """
    (border, following), (done, number), (first, past, size, n_steps) = borders, place, blocks
    for block in range(first, past):
        wait_for_block(done, number, block, (n_steps + size - 1) // size)
        steps = block * size, min(block * size + size, n_steps)
        run_steps(stream, strip, sweep, border, following, weights, steps)
        tell_block(done, number)


@njit(cache=True, nogil=True)
def begin_column_zero(stream, sweep, border, weights):
    """Fill in the column before the first target symbol, where every base symbol is a gap."""
    # local names for the same reason as above
    top_rows, top_tracks, top_joins = stream.top_rows, stream.top_tracks, stream.top_joins
    exit_rows, exit_ends, exit_bonus = stream.exit_rows, stream.exit_ends, stream.exit_bonus
    ends, entries, rows, tops = sweep.ends, sweep.entries, border.rows, border.tops
    track_commits, gap, penalty = stream.track_commits, weights[_GAP], weights[_PENALTY]
    best = value = weights.dtype.type(0)
    committed, exit_ = 0, 0
    for top in range(len(top_rows)):
        track, join = top_tracks[top], top_joins[top]
        if track >= 0:
            for end in range(committed, track_commits[track]):
                best = max(best, weights.dtype.type(ends[end, 0] - penalty))
            committed = track_commits[track]
            entries[track, 0] = value = best
        if join >= 0:
            value = max(value, ends[stream.n_ends + join, 0])
        tops[top] = value
        past = top_rows[top + 1] if top + 1 < len(top_rows) else stream.n_rows
        for row in range(top_rows[top], past):
            value = weights.dtype.type(value + gap)
            rows[row] = value
            while exit_ < len(exit_rows) and exit_rows[exit_] == row:
                leaving = weights.dtype.type(value + exit_bonus[exit_])
                ends[exit_ends[exit_], 0] = max(ends[exit_ends[exit_], 0], leaving)
                exit_ += 1


@njit(cache=True, nogil=True)
def _fill_column_zero(stream, sweep, border, weights):
    begin_column_zero(stream, sweep, border, weights)


@njit(cache=True, nogil=True)
def _make_stream(runs, track_commits, n_ends, weights):
    return lay_out_stream(runs, track_commits, n_ends, weights)


@njit(cache=True, nogil=True)
def _make_strip(target, first_column, width, terms):
    return lay_out_strip(target, first_column, width, terms)


def fill_column_zero(
    program: ExonGraph, sweep: Sweep, border: Border, scoring: SplicedScoring
) -> None:
    """Fill in column 0 of a sweep and the border of the first strip.

    Parameters
    ----------
    program : ExonGraph
    sweep : Sweep
        Behind its `ends` the rows that join tracks; column 0 of all of them at the type's minimum.
    border : Border
    scoring : SplicedScoring
    """
    weights = terms_of(scoring, sweep.ends.dtype).weights
    _fill_column_zero(_stream(program, weights), sweep, border, weights)


def sweep(
    program: ExonGraph, target: NDArray[np.uint8], scoring: SplicedScoring, threads: int = 1
) -> Sweep:
    """Sweep one strand of one case.

    Parameters
    ----------
    program : ExonGraph
        With at least one exon.
    target : ndarray of uint8, shape (n,)
        Encoded target.
    scoring : SplicedScoring
    threads : int
        Threads that share the work, each with a strip of its own.

    Returns
    -------
    Sweep
        Of int16 where that provably suffices, else int32.
    """
    result, tasks = begin_sweep(program, target, scoring, threads)
    run_all(tasks)
    return result


def begin_sweep(
    program: ExonGraph, target: NDArray[np.uint8], scoring: SplicedScoring, strips: int
) -> tuple[Sweep, list[Callable[[], None]]]:
    """Return the room of what `sweep` returns, and tasks that fill it in, see `strip_tasks`."""
    dtype = narrowest(bounds(program, padded(len(target), strips, 2), scoring), scoring)
    columns = padded(len(target), strips, dtype.itemsize)
    terms = terms_of(scoring, dtype)
    stream, n_ends = _stream(program, terms.weights), len(program.ends)
    result = Sweep(
        np.full((n_ends + program.runs.n_joins, columns + 1), np.iinfo(dtype).min, dtype=dtype),
        np.empty((len(program.starts), columns + 1), dtype=dtype),
        np.arange(len(program.starts)),
    )
    borders = [_border(stream, dtype) for _ in range(strips + 1)]
    _fill_column_zero(stream, result, borders[0], terms.weights)
    width = columns // strips
    state = [_make_strip(target, 1 + k * width, width, terms) for k in range(strips)]
    n_steps = stream.n_rows + VECTOR_BYTES // dtype.itemsize - 1
    n_blocks = -(-n_steps // STEPS_PER_BLOCK)

    def turn(done: NDArray[np.int64], k: int, first: int) -> int:
        past = min(first + BLOCKS_A_TURN, n_blocks)
        own, place = borders[k : k + 2], (done, k)
        _sweep_blocks(
            stream, state[k], result, tuple(own), terms.weights, place,
            (first, past, STEPS_PER_BLOCK, n_steps),
        )  # fmt: skip
        return past

    return result._replace(ends=result.ends[:n_ends]), strip_tasks(turn, strips, n_blocks)


def _stream(program: ExonGraph, weights: NDArray) -> Stream:
    def make() -> Stream:
        return _make_stream(program.runs, program.track_commits, len(program.ends), weights)

    return program.derived(("stream", weights.dtype), make)


def _border(stream: Stream, dtype) -> Border:
    return Border(np.zeros(stream.n_rows, dtype), np.zeros(len(stream.top_rows), dtype))
