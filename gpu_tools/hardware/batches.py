"""Cases in batches that take much the same time, and dealt out to GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

import gpu_tools.hardware.compile_cache  # noqa: F401  (processes do not hinder each other)

T = TypeVar("T")
_DIGITS = 7
_OF_ONE = 1022 << (_DIGITS - 1)
_CLASSES = 66 << (_DIGITS - 1)


def even_batches(cells: Sequence[int], n_batches: int) -> list[slice]:
    """Split cases, in their order, so that the largest batch is as small as it can be.

    Parameters
    ----------
    cells : sequence of int
        Nominal cells of each case, not negative: the estimate of its work.
    n_batches : int
        Batches to make; at least one, at most one for each case.

    Returns
    -------
    list of slice
        `n_batches` slices that follow each other and cover all cases, none of them empty. Of all
        such splits with the smallest largest sum, the one whose earlier batches hold the most.

    Raises
    ------
    ValueError
        If there are more batches than cases, or none.
    """
    if not 1 <= n_batches <= len(cells):
        raise ValueError(f"{len(cells)} cases cannot make {n_batches} batches without an empty one")
    low, high = max(cells), sum(cells)
    while low < high:
        middle = (low + high) // 2
        if len(_filled(cells, middle, 1)) <= n_batches:
            high = middle
        else:
            low = middle + 1
    return _filled(cells, low, n_batches)


def _filled(cells: Sequence[int], limit: int, n_batches: int) -> list[slice]:
    """Fill one batch after another up to a limit, but keep a case for each batch to come."""
    batches, start, total = [], 0, 0
    for case, size in enumerate(cells):
        to_come = n_batches - len(batches) - 1
        if case > start and (total + size > limit or len(cells) - case <= to_come):
            batches.append(slice(start, case))
            start, total = case, 0
        total += size
    return [*batches, slice(start, len(cells))]


def dealt(cells: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    """Deal cases out to GPUs, the largest first, each to the one with the least work.

    Returned are the cases of each GPU, in that order. Numbers of cells with the same first seven
    binary digits count as equal here, and equal ones go as they come.
    """
    order, gpus = np.empty(len(cells), dtype=np.int64), np.empty(len(cells), dtype=np.int64)
    _deal_out(cells, count, order, gpus)
    return [order[gpus == gpu] for gpu in range(count)]


def shares(cells: list[int], count: int) -> list[list[int]]:
    """Return the same as `dealt`, as lists."""
    return [own.tolist() for own in dealt(np.array(cells, dtype=np.int64), count)]


@njit(cache=True, nogil=True)
def _deal_out(cells, count, order, gpus):
    deal_out(cells, count, order, gpus)


@register_jitable
def deal_out(cells, count, order, gpus):
    """Write the order of cases, and which GPU takes each case of that; see `dealt`."""
    put_in_order(cells, order)
    loads = np.zeros(count, dtype=np.int64)
    for k in range(len(order)):
        gpu = 0
        for other in range(1, count):
            if loads[other] < loads[gpu]:
                gpu = other
        gpus[k] = gpu
        loads[gpu] += cells[order[k]]


@njit(cache=True, nogil=True)
def largest_first(numbers):
    """Return the order of numbers, see `dealt`."""
    order = np.empty(len(numbers), dtype=np.int64)
    put_in_order(numbers, order)
    return order


@register_jitable
def put_in_order(numbers, order):
    """Write the order of numbers, see `dealt`; counting takes a tenth of the time of a sort."""
    past = np.zeros(_CLASSES + 1, dtype=np.int64)
    for number in numbers:
        past[_class_of(number) + 1] += 1
    for k in range(_CLASSES):
        past[k + 1] += past[k]
    for k in range(len(numbers)):
        own = _class_of(numbers[k])
        order[past[own]] = k
        past[own] += 1


@register_jitable
def _class_of(number):
    """Return how many classes of equals have larger numbers."""
    # the exponent and the digits behind the first one, as a floating-point number has them
    digits = np.float64(number).view(np.int64) >> (53 - _DIGITS)
    return _CLASSES - 1 - max(digits - _OF_ONE, 0)


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
