"""The same work on several GPUs at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from numba import cuda

from gpu_tools.device import simulated


def on_each(ordinals: tuple[int, ...], work: Callable, *arguments: Iterable) -> list:
    """Call `work` with each GPU as the current one, and its own arguments; return the results.

    Parameters
    ----------
    ordinals : tuple of int
        GPUs; one that is named twice does the work twice.
    work : callable
    *arguments : iterable
        As for `map`: of each one element a call.

    Returns
    -------
    list
        In the order of `ordinals`.
    """

    def bound(ordinal: int, *own):
        with cuda.gpus[ordinal]:
            return work(*own)

    if len(ordinals) == 1:
        return list(map(bound, ordinals, *arguments))
    # the simulator runs one kernel at a time
    with ThreadPoolExecutor(1 if simulated() else len(ordinals)) as pool:
        return list(pool.map(bound, ordinals, *arguments))
