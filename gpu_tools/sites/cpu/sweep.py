"""Site mode on a CPU: the sweep, which strand is swept when by how many threads, the traceback.

The sweep computes one row a nucleotide; lanes of vectors hold target columns.

A row is computed in every lane as if nothing came from the lane before; then the lanes' last
columns are compared, and what comes over, the *carry*, joins the row when it is next read (a step
to the left is free in S', so that a carry is the same for all columns of a lane). Threads work on
*strips* of columns, which follow each other: a strip hands its last column to the next one. Rows
are swept in blocks; a strip's state before each block is stored, so that any block can be computed
again. Many blocks are one call of a compiled function, which holds no lock of Python.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from math import isqrt
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.strips import count_block, wait_for
from gpu_tools.hardware.threads import (
    CELLS_PER_REPORT,
    CaseProgress,
    blocks_of,
    map_on_threads,
)
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.bounds import (
    Limits,
    TableLimits,
    cost_behind,
    limits,
    possible,
    table_limits,
    with_intron_points,
)
from gpu_tools.sites.cpu import traceback
from gpu_tools.sites.cpu.block import sweep_block
from gpu_tools.sites.cpu.coding import fill_codons, sweep_coding_block
from gpu_tools.sites.cpu.memory import (
    SiteLists,
    SiteTarget,
    StripSizes,
    SweepBuffers,
    SweepMemory,
    lists_of,
    memory_of,
    restore,
    save,
    strip_sizes,
    target_of,
)
from gpu_tools.sites.table import SiteTable, made_once
from gpu_tools.splicing.best_chains import NO_PAIRS, BannedPairs
from gpu_tools.splicing.bounds import narrowest
from gpu_tools.splicing.reading import FRAMES
from gpu_tools.splicing.rows import padded
from gpu_tools.splicing.target_introns import POINTS
from gpu_tools.splicing.traceback import TracedChain, chain_of

_log = logging.getLogger(__name__)

ROWS_PER_BLOCK = 1 << 9
"""Fewest rows of a block; long bases have longer blocks, so that there are not too many."""
BLOCK_LENGTH = 4
"""A block has at least so many times the square root of the base's length. States take memory, and
time to store; blocks are computed again where a chain has exons."""
MOST_BLOCKS = 1 << 11
"""A base sequence has at most about so many blocks, for each of which a state is stored."""
CELLS_PER_CALL = 1 << 28
"""A compiled call computes about so many cells: some hundredths of a second of one core."""
_BLOCKS_OF_BORDER = 32  # blocks by which a strip may precede the one on its right, at most
_AGAIN = -1
"""Stands for a strip where blocks are computed again."""


class SweptStrand(NamedTuple):
    """One strand of a base sequence, and what its sweeps have in common whatever the target."""

    table: SiteTable
    known: TableLimits
    lists: SiteLists
    sizes: StripSizes


class SweepInputs(NamedTuple):
    """What compiled code takes; `weights` are gap score, floor and lowest value as cells are."""

    lists: SiteLists
    stops: NDArray[np.bool_] | None
    sizes: StripSizes
    target: SiteTarget
    memory: SweepMemory
    weights: NDArray


class SiteSweep(NamedTuple):
    """A finished sweep: the best end, and the blocks of boundaries that can be computed again.

    `score`, `end` and `column` are the score of the best chain, the boundary where it ends, and the
    target column. The score is None if no chain translates. `buffer` is memory that it
    reads.
    """

    score: int | None
    end: int
    column: int
    inputs: SweepInputs
    buffer: NDArray[np.uint8]

    @property
    def codes(self) -> NDArray[np.uint8]:
        """The strand's nucleotides in reading direction."""
        return self.inputs.lists.codes

    def follow(self, path: NDArray[np.int64]) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Follow a path back, see `gpu_tools.sites.cpu.traceback`.

        Return its exons, and what `gpu_tools.splicing.traceback.align_exons` returns of them.
        """
        return _sweep_blocks(*self.inputs, (_AGAIN, 0, 0), path)


def strand_of(codes: NDArray[np.uint8], table: SiteTable, gap: int) -> SweptStrand:
    """Return a strand that has a chain, for sweeps with a gap score."""
    lists, length = lists_of(codes, table), table.length
    least = max(BLOCK_LENGTH * isqrt(length), length // MOST_BLOCKS)
    sizes = strip_sizes(table, lists, max(ROWS_PER_BLOCK, least))
    known = table_limits(table, gap, codes)
    return SweptStrand(table, known, lists, sizes)


@njit(cache=True, nogil=True, error_model="numpy")
def _sweep_blocks(lists, stops, sizes, target, memory, weights, task, path):
    """Sweep blocks of a strip, each behind the strip on the left, or follow a path back.

    `stops` is None if chains need not translate: numba leaves out what is for other types. A border
    holds the boundaries of a number of blocks: a strip also waits for the one on its right. Of
    blocks that are computed again nothing is stored, and no strip waits for them. Both are done
    here, as the sweep takes seconds to compile.
    """
    k, number, past = task
    width, last = memory.cells.shape[2], _AGAIN
    again = k == _AGAIN
    work = traceback.work_of(lists.acceptors[0], target, again)
    while True:
        if again:
            k += 1
            if k > last:
                if not traceback.follow(lists, stops, sizes, target, memory.cells, path, work):
                    return traceback.aligned_path(lists.codes, target, path, work)
                k, number, last = 0, path[traceback.THERE], path[traceback.COLUMN] // width
        elif number == past:
            return traceback.nothing_followed()
        if again:
            restore(memory, sizes, lists.donors, lists.lengths, k, number)
        else:
            wait_for(memory.done, k, number + 1)
            wait_for(memory.done, k + 2, number + 2 - _BLOCKS_OF_BORDER)
            save(memory, sizes, target, k, number, weights[1])
        rows = _rows_of(sizes, number, path[traceback.PAST] if again else len(lists.codes) + 1)
        if stops is None:
            sweep_block(lists, sizes, target, memory, weights, k, rows, again)
        else:
            if number == 0 and not again:
                fill_codons(memory.cells[0], sizes.rows, weights[0], weights[1])
            sweep_coding_block(lists, stops, sizes, target, memory, weights, rows, again)
        if not again:
            count_block(memory.done, k + 1)
            number += 1


@njit(nogil=True)
def _rows_of(sizes, number, past):
    return number * sizes.block, min((number + 1) * sizes.block, past)


def sweep(
    strand: SweptStrand, target: NDArray[np.uint8], scoring: SplicedScoring, threads: int = 1,
    done: Callable[[int], None] | None = None, cells_per_call: int = CELLS_PER_CALL,
    buffers: SweepBuffers | None = None, banned: BannedPairs = NO_PAIRS,
    introns: tuple[int, ...] = (),
) -> SiteSweep:  # fmt: skip
    """Sweep one strand of one case; with introns of the target's gene by one thread."""
    known = strand.known
    if introns:
        known = with_intron_points(known, strand.table, max(POINTS))
    limit = limits(known, padded(len(target) + 1, 2 * threads, 2), scoring)
    inputs, buffer = inputs_of(
        strand, target, scoring, limit, threads, buffers or SweepBuffers(), banned, introns
    )
    sizes, memory, path = strand.sizes, inputs.memory, np.empty(traceback.NUMBERS, np.int64)
    per_call = max(cells_per_call // (sizes.block * len(target)), 1)

    def strip(k: int) -> None:
        try:
            for first, past in blocks_of(sizes.blocks, per_call):
                _sweep_blocks(*inputs, (k, first, past), path)
                if done and k + 1 == threads:
                    last = min(past * sizes.block, strand.table.length + 1)
                    done((last - max(first * sizes.block, 1)) * len(target))
        finally:  # also lets the other strips end if this one failed
            memory.done[k + 1] = sizes.blocks

    map_on_threads(threads, strip, range(threads))
    ends, width = enumerate(memory.numbers[:, :3].tolist()), memory.cells.shape[2]
    # of equals the first end, at the least column
    least, end, column = min((-score, end, k * width + column) for k, (score, end, column) in ends)
    score = possible(-least, limit, target, scoring)
    return SiteSweep(score, end, column, inputs, buffer)


def inputs_of(
    strand: SweptStrand, target, scoring: SplicedScoring, limit: Limits, strips: int,
    buffers: SweepBuffers, banned: BannedPairs, introns: tuple[int, ...] = (),
) -> tuple[SweepInputs, NDArray[np.uint8]]:  # fmt: skip
    """Choose the type of cells and take the memory of a sweep; return its buffer, too."""
    dtype, sizes = narrowest(limit.bounds), strand.sizes
    width = padded(len(target) + 1, 2 * strips, dtype.itemsize) // strips
    _log.debug(
        "a strand of %d nucleotides and a target of %d: cells of %d bits, %d strips",
        strand.table.length, len(target), 8 * dtype.itemsize, strips,
    )  # fmt: skip
    weights = np.array([scoring.gap, limit.floor, limit.bounds.lowest], dtype=dtype)
    places = sizes.block * (_BLOCKS_OF_BORDER if strips > 1 else 1)
    memory, buffer = memory_of(sizes, (strips, int(width)), weights[1], places, buffers)
    of_target = target_of(target, scoring, banned, introns)
    return SweepInputs(strand.lists, strand.table.stops, sizes, of_target, memory, weights), buffer


# The traceback: from a sweep to the best chain and its alignment.
#
# `gpu_tools.splicing.traceback` describes how an exon is found; ties are those of
# `gpu_tools.spliced.cpu.traceback`. The sweep has not stored the rows at sites: blocks of rows are
# computed again where the chain has exons.


def trace(
    sweep: SiteSweep,
    table: SiteTable,
    codes: NDArray[np.uint8],
    target: NDArray[np.uint8],
    scoring: SplicedScoring,
) -> TracedChain:
    """Recover the best chain and its alignment."""
    numbers = [0] * traceback.NUMBERS
    numbers[traceback.END], numbers[traceback.COLUMN] = sweep.end, sweep.column
    numbers[traceback.FRAME] = sweep.end % FRAMES
    dropped = scoring.gap * sweep.column - cost_behind(sweep.column, target, scoring)
    numbers[traceback.VALUE] = sweep.score - table.last.at(sweep.end) - dropped
    numbers[traceback.LAST], numbers[traceback.THERE] = 1, -1
    path = np.array(numbers)
    exons, *runs = sweep.follow(path)
    if path[traceback.STAGE] == traceback.LOST:
        raise ValueError("no exon or exit explains a value: the sweep is wrong")
    return chain_of(exons, *runs, scoring)._replace(entries=tuple(exons[1:, 2].tolist()))


# Which strand of a case is swept when, and by how many threads.

COLUMNS_PER_STRIP = 256
"""A strip of a large case has at least so many target columns."""


def align_on_cpu(
    cases: list, scoring: SplicedScoring, threads: int, finish: Callable,
    done: Callable[[int], None] | None = None,
) -> list:  # fmt: skip
    """Align all cases: large ones one after the other on all threads, the others strand by strand.

    A case is large if one strand of it is more than a thread's share of all cases. Of the others
    each thread sweeps strands, of the largest first, so that all threads end at about one time.
    """
    spread = partial(map_on_threads, threads)
    strands = made_once(cases, partial(strand_of, gap=scoring.gap), spread, SiteTable.has_chain)
    done = done or (lambda cells: None)
    buffers = SweepBuffers()
    swept = [SweptCase(case, strands, scoring, finish, done, buffers) for case in cases]
    share = sum(case.cells for case in cases) / threads
    ordered = sorted(swept, key=lambda each: each.strand_cells, reverse=True)
    large = [each for each in ordered if each.strand_cells > share]
    _log.info(
        "site mode on the CPU: cases by a thread a strand: %d, large cases by all %d threads: %d",
        len(cases) - len(large), threads, len(large),
    )  # fmt: skip
    for each in large:
        own = threads // max(len(each.strands), 1)
        map_on_threads(threads, each.sweep, each.strands, [own] * len(each.strands))
    jobs = [(each, name) for each in ordered[len(large) :] for name in each.strands]
    map_on_threads(threads, lambda job: job[0].sweep(job[1], 1), jobs)
    return [each.result for each in swept]


class SweptCase:
    """A case whose strands any threads sweep; the thread of the last one makes the result."""

    def __init__(
        self, case, strands: dict[int, SweptStrand], scoring: SplicedScoring, finish: Callable,
        done: Callable[[int], None], buffers: SweepBuffers,
    ):  # fmt: skip
        self.case, self.scoring, self.finish, self.buffers = case, scoring, finish, buffers
        self.strands = {
            s: strands[id(case.tables[s])]
            for s in "+-" if s in case.tables and id(case.tables[s]) in strands
        }  # fmt: skip
        self.tally = CaseProgress(case.cells, done, CELLS_PER_REPORT)
        self.sweeps, self.lock, self.result = {}, Lock(), None
        if not self.strands:
            self._conclude()

    @property
    def strand_cells(self) -> int:
        """Nominal cells of one strand."""
        return self.case.cells // max(len(self.case.tables), 1)

    def sweep(self, name: str, threads: int) -> None:
        """Sweep a strand on some threads; make the result if it is the last one."""
        strand, target = self.strands[name], self.case.target.codes
        strips = max(min(threads, len(target) // COLUMNS_PER_STRIP), 1)
        introns = self.case.target.introns
        strips = strips if strand.table.stops is None and not introns else 1
        report, least = self.tally.add, CELLS_PER_REPORT // 4
        banned = self.case.banned.get(name, NO_PAIRS)
        found = sweep(
            strand, target, self.scoring, strips, report, least, self.buffers, banned, introns
        )
        with self.lock:
            self.sweeps[name] = found
            is_last = len(self.sweeps) == len(self.strands)
        if is_last:
            self._conclude()

    def _conclude(self) -> None:
        found = [(name, self.sweeps[name]) for name in self.strands]
        found = [(name, each) for name, each in found if each.score is not None]
        # the first of equals: + before -
        best = max(found, key=lambda pair: pair[1].score, default=(None, None))
        self.result = self.finish(self.case, *best)
        while self.sweeps:
            self.buffers.give(self.sweeps.popitem()[1].buffer)
        self.tally.finish()
