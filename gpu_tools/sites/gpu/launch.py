"""Launches of the kernels of site mode: jobs laid out on a GPU, swept, and what comes back."""

from __future__ import annotations

from typing import Self

import numpy as np
from numba.cuda.cudadrv.driver import device_memset
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.dispatch import Buffers
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.bounds import most_lifted, possible
from gpu_tools.sites.gpu import job_table
from gpu_tools.sites.gpu.codon_strips import CodonStrips, codon_strips
from gpu_tools.sites.gpu.codon_sweep import sweep_codons_warp
from gpu_tools.sites.gpu.job import PackedStrips, SiteJob, SweepEnd, packed_strips, twice
from gpu_tools.sites.gpu.job_table import ChainLeft
from gpu_tools.sites.gpu.packed_strip import NARROW, NEVER, NEVER_BYTE, WIDE
from gpu_tools.sites.gpu.sweep import sweep_packed_warp

_SPARE = 8
"""An array has this part of its size to spare for the next launch."""


class SitePackedLaunch:
    """Jobs laid out in the memory of the current GPU, ready for the kernel that sweeps strips.

    What is compiled of a strand is copied to the GPU once. `buffers` has arrays of an earlier
    launch, which is done: to make or release arrays takes long. Borders and cells lie in one
    buffer, borders first.

    The jobs may be windows of jobs of a `whole` launch, whose numbers come with it. They begin with
    the checkpoints that the whole launch has left.
    """

    checkpoints = None

    def __init__(
        self, jobs: list[PackedStrips], scoring: SplicedScoring, buffers: Buffers | None = None,
        whole: tuple[Self, list[int]] | None = None,
    ):  # fmt: skip
        self.jobs, self.model, self.buffers = jobs, scoring, buffers or Buffers()
        self.stream = self.buffers.stream
        sizes = [(job.cell_words, job.border_words, job.numbers.strips) for job in jobs]
        self.n_cells, self.n_borders, self.n_strips = np.sum(sizes, axis=0).tolist()
        self.table = np.array([job.numbers for job in jobs], dtype=np.int64)
        self.table[:, [job_table.CELLS, job_table.BORDERS, job_table.ENDS]] = starts_of(sizes)
        if whole is None:
            targets = [job.job.target for job in jobs]
            self.targets, self.table[:, job_table.TARGET] = self.together("targets", targets)
            self.inputs = [*self._compiled(), self.targets]
            scores = np.array(self._scores(scoring), dtype=np.int32)
            self.scoring = self.copy("scoring", scores)
        else:
            launch, numbers = whole
            columns = [job_table.TARGET, job_table.BOUNDARIES, job_table.OPERATIONS]
            self.table[:, columns] = launch.table[np.ix_(numbers, columns)]
            self.inputs, self.scoring = launch.inputs, launch.scoring
            self.checkpoints = launch.checkpoints
        strips = self._strips()
        self._allocate()
        self.ends = self.array("ends", self.n_strips * WARP * 3).reshape(self.n_strips, WARP, 3)
        self.device_table = self.copy("table", self.table)
        self.strips = self.copy("strips", strips)

    def array(self, name: str, count: int, dtype: type = np.int32):
        """Return a device array of the launch's own."""
        own = f"{type(self).__name__} {name}"
        return self.buffers.array(own, count, dtype, spare=count // _SPARE)[:count]

    def copy(self, name: str, values: NDArray):
        """Return a device array of the launch's own with some values."""
        return self.buffers.copy(f"{type(self).__name__} {name}", values)[: len(values)]

    def together(self, name: str, arrays: list) -> tuple:
        """Copy arrays to the GPU, those that repeat once; return where each of them begins, too."""
        unique, starts = once(arrays)
        return self.buffers.joined(f"{type(self).__name__} {name}", unique), starts

    def _compiled(self) -> list:
        """Copy what is compiled to the GPU, and write into the table where each job's begins."""
        compiled = list({id(job.compiled): job.compiled for job in self.jobs}.values())
        arrays = [each.arrays() for each in compiled]
        starts = starts_of([[len(array) for array in own] for own in arrays])
        start_of = dict(zip(map(id, compiled), starts, strict=True))
        columns = [job_table.BOUNDARIES, job_table.OPERATIONS][: len(arrays[0])]
        self.table[:, columns] = [start_of[id(job.compiled)] for job in self.jobs]
        # kernels prefetch one operation, of four words
        return [
            self.buffers.joined(f"{type(self).__name__} plan {k}", parts, zeros=4)
            for k, parts in enumerate(zip(*arrays, strict=True))
        ]

    def _strips(self) -> NDArray[np.int32]:
        """Return job and strip in the order in which they begin, those that last first; then 0."""
        order = sorted(range(len(self.jobs)), key=lambda k: -self.jobs[k].duration)
        strips = [(k, strip) for k in order for strip in range(self.jobs[k].numbers.strips)]
        return np.array([*strips, (0, 0)], dtype=np.int32)

    def run(self) -> None:
        """Clear the progress of the strips, and start the kernels."""
        counter = self.strips[-1]
        device_memset(counter, 0, counter.nbytes, self.stream)
        device_memset(self.borders, NEVER_BYTE, self.borders.nbytes, self.stream)
        self._start()
        self.found = self.array("found", 3 * len(self.jobs)).reshape(len(self.jobs), 3)
        job_table.find_ends_warp[len(self.jobs), WARP, self.stream](
            self.device_table, self.ends, self.found
        )

    def best_ends(self) -> list[SweepEnd]:
        """Return the jobs' best ends once the kernels are done."""
        found = self.found.copy_to_host(stream=self.stream)
        self.stream.synchronize()
        return [
            checked(each.job, each.end_of(*end))
            for each, end in zip(self.jobs, found.tolist(), strict=True)
        ]

    def window(self, k: int, end: ChainLeft, times: int) -> PackedStrips:
        """Return a window of a job's, with the end of a chain and some checkpoints before it."""
        job, checkpoints = self.jobs[k], int(self.table[k, job_table.CHECKPOINTS])
        return job.window(times * job.every, end.end, end.column, checkpoints)

    def windows(self, jobs: dict[int, PackedStrips]) -> Self:
        """Return a launch of some windows, by the numbers of the jobs here."""
        whole = self, list(jobs)
        return type(self)(list(jobs.values()), self.model, self.buffers, whole)

    def _allocate(self) -> None:
        self.table[:, job_table.CELLS] += self.n_borders
        self.cells = self.array("cells", self.n_borders + self.n_cells)
        self.borders = self.cells[: self.n_borders]
        self._allocate_checkpoints()

    def _allocate_checkpoints(self) -> None:
        if self.checkpoints is None:
            sizes = [(job.checkpoint_words,) for job in self.jobs]
            self.table[:, [job_table.CHECKPOINTS]] = starts_of(sizes)
            self.checkpoints = self.array("checkpoints", int(max(np.sum(sizes), 1)))

    @staticmethod
    def _scores(scoring: SplicedScoring) -> list[int]:
        lifted = scoring.lifted
        extra = NEVER_BYTE << 8 | int(lifted[0, OTHER]) & 0xFF
        words = lifted[:, :4].astype(np.int8).copy().view(np.int32).ravel()
        free_gap = 0 if scoring.ends == "global" else scoring.gap
        return [twice(scoring.gap), extra, *words, NEVER, free_gap, scoring.clip_cost]

    def _start(self) -> None:
        sweep_packed_warp[self.n_strips, WARP, self.stream](
            self.device_table, self.strips, *self.inputs, self.cells, self.checkpoints, self.ends,
            self.scoring,
        )  # fmt: skip


class SiteCodonLaunch(SitePackedLaunch):
    """Jobs for the packed kernel of chains that translate."""

    jobs: list[CodonStrips]

    def _allocate(self) -> None:
        self.cells = self.array("cells", self.n_cells)
        self.borders = self.array("borders", self.n_borders, np.int64)
        self._allocate_checkpoints()

    def _start(self) -> None:
        sweep_codons_warp[self.n_strips, WARP, self.stream](
            self.device_table, self.strips, *self.inputs, self.cells, self.borders,
            self.checkpoints, self.ends, self.scoring,
        )  # fmt: skip


def scores_of_traces(scoring: SplicedScoring) -> list[int]:
    """Return the scoring as the traceback reads it."""
    free = int(scoring.ends != "global")
    return [*scoring.lifted.ravel(), scoring.gap, free, most_lifted(scoring), scoring.clip_cost]


def once(arrays: list) -> tuple[list[NDArray], list[int]]:
    """Return arrays without those that repeat, and where each begins if they are joined."""
    unique = list({id(array): array for array in arrays}.values())
    starts = starts_of([[len(array)] for array in unique])[:, 0].tolist()
    start_of = dict(zip(map(id, unique), starts, strict=True))
    return unique, [start_of[id(array)] for array in arrays]


def starts_of(sizes) -> NDArray[np.int64]:
    """Return where each of some parts begins, by column, given their sizes."""
    sizes = np.array(sizes, dtype=np.int64)
    return np.cumsum(sizes, axis=0) - sizes


def checked(job: SiteJob, end: SweepEnd) -> SweepEnd:
    """Return an end without its score if there is no chain that ends so."""
    return end._replace(score=possible(end.score, job.packed_limit, job.target, job.scoring))


def device_bytes(job: SiteJob) -> int:
    """Return about how much device memory a job needs."""
    if job.table.stops is None:
        possible = [packed_strips(job, NARROW)]  # wide ones have as many cells and fewer borders
    else:
        possible = [codon_strips(job, size) for size in (NARROW, WIDE)]
    of_strand = possible[0].compiled.n_bytes + len(job.codes)
    return max(map(strip_bytes, possible)) + of_strand + len(job.target)


def strip_bytes(strips: PackedStrips) -> int:
    """Return how much device memory a job's strips need."""
    words = strips.cell_words + strips.checkpoint_words
    return 4 * words + strips.border_bytes * strips.border_words
