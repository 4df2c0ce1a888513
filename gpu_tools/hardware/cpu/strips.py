"""Strips of a sweep behind each other, and cases dealt to GPUs, in compiled code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import types
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.threads import map_on_threads

_yield_processor = types.ExternalFunction("sched_yield", types.int32())


def run_strips(
    block: Callable[[int, tuple[int, int]], None], strips: int, blocks: list[tuple[int, int]]
) -> None:
    """Run all blocks of all strips, each strip on a thread, behind the one before it."""
    done = np.zeros(strips, dtype=np.int64)

    def follow(strip: int) -> None:
        try:
            for number, steps in enumerate(blocks):
                if strip > 0:
                    wait_for(done, strip - 1, number + 1)
                block(strip, steps)
                count_block(done, strip)
        finally:  # also lets the next strip end if this one failed
            done[strip] = len(blocks)

    map_on_threads(strips, follow, range(strips))


@njit(cache=True, nogil=True)
def wait_for(done, strip, needed):
    """Wait until a strip has done as many blocks as needed.

    The thread stays awake: where there are many cores, waking up takes longer than a block.
    """
    while simd.fetch_add(done, strip, 0) < needed:
        _yield_processor()


@njit(cache=True, nogil=True)
def count_block(done, strip):
    """Count a block that a strip has done."""
    simd.fetch_add(done, strip, 1)


# Cases assigned to GPUs.


def assigned(cells: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    """Assign cases to GPUs, the largest first, each to the GPU with the least work so far."""
    order = np.argsort(-cells)
    gpus = _least_loaded(cells[order], count)
    return [order[gpus == gpu] for gpu in range(count)]


@njit(cache=True, nogil=True)
def _least_loaded(cells, count):
    """Return the GPU that takes each case."""
    loads, gpus = np.zeros(count, dtype=np.int64), np.empty(len(cells), dtype=np.int64)
    for k in range(len(cells)):
        gpus[k] = np.argmin(loads)
        loads[gpus[k]] += cells[k]
    return gpus


def shares(cells: list[int], count: int) -> list[list[int]]:
    """Return the same as `assigned`, as lists."""
    return [own.tolist() for own in assigned(np.array(cells, dtype=np.int64), count)]
