"""The sweep on a CPU: vectors whose lanes hold neighbouring ranges of target columns.

    S'(i, j) = max(S'(i-1, j-1) + w - gap, S'(i-1, j) + gap, S'(i, j-1)), see `splicing.recurrence`

Lane l works on stream row s - l in step s, so that what it needs from the lane before is what
that lane computed one step earlier. A *strip* is the columns of all lanes together; a strip needs
nothing of the next one, and of the one before only its last column, the *border*.
Long sweeps are cut into blocks of steps, so that the strips of one case can follow each other
on several threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload, register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.hardware.cpu.strips import run_strips
from gpu_tools.hardware.threads import blocks_of
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.spliced.exon_graph import ExonGraph, Tracks, bounds
from gpu_tools.splicing import recurrence
from gpu_tools.splicing.best_chains import NO_PAIRS, BannedPairs
from gpu_tools.splicing.bounds import narrowest
from gpu_tools.splicing.rows import padded

_TARGET_OTHER = OTHER + 1
_TARGET_PAD = OTHER + 2
_BANNED = OTHER + 3

empty_chain = register_jitable(recurrence.empty_chain)


class Stream(NamedTuple):
    """The rows of an `ExonGraph` for the loops, bonuses in the type of the cells."""

    symbols: NDArray  # nucleotides, the last row's first, between two vectors of padding
    n_rows: int
    tracks: Tracks
    bonus: NDArray


class Terms(NamedTuple):
    """A scoring in the form that the loops read."""

    weights: NDArray  # lifted match and mismatch, gap, intron penalty, in the type of the cells
    table: NDArray  # the lifted substitution matrix; of one dimension without a matrix
    gap: int
    penalty: int
    free: bool


class Border(NamedTuple):
    """S' of one column: after each row, and above each track."""

    rows: NDArray
    tops: NDArray


class StripBans(NamedTuple):
    """Banned pairs of a strip, by step: which elements of its target are others in that step."""

    steps: NDArray[np.int64]  # (B,) rising
    places: NDArray[np.int64]  # (B,) element of the target
    usual: NDArray  # (B,) what it holds in other steps
    banned: int  # what it holds in the step of a banned pair


class StreamStrip(NamedTuple):
    """A strip's target and its state between two blocks of steps."""

    target: NDArray
    first_column: int
    row: NDArray  # column c of lane l at c * lanes + l
    maxima: NDArray  # over the empty chain and all committed ends, by column
    edge: NDArray  # two vectors: diagonal and left neighbours of the lanes' first columns
    corner: NDArray  # the last column of each lane above the current track
    committed: NDArray[np.int64]  # how many ends each lane has committed
    cursor: NDArray[np.int64]  # the ranges of tracks and of exons that lanes may still reach
    bans: StripBans | None


@register_jitable
def lay_out_stream(graph, weights):
    """Return the `Stream` of `GraphArrays`, for cells of the type of `weights`."""
    lanes, n_rows = simd.lanes_of(weights), len(graph.codes)
    symbols = np.full(n_rows + 2 * lanes, OTHER, dtype=weights.dtype)
    for row in range(n_rows):
        symbols[lanes + row] = graph.codes[n_rows - 1 - row]
    return Stream(symbols, n_rows, graph.tracks, graph.bonus.astype(weights.dtype))


def _symbols_or_scores(symbols, table):
    raise NotImplementedError("only for jitted code")


@overload(_symbols_or_scores)
def _overload_symbols_or_scores(symbols, table):
    def by_equality(symbols, table):
        codes = simd.aligned_zeros(len(symbols), table.dtype)
        simd.copy(symbols, codes)
        return codes

    def by_profile(symbols, table):
        shape = len(table), len(symbols)
        scores = simd.aligned_zeros(shape[0] * shape[1], table.dtype).reshape(shape)
        for code in range(len(table)):
            for position in range(len(symbols)):
                scores[code, position] = table[code, min(symbols[position], OTHER)]
        return scores

    return by_equality if table.ndim == 1 else by_profile


@register_jitable
def lay_out_strip(target, first_column, width, terms):
    """Return the state of a strip of `width` columns before its first step."""
    weights = terms.weights
    lanes, dtype = simd.lanes_of(weights), weights.dtype
    symbols, start = np.empty(width, dtype=np.uint8), np.empty(width, dtype=dtype)
    columns = width // lanes
    for lane in range(lanes):
        for c in range(columns):
            position, symbol = first_column - 1 + lane * columns + c, np.uint8(_TARGET_PAD)
            if position < len(target):
                symbol = np.uint8(_TARGET_OTHER) if target[position] == OTHER else target[position]
            symbols[c * lanes + lane] = symbol
    for k in range(width):
        start[k] = empty_chain(first_column + k, terms.gap, terms.free)
    return StreamStrip(
        _symbols_or_scores(symbols, terms.table), first_column, simd.aligned_zeros(width, dtype),
        start, simd.aligned_zeros(2 * lanes, dtype),
        np.zeros(lanes, dtype=dtype), np.zeros(lanes, dtype=np.int64), np.zeros(4, dtype=np.int64),
        None,
    )  # fmt: skip


