"""Stripes of a sweep that follow each other on several threads, a block of steps behind."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
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
    run_all(stripe_tasks(block, stripes, blocks))


def run_all(tasks: list[Callable[[], None]]) -> None:
    """Run tasks, each on a thread; one alone needs none of its own."""
    if len(tasks) == 1:
        tasks[0]()
        return
    with ThreadPoolExecutor(len(tasks)) as pool:
        for task in [pool.submit(task) for task in tasks]:
            task.result()


def stripe_tasks(
    block: Callable[[int, tuple[int, int]], None], stripes: int, blocks: list[tuple[int, int]]
) -> list[Callable[[], None]]:
    """Return what `run_stripes` runs, a task a stripe.

    A task waits for those before it only, so threads that take them in their order come to an end,
    however few there are.
    """
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

    return [partial(follow, stripe) for stripe in range(stripes)]
