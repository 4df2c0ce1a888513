"""Interrupts that wait while compiled code is loaded, which calls Python back and loses them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Let an interrupt that arrives within the block take effect at the block's end."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread
        return
    arrived: list[int] = []
    handlers = {number: signal.getsignal(number) for number in _INTERRUPTS}
    for number, handler in handlers.items():
        if handler is not None:  # None is a handler that Python cannot put back
            signal.signal(number, lambda number, frame: arrived.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            if handler is not None:
                signal.signal(number, handler)
        if arrived:
            signal.raise_signal(arrived[0])
