"""How jobs are cut into strips for the packed kernel, and how wide their strips are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import cuda

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.sites.gpu.job import SiteJob, SweepEnd
from gpu_tools.sites.gpu.job_table import JobNumbers
from gpu_tools.sites.gpu.packed_columns import HOT_SLOTS, NARROW, WIDE
from gpu_tools.sites.gpu.steps import FIRST_STORED, StepTable
from gpu_tools.sites.gpu.trace_table import RowsInMemory

NANOSECONDS_A_ROW = {NARROW: 5, WIDE: 8} if simulated() else {NARROW: 75, WIDE: 140}
"""Time of a row by registers a lane, about, with two such strips for each scheduler of an H200."""
STRIPS_A_MULTIPROCESSOR = 8


@dataclass(frozen=True, eq=False)
class PackedStrips:
    """A job's strips for the packed kernel, and the registers a lane of each strip."""

    job: SiteJob
    sizes: tuple[int, ...]

    border_bytes = 4
    checkpoint_words = 0
    rows_in_memory = RowsInMemory()

    @property
    def compiled(self) -> StepTable:
        """The steps, which jobs of one strand share."""
        return self.job.strand.steps

    @property
    def duration(self) -> int:
        """What the time of a strip is proportional to."""
        return self._rows * NANOSECONDS_A_ROW[self.sizes[0]]

    @property
    def border_words(self) -> int:
        """Border words of all strips."""
        return self._rows * len(self.sizes)

    @property
    def cell_words(self) -> int:
        """Words of all strips' cells in device memory."""
        return self.compiled.n_copies * sum(self.sizes) * WARP

    @property
    def _rows(self) -> int:
        return 2 * len(self.compiled.words)

    @cached_property
    def numbers(self) -> JobNumbers:
        """The job's row of the table, without where its parts begin."""
        stride = self.compiled.n_copies * self.sizes[0] * WARP
        return self._numbers_with(rows=self._rows, stride=stride)

    def _numbers_with(self, **more) -> JobNumbers:
        """Return the job's row with what is not the same for all packed kernels."""
        floor, size = twice(self.job.packed_limit.floor), self.sizes[0]
        is_lifted = self.job.scoring.ends != "global"
        lifting = -self.job.scoring.gap * 2 * WARP * size if is_lifted else 0
        return JobNumbers(
            floor, strips=len(self.sizes), columns=self.job.columns, first_stored=FIRST_STORED,
            size=size, last_size=self.sizes[-1], lifting=lifting, **more,
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


def packed_strips(job: SiteJob, size: int) -> PackedStrips:
    """Cut a job into strips of `size` registers a lane; of fewer if its slots need that.

    The last strip is a narrow one if that holds the columns that are left.
    """
    size = max(n for n in HOT_SLOTS if n <= size and job.strand.steps.n_hot <= HOT_SLOTS[n])
    whole, left = divmod(job.columns, 2 * WARP * size)
    last = (NARROW if left <= 2 * WARP * NARROW else size,) if left else ()
    return PackedStrips(job, (size,) * whole + last)


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
