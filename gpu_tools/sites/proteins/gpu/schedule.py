"""Which protein is swept when on which GPU, and what the CPU does meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numba import cuda

from gpu_tools.hardware.batches import shares, within_limit
from gpu_tools.hardware.gpu.dispatch import map_gpus
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.sites.gpu.codon_windows import SHARE_OF_FREE_MEMORY
from gpu_tools.sites.gpu.launch import can_pack
from gpu_tools.sites.proteins.cpu.strand import BestSweep
from gpu_tools.sites.proteins.gpu.launch import ProteinLaunch
from gpu_tools.sites.proteins.gpu.plan import ProteinStrand
from gpu_tools.sites.proteins.gpu.resumed import ResumedSweep
from gpu_tools.sites.proteins.gpu.strips import (
    ROWS_AGAIN,
    ProteinJob,
)
from gpu_tools.sites.proteins.limits import nothing


class ProteinGpuOptions(NamedTuple):
    """Sizes that results do not depend on.

    Attributes
    ----------
    block : int
        Boundaries of a block that the CPU computes again; a multiple of four and of three.
    memory : int, optional
        Bytes of GPU memory that a batch may take; most of what is free by default. Cases that need
        more are for the CPU.
    """

    block: int = ROWS_AGAIN
    memory: int | None = None


def align_on_gpus(
    cases: list,
    scoring: ProteinScoring,
    ordinals: tuple[int, ...],
    threads: int,
    finish: Callable,
    on_cpu: Callable[[list], list],
    options: ProteinGpuOptions | None = None,
) -> list:
    """Align all cases: sweeps on GPUs, chains and alignments on the CPU from their checkpoints.

    Parameters
    ----------
    cases : list of ProteinCase
        Checked cases.
    scoring : ProteinScoring
    ordinals : tuple of int
        GPUs; each gets about the same number of cells.
    threads : int
        CPU threads.
    finish : callable
        Makes a case's result of the case and its best chain, a `BestSweep`; None if it has none.
    on_cpu : callable
        Aligns cases that the kernel does not take, or that the GPU's memory does not hold.
    options : ProteinGpuOptions, optional

    Returns
    -------
    list
        The results, in the order of `cases`.
    """
    results, options, left = [None] * len(cases), options or ProteinGpuOptions(), []
    strands = _strands(cases, scoring, threads, options.block)

    def drive(share: list[int], gpu: int) -> None:
        jobs = {k: _jobs(cases[k], strands) for k in share}
        free = options.memory
        if free is None:
            free = SHARE_OF_FREE_MEMORY * cuda.current_context().get_memory_info().free
        sizes = {k: _bytes_of(jobs[k]) for k in share}
        fits = {k: sizes[k] <= free and all(job.fits for job in jobs[k].values()) for k in share}
        taken = [k for k in share if can_pack() and fits[k]]
        left.extend(set(share) - set(taken))
        for batch in within_limit(taken, sizes.get, free):
            own = {k: jobs[k] for k in batch}
            for k, result in _aligned(own, cases, scoring, threads, finish, gpu):
                results[k] = result

    map_gpus(ordinals, drive, shares([case.cells for case in cases], len(ordinals)), ordinals)
    for k, result in zip(left, on_cpu([cases[k] for k in left]), strict=True):
        results[k] = result
    return results


def _strands(
    cases: list, scoring: ProteinScoring, threads: int, block: int
) -> dict[int, ProteinStrand]:
    """Return the strands of cases with their plans, by their tables' identity."""
    first = {}
    for case in cases:
        for name, table in case.tables.items():
            first.setdefault(id(table), (case, name))

    def strand_of(each) -> ProteinStrand:
        case, name = each
        strand = ProteinStrand(case.codes(name), case.tables[name], scoring, block)
        if strand.possible:
            # compiled here, on several threads
            _ = strand.plan
        return strand

    made = map_on_threads(threads, strand_of, list(first.values()))
    return dict(zip(first, made, strict=True))


def _jobs(case, strands: dict[int, ProteinStrand]) -> dict[str, ProteinJob]:
    """Return the jobs of a case, + first."""
    return {
        name: ProteinJob(strands[id(case.tables[name])], case.target.codes)
        for name in "+-"
        if name in case.tables
    }


def _bytes_of(jobs: dict[str, ProteinJob]) -> int:
    """Return the bytes of device memory that a case needs, its strands' plans included."""
    return sum(job.n_bytes + job.strand.plan.n_bytes for job in jobs.values() if job.fits)


def _aligned(
    jobs: dict[int, dict[str, ProteinJob]], cases: list, scoring: ProteinScoring, threads: int,
    finish: Callable, gpu: int,
) -> Iterator:  # fmt: skip
    """Sweep the jobs of a batch of cases on the current GPU; return numbers and results."""
    numbered = [(k, name) for k, own in jobs.items() for name in own]
    launch = ProteinLaunch([jobs[k][name] for k, name in numbered], scoring)
    launch.run()
    parts = dict(zip(numbered, enumerate(launch.best_ends()), strict=True))

    def least(job: ProteinJob) -> int:
        return nothing(job.strand.table, len(job.target), scoring)

    def finished(k: int):
        scores = {name: int(parts[k, name][1].max()) for name in jobs[k]}
        scored = [name for name in scores if scores[name] > least(jobs[k][name])]
        # the first of equals: + before -
        best = max(scored, key=scores.get, default=None)
        if best is None:
            return finish(cases[k], None)
        (number, ends), job = parts[k, best], jobs[k][best]

        def fetch(first: int, past: int):
            with cuda.gpus[gpu]:
                return launch.checkpoints_of(number, first, past)

        def sweep() -> ResumedSweep:
            return ResumedSweep(job, scores[best], int(np.argmax(ends)), fetch)

        return finish(cases[k], BestSweep(best, scores[best], sweep))

    traced = map_on_threads(threads, finished, list(jobs))
    return zip(jobs, traced, strict=True)
