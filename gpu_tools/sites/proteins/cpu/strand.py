"""The sweep of a strand, block by block, with the state before each block kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.sites.cpu.state import SiteLists, lists_of
from gpu_tools.sites.proteins.columns import ProteinColumns, columns_of
from gpu_tools.sites.proteins.cpu.state import (
    BlockRows,
    ProteinState,
    block_rows,
    fresh_state,
    states_of,
)
from gpu_tools.sites.proteins.cpu.sweep import sweep_protein_blocks
from gpu_tools.sites.proteins.limits import nothing
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.proteins.rows import PHASES
from gpu_tools.splicing.strip import by_column

ROWS_PER_BLOCK = 1024
"""Least boundaries of a block."""
_CELLS_PER_CALL = 1 << 26
"""Cells that a call of compiled code sweeps, about: some hundredths of a second."""
_STATE_TO_BLOCK = 64
"""Rows of a state, about, for each row kept of a boundary when a block is computed again."""


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
    score : int or None
        Score of the best chain, None if none scores more than no chain at all.
    block : int
        The first block in which a chain with this score ends.
    best_exits : list of ndarray
        The largest exits of each block, column by column.
    """

    codes: NDArray[np.uint8]
    target: NDArray[np.uint8]
    table: SiteTable
    scoring: ProteinScoring
    lists: SiteLists = field(init=False)
    columns: ProteinColumns = field(init=False)
    score: int | None = None
    block: int = -1
    blocks: list[tuple[int, int]] = field(default_factory=list)
    states: list[ProteinState] = field(default_factory=list)
    best_exits: list[NDArray] = field(default_factory=list)

    def __post_init__(self):
        self.lists = lists_of(self.codes, self.table)
        symbols = int(self.codes.max(initial=0)) + 1
        self.columns = columns_of(self.target, self.table, self.scoring, symbols)
        rows, count = (
            len(self.codes) + 1,
            max(ROWS_PER_BLOCK, isqrt(len(self.codes) * _STATE_TO_BLOCK)),
        )
        self.blocks = [(low, min(low + count, rows)) for low in range(0, rows, count)]

    def run(self, done: Callable[[int], None]) -> ProteinSweep:
        """Sweep all blocks; `done` is called with the nominal cells of some of them."""
        state = fresh_state(self.table, self.columns)
        best = nothing(self.table, len(self.target), self.scoring)
        low, high = self.blocks[0]
        each = max(_CELLS_PER_CALL // ((high - low) * self.columns.width), 1)
        for first in range(0, len(self.blocks), each):
            some = self.blocks[first : first + each]
            saved = states_of(state, len(some))
            ends = self._swept(state, some, saved)
            scores = (ends[:, 0].astype(np.int64) - self.unlifting)[:, self.final].max(axis=1)
            found = int(scores.argmax())
            if scores[found] + self.table.last.usual > best:
                best = self.score = int(scores[found]) + self.table.last.usual
                self.block = first + found
            self.states += [ProteinState(*(part[k] for part in saved)) for k in range(len(some))]
            self.best_exits += list(ends[:, 1])
            done((some[-1][1] - some[0][0]) * len(self.target))
        return self

    @property
    def unlifting(self) -> NDArray[np.int64]:
        """What H' of each column is above H."""
        return self.scoring.gap_extend * np.arange(self.columns.width)

    @property
    def final(self) -> slice:
        """The columns in which a chain may end."""
        return slice(0 if self.scoring.free else len(self.target), len(self.target) + 1)

    def rows_of(self, number: int, last: int, memory: BlockRows | None = None) -> BlockRows:
        """Return the rows of a block up to a boundary, computed again.

        They lie in `memory` if it is large enough, which is of no more use.
        """
        low, high = self.blocks[number]
        high = min(high, last + 1)
        state = self.states[number].copy()
        rows = block_rows(state, low, high, memory)
        self._swept(state, [(low, high)], record=rows[1:])
        return rows

    def _swept(
        self, state: ProteinState, blocks: list[tuple[int, int]],
        saved: ProteinState | None = None, record: tuple[NDArray, ...] | None = None,
    ) -> NDArray:  # fmt: skip
        """Carry a state over blocks; return the largest ends and exits of each, column by column.

        `saved` takes the state before each block, `record` the rows of a single one.
        """
        columns, count = self.columns, len(blocks)
        ends = np.full((2 * count, columns.width), columns.none)
        if record is None:
            record = (np.empty((0, columns.width), ends.dtype),) * PHASES
        if saved is None:
            saved = states_of(state, 0)
        sweep_protein_blocks(
            self.lists, columns, self.scoring.codons, state, saved,
            ends.reshape(count, 2, columns.width), record, np.array(blocks, dtype=np.int64),
        )  # fmt: skip
        return by_column(ends, columns.lanes).reshape(count, 2, columns.width)


class BestSweep(NamedTuple):
    """The best chain of a case before it is traced: strand, score, and what returns the sweep."""

    strand: str
    score: int
    sweep: Callable[[], ProteinSweep]
