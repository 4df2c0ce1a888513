"""Which case of site mode is swept when on which GPU, and what the CPU does meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from numba import cuda

from gpu_tools.hardware.batches import shares, within_limit
from gpu_tools.hardware.gpu.dispatch import map_gpus
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.cpu.sweep import ROWS_PER_BLOCK
from gpu_tools.sites.gpu.device_sweeps import Sweeps
from gpu_tools.sites.gpu.job import SiteJob, SiteStrand
from gpu_tools.sites.gpu.launch import can_pack, device_bytes

_SHARE_OF_FREE_MEMORY = 0.5


class SiteGpuOptions(NamedTuple):
    """Sizes that results do not depend on.

    Attributes
    ----------
    bytes_per_batch : int
        What the sweeps of one batch may store in GPU memory, at most.
    rows_per_block : int
        Least number of rows between two that are stored for the traceback.
    registers : int, optional
        Registers a lane of all packed strips; without it, they are chosen.
    """

    bytes_per_batch: int = 8 << 30
    rows_per_block: int = ROWS_PER_BLOCK
    registers: int | None = None


def align_on_gpus(
    cases: list,
    scoring: SplicedScoring,
    ordinals: tuple[int, ...],
    threads: int,
    finish: Callable,
    options: SiteGpuOptions | None = None,
) -> list:
    """Align all cases: sweeps on GPUs; tables, chains and alignments on the CPU.

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
        Makes a case's result of the case, the strand of its best chain, and that strand's sweep;
        of the case and twice None if it has no chain.
    options : SiteGpuOptions, optional

    Returns
    -------
    list
        The results, in the order of `cases`.
    """
    results, strands, spread = [None] * len(cases), {}, partial(map_on_threads, threads)
    options = options or SiteGpuOptions()

    def drive(share: list[int]) -> None:
        packs = can_pack()

        def jobs_of(k: int) -> tuple[int, dict[str, SiteJob], int]:
            jobs = _jobs(cases[k], scoring, strands, options.rows_per_block)
            return k, jobs, sum(device_bytes(job, packs) for job in jobs.values())

        free = cuda.current_context().get_memory_info().free
        limit = min(options.bytes_per_batch, _SHARE_OF_FREE_MEMORY * free)
        for batch in within_limit(spread(jobs_of, share), lambda made: made[2], limit):
            jobs = [job for _, own, _ in batch for job in own.values()]
            sweeps = Sweeps(jobs, scoring, options.registers) if jobs else None
            found = list(_best_strands(batch, sweeps))
            ends = spread(lambda each: finish(cases[each[0]], *each[1:]), found)
            for (k, *_), result in zip(found, ends, strict=True):
                results[k] = result

    map_gpus(ordinals, drive, shares([case.cells for case in cases], len(ordinals)))
    return results


def _jobs(
    case, scoring: SplicedScoring, strands: dict[int, SiteStrand], rows_per_block: int
) -> dict[str, SiteJob]:
    """Return the jobs of the strands on which a case has chains.

    `strands` holds those known so far by their tables' identity; two threads may make one twice.
    """
    jobs = {}
    for name in (s for s in "+-" if s in case.tables and case.tables[s].has_chain()):
        table = case.tables[name]
        if id(table) not in strands:
            strand = SiteStrand(case.codes(name), table, scoring, rows_per_block)
            strands.setdefault(id(table), strand)
        jobs[name] = SiteJob(strands[id(table)], case.target.codes)
    return jobs


def _best_strands(batch: list, sweeps: Sweeps | None) -> Iterator[tuple]:
    """Yield number, best strand and that strand's sweep of each case."""
    first = 0
    for k, own, _ in batch:
        ends = [(strand, first + n, sweeps.ends[first + n]) for n, strand in enumerate(own)]
        first += len(own)
        scored = [(strand, n, end.score) for strand, n, end in ends if end.score is not None]
        if scored:
            strand, n, _ = max(scored, key=lambda each: each[2])
            yield k, strand, sweeps.fetch(n)
        else:
            yield k, None, None
