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

from gpu_tools.cuda_kept import KEPT
from gpu_tools.segments import maximal_kernels as kernels
from gpu_tools.segments import maximal_write_kernels as write_kernels
from gpu_tools.segments.maximal_cpu import Crossing, cross
from gpu_tools.segments.maximal_kernels import (
    COUNT,
    CROSS_SCORE,
    CROSS_START,
    END,
    FAN,
    OFFSET,
    START,
    TOTAL,
)
from gpu_tools.segments.staging import RUN, THREADS, TILE

VALUES_PER_ROW = 64
"""Room for open segments is reserved for so many values each; random ones need less."""
DEEP_TILES = 4096
"""Tiles whose lists are too long for shared memory that are listed at a time, in 0.4 GB."""


class Part(NamedTuple):
    """What is known of neighbouring values on one GPU, all arrays there; see `maximal_kernels`."""

    values: object
    spans: object
    sums: object
    lists: object
    rows: object
    by_tile: object
    counters: object
    room: object

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


def new_part(values, capacity: int | None = None, room: int = 0) -> Part:
    """Reserve room on the current GPU to search an array that is there.

    Parameters
    ----------
    values : device array of int32, int64, float32 or float64
    capacity : int, optional
        Open segments that there is room for; enough for all but unusual values by default.
    room : int
        Segments that a search may find without asking for more memory.

    Returns
    -------
    Part
    """
    tiles, narrow = -(-len(values) // TILE), values.dtype == np.int32
    runs, rows = tiles * THREADS, capacity or len(values) // VALUES_PER_ROW + TILE
    levels = _levels(runs)
    _, _, first, made = levels[-1]
    return Part(
        values,
        cuda.device_array((runs, kernels.SLOTS), np.uint16),
        cuda.device_array((runs, kernels.SLOTS), np.int32 if narrow else np.int64),
        cuda.device_array((first + made, kernels.LIST_COLUMNS), np.int64),
        cuda.device_array((2, rows, 4), np.int64),
        cuda.device_array((kernels.TILE_ROWS, tiles), np.int64),
        cuda.device_array(kernels.USED + 1 + len(levels), np.int64),
        cuda.device_array(3 * room, np.int64),
    )


def list_part(part: Part, scale) -> tuple[Part, int]:
    """List the segments of an array on the current GPU; the last list is that of all of it.

    Returns `part`, or a new one if it lacks room, and how many segments there are if none crosses
    the ends of the array.
    """
    dtype = part.values.dtype
    pair = kernels.LIST_NARROW if dtype == np.int32 else kernels.LIST_WIDE[dtype]
    while True:
        too_large, _, found, used = _list_once(part, scale, pair)
        if not too_large and used <= part.rows.shape[1]:
            return part, found
        if too_large:
            pair = kernels.LIST_WIDE[dtype]
        else:
            part = new_part(part.values, used, part.room.size // 3)
        if pair is not kernels.LIST_NARROW:
            part = part._replace(sums=cuda.device_array(part.sums.shape, np.int64))


def _list_once(part: Part, scale, pair) -> list[int]:
    """List, merge and count.

    Return whether a value was too large, whether a list was too long for shared memory, how many
    segments there are, and the rows of all runs. Nothing is merged if a value was too large.
    """
    _, _, _, lists, rows, by_tile, counters, _ = part
    counters.copy_to_device(np.zeros(counters.shape, np.int64))
    _list_runs(pair[0], part.runs // THREADS, part, scale, rows, counters)
    too_large, too_deep = counters[: kernels.FOUND].copy_to_host()
    if too_deep and not too_large:
        _list_deep(part, scale, pair[1])
    if not too_large:
        for level in _levels(part.runs):
            blocks = -(-level[-1] // THREADS)
            kernels.merge_lists_thread[blocks, THREADS](lists, rows, by_tile, counters, level)
        _count(part)
    return counters.copy_to_host()[: kernels.USED + 1].tolist()


def _list_runs(kernel, blocks: int, part: Part, scale, deep, chosen) -> None:
    values, spans, sums, lists, rows, by_tile, counters, _ = part
    shared = (lists, rows, by_tile, counters)
    kernel[blocks, THREADS](values, scale, spans, sums, *shared, deep, chosen)


def _list_deep(part: Part, scale, kernel) -> None:
    """List the runs of those tiles again whose lists did not fit into shared memory."""
    tiles = np.flatnonzero(part.by_tile[kernels.DEEP].copy_to_host())
    for first in range(0, len(tiles), DEEP_TILES):
        chosen = tiles[first : first + DEEP_TILES]
        room = (3, kernels.DEEPEST, len(chosen) * THREADS)
        deep = cuda.device_array(room, part.sums.dtype)
        _list_runs(kernel, len(chosen), part, scale, deep, cuda.to_device(chosen))


def _count(part: Part, seed: int = 0) -> None:
    """Count the segments by run and tile; `seed`: where one from before the part ends in it."""
    _, spans, _, lists, _, by_tile, counters, _ = part
    write_kernels.enter_block[1, write_kernels.SCAN_THREADS](by_tile, seed)
    write_kernels.count_runs_warp[part.runs // THREADS, THREADS](spans, lists, by_tile)
    write_kernels.offsets_block[1, write_kernels.SCAN_THREADS](by_tile, counters)


def _write(part: Part, found: int):
    """Return starts, ends and sums of a part's segments, shape (3, found), on the current GPU."""
    _, spans, sums, lists, _, by_tile, _, room = part
    fits = 0 < 3 * found <= room.size
    result = (
        room[: 3 * found].reshape(3, found) if fits else cuda.device_array((3, found), np.int64)
    )
    if found:
        blocks = part.runs // THREADS
        write_kernels.write_tile_warp[blocks, THREADS](spans, sums, lists, by_tile, result)
    return result


def search(part: Part, scale):
    """Return starts, ends and sums in units, shape (3, k), on the current GPU.

    They lie in the part's room if that is large enough, until the next search.
    """
    return _write(*list_part(part, scale))


def _search_host(values: NDArray, scale) -> NDArray[np.int64]:
    return search(new_part(cuda.to_device(values)), scale).copy_to_host()


def _open_rows(part: Part, number: int, first: int) -> tuple[NDArray[np.int64], int]:
    """Return the open segments of a part that begins at value `first`, and its sum, for `cross`."""
    top = part.lists[part.lists.shape[0] - 1 :].copy_to_host()[0]
    begin, end = top[OFFSET], top[OFFSET] + top[COUNT]
    rows = part.rows[len(_levels(part.runs)) % 2][begin:end].copy_to_host()
    rows[:, [START, END]] += first
    return np.column_stack((np.full(top[COUNT], number), rows)), top[TOTAL]


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
    if len(ordinals) == 1:
        (found,) = KEPT.map_gpus(ordinals, lambda _: _search_host(values, scale), ordinals)
        return tuple(found)
    shares = [len(values) * k // len(ordinals) for k in range(len(ordinals) + 1)]
    bounds = list(pairwise(sorted(set(shares))))  # no part is empty
    ordinals = ordinals[: len(bounds)]

    def list_share(number: int, share: tuple[int, int]):
        part, _ = list_part(new_part(cuda.to_device(values[slice(*share)])), scale)
        return part, *_open_rows(part, number, share[0])

    listed = KEPT.map_gpus(ordinals, list_share, range(len(bounds)), bounds)
    parts, opened, totals = zip(*listed, strict=True)
    crossing = cross(np.concatenate(opened), np.array(totals), 0)

    def write_share(share: tuple[int, int], part: Part) -> NDArray[np.int64]:
        _count(part, _enter(part, share[0], crossing))
        found = _write(part, int(part.counters[kernels.FOUND])).copy_to_host()
        found[[START, END]] += share[0]
        return found

    return tuple(np.concatenate(KEPT.map_gpus(ordinals, write_share, bounds, parts), axis=1))
