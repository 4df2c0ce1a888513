"""How jobs whose chains translate are cut into strips for their packed kernel."""

from __future__ import annotations

from functools import cached_property

from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.sites.gpu.codon_operations import HOT_SLOTS
from gpu_tools.sites.gpu.codon_plan import FIRST_STORED, CodonPlan
from gpu_tools.sites.gpu.job import SiteJob
from gpu_tools.sites.gpu.job_table import JobNumbers
from gpu_tools.sites.gpu.packed_columns import NARROW
from gpu_tools.sites.gpu.packed_strips import PackedStrips


class CodonStrips(PackedStrips):
    """A job's strips, and the registers a lane of each strip, for each of the three rows."""

    border_bytes = 8

    @property
    def compiled(self) -> CodonPlan:
        """The plan, which jobs of one strand share."""
        return self.job.strand.codon_plan

    @property
    def border_words(self) -> int:
        """Pairs of border words of all strips."""
        return self._advances * len(self.sizes)

    @property
    def cell_words(self) -> int:
        """Words of all strips' cells in device memory."""
        return self._rows_in_memory * sum(self.sizes) * WARP

    @property
    def _rows(self) -> int:
        return 3 * len(self.compiled.words)

    @property
    def _advances(self) -> int:
        return self._rows + self.compiled.n_advances

    @property
    def _first_slot(self) -> int:
        """Number of the row of the first slot in device memory."""
        return FIRST_STORED + self.compiled.stored.count

    @property
    def _rows_in_memory(self) -> int:
        return self._first_slot + max(self.compiled.n_slots - HOT_SLOTS, 0)

    @cached_property
    def numbers(self) -> JobNumbers:
        """The job's row of the table, without where its parts begin."""
        return self._numbers_with(
            rows=len(self.compiled.words), stride=self._rows_in_memory * self.sizes[0] * WARP,
            slots=self._first_slot, advances=self._advances, start=self.compiled.start, mask=-1,
        )  # fmt: skip


def codon_strips(job: SiteJob, size: int) -> CodonStrips:
    """Cut a job into strips of `size` registers a lane and row.

    The last strip is a narrow one if that holds the columns that are left.
    """
    whole, left = divmod(job.columns, 2 * WARP * size)
    last = (NARROW if left <= 2 * WARP * NARROW else size,) if left else ()
    return CodonStrips(job, (size,) * whole + last)
