"""Which case of site mode is swept when on which GPU, and what the CPU does meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.dispatch import BufferPool, Buffers
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.hardware.threads import map_on_threads, within_limit
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.bounds import cost_behind
from gpu_tools.sites.gpu import job_table
from gpu_tools.sites.gpu.batches import (
    BATCHES_AT_A_TIME,
    SHARE_OF_FREE_MEMORY,
    Batches,
    Leave,
    align_in_batches,
)
from gpu_tools.sites.gpu.codon_strips import codon_strips
from gpu_tools.sites.gpu.job import (
    PackedStrips,
    SiteJob,
    SiteStrand,
    SweepEnd,
    packed_strips,
    sizes_of,
    strips_of,
)
from gpu_tools.sites.gpu.job_table import ChainLeft, TraceNumbers
from gpu_tools.sites.gpu.launch import (
    SiteCodonLaunch,
    SitePackedLaunch,
    device_bytes,
    scores_of_traces,
    starts_of,
    strip_bytes,
)
from gpu_tools.sites.gpu.traceback import trace_packed_warp
from gpu_tools.sites.table import SiteTable, made_once
from gpu_tools.splicing.reading import FRAMES
from gpu_tools.splicing.traceback import TracedChain, align_chain

# Chains of swept jobs, followed on the GPU that swept them.

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


class Followed(NamedTuple):
    """What was followed of a chain: its last exons, the last one first, and what is left of it."""

    exons: NDArray[np.int32]
    left: ChainLeft | None  # None if nothing is


class ChainTracer:
    """Follows chains of a launch's jobs, whose lists of sites are in the GPU's memory.

    `usual_exons` is for how many exons of a chain there is space at a time.
    """

    def __init__(self, launch: SitePackedLaunch, numbers: Iterable[int], usual_exons: int):
        self.usual_exons = usual_exons
        jobs = [launch.jobs[k].job for k in numbers]
        self.scoring = jobs[0].scoring
        strands = list({id(job.strand): job.strand for job in jobs}.values())
        lists, of_lists = launch.together("lists", [each.lists.numbers for each in strands])
        codes, of_codes = launch.together("codes", [each.codes for each in strands])
        self._about = {
            id(each): each.lists.about_from(first, codes=own, best_sites=each.limits.best_sites)
            for each, first, own in zip(strands, of_lists, of_codes, strict=True)
        }
        self._lists = lists, codes, launch.targets
        self._scores = launch.copy(
            "scores", np.array(scores_of_traces(self.scoring), dtype=np.int32)
        )

    def start(self, job: SiteJob, end: SweepEnd) -> ChainLeft:
        """Return the end of a job's best chain."""
        dropped = self.scoring.gap * end.column
        dropped -= cost_behind(end.column, job.target, self.scoring)
        value = end.score - job.table.last.at(end.end) - dropped
        return ChainLeft(end.end, end.column, value, end.end % FRAMES, 1)

    def follow(self, launch: SitePackedLaunch, ends: dict[int, ChainLeft]) -> dict[int, Followed]:
        """Follow chains of a launch as far as its rows are in memory."""
        parts: dict[int, list] = {k: [] for k in ends}
        found: dict[int, ChainLeft | None] = {}
        left = dict(ends)
        while left:
            exons, followed = self._traced(launch, left)
            for k, own, (why, count, *state) in zip(list(left), exons, followed, strict=True):
                parts[k].append(own[:count])
                if why == job_table.NOT_EXPLAINED:
                    raise ValueError("no exon or exit explains a value: the sweep is wrong")
                left[k] = ChainLeft(*state)
                if why != job_table.TOO_MANY:
                    rest = left.pop(k)
                    found[k] = rest if why == job_table.OUTSIDE else None
        return {k: Followed(np.concatenate(parts[k]), found[k]) for k in ends}

    def _traced(self, launch: SitePackedLaunch, ends: dict[int, ChainLeft]) -> tuple[NDArray, list]:
        """Return the exons that there is space for, and what else a traceback says of each job."""
        widths, most = [_width_of(end) for end in ends.values()], self.usual_exons
        gains = starts_of([[width] for width in widths])[:, 0].tolist()
        traces = [
            self._numbers(launch, k, end, gains=own, exons=n * most, most_exons=most)
            for n, ((k, end), own) in enumerate(zip(ends.items(), gains, strict=True))
        ]
        exons = launch.array("exons", 4 * most * len(ends)).reshape(most * len(ends), 4)
        size = job_table.FOLLOWED
        followed = launch.array("followed", size * len(ends)).reshape(len(ends), size)
        trace_packed_warp[len(ends), WARP, launch.stream](
            launch.copy("traces", np.array(traces, dtype=np.int64)), launch.device_table,
            launch.cells, *self._lists, launch.array("gains", 2 * sum(widths)),
            launch.array("symbols", sum(widths)), self._scores, exons, followed,
        )  # fmt: skip
        found = exons.copy_to_host(stream=launch.stream)
        numbers = followed.copy_to_host(stream=launch.stream)
        launch.stream.synchronize()
        return found.reshape(len(ends), most, 4), numbers.tolist()

    def _numbers(self, launch: SitePackedLaunch, k: int, end: ChainLeft, **places) -> TraceNumbers:
        own = launch.jobs[k]
        return self._about[id(own.job.strand)]._replace(
            job=k, **end._asdict(), target=launch.table[k, job_table.TARGET],
            parts=own.compiled.stored.parts, **own.rows_in_memory._asdict(), **places,
        )  # fmt: skip


