"""The sweep of site mode on a CPU: one row a nucleotide, lanes of vectors hold target columns.

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
from dataclasses import dataclass
from math import isqrt
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.hardware.cpu.wavefront import blocks_of, count_block, wait_for
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.bounds import Limits, TableLimits, limits, possible, table_limits
from gpu_tools.sites.cpu.block import sweep_block
from gpu_tools.sites.cpu.coding import codon_rows, sweep_coding_block
from gpu_tools.sites.cpu.state import (
    SiteLists,
    SiteStrip,
    Snapshots,
    State,
    by_target_column,
    end_limits,
    fresh_border,
    fresh_snapshots,
    fresh_state,
    lists_of,
    most_pending,
    place_of,
    restored,
    save,
    snapshot_of,
)
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.bounds import narrowest
from gpu_tools.splicing.codons import FRAMES
from gpu_tools.splicing.rows import put
from gpu_tools.splicing.strip import lanes_of, padded, strip_of

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
_BLOCKS_OF_BORDER = 32  # so many blocks a strip may be ahead of the one on its right
_FLOOR = 1
_NOBODY = np.zeros(1, np.int64)
"""The blocks done of blocks that are computed again: no other strip waits for them."""


class Block(NamedTuple):
    """Rows of one block that a traceback reads.

    `entry_rows` and `exit_rows` are boundaries, rising; `entries` the rows from which exons start
    there, column by target column; `exits` the rows with which they leave there, the exits' scores
    included, of each strip in its order of columns. If chains translate, each boundary has three
    rows, see `gpu_tools.sites.cpu.state.State`.
    """

    entry_rows: NDArray[np.int64]
    entries: NDArray
    exit_rows: NDArray[np.int64]
    exits: list[NDArray]

    def exits_at(self, column: int) -> NDArray:
        """Return the values of all exits in a target column."""
        width = self.exits[0].shape[1]
        strip, place = place_of(column, width, lanes_of(self.entries.dtype))
        return self.exits[strip][:, place]


class SweepInputs(NamedTuple):
    """What a sweep reads.

    Attributes
    ----------
    limit : Limits
    table : SiteTable
    lists : SiteLists
    strips : list of SiteStrip
    blocks : list of (int, int)
        First boundary of each block, and the one behind its last.
    weights : ndarray, shape (3,)
        Gap score, floor and lowest value, in the cells' type.
    """

    limit: Limits
    table: SiteTable
    lists: SiteLists
    strips: list[SiteStrip]
    blocks: list[tuple[int, int]]
    weights: NDArray

    @property
    def rows_per_block(self) -> int:
        """Boundaries of each block but the last one."""
        first, past = self.blocks[0]
        return past - first

    @property
    def floor(self) -> np.integer:
        """The floor, in the cells' type."""
        return self.weights[_FLOOR]

    def block_of(self, boundary: int) -> int:
        """Return the number of the block that holds a boundary."""
        return boundary // self.rows_per_block


class SweptStrand(NamedTuple):
    """One strand of a base sequence, and what its sweeps have in common whatever the target.

    `codes` are its nucleotides in reading direction, `table` its sites. `pending` is how many exits
    are pending at a time, at most.
    """

    codes: NDArray[np.uint8]
    table: SiteTable
    known: TableLimits
    pending: int


def strand_of(codes: NDArray[np.uint8], table: SiteTable, gap: int) -> SweptStrand:
    """Return a strand that has a chain, for sweeps with a gap score."""
    return SweptStrand(codes, table, table_limits(table, gap, codes), most_pending(table))


def site_blocks(length: int, rows_per_block: int = ROWS_PER_BLOCK) -> list[tuple[int, int]]:
    """Cut the boundaries of a base sequence of a length into blocks."""
    return blocks_of(length + 1, max(rows_per_block, isqrt(length)))


