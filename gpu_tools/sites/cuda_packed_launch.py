"""Jobs for the packed kernel: strips, buffers, launches, best ends."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import device_memset
from numpy.typing import NDArray

from gpu_tools.device import simulated
from gpu_tools.scoring import SplicedScoring
from gpu_tools.sequences import OTHER
from gpu_tools.sites import cuda_packed as packed
from gpu_tools.sites.cuda_job import LOWEST_HALF, DeviceRows, End, Job, begun
from gpu_tools.sites.cuda_program import Program, compile_packed
from gpu_tools.sites.cuda_strips import NEVER, NEVER_BYTE, lane_selectors
from gpu_tools.sites.table import CLOSED

NANOSECONDS_A_ROW = {1: 1, 2: 1} if simulated() else {4: 145, 8: 165, 16: 700, 24: 640}
"""Time of a row of a strip among as many others as a multiprocessor holds, by registers a lane."""
CELLS_A_SECOND = 3e12
_ROW_OVERHEAD = 7
"""What a row costs beside its cells, as so many registers of them."""
_END_BLOCKS, _END_THREADS = (1, 2) if simulated() else (4, 256)
_NO_EXIT = -(2**30)


class PackedPlan(NamedTuple):
    """A job as the packed kernel wants it: registers a lane, operations, numbers of strips."""

    job: Job
    size: int
    program: Program
    strips: int

    @property
    def strip_words(self) -> int:
        """Words of a strip's rows in device memory."""
        places = self.program.kept.n_places - packed.HOT_PLACES[self.size]
        return max(places, 0) * self.size * packed.WARP


def least_seconds(jobs: list[Job]) -> float:
    """Return what jobs take at least: all of them together, and the longest base alone."""
    longest = max(len(job.codes) + 1 for job in jobs)
    cells = sum(job.work for job in jobs)
    return max(cells / CELLS_A_SECOND, longest * min(NANOSECONDS_A_ROW.values()) * 1e-9)


