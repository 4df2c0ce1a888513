"""Threads of a CPU: the one place where work is shared among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    if min(threads, len(calls)) <= 1:
        return [function(*arguments) for arguments in calls]
    with ThreadPoolExecutor(min(threads, len(calls)), "gpu-tools") as pool:
        running = [pool.submit(function, *arguments) for arguments in calls]
        try:
            return [future.result() for future in running]
        finally:
            pool.shutdown(cancel_futures=True)
