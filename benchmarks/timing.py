"""Times of repeated calls, by the clock of the host and by events of a GPU."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import cache

from gpu_tools.hardware.device import simulated


def call_seconds(function: Callable[[], object], repeats: int = 5) -> list[float]:
    """Return the times of `repeats` calls after one that is not counted.

    What a call returns is released after its time was taken. On the simulator, where times mean
    nothing, one call is enough.
    """
    function()
    times = []
    for _ in range(1 if simulated() else repeats):
        begin = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - begin)
        del result
    return times


def median_seconds(function: Callable[[], object], repeats: int = 5) -> float:
    """Return the median time of some calls, see `call_seconds`."""
    return statistics.median(call_seconds(function, repeats))


def median_ms(function: Callable[[], object], repeats: int = 5) -> float:
    """Return the same in milliseconds, to a tenth of a microsecond."""
    return round(1e3 * median_seconds(function, repeats), 4)


def kernel_ms(
    start: Callable[[], object],
    repeats: int = 5,
    before: Callable[[], object] | None = None,
    stream=0,
) -> float:
    """Return the median time that a GPU spends on what a function starts, in milliseconds.

    Data are on the GPU already. A kernel that sleeps keeps the GPU busy until all is started, so
    that no launch waits for the host. On the simulator, where work is done when it is started, the
    host's clock is read, and once.

    Parameters
    ----------
    start : callable
        Starts kernels and does not wait for them. A first call is not counted.
    repeats : int
    before : callable, optional
        Called before each start, and not timed.
    stream : stream of numba, optional
        Where `start` works, the default stream by default.
    """
    from numba import cuda

    prepare = before or (lambda: None)
    prepare()
    start()
    cuda.synchronize()
    if not simulated():
        _sleep_thread()[1, 1, stream]()
    pairs = []
    for _ in range(1 if simulated() else repeats):
        prepare()
        begin, end = _event(), _event()
        begin.record(stream)
        start()
        end.record(stream)
        pairs.append((begin, end))
    cuda.synchronize()
    return round(statistics.median(begin.elapsed_time(end) for begin, end in pairs), 4)


class _HostEvent:
    """An event of the simulator, which has none with a time."""

    def record(self, stream=0) -> None:
        self.milliseconds = 1e3 * time.perf_counter()

    def elapsed_time(self, later: _HostEvent) -> float:
        return later.milliseconds - self.milliseconds


def _event():
    from numba import cuda

    return _HostEvent() if simulated() else cuda.event()


@cache
def _sleep_thread():
    from numba import cuda

    @cuda.jit
    def sleep_thread():
        for _ in range(10):
            cuda.nanosleep(1_000_000)

    return sleep_thread