def inputs_of(
    limit: Limits, blocks, codes, table: SiteTable, target, scoring: SplicedScoring, strips: int
) -> SweepInputs:
    """Choose the cells' type and lay out what a sweep reads."""
    dtype = narrowest(limit.bounds, scoring)
    width = padded(len(target) + 1, 2 * strips, dtype.itemsize) // strips
    _log.debug(
        "a strand of %d nucleotides and a target of %d: cells of %d bits, %d strips",
        len(codes), len(target), 8 * dtype.itemsize, strips,
    )  # fmt: skip
    weights = np.array([scoring.gap, limit.floor, limit.bounds.lowest], dtype=dtype)

    def laid_out(first: int) -> SiteStrip:
        strip = strip_of(target, first, width, scoring, dtype)
        ends, codons = end_limits(scoring, first, len(target)), np.empty((0, width), dtype)
        if table.stops is not None:
            codons = codon_rows(strip.start, strip.profile, weights, lanes_of(dtype))
        return SiteStrip(*strip, scoring.ends != "global", ends, codons)

    strips_of = [laid_out(k * width) for k in range(strips)]
    return SweepInputs(limit, table, lists_of(codes, table), strips_of, blocks, weights)


@dataclass
class SiteSweep:
    """A finished sweep: the best end, and the blocks of boundaries that can be computed again.

    Attributes
    ----------
    score, end, column : int
        Score of the best chain, the boundary where it ends, and the target column. The score is
        None if no chain translates.
    inputs : SweepInputs
    snapshots : list of Snapshots
        Of each strip.
    block_exits : list of ndarray
        Of each strip, the maximum over the exits of each block, shape (blocks, width).
    """

    score: int | None
    end: int
    column: int
    inputs: SweepInputs
    snapshots: list[Snapshots]
    block_exits: list[NDArray]

    @property
    def codes(self) -> NDArray[np.uint8]:
        """The strand's nucleotides in reading direction."""
        return self.inputs.lists.codes

    def best_exit(self, block: int, column: int) -> int:
        """Return the largest value with which an exon of a block leaves at a column."""
        inputs = self.inputs
        strip, place = place_of(column, len(inputs.strips[0].start), lanes_of(inputs.weights.dtype))
        return int(self.block_exits[strip][block][place])

    def snapshot(self, strip: int, block: int) -> State:
        """Return the state of a strip before a block."""
        inputs, stored = self.inputs, self.snapshots[strip]
        carries = np.full((stored.rows.shape[1], lanes_of(inputs.weights.dtype)), inputs.floor)
        return snapshot_of(stored, inputs.table, block, inputs.blocks[block][0], carries)

    def block(self, number: int, columns: int) -> Block:
        """Compute a block again, at least up to a number of target columns."""
        inputs, table, (low, high) = self.inputs, self.inputs.table, self.inputs.blocks[number]
        entry_rows = table.acceptors.open_between(low, high)
        exit_rows = table.donors.open_between(low, high)
        capacity, entries, exits = (len(exit_rows), len(entry_rows)), [], []
        border = fresh_border(2 * inputs.rows_per_block, inputs.floor)
        for strip in range(-(-columns // len(inputs.strips[0].start))):
            following = fresh_border(2 * inputs.rows_per_block, inputs.floor)
            snapshot = self.snapshot(strip, number)
            state = restored(snapshot, capacity, table.tracks)
            sweeper_of(table)(
                inputs.lists, inputs.strips[strip], state, self.snapshots[strip],
                self.block_exits[strip], (border, following), _NOBODY, inputs.weights,
                (0, number, number + 1, inputs.rows_per_block),
            )  # fmt: skip
            lanes, first = state.carries.shape[1], table.tracks * len(snapshot.exit_rows)
            own = state.entries[: table.tracks * len(entry_rows)]
            entries.append(by_target_column(own, lanes, columns))
            exits.append(state.exits[first : first + table.tracks * len(exit_rows)])
            border = following
        joined = entries[0] if len(entries) == 1 else np.hstack(entries)
        return Block(entry_rows, joined, exit_rows, exits)


# numba compiles both branches of an `if` that depends on the table: hence a function for each kind;
# both also compute blocks again, as each contains a whole sweep, which takes seconds to compile


@njit(cache=True, nogil=True)
def _sweep_blocks(lists, strip, state, snapshots, block_exits, borders, done, weights, numbers):
    """Sweep blocks of a strip, each behind the strip on the left.

    A border holds the boundaries of a number of blocks: a strip also waits for the one on its
    right. Of blocks that are computed again nothing is stored, and nobody waits for them.
    """
    (k, first, past, size), again = numbers, state.window.again
    for number in range(first, past):
        if not again:
            wait_for(done, k, number + 1)
            wait_for(done, k + 2, number + 2 - _BLOCKS_OF_BORDER)
            save(snapshots, state, number, 1)
        rows = _rows_of(lists, number, size)
        sweep_block(lists, strip, state, borders[0], borders[1], weights, rows)
        if not again:
            _keep_exits(block_exits, number, state)
            count_block(done, k + 1)


@njit(cache=True, nogil=True)
def _sweep_coding_blocks(
    lists, strip, state, snapshots, block_exits, borders, done, weights, numbers
):
    """Sweep blocks for a table with stop codons; one strip waits for none and has no borders."""
    (_, first, past, size), again = numbers, state.window.again
    for number in range(first, past):
        if not again:
            save(snapshots, state, number, FRAMES)
        sweep_coding_block(lists, strip, state, weights, _rows_of(lists, number, size))
        if not again:
            _keep_exits(block_exits, number, state)


@njit(nogil=True)
def _rows_of(lists, number, size):
    return number * size, min((number + 1) * size, len(lists.codes) + 1)


@njit(nogil=True)
def _keep_exits(block_exits, number, state):
    width, lanes = len(state.block_exits), state.carries.shape[1]
    put(block_exits, number, state.block_exits, 0, width, lanes, 0)


def sweeper_of(table: SiteTable) -> Callable:
    """Return the compiled function that sweeps blocks of a table's kind."""
    return _sweep_blocks if table.stops is None else _sweep_coding_blocks


def sweep(
    strand: SweptStrand, target: NDArray[np.uint8], scoring: SplicedScoring, threads: int = 1,
    done: Callable[[int], None] | None = None, cells_per_call: int = CELLS_PER_CALL,
) -> SiteSweep:  # fmt: skip
    """Sweep one strand of one case.

    Parameters
    ----------
    strand : SweptStrand
    target : ndarray of uint8, shape (n,)
        Encoded target.
    scoring : SplicedScoring
        Its exon weight and intron penalty have no use here: the table has both.
    threads : int
        Threads that share the work, each with its own strip; 1 if the table has stop codons.
    done : callable, optional
        Called with a number of cells that are done, m * n in all.
    cells_per_call : int
        About how many cells are done between two calls of `done`.

    Returns
    -------
    SiteSweep
    """
    codes, table = strand.codes, strand.table
    limit = limits(strand.known, padded(len(target) + 1, 2 * threads, 2), scoring)
    least = max(BLOCK_LENGTH * isqrt(len(codes)), len(codes) // MOST_BLOCKS)
    blocks = site_blocks(len(codes), max(ROWS_PER_BLOCK, least))
    inputs = inputs_of(limit, blocks, codes, table, target, scoring, threads)
    size, width = inputs.rows_per_block, len(inputs.strips[0].start)
    states = [fresh_state(table, width, (strand.pending, 1), inputs.floor) for _ in range(threads)]
    snapshots = [fresh_snapshots(state, table, blocks) for state in states]
    block_exits = [np.empty((len(blocks), width), inputs.weights.dtype) for _ in range(threads)]
    places = size * (_BLOCKS_OF_BORDER if threads > 1 else 1)
    borders = [fresh_border(places, inputs.floor) for _ in range(threads + 1)]
    # beyond the first and the last strip nobody has to be waited for
    blocks_done = np.array([len(blocks), *[0] * threads, len(blocks)], dtype=np.int64)
    per_call = max(cells_per_call // (size * len(target)), 1)
    sweep_blocks = sweeper_of(table)

    def strip(k: int) -> None:
        try:
            for first, past in blocks_of(len(blocks), per_call):
                sweep_blocks(
                    inputs.lists, inputs.strips[k], states[k], snapshots[k],
                    block_exits[k], (borders[k], borders[k + 1]), blocks_done, inputs.weights,
                    (k, first, past, size),
                )  # fmt: skip
                if done and k + 1 == threads:
                    done((blocks[past - 1][1] - max(blocks[first][0], 1)) * len(target))
        finally:  # also lets the other strips end if this one failed
            blocks_done[k + 1] = len(blocks)

    map_on_threads(threads, strip, range(threads))
    ends = enumerate(state.best.tolist() for state in states)
    # of equals the first end, at the least column
    least, end, column = min((-score, end, k * width + column) for k, (score, end, column) in ends)
    score = possible(-least, limit, len(target), scoring)
    return SiteSweep(score, end, column, inputs, snapshots, block_exits)
