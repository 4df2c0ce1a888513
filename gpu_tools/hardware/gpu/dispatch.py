"""Work for several GPUs, an ordinary thread for each of them, and for several streams of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from queue import SimpleQueue
from typing import TypeVar

from numba import cuda

from gpu_tools.hardware.gpu.buffer_pool import Buffers
from gpu_tools.hardware.threads import map_on_threads

Result = TypeVar("Result")


def map_gpus(
    ordinals: Sequence[int], work: Callable[..., Result], *arguments: Iterable
) -> list[Result]:
    """Call a function once for each GPU, with that GPU current, side by side."""
    calls = list(enumerate(zip(ordinals, *arguments, strict=True)))
    results: dict[int, Result] = {}

    def run(ordinal: int) -> None:
        with cuda.gpus[ordinal]:
            for number, (gpu, *own) in calls:
                if gpu == ordinal:
                    results[number] = work(*own)

    gpus = list(dict.fromkeys(ordinals))
    map_on_threads(len(gpus), run, gpus)
    return [results[number] for number, _ in calls]


def map_buffers(
    buffers: Sequence[Buffers], work: Callable[..., Result], *arguments: Iterable
) -> list[Result]:
    """Call a function on the current GPU, as many calls side by side as there are buffers."""
    ordinal, free = cuda.gpus.current.id, SimpleQueue()
    for each in buffers:
        free.put(each)

    def call(*own) -> Result:
        taken = free.get()
        try:
            with cuda.gpus[ordinal]:
                return work(taken, *own)
        finally:
            free.put(taken)

    return map_on_threads(len(buffers), call, *arguments)
