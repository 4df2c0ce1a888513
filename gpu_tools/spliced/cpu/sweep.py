"""The sweep on a CPU: rows of S' in vectors whose lanes hold neighbouring ranges of target columns.

    S'(i, j) = max(S'(i-1, j-1) + w - gap, S'(i-1, j) + gap, S'(i, j-1)), see `splicing.recurrence`

A row is computed in each lane for itself. What the lanes carry over to each other joins it on the
way to the next row, or where the row is stored. A *strip* is the columns of all lanes together; a
strip needs nothing of the next one, and of the one before only its last column, the *border*.
Long sweeps are cut into blocks of rows, so that the strips of one case can follow each other on
several threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.cpu.strips import run_strips
from gpu_tools.hardware.threads import blocks_of
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced.exon_graph import ExonGraph, bounds
from gpu_tools.splicing import recurrence
from gpu_tools.splicing.best_chains import (
    NO_PAIRS,
    BannedPairs,
    allow_pairs,
    ban_pairs,
    banned_of_row,
)
from gpu_tools.splicing.bounds import narrowest
from gpu_tools.splicing.rows import (
    advance,
    begin,
    column_of,
    final_score,
    padded,
    put,
    raise_to,
    settle,
)

empty_chain = register_jitable(recurrence.empty_chain)


class Terms(NamedTuple):
    """A scoring in the form that the loops read."""

    weights: NDArray  # gap and intron penalty, in the type of the cells
    lifted: NDArray[np.int64]  # the lifted scores of all pairs of symbols
    gap: int
    penalty: int
    free: bool


class SweptTarget(NamedTuple):
    """A target, the lifted scores of all pairs of symbols, and the pairs that no chain aligns."""

    symbols: NDArray[np.uint8]
    lifted: NDArray[np.int64]
    banned: BannedPairs


class Border(NamedTuple):
    """S' of one column: after each row, and above each track."""

    rows: NDArray
    tops: NDArray


class TargetStrip(NamedTuple):
    """A strip's columns, laid out as `splicing.rows` does, and its state between two blocks."""

    profile: NDArray  # lifted scores by base symbol
    first_column: int
    row: NDArray
    maxima: NDArray  # over the empty chain and all committed ends
    counts: NDArray[np.int64]  # tracks and exons that are done, and committed ends


class FreeEnds(NamedTuple):
    """What lets chains begin and end anywhere in a candidate; for one strip, see `rows.Strip`."""

    leave_bonus: NDArray[np.int64]  # what a chain gets that ends after a row
    start: NDArray
    drop: NDArray
    final: NDArray
    final_span: tuple[int, int]
    best: NDArray[np.int64]  # the best score, its row and its column


BEST_SCORE, BEST_ROW, BEST_COLUMN = range(3)


def terms_of(scoring: SplicedScoring, dtype: np.dtype) -> Terms:
    """Return a scoring in the form that the loops read, for cells of a type."""
    weights = np.array([scoring.gap, scoring.intron_penalty], dtype=dtype)
    free = scoring.ends != "global"
    return Terms(weights, scoring.lifted, scoring.gap, scoring.intron_penalty, free)


@register_jitable
def lay_out_strip(target, first_column, width, terms):
    """Return the state of a strip of `width` columns before its first row."""
    dtype, lanes = terms.weights.dtype, simd.lanes_of(terms.weights)
    n_symbols, each, n = len(terms.lifted), width // lanes, len(target)
    cells = simd.aligned_zeros((n_symbols + 2) * width, dtype)
    profile = cells[: n_symbols * width].reshape((n_symbols, width))
    row, maxima = cells[n_symbols * width : -width], cells[-width:]
    for lane in range(lanes):
        for c in range(each):
            column, place = first_column + lane * each + c, c * lanes + lane
            maxima[place] = empty_chain(min(column, n), terms.gap, terms.free)
            for k in range(n_symbols if column > 0 else 0):
                inside = column <= n
                profile[k, place] = terms.lifted[k, target[column - 1]] if inside else terms.gap
    return TargetStrip(profile, first_column, row, maxima, np.zeros(3, dtype=np.int64))


ROWS_PER_BLOCK = 1 << 13
"""Rows after which a strip lets the next one follow: some 0.5 ms with 512 columns."""


