"""Which case of site mode is swept when on which GPU, and what the CPU does meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.dispatch import BufferPool, Buffers
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.hardware.threads import map_on_threads, within_limit
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.scoring import N_SYMBOLS, SplicedScoring
from gpu_tools.sites.gpu import job_table, traceback
from gpu_tools.sites.gpu.batches import (
    BATCHES_AT_A_TIME,
    SHARE_OF_FREE_MEMORY,
    Batches,
    Leave,
    align_in_batches,
)
from gpu_tools.sites.gpu.codon_strips import CodonStrips
from gpu_tools.sites.gpu.job import PackedStrips, SiteJobs, SiteStrand, sizes_of, strips_of
from gpu_tools.sites.gpu.launch import (
    SiteCodonLaunch,
    SitePackedLaunch,
    scores_of_traces,
)
from gpu_tools.sites.gpu.packed_strip import NARROW, WIDE
from gpu_tools.sites.gpu.strand_lists import copy_strands, starts_of, strand_row
from gpu_tools.sites.table import SiteTable, made_once
from gpu_tools.splicing.reading import FRAMES
from gpu_tools.splicing.traceback import TracedChain, align_chain

# Chains of swept jobs, followed on the GPU that swept them.

_NO_STOPS = np.zeros((N_SYMBOLS,) * FRAMES, np.bool_)
USUAL_EXONS = 128
"""Exons of a chain that space is made for at first."""


class DeviceChain(NamedTuple):
    """The best chain of a job: its score, where it ends, and its exons on the strand `codes`.

    `exons` are as `gpu_tools.splicing.traceback.align_chain` reads them.
    """

    score: int
    end: int
    column: int
    codes: NDArray[np.uint8]
    exons: NDArray[np.int32]


def trace(
    found: DeviceChain, table: SiteTable, codes, target, scoring: SplicedScoring
) -> TracedChain:
    """Align a chain that was followed on a GPU; the counterpart of the CPU's `trace`."""
    return align_chain(codes, target, found.exons, scoring)


