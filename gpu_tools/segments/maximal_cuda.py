"""All maximal scoring segments on GPUs: those of short runs, then those across the runs' ends.

A lane lists the maximal segments of its own run (`gpu_tools.segments.staging`). They are maximal in
the whole unless they are part of one that crosses an end of the run. Such a one is made of the few
segments that may grow beyond their run (`core.append_open`): neighbouring lists of these are
merged, a thread a group, until one list is left. What lies in none that crosses an end is then
counted and written.
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
from gpu_tools.segments.maximal_kernels import (
    COUNT,
    CROSS_SCORE,
    CROSS_START,
    END,
    FAN,
    HIGH,
    LOW,
    OFFSET,
    START,
    TOTAL,
)
from gpu_tools.segments.staging import RUN, THREADS, TILE

MERGE_THREADS = 2 if simulated() else 8
"""Few a block: threads that merge do not stay together, those of a warp would wait in turn."""
VALUES_PER_ROW = 64
"""Room for open segments is reserved for so many values each; random ones need less."""


class Part(NamedTuple):
    """What is known of neighbouring values on one GPU, all arrays there; see `maximal_kernels`."""

    values: object
    spans: object
    sums: object
    lists: object
    rows: object
    by_tile: object

    @property
    def runs(self) -> int:
        """Runs of the values, those of the last tile that hold none included."""
        return self.spans.shape[0]


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
    tiles, narrow = -(-len(values) // TILE), values.dtype == np.int32
    runs, rows = tiles * THREADS, capacity or len(values) // VALUES_PER_ROW + TILE
    _, _, first, made = (_levels(runs) or [(0, 0, 0, runs)])[-1]
    return Part(
        values,
        cuda.device_array((runs, kernels.SLOTS), np.uint16),
        cuda.device_array((runs, kernels.SLOTS), np.int32 if narrow else np.int64),
        cuda.device_array((first + made, kernels.LIST_COLUMNS), np.int64),
        cuda.device_array((2, 4, rows), np.int64),
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
        if not too_large and not too_deep and used <= part.rows.shape[2]:
            return part
        if used > part.rows.shape[2]:
            part = new_part(part.values, used)
        if too_large or too_deep:
            kernel = kernels.LIST_DEEP[dtype] if too_deep else kernels.LIST_WIDE[dtype]
            part = part._replace(sums=cuda.device_array(part.sums.shape, np.int64))


def _list_once(part: Part, scale, kernel) -> tuple[bool, bool, int]:
    """List and merge.

    Return whether a value was too large, whether a list was too long, and the rows of all runs.
    """
    values, spans, sums, lists, rows, by_tile = part
    levels, deep = _levels(part.runs), rows
    if kernel is kernels.LIST_DEEP[values.dtype]:
        deep = cuda.device_array((3, kernels.DEEPEST, part.runs), np.int64)
    counters = cuda.to_device(np.zeros(len(levels) + kernels.USED + 1, np.int64))
    shared = (lists, rows, by_tile, counters)
    kernel[part.runs // THREADS, THREADS](values, scale, spans, sums, *shared, deep)
    for level in levels:
        blocks = -(-level[-1] // MERGE_THREADS)
        kernels.merge_lists_thread[blocks, MERGE_THREADS](*shared, level)
    too_large, too_deep, used = counters.copy_to_host()[: kernels.USED + 1].tolist()
    return bool(too_large), bool(too_deep), used


def write_part(part: Part, seed: int = 0):
    """Return starts, ends and sums of a part's segments, shape (3, k), on the current GPU.

    Parameters
    ----------
    part : Part
    seed : int
        Where a segment from before the part ends in it, 0 without one.
    """
    _, spans, sums, lists, _, by_tile = part
    tiles = part.runs // THREADS
    write_kernels.enter_block[1, write_kernels.SCAN_THREADS](by_tile, seed)
    write_kernels.count_runs_warp[tiles, THREADS](spans, lists, by_tile)
    write_kernels.offsets_block[1, write_kernels.SCAN_THREADS](by_tile)
    result = cuda.device_array((3, int(by_tile[kernels.OFFSETS, tiles])), np.int64)
    if result.size:
        write_kernels.write_tile_warp[tiles, THREADS](spans, sums, lists, by_tile, result)
    return result


def search(part: Part, scale):
    """Return starts, ends and sums in units, shape (3, k), on the current GPU."""
    return write_part(list_part(part, scale))


def _open_rows(part: Part, number: int, first: int) -> tuple[NDArray[np.int64], int]:
    """Return the open segments of a part that begins at value `first`, and its sum, for `cross`."""
    top = part.lists[part.lists.shape[0] - 1 :].copy_to_host()[0]
    begin, end = top[OFFSET], top[OFFSET] + top[COUNT]
    columns = part.rows[len(_levels(part.runs)) % 2]
    rows = np.array([columns[k, begin:end].copy_to_host() for k in (START, END, LOW, HIGH)])
    rows[[START, END]] += first
    return np.column_stack((np.full(top[COUNT], number), rows.T)), top[TOTAL]


def _enter(part: Part, first: int, crossing: Crossing) -> int:
    """Tell a part of the segment that leaves it, and return where one ends in it that enters."""
    last = first + len(part.values)
    for start, end, score in zip(*crossing, strict=True):
        if first <= start < last < end:
            row = np.array([start - first, end - first, score])
            run = int(start - first) // RUN
            part.lists[run, CROSS_START : CROSS_SCORE + 1].copy_to_device(row)
            tile = run // THREADS
            part.by_tile[kernels.FARTHEST, tile : tile + 1].copy_to_device(row[1:2])
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
        found = write_part(part, _enter(part, share[0], crossing)).copy_to_host()
        found[[START, END]] += share[0]
        return found

    return tuple(np.concatenate(on_each(ordinals, write_share, bounds, parts), axis=1))