def terms_of(scoring: SplicedScoring, dtype: np.dtype) -> Terms:
    """Return a scoring in the form that the loops read, for cells of a type."""
    values = (scoring.match, scoring.mismatch)
    lifted = [value - scoring.gap for value in values] if scoring.matrix is None else [0, 0]
    weights = np.array([*lifted, scoring.gap, scoring.intron_penalty], dtype=dtype)
    table = np.empty(0) if scoring.matrix is None else scoring.substitution() - scoring.gap
    free = scoring.ends != "global"
    return Terms(weights, table.astype(dtype), scoring.gap, scoring.intron_penalty, free)


STEPS_PER_BLOCK = 1 << 13
"""Steps after which a strip lets the next one follow: some 0.5 ms with 512 columns."""
_MATCH, _MISMATCH, _GAP, _PENALTY = range(4)


def _pair_scores(target, bans, position, base, match, mismatch, gap):
    raise NotImplementedError("only for jitted code")


@overload(_pair_scores, inline="always")
def _overload_pair_scores(target, bans, position, base, match, mismatch, gap):
    def by_equality(target, bans, position, base, match, mismatch, gap):
        return simd.where_equal(simd.load(target, position), base, match, mismatch)

    def by_equality_or_ban(target, bans, position, base, match, mismatch, gap):
        symbols, banned = simd.load(target, position), simd.splat(target.dtype.type(_BANNED))
        scores = simd.where_equal(symbols, base, match, mismatch)
        return simd.where_equal(symbols, banned, gap, scores)

    def by_profile(target, bans, position, base, match, mismatch, gap):
        columns = target.shape[1]
        scores = simd.load(target, OTHER * columns + position)
        for code in range(OTHER):
            of_code = simd.splat(target.dtype.type(code))
            of_pair = simd.load(target, code * columns + position)
            scores = simd.where_equal(base, of_code, of_pair, scores)
        return scores

    if target.ndim > 1:
        return by_profile
    return by_equality if isinstance(bans, types.NoneType) else by_equality_or_ban


def _ban_pairs(target, bans, step):
    raise NotImplementedError("only for jitted code")


@overload(_ban_pairs)
def _overload_ban_pairs(target, bans, step):
    """Let the target be that of a step with banned pairs; return the numbers of these."""

    def nothing(target, bans, step):
        return 0, 0

    def some(target, bans, step):
        past = first = first_from(bans.steps, step)
        while past < len(bans.steps) and bans.steps[past] == step:
            simd.set_element(target, bans.places[past], target.dtype.type(bans.banned))
            past += 1
        return first, past

    return nothing if isinstance(bans, types.NoneType) else some


def _allow_pairs(target, bans, numbers):
    raise NotImplementedError("only for jitted code")


@overload(_allow_pairs)
def _overload_allow_pairs(target, bans, numbers):
    """Let the target be the usual one again."""

    def nothing(target, bans, numbers):
        pass

    def some(target, bans, numbers):
        for k in range(numbers[0], numbers[1]):
            simd.set_element(target, bans.places[k], bans.usual[k])

    return nothing if isinstance(bans, types.NoneType) else some


class LaneColumns(NamedTuple):
    """The columns of a lane."""

    lane: int
    lanes: int  # of a vector
    columns: int  # of a lane
    first: int  # this lane's first column in the strip
    shift: int  # the strip's first column


@njit(nogil=True)
def _commit(maxima, ends, end, own, penalty):
    """Raise a lane's maxima to an end's values less a penalty."""
    first = own.first
    place = end * ends.shape[1] + first + own.shift
    for c in range(own.columns):
        value = maxima.dtype.type(simd.element(ends, place + c) - penalty)
        here = simd.element(maxima, first + c)
        simd.set_element(maxima, first + c, value if value > here else here)


@njit(nogil=True)
def _enter(row, maxima, entries, track, own):
    """Load the row from which `track` starts, and store it for the traceback."""
    first = own.first
    place = track * entries.shape[1] + first + own.shift
    for c in range(own.columns):
        simd.set_element(entries, place + c, simd.element(maxima, first + c))
    for c in range(own.columns):
        simd.set_element(row, c * own.lanes + own.lane, simd.element(maxima, first + c))


