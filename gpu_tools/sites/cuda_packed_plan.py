"""How jobs for the packed kernel are cut into strips, and in which order the strips begin."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.device import simulated
from gpu_tools.sites import cuda_packed as packed
from gpu_tools.sites.cuda_job import Job
from gpu_tools.sites.cuda_program import Program, compile_packed

NANOSECONDS_A_ROW = (
    {1: 2, 2: 3} if simulated()
    else {4: 120, 8: 160, 12: 220, 16: 270, 20: 320, 24: 370, 32: 480}
)  # fmt: skip
"""Time of a row where a multiprocessor holds as many strips as it can, by registers a lane."""
STRIPS_A_MULTIPROCESSOR = 8
_LONGEST = 64
"""Times of the longest job that are looked at lie so much apart at most."""
_TRIED = 40


class PackedPlan(NamedTuple):
    """A job as the packed kernel wants it: registers a lane, operations, numbers of strips."""

    job: Job
    size: int
    program: Program
    strips: int

    @property
    def rows(self) -> int:
        """Boundaries, and as many without meaning as make whole groups of a warp's lanes."""
        return -(-(len(self.job.codes) + 1) // packed.WARP) * packed.WARP

    @property
    def strip_words(self) -> int:
        """Words of a strip's rows in device memory."""
        places = self.program.kept.n_places - packed.HOT_PLACES[self.size]
        return max(places, 0) * self.size * packed.WARP


def plan_packed(job: Job, size: int) -> PackedPlan:
    """Compile a job for strips of `size` registers a lane."""
    hot = packed.HOT_PLACES[size]
    program = job.strand.compiled(hot, partial(compile_packed, hot=hot))
    return PackedPlan(job, size, program, -(-job.columns // (2 * packed.WARP * size)))


def arranged(jobs: list[Job]) -> tuple[list[int], list[int]]:
    """Choose registers a lane for each job so that all of them together end soonest.

    A strip of many registers does more cells a second, one of few has done a row sooner. So the
    longest bases get few, and the more the longer they would take else.

    Returns
    -------
    list of int
        Registers a lane of each job.
    list of int
        Turn of each job: those that take longest come first, each turn half as long as the last.
    """
    sizes = np.array(sorted(packed.HOT_PLACES))
    rows = np.array([len(job.codes) + 1 for job in jobs])
    columns = np.array([job.columns for job in jobs])
    nanoseconds = np.array([NANOSECONDS_A_ROW[size] for size in sizes])
    each = rows[:, None] * nanoseconds * 1e-9
    work = each * -(-columns[:, None] // (2 * packed.WARP * sizes))
    limits = each[:, 0].max() * np.geomspace(1, _LONGEST, _TRIED)
    chosen = [_cheapest(each, work, limit) for limit in limits]
    ends = [_end(each, work, choice) for choice in chosen]
    best = chosen[int(np.argmin(ends))]
    seconds = np.take_along_axis(each, best[:, None], 1)[:, 0]
    return sizes[best].tolist(), np.floor(-np.log2(seconds / seconds.max())).astype(int).tolist()


def _cheapest(each: NDArray, work: NDArray, limit: float) -> NDArray[np.int64]:
    """Return which size takes least work among those whose strips take no longer than `limit`."""
    allowed = each <= limit
    allowed[:, 0] = True
    return np.where(allowed, work, np.inf).argmin(axis=1)


def _end(each: NDArray, work: NDArray, choice: NDArray[np.int64]) -> float:
    """Return about when all jobs are done: the last strips begin when most are done."""
    where = np.arange(len(choice)), choice
    at_once = 1 if simulated() else cuda.get_current_device().MULTIPROCESSOR_COUNT
    return max(work[where].sum() / (at_once * STRIPS_A_MULTIPROCESSOR), each[where].max())
