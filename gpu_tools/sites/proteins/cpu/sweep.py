"""The sweep of a protein over a strand, block by block, and the traceback of its best chain."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.sites.cpu.memory import SiteLists, SweepBuffers, lists_of
from gpu_tools.sites.introns import class_arrays
from gpu_tools.sites.proteins.cpu import traceback
from gpu_tools.sites.proteins.cpu.block import sweep_protein_blocks
from gpu_tools.sites.proteins.cpu.memory import (
    ProteinQuestion,
    ProteinState,
    StateSizes,
    StoredBlocks,
    sizes_of,
    sweep_memory,
    trace_memory,
)
from gpu_tools.sites.proteins.exits import ExitQuestion
from gpu_tools.sites.proteins.limits import columns_of, nothing
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.best_chains import NO_PAIRS, BannedPairs
from gpu_tools.splicing.proteins.rows import PHASES, ProteinColumns, begun
from gpu_tools.splicing.proteins.target_introns import intron_points
from gpu_tools.splicing.proteins.walk import TracedProtein, traced_of

ROWS_PER_BLOCK = 1024
"""Least boundaries of a block."""
_CELLS_PER_CALL = 1 << 26
"""Cells that a call of compiled code sweeps, about: some hundredths of a second."""
_STATE_TO_BLOCK = 64
"""Rows of a state, about, for each row that is stored of a boundary of a block done again."""


class _Reused(threading.local):
    """Memory that a thread's sweeps have left: fresh memory takes longer than the work in it."""

    def __init__(self):
        self.buffers = SweepBuffers()


_reused = _Reused()


