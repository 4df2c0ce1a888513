"""How a job is cut into strips for the 32-bit kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gpu_tools.sites.gpu.job import SiteJob, SweepEnd
from gpu_tools.sites.gpu.job_table import JobNumbers
from gpu_tools.sites.gpu.row_plan import RowPlan
from gpu_tools.sites.gpu.sweep32 import STRIP
from gpu_tools.sites.gpu.trace_table import RowsInMemory


@dataclass(frozen=True, eq=False)
class Strips32:
    """A job's strips for the 32-bit kernel."""

    job: SiteJob
    border_bytes = 8
    checkpoint_words = 0
    rows_in_memory = RowsInMemory()

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
        return JobNumbers(
            self.job.limit.floor, len(plan.boundaries), -(-columns // STRIP),
            stride=plan.n_slots * STRIP, columns=columns, first_stored=plan.slots.stored,
            slots=plan.n_slots, advances=plan.advances(), tracks=plan.stored.tracks,
            row=plan.slots.row, start=plan.slots.start,
        )  # fmt: skip

    def end_of(self, score: int, number: int, column: int) -> SweepEnd:
        """Decode a best end; a boundary's number is the boundary."""
        return SweepEnd(score, number, column)
