"""How jobs whose chains translate are cut into strips for their packed kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.sites.gpu.codon_rows import HOT_SLOTS, NUMBERS, rows_of_checkpoint
from gpu_tools.sites.gpu.job import PackedStrips, SiteJob, distance, sizes_of_strips
from gpu_tools.sites.gpu.job_table import JobNumbers
from gpu_tools.splicing.reading import FRAMES

_SHORT = 1 << 16
"""Steps of a job that stores all rows, at most."""
_CODONS = 125


@dataclass(frozen=True, eq=False)
class CodonStrips(PackedStrips):
    """A job's strips, and the registers a lane of each strip, for each of the three rows."""

    border_bytes = 8

    @property
    def duration(self) -> int:
        """What the time of a strip is proportional to."""
        return self._rows * self.sizes[0]

    @cached_property
    def numbers(self) -> JobNumbers:
        """The job's row of the table, without where its parts begin."""
        plan = self.compiled
        return self._numbers_with(
            rows=self.end_step, operands=len(plan.words), slots=self._first_slot,
            start=plan.start, n_slots=plan.n_slots, ring=plan.ring,
            mask=plan.ring - 1 if self.every else -1, exit_base=self._first_exit,
        )  # fmt: skip

    def _boundary(self, step: int) -> int:
        return FRAMES * step

    def _step_behind(self, end: int) -> int:
        return end // FRAMES + 1

    @property
    def _first_exit(self) -> int:
        """The first exit whose rows are there: some before the window may be needed."""
        if not self.first_step:
            return 0
        return max(super()._first_exit - self.compiled.ring, 0)

    @property
    def _exits(self) -> int:
        return self.compiled.ring if self.every else super()._exits

    @property
    def _rows(self) -> int:
        return FRAMES * (self.end_step - self.first_step)

    @property
    def _advances(self) -> int:
        """Advances, at least; a whole number of groups."""
        most = self._rows + FRAMES * (self._entries + _CODONS)
        return -(-most // WARP) * WARP

    @property
    def _first_slot(self) -> int:
        """Number of the row of the first slot in device memory."""
        return super()._rows_in_memory

    @property
    def _rows_in_memory(self) -> int:
        return self._first_slot + max(self.compiled.n_slots - HOT_SLOTS, 0)

    @property
    def _checkpoint_stride(self) -> int:
        rows = rows_of_checkpoint(self.compiled.n_slots, self.compiled.ring)
        return (NUMBERS + rows * self.sizes[0]) * WARP


def codon_strips(job: SiteJob, size: int, every: int | None = None) -> CodonStrips:
    """Cut a job into strips of `size` registers a lane and row; see `packed_strips`."""
    steps = len(job.strand.codon_plan.words)
    return CodonStrips(job, sizes_of_strips(job, size), steps, distance(steps, every, _SHORT))
