"""What a traceback reads of a strand and a protein, and the memory that it works in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.sites.cpu.memory import SiteLists
from gpu_tools.sites.proteins.cpu.prefix import StateMemory, state_memory
from gpu_tools.sites.proteins.cpu.state import ProteinState, StateSizes
from gpu_tools.splicing.proteins.columns import ProteinColumns, begun, lifted_pairs
from gpu_tools.splicing.proteins.rows import PHASES, RECENT
from gpu_tools.splicing.rows import aligned_empty


class ProteinQuestion(NamedTuple):
    """A strand and a protein, and the score of their best chain.

    `pairs` are lifted scores by number of a codon and residue, `codon_costs` those of
    `ProteinScoring.codon_gaps`, `weights` gap open, frameshift and gap extend. `start` is H' of a
    chain that begins, its points left out, by column; `final` the first column in which a chain may
    end; `score` that of the best chain, and `maxima` the rows of `ProteinState.before`.
    """

    lists: SiteLists
    columns: ProteinColumns
    codons: NDArray[np.uint8]
    pairs: NDArray[np.int64]
    codon_costs: NDArray[np.int64]
    weights: NDArray[np.int64]
    start: NDArray[np.int64]
    final: int
    score: int
    maxima: int


class StoredBlocks(NamedTuple):
    """States before some blocks, and the largest ends and exits of each, laid out as columns are.

    `states` have an axis for the block in front. `first` is the number of the first of them, and
    `length` are the boundaries of a block.
    """

    first: int
    length: int
    states: ProteinState
    ends: NDArray


class TraceMemory(NamedTuple):
    """Memory of a traceback.

    `cells` are for a protein's first columns and the largest ends of a block, `elements` where the
    columns lie in all of them, and `state` for a state. `rows` are those of a block and the three
    before, see `sweep_protein_blocks`, and `block` its number and the elements of its rows;
    `places` are the elements of columns in them. `states` and `ends` are for the blocks between two
    checkpoints, and `found` for the moves in a block.
    """

    cells: NDArray
    elements: NDArray[np.int64]
    state: StateMemory
    rows: NDArray
    block: NDArray[np.int64]
    places: NDArray[np.int64]
    states: StateMemory
    ends: NDArray
    found: NDArray[np.int64]


def question_of(
    lists: SiteLists, columns: ProteinColumns, target: NDArray[np.uint8], scoring: ProteinScoring,
    score: int, maxima: int,
) -> ProteinQuestion:  # fmt: skip
    """Return what a traceback reads."""
    weights = scoring.gap_open, scoring.frameshift, scoring.gap_extend
    return ProteinQuestion(
        lists, columns, scoring.codons, np.ascontiguousarray(lifted_pairs(target, scoring)),
        scoring.codon_gaps,
        np.array(weights), begun(len(target), scoring), 0 if scoring.free else len(target), score,
        maxima,
    )  # fmt: skip


def trace_memory(
    columns: ProteinColumns, sizes: StateSizes, block: int, blocks: int
) -> TraceMemory:
    """Return memory for blocks of so many boundaries, and for `blocks` states."""
    width, dtype = columns.width, columns.none.dtype

    def cells(count: int) -> NDArray:
        return aligned_empty((1, count), dtype)[0]

    return TraceMemory(
        cells(len(columns.profile) + 3 * width), np.empty(width, np.int64),
        state_memory(sizes, columns, 1), cells(3 * (PHASES + block) * width), np.array([-1, 0]),
        np.empty(width, np.int64), state_memory(sizes, columns, blocks), cells(2 * blocks * width),
        np.empty((2 * (PHASES + block + width), 2), np.int64),
    )  # fmt: skip


def no_blocks(columns: ProteinColumns, sizes: StateSizes, length: int) -> StoredBlocks:
    """Return what is stored of a strand before any block, of so many boundaries, is swept."""
    waits, exit_rows, exit_kinds, counts = state_memory(sizes, columns, 0)[1:]
    rows, gaps, waiting, before, exits, ends = (
        np.empty((0, count, columns.width), columns.none.dtype)
        for count in (RECENT, PHASES, RECENT, sizes.maxima, PHASES * sizes.places, 2)
    )
    states = ProteinState(rows, gaps, waiting, waits, before, exits, exit_rows, exit_kinds, counts)
    return StoredBlocks(0, length, states, ends)
