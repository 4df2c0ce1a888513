"""Which protein is swept when on which GPU, and what the CPU does meanwhile."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.hardware.batches import shares, within_limit
from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.buffer_pool import Buffers
from gpu_tools.hardware.gpu.dispatch import map_gpus
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.sites.gpu.launch import can_pack
from gpu_tools.sites.gpu.schedule import SHARE_OF_FREE_MEMORY
from gpu_tools.sites.proteins.cpu.strand import BestSweep
from gpu_tools.sites.proteins.gpu.launch import ProteinLaunch
from gpu_tools.sites.proteins.gpu.plan import ProteinStrand
from gpu_tools.sites.proteins.gpu.resumed import ResumedSweep
from gpu_tools.sites.proteins.gpu.strips import (
    ROWS_AGAIN,
    LaidOutProtein,
    ProteinJob,
)
from gpu_tools.sites.proteins.limits import nothing

BATCHES_AT_A_TIME = 2
"""One is laid out or traced on the CPU while another is swept."""
STRIPS = 1024
"""Strips of a batch, about as many as an H200 sweeps at a time."""


class ProteinGpuOptions(NamedTuple):
    """Sizes that results do not depend on.

    Attributes
    ----------
    block : int
        Boundaries of a block that the CPU computes again; a multiple of four and of three.
    memory : int, optional
        Bytes of GPU memory that the batches may take; most of what is free by default. Cases that
        need more are for the CPU.
    strips : int
        Strips of a batch, about.
    """

    block: int = ROWS_AGAIN
    memory: int | None = None
    strips: int = STRIPS


class ProteinCall(NamedTuple):
    """A call, as all its batches see it.

    Attributes
    ----------
    cases : list of ProteinCase
        Checked cases.
    scoring : ProteinScoring
    threads : int
        CPU threads.
    finish : callable
        Makes a case's result of the case and its best chain, a `BestSweep`; None if it has none.
    is_traced : callable
        Tells of a case and its score whether `finish` traces the chain.
    """

    cases: list
    scoring: ProteinScoring
    threads: int
    finish: Callable
    is_traced: Callable


def align_on_gpus(
    call: ProteinCall,
    ordinals: tuple[int, ...],
    on_cpu: Callable[[list], list],
    options: ProteinGpuOptions | None = None,
) -> list:
    """Align all cases: sweeps on GPUs, chains and alignments on the CPU from their checkpoints.

    Parameters
    ----------
    call : ProteinCall
    ordinals : tuple of int
        GPUs; each gets about the same number of cells.
    on_cpu : callable
        Aligns cases that the kernel does not take, or that the GPU's memory does not hold.
    options : ProteinGpuOptions, optional

    Returns
    -------
    list
        The results, in the order of the cases.
    """
    cases, options, left = call.cases, options or ProteinGpuOptions(), []
    results, jobs = [None] * len(cases), _jobs(call, options.block)

    def drive(share: list[int], gpu: int) -> None:
        batches = _Batches({k: jobs[k] for k in share}, options)

        def align(_) -> None:
            with cuda.gpus[gpu]:
                buffers = Buffers()
                while batch := batches.next():
                    for k, result in _aligned({k: jobs[k] for k in batch}, call, gpu, buffers):
                        results[k] = result

        map_on_threads(batches.at_a_time, align, range(batches.at_a_time))
        left.extend(batches.left)

    map_gpus(ordinals, drive, shares([case.cells for case in cases], len(ordinals)), ordinals)
    for k, result in zip(left, on_cpu([cases[k] for k in left]), strict=True):
        results[k] = result
    return results


def _jobs(call: ProteinCall, block: int) -> list[dict[str, ProteinJob]]:
    """Return the jobs of each case, + first."""
    strands = _strands(call, block)
    targets = {id(case.target): case.target.codes for case in call.cases}
    laid_out = {key: LaidOutProtein(codes, call.scoring) for key, codes in targets.items()}
    return [
        {
            name: ProteinJob(strands[id(case.tables[name])], laid_out[id(case.target)])
            for name in "+-" if name in case.tables
        }
        for case in call.cases
    ]  # fmt: skip


def _strands(call: ProteinCall, block: int) -> dict[int, ProteinStrand]:
    """Return the strands of cases by their tables' identity; plans follow batch by batch."""
    first = {}
    for case in call.cases:
        for name, table in case.tables.items():
            first.setdefault(id(table), (case, name))

    def strand_of(each) -> ProteinStrand:
        case, name = each
        return ProteinStrand(case.codes(name), case.tables[name], call.scoring, block)

    made = map_on_threads(call.threads, strand_of, list(first.values()))
    return dict(zip(first, made, strict=True))


