"""The layout of a launch: what each job takes of the buffers, and the job of each thread block.

Sizes are in elements of the buffer in question.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.spliced.columns import Jobs
from gpu_tools.spliced.gpu import graph_tables as of_graph
from gpu_tools.spliced.gpu import job_table as of_job
from gpu_tools.spliced.gpu import sweep, traceback
from gpu_tools.spliced.gpu import tile_tables as of_tile
from gpu_tools.spliced.gpu import traceback_strip as of_strip

_COPIED = (
    (of_job.TILES, of_graph.N_TILES), (of_job.PARTS, of_graph.N_PARTS),
    (of_job.SPANS, of_graph.N_SPANS), (of_job.N_SOURCES, of_graph.N_SOURCES),
    (of_job.N_EXITS, of_graph.N_EXITS), (of_job.NUMBERS, of_graph.NUMBERS),
    (of_job.GRAPH_SOURCES, of_graph.SOURCES), (of_job.SYMBOLS, of_graph.SYMBOLS),
)  # fmt: skip
"""Columns of the job table that are the same in the table of graphs."""


class Sizes(NamedTuple):
    """Elements that jobs take in each buffer of a launch: of each job an array, or of all a sum."""

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
    """Jobs laid out for a launch.

    Attributes
    ----------
    jobs : Jobs
    table : ndarray of int64, shape (J, job_table.FIELDS)
    sizes : Sizes
        Of all jobs together.
    block_jobs : ndarray of int32
        The job of each thread block.
    """

    jobs: Jobs
    table: NDArray[np.int64]
    sizes: Sizes
    block_jobs: NDArray[np.int32]


class BlockLimits(NamedTuple):
    """How many thread blocks jobs get at most.

    Attributes
    ----------
    per_tile : int
        For each warp tile of a job that is at work at the same time.
    together : float
        For all jobs of a launch.
    """

    per_tile: int
    together: float


def stride_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return elements of a stored row: all columns, and what early and late steps write."""
    return _rounded_up(lengths + 1 + sweep.LEAD + sweep.TAIL)


def _word_stride(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return elements of one copy of a target's words."""
    return _rounded_up(lengths + sweep.WORDS_AROUND + sweep.UNROLLED - 1)


def _rounded_up(count: NDArray[np.int64]) -> NDArray[np.int64]:
    return -(-count // sweep.UNROLLED) * sweep.UNROLLED


def sizes_of(graphs: NDArray[np.int64], jobs: Jobs) -> Sizes:
    """Return what each job takes.

    Parameters
    ----------
    graphs : ndarray of int64, shape (P, graph_tables.FIELDS)
    jobs : Jobs
    """
    own, columns = graphs[jobs.strands].T, jobs.lengths + 1
    longest = own[of_graph.LONGEST_TRACK]
    strips = longest // of_strip.STRIP + own[of_graph.MOST_EXITS] + 1
    lanes = longest // of_strip.SLOTS + strips
    sources = of_tile.PART_FIELDS * own[of_graph.N_PARTS]
    sources = sources + of_tile.SOURCE_FIELDS * own[of_graph.N_SOURCES]
    return Sizes(
        cells=(own[of_graph.N_SPANS] + own[of_graph.N_ABOVE]) * stride_of(jobs.lengths),
        sources=-(-sources // of_tile.PART_FIELDS) * of_tile.PART_FIELDS,
        words=(sweep.UNROLLED + 1) * _word_stride(jobs.lengths),
        strips=2 * strips,
        borders=2 * (columns + 2 * WARP),
        moves=lanes * (columns // 2 + 2 * WARP),
        # runs that are no deletions take a target symbol each, and a deletion follows one or begins
        found=1 + 2 * columns + own[of_graph.N_ENDS] * (traceback.HEAD + 2),
    )


def lay_out(graphs: NDArray[np.int64], jobs: Jobs, limits: BlockLimits) -> Layout:
    """Lay out jobs for a launch.

    Parameters
    ----------
    graphs : ndarray of int64, shape (P, graph_tables.FIELDS)
    jobs : Jobs
        Those of a case follow each other.
    limits : BlockLimits
    """
    sizes = sizes_of(graphs, jobs)
    begins = Sizes(*(np.cumsum(size) - size for size in sizes))
    table = np.empty((jobs.count, of_job.FIELDS), dtype=np.int64)
    own = graphs[jobs.strands]
    for column, graph_column in _COPIED:
        table[:, column] = own[:, graph_column]
    table[:, of_job.EXITS] = own[:, of_graph.EXITS] // 8
    table[:, of_job.TARGET], table[:, of_job.COLUMNS] = jobs.targets, jobs.lengths + 1
    table[:, of_job.STRIDE] = stride_of(jobs.lengths)
    table[:, of_job.WORD_STRIDE] = _word_stride(jobs.lengths)
    table[:, of_job.CELLS], table[:, of_job.SOURCES] = begins.cells, begins.sources
    table[:, of_job.WORDS], table[:, of_job.FOUND] = begins.words, begins.found
    # the space in which one chain is traced lies together
    table[:, of_job.STRIPS] = begins.workspace
    table[:, of_job.BORDERS] = begins.workspace + sizes.strips
    table[:, of_job.MOVES] = begins.workspace + sizes.strips + sizes.borders
    table[:, of_job.FIRST_RIVAL], table[:, of_job.PAST_RIVALS] = _rivals(jobs.cases)
    totals = Sizes(*(int(size.sum()) for size in sizes))
    return Layout(jobs, table, totals, _jobs_of_blocks(own, jobs.lengths, limits))


def _rivals(cases: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return of each job the first of the jobs of its case, and the first behind them."""
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
    tiles, last_ticks = graphs[:, of_graph.N_TILES], graphs[:, of_graph.LAST_TICK]
    chunks = -(-lengths // sweep.CHUNK)
    work = (tiles * chunks).astype(np.float64)
    blocks = limits.per_tile * work / (last_ticks + chunks)
    blocks = np.ceil(np.minimum(blocks, work * (limits.together / work.sum())))
    blocks = np.clip(blocks, 1, tiles).astype(np.int64)
    order = np.argsort(-work / blocks, kind="stable")
    return np.repeat(order, blocks[order]).astype(np.int32)
