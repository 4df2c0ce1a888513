"""Which case of site mode is swept when on which GPU, and what the CPU does meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import device_memset
from numpy.typing import NDArray

from gpu_tools.hardware.cpu.strips import shares
from gpu_tools.hardware.gpu.dispatch import map_gpus
from gpu_tools.hardware.gpu.intrinsics.words import WARP, can_pack
from gpu_tools.hardware.threads import map_on_threads, within_limit
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.bounds import cost_behind
from gpu_tools.sites.gpu import job_table
from gpu_tools.sites.gpu.codon_strips import CodonStrips, codon_strips
from gpu_tools.sites.gpu.job import SiteJob, SiteStrand, Strips32, SweepEnd, packed_strips, sizes_of
from gpu_tools.sites.gpu.launch import (
    SiteCodonLaunch,
    SiteLaunch32,
    SitePackedLaunch,
    StripLaunch,
    device_bytes,
    scores32,
    starts_of,
    strip_bytes,
    together,
)
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
    launch: StripLaunch, ends: dict[int, SweepEnd], usual_exons: int = USUAL_EXONS
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

    def __init__(self, launch: StripLaunch, jobs: list[SiteJob]):
        self.launch, self.scoring = launch, jobs[0].scoring
        strands = list({id(job.strand): job.strand for job in jobs}.values())
        lists, of_lists = together([each.lists.numbers for each in strands])
        codes, of_codes = together([each.codes for each in strands])
        self._about = {
            id(each): each.lists.about_from(first, codes=own, best_sites=each.limits.best_sites)
            for each, first, own in zip(strands, of_lists, of_codes, strict=True)
        }
        self._buffers = lists, codes, launch.targets
        self._scores = cuda.to_device(np.array(scores32(self.scoring), dtype=np.int32))

    def exons(self, ends: dict[int, SweepEnd], most: int) -> dict[int, NDArray[np.int32] | int]:
        """Return the exons of the jobs' chains.

        It is `TOO_MANY` where there are more than `most`, `OUTSIDE` where rows are not there.
        """
        widths = [(end.column // (4 * WARP) + 1) * 4 * WARP for end in ends.values()]
        gains = starts_of([[width] for width in widths])[:, 0].tolist()
        traces = [
            self._numbers(k, end, gains=own, exons=n * most, most_exons=most)
            for n, ((k, end), own) in enumerate(zip(ends.items(), gains, strict=True))
        ]
        exons = cuda.device_array((most * len(ends), 4), dtype=np.int32)
        device_memset(exons, 0, exons.nbytes)
        counts = cuda.device_array(len(ends), dtype=np.int32)
        self.launch.trace_kernel[len(ends), WARP](
            cuda.to_device(np.array(traces, dtype=np.int64)), self.launch.device_table,
            self.launch.cells, *self._buffers, cuda.device_array(2 * sum(widths), dtype=np.int32),
            cuda.device_array(sum(widths), dtype=np.int32), self._scores, exons, counts,
        )  # fmt: skip
        found = exons.copy_to_host().reshape(len(ends), most, 4)
        return dict(zip(ends, map(_in_order, found, counts.copy_to_host().tolist()), strict=True))

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


def _in_order(exons: NDArray[np.int32], count: int) -> NDArray[np.int32] | int:
    """Return a chain's exons in reading direction, given those of a kernel."""
    if count == job_table.NOT_EXPLAINED:
        raise ValueError("no exon or exit explains a value: the sweep is wrong")
    for why_none in (job_table.TOO_MANY, job_table.OUTSIDE):
        if count == why_none:
            return why_none
    return exons[:count][::-1].copy()


# Chains that translate, followed in windows of long jobs that have left checkpoints.

SHARE_OF_FREE_MEMORY = 0.8
_LONGER_TIMES = 4


def follow_windows(
    launch: SiteCodonLaunch,
    ends: dict[int, SweepEnd],
    scoring: SplicedScoring,
    usual_exons: int,
    memory: int | None = None,
) -> dict[int, DeviceChain]:
    """Follow the chains of some jobs of a launch.

    A job that has left checkpoints is swept again from one of them to its best end. If the chain
    begins before that, a longer window is.
    """
    limit = memory or SHARE_OF_FREE_MEMORY * cuda.current_context().get_memory_info().free
    whole = {k: end for k, end in ends.items() if not launch.jobs[k].every}
    found = follow(launch, whole, usual_exons) if whole else {}
    left, times = {k: end for k, end in ends.items() if k not in whole}, 1
    while left:
        windows = {k: _window_of(launch, k, end, times) for k, end in left.items()}
        fitting = [(k, each) for k, each in windows.items() if strip_bytes(each) <= limit]
        for batch in within_limit(fitting, lambda each: strip_bytes(each[1]), limit):
            part = SiteCodonLaunch([each for _, each in batch], scoring, launch.checkpoints)
            part.run()
            numbers = [k for k, _ in batch]
            own = {n: ends[k] for n, k in enumerate(numbers)}
            chains = follow(part, own, usual_exons)
            found |= {numbers[n]: chain for n, chain in chains.items()}
        left = {k: ends[k] for k, _ in fitting if k not in found}
        times *= _LONGER_TIMES
    return found


def _window_of(launch: SiteCodonLaunch, k: int, end: SweepEnd, times: int) -> CodonStrips:
    """Return a window of so many times the distance of checkpoints, at least."""
    job = launch.jobs[k]
    return job.window(times * job.every, end.end, int(launch.table[k, job_table.CHECKPOINTS]))


