"""Chains of jobs that site mode has swept on a GPU, followed there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.hardware.threads import within_limit
from gpu_tools.model.scoring import N_SYMBOLS, SplicedScoring
from gpu_tools.sites.bounds import most_lifted
from gpu_tools.sites.gpu import job_table, traceback
from gpu_tools.sites.gpu.batches import BATCHES_AT_A_TIME, SHARE_OF_FREE_MEMORY
from gpu_tools.sites.gpu.job import SiteJobs
from gpu_tools.sites.gpu.launch import SitePackedLaunch
from gpu_tools.sites.gpu.strand_lists import copy_strands, starts_of, strand_row
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.reading import FRAMES
from gpu_tools.splicing.traceback import TracedChain, align_chain

_NO_STOPS = np.zeros((N_SYMBOLS,) * FRAMES, np.bool_)
_LONGER_TIMES = 4


class DeviceChain(NamedTuple):
    """The best chain of a job: its score, the column where it ends, and its exons on a strand.

    `codes` is the strand, `exons` are as `gpu_tools.splicing.traceback.align_chain` reads them;
    there are none if the score was enough.
    """

    score: int
    column: int
    codes: NDArray[np.uint8]
    exons: NDArray[np.int32]


def trace(
    found: DeviceChain, table: SiteTable, codes, target, scoring: SplicedScoring
) -> TracedChain:
    """Align a chain that was followed on a GPU; the counterpart of the CPU's `trace`."""
    return align_chain(codes, target, found.exons, scoring)


