"""Times of repeated calls, by the clock of the host and by events of a GPU."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from functools import cache

from gpu_tools.hardware.device import simulated


def call_seconds(
    function: Callable[[], object], repeats: int = 5, warm: bool = True
) -> list[float]:
    """Return the times of `repeats` calls, after one that is not counted if `warm` says so.

    What a call returns is released after its time was taken. On the simulator, where times mean
    nothing, one call is enough.
    """
    if warm:
        function()
    times = []
    for _ in range(1 if simulated() else repeats):
        begin = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - begin)
        del result
    return times


def processor_time() -> float:
    """Return the processor's seconds of this process and of those that it made."""
    return sum(os.times()[:4])


def median_seconds(function: Callable[[], object], repeats: int = 5) -> float:
    """Return the median time of some calls, see `call_seconds`."""
    return statistics.median(call_seconds(function, repeats))


def median_ms(function: Callable[[], object], repeats: int = 5) -> float:
    """Return the same in milliseconds, to a tenth of a microsecond."""
    return round(1e3 * median_seconds(function, repeats), 4)


def spread_ms(seconds: list[float]) -> dict[str, float]:
    """Return mean and standard deviation of some times in milliseconds."""
    times = [1e3 * each for each in seconds]
    deviation = statistics.stdev(times) if len(times) > 1 else 0.0
    return {"mean_ms": round(statistics.mean(times), 4), "sd_ms": round(deviation, 4)}


def kernel_ms(start: Callable[[], object], repeats: int = 5, **options) -> float:
    """Return the median of `kernel_seconds` in milliseconds, to a tenth of a microsecond."""
    return round(1e3 * statistics.median(kernel_seconds(start, repeats, **options)), 4)


def kernel_seconds(
    start: Callable[[], object],
    repeats: int = 5,
    before: Callable[[], object] | None = None,
    stream=0,
) -> list[float]:
    """Return the times that a GPU spends on what a function starts.

    Data are on the GPU already. A kernel that sleeps keeps the GPU busy until all is started, so
    that no launch waits for the host. On the simulator, where work is done when it is started, the
    host's clock is read, and once.

    A first call of `start` is not counted. `before` is called before each start, and not timed.
    """
    from numba import cuda

    prepare = before or (lambda: None)
    prepare()
    start()
    cuda.synchronize()
    if simulated():
        prepare()
        begin = time.perf_counter()
        start()
        return [time.perf_counter() - begin]
    _sleep_thread()[1, 1, stream]()
    pairs = []
    for _ in range(repeats):
        prepare()
        begin, end = cuda.event(), cuda.event()
        begin.record(stream)
        start()
        end.record(stream)
        pairs.append((begin, end))
    cuda.synchronize()
    return [begin.elapsed_time(end) / 1e3 for begin, end in pairs]


@cache
def _sleep_thread():
    from numba import cuda

    @cuda.jit
    def sleep_thread():
        for _ in range(10):
            cuda.nanosleep(1_000_000)

    return sleep_thread
