"""Which case of site mode is swept when on which GPU, and what the CPU does meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from numba import cuda

from gpu_tools.hardware.batches import shares, within_limit
from gpu_tools.hardware.gpu.dispatch import map_gpus
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.gpu.job import Job, Strand
from gpu_tools.sites.gpu.launch import Sweeps

BYTES_PER_BATCH = 8 << 30
"""What the sweeps of one batch may keep in GPU memory, at most."""
_SHARE_OF_FREE_MEMORY = 0.5


def align_on_gpus(
    cases: list, scoring: SplicedScoring, ordinals: tuple[int, ...], threads: int, finish: Callable
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

    Returns
    -------
    list
        The results, in the order of `cases`.
    """
    results, strands, spread = [None] * len(cases), {}, partial(map_on_threads, threads)

    def drive(share: list[int]) -> None:
        made = spread(lambda k: (k, _jobs(cases[k], scoring, strands)), share)
        for batch in within_limit(made, _bytes, _limit()):
            found = list(_sweep(batch, scoring, spread))
            ends = spread(lambda each: finish(cases[each[0]], *each[1:]), found)
            for (k, *_), result in zip(found, ends, strict=True):
                results[k] = result

    map_gpus(ordinals, drive, shares([case.cells for case in cases], len(ordinals)))
    return results


def _jobs(case, scoring: SplicedScoring, strands: dict[int, Strand]) -> dict[str, Job]:
    """Return the jobs of the strands on which a case has chains.

    `strands` holds those known so far by their tables' identity; two threads may make one twice.
    """
    jobs = {}
    for name in (s for s in "+-" if s in case.tables and case.tables[s].has_chain()):
        table = case.tables[name]
        if id(table) not in strands:
            strands[id(table)] = Strand(case.codes(name), table)
        jobs[name] = Job(strands[id(table)], case.target.codes, scoring)
        jobs[name].fits_packed  # noqa: B018, worked out here, by many threads
    return jobs


def _limit() -> float:
    return min(
        BYTES_PER_BATCH, _SHARE_OF_FREE_MEMORY * cuda.current_context().get_memory_info().free
    )


def _bytes(numbered: tuple[int, dict[str, Job]]) -> int:
    return sum(job.device_bytes for job in numbered[1].values())


def _sweep(batch: list, scoring: SplicedScoring, spread: Callable) -> Iterator[tuple]:
    """Yield number, best strand and that strand's sweep of each case."""
    jobs = [job for _, own in batch for job in own.values()]
    sweeps, first = Sweeps(jobs, scoring, spread) if jobs else None, 0
    for k, own in batch:
        ends = [(strand, first + n, sweeps.ends[first + n]) for n, strand in enumerate(own)]
        first += len(own)
        scored = [(strand, n, end.score) for strand, n, end in ends if end.score is not None]
        if scored:
            strand, n, _ = max(scored, key=lambda each: each[2])
            yield k, strand, sweeps.fetch(n)
        else:
            yield k, None, None
