"""Chains that translate, followed in windows of long jobs that have left checkpoints."""

from __future__ import annotations

from numba import cuda

from gpu_tools.hardware.batches import within_limit
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.gpu.chains import DeviceChain, follow
from gpu_tools.sites.gpu.codon_strips import CodonStrips
from gpu_tools.sites.gpu.job import SweepEnd
from gpu_tools.sites.gpu.job_table import CHECKPOINTS
from gpu_tools.sites.gpu.launch import SiteCodonLaunch, strip_bytes

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

    Parameters
    ----------
    launch : SiteCodonLaunch
        It has run.
    ends : dict of int to SweepEnd
        The best ends by job; each has a score.
    scoring : SplicedScoring
    usual_exons : int
        See `gpu_tools.sites.gpu.chains.follow`.
    memory : int, optional
        Bytes that windows may take; most of what is free by default.

    Returns
    -------
    dict of int to DeviceChain
        Without the jobs whose windows take more.
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
    return job.window(times * job.every, end.end, int(launch.table[k, CHECKPOINTS]))
