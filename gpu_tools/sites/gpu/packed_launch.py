"""Jobs for the packed kernel: strips, buffers, launches, best ends."""

from __future__ import annotations

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import device_memset
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.gpu import packed
from gpu_tools.sites.gpu.job import DeviceRows, End, Job, begun
from gpu_tools.sites.gpu.plan import (
    Plan,
    in_order,
    plan_packed,
    shared_out,
    sizes_of,
    sweep_of,
)
from gpu_tools.sites.gpu.strips import NEVER, NEVER_BYTE, lane_table

_END_BLOCKS, _END_THREADS = (1, 2) if simulated() else (4, 256)


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
        self.plans = list(spread(plan_packed, jobs, sizes_of(jobs)))
        # jobs of one strand with strips of one size share their program
        shared = {id(plan.program): plan for plan in self.plans}
        self.layout = _packed_layout(self.plans, list(shared.values()))
        self.border_words = sum(plan.rows * plan.strips for plan in self.plans)
        words = (
            self.border_words
            + sum(plan.places * sum(plan.sizes) for plan in self.plans) * packed.WARP
        )
        self.memory = cuda.device_array(max(words, 1), dtype=np.int32)
        self.ends = cuda.device_array(len(jobs), dtype=np.int64)
        parts = zip(*spread(lambda plan: plan.words(), shared.values()), strict=True)
        boundaries, operations, last_exits = (np.concatenate(part) for part in parts)
        # operations are loaded ahead, also behind the last one
        operations = np.pad(operations, (0, 12 * packed.WARP))
        selectors = np.concatenate(list(spread(_selectors, self.plans)))
        self.inputs = [cuda.to_device(array) for array in (boundaries, operations, selectors)]
        self.last_exits = cuda.to_device(last_exits)
        self.jobs = cuda.to_device(self.layout)
        self.scoring = cuda.to_device(_packed_scoring(scoring))
        self.kernels = [
            (
                own,
                blocks,
                cuda.to_device(begun(self.plans, in_order(self.plans, own))),
                cuda.stream(),
            )
            for own, blocks in shared_out(self.plans)
        ]

    def run(self) -> None:
        """Clear what the kernels write and start them, each on a stream.

        Everything is cleared first: that runs on the default stream, which waits for the others.
        """
        borders = self.memory[: self.border_words]
        device_memset(borders, NEVER_BYTE, borders.nbytes)
        device_memset(self.ends, 0x80, self.ends.nbytes)
        for _, _, strips, _ in self.kernels:
            counter = strips[-1]
            device_memset(counter, 0, counter.nbytes)
        for own, blocks, strips, stream in self.kernels:
            sweep_of(own)[blocks, packed.WARP, stream](
                self.jobs, strips, *self.inputs, self.memory, self.scoring
            )
        packed.find_ends_thread[(len(self.plans), _END_BLOCKS), _END_THREADS](
            self.jobs, self.last_exits, self.memory, self.ends
        )

    def best_ends(self) -> list[End]:
        """Return the jobs' best ends once the kernels are done."""
        found = zip(self.ends.copy_to_host().tolist(), self.plans, strict=True)
        return [_packed_end(key, plan) for key, plan in found]

    def rows(self, k: int) -> DeviceRows:
        """Fetch the rows that job `k` has kept."""
        plan, first = self.plans[k], int(self.layout[k, packed.CELLS])
        words = plan.places * sum(plan.sizes) * packed.WARP
        words = self.memory[first : first + words].copy_to_host()
        return DeviceRows(plan.cells(words), plan.first_copy)


def _packed_end(key: int, plan: Plan) -> End:
    """Decode what `find_ends_thread` finds: the value above, less the border word's number."""
    value, length = -((-key) >> 32), len(plan.job.target)
    end = plan.boundary_at((value << 32) - key)
    return End(value + plan.job.scoring.gap * length, end, length)


def _packed_layout(plans: list[Plan], shared: list[Plan]) -> NDArray[np.int64]:
    """Return the job table of the packed kernel; `shared` are plans with different programs."""
    programs = np.array([(p.rows, p.n_more) for p in shared])
    firsts = dict(zip(map(id, (p.program for p in shared)), _starts(programs), strict=True))
    table = np.zeros((len(plans), 11), dtype=np.int64)
    sizes = np.zeros((len(plans), 3), dtype=np.int64)
    for k, plan in enumerate(plans):
        table[k, :3] = _twice(plan.job.limit.floor), plan.rows, plan.strips
        table[k, [packed.BOUNDARIES, packed.OPERATIONS]] = firsts[id(plan.program)]
        table[k, packed.STRIDE] = plan.places * plan.size * packed.WARP
        table[k, [packed.SIZE, packed.LAST_SIZE]] = plan.size, plan.sizes[-1]
        words = sum(plan.sizes) * packed.WARP
        sizes[k] = words, plan.places * words, plan.rows * plan.strips
    table[:, [packed.SELECTORS, packed.CELLS, packed.BORDERS]] = _starts(sizes)
    table[:, packed.CELLS] += sizes[:, 2].sum()
    return table


def _starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.cumsum(sizes, axis=0) - sizes


def _selectors(plan: Plan) -> NDArray[np.int32]:
    """Return the bytes that look up each column's scores: of each strip, word and lane."""
    bytes_of = np.full(2 * packed.WARP * sum(plan.sizes), packed.OUTSIDE, dtype=np.int64)
    bytes_of[1 : plan.job.columns] = plan.job.target
    halves = bytes_of | (bytes_of | 8) << 4
    wide = 2 * packed.WARP * plan.size * (plan.strips - 1)
    parts = (halves[:wide], plan.size), (halves[wide:], plan.sizes[-1])
    return np.concatenate([_words(part, size) for part, size in parts])


def _words(halves: NDArray[np.int64], size: int) -> NDArray[np.int32]:
    """Return the words of strips of `size` registers a lane by strip, word and lane."""
    low_high = halves.reshape(-1, packed.WARP, 2, size).transpose(0, 3, 1, 2)
    return (low_high[..., 0] | low_high[..., 1] << 8).astype(np.int32).ravel()


def _packed_scoring(scoring: SplicedScoring) -> NDArray[np.int32]:
    lifted = (scoring.substitution() - scoring.gap).astype(np.int64)
    ambiguous = int(lifted[0, OTHER]) & 0xFF
    extra = NEVER_BYTE << 8 | ambiguous
    words = (lifted[:, :4].astype(np.int8)).copy().view(np.int32).ravel()
    return np.array(
        [_twice(scoring.gap), extra, *words, NEVER, *lane_table()],
        dtype=np.int32,
    )


def _twice(value: int) -> int:
    """Return the word of two equal halves."""
    return int(np.array([value, value], dtype=np.int16).view(np.int32)[0])
