"""Jobs for the wide kernel: strips, buffers, launch, best ends."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import device_memset
from numpy.typing import NDArray

from gpu_tools.scoring import SplicedScoring
from gpu_tools.sequences import OTHER
from gpu_tools.sites import cuda_wide as wide
from gpu_tools.sites.coding import possible
from gpu_tools.sites.cuda_coding import coding_places, compile_coding
from gpu_tools.sites.cuda_job import DeviceRows, End, Job, begun
from gpu_tools.sites.cuda_program import ADVANCE, LAST, Program, compile_wide, places_in_memory


class WidePlan(NamedTuple):
    """A job as the wide kernel wants it; `waiting` only if chains translate."""

    job: Job
    program: Program
    strips: int
    waiting: NDArray[np.bool_] | None

    @property
    def size(self) -> int:
        """Columns a lane."""
        return wide.COLUMNS_PER_LANE

    @property
    def tracks(self) -> int:
        """Current rows."""
        return 1 if self.waiting is None else 3

    @property
    def advances(self) -> int:
        """How often a row is moved on by a base."""
        alone = self.program.operations[:, 0] & (LAST - 1) == ADVANCE
        return self.tracks * len(self.job.codes) + int(alone.sum())

    @property
    def strip_words(self) -> int:
        """Words of a strip's rows."""
        return self.program.kept.n_places * wide.STRIP


def plan_wide(job: Job) -> WidePlan:
    """Compile a job for the wide kernel."""
    strips, table = -(-job.columns // wide.STRIP), job.table
    if table.stops is None:
        return WidePlan(job, job.strand.compiled("wide", compile_wide), strips, None)
    compiled = job.strand.compiled("coding", partial(compile_coding, stops=table.stops))
    program, waiting = compiled
    return WidePlan(job, program, strips, waiting)


class WideLaunch:
    """Jobs laid out in the memory of the current GPU, ready for the wide kernel.

    Parameters
    ----------
    jobs : list of Job
    scoring : SplicedScoring
    spread : callable
        Used like `map` for work of the CPU.
    """

    def __init__(self, jobs: list[Job], scoring: SplicedScoring, spread=map):
        self.plans = list(spread(plan_wide, jobs))
        self.layout, sizes = _wide_layout(self.plans)
        self.cells = cuda.device_array(int(sizes[wide.CELLS]), dtype=np.int32)
        self.borders = cuda.device_array(int(sizes[wide.BORDERS]), dtype=np.int64)
        ends = (int(sizes[wide.ENDS]), wide.WARP, 3)
        self.ends = cuda.device_array(ends, dtype=np.int32)
        # operations come first, for they are read four numbers at a time
        numbers = [p.program.operations.ravel() for p in self.plans]
        numbers += [p.program.boundaries for p in self.plans]
        lifted = (scoring.substitution() - scoring.gap).ravel()
        constants = [*lifted, scoring.gap, int(scoring.ends != "global")]
        inputs = (
            self.layout, begun(self.plans), np.concatenate(numbers),
            np.concatenate([_padded_target(plan) for plan in self.plans]),
        )  # fmt: skip
        self.inputs = [cuda.to_device(array) for array in inputs]
        self.scoring = cuda.to_device(np.array(constants, dtype=np.int32))

    def run(self) -> None:
        """Clear what the kernel writes and start it."""
        counter = self.inputs[1][-1]
        device_memset(counter, 0, counter.nbytes)
        device_memset(self.borders, wide.NEVER_BYTE, self.borders.nbytes)
        wide.sweep_strips_warp[self.ends.shape[0], wide.WARP](
            *self.inputs, self.cells, self.borders, self.ends, self.scoring
        )

    def best_ends(self) -> list[End]:
        """Return the jobs' best ends once the kernel is done."""
        host = self.ends.copy_to_host().reshape(self.ends.shape[0], -1, 3)
        firsts = self.layout[:, wide.ENDS]
        return [
            _wide_end(host[first : first + plan.strips].reshape(-1, 3), plan.job)
            for first, plan in zip(firsts, self.plans, strict=True)
        ]

    def rows(self, k: int) -> DeviceRows:
        """Fetch the rows that job `k` has kept."""
        plan, first = self.plans[k], int(self.layout[k, wide.CELLS])
        words = self.cells[first : first + plan.strips * plan.strip_words].copy_to_host()
        shape = plan.strips, -1, wide.COLUMNS_PER_LANE, wide.WARP, 1
        return DeviceRows(words.reshape(shape), 0)


def _wide_layout(plans: list[WidePlan]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the job table of the wide kernel, and the sizes of its buffers by column."""
    table = np.zeros((len(plans), 15), dtype=np.int64)
    sizes = np.zeros_like(table)
    for k, plan in enumerate(plans):
        job, rows = plan.job, len(plan.job.codes) + 1
        where = places_in_memory if plan.waiting is None else coding_places
        places = where(job.sites)
        table[k, : wide.BOUNDARIES] = (
            job.limit.floor, rows, plan.strips, plan.advances, plan.tracks, job.columns,
            places.row, places.start,
        )  # fmt: skip
        table[k, wide.STRIDE] = plan.strip_words
        sizes[k, wide.BOUNDARIES] = rows
        sizes[k, wide.OPERATIONS] = plan.program.operations.size
        sizes[k, wide.TARGET] = plan.strips * wide.STRIP
        sizes[k, wide.CELLS] = plan.strips * plan.strip_words
        sizes[k, wide.BORDERS] = plan.strips * plan.advances
        sizes[k, wide.ENDS] = plan.strips
    starts, total = np.cumsum(sizes, axis=0) - sizes, sizes.sum(axis=0)
    starts[:, wide.BOUNDARIES] += total[wide.OPERATIONS]
    return table + starts, total


def _padded_target(plan: WidePlan) -> NDArray[np.uint8]:
    symbols = np.full(plan.strips * wide.STRIP, OTHER, dtype=np.uint8)
    symbols[1 : plan.job.columns] = plan.job.target
    return symbols


def _wide_end(lanes: NDArray[np.int32], job: Job) -> End:
    """Return the best of the lanes' ends: the first, at the smallest column."""
    score, end, column = min((-int(s), int(e), int(c)) for s, e, c in lanes)
    score = -score
    if job.table.stops is not None:
        score = possible(score, job.limit, len(job.target), job.scoring)
    return End(score, end, column)
