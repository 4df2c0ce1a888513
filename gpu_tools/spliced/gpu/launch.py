"""Exon graphs as tables for the kernels, and launches: sweep, best ends and chains of a batch.

The graphs are laid out once for all their targets. The layout of a launch says what each job takes
of each buffer, in elements of that buffer, and which job each thread block sweeps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import cuda, int32
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.dispatch import Buffers
from gpu_tools.hardware.gpu.intrinsics.words import WARP, kernel
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced.case import CaseColumns, Strands
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

# Exon graphs of many strands as tables for the kernels, laid out once for all their targets.


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


_COPIED = (
    (sweep.TILES, N_TILES), (sweep.PARTS, N_PARTS),
    (sweep.SPANS, N_SPANS), (sweep.N_SOURCES, N_SOURCES),
    (sweep.N_EXITS, N_EXITS), (sweep.NUMBERS, NUMBERS),
    (sweep.GRAPH_SOURCES, SOURCES), (sweep.SYMBOLS, SYMBOLS),
)  # fmt: skip
"""Columns of the job table that are the same in the table of graphs."""


class Sizes(NamedTuple):
    """Elements of each buffer of a launch, for one job or for all."""

    cells: int
    sources: int
    words: int
    strips: int
    borders: int
    moves: int
    found: int


class Layout(NamedTuple):
    """Jobs laid out for a launch."""

    jobs: NDArray[np.int64]  # (J,) numbers among those of all cases
    table: NDArray[np.int64]  # (J, sweep.FIELDS)
    sizes: Sizes  # of all jobs together
    block_jobs: NDArray[np.int32]  # the job of each thread block


class BlockLimits(NamedTuple):
    """How many thread blocks jobs get at most."""

    per_tile: int  # for each warp tile of a job that is at work at the same time
    together: float  # for all jobs of a launch


@register_jitable
def stride_of(length):
    """Return elements of a stored row: all columns, and what early and late steps write."""
    return _rounded_up(length + 1 + sweep.LEAD + sweep.TAIL, sweep.UNROLLED)


@register_jitable
def _word_stride(length):
    """Return elements of one copy of a target's words."""
    return _rounded_up(length + sweep.WORDS_AROUND + sweep.UNROLLED - 1, sweep.UNROLLED)


