"""Strips of a sweep that follow each other on several threads, a block of steps behind."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numba import njit, types
from numba.extending import register_jitable
from numpy.typing import NDArray

import gpu_tools.hardware.compile_cache  # noqa: F401  (processes do not hinder each other)
from gpu_tools.hardware.cpu import simd

_yield_processor = types.ExternalFunction("sched_yield", types.int32())

ALL_DONE = sys.maxsize
"""In place of the number of a strip's first block: there is nothing left to be done."""


def blocks_of(n_steps: int, size: int) -> list[tuple[int, int]]:
    """Cut steps into blocks of `size`, as (first, past the last)."""
    return [(first, min(first + size, n_steps)) for first in range(0, n_steps, size)]


def run_strips(
    block: Callable[[int, tuple[int, int]], None], strips: int, blocks: list[tuple[int, int]]
) -> None:
    """Run all blocks of all strips, each strip on a thread, behind the one before it.

    Parameters
    ----------
    block : callable
        Runs one block of one strip.
    strips : int
    blocks : list of (int, int)
        Steps of each block, in order.
    """

    def turn(done: NDArray[np.int64], strip: int, number: int) -> int:
        _wait_for_block(done, strip, number, len(blocks))
        block(strip, blocks[number])
        _tell_block(done, strip)
        return number + 1

    run_all(strip_tasks(turn, strips, len(blocks)))


def run_all(tasks: list[Callable[[], None]]) -> None:
    """Run tasks, each on a thread; one alone needs none of its own."""
    if len(tasks) == 1:
        tasks[0]()
        return
    with ThreadPoolExecutor(len(tasks)) as pool:
        for task in [pool.submit(task) for task in tasks]:
            task.result()


def strip_tasks(
    turn: Callable[[NDArray[np.int64], int, int], int], strips: int, n_blocks: int
) -> list[Callable[..., None]]:
    """Return tasks that run all blocks of all strips, a task a strip.

    A task waits for those before it only, so threads that take them in their order come to an end,
    however few there are. One that is not to run any is called with `ALL_DONE`, or the next one
    would wait for ever.

    Parameters
    ----------
    turn : callable
        Given the number of blocks that each strip has done, a strip, and the number of its next
        block, it runs some blocks, each between `wait_for_block` and `tell_block`; it returns the
        number of the next one. Between turns a call can be interrupted.
    strips : int
    n_blocks : int
    """
    done = np.zeros(strips, dtype=np.int64)

    def follow(strip: int, number: int = 0) -> None:
        try:
            while number < n_blocks:
                number = turn(done, strip, number)
        finally:  # also lets the next strip end if this one failed
            done[strip] = n_blocks

    return [partial(follow, strip) for strip in range(strips)]


@register_jitable
def wait_for_block(done, strip, number, n_blocks):
    """Wait in compiled code until a strip may begin with a block.

    Awake: where there are many cores, a thread that sleeps takes longer to wake up than a block.
    """
    # it needs border rows that the strip before finishes up to `lanes` steps later
    needed = min(number + 2, n_blocks)
    while strip > 0 and simd.fetch_add(done, strip - 1, 0) < needed:
        _yield_processor()


@register_jitable
def tell_block(done, strip):
    """Tell the next strip that a block is done."""
    simd.fetch_add(done, strip, 1)


@njit(cache=True, nogil=True)
def _wait_for_block(done, strip, number, n_blocks):
    wait_for_block(done, strip, number, n_blocks)


@njit(cache=True)
def _tell_block(done, strip):
    tell_block(done, strip)
