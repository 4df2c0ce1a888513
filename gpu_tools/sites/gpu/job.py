"""One strand of one case on its way to a GPU and back, whichever kernel sweeps it."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.cpu.wavefront import blocks_of
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.bounds import TableLimits, limits_within, table_limits
from gpu_tools.sites.cpu.state import sites_of
from gpu_tools.sites.cpu.sweep import ROWS_PER_BLOCK
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
    rows_per_block : int
        Least number of rows between two that are stored for the traceback.
    """

    def __init__(
        self, codes: NDArray[np.uint8], table: SiteTable, rows_per_block: int = ROWS_PER_BLOCK
    ):
        self.codes, self.table = codes, table
        self.sites = sites_of(codes, table, np.dtype(np.int32))
        self.blocks = blocks_of(len(codes) + 1, max(rows_per_block, isqrt(len(codes))))
        self._compiled: dict[str, StepTable | RowPlan] = {}
        self._limits: dict[int, TableLimits] = {}

    @property
    def steps(self) -> StepTable:
        """What the packed kernel does; the table has no stop codons."""
        return self._once("steps", lambda: compile_steps(self.sites, self.blocks))

    @property
    def row_plan(self) -> RowPlan:
        """What the 32-bit kernel does."""
        if self.table.stops is None:
            return self._once("rows", lambda: compile_for_memory(self.sites, self.blocks))
        return self._once("rows", lambda: compile_coding(self.sites, self.blocks, self.table.stops))

    def _once(self, key: str, make: Callable):
        """Return what `make` makes the first time; all threads get the same object."""
        if key not in self._compiled:
            self._compiled.setdefault(key, make())
        return self._compiled[key]

    def limits(self, gap: int) -> TableLimits:
        """Return what the limits of the strand's sweeps have in common at a gap's score."""
        if gap not in self._limits:
            codes = None if self.table.stops is None else self.codes
            self._limits[gap] = table_limits(self.table, gap, codes)
        return self._limits[gap]


class SiteJob:
    """One strand of one case.

    Parameters
    ----------
    strand : SiteStrand
    target : ndarray of uint8, shape (n,)
        Encoded target.
    scoring : SplicedScoring

    Raises
    ------
    ScoringError
        If scores could overflow 32-bit integers.
    """

    def __init__(self, strand: SiteStrand, target: NDArray[np.uint8], scoring: SplicedScoring):
        self.strand, self.codes, self.table = strand, strand.codes, strand.table
        self.sites, self.blocks = strand.sites, strand.blocks
        self.target, self.scoring, self.columns = target, scoring, len(target) + 1
        # floor and bounds are those of the CPU's sweep
        self.limit = limits_within(strand.limits(scoring.gap), padded(self.columns, 1, 2), scoring)
        self.dtype = narrowest(self.limit.bounds, scoring)

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
