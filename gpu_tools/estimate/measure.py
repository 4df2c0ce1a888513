"""Measured times of calls, as the time model estimates them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from gpu_tools.estimate.model import CPU, LIST
from gpu_tools.hardware.small_inputs import take_gpu
from gpu_tools.model.scoring import GENE_SCORING
from gpu_tools.spliced.api import spliced_align
from gpu_tools.spliced.case import Case

SITE_MODEL = "vertebrate"
TIMING_ROUNDS = 5
LONG_SECONDS = 1.0


def call_of(mode: str, cases: list[Case], device: str) -> Callable[[], object]:
    """Return a function that aligns cases once in a mode: on one thread of a CPU, or on a GPU.

    Site mode scores the sites of both strands of every distinct base, and then aligns.
    """
    # beside a GPU all threads of the CPU do what it does not
    threads = 1 if device == CPU else None
    if device != CPU:
        take_gpu()
    if mode == LIST:
        return lambda: spliced_align(cases, GENE_SCORING, device=device, threads=threads)
    # list mode does not need these imports, which take time
    from gpu_tools.model.scoring import SplicedScoring
    from gpu_tools.sites.api import SiteCase, site_align, tables_of
    from gpu_tools.sites.model import load_sites

    model, scoring = load_sites(SITE_MODEL), SplicedScoring(ends=GENE_SCORING.ends)

    def align():
        bases = {id(case.base): case.base for case in cases}
        options = {"ends": scoring.ends, "threads": threads}
        tables = {key: tables_of(base, model, **options) for key, base in bases.items()}
        work = [SiteCase(case.base, case.target, tables[id(case.base)]) for case in cases]
        return site_align(work, scoring, device=device, threads=threads)

    return align


def least_seconds(
    calls: Sequence[Callable[[], object]],
    device: str,
    tell: Callable[[int], None] | None = None,
    rounds: int = TIMING_ROUNDS,
    weights: Sequence[int] | None = None,
) -> list[float]:
    """Return the least time of each of some calls, over rounds of all of them.

    On a CPU that is the time that the processor spent on this thread, which other programs on the
    machine prolong less than the wall time; with a GPU it is the wall time. The least one is the
    least disturbed. Calls that take long are timed twice.

    Parameters
    ----------
    calls : sequence of callable
        Without arguments; the first one is called once before.
    device : str
        ``cpu``, or ``cuda`` with ordinals.
    tell : callable, optional
        Called with the weight of each call in each round.
    rounds : int
    weights : sequence of int, optional
        Of each call, 1 by default; see `weights_of`.
    """
    weights = weights or [1] * len(calls)
    clock = time.thread_time if device == CPU else time.perf_counter
    least = [inf] * len(calls)
    for call in calls[:1]:
        call()
    for number in range(rounds):
        for k, call in enumerate(calls):
            # the first call may also compile
            if number < 2 or least[k] < LONG_SECONDS:
                begin = clock()
                call()
                least[k] = min(least[k], clock() - begin)
            if tell:
                tell(weights[k])
    return least


def weights_of(seconds: Iterable[float]) -> list[int]:
    """Return estimated times as weights for progress: microseconds, at least one."""
    return [max(round(1e6 * value), 1) for value in seconds]


class RelativeErrors(NamedTuple):
    """Errors of estimates, relative to what was measured, without their signs."""

    median: float
    percentile_95: float
    maximum: float


def relative_errors(estimated, measured) -> RelativeErrors:
    """Return the median, the 95th percentile and the maximum of relative errors.

    Parameters
    ----------
    estimated, measured : array_like of float, shape (C,)
        Seconds, one case or more, the measured ones above 0.
    """
    errors = np.abs(np.asarray(estimated) / np.asarray(measured) - 1)
    return RelativeErrors(*map(float, np.percentile(errors, [50, 95, 100])))
