"""Work shared among processes: Python does one thing at a time in each, whatever its threads."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
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
    from concurrent.futures.process import BrokenProcessPool  # see `process_pool`

    with process_pool(processes, "fork", _inherit, function) as pool:
        try:
            yield from pool.map(_call, items)
        except BrokenProcessPool:
            problem = "a process of this command was killed, as systems do when memory is short"
            raise DeviceError(problem) from None


@contextmanager
def process_pool(processes: int, method: str, begin: Callable, *arguments) -> Iterator:
    """Lend a pool whose processes begin with a call; an error or an interrupt ends them at once."""
    # they take 20 ms to load, and many commands need none
    from concurrent.futures.process import ProcessPoolExecutor
    from multiprocessing import active_children, get_context

    before = {*active_children()}
    pool = ProcessPoolExecutor(processes, get_context(method), begin, arguments)
    try:
        yield pool
    except BaseException:
        for process in {*active_children()} - before:
            process.kill()  # what compiles would come to a signal late
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _inherit(function: Callable) -> None:
    """Begin a process, which the one that forked it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _inherited.append(function)


def _call(item):
    return _inherited[-1](item)
