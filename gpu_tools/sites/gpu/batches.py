"""Batches of cases that GPUs align, and cases that the CPU aligns meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any, NamedTuple

from numba import cuda

from gpu_tools.hardware.cpu.strips import shares
from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.dispatch import BufferPool, Buffers, borrowed_pools, map_gpus
from gpu_tools.hardware.threads import map_on_threads

SHARE_OF_FREE_MEMORY = 0.8
BATCHES_AT_A_TIME = 1 if simulated() else 3
"""Some are laid out, followed or aligned while another is swept."""
Leave = Callable[[list[int]], None]
"""Leaves cases to the CPU, given their numbers."""


class Batches(NamedTuple):
    """The batches of a GPU, each with the bytes that it takes there, about; so many at a time."""

    each: Iterator[tuple[Any, int]]
    at_a_time: int


def align_in_batches(
    cases: list,
    ordinals: tuple[int, ...],
    batches_of: Callable[[list[int], BufferPool, Leave], Batches],
    align: Callable[[Any, Buffers, Leave], Iterator[tuple[int, Any]]],
    on_cpu: Callable[[list], list],
) -> list:
    """Return the results of all cases.

    `batches_of` returns the batches of some cases on the current GPU, and `align` yields numbers
    and results of the cases of one.
    """
    results, left = [None] * len(cases), []

    def leave(numbers: list[int]) -> None:
        if numbers:
            left.append((numbers, cpu.submit(on_cpu, [cases[k] for k in numbers])))

    def drive(share: list[int], pool: BufferPool, gpu: int) -> None:
        batches, taking = batches_of(share, pool, leave), threading.Lock()
        own = pool.batches[: batches.at_a_time]
        if (first := next(batches.each, None)) is None:
            return
        each = chain([first], batches.each)
        for buffers in pool.batches[len(own) :]:
            buffers.clear()
        for buffers in own:  # while no kernel runs
            buffers.reserve(first[1])

        def work(buffers: Buffers) -> None:
            with cuda.gpus[gpu]:
                while True:
                    with taking:
                        batch, n_bytes = next(each, (None, 0))
                    if batch is None:
                        break
                    buffers.reserve(n_bytes)
                    for k, result in align(batch, buffers, leave):
                        results[k] = result

        map_on_threads(len(own), work, own)

    with ThreadPoolExecutor(1, "gpu-tools") as cpu, borrowed_pools(ordinals) as pools:
        each = shares([case.cells for case in cases], len(ordinals))
        map_gpus(ordinals, drive, each, pools, ordinals)
    for numbers, found in left:
        for k, result in zip(numbers, found.result(), strict=True):
            results[k] = result
    return results