_log = logging.getLogger(__name__)

CPU_THREADS = 4
"""With so many threads a CPU does as many cells a second as the 32-bit kernel."""


class SiteGpuOptions(NamedTuple):
    """Sizes that results do not depend on."""

    bytes_per_batch: int | None = None  # of rows that a batch stores in GPU memory, at most
    registers: int | None = None  # registers a lane of all packed strips; else they are chosen
    usual_exons: int = USUAL_EXONS  # exons of a chain for which there is space at first
    every: int | None = None  # steps between checkpoints; else short jobs have none
    memory: int | None = None  # bytes of GPU memory for rows; cases that need more are for the CPU


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
    results, spread = [None] * len(cases), partial(map_on_threads, threads)
    options = options or SiteGpuOptions()
    strand_of, left = partial(SiteStrand, scoring=scoring), []
    strands = made_once(cases, strand_of, spread, SiteTable.has_chain)

    def drive(share: list[int]) -> None:
        made, packs = {k: _jobs(cases[k], strands) for k in share}, can_pack()
        if threads >= CPU_THREADS:
            left.extend(k for k, own in made.items() if not _packs(own, packs))
        own = {k: jobs for k, jobs in made.items() if k not in set(left)}
        _compile([job for jobs in own.values() for job in jobs.values()], packs, spread)
        sizes = {k: sum(device_bytes(job, packs) for job in own[k].values()) for k in own}
        free = options.memory
        if free is None:
            free = SHARE_OF_FREE_MEMORY * cuda.current_context().get_memory_info().free
        left.extend(k for k in own if sizes[k] > free)
        fitting = [(k, own[k]) for k in own if sizes[k] <= free]
        limit = min(options.bytes_per_batch or free, free)
        n_packed = sum(_packs(jobs, packs) for _, jobs in fitting)
        _log.info(
            "site mode on a GPU: %d cases by the packed kernel, %d by the 32-bit kernel, %d on the "
            "CPU",
            n_packed, len(fitting) - n_packed, len(share) - len(fitting),
        )  # fmt: skip
        _log.debug("batches of at most %.1f GB of the GPU's memory", limit / 1e9)
        for batch in within_limit(fitting, lambda each: sizes[each[0]], limit):
            found = _best_chains(batch, scoring, packs, options)
            too_long = {k for k, strand, chain in found if strand is not None and chain is None}
            left.extend(too_long)
            found = [each for each in found if each[0] not in too_long]
            ends = spread(lambda each: finish(cases[each[0]], *each[1:]), found)
            for (k, *_), result in zip(found, ends, strict=True):
                results[k] = result

    map_gpus(ordinals, drive, shares([case.cells for case in cases], len(ordinals)))
    for k, result in zip(left, on_cpu([cases[k] for k in left]), strict=True):
        results[k] = result
    return results


def _packs(jobs: dict[str, SiteJob], packs: bool) -> bool:
    """Return whether the packed kernel takes all jobs of a case, on a GPU that packs or not."""
    return all(packs and job.fits_packed for job in jobs.values())


def _jobs(case, strands: dict[int, SiteStrand]) -> dict[str, SiteJob]:
    """Return the jobs of the strands on which a case has chains, + first."""
    tables = {name: case.tables[name] for name in "+-" if name in case.tables}
    return {
        name: SiteJob(strands[id(table)], case.target.codes)
        for name, table in tables.items()
        if id(table) in strands
    }


def _compile(jobs: list[SiteJob], packs: bool, spread: Callable) -> None:
    """Compile what the 32-bit kernel does for strands that need it; steps are there already."""
    others = (job.strand for job in jobs if not (packs and job.fits_packed))
    spread(lambda strand: strand.row_plan, list({id(strand): strand for strand in others}.values()))


def _launches_of(
    jobs: list[SiteJob], scoring: SplicedScoring, packs: bool, options: SiteGpuOptions
) -> Iterator[tuple[list[int], StripLaunch]]:
    """Lay jobs out for the three kernels; yield the numbers of each launch's jobs with it."""
    packed = [k for k, job in enumerate(jobs) if packs and job.fits_packed]
    others = sorted(set(range(len(jobs))) - set(packed))
    plain = [k for k in packed if jobs[k].table.stops is None]
    coding = sorted(set(packed) - set(plain))
    for numbers, cut, launch in (
        (plain, packed_strips, SitePackedLaunch),
        (coding, partial(codon_strips, every=options.every), SiteCodonLaunch),
    ):
        if numbers:
            chosen, registers = [jobs[k] for k in numbers], options.registers
            sizes = [registers] * len(chosen) if registers else sizes_of(chosen)
            yield numbers, launch(list(map(cut, chosen, sizes)), scoring)
    if others:
        yield others, SiteLaunch32([Strips32(jobs[k]) for k in others], scoring)


def _best_chains(
    batch: list, scoring: SplicedScoring, packs: bool, options: SiteGpuOptions
) -> list[tuple[int, str | None, DeviceChain | None]]:
    """Return number, best strand and best chain of each case of a batch.

    There is a strand without a chain if too many rows would be needed to follow it.
    """
    jobs = [job for _, own in batch for job in own.values()]
    launches = list(_launches_of(jobs, scoring, packs, options))
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
            found = (
                follow_windows(launch, own, scoring, options.usual_exons, options.memory)
                if isinstance(launch, SiteCodonLaunch)
                else follow(launch, own, options.usual_exons)
            )
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
