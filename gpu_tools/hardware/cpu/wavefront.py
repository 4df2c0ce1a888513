"""Strips of a sweep that follow each other on several threads, a block of steps behind."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import types

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.threads import map_on_threads

_yield_processor = types.ExternalFunction("sched_yield", types.int32())


def blocks_of(n_steps: int, size: int) -> list[tuple[int, int]]:
    """Cut steps into blocks of `size`, as (first, past the last)."""
    return [(first, min(first + size, n_steps)) for first in range(0, n_steps, size)]


def run_strips(
    block: Callable[[int, tuple[int, int]], None], strips: int, blocks: list[tuple[int, int]]
) -> None:
    """Run all blocks of all strips, each strip on a thread, behind the one before it."""
    done = np.zeros(strips, dtype=np.int64)

    def follow(strip: int) -> None:
        try:
            for number, steps in enumerate(blocks):
                if strip > 0:
                    # a block reads border rows that the strip before finishes a vector later
                    wait_for(done, strip - 1, min(number + 2, len(blocks)))
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
