"""Exon graphs of many strands as tables for the kernels, laid out once for all their targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import cuda, int32
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.gpu.intrinsics.words import kernel
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced.columns import Strands
from gpu_tools.spliced.exon_graph import best_bonus, lay_out, write_stream
from gpu_tools.spliced.gpu import best_ends as exit_columns
from gpu_tools.spliced.gpu import sweep
from gpu_tools.spliced.gpu import sweep as of_job
from gpu_tools.spliced.gpu import warp_tiles as of_tile
from gpu_tools.spliced.gpu.warp_tiles import (
    TileTables,
    arrange,
    cut,
    fill_warps,
    most_parts,
    most_sources,
    stored_row,
)

# columns of the table of graphs: counts, what bounds the cells, where the graph's tables begin
(
    N_SPANS, N_ABOVE, N_PARTS, N_TILES, N_SOURCES, N_EXITS, N_ENDS,
    LONGEST_TRACK, MOST_EXITS, MOST_BONUS, BEST_BONUS, AMBIGUOUS,
    LAST_TICK, NUMBERS, SOURCES, EXITS, SYMBOLS, FIELDS,
) = range(18)  # fmt: skip

_STRANDS_PER_THREAD = 32
_MOST_THREADS = 8
"""More threads take longer to begin than they save."""


class StrandExons(NamedTuple):
    """The exons of one strand: starts, ends, bonuses, and the number of the first among all."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    bonus: NDArray[np.int64]
    first: int


class GraphTables(NamedTuple):
    """Exon graphs of strands as tables.

    Attributes
    ----------
    table : ndarray of int64, shape (P, FIELDS)
    numbers, sources : ndarray of int32
        See `sweep.sweep_warp_tiles`; stored rows are numbered, their offsets depend on the target.
    exits : ndarray of int32
        Rows of 8, see `traceback.trace_chains`.
    symbols : ndarray of uint8
        Nucleotides of the graphs' rows.
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


def lay_out_graphs(
    strands: Strands,
    scoring: SplicedScoring,
    apart: bool,
    threads: int,
    empty: Callable[[str, int, type], NDArray],
) -> GraphTables:
    """Lay out the exon graphs of strands."""
    table = np.empty((strands.count, FIELDS), dtype=np.int64)
    sizes, rows = _plan(strands, sweep.CAPACITY, table)
    tables = GraphTables(
        table,
        empty("numbers", sizes[0], np.int32), empty("sources", sizes[1], np.int32),
        empty("exits", sizes[2], np.int32), empty("symbols", sizes[3], np.uint8),
        np.empty(len(strands.starts), dtype=np.int64), strands.starts, strands.ends,
    )  # fmt: skip
    bonus = scoring.exon_bonus(strands.scores)
    costs = scoring.gap, scoring.intron_penalty
    capacity = sweep.APART if apart else sweep.CAPACITY
    order, taken = np.argsort(-rows, kind="stable"), np.zeros(1, dtype=np.int64)
    inputs = order, taken, strands, bonus, costs, capacity, tables
    threads = min(threads, _MOST_THREADS, max(strands.count // _STRANDS_PER_THREAD, 1))
    map_on_threads(threads, lambda _: _lay_out_next(*inputs), range(threads))
    return tables


@njit(cache=True, nogil=True)
def _plan(strands, capacity, table):
    """Write where each strand's numbers, sources, exits and symbols begin.

    Returned are the elements that all strands take together, and the rows of each strand, both at
    most.
    """
    rows = np.zeros(len(table), dtype=np.int64)
    numbers, sources, exits, symbols = 0, 0, 0, 0
    for k in range(len(table)):
        first, past = strands.first_exons[k], strands.first_exons[k + 1]
        for exon in range(first, past):
            rows[k] += strands.ends[exon] - strands.starts[exon]
        table[k, NUMBERS], table[k, SOURCES] = numbers, sources
        table[k, EXITS], table[k, SYMBOLS] = exits, symbols
        spans = past - first + rows[k] // (2 * capacity.lanes * capacity.slots) + 1
        # there are no more tiles than parts; see `tile_tables.arrange`
        parts = most_parts(spans, past - first)
        numbers += 3 * parts + 3 * spans + 2
        sources += of_tile.PART_FIELDS * parts
        sources += of_tile.SOURCE_FIELDS * most_sources(spans, past - first)
        exits, symbols = exits + 8 * (past - first), symbols + rows[k]
    return (numbers, sources, exits, symbols), rows


@njit(cache=True, nogil=True)
def _lay_out_next(order, taken, strands, bonus, costs, capacity, tables):
    """Lay out strands, in an order, that no other thread has taken."""
    at = simd.fetch_add(taken, 0, 1)
    while at < len(order):
        k = order[at]
        first, past = strands.first_exons[k], strands.first_exons[k + 1]
        exons = StrandExons(
            strands.starts[first:past], strands.ends[first:past], bonus[first:past], first
        )
        codes = simd.bytes_at(strands.addresses[k], strands.lengths[k])
        _lay_out(codes, exons, strands.reverse[k], costs, capacity, tables, k)
        at = simd.fetch_add(taken, 0, 1)


@njit(nogil=True)
def _lay_out(codes, exons, reverse, costs, capacity, tables, k):
    """Lay out the graph of strand `k`; `costs` are the gap score and the intron penalty."""
    gap, penalty = costs
    own = tables.table[k]
    order, tracks = lay_out(len(codes), exons.starts, exons.ends, reverse)
    starts, track_rows, commits, ends, exit_rows, exit_ends, exit_tracks, by_end, first_by_end = (
        tracks
    )
    bonus, committed = exons.bonus[order], first_by_end[commits]
    tiles = cut(exit_rows, exit_tracks, by_end, committed, capacity)
    filled = fill_warps(tiles, capacity)
    parts = tables.sources[own[SOURCES] :]
    sources = parts[of_tile.PART_FIELDS * len(tiles.order) :]
    tile_tables = TileTables(tables.numbers[own[NUMBERS] :], parts, sources)
    lengths = exit_rows - track_rows[exit_tracks] + 1
    added = bonus - penalty + gap * lengths
    own[N_SOURCES] = arrange(tiles, filled, capacity, added, tile_tables)
    stream = tables.symbols[own[SYMBOLS] : own[SYMBOLS] + track_rows[-1]]
    own[AMBIGUOUS] = write_stream(codes, starts, track_rows, (reverse, reverse), stream)
    own[N_SPANS], own[N_ABOVE] = len(tiles.spans.ends), tiles.n_above
    own[N_PARTS], own[N_TILES] = len(tiles.order), len(filled[1]) - 1
    own[LAST_TICK] = tiles.parts.ticks.max()
    own[N_EXITS], own[N_ENDS], own[MOST_BONUS] = len(order), len(ends), np.abs(bonus).max()
    own[BEST_BONUS] = best_bonus(commits, exit_tracks, exit_ends, bonus, len(ends), penalty)
    # a track is its longest exon
    own[LONGEST_TRACK] = np.diff(track_rows).max()
    own[MOST_EXITS] = np.diff(first_by_end).max()
    _write_exits(tables, own[EXITS], tracks, tiles, bonus, capacity.late)
    exon_of_exit = tables.exon_of_exit[own[EXITS] // 8 :]
    for at in range(len(by_end)):
        exon_of_exit[at] = exons.first + order[by_end[at]]


@njit(nogil=True)
def _write_exits(tables, first, tracks, tiles, bonus, late):
    """Write the rows of the table of exits, see `traceback.trace_chains`."""
    starts, _, commits, ends, exit_rows, exit_ends, exit_tracks, by_end, first_by_end = tracks
    of_exon, virtual_lanes = tiles.spans.of_exon, tiles.spans.virtual_lanes
    entries, n_spans = tiles.entries, len(tiles.spans.ends)
    exits = tables.exits[first : first + 8 * len(by_end)].reshape(-1, 8)
    for at in range(len(by_end)):
        exon = by_end[at]
        end, track = exit_ends[exon], exit_tracks[exon]
        exits[at, exit_columns.ROW] = stored_row(of_exon[exon], virtual_lanes, late)
        exits[at, exit_columns.BONUS] = bonus[exon]
        exits[at, exit_columns.LENGTH] = ends[end] - starts[track]
        exits[at, exit_columns.LAST_ROW] = exit_rows[exon]
        exits[at, exit_columns.ENTRY] = stored_row(n_spans + entries[track], virtual_lanes, late)
        exits[at, exit_columns.COMMITTED] = first_by_end[commits[track]]
        exits[at, exit_columns.FIRST] = first_by_end[end]
        exits[at, exit_columns.PAST] = first_by_end[end + 1]


@kernel()
def write_job_inputs(jobs, graph_sources, targets, scoring, sources, words):
    """Write what depends on a job's target: offsets of its input rows, and its words."""
    job = jobs[cuda.blockIdx.x]
    _write_sources(job, graph_sources[job[of_job.GRAPH_SOURCES] :], sources[job[of_job.SOURCES] :])
    _write_words(job, targets[job[of_job.TARGET] :], scoring, words[job[of_job.WORDS] :])


