"""The sweep of a strand that a GPU has swept, as far as a traceback asks for it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gpu_tools.sites.proteins.cpu.chain import FIND_BLOCK
from gpu_tools.sites.proteins.cpu.checkpoints import Checkpoints
from gpu_tools.sites.proteins.cpu.question import no_blocks
from gpu_tools.sites.proteins.cpu.strand import ProteinSweep
from gpu_tools.sites.proteins.gpu.checkpoints import columns_in_rows
from gpu_tools.sites.proteins.gpu.strips import ProteinJob

_BYTES_AT_A_TIME = 1 << 20
"""Bytes of checkpoints, about, that are copied from a GPU at a time."""


class ResumedSweep(ProteinSweep):
    """A `ProteinSweep` that goes on from checkpoints: blocks are computed when they are needed.

    Parameters
    ----------
    job : ProteinJob
    score : int
        Score of the best chain.
    part : int
        The first part between checkpoints in which a chain with this score ends.
    fetch : callable
        Returns some checkpoints, given the number of the first one, from 1, and that behind the
        last one: an array of int32, one row each.
    """

    def __init__(self, job: ProteinJob, score: int, part: int, fetch: Callable):
        strand = job.strand
        super().__init__(strand.codes, job.target.codes, strand.table, strand.scoring, strand.lists)
        self._job, self._fetch, self.score, self._part = job, fetch, score, part
        self.begin = FIND_BLOCK, part * self.blocks_again
        self.stored = no_blocks(self.columns, self.sizes, self.block)

    @property
    def block(self) -> int:
        """Boundaries of a block."""
        return self._job.strand.block

    @property
    def blocks_again(self) -> int:
        """Blocks between two checkpoints."""
        return self._job.strand.every // self.block

    def checkpoints(self, part: int | None) -> Checkpoints:
        """Return the checkpoint before a part, or that where the best chain ends, and some more."""
        job, last = self._job, self._part if part is None else part
        words = job.checkpoint_words_each
        first = max(last + 1 - max(_BYTES_AT_A_TIME // (4 * words), 1), 1)
        cells = self._fetched(first, last + 1)
        waiting, before, exits = job.strand.checkpoint_rows
        return Checkpoints(
            cells.view(np.int16).ravel(), first, len(cells), (2 * words, job.row_cells),
            columns_in_rows(job.strips, job.checkpoint_stride, self.columns.width), job.bias,
            waiting, before, exits, job.strand.every,
        )  # fmt: skip

    def _fetched(self, first: int, past: int) -> NDArray[np.int32]:
        if past <= first:
            return np.empty((0, self._job.checkpoint_words_each), np.int32)
        return self._fetch(first, past)
