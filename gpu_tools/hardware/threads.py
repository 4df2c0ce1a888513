"""Work shared among threads, groups within a limit, prefetch, and progress within a case.

Nothing here is compiled, so that commands which compile nothing start sooner.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from operator import length_hint
from threading import Event, Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Item, Result = TypeVar("Item"), TypeVar("Result")


def map_on_threads(
    threads: int, function: Callable[..., Result], *iterables: Iterable
) -> list[Result]:
    """Call a function with each item, on several threads, and return the results in order.

    Iterators make an item when a thread takes it.
    """
    threads = min(threads, *(length_hint(one, threads) for one in iterables))
    calls, results = enumerate(zip(*iterables, strict=True)), {}
    taking, ended = Lock(), Event()

    # the threads take items themselves: a future for each item takes longer than many a call
    def work() -> None:
        try:
            while not ended.is_set():
                with taking:
                    call = next(calls, None)
                if call is None:
                    break
                results[call[0]] = function(*call[1])
        finally:  # if this call failed, no other one begins
            ended.set()

    if threads <= 1:
        work()
    else:
        with ThreadPoolExecutor(threads, "gpu-tools") as pool:
            running = [pool.submit(work) for _ in range(threads)]
            try:
                for future in running:
                    future.result()
            finally:
                ended.set()
    return [results[number] for number in range(len(results))]


def within_limit(
    items: Iterable[Item], size_of: Callable[[Item], int], limit: float
) -> Iterator[list[Item]]:
    """Group items in their order; a group of several items is not larger than the limit."""
    batch, used = [], 0
    for item in items:
        size = size_of(item)
        if batch and used + size > limit:
            yield batch
            batch, used = [], 0
        batch.append(item)
        used += size
    if batch:
        yield batch


# Prefetch: a thread makes the next items while the caller works on the present one.


def prefetch(made: Iterator[Item], count: int) -> Iterator[Item]:
    """Have a thread make up to `count` items in advance; it begins at once."""
    maker = ThreadPoolExecutor(1, "prefetch")
    waiting = deque(maker.submit(next, made, None) for _ in range(count))
    return _taken(maker, waiting, made)


def _taken(maker: ThreadPoolExecutor, waiting: deque[Future], made) -> Iterator:
    try:
        while (item := waiting.popleft().result()) is not None:
            waiting.append(maker.submit(next, made, None))
            yield item
    finally:
        maker.shutdown(cancel_futures=True)


# Progress within a case: cells that threads and compiled functions have done so far.


CELLS_PER_REPORT = 1 << 28
"""Progress is reported after so many cells of a case: some tenths of a second of one core."""
SECONDS_PER_LOOK = 0.5
"""How often the counter of a compiled function is read."""


class CaseProgress:
    """Reports how many cells of a case are done; threads may share it.

    `done` is called with the cells since its last call, about `least` of them or more; `cells` are
    the nominal ones of the case, the sum of what is reported.
    """

    def __init__(self, cells: int, done: Callable[[int], None], least: int = CELLS_PER_REPORT):
        self.left, self.done, self.new, self.least, self.lock = cells, done, 0, least, Lock()

    def add(self, cells: int) -> None:
        """Count cells of a sweep."""
        with self.lock:
            self.new += cells
            if self.new >= self.least:
                self._report(self.new)

    def finish(self) -> None:
        """Report all cells that are left: the case is done."""
        with self.lock:
            self._report(self.left)

    def _report(self, cells: int) -> None:
        cells = min(cells, self.left)
        self.left, self.new = self.left - cells, 0
        if cells:
            self.done(cells)


def watched(call: Callable[[NDArray[np.int64]], Result], done: Callable[[int], None]) -> Result:
    """Call a function that takes long, and report what it counts while it works."""
    counter, seen = np.zeros(1, dtype=np.int64), 0
    with ThreadPoolExecutor(1, "gpu-tools") as pool:
        working = pool.submit(call, counter)
        while not working.done():
            try:
                working.exception(SECONDS_PER_LOOK)
            except TimeoutError:
                now = int(counter[0])
                done(now - seen)
                seen = now
        return working.result()


def blocks_of(n_steps: int, size: int) -> list[tuple[int, int]]:
    """Cut steps into blocks of `size`, as (first, past the last)."""
    return [(first, min(first + size, n_steps)) for first in range(0, n_steps, size)]
