"""Cases of site mode for the wide kernel: their programs, and what its best ends mean."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.cpu.coding import possible
from gpu_tools.sites.cpu.state import Sites
from gpu_tools.sites.gpu.coding import coding_places, compile_coding
from gpu_tools.sites.gpu.job import End, Job
from gpu_tools.sites.gpu.program import Kept, Program, compile_wide, places_in_memory
from gpu_tools.sites.gpu.row_jobs import RowJob, RowLaunch, RowProgram
from gpu_tools.splicing.codons import FRAMES


class WidePlan(NamedTuple):
    """A job as the wide kernel wants it, the rows that it keeps; `waiting` if chains translate."""

    job: Job
    row_job: RowJob
    kept: Kept
    waiting: NDArray[np.bool_] | None


class _Compiled(NamedTuple):
    program: RowProgram
    kept: Kept
    waiting: NDArray[np.bool_] | None


def plan_wide(job: Job) -> WidePlan:
    """Compile a job for the wide kernel."""
    stops = job.table.stops
    make = _plain if stops is None else partial(_coding, stops=stops)
    compiled = job.strand.compiled("wide", make)
    return WidePlan(job, RowJob(compiled.program, job.target, job.limit.floor), *compiled[1:])


def _plain(sites: Sites, blocks: list[tuple[int, int]]) -> _Compiled:
    program = compile_wide(sites, blocks)
    return _Compiled(_row_program(program, places_in_memory(sites), 1), program.kept, None)


def _coding(sites: Sites, blocks: list[tuple[int, int]], stops) -> _Compiled:
    program, waiting = compile_coding(sites, blocks, stops)
    return _Compiled(_row_program(program, coding_places(sites), FRAMES), program.kept, waiting)


def _row_program(program: Program, places, tracks: int) -> RowProgram:
    return RowProgram(*program[:2], program.kept.n_places, places.row, tracks, places.start)


class WideLaunch(RowLaunch):
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
        super().__init__([plan.row_job for plan in self.plans], scoring)

    def best_ends(self) -> list[End]:
        """Return the jobs' best ends once the kernel is done."""
        return [
            end_of(end, plan.job) for end, plan in zip(super().best_ends(), self.plans, strict=True)
        ]


def end_of(end: End, job: Job) -> End:
    """Return an end as one of a job; without score if its chains translate and there is none."""
    if job.table.stops is None:
        return end
    return end._replace(score=possible(end.score, job.limit, len(job.target), job.scoring))
