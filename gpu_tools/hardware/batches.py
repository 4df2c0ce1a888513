"""Groups within a limit, and shares of several GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit

T = TypeVar("T")


def assigned(cells: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    """Assign cases to GPUs, the largest first, each to the GPU with the least work so far.

    Parameters
    ----------
    cells : ndarray of int64, shape (C,)
        Nominal cells of each case.
    count : int
        GPUs.

    Returns
    -------
    list of ndarray of int64
        The cases of each GPU, the largest first; equal ones in their order.
    """
    order = np.argsort(-cells, kind="stable")
    gpus = _least_loaded(cells[order], count)
    return [order[gpus == gpu] for gpu in range(count)]


@njit(cache=True, nogil=True)
def _least_loaded(cells, count):
    """Return the GPU that takes each case."""
    loads, gpus = np.zeros(count, dtype=np.int64), np.empty(len(cells), dtype=np.int64)
    for k in range(len(cells)):
        gpus[k] = np.argmin(loads)
        loads[gpus[k]] += cells[k]
    return gpus


def shares(cells: list[int], count: int) -> list[list[int]]:
    """Return the same as `assigned`, as lists."""
    return [own.tolist() for own in assigned(np.array(cells, dtype=np.int64), count)]


def within_limit(
    items: Iterable[T], size_of: Callable[[T], int], limit: float
) -> Iterator[list[T]]:
    """Group what comes in, in its order, so that no group of several is larger than the limit."""
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