class SiteTraces:
    """Tracebacks of some jobs of a launch from their best ends.

    A job that has left checkpoints is swept again from one of them to where its chain ends, in a
    *window*. If not all of the chain lies behind that, it goes on from the last exon that was
    found; if none was, the next window is longer.

    `usual_exons` is for how many exons of a chain there is space at a time.
    """

    def __init__(self, launch: SitePackedLaunch, numbers: NDArray, usual_exons: int):
        self.launch, self.numbers, self.usual_exons = launch, numbers, usual_exons
        jobs = launch.jobs
        self.lefts = _chain_ends(jobs.take(numbers), launch.best[numbers])
        self.times, self.parts = np.ones(len(numbers), np.int64), [[] for _ in numbers]
        used, self.strand = np.unique(jobs.strand[numbers], return_inverse=True)
        strands = [jobs.strands[k] for k in used]
        tables, codes = [each.table for each in strands], [each.codes for each in strands]
        rows = [
            strand_row(each.table, each.table.tracks, each.limits.best_sites) for each in strands
        ]
        stops = [_NO_STOPS if each.stops is None else each.stops for each in tables]
        more = [np.array(stops, np.uint8), np.array(_scores(jobs.scoring), np.int32)]
        *lists, scores = copy_strands(launch, np.array(rows), tables, codes, [()] * len(used), more)
        self._inputs = *lists, launch.targets, scores

    def run(self, limit: float) -> list[NDArray[np.int32] | None]:
        """Return the exons of all chains, None for those whose windows are above a limit of bytes.

        The last exon of a chain comes first.
        """
        launch, is_long = self.launch, self.launch.cut.every[self.numbers] > 0
        whole, todo = np.flatnonzero(~is_long), np.flatnonzero(is_long)
        found: list = [None] * len(self.numbers)
        while len(whole):
            whole = self._follow(launch, self.numbers[whole], whole, found)
        while len(todo):
            numbers, (ends, columns), again = self.numbers[todo], self.lefts[todo, :2].T, []
            lengths, first = self.times[todo] * launch.cut.every[numbers], launch.table[numbers]
            windows = launch.cut.windows(
                numbers, lengths, ends, columns, first[:, job_table.CHECKPOINTS]
            )
            sizes = windows.bytes
            fitting = np.flatnonzero(sizes <= limit).tolist()
            for batch in within_limit(fitting, sizes.__getitem__, limit):
                own, of_whole = todo[batch], (launch, numbers[batch])
                part = type(launch)(windows.take(batch), launch.buffers, of_whole)
                part.run()
                again += self._follow(part, np.arange(len(own)), own, found).tolist()
            todo = np.array(again, np.int64)
        return found

    def _follow(
        self, launch: SitePackedLaunch, jobs: NDArray, own: NDArray, found: list
    ) -> NDArray[np.int64]:
        """Follow some chains through the rows of a launch's jobs; return those that go on."""
        exons, followed = self._traced(launch, jobs, own)
        why, counts = followed[:, :2].T
        if (why == traceback.NOT_EXPLAINED).any():
            raise ValueError("no exon or exit explains a value: the sweep is wrong")
        goes_on, self.lefts[own] = why != traceback.WHOLE, followed[:, 2:]
        self.times[own[(why == traceback.OUTSIDE) & (counts == 0)]] *= _LONGER_TIMES
        for k, part, count, more in zip(own.tolist(), exons, counts, goes_on, strict=True):
            self.parts[k].append(part[:count])
            if not more:
                found[k] = np.concatenate(self.parts[k])
        return own[goes_on]

    def _traced(self, launch: SitePackedLaunch, jobs: NDArray, own: NDArray) -> tuple:
        """Return the exons that there is space for, and what else a traceback says of each job."""
        lefts, cut, count, most = self.lefts[own], launch.cut, len(own), self.usual_exons
        # whole columns of all lanes
        widths = (lefts[:, 1] // (4 * WARP) + 1) * 4 * WARP
        traces = np.column_stack([
            jobs, self.strand[own], lefts, starts_of(widths), cut.first_boundary[jobs],
            cut.exits_before[jobs],
        ])  # fmt: skip
        exons = launch.array("exons", 4 * most * count).reshape(count, most, 4)
        followed = launch.array("followed", traceback.FOLLOWED * count)
        followed = followed.reshape(count, traceback.FOLLOWED)
        traceback.trace_packed_warp[count, WARP, launch.stream](
            launch.copy("traces", traces), launch.device_table, *self._inputs, launch.cells,
            launch.array("gains", 2 * int(widths.sum())),
            launch.array("symbols", int(widths.sum())), exons, followed,
        )  # fmt: skip
        return launch.buffers.fetched(exons), launch.buffers.fetched(followed)


def _scores(scoring: SplicedScoring) -> list[int]:
    """Return the scoring as the traceback reads it."""
    free = int(scoring.ends != "global")
    return [*scoring.lifted.ravel(), scoring.gap, free, most_lifted(scoring), scoring.clip_cost]


def _chain_ends(jobs: SiteJobs, ends: NDArray) -> NDArray[np.int64]:
    """Return what is to be followed of best chains, given scores, numbers and columns."""
    numbers, columns = ends[:, job_table.NUMBER].tolist(), ends[:, job_table.COLUMN]
    strands = [jobs.strand_of(k) for k in range(jobs.count)]
    pairs = zip(strands, numbers, strict=True)
    at = np.array([each.compiled.boundary_at(number) for each, number in pairs])
    exits = [each.table.last.at(end) for each, end in zip(strands, at.tolist(), strict=True)]
    dropped = jobs.scoring.gap * columns - jobs.scoring.clip_cost * (columns < jobs.kept)
    values = ends[:, job_table.SCORE] - exits - dropped
    return np.stack([at, columns, values, at % FRAMES, np.ones_like(at)], axis=1)


def follow_chains(
    usual_exons: int, memory: int | None, launch: SitePackedLaunch, numbers: NDArray,
    traced: NDArray[np.bool_],
) -> list[DeviceChain | None]:  # fmt: skip
    """Return the chains of some jobs of a launch, followed if they are to be traced.

    None stands for those that need more bytes of rows than `memory`, by default what is free.
    """
    found: list = [np.empty((0, 4), np.int32)] * len(numbers)
    own = np.flatnonzero(traced)
    if len(own):
        free = cuda.current_context().get_memory_info().free + launch.buffers.bytes
        limit = memory or SHARE_OF_FREE_MEMORY * free / BATCHES_AT_A_TIME
        chains = SiteTraces(launch, numbers[own], usual_exons).run(limit)
        for k, exons in zip(own.tolist(), chains, strict=True):
            found[k] = exons
    codes = [launch.jobs.strand_of(k).codes for k in numbers]
    scores, columns = launch.best[numbers][:, [job_table.SCORE, job_table.COLUMN]].T.tolist()
    return [
        None if exons is None else DeviceChain(score, column, strand, exons[::-1].copy())
        for score, column, strand, exons in zip(scores, columns, codes, found, strict=True)
    ]