@register_jitable
def run_rows(graph, strip, ends, entries, border, following, target, weights, part, free_ends):
    """Compute the rows ``part[0]`` to ``part[1] - 1`` of a strip; fill in its ends and entries.

    `free_ends` are None for chains of whole candidates.
    """
    # local names: an array read out of a tuple inside the loop costs an atomic reference count
    codes, bonus, tracks = graph
    track_starts, track_commits, track_rows = tracks.starts, tracks.commits, tracks.rows
    last_rows, exon_ends = tracks.last_rows, tracks.exon_ends
    profile, first_column, row, maxima, counts = strip
    border_rows, border_tops = border.rows, border.tops
    following_rows, following_tops = following.rows, following.tops
    gap, penalty, floor = weights[0], np.int64(weights[1]), np.iinfo(weights.dtype).min
    width, lanes, any_banned = len(row), simd.lanes_of(row), len(target.banned.rows) > 0
    track, exon, committed = counts[0], counts[1], counts[2]
    n_tracks, n_exons, row_number = len(track_commits), len(last_rows), np.int64(0)
    low = simd.splat(weights.dtype.type(floor))
    carry, above = low, border_rows[max(part[0] - 1, 0)]
    for r in range(part[0], part[1]):
        if track < n_tracks and track_rows[track] == r:
            for end in range(committed, track_commits[track]):
                raise_to(maxima, row_number, ends, end, width, lanes, -penalty)
            committed = track_commits[track]
            put(entries, track, maxima, row_number, width, lanes, row_number)
            put(row, row_number, maxima, row_number, width, lanes, row_number)
            carry, above, following_tops[track] = low, border_tops[track], maxima[width - 1]
            track += 1
        diagonal = simd.shift_in(simd.maximum(simd.load(row, width - lanes), carry), above)
        symbol, above = np.int64(codes[r]), border_rows[r]
        own = row_number, row_number
        if any_banned:
            own = banned_of_row(target.banned, track_starts[track - 1] + r - track_rows[track - 1])
            ban_pairs(profile, symbol, first_column, target.banned, own, gap)
        right = advance(row, profile, symbol, diagonal, carry, low, gap, lanes)
        carry = simd.prefix_maximum(simd.shift_in(right, above))
        following_rows[r] = simd.last_lane(simd.maximum(right, carry))
        if any_banned:
            allow_pairs(profile, symbol, first_column, target, own)
        if free_ends is not None:
            settle(row, carry, lanes)
            carry = low
            _end_at(row, r, free_ends, low, lanes)
        while exon < n_exons and last_rows[exon] == r:
            settle(row, carry, lanes)
            carry = low
            raise_to(ends, exon_ends[exon], row, row_number, width, lanes, bonus[exon])
            exon += 1
        if free_ends is not None:
            begin(row, low, free_ends.start, row_number, lanes)
    settle(row, carry, lanes)
    counts[0], counts[1], counts[2] = track, exon, committed


@njit(nogil=True)
def _end_at(row, number, free_ends, low, lanes):
    """Let a chain end after a row, if that is better than all before."""
    bonus, _, drop, final, span, best = free_ends
    floor = row.dtype.type(np.iinfo(row.dtype).min)
    score = final_score(row, drop, final, span, floor, low, lanes)
    if score + bonus[number] > best[BEST_SCORE]:
        best[BEST_SCORE], best[BEST_ROW] = score + bonus[number], number
        best[BEST_COLUMN] = column_of(row, drop, final, span, score, lanes)


_run_rows = njit(cache=True, nogil=True)(run_rows)
_lay_out_strip = njit(cache=True, nogil=True)(lay_out_strip)


def sweep(
    graph: ExonGraph,
    target: NDArray[np.uint8],
    scoring: SplicedScoring,
    threads: int = 1,
    rows_per_block: int = ROWS_PER_BLOCK,
    done: Callable[[float], None] | None = None,
    banned: BannedPairs = NO_PAIRS,
    free_ends: FreeEnds | None = None,
) -> recurrence.Sweep:
    """Sweep one strand of one case; with free ends in one strip of 32-bit cells."""
    columns, n_tracks = len(target) + 1, len(graph.tracks.starts)
    dtype = narrowest(bounds(graph, padded(columns, threads, 2), scoring))
    if free_ends:
        dtype = np.dtype(np.int32)
    width = padded(columns, threads, dtype.itemsize) // threads
    terms, floor = terms_of(scoring, dtype), np.iinfo(dtype).min
    result = recurrence.Sweep(
        np.full((threads, len(graph.tracks.ends), width), floor, dtype=dtype),
        np.empty((threads, n_tracks, width), dtype=dtype),
    )
    # in front of column 0, which no pair reaches, there is nothing
    borders = [
        Border(np.full(graph.n_rows, floor, dtype), np.full(n_tracks, floor, dtype))
        for _ in range(threads + 1)
    ]
    strips = [_lay_out_strip(target, k * width, width, terms) for k in range(threads)]
    of_target = SweptTarget(target, scoring.lifted, banned)

    def block(k: int, part: tuple[int, int]) -> None:
        _run_rows(
            graph.arrays, strips[k], result.ends[k], result.entries[k], *borders[k : k + 2],
            of_target, terms.weights, part, free_ends,
        )  # fmt: skip
        if done and k + 1 == threads:
            done((part[1] - part[0]) / graph.n_rows)

    run_strips(block, threads, blocks_of(graph.n_rows, rows_per_block))
    return result