@dataclass
class ProteinSweep:
    """A strand and a protein, swept."""

    codes: NDArray[np.uint8]  # the strand's nucleotides in reading direction
    target: NDArray[np.uint8]
    table: SiteTable
    scoring: ProteinScoring
    introns: tuple[int, ...] = ()  # those of the protein's gene, see `ProteinSequence`
    banned: BannedPairs = NO_PAIRS
    lists: SiteLists = field(init=False)  # the sites of the table
    columns: ProteinColumns = field(init=False)
    score: int | None = None  # of the best chain, None if none scores more than no chain at all
    # what a traceback looks for first, see `sites.proteins.cpu.traceback`, and in which block
    begin: tuple[int, int] = (traceback.FIND_END, -1)
    stored: StoredBlocks = field(init=False)
    buffer: NDArray[np.uint8] = field(init=False)  # memory of what is stored

    def __post_init__(self):
        self.lists = lists_of(self.codes, self.table)
        symbols = int(self.codes.max(initial=0)) + 1
        own = self.target, self.table, self.scoring, symbols, self.introns
        self.columns = columns_of(*own).without(self.banned, self.codes, self.scoring)

    @property
    def block(self) -> int:
        """Boundaries of a block."""
        return max(ROWS_PER_BLOCK, isqrt(len(self.codes) * _STATE_TO_BLOCK))

    @property
    def sizes(self) -> StateSizes:
        """The sizes of states."""
        return sizes_of(self.table)

    def run(self, done: Callable[[int], None]) -> ProteinSweep:
        """Sweep all blocks; `done` is called with the nominal cells of some of them."""
        rows = len(self.codes) + 1
        lows = np.arange(0, rows, self.block)
        blocks = np.stack([lows, np.minimum(lows + self.block, rows)], axis=1)
        state, stored, self.buffer = sweep_memory(
            self.table, self.columns, len(blocks), _reused.buffers
        )
        self.stored = StoredBlocks(self.block, *stored)
        best = nothing(self.table, len(self.target), self.scoring)
        each = max(_CELLS_PER_CALL // (self.block * self.columns.width), 1)
        for first in range(0, len(blocks), each):
            some = slice(first, first + each)
            self._sweep(state, blocks[some], some)
            found, score = self._best_end(self.stored.ends[some, 0])
            if score > best:
                best = self.score = score
                self.begin = traceback.FIND_END, first + found
            done(int(blocks[some][-1, 1] - blocks[first, 0]) * len(self.target))
        return self

    def release(self) -> None:
        """Leave the memory of a sweep that nobody traces any more."""
        _reused.buffers.give(self.buffer)

    def _sweep(self, state: ProteinState, blocks: NDArray[np.int64], some: slice) -> None:
        """Carry a state over some blocks, and store the state before each."""
        saved = ProteinState(*(part[some] for part in self.stored.states))
        none = np.empty((0, self.columns.width), self.columns.none.dtype)
        sweep_protein_blocks(
            self.lists, self.columns, self.scoring.codons, state, saved, self.stored.kept,
            self.stored.ends[some], (none,) * PHASES, blocks,
        )  # fmt: skip

    def _best_end(self, ends: NDArray) -> tuple[int, int]:
        """Return the first of some blocks with the best end of a chain, and its score."""
        columns = np.arange(0 if self.scoring.free else len(self.target), len(self.target) + 1)
        lifted = self.scoring.gap_extend * columns - self.columns.bias
        scores = (ends[:, self.columns.place(columns)].astype(np.int64) - lifted).max(axis=1)
        found = int(scores.argmax())
        return found, int(scores[found]) + self.table.last.usual


class BestSweep(NamedTuple):
    """The best chain of a case before it is traced: strand, nucleotides, score, what traces it."""

    strand: str
    codes: NDArray[np.uint8]
    score: int
    trace: Callable[[], TracedProtein]


# The traceback of a protein: from a sweep to the best chain and its alignment.
#
# Rows of a block are computed again where the chain has exons, and followed cell by cell. Of moves
# that explain a cell the first of these is taken: a codon with a residue; a frameshift with a
# residue; a codon left out; a frameshift; residues left out, as few as can be; the first exon's
# begin; an intron, the shortest, and of these the one that splits the codon behind fewer
# nucleotides.


_SPACE = 64
"""Exons and runs for which there is space at first."""


def trace(sweep: ProteinSweep) -> TracedProtein:
    """Recover the best chain of a sweep that has a score."""
    question = _question_of(sweep)
    memory, buffer = trace_memory(sweep.columns, sweep.sizes, sweep.block, _reused.buffers)
    path = np.zeros(traceback.NUMBERS, np.int64)
    path[[traceback.STAGE, traceback.BLOCK]] = sweep.begin
    path[[traceback.BOUNDARY, traceback.COLUMN]] = len(sweep.codes), len(sweep.target)
    runs = np.empty((_SPACE, 2), np.int64)
    runs, exons = traceback.follow(question, sweep.stored, memory, path, runs, runs.copy())
    _reused.buffers.give(buffer)
    if path[traceback.STAGE] == traceback.LOST:
        raise ValueError("no move explains the value of a cell: the sweep is wrong")
    counts = path[[traceback.RUNS, traceback.EXONS]]
    ends = path[[traceback.COLUMN, traceback.LAST]]
    return traced_of(runs[: counts[0]], exons[: counts[1]], *ends.tolist())


def _question_of(sweep: ProteinSweep) -> ProteinQuestion:
    """Return what the traceback reads."""
    scoring, length, bias = sweep.scoring, len(sweep.target), sweep.columns.bias
    weights = np.array([scoring.gap_open, scoring.frameshift, scoring.gap_extend])
    lists, points = sweep.lists, intron_points(sweep.introns, length)
    exits = ExitQuestion(
        lists.codes, lists.acceptors, lists.donors, lists.kinds, lists.lengths, lists.junctions,
        class_arrays(sweep.table).introns, scoring.codons, (scoring.lifted, sweep.target.copy()),
        points, sweep.columns.bans.pairs,
    )  # fmt: skip
    return ProteinQuestion(
        lists, sweep.columns, exits, scoring.codon_gaps, weights,
        begun(length, scoring) - bias, 0 if scoring.free else length, sweep.score - bias,
        sweep.sizes.maxima,
    )  # fmt: skip
