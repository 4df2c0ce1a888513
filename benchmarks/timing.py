"""Times of repeated calls."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def median_seconds(function: Callable[[], object], repeats: int = 5) -> float:
    """Return the median time of `repeats` calls after one that is not counted.

    What a call returns is given back after its time was taken.
    """
    function()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - begin)
        del result
    return statistics.median(times)