@njit(nogil=True)
def _leave(row, ends, end, own, bonus):
    """Raise an end's row to the row of a lane, the last one of an exon."""
    place = end * ends.shape[1] + own.first + own.shift
    for c in range(own.columns):
        value = row.dtype.type(simd.element(row, c * own.lanes + own.lane) + bonus)
        here = simd.element(ends, place + c)
        simd.set_element(ends, place + c, value if value > here else here)


@njit(nogil=True)
def _advance(row, target, bans, base, diagonal, left, weights, lanes):
    """Compute one row in every lane; return the vectors of the last and of the left columns."""
    # splats are made here, for in the loop every store could change `weights`
    match, mismatch = simd.splat(weights[_MATCH]), simd.splat(weights[_MISMATCH])
    gap = simd.splat(weights[_GAP])
    for position in range(0, len(row), lanes):
        up = simd.load(row, position)
        pairs = _pair_scores(target, bans, position, base, match, mismatch, gap)
        left = simd.maximum(simd.maximum(simd.add(diagonal, pairs), simd.add(up, gap)), left)
        simd.store(row, position, left)
        diagonal = up
    return left


@register_jitable
def run_steps(stream, strip, sweep, border, following, weights, steps):
    """Run the steps ``steps[0]`` to ``steps[1] - 1`` of a strip."""
    # local names: an array read out of a tuple inside the loop costs an atomic reference count
    symbols, bonus, tracks = stream.symbols, stream.bonus, stream.tracks
    track_commits, track_rows = tracks.commits, tracks.rows
    last_rows, exon_ends = tracks.last_rows, tracks.exon_ends
    target, row, maxima, edge = strip.target, strip.row, strip.maxima, strip.edge
    corner, committed, cursor = strip.corner, strip.committed, strip.cursor
    ends, entries = sweep.ends, sweep.entries
    border_rows, border_tops = border.rows, border.tops
    following_rows, following_tops = following.rows, following.tops
    shift = strip.first_column
    lanes = len(corner)
    columns = len(row) // lanes
    n_tracks, n_exons, n_rows = len(track_commits), len(last_rows), stream.n_rows
    first_track, next_track, first_exon, next_exon = cursor[0], cursor[1], cursor[2], cursor[3]
    penalty, bans = weights[_PENALTY], strip.bans
    for step in range(steps[0], steps[1]):
        while next_track < n_tracks and track_rows[next_track] <= step:
            next_track += 1
        while first_track < next_track and track_rows[first_track] + lanes <= step:
            first_track += 1
        # later tracks are in lower lanes: a lane reads its neighbour's corner before that changes
        for track in range(first_track, next_track):
            lane = step - track_rows[track]
            own = LaneColumns(lane, lanes, columns, lane * columns, shift)
            for end in range(committed[lane], track_commits[track]):
                _commit(maxima, ends, end, own, penalty)
            committed[lane] = track_commits[track]
            _enter(row, maxima, entries, track, own)
            edge[lane] = corner[lane - 1] if lane > 0 else border_tops[track]
            corner[lane] = row[(columns - 1) * lanes + lane]
            if lane == lanes - 1:
                following_tops[track] = corner[lane]
        base = simd.load(symbols, n_rows + lanes - 1 - step)
        left = simd.shift_in(simd.load(edge, lanes), border_rows[min(step, n_rows - 1)])
        banned = _ban_pairs(target, bans, step)
        last = _advance(row, target, bans, base, simd.load(edge, 0), left, weights, lanes)
        _allow_pairs(target, bans, banned)
        simd.store(edge, 0, left)
        simd.store(edge, lanes, last)
        if step >= lanes - 1:
            following_rows[step - lanes + 1] = simd.last_lane(last)
        while next_exon < n_exons and last_rows[next_exon] <= step:
            next_exon += 1
        while first_exon < next_exon and last_rows[first_exon] + lanes <= step:
            first_exon += 1
        for exon in range(first_exon, next_exon):
            lane = step - last_rows[exon]
            own = LaneColumns(lane, lanes, columns, lane * columns, shift)
            _leave(row, ends, exon_ends[exon], own, bonus[exon])
    cursor[0], cursor[1], cursor[2], cursor[3] = first_track, next_track, first_exon, next_exon


