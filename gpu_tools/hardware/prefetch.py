"""Prefetch: a thread makes the next items while the present one is worked on."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def prefetch(made: Iterator[Item], count: int) -> Iterator[Item]:
    """Have a thread make items before they are asked for; it begins at once.

    Parameters
    ----------
    made : iterator
        Its items are not None.
    count : int
        So many are made, or being made, that have not been asked for.

    Returns
    -------
    iterator
        The same items. What `made` raises is raised where its item is asked for.
    """
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
