"""Programs of many strands as the packed kernels read them, laid out once for all their targets."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import cfunc, cuda, int32, njit, types
from numpy.typing import NDArray

from gpu_tools.hardware.batches import put_in_order
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.cpu.native_threads import Task
from gpu_tools.hardware.gpu.intrinsics import kernel
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced.bounds import best_bonus
from gpu_tools.spliced.columns import Strands
from gpu_tools.spliced.exon_graph import lay_out, write_stream
from gpu_tools.spliced.gpu import best_ends as exit_columns
from gpu_tools.spliced.gpu import halves
from gpu_tools.spliced.gpu import job_table as of_job
from gpu_tools.spliced.gpu import piece_tables as of_piece
from gpu_tools.spliced.gpu import sweep as packed
from gpu_tools.spliced.gpu.piece_tables import arrange, fill_warps, stored_row
from gpu_tools.spliced.gpu.pieces import Capacity, cut, most_segments, most_sources

# columns of the table of programs: counts, what bounds the cells, where the parts lie
(
    N_STOPS, N_KEPT, N_SEGMENTS, N_PIECES, N_SOURCES, N_EXITS, N_ENDS,
    LONGEST_TRACK, MOST_EXITS, MOST_BONUS, BEST_BONUS, AMBIGUOUS,
    LAST_TICK, NUMBERS, SOURCES, EXITS, SYMBOLS,
    BEHIND, MIRRORED, LAST_ENTRY, LAST_COMMITTED, FIELDS,
) = range(22)  # fmt: skip

_ARRAYS, _NUMBERS = 16, 9
"""What a task has of each."""


class Programs(NamedTuple):
    """Programs of strands.

    Attributes
    ----------
    table : ndarray of int64, shape (P, FIELDS)
    numbers, sources : ndarray of int32
        See `cuda_packed.sweep_pieces`; stored rows are named instead of their places.
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


class Layout:
    """Programs of strands that threads lay out, with all the room that they need.

    Parameters
    ----------
    strands : Strands
    scoring : SplicedScoring
    apart : bool
        Whether every segment is a piece.
    new : callable
        Makes an array from a name, a number of elements and their type.

    Attributes
    ----------
    task : Task
        For as many threads as like.
    programs : Programs
        Not there before all threads have ended.
    """

    def __init__(
        self, strands: Strands, scoring: SplicedScoring, apart: bool, new: Callable = _new
    ):
        table = np.empty((strands.count, FIELDS), dtype=np.int64)
        order = np.empty(strands.count, dtype=np.int64)
        sizes = _plan(strands, packed.CAPACITY, table, order)
        self.programs = Programs(
            table,
            new("numbers", sizes[0], np.int32), new("sources", sizes[1], np.int32),
            new("exits", sizes[2], np.int32), new("symbols", sizes[3], np.uint8),
            np.empty(len(strands.starts), dtype=np.int64), strands.starts, strands.ends,
        )  # fmt: skip
        self.counts, bonus = np.zeros(2, dtype=np.int64), scoring.exon_bonus(strands.scores)
        capacity = packed.APART if apart else packed.CAPACITY
        arrays = order, self.counts, *strands[:-1], bonus, *self.programs[:-2]
        self.task = Task(_entry(), arrays, (scoring.gap, scoring.intron_penalty, *capacity))

    def check(self) -> None:
        """Raise `RuntimeError` unless all programs are there."""
        if self.counts[1] < len(self.programs.table):
            raise RuntimeError("a thread has left a program unfinished")


@njit(cache=True, nogil=True)
def _plan(strands, capacity, table, order):
    """Write where each strand's numbers, sources, exits and symbols begin, and the longest first.

    Returned are the elements that all strands together take at most.
    """
    rows = np.zeros(len(order), dtype=np.int64)
    numbers, sources, exits, symbols = 0, 0, 0, 0
    for k in range(len(order)):
        first, past = strands.first_exons[k], strands.first_exons[k + 1]
        for exon in range(first, past):
            rows[k] += strands.ends[exon] - strands.starts[exon]
        table[k, NUMBERS], table[k, SOURCES] = numbers, sources
        table[k, EXITS], table[k, SYMBOLS] = exits, symbols
        stops = past - first + rows[k] // (2 * capacity.lanes * capacity.slots) + 1
        # there are no more pieces than segments; see `piece_tables.arrange`
        segments = most_segments(stops, past - first)
        numbers += 3 * segments + 3 * stops + 2
        sources += of_piece.OF_SEGMENT * segments
        sources += of_piece.OF_SOURCE * most_sources(stops, past - first)
        exits, symbols = exits + 8 * (past - first), symbols + rows[k]
    put_in_order(rows, order)
    return numbers, sources, exits, symbols


