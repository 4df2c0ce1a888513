"""Batches of cases that GPUs sweep, their best chains, and cases that the CPU aligns meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import load_stored
from gpu_tools.hardware.cpu.strips import shares
from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.dispatch import Buffers, borrowed_pools, map_gpus
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.sites.gpu.job_table import LOWEST_SCORE

SHARE_OF_FREE_MEMORY = 0.8
BATCHES_AT_A_TIME = 1 if simulated() else 3
"""Some are laid out, followed or aligned while another is swept."""
Leave = Callable[[list[int]], None]
"""Leaves cases to the CPU, given their numbers."""


class GpuCall(NamedTuple):
    """What all batches of a call have in common.

    `finish` makes the result of a case from the strand of its best chain and the chain, None twice
    if there is none; `is_traced` tells whether it needs more of a chain than its score, given the
    case and the score; `on_cpu` aligns cases on the CPU.
    """

    cases: list
    scoring: Any
    threads: int
    finish: Callable
    is_traced: Callable[[Any, int], bool]
    on_cpu: Callable[[list], list]


class GpuBatch(NamedTuple):
    """Cases that are swept together: their numbers, and their jobs in order, of a case + first.

    `lay_out` makes launches, which are started by `run` and return the best scores of their jobs;
    with each come the jobs' numbers. `follow` returns the chains of some jobs of a launch, given
    which of them are traced, and None for those that are left to the CPU.
    """

    cases: list[int]
    case: NDArray[np.int64]  # of each job, an index of `cases`
    names: list[str]  # of the jobs' strands
    n_bytes: int  # of a GPU's memory, about
    lay_out: Callable[[Buffers], list[tuple[NDArray, Any]]]
    follow: Callable[[Any, NDArray, NDArray], list]


def align_in_batches(
    call: GpuCall,
    ordinals: tuple[int, ...],
    batches_of: Callable[[list[int], float, Leave], tuple[Iterator[GpuBatch], int]],
    later: Iterable,
    memory: int | None = None,
) -> list:
    """Return the results of all cases.

    `batches_of` returns the batches of some cases on the current GPU, which may use so many bytes
    of its memory, `memory` if given, and how many are there at a time. The kernels `later` are
    those that follow sweeps.
    """
    results, left, cases = [None] * len(call.cases), [], call.cases

    def leave(numbers: list[int]) -> None:
        if numbers:
            left.append((numbers, cpu.submit(call.on_cpu, [cases[k] for k in numbers])))

    def drive(share: list[int], pool, gpu: int) -> None:
        free = SHARE_OF_FREE_MEMORY * pool.free_bytes if memory is None else memory
        (each, at_a_time), taking = batches_of(share, free, leave), threading.Lock()
        own = pool.batches[:at_a_time]
        if (first := next(each, None)) is None:
            return
        each = chain([first], each)
        for buffers in pool.batches[len(own) :]:
            buffers.clear()
        load_stored(later)  # while no kernel runs
        for buffers in own:
            buffers.reserve(first.n_bytes)

        def work(buffers: Buffers) -> None:
            with cuda.gpus[gpu]:
                while True:
                    with taking:
                        batch = next(each, None)
                    if batch is None:
                        break
                    buffers.reserve(batch.n_bytes)
                    for k, result in _aligned(call, batch, buffers, leave):
                        results[k] = result

        map_on_threads(len(own), work, own)

    with ThreadPoolExecutor(1, "gpu-tools") as cpu, borrowed_pools(ordinals) as pools:
        each = shares([case.cells for case in cases], len(ordinals))
        map_gpus(ordinals, drive, each, pools, ordinals)
    for numbers, found in left:
        for k, result in zip(numbers, found.result(), strict=True):
            results[k] = result
    return results


def _aligned(
    call: GpuCall, batch: GpuBatch, buffers: Buffers, leave: Leave
) -> Iterator[tuple[int, Any]]:
    """Yield numbers and results of a batch's cases; some are left to the CPU."""
    launches = batch.lay_out(buffers)
    for _, launch in launches:
        launch.run()
    scores = np.empty(len(batch.case), np.int64)
    for numbers, launch in launches:
        scores[numbers] = launch.best_scores()
    # of equal scores the first
    order = np.lexsort((-scores, batch.case))
    order = order[scores[order] > LOWEST_SCORE]
    own, first = np.unique(batch.case[order], return_index=True)
    best = dict(zip(own.tolist(), order[first].tolist(), strict=True))
    cases = [call.cases[k] for k in batch.cases]
    traced = np.zeros(len(scores), np.bool_)
    for n, job in best.items():
        traced[job] = call.is_traced(cases[n], int(scores[job]))
    chains: dict[int, Any] = {}
    for numbers, launch in launches:
        own = np.flatnonzero(np.isin(numbers, order[first]))
        if len(own):
            found = batch.follow(launch, own, traced[numbers[own]])
            chains |= zip(numbers[own].tolist(), found, strict=True)
    left = {n for n, job in best.items() if chains[job] is None}
    leave([batch.cases[n] for n in sorted(left)])

    def finished(n: int):
        job = best.get(n)
        chain = (None, None) if job is None else (batch.names[job], chains[job])
        return call.finish(cases[n], *chain)

    done = [n for n in range(len(cases)) if n not in left]
    results = map_on_threads(call.threads, finished, done)
    yield from zip((batch.cases[n] for n in done), results, strict=True)
