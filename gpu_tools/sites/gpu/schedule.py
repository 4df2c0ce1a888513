"""Which case of site mode is swept when on which GPU, and what the CPU does meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from numba import cuda

from gpu_tools.hardware.batches import shares, within_limit
from gpu_tools.hardware.gpu.dispatch import map_gpus
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.gpu.chains import USUAL_EXONS, DeviceChain, follow
from gpu_tools.sites.gpu.codon_strips import codon_strips
from gpu_tools.sites.gpu.codon_windows import SHARE_OF_FREE_MEMORY, follow_windows
from gpu_tools.sites.gpu.job import SiteJob, SiteStrand, SweepEnd
from gpu_tools.sites.gpu.launch import (
    SiteCodonLaunch,
    SiteLaunch32,
    SitePackedLaunch,
    StripLaunch,
    can_pack,
    device_bytes,
)
from gpu_tools.sites.gpu.packed_strips import packed_strips, sizes_of
from gpu_tools.sites.gpu.strips32 import Strips32

_log = logging.getLogger(__name__)

CPU_THREADS = 4
"""With so many threads a CPU does as many cells a second as the 32-bit kernel."""


class SiteGpuOptions(NamedTuple):
    """Sizes that results do not depend on.

    Attributes
    ----------
    bytes_per_batch : int, optional
        What the sweeps of one batch may store in GPU memory, at most; most of it by default.
    registers : int, optional
        Registers a lane of all packed strips; without it, they are chosen.
    usual_exons : int
        Exons of a chain that space is made for at first.
    every : int, optional
        Steps between checkpoints of chains that translate; without it, short jobs have none.
    memory : int, optional
        Bytes of GPU memory that rows may take; most of what is free by default. Cases that need
        more are for the CPU.
    """

    bytes_per_batch: int | None = None
    registers: int | None = None
    usual_exons: int = USUAL_EXONS
    every: int | None = None
    memory: int | None = None


def align_on_gpus(
    cases: list,
    scoring: SplicedScoring,
    ordinals: tuple[int, ...],
    threads: int,
    finish: Callable,
    on_cpu: Callable[[list], list],
    options: SiteGpuOptions | None = None,
) -> list:
    """Align all cases: sweeps and chains on GPUs; tables and alignments on the CPU.

    Parameters
    ----------
    cases : list of SiteCase
        Checked cases.
    scoring : SplicedScoring
    ordinals : tuple of int
        GPUs; each gets about the same number of cells.
    threads : int
        CPU threads.
    finish : callable
        Makes a case's result of the case, the strand of its best chain, and that chain; of the case
        and twice None if it has no chain.
    on_cpu : callable
        Aligns cases whose rows the GPU's memory does not hold, and, where the CPU has threads for
        it, those that the packed kernel does not take.
    options : SiteGpuOptions, optional

    Returns
    -------
    list
        The results, in the order of `cases`.
    """
    results, spread = [None] * len(cases), partial(map_on_threads, threads)
    options = options or SiteGpuOptions()
    strands, left = _strands(cases, scoring, spread), []

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


def _strands(cases: list, scoring: SplicedScoring, spread: Callable) -> dict[int, SiteStrand]:
    """Return the strands on which cases have chains, by their tables' identity."""
    first = {}
    for case in cases:
        for name, table in case.tables.items():
            if table.has_chain():
                first.setdefault(id(table), (case, name))

    def strand_of(each) -> SiteStrand:
        case, name = each
        return SiteStrand(case.codes(name), case.tables[name], scoring)

    return dict(zip(first, spread(strand_of, first.values()), strict=True))


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
