"""The sweep of a protein over a strand, block by block, and the traceback of its best chain.

Of moves that explain a cell the first of these is taken: a codon with a residue; a frameshift with
a residue; a codon left out; a frameshift; residues left out, as few as can be; the first exon's
begin; an intron, the shortest, and of these the one that splits the codon behind fewer nucleotides.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.sites.cpu.memory import (
    SiteLists,
    StripSizes,
    SweepBuffers,
    SweepMemory,
    lists_of,
    memory_of,
    part,
    save,
    strip_sizes,
)
from gpu_tools.sites.cpu.schedule import AGAIN, Sweeps, sweep_strips
from gpu_tools.sites.proteins.cpu import traceback
from gpu_tools.sites.proteins.cpu.block import sweep_block
from gpu_tools.sites.proteins.cpu.memory import PROTEIN_ROWS, ProteinQuestion, state_in
from gpu_tools.sites.proteins.exits import ExitQuestion
from gpu_tools.sites.proteins.limits import columns_of, nothing
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.best_chains import NO_PAIRS, BannedPairs
from gpu_tools.splicing.proteins.rows import ProteinColumns, begun
from gpu_tools.splicing.proteins.target_introns import intron_points
from gpu_tools.splicing.proteins.walk import TracedProtein, traced_of
from gpu_tools.splicing.rows import clear

ROWS_PER_BLOCK = 1024
"""Least boundaries of a block."""
_STATE_TO_BLOCK = 64
"""Rows of a state, about, for each row that is stored of a boundary of a block done again."""


class ProteinStrand(NamedTuple):
    """One strand of a base sequence, and what its sweeps have in common whatever the protein.

    `symbols` are the codes of nucleotides that it has.
    """

    table: SiteTable
    lists: SiteLists
    sizes: StripSizes
    symbols: int


class ProteinInputs(NamedTuple):
    """What compiled code takes."""

    question: ProteinQuestion
    sizes: StripSizes
    memory: SweepMemory

    @property
    def boundaries(self) -> int:
        """How many boundaries the strand has."""
        return len(self.question.lists.codes) + 1


class ProteinSweep(NamedTuple):
    """A finished sweep: the score of the best chain, None if none scores more than no chain at all.

    `block` is the one in which it ends. `buffer` is memory that is read.
    """

    score: int | None
    block: int
    inputs: ProteinInputs
    buffer: NDArray[np.uint8]

    @property
    def codes(self) -> NDArray[np.uint8]:
        """The strand's nucleotides in reading direction."""
        return self.inputs.question.lists.codes

    def trace(self) -> TracedProtein:
        """Recover the best chain and its alignment."""
        question = self.inputs.question
        path = np.zeros(traceback.NUMBERS, np.int64)
        path[[traceback.BLOCK, traceback.THERE]] = self.block, -1
        path[[traceback.BOUNDARY, traceback.COLUMN]] = len(self.codes), len(question.start) - 1
        path[traceback.VALUE] = self.score - question.columns.bias
        runs, exons = _sweep_blocks(*self.inputs, (AGAIN, 0, 0), path)
        if path[traceback.STAGE] == traceback.LOST:
            raise ValueError("no move explains the value of a cell: the sweep is wrong")
        counts = path[[traceback.RUNS, traceback.EXONS]]
        ends = path[[traceback.COLUMN, traceback.LAST]]
        return traced_of(runs[: counts[0]], exons[: counts[1]], *ends.tolist())


def strand_of(codes: NDArray[np.uint8], table: SiteTable) -> ProteinStrand:
    """Return a strand for sweeps of proteins."""
    block = max(ROWS_PER_BLOCK, isqrt(len(codes) * _STATE_TO_BLOCK))
    sizes, symbols = strip_sizes(table, block, PROTEIN_ROWS), int(codes.max(initial=0)) + 1
    return ProteinStrand(table, lists_of(codes, table), sizes, symbols)


