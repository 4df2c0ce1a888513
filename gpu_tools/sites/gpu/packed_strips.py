"""How jobs are cut into strips for the packed kernel, and how wide their strips are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.sites.gpu.job import SiteJob, SweepEnd
from gpu_tools.sites.gpu.job_table import JobNumbers
from gpu_tools.sites.gpu.steps import StepTable
from gpu_tools.sites.gpu.sweep import HOT_SLOTS, NARROW, QUAD, WIDE

NANOSECONDS_A_ROW = {NARROW: 5, WIDE: 8} if simulated() else {NARROW: 75, WIDE: 140}
"""Time of a row by registers a lane, about, with two such strips for each scheduler of an H200."""
STRIPS_A_MULTIPROCESSOR = 8
OUTSIDE = 5
"""Byte of the words of lifted scores for columns without a symbol; 4 is for ambiguous symbols."""


@dataclass(frozen=True, eq=False)
class PackedStrips:
    """A job's strips for the packed kernel, and the registers a lane of each strip."""

    job: SiteJob
    sizes: tuple[int, ...]

    border_bytes = 4

    @property
    def compiled(self) -> StepTable:
        """The steps, which jobs of one strand share."""
        return self.job.strand.steps

    @property
    def first_slot(self) -> int:
        """Number of the first slot in device memory, which is not used."""
        return self.compiled.first_copy

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
        return self._slots * sum(self.sizes) * WARP

    @property
    def _rows(self) -> int:
        return 2 * self.compiled.words.shape[1]

    @property
    def _slots(self) -> int:
        return self.compiled.traceback.n_slots - self.first_slot

    @cached_property
    def numbers(self) -> JobNumbers:
        """The job's row of the table, without where its parts begin."""
        floor, size = twice(self.job.limit.floor), self.sizes[0]
        return JobNumbers(
            floor, self._rows, len(self.sizes), stride=self._slots * size * WARP, size=size,
            last_size=self.sizes[-1],
        )  # fmt: skip

    def symbols(self) -> NDArray[np.int32]:
        """Return the bytes that look up each column's scores: of each strip, word and lane."""
        bytes_of = np.full(2 * WARP * sum(self.sizes), OUTSIDE, dtype=np.int64)
        bytes_of[1 : self.job.columns] = self.job.target
        halves = bytes_of | (bytes_of | 8) << 4
        parts = self._by_size(halves, 2 * WARP)
        return np.concatenate([_words(part, size) for size, part in parts])

    def parts(self, words: NDArray[np.int32]) -> list[NDArray[np.int16]]:
        """Return cells as `DeviceRows` has them, given their words."""
        return [
            part.view(np.int16).reshape(-1, self._slots, size // QUAD, WARP, QUAD, 2)
            for size, part in self._by_size(words, self._slots * WARP)
        ]

    def _by_size(self, array: NDArray, elements: int) -> list[tuple[int, NDArray]]:
        """Cut what has so many elements a register of each strip before the last strip."""
        before = elements * sum(self.sizes[:-1])
        return [(self.sizes[0], array[:before]), (self.sizes[-1], array[before:])]

    def end_of(self, key: int) -> SweepEnd:
        """Decode what `find_ends_thread` finds: the value above, less the border word's number."""
        value, length = -((-key) >> 32), len(self.job.target)
        end = self.compiled.boundary_at((value << 32) - key)
        return SweepEnd(value + self.job.scoring.gap * length, end, length)


def _words(halves: NDArray[np.int64], size: int) -> NDArray[np.int32]:
    """Return the words of strips of `size` registers a lane by strip, word and lane."""
    low_high = halves.reshape(-1, WARP, 2, size).transpose(0, 3, 1, 2)
    return (low_high[..., 0] | low_high[..., 1] << 8).astype(np.int32).ravel()


def twice(value: int) -> int:
    """Return the word of two equal halves."""
    return int(np.array([value, value], dtype=np.int16).view(np.int32)[0])


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
