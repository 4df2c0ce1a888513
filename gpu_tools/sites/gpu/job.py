"""Jobs: one strand of one case laid out for a GPU, and cut into strips for each kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.bounds import Limits, packed_limits, table_limits
from gpu_tools.sites.gpu.codon_plan import NO_SLOT, SHORTEST, CodonPlan, compile_codons
from gpu_tools.sites.gpu.job_table import JobNumbers, RowsInMemory, StrandLists, strand_lists
from gpu_tools.sites.gpu.packed_strip import HOT_SLOTS, NARROW, QUAD, WIDE
from gpu_tools.sites.gpu.steps import FIRST_STORED, OWN_SLOTS, StepTable, compile_steps
from gpu_tools.sites.gpu.strand_sites import listed_sites, sites_of
from gpu_tools.sites.table import BoundaryScores, SiteTable
from gpu_tools.splicing.rows import kept_symbols

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
    """One strand of a base sequence that has a chain; what is compiled of it serves all targets.

    `codes` are its nucleotides in reading direction.
    """

    def __init__(self, codes: NDArray[np.uint8], table: SiteTable, scoring: SplicedScoring):
        self.codes, self.table, self.scoring = codes, table, scoring
        self.limits = table_limits(table, scoring.gap, codes)
        self.packs = (
            max(map(abs, scoring.lifted_range)) <= 127
            and -127 <= scoring.gap <= 0
            and scoring.clip_cost * WIDE < 2**15
            and self._is_simple_enough
        )
        """Whether the kernels can take the strand, if 16 bits hold a job's cells."""
        self.scores_unknown = len(set(scoring.lifted[:, OTHER].tolist())) == 1
        """Whether an unknown target symbol scores the same with all nucleotides."""

    @property
    def _is_simple_enough(self) -> bool:
        """Whether the kernels can do what is compiled of the table."""
        if self.table.stops is None:
            return self.steps.n_hot <= max(HOT_SLOTS.values())
        introns = self.table.introns
        shortest = min((intron.min_length for intron in introns), default=SHORTEST)
        seen = self.table.junctions
        shortest = min(shortest, int((seen.acceptors - seen.donors).min(initial=SHORTEST)))
        return shortest >= SHORTEST and self.codon_plan.n_slots <= NO_SLOT

    @cached_property
    def codon_plan(self) -> CodonPlan:
        """What the packed kernel of chains that translate does; the table has stop codons."""
        return compile_codons(sites_of(self.codes, self.table), self.scoring.clip_cost)

    @cached_property
    def steps(self) -> StepTable:
        """What the packed kernel does; the table has no stop codons."""
        return compile_steps(listed_sites(self.codes, self.table), self.scoring.clip_cost)

    @property
    def compiled(self) -> StepTable | CodonPlan:
        """What the strand's kernel does."""
        return self.steps if self.table.stops is None else self.codon_plan

    @cached_property
    def lists(self) -> StrandLists:
        """What tracebacks read of the table."""
        return strand_lists(self.table)


class SiteJob:
    """One strand of one case."""

    def __init__(self, strand: SiteStrand, target: NDArray[np.uint8]):
        self.strand, self.codes, self.table = strand, strand.codes, strand.table
        self.scoring, self.target, self.columns = strand.scoring, target, len(target) + 1
        self.kept = kept_symbols(target)

    @cached_property
    def packed_limit(self) -> Limits:
        """Where the cells of the packed kernel lie."""
        return packed_limits(self.strand.limits, self.columns, _WIDEST, self.scoring)

    @cached_property
    def fits(self) -> bool:
        """Whether the kernels can take the job: its kind, its scores and its slots."""
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
        most = max(free * abs(self.scoring.gap) * _WIDEST, self.scoring.clip_cost)
        return most - 2**15 <= self.packed_limit.floor


# How jobs are cut into strips for the packed kernel, and how wide their strips are.


NANOSECONDS_A_ROW = {NARROW: 5, WIDE: 8} if simulated() else {NARROW: 75, WIDE: 140}
"""Time of a row by registers a lane, about, with two such strips for each scheduler of an H200."""
STRIPS_A_MULTIPROCESSOR = 8


_SHORT = 1 << 19
"""Steps of a job that stores all rows, at most."""
_LEAST_EVERY, _MOST_CHECKPOINTS = 1 << 14, 512