class ChainTracer:
    """Follows chains of a launch's jobs, whose lists of sites are in the GPU's memory.

    `usual_exons` is for how many exons of a chain there is space at a time. What is left of chains
    are arrays with `CHAIN_NUMBERS` a row.
    """

    def __init__(self, launch: SitePackedLaunch, numbers: NDArray, usual_exons: int):
        self.usual_exons, jobs = usual_exons, launch.jobs
        used = np.unique(jobs.strand[numbers])
        self._strand = np.zeros(len(jobs.strands), np.int64)
        self._strand[used] = np.arange(len(used))
        strands = [jobs.strands[k] for k in used]
        tables, codes = [each.table for each in strands], [each.codes for each in strands]
        rows = [
            strand_row(each.table, each.table.tracks, each.limits.best_sites) for each in strands
        ]
        lists = copy_strands(launch, np.array(rows), tables, codes, [()] * len(tables))
        stops = np.array(
            [_NO_STOPS if each.stops is None else each.stops for each in tables], np.uint8
        )
        stops = launch.copy("stops", stops.ravel()).reshape(stops.shape)
        scores = np.array(scores_of_traces(jobs.scoring), dtype=np.int32)
        self._inputs = *lists, stops, launch.targets, launch.copy("scores", scores)

    def follow(
        self, launch: SitePackedLaunch, numbers: NDArray, lefts: NDArray
    ) -> tuple[list[NDArray], NDArray, NDArray]:
        """Follow chains of some jobs of a launch as far as its rows are in memory.

        Return their exons, the last one of each first; which of them have more; and what is left.
        """
        parts: list[list] = [[] for _ in numbers]
        lefts, more, todo = lefts.copy(), np.zeros(len(numbers), np.bool_), np.arange(len(numbers))
        while len(todo):
            exons, followed = self._traced(launch, numbers[todo], lefts[todo])
            why = followed[:, 0]
            if (why == traceback.NOT_EXPLAINED).any():
                raise ValueError("no exon or exit explains a value: the sweep is wrong")
            for n, own, count in zip(todo.tolist(), exons, followed[:, 1].tolist(), strict=True):
                parts[n].append(own[:count])
            lefts[todo], more[todo] = followed[:, 2:], why == traceback.OUTSIDE
            todo = todo[why == traceback.TOO_MANY]
        return [np.concatenate(own) for own in parts], more, lefts

    def _traced(
        self, launch: SitePackedLaunch, numbers: NDArray, lefts: NDArray
    ) -> tuple[NDArray, NDArray]:
        """Return the exons that there is space for, and what else a traceback says of each job."""
        count, most = len(numbers), self.usual_exons
        # whole columns of all lanes
        widths = (lefts[:, 1] // (4 * WARP) + 1) * 4 * WARP
        strands, cut = self._strand[launch.jobs.strand[numbers]], launch.cut
        traces = np.column_stack([
            numbers, strands, lefts, starts_of(widths), cut.first_boundary[numbers],
            cut.exits_before[numbers],
        ])  # fmt: skip
        exons = launch.array("exons", 4 * most * count).reshape(count, most, 4)
        followed = launch.array("followed", traceback.FOLLOWED * count).reshape(
            count, traceback.FOLLOWED
        )
        traceback.trace_packed_warp[count, WARP, launch.stream](
            launch.copy("traces", traces), launch.device_table, *self._inputs, launch.cells,
            launch.array("gains", 2 * int(widths.sum())),
            launch.array("symbols", int(widths.sum())), exons, followed,
        )  # fmt: skip
        return launch.buffers.fetched(exons), launch.buffers.fetched(followed)


def chain_ends(jobs: SiteJobs, ends: NDArray) -> NDArray[np.int64]:
    """Return what is to be followed of best chains, given scores, numbers and columns."""
    numbers, columns = ends[:, job_table.NUMBER].tolist(), ends[:, job_table.COLUMN]
    strands = [jobs.strand_of(k) for k in range(jobs.count)]
    pairs = zip(strands, numbers, strict=True)
    at = np.array([each.compiled.boundary_at(number) for each, number in pairs])
    exits = [each.table.last.at(end) for each, end in zip(strands, at.tolist(), strict=True)]
    dropped = jobs.scoring.gap * columns - jobs.scoring.clip_cost * (columns < jobs.kept)
    values = ends[:, job_table.SCORE] - exits - dropped
    return np.stack([at, columns, values, at % FRAMES, np.ones_like(at)], axis=1)


# Chains of long jobs that have left checkpoints, followed in windows.


_LONGER_TIMES = 4


def follow_chains(
    launch: SitePackedLaunch, numbers: NDArray, ends: NDArray, options: SiteGpuOptions
) -> Iterator[tuple[int, DeviceChain]]:
    """Follow the chains of some jobs of a launch, given their best ends.

    Yield numbers in `numbers`, and chains; those that need too much memory are left out.
    """
    tracer = ChainTracer(launch, numbers, options.usual_exons)
    lefts = chain_ends(launch.jobs.take(numbers), ends)
    free = cuda.current_context().get_memory_info().free + launch.buffers.bytes
    limit = options.memory or SHARE_OF_FREE_MEMORY * free / BATCHES_AT_A_TIME
    is_long = launch.cut.every[numbers] > 0
    whole, long = np.flatnonzero(~is_long), np.flatnonzero(is_long)
    chains = tracer.follow(launch, numbers[whole], lefts[whole])[0]
    chains += _follow_in_windows(launch, tracer, numbers[long], lefts[long], limit)
    for k, exons in zip([*whole.tolist(), *long.tolist()], chains, strict=True):
        if exons is not None:
            codes, score = launch.jobs.strand_of(numbers[k]).codes, int(ends[k, job_table.SCORE])
            end, column = lefts[k, :2].tolist()
            yield k, DeviceChain(score, end, column, codes, exons[::-1].copy())


def _follow_in_windows(
    launch: SitePackedLaunch, tracer: ChainTracer, numbers: NDArray, lefts: NDArray, limit: float
) -> list[NDArray | None]:
    """Follow the chains of jobs that have left checkpoints; None for those that need more memory.

    A job is swept again from a checkpoint to the chain's end. If not all of the chain lies behind
    that, it goes on from the last exon that was found; if none was, the next window is longer.
    """
    parts: list[list] = [[] for _ in numbers]
    found: list[NDArray | None] = [None] * len(numbers)
    lefts, times, todo = lefts.copy(), np.ones(len(numbers), np.int64), np.arange(len(numbers))
    while len(todo):
        windows, again = launch.windows(numbers[todo], lefts[todo], times[todo]), []
        sizes = windows.bytes
        fitting = np.flatnonzero(sizes <= limit).tolist()
        for batch in within_limit(fitting, sizes.__getitem__, limit):
            own = todo[batch]
            part = launch.of_windows(windows.take(batch), numbers[own])
            part.run()
            exons, more, lefts[own] = tracer.follow(part, np.arange(len(own)), lefts[own])
            for n, each, goes_on in zip(own.tolist(), exons, more.tolist(), strict=True):
                parts[n].append(each)
                if goes_on:
                    again.append(n)
                    times[n] *= 1 if len(each) else _LONGER_TIMES
                else:
                    found[n] = np.concatenate(parts[n])
        todo = np.array(again, np.int64)
    return found


_log = logging.getLogger(__name__)

STRIPS = 2048
"""Strips of a batch, about, twice as many as an H200 sweeps at a time."""


class SiteGpuOptions(NamedTuple):
    """Sizes that results do not depend on."""

    bytes_per_batch: int | None = None  # of rows that a batch stores in GPU memory, at most
    registers: int | None = None  # registers a lane of all strips; else they are chosen
    usual_exons: int = USUAL_EXONS  # exons of a chain for which there is space at first
    every: int | None = None  # steps between checkpoints; else short jobs have none
    memory: int | None = None  # bytes of GPU memory for rows; cases that need more are for the CPU


class SiteCall(NamedTuple):
    """What all batches of a call have in common; `finish` makes a case's result of its chain."""

    cases: list
    scoring: SplicedScoring
    threads: int
    finish: Callable
    options: SiteGpuOptions


class SiteBatch(NamedTuple):
    """Cases that are swept together, and their jobs in order, of a case + first."""

    cases: list[int]
    jobs: SiteJobs
    case: NDArray[np.int64]  # of each job, an index of `cases`
    names: NDArray[np.str_]  # of the jobs' strands


def align_on_gpus(
    cases: list,
    scoring: SplicedScoring,
    ordinals: tuple[int, ...],
    threads: int,
    finish: Callable,
    on_cpu: Callable[[list], list],
    options: SiteGpuOptions | None = None,
) -> list:
    """Align all cases: sweeps and chains on GPUs; tables and alignments on the CPU."""
    call = SiteCall(cases, scoring, threads, finish, options or SiteGpuOptions())
    strands: dict[int, SiteStrand] = {}

    def batches_of(share: list[int], pool: BufferPool, leave: Leave) -> Batches:
        free = call.options.memory
        if free is None:
            free = SHARE_OF_FREE_MEMORY * pool.free_bytes / BATCHES_AT_A_TIME
        needed = -(-sum(strips_of(cases[k]) for k in share) // STRIPS)
        batches = _batches(call, share, strands, free, leave)
        return Batches(batches, min(needed, BATCHES_AT_A_TIME))

    return align_in_batches(cases, ordinals, batches_of, partial(_aligned, call), on_cpu)


def _batches(
    call: SiteCall, share: list[int], strands: dict[int, SiteStrand], free: float, leave: Leave
) -> Iterator[tuple[SiteBatch, int]]:
    """Yield batches of some cases with their bytes on the GPU, about.

    While one is swept, the strands of the next are compiled.
    """
    limit = min(call.options.bytes_per_batch or free, free)
    for own in within_limit(share, lambda k: strips_of(call.cases[k]), STRIPS):
        all_jobs = _all_jobs(call, own, strands)
        jobs, case = all_jobs.jobs, all_jobs.case
        sizes = np.bincount(case, device_bytes(jobs, call.options.every), len(own))
        fit = (np.bincount(case[~jobs.fits], minlength=len(own)) == 0) & (sizes <= free)
        leave([k for k, fits in zip(own, fit.tolist(), strict=True) if not fits])
        _log.info("site mode: %d cases on a GPU, %d on the CPU", fit.sum(), (~fit).sum())
        for batch in within_limit(np.flatnonzero(fit).tolist(), sizes.__getitem__, limit):
            inside = np.flatnonzero(np.isin(case, batch))
            cases, of_jobs = [own[n] for n in batch], np.searchsorted(batch, case[inside])
            made = SiteBatch(cases, jobs.take(inside), of_jobs, all_jobs.names[inside])
            yield made, int(sizes[batch].sum())


def _all_jobs(call: SiteCall, numbers: list[int], strands: dict[int, SiteStrand]) -> SiteBatch:
    """Return the jobs of cases: of the strands on which they have chains."""
    cases, make = [call.cases[k] for k in numbers], partial(SiteStrand, scoring=call.scoring)
    strands |= made_once(
        cases, make, partial(map_on_threads, call.threads),
        lambda table: id(table) not in strands and table.has_chain(),
    )  # fmt: skip
    rows = [
        (n, name, id(case.tables[name]), id(case.target.codes)) for n, case in enumerate(cases)
        for name in "+-" if name in case.tables and id(case.tables[name]) in strands
    ]  # fmt: skip
    case, names, tables, targets = zip(*rows, strict=True) if rows else [()] * 4
    of_table = {table: n for n, table in enumerate(dict.fromkeys(tables))}
    codes = {id(each.target.codes): each.target.codes for each in cases}
    of_codes = {key: n for n, key in enumerate(codes)}
    jobs = SiteJobs.of(
        [strands[table] for table in of_table], list(codes.values()),
        [of_table[table] for table in tables], [of_codes[target] for target in targets],
        call.scoring,
    )  # fmt: skip
    return SiteBatch(numbers, jobs, np.array(case, np.int64), np.array(names, np.str_))


_KINDS = (False, PackedStrips, SitePackedLaunch), (True, CodonStrips, SiteCodonLaunch)


def device_bytes(jobs: SiteJobs, every: int | None = None) -> NDArray[np.int64]:
    """Return about how much device memory each job needs."""
    made = jobs.known.n_bytes + jobs.known.limits.length + jobs.columns
    for coding, kind, _ in _KINDS:
        own = np.flatnonzero(jobs.known.coding == coding)
        sizes = [kind.cut(jobs.take(own), size, every).bytes for size in (NARROW, WIDE)]
        made[own] += np.maximum(*sizes)
    return made


def _launches_of(
    jobs: SiteJobs, options: SiteGpuOptions, buffers: Buffers
) -> Iterator[tuple[NDArray, SitePackedLaunch]]:
    """Lay jobs out for the two kernels; yield the numbers of each launch's jobs with it."""
    for coding, kind, launch in _KINDS:
        own = np.flatnonzero(jobs.known.coding == coding)
        if len(own):
            chosen = jobs.take(own)
            yield (
                own,
                launch(
                    kind.cut(chosen, options.registers or sizes_of(chosen), options.every), buffers
                ),
            )


def _aligned(
    call: SiteCall, batch: SiteBatch, buffers: Buffers, leave: Leave
) -> Iterator[tuple[int, SplicedAlignment]]:
    """Yield numbers and results of a batch; cases that need too many rows are left to the CPU."""
    best, chains = _best_chains(batch, call.options, buffers)
    names = batch.names.tolist()
    too_long = {n for n, job in enumerate(best) if job is not None and job not in chains}
    leave([batch.cases[n] for n in sorted(too_long)])

    def finished(n: int) -> SplicedAlignment:
        case, job = call.cases[batch.cases[n]], best[n]
        return call.finish(case, *((None, None) if job is None else (names[job], chains[job])))

    numbers = [n for n in range(len(best)) if n not in too_long]
    ends = map_on_threads(call.threads, finished, numbers)
    yield from zip((batch.cases[n] for n in numbers), ends, strict=True)


def _best_chains(
    batch: SiteBatch, options: SiteGpuOptions, buffers: Buffers
) -> tuple[list[int | None], dict[int, DeviceChain]]:
    """Return the best job of each case of a batch, and chains of these jobs.

    There is none for a job if too many rows would be needed to follow it.
    """
    launches = list(_launches_of(batch.jobs, options, buffers))
    for _, launch in launches:
        launch.run()
    ends = np.empty((batch.jobs.count, 3), np.int64)
    for numbers, launch in launches:
        ends[numbers] = launch.best_ends()
    # of equal scores the first
    scores = ends[:, job_table.SCORE]
    order = np.lexsort((-scores, batch.case))
    order = order[scores[order] > job_table.LOWEST_SCORE]
    cases, first = np.unique(batch.case[order], return_index=True)
    best: list[int | None] = [None] * len(batch.cases)
    for case, job in zip(cases.tolist(), order[first].tolist(), strict=True):
        best[case] = job
    chains: dict[int, DeviceChain] = {}
    for numbers, launch in launches:
        own = np.flatnonzero(np.isin(numbers, order[first]))
        if len(own):
            jobs, found = (
                numbers[own].tolist(),
                follow_chains(launch, own, ends[numbers[own]], options),
            )
            chains |= {jobs[k]: chain for k, chain in found}
    return best, chains