@register_jitable
def _rounded_up(count, unit):
    return -(-count // unit) * unit


@register_jitable
def _sizes_of(graph, length):
    """Return the sizes of a job."""
    longest, columns = graph[LONGEST_TRACK], length + 1
    strips = longest // traceback.STRIP + graph[MOST_EXITS] + 1
    lanes = longest // traceback.SLOTS + strips
    parts = warp_tiles.PART_FIELDS * graph[N_PARTS]
    return Sizes(
        (graph[N_SPANS] + graph[N_ABOVE]) * stride_of(length),
        _rounded_up(
            parts + warp_tiles.SOURCE_FIELDS * graph[N_SOURCES], warp_tiles.PART_FIELDS
        ),
        (sweep.UNROLLED + 1) * _word_stride(length),
        2 * strips,
        2 * (columns + 2 * WARP),
        lanes * (columns // 2 + 2 * WARP),
        # runs that are no deletions take a target symbol each, and a deletion follows one or begins
        1 + 2 * columns + graph[N_ENDS] * (traceback.HEAD + 2),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def case_bytes(graphs, jobs, first_jobs):
    """Return the device memory of each case; chains are there twice."""
    found = np.zeros(len(first_jobs) - 1, np.int64)
    for case in range(len(found)):
        for job in range(first_jobs[case], first_jobs[case + 1]):
            own = _sizes_of(graphs[jobs.strands[job]], jobs.lengths[job])
            others = own.sources + own.words + own.strips + own.borders + own.moves
            found[case] += 2 * own.cells + 4 * (others + 2 * own.found)
    return found


def lay_out_jobs(
    graphs: NDArray[np.int64], columns: CaseColumns, cases: NDArray[np.int64], limits: BlockLimits
) -> Layout:
    """Lay out the jobs of cases for a launch."""
    jobs, table, last_ticks, sizes = _write_jobs(graphs, columns.jobs, columns.first_jobs, cases)
    block_jobs = _jobs_of_blocks(table, last_ticks, limits)
    return Layout(jobs, table, Sizes(*sizes), block_jobs)


@njit(cache=True, nogil=True)
def _write_jobs(graphs, jobs, first_jobs, cases):
    """Return numbers, job table and last ticks of cases' jobs, and the sizes of all together.

    The space in which one chain is traced lies together.
    """
    count, k = 0, 0
    for case in cases:
        count += first_jobs[case + 1] - first_jobs[case]
    numbers, last_ticks = np.empty(count, np.int64), np.empty(count, np.int64)
    table = np.empty((count, sweep.FIELDS), np.int64)
    cells, sources, words, workspace, found = 0, 0, 0, 0, 0
    strips, borders, moves = 0, 0, 0
    for case in cases:
        first, past = k, k + first_jobs[case + 1] - first_jobs[case]
        for number in range(first_jobs[case], first_jobs[case + 1]):
            job, graph, length = table[k], graphs[jobs.strands[number]], jobs.lengths[number]
            numbers[k], last_ticks[k], k = number, graph[LAST_TICK], k + 1
            for at in range(len(_COPIED)):
                job[_COPIED[at][0]] = graph[_COPIED[at][1]]
            own = _sizes_of(graph, length)
            job[sweep.EXITS] = graph[EXITS] // 8
            job[sweep.TARGET], job[sweep.COLUMNS] = jobs.targets[number], length + 1
            job[sweep.STRIDE], job[sweep.WORD_STRIDE] = stride_of(length), _word_stride(length)
            job[sweep.CELLS], job[sweep.SOURCES], job[sweep.WORDS] = cells, sources, words
            job[sweep.STRIPS], job[sweep.BORDERS] = workspace, workspace + own.strips
            job[sweep.MOVES], job[sweep.FOUND] = workspace + own.strips + own.borders, found
            job[sweep.FIRST_RIVAL], job[sweep.PAST_RIVALS] = first, past
            cells, sources, words = cells + own.cells, sources + own.sources, words + own.words
            strips, borders, moves = strips + own.strips, borders + own.borders, moves + own.moves
            workspace, found = strips + borders + moves, found + own.found
    return numbers, table, last_ticks, (cells, sources, words, strips, borders, moves, found)


def _jobs_of_blocks(table, last_ticks, limits: BlockLimits) -> NDArray[np.int32]:
    """Return the job of each thread block, those with the most work for a block first.

    A job gets blocks for the warp tiles that are at work at the same time and for some that come
    next, but no more than its share of the work.
    """
    tiles, chunks = table[:, sweep.TILES], -(-(table[:, sweep.COLUMNS] - 1) // sweep.CHUNK)
    work = (tiles * chunks).astype(np.float64)
    blocks = limits.per_tile * work / (last_ticks + chunks)
    blocks = np.ceil(np.minimum(blocks, work * (limits.together / work.sum())))
    blocks = np.clip(blocks, 1, tiles).astype(np.int64)
    order = np.argsort(-work / blocks, kind="stable")
    return np.repeat(order, blocks[order]).astype(np.int32)


_THREADS = 4 if simulated() else 128


class Resident(NamedTuple):
    """What all launches of a call read, in the memory of a GPU; there once `ready` has happened."""

    numbers: object
    sources: object
    exits: object
    symbols: object
    targets: object
    scoring: object
    ready: object

    @classmethod
    def copy(
        cls,
        graphs: GraphTables,
        columns: CaseColumns,
        scoring: NDArray[np.int32],
        buffers: Buffers,
    ) -> Resident:
        """Copy graphs, targets and the scoring to the current GPU."""
        copies = [
            buffers.copy(f"resident {name}", values)
            for name, values in (
                ("numbers", graphs.numbers), ("sources", graphs.sources),
                ("exits", graphs.exits.reshape(-1, 8)), ("symbols", graphs.symbols),
                ("targets", columns.targets), ("scoring", scoring),
            )
        ]  # fmt: skip
        ready = cuda.event()
        ready.record(buffers.stream)
        return cls(*copies, ready)


class ListLaunch:
    """A batch of jobs on the current GPU: launches go to the stream of the buffers.

    All jobs fit 16-bit cells. `apart` as in `GpuWork`. The buffers are in use until the results
    have been taken.
    """

    def __init__(self, resident: Resident, layout: Layout, apart: bool, buffers: Buffers):
        self.resident, self.layout, self.buffers = resident, layout, buffers
        # the simulator gets by with one warp, which does the work of both
        self.warps = 2 if apart and not simulated() else 1
        self.table = buffers.copy("jobs", layout.table)
        self.cells = buffers.array("cells", layout.sizes.cells, np.int16)
        self.words = buffers.array("words", layout.sizes.words, np.int32)

    def run(self) -> None:
        """Clear what the kernels write and start the sweep and the search for best ends."""
        layout, resident, buffers = self.layout, self.resident, self.buffers
        count, stream = len(layout.jobs), buffers.stream
        buffers.filled("cells", layout.sizes.cells, np.int16, sweep.NEVER_BYTE)
        sources = buffers.array("sources", layout.sizes.sources, np.int32)
        counters = buffers.filled("counters", count, np.int32)
        block_jobs = buffers.copy("block jobs", layout.block_jobs)
        resident.ready.wait(stream)
        write_job_inputs[count, _THREADS, stream](
            self.table, resident.sources, resident.targets, resident.scoring, sources, self.words
        )
        sweep.sweep_warp_tiles[len(layout.block_jobs), (WARP, self.warps), stream](
            self.table, block_jobs, resident.numbers, sources, resident.symbols, self.words,
            self.cells, counters, resident.scoring,
        )  # fmt: skip
        self.best = buffers.filled("best", count, np.int64)
        traceback.find_ends[count, traceback.FINDERS, stream](
            self.table, resident.exits, self.cells, self.best, resident.scoring
        )
        self._best = buffers.fetch("best", self.best, count)

    def trace(self) -> None:
        """Start the traceback of the chains that win their cases."""
        sizes, resident, buffers = self.layout.sizes, self.resident, self.buffers
        count, stream = len(self.layout.jobs), buffers.stream
        found = buffers.array("found", sizes.found, np.int32)
        written = buffers.array("written", count, np.int32)
        workspace = buffers.array("workspace", sizes.strips + sizes.borders + sizes.moves, np.int32)
        traceback.trace_chains[count, WARP, stream](
            self.table, resident.exits, resident.symbols, self.words, resident.targets,
            self.cells, self.best, workspace, written, found, resident.scoring,
        )  # fmt: skip
        used = buffers.filled("used", 1, np.int32)
        firsts = buffers.array("firsts", count, np.int32)
        self._gathered = buffers.array("gathered", sizes.found, np.int32)
        traceback.gather[count, _THREADS, stream](
            found, written, self.table, used, firsts, self._gathered
        )
        self._used = buffers.fetch("used", used, 1)
        self._firsts = buffers.fetch("firsts", firsts, count)

    def best_numbers(self) -> NDArray[np.int64]:
        """Wait for the launch and return the jobs' best ends, see `traceback.find_ends`."""
        self.buffers.stream.synchronize()
        return self._best

    def chain_words(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Wait for the traceback and return what it wrote, and where each job's part begins."""
        self.buffers.stream.synchronize()
        words = self.buffers.fetch("words", self._gathered, int(self._used[0]))
        self.buffers.stream.synchronize()
        # pinned memory takes too long to make for each result
        return words.copy(), self._firsts.copy()
