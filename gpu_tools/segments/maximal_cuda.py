"""All maximal scoring segments on GPUs: those of short runs, then those across the runs' ends.

A lane lists the maximal segments of its own run (`gpu_tools.segments.staging`) as two bits a value,
where one starts and where one ends. They are maximal in the whole unless they are part of one that
crosses an end of the run. Such a one is made of the few segments that may grow beyond their run
(`core.append_open`): neighbouring lists of these are merged, a thread a group, until one list is
left. The bits of what lies across an end are then masked, the rest is counted and written.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.device import simulated
from gpu_tools.segments import maximal_kernels as kernels
from gpu_tools.segments import maximal_write_kernels as write_kernels
from gpu_tools.segments.gpus import on_each
from gpu_tools.segments.maximal_cpu import Crossing, cross
from gpu_tools.segments.maximal_kernels import COUNT, END, FAN, OFFSET, START, TOTAL
from gpu_tools.segments.staging import RUN, THREADS, TILE

MERGE_THREADS = 2 if simulated() else 8
"""Few a block: threads that merge do not stay together, those of a warp would wait in turn."""
VALUES_PER_ROW = 64
"""Room for open segments is reserved for so many values each; random ones need less."""


class Part(NamedTuple):
    """What is known of neighbouring values on one GPU, all arrays there; see `maximal_kernels`."""

    values: object
    words: object
    lists: object
    rows: object
    crossing: object
    by_tile: object


def _levels(n_lists: int) -> list[tuple[int, int, int, int]]:
    """Return for each level of merging what `merge_lists_thread` wants to know."""
    levels, first = [], 0
    while n_lists > 1:
        made = -(-n_lists // FAN)
        levels.append((len(levels), first, first + n_lists, made))
        first, n_lists = first + n_lists, made
    return levels


def new_part(values, capacity: int | None = None) -> Part:
    """Reserve room on the current GPU to search an array that is there.

    Parameters
    ----------
    values : device array of int32, int64, float32 or float64
    capacity : int, optional
        Open segments that there is room for; enough for all but unusual values by default.

    Returns
    -------
    Part
    """
    tiles = -(-len(values) // TILE)
    runs, rows = tiles * THREADS, capacity or len(values) // VALUES_PER_ROW + TILE
    _, _, first, made = (_levels(runs) or [(0, 0, 0, runs)])[-1]
    return Part(
        values,
        cuda.device_array((tiles, kernels.KEPT), np.uint32),
        cuda.device_array((first + made, 3), np.int64),
        cuda.device_array((2, 4, rows), np.int64),
        cuda.device_array((runs, 3), np.int64),
        cuda.device_array((4, tiles + 1), np.int64),
    )


def list_part(part: Part, scale) -> Part:
    """List the segments of an array on the current GPU; the last list is that of all of it.

    Returns `part`, or a new one if it lacks room.
    """
    dtype = part.values.dtype
    kernel = kernels.LIST_NARROW if dtype == np.int32 else kernels.LIST_WIDE[dtype]
    while True:
        too_large, too_deep, used = _list_once(part, scale, kernel)
        if too_deep:
            kernel = kernels.LIST_DEEP[dtype]
        elif too_large:
            kernel = kernels.LIST_WIDE[dtype]
        elif used > part.rows.shape[2]:
            part = new_part(part.values, used)
        else:
            return part


def _list_once(part: Part, scale, kernel) -> tuple[bool, bool, int]:
    """List and merge.

    Return whether a value was too large, whether a list was too long, and the rows of all runs.
    """
    values, words, lists, rows, crossing, by_tile = part
    levels, deep = _levels(crossing.shape[0]), rows
    if kernel is kernels.LIST_DEEP[values.dtype]:
        deep = cuda.device_array((3, kernels.SLOTS, crossing.shape[0]), np.int64)
    counters = cuda.to_device(np.zeros(len(levels) + kernels.USED + 1, np.int64))
    shared = (lists, rows, crossing, by_tile, counters)
    kernel[words.shape[0], THREADS](values, scale, words, *shared, deep)
    for level in levels:
        blocks = -(-level[-1] // MERGE_THREADS)
        kernels.merge_lists_thread[blocks, MERGE_THREADS](*shared, level)
    too_large, too_deep, used = counters.copy_to_host()[: kernels.USED + 1].tolist()
    return bool(too_large), bool(too_deep), used


def write_part(part: Part, scale, seed: int = 0):
    """Return starts, ends and sums of a part's segments, shape (3, k), on the current GPU.

    Parameters
    ----------
    part : Part
    scale : int64 or float64
    seed : int
        Where a segment from before the part ends in it, 0 without one.
    """
    values, words, lists, _, crossing, by_tile = part
    tiles = words.shape[0]
    write_kernels.enter_block[1, write_kernels.SCAN_THREADS](by_tile, seed)
    write_kernels.count_runs_warp[tiles, THREADS](words, lists, crossing, by_tile)
    write_kernels.offsets_block[1, write_kernels.SCAN_THREADS](by_tile)
    result = cuda.device_array((3, int(by_tile[kernels.OFFSETS, tiles])), np.int64)
    if result.size:
        kernel = write_kernels.WRITE[values.dtype]
        kernel[tiles, THREADS](values, scale, words, lists, crossing, by_tile, result)
    return result


def search(part: Part, scale):
    """Return starts, ends and sums in units, shape (3, k), on the current GPU."""
    return write_part(list_part(part, scale), scale)


def _open_rows(part: Part, number: int, first: int) -> tuple[NDArray[np.int64], int]:
    """Return the open segments of a part that begins at value `first`, and its sum, for `cross`."""
    top = part.lists[part.lists.shape[0] - 1 :].copy_to_host()[0]
    rows = part.rows[len(_levels(part.crossing.shape[0])) % 2].copy_to_host()
    rows = rows[:, top[OFFSET] : top[OFFSET] + top[COUNT]]
    rows[[START, END]] += first
    return np.column_stack((np.full(top[COUNT], number), rows.T)), top[TOTAL]


def _enter(part: Part, first: int, crossing: Crossing) -> int:
    """Tell a part of the segment that leaves it, and return where one ends in it that enters."""
    last = first + len(part.values)
    for start, end, score in zip(*crossing, strict=True):
        if first <= start < last < end:
            row = np.array([[start - first, end - first, score]])
            run = int(start - first) // RUN
            part.crossing[run : run + 1].copy_to_device(row)
            tile = run // THREADS
            part.by_tile[kernels.FARTHEST, tile : tile + 1].copy_to_device(row[0, 1:2])
    entering = crossing.ends[(crossing.starts < first) & (crossing.ends > first)]
    return int(entering[0]) - first if len(entering) else 0


def maximal(values: NDArray, scale, ordinals: tuple[int, ...]) -> tuple[NDArray[np.int64], ...]:
    """Return starts, ends and sums in units of all maximal scoring segments, in order.

    Parameters
    ----------
    values : array of int32, int64, float32 or float64
    scale : int64 or float64
    ordinals : tuple of int
        GPUs; each takes an equal share of the values.

    Returns
    -------
    tuple of int64 arrays
    """
    shares = [len(values) * k // len(ordinals) for k in range(len(ordinals) + 1)]
    bounds = list(pairwise(sorted(set(shares))))  # no part is empty
    ordinals = ordinals[: len(bounds)]

    def list_share(number: int, share: tuple[int, int]):
        part = list_part(new_part(cuda.to_device(values[slice(*share)])), scale)
        return part, *_open_rows(part, number, share[0])

    listed = on_each(ordinals, list_share, range(len(bounds)), bounds)
    parts, opened, totals = zip(*listed, strict=True)
    crossing = cross(np.concatenate(opened), np.array(totals), 0)

    def write_share(share: tuple[int, int], part: Part) -> NDArray[np.int64]:
        found = write_part(part, scale, _enter(part, share[0], crossing)).copy_to_host()
        found[[START, END]] += share[0]
        return found

    return tuple(np.concatenate(on_each(ordinals, write_share, bounds, parts), axis=1))
