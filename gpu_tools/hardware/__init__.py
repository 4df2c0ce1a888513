"""The machine: which device does the work, one job a GPU, compiled code kept on disk, prefetch.

Here is what is told when a function has to be compiled: it needs no module that takes long to load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[], None]] = []


@contextmanager
def once_compiling(listener: Callable[[], None]) -> Iterator[None]:
    """Have `listener` called within the block when code is missing from the compile cache, once.

    Within a block in the block only the inner one's listener is called.
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.pop()


def about_to_compile() -> None:
    """Call the innermost listener, unless it has been called."""
    if _listeners:
        listener, _listeners[-1] = _listeners[-1], _ignore
        listener()


def _ignore() -> None:
    pass
