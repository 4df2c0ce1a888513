"""The sweep of a strand that a GPU has swept, as far as a traceback asks for it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gpu_tools.sites.proteins.cpu.state import BlockRows, ProteinState, fresh_state, states_of
from gpu_tools.sites.proteins.cpu.strand import ProteinSweep
from gpu_tools.sites.proteins.gpu.checkpoints import state_of
from gpu_tools.sites.proteins.gpu.strips import ProteinJob


class _ExitsOnDemand:
    """The largest exits of blocks; a block that is asked for is swept first."""

    def __init__(self, of_block: Callable[[int], NDArray]):
        self._of_block = of_block

    def __getitem__(self, number: int) -> NDArray:
        return self._of_block(number)


class ResumedSweep(ProteinSweep):
    """A `ProteinSweep` that goes on from checkpoints, and computes blocks when they are needed.

    Parameters
    ----------
    job : ProteinJob
    score : int
        Score of the best chain.
    part : int
        The first part between checkpoints in which a chain with this score ends.
    checkpoint : callable
        Returns the rows of a checkpoint, column by column, given its number, from 1.
    """

    def __init__(self, job: ProteinJob, score: int, part: int, checkpoint: Callable):
        strand = job.strand
        super().__init__(strand.codes, job.target, strand.table, strand.scoring)
        self._job, self._checkpoint = job, checkpoint
        self.blocks = strand.blocks
        self.states: dict[int, ProteinState] = {}
        self._exits: dict[int, NDArray] = {}
        self.best_exits = _ExitsOnDemand(self._exits_of)
        self.score, self.block = score, self._block_with(score, part)

    def rows_of(self, number: int, last: int, memory: BlockRows | None = None) -> BlockRows:
        """Return the rows of a block up to a boundary."""
        self._exits_of(number)
        return super().rows_of(number, last, memory)

    def _exits_of(self, number: int) -> NDArray:
        if number not in self._exits:
            self._sweep_part(number // self._blocks_of_part)
        return self._exits[number]

    @property
    def _blocks_of_part(self) -> int:
        return self._job.strand.every // self._job.strand.block

    def _block_with(self, score: int, part: int) -> int:
        """Return the first block of a part in which a chain with a score ends."""
        found = np.flatnonzero(self._sweep_part(part) == score)
        if not len(found):
            raise ValueError("no chain of the part has the best score: the sweep is wrong")
        return part * self._blocks_of_part + int(found[0])

    def _sweep_part(self, part: int) -> NDArray[np.int64]:
        """Sweep the blocks of a part; return the best end of each."""
        first = part * self._blocks_of_part
        blocks = self.blocks[first : first + self._blocks_of_part]
        state = self._state_before(part)
        saved = states_of(state, len(blocks))
        ends = self._swept(state, blocks, saved)
        values = (ends[:, 0].astype(np.int64) - self.unlifting)[:, self.final].max(axis=1)
        for k in range(len(blocks)):
            self.states[first + k] = ProteinState(*(rows[k] for rows in saved))
            self._exits[first + k] = ends[k, 1]
        return values + self.table.last.usual

    def _state_before(self, part: int) -> ProteinState:
        if part == 0:
            return fresh_state(self.table, self.columns)
        boundary = part * self._job.strand.every
        rows = self._checkpoint(part).astype(np.int64) + self._job.bias
        return state_of(rows, boundary, self._job.strand, self.columns)
