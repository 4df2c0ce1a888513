"""Threads of a CPU: the one place where work is shared among them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


def map_on_threads(
    threads: int, function: Callable[..., Result], *iterables: Iterable
) -> list[Result]:
    """Call a function with each item, on several threads, and return the results in order.

    Parameters
    ----------
    threads : int
        Threads that work at the same time. With one, the calling thread does the work.
    function : callable
        Compiled functions that release Python's lock run side by side.
    *iterables : iterable
        As for `map`; of equal length.

    Returns
    -------
    list
        The results in the order of the items. What a call raises is raised here.
    """
    calls = list(zip(*iterables, strict=True))
    threads = min(threads, len(calls))
    if threads <= 1:
        return [function(*arguments) for arguments in calls]
    # the threads take items themselves: a future for each item takes longer than many a call
    left, results = iter(range(len(calls))), [None] * len(calls)

    def work() -> None:
        try:
            for k in left:
                results[k] = function(*calls[k])
        finally:  # if this call failed, no other one begins
            _drop(left)

    with ThreadPoolExecutor(threads, "gpu-tools") as pool:
        running = [pool.submit(work) for _ in range(threads)]
        try:
            for future in running:
                future.result()
        finally:
            _drop(left)
    return results


def _drop(items: Iterator) -> None:
    """Take all items that are left."""
    deque(items, maxlen=0)
