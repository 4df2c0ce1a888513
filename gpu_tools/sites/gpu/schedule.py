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


def follow(
    launch: SitePackedLaunch, ends: dict[int, SweepEnd], usual_exons: int = USUAL_EXONS
) -> dict[int, DeviceChain]:
    """Follow the chains of some jobs of a launch; leave those out whose rows are not all there."""
    lists = _OnDevice(launch, [launch.jobs[k].job for k in ends])
    exons = lists.exons(ends, usual_exons)
    longer = {k: ends[k] for k, own in exons.items() if own is job_table.TOO_MANY}
    if longer:
        most = max(len(launch.jobs[k].job.table.donors.boundaries) for k in longer) + 1
        exons |= lists.exons(longer, most)
    return {
        k: DeviceChain(*ends[k], launch.jobs[k].job.codes, own)
        for k, own in exons.items()
        if own is not job_table.OUTSIDE
    }


class _OnDevice:
    """Lists of sites, nucleotides and targets of a launch's jobs, in the GPU's memory."""

    def __init__(self, launch: SitePackedLaunch, jobs: list[SiteJob]):
        self.launch, self.scoring = launch, jobs[0].scoring
        strands = list({id(job.strand): job.strand for job in jobs}.values())
        lists, of_lists = launch.together("lists", [each.lists.numbers for each in strands])
        codes, of_codes = launch.together("codes", [each.codes for each in strands])
        self._about = {
            id(each): each.lists.about_from(first, codes=own, best_sites=each.limits.best_sites)
            for each, first, own in zip(strands, of_lists, of_codes, strict=True)
        }
        self._buffers = lists, codes, launch.targets
        self._scores = launch.copy(
            "scores", np.array(scores_of_traces(self.scoring), dtype=np.int32)
        )

    def exons(self, ends: dict[int, SweepEnd], most: int) -> dict[int, NDArray[np.int32] | int]:
        """Return the exons of the jobs' chains.

        It is `TOO_MANY` where there are more than `most`, `OUTSIDE` where rows are not there.
        """
        launch, widths = self.launch, [_width_of(end) for end in ends.values()]
        gains = starts_of([[width] for width in widths])[:, 0].tolist()
        traces = [
            self._numbers(k, end, gains=own, exons=n * most, most_exons=most)
            for n, ((k, end), own) in enumerate(zip(ends.items(), gains, strict=True))
        ]
        exons = launch.array("exons", 4 * most * len(ends)).reshape(most * len(ends), 4)
        counts = launch.array("counts", len(ends))
        trace_packed_warp[len(ends), WARP, launch.stream](
            launch.copy("traces", np.array(traces, dtype=np.int64)), launch.device_table,
            launch.cells, *self._buffers, launch.array("gains", 2 * sum(widths)),
            launch.array("symbols", sum(widths)), self._scores, exons, counts,
        )  # fmt: skip
        found = exons.copy_to_host(stream=launch.stream)
        numbers = counts.copy_to_host(stream=launch.stream)
        launch.stream.synchronize()
        each = found.reshape(len(ends), most, 4)
        return dict(zip(ends, map(_in_order, each, numbers.tolist()), strict=True))

    def _numbers(self, k: int, end: SweepEnd, **places) -> job_table.TraceNumbers:
        job = self.launch.jobs[k].job
        dropped = self.scoring.gap * end.column
        dropped -= cost_behind(end.column, job.target, self.scoring)
        value = end.score - job.table.last.at(end.end) - dropped
        parts, target = (
            self.launch.jobs[k].compiled.stored.parts,
            self.launch.table[k, job_table.TARGET],
        )
        return self._about[id(job.strand)]._replace(
            job=k, end=end.end, column=end.column, value=value, target=target, parts=parts,
            **self.launch.jobs[k].rows_in_memory._asdict(), **places,
        )  # fmt: skip


def _width_of(end: SweepEnd) -> int:
    """Return the columns of a row of W, whole ones of all lanes."""
    return (end.column // (4 * WARP) + 1) * 4 * WARP


def _in_order(exons: NDArray[np.int32], count: int) -> NDArray[np.int32] | int:
    """Return a chain's exons in reading direction, given those of a kernel."""
    if count == job_table.NOT_EXPLAINED:
        raise ValueError("no exon or exit explains a value: the sweep is wrong")
    for why_none in (job_table.TOO_MANY, job_table.OUTSIDE):
        if count == why_none:
            return why_none
    return exons[:count][::-1].copy()


# Chains of long jobs that have left checkpoints, followed in windows.

_LONGER_TIMES = 4


def follow_windows(
    launch: SitePackedLaunch,
    ends: dict[int, SweepEnd],
    scoring: SplicedScoring,
    usual_exons: int,
    memory: int | None = None,
) -> dict[int, DeviceChain]:
    """Follow the chains of some jobs of a launch.

    A job that has left checkpoints is swept again from one of them to its best end. If the chain
    begins before that, a longer window is.
    """
    free = cuda.current_context().get_memory_info().free + launch.buffers.bytes
    limit = memory or SHARE_OF_FREE_MEMORY * free / BATCHES_AT_A_TIME
    whole = {k: end for k, end in ends.items() if not launch.jobs[k].every}
    found = follow(launch, whole, usual_exons) if whole else {}
    left, times = {k: end for k, end in ends.items() if k not in whole}, 1
    while left:
        windows = {k: _window_of(launch, k, end, times) for k, end in left.items()}
        fitting = [(k, each) for k, each in windows.items() if strip_bytes(each) <= limit]
        for batch in within_limit(fitting, lambda each: strip_bytes(each[1]), limit):
            part = type(launch)(
                [each for _, each in batch], scoring, launch.buffers, launch.checkpoints
            )
            part.run()
            numbers = [k for k, _ in batch]
            own = {n: ends[k] for n, k in enumerate(numbers)}
            chains = follow(part, own, usual_exons)
            found |= {numbers[n]: chain for n, chain in chains.items()}
        left = {k: ends[k] for k, _ in fitting if k not in found}
        times *= _LONGER_TIMES
    return found


def _window_of(launch: SitePackedLaunch, k: int, end: SweepEnd, times: int) -> PackedStrips:
    """Return a window of so many times the distance of checkpoints, at least."""
    job = launch.jobs[k]
    return job.window(times * job.every, end.end, int(launch.table[k, job_table.CHECKPOINTS]))


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
            found = follow_windows(launch, own, call.scoring, options.usual_exons, options.memory)
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