def plan_packed(job: Job, seconds: float) -> PackedPlan:
    """Choose the registers a lane: few where a long base would take longer than `seconds`."""
    rows = len(job.codes) + 1
    sizes = [s for s in packed.HOT_PLACES if rows * NANOSECONDS_A_ROW[s] * 1e-9 <= seconds]
    sizes = sizes or [min(packed.HOT_PLACES)]
    strips = {size: -(-job.columns // (2 * packed.WARP * size)) for size in sizes}
    size = min(sizes, key=lambda size: (strips[size] * (size + _ROW_OVERHEAD), size))
    hot = packed.HOT_PLACES[size]
    program = job.strand.compiled(hot, partial(compile_packed, hot=hot))
    return PackedPlan(job, size, program, strips[size])


class PackedLaunch:
    """Jobs laid out in the memory of the current GPU, ready for the packed kernel.

    Parameters
    ----------
    jobs : list of Job
        All of which fit the packed kernel.
    scoring : SplicedScoring
    spread : callable
        Used like `map` for work of the CPU.
    """

    def __init__(self, jobs: list[Job], scoring: SplicedScoring, spread=map):
        seconds = least_seconds(jobs)
        self.plans = list(spread(lambda job: plan_packed(job, seconds), jobs))
        self.layout = _packed_layout(self.plans)
        self.border_words = sum(len(p.job.codes) * p.strips + p.strips for p in self.plans)
        words = self.border_words + sum(p.strips * p.strip_words for p in self.plans)
        self.memory = cuda.device_array(max(words, 1), dtype=np.int32)
        self.ends = cuda.device_array(len(jobs), dtype=np.int64)
        parts = zip(*spread(_packed_parts, self.plans), strict=True)
        arrays = [np.concatenate(part) for part in parts]
        arrays[1] = np.append(arrays[1], np.zeros(4, dtype=np.int32))  # loaded ahead, not used
        *self.inputs, self.last_exits = (cuda.to_device(array) for array in arrays)
        self.jobs = cuda.to_device(self.layout)
        self.scoring = cuda.to_device(_packed_scoring(scoring))
        self.groups = [
            (size, begun(self.plans, size), cuda.stream())
            for size in sorted({plan.size for plan in self.plans})
        ]
        self.groups = [(s, cuda.to_device(strips), stream) for s, strips, stream in self.groups]

    def run(self) -> None:
        """Clear what the kernels write and start them: strips of each size on a stream."""
        borders = self.memory[: self.border_words]
        device_memset(borders, NEVER_BYTE, borders.nbytes)
        device_memset(self.ends, 0x80, self.ends.nbytes)
        for size, strips, stream in self.groups:
            counter = strips[-1]
            device_memset(counter, 0, counter.nbytes)
            packed.sweep_of(size)[len(strips) - 1, packed.WARP, stream](
                self.jobs, strips, *self.inputs, self.memory, self.scoring
            )
        packed.find_ends_thread[(len(self.plans), _END_BLOCKS), _END_THREADS](
            self.jobs, self.last_exits, self.memory, self.ends
        )

    def best_ends(self) -> list[End]:
        """Return the jobs' best ends once the kernels are done."""
        found = zip(self.ends.copy_to_host().tolist(), self.plans, strict=True)
        return [_packed_end(key, plan.job) for key, plan in found]

    def rows(self, k: int) -> DeviceRows:
        """Fetch the rows that job `k` has kept."""
        plan, first = self.plans[k], int(self.layout[k, packed.CELLS])
        words = self.memory[first : first + plan.strips * plan.strip_words].copy_to_host()
        hot = packed.HOT_PLACES[plan.size]
        return DeviceRows(
            words.view(np.int16).reshape(plan.strips, -1, plan.size, packed.WARP, 2), hot
        )


def _packed_end(key: int, job: Job) -> End:
    """Decode what `find_ends_thread` finds: the value above, less the boundary."""
    value = -((-key) >> 32)
    end = (value << 32) - key
    return End(value + job.scoring.gap * len(job.target), end, len(job.target))


def _packed_layout(plans: list[PackedPlan]) -> NDArray[np.int64]:
    """Return the job table of the packed kernel."""
    table = np.zeros((len(plans), 10), dtype=np.int64)
    sizes = np.zeros((len(plans), 5), dtype=np.int64)
    for k, plan in enumerate(plans):
        rows, floor = len(plan.job.codes) + 1, plan.job.limit.floor
        table[k, :4] = _twice(floor), rows, plan.strips, len(plan.program.operations)
        table[k, packed.STRIDE] = plan.strip_words
        sizes[k] = (
            rows, plan.program.operations.size, plan.strips * plan.size * packed.WARP,
            plan.strips * plan.strip_words, plan.strips * rows,
        )  # fmt: skip
    starts = np.cumsum(sizes, axis=0) - sizes
    starts[:, 3] += sizes[:, 4].sum()
    table[:, [packed.BOUNDARIES, packed.OPERATIONS, packed.SELECTORS, packed.CELLS]] = starts[:, :4]
    table[:, packed.BORDERS] = starts[:, 4]
    return table


def _packed_parts(plan: PackedPlan):
    """Return boundaries, operations, selectors and last exits of a job."""
    table = plan.job.table
    opened = table.first_entry != CLOSED
    begin = np.where(opened, table.first_entry, LOWEST_HALF).astype(np.int32)
    last = np.where(table.last_exit == CLOSED, _NO_EXIT, table.last_exit).astype(np.int32)
    boundaries = plan.program.boundaries | (begin << np.int32(16))
    return boundaries, plan.program.operations.ravel(), _selectors(plan), last


def _selectors(plan: PackedPlan) -> NDArray[np.int32]:
    """Return the bytes that look up each column's scores: of each strip, word and lane."""
    strip = 2 * packed.WARP * plan.size
    bytes_of = np.full(plan.strips * strip, packed.OUTSIDE, dtype=np.int64)
    bytes_of[1 : plan.job.columns] = plan.job.target
    halves = bytes_of | (bytes_of | 8) << 4
    low_high = halves.reshape(plan.strips, packed.WARP, 2, plan.size).transpose(0, 3, 1, 2)
    return (low_high[..., 0] | low_high[..., 1] << 8).astype(np.int32).ravel()


def _packed_scoring(scoring: SplicedScoring) -> NDArray[np.int32]:
    lifted = (scoring.substitution() - scoring.gap).astype(np.int64)
    ambiguous = int(lifted[0, OTHER]) & 0xFF
    extra = NEVER_BYTE << 8 | ambiguous
    words = (lifted[:, :4].astype(np.int8)).copy().view(np.int32).ravel()
    return np.array(
        [_twice(scoring.gap), extra, *words, NEVER, *lane_selectors()],
        dtype=np.int32,
    )


def _twice(value: int) -> int:
    """Return the word of two equal halves."""
    return int(np.array([value, value], dtype=np.int16).view(np.int32)[0])
