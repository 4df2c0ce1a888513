"""Programs of many strands as the packed kernels read them, laid out once for all their targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import cuda, int32, njit
from numpy.typing import NDArray

from gpu_tools import simd
from gpu_tools.ptx import kernel
from gpu_tools.scoring import SplicedScoring
from gpu_tools.sequences import OTHER
from gpu_tools.spliced import cuda_ends as exit_columns
from gpu_tools.spliced import cuda_packed as packed
from gpu_tools.spliced.columns import Strands
from gpu_tools.spliced.pieces import (
    EMPTY,
    NOT_KEPT,
    NOT_THE_LAST,
    arrange,
    cut,
    fill_warps,
    most_segments,
    most_sources,
    stored_row,
)
from gpu_tools.spliced.program import lay_out
from gpu_tools.spliced.widths import best_bonus

# columns of the table of programs: counts, what bounds the cells, where the parts lie
(
    N_ROWS, N_STOPS, N_KEPT, N_SEGMENTS, N_PIECES, N_SOURCES, N_EXITS, N_ENDS,
    LONGEST_TRACK, LONGEST_EXON, MOST_EXITS, MOST_BONUS, BEST_BONUS, AMBIGUOUS,
    LAST_TICK, NUMBERS, SOURCES, EXITS, SYMBOLS, FIELDS,
) = range(20)  # fmt: skip

_TOGETHER = 16
"""Programs that a thread takes at a time."""


class Programs(NamedTuple):
    """Programs of strands.

    Attributes
    ----------
    table : ndarray of int64, shape (P, FIELDS)
    numbers, sources : ndarray of int32
        See `cuda_packed.sweep_pieces`; a source names a stored row instead of its place.
    exits : ndarray of int32
        Rows of 8, see `cuda_trace.trace_chains`.
    symbols : ndarray of uint8
        Streams of base symbols.
    exon_of_exit : ndarray of int64, shape (B,)
        Number of each exit's exon among those of all strands.
    starts, ends : ndarray of int64, shape (B,)
        Those exons.
    """

    table: NDArray[np.int64]
    numbers: NDArray[np.int32]
    sources: NDArray[np.int32]
    exits: NDArray[np.int32]
    symbols: NDArray[np.uint8]
    exon_of_exit: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


def _new(name: str, count: int, dtype: type) -> NDArray:
    return np.empty(count, dtype=dtype)


def lay_out_programs(
    strands: Strands, chosen: NDArray[np.int64], scoring: SplicedScoring, apart: bool,
    spread: Callable = map, new: Callable = _new,
) -> Programs:  # fmt: skip
    """Lay out the programs of strands.

    Parameters
    ----------
    strands : Strands
    chosen : ndarray of int64
        Numbers of the strands to lay out; there is nothing in the rows of the others.
    scoring : SplicedScoring
    apart : bool
        Whether every segment is a piece.
    spread : callable
        Used like `map`.
    new : callable
        Makes an array from a name, a number of elements and their type.

    Returns
    -------
    Programs
    """
    room, bonus = np.zeros((strands.count, 4), dtype=np.int64), scoring.exon_bonus(strands.scores)
    room[chosen] = _room(strands)[chosen]
    sizes = room.sum(axis=0)
    programs = Programs(
        np.zeros((strands.count, FIELDS), dtype=np.int64),
        new("numbers", sizes[0], np.int32), new("sources", sizes[1], np.int32),
        new("exits", sizes[2], np.int32), new("symbols", sizes[3], np.uint8),
        np.empty(len(strands.starts), dtype=np.int64), strands.starts, strands.ends,
    )  # fmt: skip
    programs.table[:, NUMBERS : SYMBOLS + 1] = np.cumsum(room, axis=0) - room
    capacity = packed.APART if apart else packed.CAPACITY

    # the largest first, and shares of all sizes
    chosen = chosen[np.argsort(-room[chosen, 3], kind="stable")]
    n_shares = -(-len(chosen) // _TOGETHER)

    def lay_out_share(share: int) -> None:
        own = np.ascontiguousarray(chosen[share::n_shares])
        _lay_out_some(own, strands, bonus, scoring.intron_penalty, capacity, programs)

    for _ in spread(lay_out_share, range(n_shares)):
        pass
    return programs


def _room(strands: Strands) -> NDArray[np.int64]:
    """Return the elements of numbers, sources, exits and symbols that each strand takes at most."""
    first, lengths = strands.first_exons[:-1], strands.ends - strands.starts
    exons, rows = np.diff(strands.first_exons), np.add.reduceat(lengths, first)
    stops = exons + rows // (2 * packed.CAPACITY.lanes * packed.CAPACITY.slots) + 1
    # there are no more pieces than segments; see `pieces.arrange`
    numbers = 5 * most_segments(stops, exons) + 3 * stops + 3
    return np.stack([numbers, 4 * most_sources(stops, exons), 8 * exons, rows], axis=1)


@njit(cache=True, nogil=True)
def _lay_out_some(chosen, strands, bonus, penalty, capacity, programs):
    for k in chosen:
        first, past = strands.first_exons[k], strands.first_exons[k + 1]
        exons = strands.starts[first:past], strands.ends[first:past], bonus[first:past]
        codes = simd.bytes_at(strands.addresses[k], strands.lengths[k])
        _lay_out(codes, exons, strands.reverse[k], penalty, capacity, programs, (k, first))


@njit(cache=True, nogil=True)
def _lay_out(codes, exons, reverse, penalty, capacity, programs, place):
    (k, first_exon), (exon_starts, exon_ends, bonus) = place, exons
    (
        order, stream, starts, track_rows, commits, ends, exit_rows, exit_ends, exit_tracks,
        by_end, first_by_end,
    ) = lay_out(codes, exon_starts, exon_ends, reverse)  # fmt: skip
    bonus, committed = bonus[order], first_by_end[commits]
    pieces = cut(exit_rows, exit_tracks, by_end, committed, capacity)
    first_segments = fill_warps(pieces.order, pieces.segments, capacity)
    tables = arrange(pieces, first_segments, capacity, bonus - penalty)
    own = programs.table[k]
    own[N_ROWS], own[N_STOPS], own[N_KEPT] = len(stream), len(pieces.stops.ends), pieces.n_kept
    own[N_SEGMENTS], own[N_PIECES] = len(pieces.order), len(first_segments) - 1
    own[LAST_TICK] = pieces.segments.ticks.max()
    own[N_SOURCES], own[N_EXITS], own[N_ENDS] = len(tables.sources), len(order), len(ends)
    lengths = ends[exit_ends] - starts[exit_tracks]
    own[LONGEST_EXON], own[LONGEST_TRACK] = lengths.max(), np.diff(track_rows).max()
    own[MOST_EXITS], own[MOST_BONUS] = np.diff(first_by_end).max(), np.abs(bonus).max()
    own[BEST_BONUS] = best_bonus(commits, exit_tracks, exit_ends, bonus, len(ends), penalty)
    own[AMBIGUOUS] = (stream == OTHER).any()
    _put(programs.numbers, own[NUMBERS], tables.numbers)
    _put(programs.sources, own[SOURCES], tables.sources.ravel())
    _put(programs.symbols, own[SYMBOLS], stream)
    exon_of_exit = programs.exon_of_exit[own[EXITS] // 8 :]
    exits = programs.exits[own[EXITS] : own[EXITS] + 8 * len(order)].reshape(-1, 8)
    for at in range(len(by_end)):
        exon = by_end[at]
        end, track, exit_ = exit_ends[exon], exit_tracks[exon], exits[at]
        exit_[exit_columns.ROW] = stored_row(pieces.stops.of_exon[exon], pieces.stops, capacity)
        exit_[exit_columns.BONUS], exit_[exit_columns.LENGTH] = bonus[exon], lengths[exon]
        exit_[exit_columns.LAST_ROW] = exit_rows[exon]
        above = len(pieces.stops.ends) + pieces.entries[track]
        exit_[exit_columns.ENTRY] = stored_row(above, pieces.stops, capacity)
        exit_[exit_columns.COMMITTED] = committed[track]
        exon_of_exit[at] = first_exon + order[exon]
        exit_[exit_columns.FIRST], exit_[exit_columns.BEHIND] = (
            first_by_end[end],
            first_by_end[end + 1],
        )


@njit(cache=True, nogil=True)
def _put(arena, first, values):
    arena[first : first + len(values)] = values


@kernel()
def place_sources(jobs, programs, sources, targets, of_symbol, placed, words):
    """Write what depends on a job's target: places of the rows it reads, and the table words.

    Parameters
    ----------
    jobs : int64 array, shape (J, cuda_packed.FIELDS)
    programs : int64 array, shape (J, 4)
        Of each job: its program's number of sources and where they are, where its target is, and
        the number of its words.
    sources : int32 array
        Of programs, see `Programs`.
    targets : uint8 array
        Encoded targets.
    of_symbol : int32 array, shape (5,)
        The table word of a target symbol.
    placed, words : int32 array
        Written, see `cuda_packed.sweep_pieces`.
    """
    number = cuda.blockIdx.x
    job, first = jobs[number], cuda.threadIdx.x
    n_sources, n_words = programs[number, 0], programs[number, 3]
    stride, source = int32(job[packed.STRIDE]), programs[number, 1]
    for k in range(first, n_sources, cuda.blockDim.x):
        row, kept = sources[source + 4 * k + 1], sources[source + 4 * k + 3]
        out = placed[job[packed.SOURCES] + 4 * k :]
        out[0], out[2] = sources[source + 4 * k], sources[source + 4 * k + 2]
        out[1] = row if row == EMPTY else packed.place_of(row, stride)
        if kept == NOT_THE_LAST:
            out[3] = -1
        else:
            out[3] = 0 if kept == NOT_KEPT else packed.place_of(kept, stride)
    target, lead = programs[number, 2], packed.WORD_LEAD + 1
    for k in range(first, n_words, cuda.blockDim.x):
        column = k - lead
        inside = column >= 0 and column < job[packed.COLUMNS] - 1
        words[job[packed.WORDS] + k] = of_symbol[targets[target + column]] if inside else 0
