"""A launch of list mode's kernels: the sweep of a batch of jobs, their best ends and chains.

The layout of a launch says what each job takes of each buffer, in elements of that buffer, and
which job each thread block sweeps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.dispatch import Buffers
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.spliced.columns import CaseColumns, Jobs
from gpu_tools.spliced.gpu import graph_tables, sweep, traceback, warp_tiles
from gpu_tools.spliced.gpu.graph_tables import GraphTables, write_job_inputs

_COPIED = (
    (sweep.TILES, graph_tables.N_TILES), (sweep.PARTS, graph_tables.N_PARTS),
    (sweep.SPANS, graph_tables.N_SPANS), (sweep.N_SOURCES, graph_tables.N_SOURCES),
    (sweep.N_EXITS, graph_tables.N_EXITS), (sweep.NUMBERS, graph_tables.NUMBERS),
    (sweep.GRAPH_SOURCES, graph_tables.SOURCES), (sweep.SYMBOLS, graph_tables.SYMBOLS),
)  # fmt: skip
"""Columns of the job table that are the same in the table of graphs."""


class Sizes(NamedTuple):
    """Elements of each buffer of a launch, per job or in all."""

    cells: NDArray[np.int64]
    sources: NDArray[np.int64]
    words: NDArray[np.int64]
    strips: NDArray[np.int64]
    borders: NDArray[np.int64]
    moves: NDArray[np.int64]
    found: NDArray[np.int64]

    @property
    def workspace(self):
        """Elements of the space in which chains are traced."""
        return self.strips + self.borders + self.moves

    @property
    def bytes(self):
        """Device memory; chains are there twice."""
        return 2 * self.cells + 4 * (self.sources + self.words + self.workspace + 2 * self.found)


class Layout(NamedTuple):
    """Jobs laid out for a launch."""

    jobs: Jobs
    table: NDArray[np.int64]  # (J, sweep.FIELDS)
    sizes: Sizes  # of all jobs together
    block_jobs: NDArray[np.int32]  # the job of each thread block


class BlockLimits(NamedTuple):
    """How many thread blocks jobs get at most."""

    per_tile: int  # for each warp tile of a job that is at work at the same time
    together: float  # for all jobs of a launch


def stride_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return elements of a stored row: all columns, and what early and late steps write."""
    return _rounded_up(lengths + 1 + sweep.LEAD + sweep.TAIL)


def _word_stride(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return elements of one copy of a target's words."""
    return _rounded_up(lengths + sweep.WORDS_AROUND + sweep.UNROLLED - 1)


def _rounded_up(count: NDArray[np.int64]) -> NDArray[np.int64]:
    return -(-count // sweep.UNROLLED) * sweep.UNROLLED


def sizes_of(graphs: NDArray[np.int64], jobs: Jobs) -> Sizes:
    """Return the sizes of each job."""
    own, columns = graphs[jobs.strands].T, jobs.lengths + 1
    longest = own[graph_tables.LONGEST_TRACK]
    strips = longest // traceback.STRIP + own[graph_tables.MOST_EXITS] + 1
    lanes = longest // traceback.SLOTS + strips
    sources = warp_tiles.PART_FIELDS * own[graph_tables.N_PARTS]
    sources = sources + warp_tiles.SOURCE_FIELDS * own[graph_tables.N_SOURCES]
    return Sizes(
        cells=(own[graph_tables.N_SPANS] + own[graph_tables.N_ABOVE]) * stride_of(jobs.lengths),
        sources=-(-sources // warp_tiles.PART_FIELDS) * warp_tiles.PART_FIELDS,
        words=(sweep.UNROLLED + 1) * _word_stride(jobs.lengths),
        strips=2 * strips,
        borders=2 * (columns + 2 * WARP),
        moves=lanes * (columns // 2 + 2 * WARP),
        # runs that are no deletions take a target symbol each, and a deletion follows one or begins
        found=1 + 2 * columns + own[graph_tables.N_ENDS] * (traceback.HEAD + 2),
    )


def lay_out(graphs: NDArray[np.int64], jobs: Jobs, limits: BlockLimits) -> Layout:
    """Lay out jobs for a launch."""
    sizes = sizes_of(graphs, jobs)
    begins = Sizes(*(np.cumsum(size) - size for size in sizes))
    table = np.empty((jobs.count, sweep.FIELDS), dtype=np.int64)
    own = graphs[jobs.strands]
    for column, graph_column in _COPIED:
        table[:, column] = own[:, graph_column]
    table[:, sweep.EXITS] = own[:, graph_tables.EXITS] // 8
    table[:, sweep.TARGET], table[:, sweep.COLUMNS] = jobs.targets, jobs.lengths + 1
    table[:, sweep.STRIDE] = stride_of(jobs.lengths)
    table[:, sweep.WORD_STRIDE] = _word_stride(jobs.lengths)
    table[:, sweep.CELLS], table[:, sweep.SOURCES] = begins.cells, begins.sources
    table[:, sweep.WORDS], table[:, sweep.FOUND] = begins.words, begins.found
    # the space in which one chain is traced lies together
    table[:, sweep.STRIPS] = begins.workspace
    table[:, sweep.BORDERS] = begins.workspace + sizes.strips
    table[:, sweep.MOVES] = begins.workspace + sizes.strips + sizes.borders
    table[:, sweep.FIRST_RIVAL], table[:, sweep.PAST_RIVALS] = _rivals(jobs.cases)
    totals = Sizes(*(int(size.sum()) for size in sizes))
    return Layout(jobs, table, totals, _jobs_of_blocks(own, jobs.lengths, limits))


def _rivals(cases: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each job the first of its case's jobs, and the first behind them."""
    firsts = np.flatnonzero(np.diff(cases, prepend=-1))
    counts = np.diff(firsts, append=len(cases))
    return np.repeat(firsts, counts), np.repeat(firsts + counts, counts)


def _jobs_of_blocks(
    graphs: NDArray[np.int64], lengths: NDArray[np.int64], limits: BlockLimits
) -> NDArray[np.int32]:
    """Return the job of each thread block, those with the most work for a block first.

    A job gets blocks for the warp tiles that are at work at the same time and for some that come
    next, but no more than its share of the work.
    """
    tiles, last_ticks = graphs[:, graph_tables.N_TILES], graphs[:, graph_tables.LAST_TICK]
    chunks = -(-lengths // sweep.CHUNK)
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
        count, stream = layout.jobs.count, buffers.stream
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
        count, stream = self.layout.jobs.count, buffers.stream
        found = buffers.array("found", sizes.found, np.int32)
        written = buffers.array("written", count, np.int32)
        workspace = buffers.array("workspace", sizes.workspace, np.int32)
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
