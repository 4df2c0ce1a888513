"""One strand of one case on its way to a GPU, whichever kernel sweeps it."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.bounds import Limits, limits, packed_limits, table_limits
from gpu_tools.sites.gpu.coding import compile_coding
from gpu_tools.sites.gpu.codon_plan import NO_SLOT, SHORTEST, CodonPlan, compile_codons
from gpu_tools.sites.gpu.layout import listed_sites, sites_of
from gpu_tools.sites.gpu.packed_columns import HOT_SLOTS, WIDE
from gpu_tools.sites.gpu.row_plan import RowPlan, compile_for_memory
from gpu_tools.sites.gpu.steps import StepTable, compile_steps
from gpu_tools.sites.gpu.trace_table import StrandLists, strand_lists
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.bounds import narrowest
from gpu_tools.splicing.strip import padded

_LOWEST_HALF = -0x7F80
"""Less than any 16-bit cell; its two bytes are equal."""
_WIDEST = 2 * WARP * WIDE
"""Columns of the widest strip."""


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
    """

    def __init__(self, codes: NDArray[np.uint8], table: SiteTable, scoring: SplicedScoring):
        self.codes, self.table, self.scoring = codes, table, scoring
        self.limits = table_limits(table, scoring.gap, codes)
        self.packs = (
            max(map(abs, scoring.lifted_range)) <= 127
            and -127 <= scoring.gap <= 0
            and self._is_simple_enough
        )
        """Whether a packed kernel can take the strand, if 16 bits hold a job's cells."""
        self.scores_unknown = len(set(scoring.lifted[:, OTHER].tolist())) == 1
        """Whether an unknown target symbol scores the same with all nucleotides."""

    @property
    def _is_simple_enough(self) -> bool:
        """Whether a packed kernel can do what is compiled of the table."""
        if self.table.stops is None:
            return self.steps.n_hot <= max(HOT_SLOTS.values())
        introns = self.table.introns
        shortest = min((intron.min_length for intron in introns), default=SHORTEST)
        return shortest >= SHORTEST and self.codon_plan.n_slots <= NO_SLOT

    @cached_property
    def codon_plan(self) -> CodonPlan:
        """What the packed kernel of chains that translate does; the table has stop codons."""
        return compile_codons(sites_of(self.codes, self.table))

    @cached_property
    def steps(self) -> StepTable:
        """What the packed kernel does; the table has no stop codons."""
        return compile_steps(listed_sites(self.codes, self.table))

    @cached_property
    def lists(self) -> StrandLists:
        """What tracebacks read of the table."""
        return strand_lists(self.table)

    @cached_property
    def row_plan(self) -> RowPlan:
        """What the 32-bit kernel does."""
        compiled = compile_for_memory if self.table.stops is None else compile_coding
        return compiled(sites_of(self.codes, self.table))


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
        self.scoring, self.target, self.columns = strand.scoring, target, len(target) + 1
        self.limit = limits(strand.limits, padded(self.columns, 1, 2), self.scoring)
        narrowest(self.limit.bounds, self.scoring)

    @cached_property
    def packed_limit(self) -> Limits:
        """Where the cells of the packed kernel lie."""
        return packed_limits(self.strand.limits, self.columns, _WIDEST, self.scoring)

    @cached_property
    def fits_packed(self) -> bool:
        """Whether a packed kernel can take the job: its kind, its scores and its slots."""
        return bool(
            self.strand.packs
            and (self.strand.scores_unknown or not (self.target == OTHER).any())
            and self.packed_limit.bounds.lowest > _LOWEST_HALF + 256
            and self.packed_limit.bounds.highest < 2**15 - 256
            and self._closed_is_low
        )

    @property
    def _closed_is_low(self) -> bool:
        """Whether a chain that begins at a closed boundary stays below the floor."""
        free = self.scoring.ends != "global"
        most = free * abs(self.scoring.gap) * _WIDEST
        return most - 2**15 <= self.packed_limit.floor
