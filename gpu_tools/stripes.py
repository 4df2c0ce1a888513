"""Stripes of a sweep that follow each other on several threads, a block of steps behind."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Semaphore


def blocks_of(n_steps: int, size: int) -> list[tuple[int, int]]:
    """Cut steps into blocks of `size`, as (first, past the last)."""
    return [(first, min(first + size, n_steps)) for first in range(0, n_steps, size)]


def run_stripes(
    block: Callable[[int, tuple[int, int]], None], stripes: int, blocks: list[tuple[int, int]]
) -> None:
    """Run all blocks of all stripes, each stripe on a thread, behind the one before it.

    Parameters
    ----------
    block : callable
        Runs one block of one stripe.
    stripes : int
    blocks : list of (int, int)
        Steps of each block, in order.
    """
    if stripes == 1:
        for steps in blocks:
            block(0, steps)
        return
    # a stripe's block needs border rows that the stripe before finishes up to `lanes` steps later:
    # it waits for one block more, and each stripe gives one more signal at its end
    finished = [Semaphore(0) for _ in range(stripes)]

    def follow(stripe: int) -> None:
        try:
            for number, steps in enumerate(blocks):
                for _ in range((2 if number == 0 else 1) if stripe else 0):
                    finished[stripe - 1].acquire()
                block(stripe, steps)
                finished[stripe].release()
        finally:  # also lets the next stripe end if this one failed
            finished[stripe].release(len(blocks) + 1)

    with ThreadPoolExecutor(stripes) as pool:
        list(pool.map(follow, range(stripes)))