@cache
def _entry():
    """Return what a `Task` calls, compiled when it is first asked for."""
    return cfunc(types.void(types.intp), cache=True)(_lay_out_given)


def _lay_out_given(address):
    """Lay out strands with what the task of a `Layout` has, in its order."""
    given = simd.bytes_at(address, 8 * (2 * _ARRAYS + _NUMBERS)).view(np.int64)
    strands = Strands(
        _array(given, 2, np.int64), _array(given, 3, np.int64), _array(given, 4, np.bool_),
        _array(given, 5, np.int64), _array(given, 6, np.int64), _array(given, 7, np.int64),
        _array(given, 8, np.int64), _array(given, 9, np.int64),
    )  # fmt: skip
    programs = Programs(
        _array(given, 10, np.int64).reshape(-1, FIELDS), _array(given, 11, np.int32),
        _array(given, 12, np.int32), _array(given, 13, np.int32), _array(given, 14, np.uint8),
        _array(given, 15, np.int64), strands.starts, strands.ends,
    )  # fmt: skip
    numbers = given[2 * _ARRAYS :]
    gap, penalty, lanes, slots, chunk, late, span, segments, sources = numbers
    capacity = Capacity(lanes, slots, chunk, late, span, segments, sources)
    order, counts = _array(given, 0, np.int64), _array(given, 1, np.int64)
    _lay_out_next(order, counts, strands, (gap, penalty), capacity, programs)


@njit(nogil=True)
def _array(given, number, dtype):
    return simd.bytes_at(given[2 * number], given[2 * number + 1]).view(dtype)


@njit(cache=True, nogil=True)
def _lay_out_next(order, counts, strands, costs, capacity, programs):
    """Lay out strands in an order, those that no other thread has begun with.

    Counted are those that are begun, and those that are done. Scores of exons are their bonuses.
    """
    at = simd.fetch_add(counts, 0, 1)
    while at < len(order):
        k = order[at]
        first, past = strands.first_exons[k], strands.first_exons[k + 1]
        exons = strands.starts[first:past], strands.ends[first:past], strands.scores[first:past]
        codes = simd.bytes_at(strands.addresses[k], strands.lengths[k])
        reverse, half = strands.reverse[k], strands.half[k]
        way = reverse if half == halves.WHOLE else half == halves.BEHIND, reverse
        programs.table[k, BEHIND] = half == halves.BEHIND
        _lay_out(codes, exons, way, costs, capacity, programs, (k, first))
        simd.fetch_add(counts, 1, 1)
        at = simd.fetch_add(counts, 0, 1)


