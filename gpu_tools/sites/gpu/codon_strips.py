"""How jobs whose chains translate are cut into strips for their kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.sites.gpu import job_table
from gpu_tools.sites.gpu.codon_rows import HOT_SLOTS, NUMBERS, rows_of_checkpoint
from gpu_tools.sites.gpu.job import PackedStrips, SiteJobs
from gpu_tools.splicing.reading import FRAMES

_CODONS = 125


@dataclass(frozen=True, eq=False)
class CodonStrips(PackedStrips):
    """The strips of jobs, each of which has registers for each of the three rows."""

    border_bytes = 8
    short = 1 << 16
    group = 1

    @staticmethod
    def _possible(jobs: SiteJobs, size) -> NDArray[np.int64]:
        return np.zeros_like(jobs.strand) + size

    @property
    def duration(self) -> NDArray[np.int64]:
        """What the time of a strip is proportional to."""
        return self._boundaries_swept * self.size

    def _boundaries(self, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(steps < self.jobs.known.steps, FRAMES * steps, 0)

    @property
    def first_exit(self) -> NDArray[np.int64]:
        """The first exit whose rows are there: some before the window may be needed."""
        return np.maximum(self.exits_before - self.jobs.known.ring, 0)

    @property
    def _boundaries_swept(self) -> NDArray[np.int64]:
        return FRAMES * (self.end_step - self.first_step)

    @property
    def advances(self) -> NDArray[np.int64]:
        """Advances, at least; a whole number of groups."""
        most = self._boundaries_swept + FRAMES * (self.entries + _CODONS)
        return -(-most // WARP) * WARP

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows in device memory, those of slots behind the others."""
        return self.first_slot + np.maximum(self.jobs.known.slots - HOT_SLOTS, 0)

    @property
    def checkpoint_stride(self) -> NDArray[np.int64]:
        """Words of a strip's part of a checkpoint."""
        rows = rows_of_checkpoint(self.jobs.known.slots, self.jobs.known.ring)
        return (NUMBERS + rows * self.size) * WARP

    def _of_kind(self) -> list[tuple[int, NDArray[np.int64]]]:
        ring = self.jobs.known.ring
        return [
            (job_table.ROWS, self.end_step), (job_table.RING, ring),
            (job_table.MASK, np.where(self.every > 0, ring - 1, -1)),
        ]  # fmt: skip