@cuda.jit(device=True)
def _write_sources(job, numbers, out):
    """Write the parts and the sources of a job, with offsets in place of row numbers."""
    stride, parts = int32(job[of_job.STRIDE]), of_tile.PART_FIELDS * job[of_job.PARTS]
    for k in range(cuda.threadIdx.x, parts, cuda.blockDim.x):
        number = numbers[k]
        if k % of_tile.PART_FIELDS == of_tile.ABOVE:
            number = int32(0) if number == of_tile.NOT_STORED else sweep.offset_of(number, stride)
        out[k] = number
    for k in range(cuda.threadIdx.x, job[of_job.N_SOURCES], cuda.blockDim.x):
        at = parts + of_tile.SOURCE_FIELDS * k
        added = numbers[at + of_tile.ADDED]
        out[at + of_tile.ROW] = sweep.offset_of(numbers[at + of_tile.ROW], stride)
        out[at + of_tile.ADDED] = (added & int32(0xFFFF)) | (added << int32(16))


@cuda.jit(device=True)
def _write_words(job, target, scoring, words):
    """Write the words of a target: for S'' several times, each shifted by one, then for S'."""
    length, stride = job[of_job.COLUMNS] - 1, job[of_job.WORD_STRIDE]
    for k in range(cuda.threadIdx.x, length + sweep.WORDS_AROUND, cuda.blockDim.x):
        column, out = k - (sweep.WORD_LEAD + 1), words[k:]
        raised = lifted = int32(0)
        if 0 <= column < length:
            raised = scoring[of_job.RAISED + target[column]]
            lifted = scoring[of_job.LIFTED + target[column]]
        for shift in range(sweep.UNROLLED):
            out[shift * (stride + 1)] = raised
        out[sweep.UNROLLED * stride] = lifted
