"""Work shared among processes: Python does one thing at a time in each, whatever its threads."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from gpu_tools.errors import DeviceError
from gpu_tools.hardware.threads import Item, Result

_inherited: list[Callable] = []
"""In a forked process, the function that it calls."""


def most_processes(threads: int) -> int:
    """Return how many processes may do the work of threads; 1 where forks are not safe."""
    return threads if sys.platform == "linux" else 1


def map_on_processes(
    processes: int, function: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[Result]:
    """Yield a function's results in order; this process takes the first item by itself.

    The others are forked then, and have what was read, loaded and compiled: items and results alone
    are sent.
    """
    items = iter(items)
    if processes <= 1:
        yield from map(function, items)
        return
    yield from map(function, islice(items, 1))
    # what takes 20 ms to load, and many commands need not
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
    from multiprocessing import active_children, get_context

    before, done = active_children(), False
    pool = ProcessPoolExecutor(processes, get_context("fork"), _inherit, (function,))
    try:
        yield from pool.map(_call, items)
        done = True
    except BrokenProcessPool:
        problem = "a process of this command was killed, as systems do when memory is short"
        raise DeviceError(problem) from None
    finally:
        if not done:  # after an error or an interrupt no work is waited for
            for process in {*active_children()} - {*before}:
                process.terminate()
        pool.shutdown(cancel_futures=True)


def _inherit(function: Callable) -> None:
    """Begin a process, which the one that forked it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _inherited.append(function)


def _call(item):
    return _inherited[-1](item)
