"""The sweep of a strand, block by block, with a stored state before each block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.sites.cpu.memory import SiteLists, lists_of
from gpu_tools.sites.proteins.columns import columns_of
from gpu_tools.sites.proteins.cpu.chain import FIND_END
from gpu_tools.sites.proteins.cpu.checkpoints import Checkpoints
from gpu_tools.sites.proteins.cpu.question import StoredBlocks
from gpu_tools.sites.proteins.cpu.state import (
    ProteinState,
    StateSizes,
    fresh_state,
    sizes_of,
    states_of,
)
from gpu_tools.sites.proteins.cpu.sweep import sweep_protein_blocks
from gpu_tools.sites.proteins.limits import nothing
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.proteins.columns import ProteinColumns
from gpu_tools.splicing.proteins.rows import PHASES

ROWS_PER_BLOCK = 1024
"""Least boundaries of a block."""
_CELLS_PER_CALL = 1 << 26
"""Cells that a call of compiled code sweeps, about: some hundredths of a second."""
_STATE_TO_BLOCK = 64
"""Rows of a state, about, for each row that is stored of a boundary of a block done again."""


@dataclass
class ProteinSweep:
    """A strand and a protein, swept.

    Attributes
    ----------
    codes : ndarray of uint8, shape (n,)
        The strand's nucleotides in reading direction.
    target : ndarray of uint8, shape (m,)
    table : SiteTable
    scoring : ProteinScoring
    lists : SiteLists, optional
        The sites of the table.
    score : int or None
        Score of the best chain, None if none scores more than no chain at all.
    begin : tuple of (int, int)
        Where a traceback begins: what it looks for, see `gpu_tools.sites.proteins.cpu.chain`, and
        in which block.
    stored : StoredBlocks
        Of all blocks.
    """

    codes: NDArray[np.uint8]
    target: NDArray[np.uint8]
    table: SiteTable
    scoring: ProteinScoring
    lists: SiteLists | None = None
    columns: ProteinColumns = field(init=False)
    score: int | None = None
    begin: tuple[int, int] = (FIND_END, -1)
    stored: StoredBlocks = field(init=False)

    def __post_init__(self):
        if self.lists is None:
            self.lists = lists_of(self.codes, self.table)
        symbols = int(self.codes.max(initial=0)) + 1
        self.columns = columns_of(self.target, self.table, self.scoring, symbols)

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
        state, rows = fresh_state(self.table, self.columns), len(self.codes) + 1
        lows = np.arange(0, rows, self.block)
        blocks = np.stack([lows, np.minimum(lows + self.block, rows)], axis=1)
        ends = np.full((len(blocks), 2, self.columns.width), self.columns.none)
        self.stored = StoredBlocks(0, self.block, states_of(state, len(blocks)), ends)
        best = nothing(self.table, len(self.target), self.scoring)
        each = max(_CELLS_PER_CALL // (self.block * self.columns.width), 1)
        for first in range(0, len(blocks), each):
            some = slice(first, first + each)
            self._sweep(state, blocks[some], some)
            found, score = self._best_end(ends[some, 0])
            if score > best:
                best = self.score = score
                self.begin = FIND_END, first + found
            done(int(blocks[some][-1, 1] - blocks[first, 0]) * len(self.target))
        return self

    def _sweep(self, state: ProteinState, blocks: NDArray[np.int64], some: slice) -> None:
        """Carry a state over some blocks, and store the state before each."""
        saved = ProteinState(*(part[some] for part in self.stored.states))
        none = np.empty((0, self.columns.width), self.columns.none.dtype)
        sweep_protein_blocks(
            self.lists, self.columns, self.scoring.codons, state, saved, self.stored.ends[some],
            (none,) * PHASES, blocks,
        )  # fmt: skip

    def _best_end(self, ends: NDArray) -> tuple[int, int]:
        """Return the first of some blocks with the best end of a chain, and its score."""
        columns = np.arange(0 if self.scoring.free else len(self.target), len(self.target) + 1)
        lifted = self.scoring.gap_extend * columns
        scores = (ends[:, self.columns.place(columns)].astype(np.int64) - lifted).max(axis=1)
        found = int(scores.argmax())
        return found, int(scores[found]) + self.table.last.usual

    @property
    def blocks_again(self) -> int:
        """Blocks that a traceback sweeps at a time to find the states before them."""
        return 0

    def checkpoints(self, part: int | None) -> Checkpoints | None:
        """Return checkpoints, that before a part among them; None if all blocks are stored."""
        return None


class BestSweep(NamedTuple):
    """The best chain of a case before it is traced: strand, score, and what returns the sweep."""

    strand: str
    score: int
    sweep: Callable[[], ProteinSweep]
