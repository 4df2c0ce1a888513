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
from gpu_tools.sites.gpu import job_table
from gpu_tools.sites.gpu.codon_sweep import sweep_codons_warp
from gpu_tools.sites.gpu.job import PackedStrips, twice
from gpu_tools.sites.gpu.packed_strip import NEVER, NEVER_BYTE
from gpu_tools.sites.gpu.strand_lists import starts_of
from gpu_tools.sites.gpu.sweep import sweep_packed_warp


class StripLaunch:
    """Jobs laid out in the memory of the current GPU, ready for a kernel that sweeps strips.

    A subclass makes `strips` and `borders`, which its kernel writes, and starts it. `buffers` has
    arrays of an earlier launch, which is done, and its stream: to make or release arrays takes
    long.
    """

    def __init__(self, buffers: Buffers | None = None):
        self.buffers = buffers or Buffers()
        self.stream = self.buffers.stream

    @property
    def n_strips(self) -> int:
        """Strips of all jobs."""
        return len(self.strips) - 1

    def array(self, name: str, count: int, dtype: type = np.int32):
        """Return a device array of the launch's own."""
        return self.buffers.array(f"{type(self).__name__} {name}", count, dtype)[:count]

    def copy(self, name: str, values: NDArray):
        """Return a device array of the launch's own with some values."""
        return self.buffers.copy(f"{type(self).__name__} {name}", values)[: len(values)]

    def copies(self, name: str, arrays) -> list:
        """Return device arrays of the launch's own with the values of some, in one copy."""
        return self.buffers.together(f"{type(self).__name__} {name}", arrays)

    def joined(self, name: str, arrays, zeros: int = 0, dtype=None, count: int | None = None):
        """Copy arrays to the GPU, one behind the other, and zeros behind them."""
        return self.buffers.joined(f"{type(self).__name__} {name}", arrays, zeros, dtype, count)

    def run(self) -> None:
        """Clear the progress of the strips, and start the kernels."""
        counter = self.strips[-1]
        device_memset(counter, 0, counter.nbytes, self.stream)
        device_memset(self.borders, NEVER_BYTE, self.borders.nbytes, self.stream)
        self._start()


def strips_in_order(durations: NDArray, counts: NDArray) -> NDArray[np.int32]:
    """Return job and strip in the order in which they begin, those that last first; then 0."""
    order = np.argsort(-durations, kind="stable")
    counts = counts[order]
    strips = np.arange(counts.sum()) - np.repeat(starts_of(counts), counts)
    pairs = np.stack([np.repeat(order, counts), strips], axis=1)
    return np.append(pairs, [[0, 0]], axis=0).astype(np.int32)


class SitePackedLaunch(StripLaunch):
    """Jobs for the packed kernel.

    What is compiled of a strand is copied to the GPU once. Borders and cells lie in one buffer,
    borders first.

    The jobs may be windows of jobs of a `whole` launch, whose numbers come with it. They begin with
    the checkpoints that the whole launch has left.
    """

    checkpoints = None

    def __init__(
        self, strips: PackedStrips, buffers: Buffers | None = None,
        whole: tuple[Self, NDArray] | None = None,
    ):  # fmt: skip
        super().__init__(buffers)
        self.cut, self.jobs, self.table = strips, strips.jobs, strips.table()
        sizes = np.column_stack([strips.words, strips.strips])
        self.n_cells, self.n_borders, n_checkpoints, n_strips = sizes.sum(axis=0).tolist()
        starts = starts_of(sizes)
        columns = [job_table.CELLS, job_table.BORDERS, job_table.ENDS]
        self.table[:, columns] = starts[:, [0, 1, 3]]
        if whole is None:
            self.table[:, job_table.CHECKPOINTS] = starts[:, 2]
            self.checkpoints = self.array("checkpoints", max(n_checkpoints, 1))
            used, inverse = np.unique(self.jobs.target, return_inverse=True)
            targets = [self.jobs.targets[k] for k in used]
            self.table[:, job_table.TARGET] = starts_of([*map(len, targets)])[inverse]
            self.targets = self.joined("targets", targets)
            self.inputs = [*self._compiled(), self.targets]
        else:
            launch, numbers = whole
            columns = [job_table.TARGET, job_table.BOUNDARIES, job_table.OPERATIONS]
            self.table[:, columns] = launch.table[np.ix_(numbers, columns)]
            self.inputs, self.checkpoints = launch.inputs, launch.checkpoints
        self._allocate()
        self.ends = self.array("ends", n_strips * WARP * 3).reshape(n_strips, WARP, 3)
        self.device_table, self.strips, self.scoring = self.copies("jobs", [
            self.table, strips_in_order(strips.duration, strips.strips),
            np.array(self._scores(self.jobs.scoring), dtype=np.int32),
        ])  # fmt: skip

    def _compiled(self) -> list:
        """Copy what is compiled to the GPU, and write into the table where each job's begins."""
        used, inverse = np.unique(self.jobs.strand, return_inverse=True)
        arrays = [self.jobs.strands[k].compiled.arrays for k in used]
        starts = starts_of([[len(array) for array in own] for own in arrays])
        columns = [job_table.BOUNDARIES, job_table.OPERATIONS][: len(arrays[0])]
        self.table[:, columns] = starts[inverse]
        # kernels prefetch one operation, of four words
        each = enumerate(zip(*arrays, strict=True))
        return [self.joined(f"plan {k}", parts, zeros=4) for k, parts in each]

    def run(self) -> None:
        """Start the kernels that sweep strips and find the best ends."""
        super().run()
        count = self.jobs.count
        self.found = self.array("found", 3 * count).reshape(count, 3)
        job_table.find_ends_warp[count, WARP, self.stream](self.device_table, self.ends, self.found)

    def best_scores(self) -> NDArray[np.int64]:
        """Return the scores of the jobs' best chains once the kernels are done, and note the ends.

        A score is `LOWEST_SCORE` if there is no chain. With global ends kernels leave out the gaps
        up to the last column. `best` are score, number and column of the ends.
        """
        found = self.buffers.fetched(self.found).astype(np.int64)
        jobs, scores = self.jobs, found[:, job_table.SCORE]
        if jobs.scoring.ends == "global":
            found[:, job_table.COLUMN] = jobs.columns - 1
            scores += jobs.scoring.gap * (jobs.columns - 1)
        # only a path from the floor has less
        scores[scores < jobs.least] = job_table.LOWEST_SCORE
        self.best = found
        return scores

    def _allocate(self) -> None:
        self.table[:, job_table.CELLS] += self.n_borders
        self.cells = self.array("cells", self.n_borders + self.n_cells)
        self.borders = self.cells[: self.n_borders]

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

    def _allocate(self) -> None:
        self.cells = self.array("cells", self.n_cells)
        self.borders = self.array("borders", self.n_borders, np.int64)

    def _start(self) -> None:
        sweep_codons_warp[self.n_strips, WARP, self.stream](
            self.device_table, self.strips, *self.inputs, self.cells, self.borders,
            self.checkpoints, self.ends, self.scoring,
        )  # fmt: skip
