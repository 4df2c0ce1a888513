"""Tracebacks of a launch of proteins: what they read, and what they find."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.dispatch import memory
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.sites.gpu.packed_strip import WIDE
from gpu_tools.sites.proteins.gpu import traceback
from gpu_tools.sites.proteins.gpu.step import columns_in_rows
from gpu_tools.sites.proteins.gpu.strips import (
    BIAS,
    BLOCK,
    CHECKPOINT_STRIDE,
    EVERY,
    RESIDUES,
    STRIPS,
    ProteinJobs,
)
from gpu_tools.splicing.proteins.rows import PHASES, begun
from gpu_tools.splicing.proteins.walk import TracedProtein, traced_of

_MOST_BYTES, _PART = 1 << 31, 32
"""Bytes of GPU memory that the warps of a launch work in, and part of all, at most, unless there is
only one."""
_RUNS, _EXONS = 256, 64
"""Runs and exons of a chain, beside one for each residue, for which there is space."""


class ProteinTraceSizes(NamedTuple):
    """Sizes of what a traceback works in, the first ones as `traceback.trace_proteins_warp` reads.

    All jobs of a table have enough of it.
    """

    work_rows: int
    block_rows: int
    row_words: int
    blocks: int  # of a part, 0 if parts are blocks
    checkpoint_words: int
    moves: int
    strips: int
    columns: int

    @classmethod
    def of(cls, table: NDArray[np.int64]) -> ProteinTraceSizes:
        """Return the sizes for the jobs of a table."""
        strips, columns = int(table[:, STRIPS].max()), int(table[:, RESIDUES].max()) + 1
        block, row = int(table[0, BLOCK]), strips * WIDE * WARP
        parts = table[:, EVERY] // block
        words = np.where(parts > 1, parts * table[:, STRIPS] * table[:, CHECKPOINT_STRIDE], 0).max()
        blocks, rows = int(parts.max()) if words else 0, PHASES + block
        more = -(-(int(words) + blocks * strips) // row)
        return cls(
            3 * rows + blocks + more, rows, row, blocks, int(words), 2 * (rows + columns), strips,
            columns,
        )  # fmt: skip

    @property
    def n_bytes(self) -> int:
        """Bytes that a warp works in."""
        return 4 * (self.work_rows * self.row_words + 2 * self.moves)

    def warps(self, count: int) -> int:
        """Return how many warps follow so many chains."""
        return min(max(most_bytes() // self.n_bytes, 1), count)


def most_bytes() -> int:
    """Return the bytes that several warps of a launch work in together, at most."""
    return min(_MOST_BYTES, memory() // _PART)


def bytes_of_traces(jobs: ProteinJobs, cases: list[int]) -> int:
    """Return about how much device memory the tracebacks of some cases of a call need."""
    sizes = ProteinTraceSizes.of(jobs.table[jobs.first[cases]])
    results = 8 * (_RUNS + _EXONS + 2 * sizes.columns) * len(cases)
    return sizes.warps(len(cases)) * sizes.n_bytes + results


class ProteinTraces:
    """Jobs of a `ProteinLaunch` whose chains are traced, and the cells that these end with."""

    def __init__(self, launch, numbers: NDArray[np.int64]):
        self.launch, self.scoring, table = launch, launch.scoring, launch.table[numbers]
        self.sizes = ProteinTraceSizes.of(table)
        # H' of chains that begin as cells are stored
        cells = begun(int(table[:, RESIDUES].max()), self.scoring)
        biases, kind = np.unique(table[:, BIAS], return_inverse=True)
        self.starts = (cells - biases[:, None]).ravel()
        columns = numbers, launch.strand_of[numbers], launch.best[numbers], kind * len(cells)
        self.table = np.stack(columns, axis=1).astype(np.int64)

    def run(self) -> list[TracedProtein | None]:
        """Follow the chains on the GPU; None where one has too many runs or exons."""
        launch, scoring, sizes, count = self.launch, self.scoring, self.sizes, len(self.table)
        warps = sizes.warps(count)
        work = launch.array("work", warps * sizes.work_rows * sizes.row_words)
        cells, moves = work.view(np.int16), launch.array("moves", 2 * warps * sizes.moves)
        runs, exons, found = (
            launch.array(name, count * each).reshape(count, *shape)
            for name, each, shape in (
                ("runs", 2 * (_RUNS + sizes.columns), (_RUNS + sizes.columns, 2)),
                ("exons", 2 * (_EXONS + sizes.columns), (_EXONS + sizes.columns, 2)),
                ("traced", traceback.FOUND, (traceback.FOUND,)),
            )
        )  # fmt: skip
        traces, on_sizes, codons, pairs, no_pairs, starts, costs, weights, places = launch.copies(
            "traces", [
                self.table, np.array(sizes, np.int64), scoring.codons, scoring.lifted,
                np.zeros(0, np.int64), self.starts, scoring.codon_gaps,
                np.array([scoring.gap_open, scoring.frameshift, scoring.gap_extend], np.int64),
                columns_in_rows(sizes.strips),
            ],
        )  # fmt: skip
        traceback.trace_proteins_warp[warps, WARP, launch.stream, launch.shared_bytes](
            traces, launch.device_table, *launch.strands.arrays, *launch.inputs,
            launch.cells, launch.borders, launch.checkpoints, launch.exits, launch.ends,
            launch.exits.view(np.int16), work, cells, cells.reshape(-1, 2 * sizes.row_words),
            on_sizes, codons, pairs, no_pairs, starts, costs, weights, places, launch.weights,
            moves.reshape(warps * sizes.moves, 2), runs, exons, found,
        )  # fmt: skip
        return self._chains(*(launch.buffers.fetched(each) for each in (runs, exons, found)))

    def _chains(self, runs, exons, found) -> list[TracedProtein | None]:
        """Return chains from what the kernel has left."""
        if (found[:, traceback.STATE] == traceback.LOST).any():
            raise ValueError("no move explains the value of a cell: the sweep is wrong")
        return [
            None if state == traceback.TOO_MANY
            else traced_of(own_runs[:n_runs], own_exons[:n_exons], first, last)
            for own_runs, own_exons, (state, n_runs, n_exons, first, last)
            in zip(runs, exons, found.tolist(), strict=True)
        ]  # fmt: skip
