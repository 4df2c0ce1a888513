"""Launches of the kernels of site mode: jobs laid out on a GPU, swept, and what comes back."""

from __future__ import annotations

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import device_memset
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.gpu.job import DeviceRows, SiteJob, SweepEnd
from gpu_tools.sites.gpu.job_table import BORDERS, BOUNDARIES, CELLS, ENDS, OPERATIONS, SYMBOLS
from gpu_tools.sites.gpu.packed_strips import PackedStrips, packed_strips, twice
from gpu_tools.sites.gpu.strips import NEVER, NEVER_BYTE
from gpu_tools.sites.gpu.strips32 import Strips32
from gpu_tools.sites.gpu.sweep import NARROW, WIDE, find_ends_thread, sweep_packed_warp
from gpu_tools.sites.gpu.sweep32 import sweep32_warp

PACKED_CAPABILITY = (9, 0)
_END_BLOCKS, _END_THREADS = (1, 2) if simulated() else (4, 256)


class StripLaunch:
    """Jobs laid out in the memory of the current GPU, ready for a kernel that sweeps strips.

    A subclass makes `cells`, `borders` and `ends`, which its kernel writes, and starts it.

    Parameters
    ----------
    jobs : list of PackedStrips or Strips32
        All of one kind. What is compiled of a strand is copied to the GPU once.
    scoring : SplicedScoring
    """

    def __init__(self, jobs: list, scoring: SplicedScoring):
        self.jobs = jobs
        compiled = list({id(job.compiled): job.compiled for job in jobs}.values())
        arrays = [each.arrays() for each in compiled]
        symbols = [job.symbols() for job in jobs]
        sizes = [
            (len(own), job.cell_words, job.border_words, job.numbers.strips)
            for own, job in zip(symbols, jobs, strict=True)
        ]
        _, self.n_cells, self.n_borders, self.n_strips = np.sum(sizes, axis=0).tolist()
        starts = _starts([[len(array) for array in pair] for pair in arrays])
        start_of = dict(zip(map(id, compiled), starts, strict=True))
        self.table = np.array([job.numbers for job in jobs], dtype=np.int64)
        self.table[:, [SYMBOLS, CELLS, BORDERS, ENDS]] = _starts(sizes)
        self.table[:, [BOUNDARIES, OPERATIONS]] = [start_of[id(job.compiled)] for job in jobs]
        self._allocate(compiled)
        boundaries, operations = (np.concatenate(each) for each in zip(*arrays, strict=True))
        # operations are read one ahead, four words each
        operations = np.append(operations, np.zeros(4, dtype=np.int32))
        inputs = self.table, self._strips(), boundaries, operations, np.concatenate(symbols)
        self.inputs = [cuda.to_device(array) for array in inputs]
        self.scoring = cuda.to_device(np.array(self._scores(scoring), dtype=np.int32))

    def _strips(self) -> NDArray[np.int32]:
        """Return job and strip in the order in which they begin, those that last first; then 0."""
        order = sorted(range(len(self.jobs)), key=lambda k: -self.jobs[k].duration)
        strips = [(k, strip) for k in order for strip in range(self.jobs[k].numbers.strips)]
        return np.array([*strips, (0, 0)], dtype=np.int32)

    def run(self) -> None:
        """Clear how far the strips are and the best ends, and start the kernel."""
        counter = self.inputs[1][-1]
        device_memset(counter, 0, counter.nbytes)
        for array in (self.borders, self.ends):
            device_memset(array, NEVER_BYTE, array.nbytes)
        self._start()

    def best_ends(self) -> list[SweepEnd]:
        """Return the jobs' best ends once the kernel is done."""
        found = self._ends_by_job(self.ends.copy_to_host())
        return [job.end_of(own) for job, own in zip(self.jobs, found, strict=True)]

    def rows(self, k: int) -> DeviceRows:
        """Fetch the rows of job `k`."""
        job, first = self.jobs[k], int(self.table[k, CELLS])
        words = self.cells[first : first + job.cell_words].copy_to_host()
        return DeviceRows(job.parts(words), job.first_slot)


class SitePackedLaunch(StripLaunch):
    """Jobs for the packed kernel; borders and cells lie in one buffer, borders first."""

    jobs: list[PackedStrips]

    def _allocate(self, compiled: list) -> None:
        self.table[:, CELLS] += self.n_borders
        self.cells = cuda.device_array(self.n_borders + self.n_cells, dtype=np.int32)
        self.borders = self.cells[: self.n_borders]
        self.ends = cuda.device_array(len(self.jobs), dtype=np.int64)
        self.last_exits = cuda.to_device(np.concatenate([steps.last_exits for steps in compiled]))

    @staticmethod
    def _scores(scoring: SplicedScoring) -> list[int]:
        lifted = (scoring.substitution() - scoring.gap).astype(np.int64)
        extra = NEVER_BYTE << 8 | int(lifted[0, OTHER]) & 0xFF
        words = lifted[:, :4].astype(np.int8).copy().view(np.int32).ravel()
        lanes = [WARP] * (WARP - 1) + [0]
        return [twice(scoring.gap), extra, *words, NEVER, *lanes]

    def _start(self) -> None:
        sweep_packed_warp[self.n_strips, WARP](*self.inputs, self.cells, self.scoring)
        find_ends_thread[(len(self.jobs), _END_BLOCKS), _END_THREADS](
            self.inputs[0], self.last_exits, self.cells, self.ends
        )

    def _ends_by_job(self, ends: NDArray[np.int64]) -> list[int]:
        return ends.tolist()


class SiteLaunch32(StripLaunch):
    """Jobs for the 32-bit kernel."""

    jobs: list[Strips32]

    def _allocate(self, compiled: list) -> None:
        self.cells = cuda.device_array(self.n_cells, dtype=np.int32)
        self.borders = cuda.device_array(max(self.n_borders, 1), dtype=np.int64)
        self.ends = cuda.device_array((self.n_strips, WARP, 3), dtype=np.int32)

    @staticmethod
    def _scores(scoring: SplicedScoring) -> list[int]:
        lifted = (scoring.substitution() - scoring.gap).ravel()
        return [*lifted, scoring.gap, int(scoring.ends != "global")]

    def _start(self) -> None:
        sweep32_warp[self.n_strips, WARP](
            *self.inputs, self.cells, self.borders, self.ends, self.scoring
        )

    def _ends_by_job(self, ends: NDArray[np.int32]) -> list[NDArray[np.int32]]:
        return np.split(ends, self.table[1:, ENDS])


def _starts(sizes) -> NDArray[np.int64]:
    """Return where each of some parts begins, by column, given their sizes."""
    sizes = np.array(sizes, dtype=np.int64)
    return np.cumsum(sizes, axis=0) - sizes


def can_pack() -> bool:
    """Tell whether the current GPU has packed 16-bit maxima."""
    return simulated() or cuda.get_current_device().compute_capability >= PACKED_CAPABILITY


def device_bytes(job: SiteJob, packs: bool) -> int:
    """Return about how much device memory a job needs, on a GPU that packs or not."""
    possible = [Strips32(job)]
    if packs and job.fits_packed:
        possible = [packed_strips(job, size) for size in (NARROW, WIDE)]
    return max(
        4 * strips.cell_words + strips.border_bytes * strips.border_words
        + sum(array.nbytes for array in (*strips.compiled.arrays(), strips.symbols()))
        for strips in possible
    )  # fmt: skip