@dataclass(frozen=True, eq=False)
class PackedStrips:
    """A job's strips for the packed kernel, and the registers a lane of each strip.

    A short job stores the rows of all sites at once. A long one is swept for its best end first,
    and leaves checkpoints. Then *windows* of it are swept, from a checkpoint up to the best end,
    which store rows.
    """

    job: SiteJob
    sizes: tuple[int, ...]
    end_step: int  # the first step that is not swept
    every: int = 0  # steps between checkpoints; 0 if the job stores all rows
    first_step: int = 0
    checkpoint: int = 0  # where the first step's checkpoint begins in the buffer

    border_bytes = 4

    @property
    def compiled(self) -> StepTable | CodonPlan:
        """What the kernel does, which jobs of one strand share."""
        return self.job.strand.compiled

    @property
    def duration(self) -> int:
        """What the time of a strip is proportional to."""
        return self._advances * NANOSECONDS_A_ROW[self.sizes[0]]

    @property
    def border_words(self) -> int:
        """Border words of all strips."""
        return self._advances * len(self.sizes)

    @property
    def cell_words(self) -> int:
        """Words of all strips' cells in device memory."""
        return self._rows_in_memory * sum(self.sizes) * WARP

    @property
    def checkpoint_words(self) -> int:
        """Words of all checkpoints that the job writes."""
        count = (self.end_step - 1) // self.every if self.every else 0
        return count * len(self.sizes) * self._checkpoint_stride

    @cached_property
    def numbers(self) -> JobNumbers:
        """The job's row of the table, without where its parts begin."""
        return self._numbers_with(
            rows=2 * self.end_step, slots=FIRST_STORED + self._stored, ring=self._exits,
            exit_base=self._first_exit, n_slots=self.compiled.n_hot,
            operands=len(self.compiled.words),
        )  # fmt: skip

    @cached_property
    def rows_in_memory(self) -> RowsInMemory:
        """Which of the plan's stored rows there are, if any are stored."""
        if not self.first_step and not self.every and self.end_step == len(self.compiled.words):
            return RowsInMemory()
        stored, first = self.compiled.stored, self._boundary(self.first_step)
        entry_rows = stored.parts * self._first_entry
        entry_rows += stored.tracks * (stored.n_exits - self._exits)
        exits = self._sites_before(self.job.table.donors, self.first_step)
        return RowsInMemory(first, exits, stored.tracks * self._first_exit, entry_rows)

    def window(self, length: int, end: int, column: int, checkpoints: int) -> Self:
        """Return the strips of a window up to a boundary and a column, of `length` steps or more.

        `checkpoints` is where the job's checkpoints begin.
        """
        end_step = self._step_behind(end)
        number = max(end_step - length, 0) // self.every
        before = max(number - 1, 0) * len(self.sizes) * self._checkpoint_stride
        first, begin = number * self.every, checkpoints + before
        sizes = self.sizes[: column // (2 * WARP * self.sizes[0]) + 1]
        return type(self)(self.job, sizes, end_step, 0, first, begin)

    def _boundary(self, step: int) -> int:
        """Return the first boundary whose rows are stored from a step on."""
        return self.compiled.boundary_from(step)

    def _step_behind(self, end: int) -> int:
        """Return the step behind those that sweep a boundary."""
        return self.compiled.step_behind(end)

    def _sites_before(self, sites: BoundaryScores, step: int) -> int:
        """Return how many listed sites lie before the boundaries of a step."""
        if step in (0, len(self.compiled.words)):
            return len(sites.boundaries) if step else 0
        at = sites.boundaries.dtype.type(self._boundary(step))
        return int(np.searchsorted(sites.boundaries, at))

    @cached_property
    def _first_exit(self) -> int:
        """The first exit whose rows are there."""
        return self._sites_before(self.job.table.donors, self.first_step)

    @cached_property
    def _exits(self) -> int:
        """Exits whose rows are there at a time."""
        if self.every:
            return 0
        return self._sites_before(self.job.table.donors, self.end_step) - self._first_exit

    @cached_property
    def _first_entry(self) -> int:
        return self._sites_before(self.job.table.acceptors, self.first_step)

    @cached_property
    def _entries(self) -> int:
        """Entries of the window."""
        return self._sites_before(self.job.table.acceptors, self.end_step) - self._first_entry

    @cached_property
    def _stored(self) -> int:
        """Rows of sites that there are at a time."""
        stored = self.compiled.stored
        return stored.tracks * self._exits + (0 if self.every else stored.parts * self._entries)

    @cached_property
    def _rows_in_memory(self) -> int:
        return FIRST_STORED + self._stored

    @cached_property
    def _advances(self) -> int:
        """Border words of a strip; a whole number of groups."""
        return 2 * (self.end_step - self.first_step)

    @cached_property
    def _checkpoint_stride(self) -> int:
        """Words of a strip's part of a checkpoint."""
        rows = 1 + max(self.compiled.n_hot - OWN_SLOTS, 0)
        return (QUAD + rows * self.sizes[0]) * WARP

    def _numbers_with(self, **more) -> JobNumbers:
        """Return the job's row with what is not the same for all packed kernels."""
        floor, size = twice(self.job.packed_limit.floor), self.sizes[0]
        is_lifted = self.job.scoring.ends != "global"
        lifting = -self.job.scoring.gap * 2 * WARP * size if is_lifted else 0
        return JobNumbers(
            floor, strips=len(self.sizes), columns=self.job.columns, first_stored=FIRST_STORED,
            size=size, last_size=self.sizes[-1], lifting=lifting, kept=self.job.kept,
            stride=self._rows_in_memory * size * WARP, advances=self._advances,
            first_step=self.first_step, copy_base=self.rows_in_memory.entry_rows,
            checkpoints=self.checkpoint, every=self.every,
            checkpoint_stride=self._checkpoint_stride, **more,
        )  # fmt: skip

    def end_of(self, score: int, number: int, column: int) -> SweepEnd:
        """Decode a best end; with global ends the score lacks the gaps up to the last column."""
        end, target, scoring = self.compiled.boundary_at(number), self.job.target, self.job.scoring
        if scoring.ends == "global":
            return SweepEnd(score + scoring.gap * len(target), end, len(target))
        return SweepEnd(score, end, column)


def twice(value: int) -> int:
    """Return the word of two equal halves."""
    return value << 16 | value & 0xFFFF


def packed_strips(job: SiteJob, size: int, every: int | None = None) -> PackedStrips:
    """Cut a job into strips of `size` registers a lane; of fewer if its slots need that.

    A long job leaves checkpoints, and any job in a distance `every` of steps, if given.
    """
    steps = job.strand.steps
    size = max(n for n in HOT_SLOTS if n <= size and steps.n_hot <= HOT_SLOTS[n])
    n_steps = len(steps.words)
    every = -(-distance(n_steps, every, _SHORT) // WARP) * WARP
    return PackedStrips(job, sizes_of_strips(job, size), n_steps, every)


def sizes_of_strips(job: SiteJob, size: int) -> tuple[int, ...]:
    """Return the registers a lane of a job's strips; the last one is narrow if that is enough."""
    whole, left = divmod(job.columns, 2 * WARP * size)
    return (size,) * whole + ((NARROW if left <= 2 * WARP * NARROW else size,) if left else ())


def distance(steps: int, every: int | None, short: int) -> int:
    """Return the distance of checkpoints; 0 for none, if none is given and steps are few."""
    if every is None:
        every = max(_LEAST_EVERY, -(-steps // _MOST_CHECKPOINTS)) if steps > short else 0
    return every


def strips_of(case) -> int:
    """Return about how many strips a case has."""
    return len(case.tables) * -(-(len(case.target) + 1) // _WIDEST)


def sizes_of(jobs: list[SiteJob]) -> list[int]:
    """Choose registers a lane for each job so that all of them together end soon.

    A wide strip does more cells a second, a narrow one has done a row sooner. So a job gets narrow
    strips if one of its wide strips would need longer than all jobs together.
    """
    rows = np.array([len(job.codes) + 1 for job in jobs])
    strips = -(-np.array([job.columns for job in jobs]) // (2 * WARP * WIDE))
    processors = 1 if simulated() else cuda.get_current_device().MULTIPROCESSOR_COUNT
    together = (rows * strips).sum() / (processors * STRIPS_A_MULTIPROCESSOR)
    return [NARROW if own > together else WIDE for own in rows]