@njit(cache=True, nogil=True)
def _lay_out(codes, exons, way, costs, capacity, programs, place):
    (k, first_exon), (exon_starts, exon_ends, bonus), (gap, penalty) = place, exons, costs
    own = programs.table[k]
    order, tracks = lay_out(len(codes), exon_starts, exon_ends, way[0])
    starts, track_rows, commits, ends, exit_rows, exit_ends, exit_tracks, by_end, first_by_end = (
        tracks
    )
    bonus, committed = bonus[order], first_by_end[commits]
    pieces = cut(exit_rows, exit_tracks, by_end, committed, capacity)
    filled = fill_warps(pieces, capacity)
    sources = programs.sources[own[SOURCES] :]
    tables = (
        programs.numbers[own[NUMBERS] :],
        sources,
        sources[of_piece.OF_SEGMENT * len(pieces.order) :],
    )
    lengths = exit_rows - track_rows[exit_tracks] + 1
    added = bonus - penalty + gap * lengths
    own[N_SOURCES] = arrange(pieces, filled, capacity, added, tables)
    stream = programs.symbols[own[SYMBOLS] : own[SYMBOLS] + track_rows[-1]]
    own[AMBIGUOUS] = write_stream(codes, starts, track_rows, way, stream)
    # a strand that is read against its direction has the target read from its end as well
    own[MIRRORED] = way[0] != way[1]
    own[N_STOPS], own[N_KEPT] = len(pieces.stops.ends), pieces.n_kept
    own[N_SEGMENTS], own[N_PIECES] = len(pieces.order), len(filled[1]) - 1
    own[LAST_TICK] = pieces.segments.ticks.max()
    own[N_EXITS], own[N_ENDS], own[MOST_BONUS] = len(order), len(ends), np.abs(bonus).max()
    own[BEST_BONUS] = best_bonus(commits, exit_tracks, exit_ends, bonus, len(ends), penalty)
    # a track is its longest exon
    own[LONGEST_TRACK] = np.diff(track_rows).max()
    own[MOST_EXITS] = np.diff(first_by_end).max()
    last = own[N_STOPS] + pieces.entries[-1]
    own[LAST_ENTRY] = stored_row(last, pieces.stops.virtual_lanes, capacity.late)
    own[LAST_COMMITTED] = committed[-1]
    _write_exits(programs, own[EXITS], tracks, pieces, bonus, capacity.late)
    exon_of_exit = programs.exon_of_exit[own[EXITS] // 8 :]
    for at in range(len(by_end)):
        exon_of_exit[at] = first_exon + order[by_end[at]]


@njit(cache=True, nogil=True)
def _write_exits(programs, first, tracks, pieces, bonus, late):
    """Write the rows of the table of exits, see `cuda_trace.trace_chains`."""
    starts, _, commits, ends, exit_rows, exit_ends, exit_tracks, by_end, first_by_end = tracks
    of_exon, virtual_lanes = pieces.stops.of_exon, pieces.stops.virtual_lanes
    entries, n_stops = pieces.entries, len(pieces.stops.ends)
    exits = programs.exits[first : first + 8 * len(by_end)].reshape(-1, 8)
    for at in range(len(by_end)):
        exon = by_end[at]
        end, track = exit_ends[exon], exit_tracks[exon]
        exits[at, exit_columns.ROW] = stored_row(of_exon[exon], virtual_lanes, late)
        exits[at, exit_columns.BONUS] = bonus[exon]
        exits[at, exit_columns.LENGTH] = ends[end] - starts[track]
        exits[at, exit_columns.LAST_ROW] = exit_rows[exon]
        exits[at, exit_columns.ENTRY] = stored_row(n_stops + entries[track], virtual_lanes, late)
        exits[at, exit_columns.COMMITTED] = first_by_end[commits[track]]
        exits[at, exit_columns.FIRST] = first_by_end[end]
        exits[at, exit_columns.PAST] = first_by_end[end + 1]


@kernel()
def place_sources(jobs, sources, targets, scoring, placed, words):
    """Write what depends on a job's target: places of the rows it reads, and the table words.

    Parameters
    ----------
    jobs : int64 array, shape (J, cuda_job.FIELDS)
    sources : int32 array
        Of programs, see `Programs`.
    targets : uint8 array
        Encoded targets.
    scoring : int32 array
        See `cuda_job`.
    placed, words : int32 array
        Written, see `cuda_packed.sweep_pieces`; behind a target's words those of S', which chains
        are followed with.
    """
    job, first = jobs[cuda.blockIdx.x], cuda.threadIdx.x
    given, out = sources[job[of_job.PROGRAM_SOURCES] :], placed[job[of_job.SOURCES] :]
    stride, segments = int32(job[of_job.STRIDE]), of_piece.OF_SEGMENT * job[of_job.SEGMENTS]
    for k in range(first, segments, cuda.blockDim.x):
        number = given[k]
        if k % of_piece.OF_SEGMENT == of_piece.KEPT:
            number = int32(0) if number == of_piece.NOT_KEPT else packed.place_of(number, stride)
        out[k] = number
    for k in range(first, job[of_job.N_SOURCES], cuda.blockDim.x):
        at = segments + of_piece.OF_SOURCE * k
        added = given[at + of_piece.ADDED]
        out[at + of_piece.ROW] = packed.place_of(given[at + of_piece.ROW], stride)
        out[at + of_piece.ADDED] = (added & int32(0xFFFF)) | (added << int32(16))
    target, length = targets[job[of_job.TARGET] :], job[of_job.COLUMNS] - 1
    room = job[of_job.WORD_ROOM]
    for k in range(first, length + packed.WORDS_AROUND, cuda.blockDim.x):
        column, out = k - (packed.WORD_LEAD + 1), words[job[of_job.WORDS] + k :]
        inside = 0 <= column < length
        if job[of_job.MIRRORED]:
            column = length - 1 - column
        raised = scoring[of_job.RAISED + target[column]] if inside else int32(0)
        for shift in range(packed.UNROLLED):
            out[shift * (room + 1)] = raised
        out[packed.UNROLLED * room] = (
            scoring[of_job.LIFTED + target[column]] if inside else int32(0)
        )