@njit(cache=True, nogil=True, error_model="numpy")
def _sweep_blocks(question, sizes, memory, task, path):
    """Sweep blocks, or follow a path back; both are done here, as the sweep takes long to compile.

    Return the path's runs and exons.
    """
    k, number, past = task
    cells, numbers, columns = memory.cells[0], memory.numbers[0], question.columns
    if k == AGAIN:
        return traceback.follow(question, sizes, cells, numbers, path)
    none, rows = part(cells, 0, 0), sizes.rows
    while number < past:
        save(cells, numbers, sizes, number, columns.none)
        ends = cells[rows.best_ends + number], cells[rows.best_exits + number]
        clear(cells, rows.best_ends + number, columns.none, columns.lanes)
        clear(cells, rows.best_exits + number, columns.none, columns.lanes)
        low = number * sizes.block
        high = min(low + sizes.block, len(question.lists.codes) + 1)
        sweep_block(
            question.lists, columns, question.exits.codons, state_in(cells, numbers, sizes), ends,
            (none, none, none), low, high,
        )  # fmt: skip
        number += 1
    return traceback.nothing_followed(path)


def sweep(
    strand: ProteinStrand, target: NDArray[np.uint8], scoring: ProteinScoring,
    done: Callable[[int], None] | None = None, buffers: SweepBuffers | None = None,
    banned: BannedPairs = NO_PAIRS, introns: tuple[int, ...] = (),
) -> ProteinSweep:  # fmt: skip
    """Sweep a strand for a protein."""
    lists, sizes, rows = strand.lists, strand.sizes, strand.sizes.rows
    columns = columns_of(target, strand.table, scoring, strand.symbols, introns)
    columns = columns.without(banned, lists.codes, scoring)
    shape, buffers = (1, columns.width), buffers or SweepBuffers()
    memory, buffer = memory_of(sizes, shape, columns.none, 0, buffers)
    question = _question_of(strand, columns, target, scoring, introns)
    inputs, path = ProteinInputs(question, sizes, memory), np.empty(traceback.NUMBERS, np.int64)
    sweep_strips(_sweep_blocks, inputs, path, len(target), done)
    ends = memory.cells[0, rows.best_ends : rows.best_exits]
    last = np.arange(question.final, len(target) + 1)
    scores = ends[:, columns.place(last)].astype(np.int64) - scoring.gap_extend * last
    best = scores.max(axis=1)
    block = int(best.argmax())  # the first of equals
    score = int(best[block]) + columns.bias + strand.table.last.usual
    found = score if score > nothing(strand.table, len(target), scoring) else None
    return ProteinSweep(found, block, inputs, buffer)


def _question_of(
    strand: ProteinStrand, columns: ProteinColumns, target: NDArray[np.uint8],
    scoring: ProteinScoring, introns: tuple[int, ...],
) -> ProteinQuestion:  # fmt: skip
    """Return what compiled code reads."""
    lists, length = strand.lists, len(target)
    exits = ExitQuestion(
        lists.codes, lists.acceptors, lists.donors, lists.kinds, lists.lengths, lists.junctions,
        lists.introns, scoring.codons, (scoring.lifted, target.copy()),
        intron_points(introns, length), columns.bans.pairs,
    )  # fmt: skip
    weights = np.array([scoring.gap_open, scoring.frameshift, scoring.gap_extend])
    start, final = begun(length, scoring) - columns.bias, 0 if scoring.free else length
    return ProteinQuestion(lists, columns, exits, scoring.codon_gaps, weights, start, final)


def sweeps_of(scoring: ProteinScoring, finish: Callable) -> Sweeps:
    """Return how cases of proteins are swept: a strand by a thread."""

    def swept(strand, case, name: str, strips: int, done, buffers: SweepBuffers) -> ProteinSweep:
        banned, target = case.banned.get(name, NO_PAIRS), case.target
        return sweep(strand, target.codes, scoring, done, buffers, banned, target.introns)

    return Sweeps(strand_of, lambda case, strand: 1, swept, finish)


class BestSweep(NamedTuple):
    """The best chain of a case before it is traced: nucleotides, score, what traces it."""

    codes: NDArray[np.uint8]
    score: int
    trace: Callable[[], TracedProtein]