@register_jitable
def begin_column_zero(stream, sweep, border, weights):
    """Fill in the column before the first target symbol, where every nucleotide is a gap."""
    # local names for the same reason as above
    last_rows, exon_ends, bonus = stream.tracks.last_rows, stream.tracks.exon_ends, stream.bonus
    ends, entries, rows, tops = sweep.ends, sweep.entries, border.rows, border.tops
    track_rows, track_commits = stream.tracks.rows, stream.tracks.commits
    gap, penalty = weights[_GAP], weights[_PENALTY]
    best = weights.dtype.type(0)
    committed, exon = 0, 0
    for track in range(len(track_commits)):
        for end in range(committed, track_commits[track]):
            best = max(best, weights.dtype.type(ends[end, 0] - penalty))
        committed = track_commits[track]
        entries[track, 0] = tops[track] = value = best
        for row in range(track_rows[track], track_rows[track + 1]):
            value = weights.dtype.type(value + gap)
            rows[row] = value
            while exon < len(last_rows) and last_rows[exon] == row:
                leaving = weights.dtype.type(value + bonus[exon])
                ends[exon_ends[exon], 0] = max(ends[exon_ends[exon], 0], leaving)
                exon += 1


_run_steps = njit(cache=True, nogil=True)(run_steps)
_begin_column_zero = njit(cache=True, nogil=True)(begin_column_zero)
_lay_out_stream = njit(cache=True, nogil=True)(lay_out_stream)
_lay_out_strip = njit(cache=True, nogil=True)(lay_out_strip)


@njit(cache=True, nogil=True)
def _find_banned(graph, banned):
    """Return the rows and the target's symbols of all banned pairs in a stream."""
    starts, track_rows, n = graph.tracks.starts, graph.tracks.rows, 0
    found = np.empty((2, 1024), np.int64)
    for track in range(len(starts)):
        shift = track_rows[track] - starts[track]
        k, past = first_from(banned.rows, starts[track]), track_rows[track + 1] - shift
        while k < len(banned.rows) and banned.rows[k] < past:
            if n == found.shape[1]:
                larger = np.empty((2, 2 * n), np.int64)
                larger[:, :n] = found
                found = larger
            found[0, n], found[1, n] = banned.rows[k] + shift, banned.columns[k]
            k, n = k + 1, n + 1
    return found[:, :n]


def _bans_of(
    graph: ExonGraph, strip: StreamStrip, target: NDArray[np.uint8], found: NDArray[np.int64],
    gap: int,
) -> StripBans | None:  # fmt: skip
    """Return the banned pairs of a strip among those that were found in a stream, None for none."""
    width, lanes = len(strip.row), len(strip.corner)
    columns = found[1] + 1 - strip.first_column
    inside = (columns >= 0) & (columns < width)
    rows, (lane, column) = found[0][inside], np.divmod(columns[inside], width // lanes)
    steps, places, banned = rows + lane, column * lanes + lane, _BANNED
    if strip.target.ndim > 1:
        places, banned = places + width * graph.codes[rows].astype(np.int64), gap
    order = np.argsort(steps, kind="stable")
    return StripBans(steps[order], places[order], strip.target.ravel()[places[order]], banned)


def sweep(
    graph: ExonGraph,
    target: NDArray[np.uint8],
    scoring: SplicedScoring,
    threads: int = 1,
    steps_per_block: int = STEPS_PER_BLOCK,
    done: Callable[[float], None] | None = None,
    banned: BannedPairs = NO_PAIRS,
) -> recurrence.Sweep:
    """Sweep one strand of one case."""
    dtype = narrowest(bounds(graph, padded(len(target), threads, 2), scoring))
    columns = padded(len(target), threads, dtype.itemsize)
    terms = terms_of(scoring, dtype)
    stream = _lay_out_stream(graph.arrays, terms.weights)
    result = recurrence.Sweep(
        np.full((len(graph.tracks.ends), columns + 1), np.iinfo(dtype).min, dtype=dtype),
        np.empty((len(graph.tracks.starts), columns + 1), dtype=dtype),
    )
    borders = [
        Border(np.zeros(stream.n_rows, dtype), np.zeros(len(graph.tracks.starts), dtype))
        for _ in range(threads + 1)
    ]
    _begin_column_zero(stream, result, borders[0], terms.weights)
    width = columns // threads
    strips = [_lay_out_strip(target, 1 + k * width, width, terms) for k in range(threads)]
    if len(banned.rows):
        found = _find_banned(graph.arrays, banned)
        strips = [
            strip._replace(bans=_bans_of(graph, strip, target, found, scoring.gap))
            for strip in strips
        ]

    lanes = simd.VECTOR_BYTES // dtype.itemsize
    n_steps = stream.n_rows + lanes - 1

    def block(k: int, steps: tuple[int, int]) -> None:
        _run_steps(stream, strips[k], result, *borders[k : k + 2], terms.weights, steps)
        if done and k + 1 == threads:
            done((steps[1] - steps[0]) / n_steps)

    # a strip is a block ahead of the next one, which must be as many steps as there are lanes
    run_strips(block, threads, blocks_of(n_steps, max(steps_per_block, lanes)))
    return result