class _Batches:
    """The batches of the current GPU; threads take one after the other.

    Attributes
    ----------
    at_a_time : int
        How many fit into the GPU's memory at a time.
    left : list of int
        Cases that the GPU cannot take, when all batches are taken.
    """

    def __init__(self, jobs: dict[int, dict[str, ProteinJob]], options: ProteinGpuOptions):
        free = options.memory
        if free is None:
            free = SHARE_OF_FREE_MEMORY * cuda.current_context().get_memory_info().free
        self._jobs, self._free, self._packs, self.left = jobs, free, can_pack(), []
        users = Counter(id(job.strand) for own in jobs.values() for job in own.values())
        self._sizes = {k: _bytes_of(own, users) for k, own in jobs.items()}
        largest = max((size for size in self._sizes.values() if size <= free), default=0)
        several = not simulated() and largest <= free / BATCHES_AT_A_TIME
        self.at_a_time = BATCHES_AT_A_TIME if several else 1
        self._taking = threading.Lock()
        # whether jobs fit is found out while others are swept
        self._batches = within_limit(
            (k for k in jobs if self._takes(k)), partial(self._share, strips=options.strips), 1.0
        )

    def next(self) -> list[int]:
        """Return the cases of the next batch, none behind the last one."""
        with self._taking:
            return next(self._batches, [])

    def _takes(self, k: int) -> bool:
        fits = self._sizes[k] <= self._free and self._packs
        if not (fits and all(job.fits for job in self._jobs[k].values())):
            self.left.append(k)
            return False
        return True

    def _share(self, k: int, strips: int) -> float:
        """Return which share of a batch a case is."""
        own = sum(job.strips for job in self._jobs[k].values())
        return max(self._sizes[k] * self.at_a_time / self._free, own / strips)


def _bytes_of(jobs: dict[str, ProteinJob], users: Counter[int]) -> int:
    """Return the bytes of device memory that a case needs, its part of its strands' plans included.

    `users` are the cases of each strand.
    """
    possible = [job for job in jobs.values() if job.strand.possible]
    plans = (job.strand.plan_bytes // users[id(job.strand)] for job in possible)
    return sum(job.n_bytes for job in possible) + sum(plans)


class _Chain(NamedTuple):
    """The best chain of a case: its strand, its job's number, and best ends of the job's parts."""

    strand: str
    number: int
    ends: NDArray[np.int64]

    @property
    def score(self) -> int:
        return int(self.ends.max())


def _aligned(
    jobs: dict[int, dict[str, ProteinJob]], call: ProteinCall, gpu: int, buffers: Buffers
) -> Iterator:
    """Sweep the jobs of a batch of cases on the current GPU; yield numbers and results."""
    all_jobs = [job for own in jobs.values() for job in own.values()]
    strands = list({id(job.strand): job.strand for job in all_jobs}.values())
    map_on_threads(call.threads, lambda strand: strand.plan, strands)
    launch = ProteinLaunch(all_jobs, call.scoring, buffers)
    launch.run()
    chains = dict(zip(jobs, _best_chains(jobs, launch), strict=True))

    def finished(k: int):
        chain, case = chains[k], call.cases[k]
        if chain is None:
            return call.finish(case, None)

        def fetch(first: int, past: int):
            with cuda.gpus[gpu]:
                return launch.checkpoints_of(chain.number, first, past)

        def sweep() -> ResumedSweep:
            job = jobs[k][chain.strand]
            return ResumedSweep(job, chain.score, int(np.argmax(chain.ends)), fetch)

        return call.finish(case, BestSweep(chain.strand, chain.score, sweep))

    traced = [k for k, one in chains.items() if one and call.is_traced(call.cases[k], one.score)]
    results = dict(zip(traced, map_on_threads(call.threads, finished, traced), strict=True))
    for k in jobs:
        yield k, results[k] if k in results else finished(k)


def _best_chains(
    jobs: dict[int, dict[str, ProteinJob]], launch: ProteinLaunch
) -> Iterator[_Chain | None]:
    """Yield the best chain of each case, the first of equals, + before -."""
    swept = enumerate(launch.best_ends())
    for own in jobs.values():
        chains = [_Chain(strand, *next(swept)) for strand in own]
        scored = [chain for chain in chains if chain.score > _least(own[chain.strand])]
        yield max(scored, key=lambda chain: chain.score, default=None)


def _least(job: ProteinJob) -> int:
    """Return the score of no chain."""
    return nothing(job.strand.table, len(job.target), job.target.scoring)
