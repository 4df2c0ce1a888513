"""One strand of one case on its way to a GPU and back, whichever kernel sweeps it."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.bounds import limits, table_limits
from gpu_tools.sites.cpu.state import sites_of
from gpu_tools.sites.cpu.sweep import ROWS_PER_BLOCK, site_blocks
from gpu_tools.sites.gpu.coding import compile_coding
from gpu_tools.sites.gpu.row_plan import RowPlan, compile_for_memory
from gpu_tools.sites.gpu.steps import StepTable, compile_steps
from gpu_tools.sites.gpu.sweep import HOT_SLOTS
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.bounds import narrowest
from gpu_tools.splicing.strip import padded

LOWEST_HALF = -0x7F80
"""Less than any 16-bit cell; its two bytes are equal."""


class SweepEnd(NamedTuple):
    """The best end of a sweep; the score is None if there is no chain."""

    score: int | None
    end: int
    column: int


class SiteStrand:
    """One strand of a base sequence, whatever its targets; what is compiled of it is shared.

    Parameters
    ----------
    codes : ndarray of uint8, shape (m,)
        The strand's nucleotides in reading direction.
    table : SiteTable
        Of the same strand; it has a chain.
    scoring : SplicedScoring
    rows_per_block : int
        Least number of rows between two that are stored for the traceback.
    """

    def __init__(
        self, codes: NDArray[np.uint8], table: SiteTable, scoring: SplicedScoring,
        rows_per_block: int = ROWS_PER_BLOCK,
    ):  # fmt: skip
        self.codes, self.table, self.scoring = codes, table, scoring
        self.sites = sites_of(codes, table, np.dtype(np.int32))
        self.blocks = site_blocks(len(codes), rows_per_block)
        self.limits = table_limits(table, scoring.gap, codes)

    @cached_property
    def steps(self) -> StepTable:
        """What the packed kernel does; the table has no stop codons."""
        return compile_steps(self.sites, self.blocks)

    @cached_property
    def row_plan(self) -> RowPlan:
        """What the 32-bit kernel does."""
        compiled = compile_for_memory if self.table.stops is None else compile_coding
        return compiled(self.sites, self.blocks)


class SiteJob:
    """One strand of one case.

    Parameters
    ----------
    strand : SiteStrand
    target : ndarray of uint8, shape (n,)
        Encoded target.

    Raises
    ------
    ScoringError
        If scores could overflow 32-bit integers.
    """

    def __init__(self, strand: SiteStrand, target: NDArray[np.uint8]):
        self.strand, self.codes, self.table = strand, strand.codes, strand.table
        self.sites, self.blocks, self.scoring = strand.sites, strand.blocks, strand.scoring
        self.target, self.columns = target, len(target) + 1
        # floor and bounds are those of the CPU's sweep
        self.limit = limits(strand.limits, padded(self.columns, 1, 2), self.scoring)
        narrowest(self.limit.bounds, self.scoring)

    @property
    def fits_packed(self) -> bool:
        """Whether the packed kernel can take the job: its kind, its scores and its slots."""
        return (
            self.table.stops is None
            and self.scoring.ends == "global"
            and self._scores_fit_packed()
            and self.strand.steps.n_hot <= max(HOT_SLOTS.values())
        )

    def _scores_fit_packed(self) -> bool:
        """Return whether 16 bits hold all cells, and bytes all scores."""
        lifted = self.scoring.substitution() - self.scoring.gap
        bound, unaligned = self.limit.bounds, abs(self.scoring.gap) * padded(self.columns, 1, 2)
        return bool(
            np.abs(lifted).max() <= 127
            and -127 <= self.scoring.gap <= 0
            and (len(set(lifted[:, OTHER].tolist())) == 1 or not (self.target == OTHER).any())
            # the bounds allow for the gaps at a chain's end, which the kernel does not count
            and bound.lowest + unaligned > LOWEST_HALF + 256
            and bound.highest - unaligned < 2**15 - 256
        )


class DeviceRows:
    """Rows fetched from a GPU.

    Parameters
    ----------
    parts : list of ndarray, shape (strips, slots, groups of words, lanes, words a group, halves)
        Strips of equal width each, from left to right.
    first : int
        Number of the first slot.
    """

    def __init__(self, parts: list[NDArray], first: int):
        self.parts, self.first = parts, first

    def row(self, slot: int, columns: int) -> NDArray:
        """Return the first columns of a row."""
        in_order = (part[:, slot - self.first].transpose(0, 2, 4, 1, 3) for part in self.parts)
        return np.concatenate([part.ravel() for part in in_order])[:columns]
