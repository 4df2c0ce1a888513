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
from gpu_tools.spliced.gpu import sweep, traceback, warp_tiles
from gpu_tools.spliced.gpu.warp_tiles import (
    TileTables,
    arrange,
    cut,
    fill_warps,
    most_parts,
    most_sources,
    stored_row,
)

# columns of the table of graphs: counts, bounds on the cells, where the graph's tables begin
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
    """Exon graphs of P strands as tables; stored rows are numbered, for any target length."""

    table: NDArray[np.int64]  # (P, FIELDS)
    numbers: NDArray[np.int32]  # see `sweep.sweep_warp_tiles`
    sources: NDArray[np.int32]  # see `sweep.sweep_warp_tiles`
    exits: NDArray[np.int32]  # rows of 8, see `traceback.trace_chains`
    symbols: NDArray[np.uint8]  # nucleotides of the graphs' rows
    exon_of_exit: NDArray[np.int64]  # (B,) number of each exit's exon among those of all strands
    starts: NDArray[np.int64]  # (B,) of those exons
    ends: NDArray[np.int64]  # (B,)


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

    Returned are upper bounds: of the elements of all strands together, and of each strand's rows.
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
        # there are no more tiles than parts; see `arrange`
        parts = most_parts(spans, past - first)
        numbers += 3 * parts + 3 * spans + 2
        sources += warp_tiles.PART_FIELDS * parts
        sources += warp_tiles.SOURCE_FIELDS * most_sources(spans, past - first)
        exits, symbols = exits + 8 * (past - first), symbols + rows[k]
    return (numbers, sources, exits, symbols), rows


@njit(cache=True, nogil=True)
def _lay_out_next(order, taken, strands, bonus, costs, capacity, tables):
    """Lay out strands in the given order, each one on the first free thread."""
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
    track_rows, commits, by_end = tracks.rows, tracks.commits, tracks.by_end
    bonus, committed = exons.bonus[order], tracks.first_by_end[commits]
    tiles = cut(tracks.last_rows, tracks.exon_tracks, by_end, committed, capacity)
    filled = fill_warps(tiles, capacity)
    parts = tables.sources[own[SOURCES] :]
    sources = parts[warp_tiles.PART_FIELDS * len(tiles.order) :]
    tile_tables = TileTables(tables.numbers[own[NUMBERS] :], parts, sources)
    lengths = tracks.last_rows - track_rows[tracks.exon_tracks] + 1
    added = bonus - penalty + gap * lengths
    own[N_SOURCES] = arrange(tiles, filled, capacity, added, tile_tables)
    stream = tables.symbols[own[SYMBOLS] : own[SYMBOLS] + track_rows[-1]]
    own[AMBIGUOUS] = write_stream(codes, tracks, reverse, stream)
    own[N_SPANS], own[N_ABOVE] = len(tiles.spans.ends), tiles.n_above
    own[N_PARTS], own[N_TILES] = len(tiles.order), len(filled[1]) - 1
    own[LAST_TICK] = tiles.parts.ticks.max()
    own[N_EXITS], own[N_ENDS], own[MOST_BONUS] = len(order), len(tracks.ends), np.abs(bonus).max()
    own[BEST_BONUS] = best_bonus(
        commits, tracks.exon_tracks, tracks.exon_ends, bonus, len(tracks.ends), penalty
    )
    # a track is its longest exon
    own[LONGEST_TRACK] = np.diff(track_rows).max()
    own[MOST_EXITS] = np.diff(tracks.first_by_end).max()
    _write_exits(tables, own[EXITS], tracks, tiles, bonus, capacity.late)
    exon_of_exit = tables.exon_of_exit[own[EXITS] // 8 :]
    for at in range(len(by_end)):
        exon_of_exit[at] = exons.first + order[by_end[at]]


@njit(nogil=True)
def _write_exits(tables, first, tracks, tiles, bonus, late):
    """Write the rows of the table of exits, see `traceback.trace_chains`."""
    starts, _, commits, ends, last_rows, exon_ends, exon_tracks, by_end, first_by_end = tracks
    of_exon, virtual_lanes = tiles.spans.of_exon, tiles.spans.virtual_lanes
    entries, n_spans = tiles.entries, len(tiles.spans.ends)
    exits = tables.exits[first : first + 8 * len(by_end)].reshape(-1, 8)
    for at in range(len(by_end)):
        exon = by_end[at]
        end, track = exon_ends[exon], exon_tracks[exon]
        exits[at, traceback.ROW] = stored_row(of_exon[exon], virtual_lanes, late)
        exits[at, traceback.BONUS] = bonus[exon]
        exits[at, traceback.LENGTH] = ends[end] - starts[track]
        exits[at, traceback.LAST_ROW] = last_rows[exon]
        exits[at, traceback.ENTRY] = stored_row(n_spans + entries[track], virtual_lanes, late)
        exits[at, traceback.COMMITTED] = first_by_end[commits[track]]
        exits[at, traceback.FIRST] = first_by_end[end]
        exits[at, traceback.PAST] = first_by_end[end + 1]


@kernel()
def write_job_inputs(jobs, graph_sources, targets, scoring, sources, words):
    """Write what depends on a job's target: offsets of its input rows, and its words."""
    job = jobs[cuda.blockIdx.x]
    _write_sources(job, graph_sources[job[sweep.GRAPH_SOURCES] :], sources[job[sweep.SOURCES] :])
    _write_words(job, targets[job[sweep.TARGET] :], scoring, words[job[sweep.WORDS] :])


@cuda.jit(device=True)
def _write_sources(job, numbers, out):
    """Write the parts and the sources of a job, with offsets in place of row numbers."""
    stride, parts = int32(job[sweep.STRIDE]), warp_tiles.PART_FIELDS * job[sweep.PARTS]
    for k in range(cuda.threadIdx.x, parts, cuda.blockDim.x):
        number = numbers[k]
        if k % warp_tiles.PART_FIELDS == warp_tiles.ABOVE:
            number = (
                int32(0) if number == warp_tiles.NOT_STORED else sweep.offset_of(number, stride)
            )
        out[k] = number
    for k in range(cuda.threadIdx.x, job[sweep.N_SOURCES], cuda.blockDim.x):
        at = parts + warp_tiles.SOURCE_FIELDS * k
        added = numbers[at + warp_tiles.ADDED]
        out[at + warp_tiles.ROW] = sweep.offset_of(numbers[at + warp_tiles.ROW], stride)
        out[at + warp_tiles.ADDED] = (added & int32(0xFFFF)) | (added << int32(16))


@cuda.jit(device=True)
def _write_words(job, target, scoring, words):
    """Write the words of a target: for S'' several times, each shifted by one, then for S'."""
    length, stride = job[sweep.COLUMNS] - 1, job[sweep.WORD_STRIDE]
    for k in range(cuda.threadIdx.x, length + sweep.WORDS_AROUND, cuda.blockDim.x):
        column, out = k - (sweep.WORD_LEAD + 1), words[k:]
        raised = lifted = int32(0)
        if 0 <= column < length:
            raised = scoring[sweep.RAISED + target[column]]
            lifted = scoring[sweep.LIFTED + target[column]]
        for shift in range(sweep.UNROLLED):
            out[shift * (stride + 1)] = raised
        out[sweep.UNROLLED * stride] = lifted