def _width_of(end: ChainLeft) -> int:
    """Return the columns of a row of W, whole ones of all lanes."""
    return (end.column // (4 * WARP) + 1) * 4 * WARP


# Chains of long jobs that have left checkpoints, followed in windows.

_LONGER_TIMES = 4


def follow_chains(
    launch: SitePackedLaunch, ends: dict[int, SweepEnd], usual_exons: int, memory: int | None = None
) -> dict[int, DeviceChain]:
    """Follow the chains of some jobs of a launch.

    A job that has left checkpoints is swept again from one of them to the chain's end. If not all
    of the chain lies behind that, it goes on from the last exon that was found. Chains that need
    too much memory so are left out.
    """
    tracer = ChainTracer(launch, ends, usual_exons)
    left = {k: tracer.start(launch.jobs[k].job, end) for k, end in ends.items()}
    whole = {k: end for k, end in left.items() if not launch.jobs[k].every}
    found = {k: own.exons for k, own in tracer.follow(launch, whole).items()}
    free = cuda.current_context().get_memory_info().free + launch.buffers.bytes
    limit = memory or SHARE_OF_FREE_MEMORY * free / BATCHES_AT_A_TIME
    windows = _ChainWindows(launch, {k: end for k, end in left.items() if k not in whole})
    while windows.left:
        for batch in windows.batches(limit):
            part = launch.windows(batch)
            part.run()
            followed = tracer.follow(part, windows.ends(batch)).values()
            windows.take(dict(zip(batch, followed, strict=True)))
    found |= windows.found
    return {
        k: DeviceChain(*ends[k], launch.jobs[k].job.codes, exons[::-1].copy())
        for k, exons in found.items()
    }


class _ChainWindows:
    """The windows in which chains of a launch are followed, round by round."""

    def __init__(self, launch: SitePackedLaunch, left: dict[int, ChainLeft]):
        self._launch, self.left = launch, left
        self.found: dict[int, NDArray[np.int32]] = {}
        self._parts: dict[int, list] = {k: [] for k in left}
        self._times = dict.fromkeys(left, 1)

    def batches(self, limit: float) -> list[dict[int, PackedStrips]]:
        """Return the next window of each chain, in batches; give chains up that need too much."""
        windows = {k: self._launch.window(k, end, self._times[k]) for k, end in self.left.items()}
        sizes = {k: strip_bytes(each) for k, each in windows.items()}
        self.left = {k: end for k, end in self.left.items() if sizes[k] <= limit}
        batches = within_limit(self.left, sizes.__getitem__, limit)
        return [{k: windows[k] for k in batch} for batch in batches]

    def ends(self, batch: Iterable[int]) -> dict[int, ChainLeft]:
        """Return what is left of the chains of a batch, by their numbers in it."""
        return {n: self.left[k] for n, k in enumerate(batch)}

    def take(self, followed: dict[int, Followed]) -> None:
        """Take what was followed; where that is nothing, the next window is longer."""
        for k, (exons, left) in followed.items():
            self._parts[k].append(exons)
            if left is None:
                self.found[k] = np.concatenate(self._parts[k])
                del self.left[k]
            else:
                self.left[k] = left
                self._times[k] *= 1 if len(exons) else _LONGER_TIMES


_log = logging.getLogger(__name__)

STRIPS = 2048
"""Strips of a batch, about, twice as many as an H200 sweeps at a time."""


class SiteGpuOptions(NamedTuple):
    """Sizes that results do not depend on."""

    bytes_per_batch: int | None = None  # of rows that a batch stores in GPU memory, at most
    registers: int | None = None  # registers a lane of all packed strips; else they are chosen
    usual_exons: int = USUAL_EXONS  # exons of a chain for which there is space at first
    every: int | None = None  # steps between checkpoints; else short jobs have none
    memory: int | None = None  # bytes of GPU memory for rows; cases that need more are for the CPU


class SiteCall(NamedTuple):
    """What all batches of a call have in common; `finish` makes a case's result from its chain."""

    cases: list
    scoring: SplicedScoring
    threads: int
    finish: Callable
    options: SiteGpuOptions


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
    call, strands = SiteCall(cases, scoring, threads, finish, options or SiteGpuOptions()), {}

    def batches_of(share: list[int], pool: BufferPool, leave: Leave) -> Batches:
        return Batches(_SiteBatches(call, strands, pool.free_bytes, leave).of(share))

    return align_in_batches(cases, ordinals, batches_of, partial(_aligned, call), on_cpu)


class _SiteBatches:
    """The batches of the current GPU.

    While one is swept, the strands of the next are compiled.
    """

    def __init__(self, call: SiteCall, strands: dict[int, SiteStrand], free: int, leave: Leave):
        self._call, self._strands, self._leave = call, strands, leave
        self._free = call.options.memory
        if self._free is None:
            self._free = SHARE_OF_FREE_MEMORY * free / BATCHES_AT_A_TIME

    def of(self, share: list[int]) -> Iterator[list[tuple[int, dict[str, SiteJob]]]]:
        """Yield the numbers and jobs of batches of some cases."""
        cases, limit = self._call.cases, self._call.options.bytes_per_batch or self._free
        for own in within_limit(share, lambda k: strips_of(cases[k]), STRIPS):
            sizes, made = {}, self._jobs(own)
            for k in own:
                sizes[k] = sum(map(device_bytes, made.get(k, {}).values()))
            self._leave([k for k in own if k not in made or sizes[k] > self._free])
            fitting = [(k, made[k]) for k in made if sizes[k] <= self._free]
            _log.info(
                "site mode: %d cases on a GPU, %d on the CPU", len(fitting), len(own) - len(fitting)
            )
            bytes_of = partial(_bytes_of, sizes)
            yield from within_limit(fitting, bytes_of, min(limit, self._free))

    def _jobs(self, numbers: list[int]) -> dict[int, dict[str, SiteJob]]:
        """Return the jobs of cases, but for those that the kernels cannot take."""
        call, spread = self._call, partial(map_on_threads, self._call.threads)
        cases, strand_of = call.cases, partial(SiteStrand, scoring=call.scoring)
        self._strands |= made_once(
            [cases[k] for k in numbers], strand_of, spread,
            lambda table: id(table) not in self._strands and table.has_chain(),
        )  # fmt: skip
        made = {k: _jobs(cases[k], self._strands) for k in numbers}
        return {k: own for k, own in made.items() if all(job.fits for job in own.values())}


def _bytes_of(sizes: dict[int, int], case: tuple[int, dict]) -> int:
    return sizes[case[0]]


def _aligned(
    call: SiteCall, batch: list, buffers: Buffers, leave: Leave
) -> Iterator[tuple[int, SplicedAlignment]]:
    """Yield numbers and results of a batch; cases that need too many rows are left to the CPU."""
    found, spread = _best_chains(batch, call, buffers), partial(map_on_threads, call.threads)
    too_long = {k for k, strand, chain in found if strand is not None and chain is None}
    leave(sorted(too_long))
    found = [each for each in found if each[0] not in too_long]
    ends = spread(lambda each: call.finish(call.cases[each[0]], *each[1:]), found)
    yield from zip((k for k, *_ in found), ends, strict=True)


def _jobs(case, strands: dict[int, SiteStrand]) -> dict[str, SiteJob]:
    """Return the jobs of the strands on which a case has chains, + first."""
    tables = {name: case.tables[name] for name in "+-" if name in case.tables}
    return {
        name: SiteJob(strands[id(table)], case.target.codes)
        for name, table in tables.items()
        if id(table) in strands
    }


def _launches_of(
    jobs: list[SiteJob], call: SiteCall, buffers: Buffers
) -> Iterator[tuple[list[int], SitePackedLaunch]]:
    """Lay jobs out for the two kernels; yield the numbers of each launch's jobs with it."""
    options, scoring = call.options, call.scoring
    plain = [k for k, job in enumerate(jobs) if job.table.stops is None]
    coding = sorted(set(range(len(jobs))) - set(plain))
    for numbers, cut, launch in (
        (plain, packed_strips, SitePackedLaunch), (coding, codon_strips, SiteCodonLaunch)
    ):  # fmt: skip
        if numbers:
            chosen, registers = [jobs[k] for k in numbers], options.registers
            sizes = [registers] * len(chosen) if registers else sizes_of(chosen)
            cut_in = partial(cut, every=options.every)
            yield numbers, launch(list(map(cut_in, chosen, sizes)), scoring, buffers)


def _best_chains(
    batch: list, call: SiteCall, buffers: Buffers
) -> list[tuple[int, str | None, DeviceChain | None]]:
    """Return number, best strand and best chain of each case of a batch.

    There is a strand without a chain if too many rows would be needed to follow it.
    """
    jobs = [job for _, own in batch for job in own.values()]
    options, launches = call.options, list(_launches_of(jobs, call, buffers))
    for _, launch in launches:
        launch.run()
    ends: dict[int, SweepEnd] = {}
    for numbers, launch in launches:
        ends |= dict(zip(numbers, launch.best_ends(), strict=True))
    best = list(_best_strands(batch, ends))
    chosen = {job for *_, job in best if job is not None}
    chains: dict[int, DeviceChain] = {}
    for numbers, launch in launches:
        own = {n: ends[k] for n, k in enumerate(numbers) if k in chosen}
        if own:
            found = follow_chains(launch, own, options.usual_exons, options.memory)
            chains |= {numbers[n]: chain for n, chain in found.items()}
    return [(k, strand, chains.get(job)) for k, strand, job in best]


def _best_strands(
    batch: list, ends: dict[int, SweepEnd]
) -> Iterator[tuple[int, str | None, int | None]]:
    """Yield number, best strand and that strand's job of each case; the first of equals."""
    first = 0
    for k, own in batch:
        jobs = range(first, first + len(own))
        first += len(own)
        scored = [pair for pair in zip(own, jobs, strict=True) if ends[pair[1]].score is not None]
        yield k, *max(scored, key=lambda pair: ends[pair[1]].score, default=(None, None))
