"""How a job is cut into strips for the 32-bit kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.bounds import possible
from gpu_tools.sites.gpu.job import SiteJob, SweepEnd
from gpu_tools.sites.gpu.job_table import JobNumbers
from gpu_tools.sites.gpu.row_plan import RowPlan
from gpu_tools.sites.gpu.sweep32 import COLUMNS_PER_LANE, STRIP


@dataclass(frozen=True, eq=False)
class Strips32:
    """A job's strips for the 32-bit kernel."""

    job: SiteJob
    first_slot = 0
    border_bytes = 8

    @property
    def compiled(self) -> RowPlan:
        """The operations, which jobs of one strand share."""
        return self.job.strand.row_plan

    @property
    def duration(self) -> int:
        """What the time of a strip is proportional to."""
        return self.numbers.rows

    @property
    def border_words(self) -> int:
        """Border words of all strips."""
        return self.numbers.strips * self.numbers.advances

    @property
    def cell_words(self) -> int:
        """Words of all strips' cells."""
        return self.numbers.strips * self.numbers.stride

    @cached_property
    def numbers(self) -> JobNumbers:
        """The job's row of the table, without where its parts begin."""
        plan, columns = self.compiled, self.job.columns
        n_slots = plan.traceback.n_slots
        return JobNumbers(
            self.job.limit.floor, len(plan.boundaries), -(-columns // STRIP),
            stride=n_slots * STRIP, slots=n_slots, advances=plan.advances(), tracks=plan.tracks,
            columns=columns, row=plan.row, start=plan.start,
        )  # fmt: skip

    def symbols(self) -> NDArray[np.uint8]:
        """Return the target's symbols by column."""
        symbols = np.full(self.numbers.strips * STRIP, OTHER, dtype=np.uint8)
        symbols[1 : self.job.columns] = self.job.target
        return symbols

    def parts(self, words: NDArray[np.int32]) -> list[NDArray[np.int32]]:
        """Return cells as `DeviceRows` has them, given their words."""
        return [words.reshape(self.numbers.strips, -1, COLUMNS_PER_LANE, WARP, 1, 1)]

    def end_of(self, lanes: NDArray[np.int32]) -> SweepEnd:
        """Return the first of the best ends, at the least column, of those of all lanes.

        Its score is None if chains must translate and none does.
        """
        lanes, job = lanes.reshape(-1, 3), self.job
        scores, ends, columns = lanes.T
        equal = np.flatnonzero(scores == scores.max())
        end = SweepEnd(*lanes[equal[np.lexsort((columns[equal], ends[equal]))[0]]].tolist())
        return end._replace(score=possible(end.score, job.limit, len(job.target), job.scoring))
