"""Site mode on a CPU: the sweep of a strand, and the traceback.

The sweep computes one row a nucleotide; lanes of vectors hold target columns.

A row is computed in every lane as if nothing came from the lane before; then the lanes' last
columns are compared, and what comes over, the *carry*, joins the row when it is next read (a step
to the left is free in S', so that a carry is the same for all columns of a lane). Rows are swept in
blocks; a strip's state before each block is stored, so that any block can be computed again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.strips import count_block, wait_for
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
    CODING_ROWS,
    PLAIN_ROWS,
    SiteLists,
    SiteTarget,
    StripSizes,
    SweepBuffers,
    SweepMemory,
    fill_columns,
    lists_of,
    memory_of,
    part,
    restore,
    save,
    strip_sizes,
    target_of,
)
from gpu_tools.sites.cpu.schedule import AGAIN, Sweeps, sweep_strips
from gpu_tools.sites.table import SiteTable
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
_BLOCKS_OF_BORDER = 32  # blocks by which a strip may precede the one on its right, at most


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

    @property
    def boundaries(self) -> int:
        """How many boundaries the strand has."""
        return len(self.lists.codes) + 1


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
        return _sweep_blocks(*self.inputs, (AGAIN, 0, 0), path)


def strand_of(codes: NDArray[np.uint8], table: SiteTable, gap: int) -> SweptStrand | None:
    """Return a strand for sweeps with a gap score, None if it has no chain."""
    if not table.has_chain():
        return None
    lists, length = lists_of(codes, table), table.length
    least = max(BLOCK_LENGTH * isqrt(length), length // MOST_BLOCKS)
    chain = PLAIN_ROWS if table.stops is None else CODING_ROWS
    sizes = strip_sizes(table, max(ROWS_PER_BLOCK, least), chain)
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
    width, last = memory.cells.shape[2], AGAIN
    again = k == AGAIN
    alike = part(path, 0, 0)
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
            cells = memory.cells[k]
            restore(
                cells, cells, memory.numbers[k], sizes, lists.donors, lists.lengths, number, alike
            )  # fmt: skip
        else:
            wait_for(memory.done, k, number + 1)
            wait_for(memory.done, k + 2, number + 2 - _BLOCKS_OF_BORDER)
            if number == 0:
                fill_columns(memory.cells[k], sizes.rows, target, k * width)
                if stops is not None:
                    fill_codons(memory.cells[k], sizes.rows, weights[0], weights[1])
            save(memory.cells[k], memory.numbers[k], sizes, number, weights[1])
        rows = _rows_of(sizes, number, path[traceback.PAST] if again else len(lists.codes) + 1)
        if stops is None:
            sweep_block(lists, sizes, target, memory, weights, k, rows, again)
        else:
            sweep_coding_block(lists, stops, sizes, target, memory, weights, rows, again)
        if not again:
            count_block(memory.done, k + 1)
            number += 1


@njit(nogil=True)
def _rows_of(sizes, number, past):
    return number * sizes.block, min((number + 1) * sizes.block, past)


def sweep(
    strand: SweptStrand, target: NDArray[np.uint8], scoring: SplicedScoring, threads: int = 1,
    done: Callable[[int], None] | None = None, buffers: SweepBuffers | None = None,
    banned: BannedPairs = NO_PAIRS, introns: tuple[int, ...] = (),
) -> SiteSweep:  # fmt: skip
    """Sweep one strand of one case; with introns of the target's gene by one thread."""
    known = strand.known
    if introns:
        known = with_intron_points(known, strand.table, max(POINTS))
    limit = limits(known, padded(len(target) + 1, 2 * threads, 2), scoring)
    inputs, buffer = inputs_of(
        strand, target, scoring, limit, threads, buffers or SweepBuffers(), banned, introns
    )
    path, memory = np.empty(traceback.NUMBERS, np.int64), inputs.memory
    sweep_strips(_sweep_blocks, inputs, path, len(target), done)
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


COLUMNS_PER_STRIP = 256
"""A strip of a large case has at least so many target columns."""


def _most_strips(case, strand: SweptStrand) -> int:
    if strand.table.stops is not None or case.target.introns:
        return 1
    return max(len(case.target) // COLUMNS_PER_STRIP, 1)


def sweeps_of(scoring: SplicedScoring, finish: Callable) -> Sweeps:
    """Return how cases of site mode are swept."""

    def swept(strand, case, name: str, strips: int, done, buffers: SweepBuffers) -> SiteSweep:
        banned = case.banned.get(name, NO_PAIRS)
        target = case.target
        return sweep(strand, target.codes, scoring, strips, done, buffers, banned, target.introns)

    return Sweeps(partial(strand_of, gap=scoring.gap), _most_strips, swept, finish)
