"""How jobs for the packed kernel are cut into strips, and what share of the GPU each kind gets."""

from __future__ import annotations

from functools import partial
from math import ceil
from typing import NamedTuple

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.device import simulated
from gpu_tools.sites import cuda_packed as packed
from gpu_tools.sites.cuda_job import Job
from gpu_tools.sites.cuda_program import Kept, Program, compile_packed

NANOSECONDS_A_ROW = (
    {1: 2, 2: 3} if simulated()
    else {4: 180, 16: 305, 24: 390}
)  # fmt: skip
"""Time of a row where a multiprocessor holds as many strips as it can, by registers a lane.

Measured on an H200, about: benchmarks/results/sites-steps-h200.json.
"""
STRIPS_A_MULTIPROCESSOR = 8
_LONGEST, _TRIED = 64, 40
"""Times that the longest base may take, as multiples of the least: the last one and how many."""


class PackedPlan(NamedTuple):
    """A job as the packed kernel wants it: registers a lane, operations, numbers of strips."""

    job: Job
    size: int
    program: Program
    strips: int

    @property
    def kept(self) -> Kept:
        """The rows that a traceback reads."""
        return self.program.kept

    @property
    def rows(self) -> int:
        """Boundaries, and as many without meaning as make whole groups of a warp's lanes."""
        return -(-(len(self.job.codes) + 1) // packed.WARP) * packed.WARP

    @property
    def strip_words(self) -> int:
        """Words of a strip's rows in device memory."""
        places = self.kept.n_places - packed.HOT_PLACES[self.size]
        return max(places, 0) * self.size * packed.WARP


def plan_packed(job: Job, size: int) -> PackedPlan:
    """Compile a job for strips of `size` registers a lane."""
    hot = packed.HOT_PLACES[size]
    program = job.strand.compiled(hot, partial(compile_packed, hot=hot))
    return PackedPlan(job, size, program, -(-job.columns // (2 * packed.WARP * size)))


def strips_at_once() -> int:
    """Return how many strips the current GPU sweeps at a time."""
    if simulated():
        return STRIPS_A_MULTIPROCESSOR
    return cuda.get_current_device().MULTIPROCESSOR_COUNT * STRIPS_A_MULTIPROCESSOR


def sizes_of(jobs: list[Job]) -> list[int]:
    """Choose registers a lane for each job so that all of them together end soonest.

    A strip of many registers does more cells a second, one of few has done a row sooner. So the
    longest bases get few, and the more the longer they would take else.
    """
    sizes = np.array(sorted(packed.HOT_PLACES))
    rows = np.array([len(job.codes) + 1 for job in jobs])
    columns = np.array([job.columns for job in jobs])
    nanoseconds = np.array([NANOSECONDS_A_ROW[size] for size in sizes])
    each = rows[:, None] * nanoseconds
    work = each * -(-columns[:, None] // (2 * packed.WARP * sizes))
    limits = each[:, 0].max() * np.geomspace(1, _LONGEST, _TRIED)
    chosen = [_cheapest(each, work, limit) for limit in limits]
    best = chosen[int(np.argmin([_end(each, work, choice) for choice in chosen]))]
    return sizes[best].tolist()


def shared_out(plans: list[PackedPlan]) -> list[tuple[int, int]]:
    """Return sizes in the order in which their kernels shall start, and blocks of each.

    A kernel works on its strips in their order, so that each needs to be there from the start,
    with as many blocks as its share of the work asks for. The one with most work comes last, with
    a block for each strip: its blocks also take the places that others leave.
    """
    work, strips = {}, {}
    for plan in plans:
        own = plan.strips * plan.rows * NANOSECONDS_A_ROW[plan.size]
        work[plan.size] = work.get(plan.size, 0) + own
        strips[plan.size] = strips.get(plan.size, 0) + plan.strips
    share = strips_at_once() / sum(work.values())
    last = max(work, key=work.get)
    blocks = {size: min(ceil(work[size] * share), strips[size]) for size in sorted(work)}
    return [*((s, n) for s, n in blocks.items() if s != last), (last, strips[last])]


def _cheapest(each: NDArray, work: NDArray, limit: float) -> NDArray[np.int64]:
    """Return which size takes least work among those whose strips take no longer than `limit`."""
    allowed = each <= limit
    allowed[:, 0] = True
    return np.where(allowed, work, np.inf).argmin(axis=1)


def _end(each: NDArray, work: NDArray, choice: NDArray[np.int64]) -> float:
    """Return about when all jobs are done."""
    where = np.arange(len(choice)), choice
    return max(work[where].sum() / strips_at_once(), each[where].max())
