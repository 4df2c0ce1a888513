"""All maximal scoring segments on GPUs: those of short runs, then those across the runs' ends.

A lane lists the maximal segments of its own run (`staging`). They are maximal in
the whole unless they are part of one that crosses an end of the run. Such a one is made of the few
segments that may grow beyond their run (`core.append_open`): neighbouring lists of these are merged
until one list is left. What lies in none that crosses an end is then counted and written.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import device_memset
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.dispatch import map_gpus
from gpu_tools.segments.cpu.maximal_segments import Crossing, cross
from gpu_tools.segments.gpu import maximal_kernels as kernels
from gpu_tools.segments.gpu import maximal_write_kernels as write_kernels
from gpu_tools.segments.gpu.maximal_kernels import (
    COUNT,
    CROSS_SCORE,
    CROSS_START,
    END,
    OFFSET,
    START,
    TOTAL,
)
from gpu_tools.segments.gpu.maximal_merge_kernels import FAN, merge_lists_warp
from gpu_tools.segments.gpu.staging import RUN, THREADS, TILE

VALUES_PER_ROW = 64
"""Room for open segments is reserved for so many values each; random ones need less."""
RUNS_PER_LONG = 64
"""Room for long lists is reserved for so many runs each; one in a million random ones has one."""


class Sizes(NamedTuple):
    """What a `RunPart` has room for.

    Attributes
    ----------
    opened : int
        Open segments.
    long : int
        Lists that are too long for shared memory.
    wide : bool
        Sums of 64 bits within runs.
    found : int
        Segments that a search can return without asking for more memory.
    """

    opened: int
    long: int
    wide: bool
    found: int

    @classmethod
    def usual(cls, values, found: int = 0) -> Sizes:
        """Return what all but unusual values need; 32 bits are tried where the values have 32."""
        runs = len(values) // RUN
        opened, long = len(values) // VALUES_PER_ROW + TILE, runs // RUNS_PER_LONG + THREADS
        return cls(opened, long, values.dtype != np.int32, found)


class RunPart(NamedTuple):
    """What is known of neighbouring values on one GPU, all arrays there; see `maximal_kernels`."""

    values: object
    spans: object
    sums: object
    lists: object
    rows: object
    by_tile: object
    counters: object
    deep: object
    room: object
    sizes: Sizes

    @property
    def runs(self) -> int:
        """Runs of the values, those of the last tile that hold none included."""
        return self.spans.shape[0]


def _levels(n_lists: int) -> list[tuple[int, int, int]]:
    """Return for each level of merging what `merge_lists_warp` wants to know."""
    levels, first = [], 0
    while n_lists > 1:
        levels.append((len(levels), first, first + n_lists))
        first, n_lists = first + n_lists, -(-n_lists // FAN)
    return levels


def new_part(values, sizes: Sizes | None = None) -> RunPart:
    """Reserve room on the current GPU to search an array that is there.

    Parameters
    ----------
    values : device array of int32, int64, float32 or float64
    sizes : Sizes, optional
        `Sizes.usual` by default.

    Returns
    -------
    RunPart
    """
    tiles, sizes = -(-len(values) // TILE), sizes or Sizes.usual(values)
    runs, cell = tiles * THREADS, np.int64 if sizes.wide else np.int32
    levels = _levels(runs)
    return RunPart(
        values,
        cuda.device_array((runs, kernels.SLOTS), np.uint16),
        cuda.device_array((runs, kernels.SLOTS), cell),
        cuda.device_array((levels[-1][-1] + 1, kernels.LIST_COLUMNS), np.int64),
        cuda.device_array((2, sizes.opened, 4), np.int64),
        cuda.device_array((kernels.TILE_ROWS, tiles), np.int64),
        cuda.device_array(kernels.USED + len(levels), np.int64),
        cuda.device_array((3, kernels.DEEPEST, sizes.long), cell),
        cuda.device_array(3 * sizes.found, np.int64),
        sizes,
    )


def list_part(part: RunPart, scale) -> tuple[RunPart, int]:
    """List the segments of an array on the current GPU; the last list is that of all of it.

    Returns `part`, or a new one if it lacks room, and how many segments there are if none crosses
    the ends of the array. They are in the part's room if that is large enough.
    """
    while True:
        too_large, long, found, opened = _list_once(part, scale)
        has = part.sizes
        needed = Sizes(
            max(opened, has.opened), max(long, has.long), bool(too_large) or has.wide, has.found
        )
        if needed == has:
            return part, found
        part = new_part(part.values, needed)


def _list_once(part: RunPart, scale) -> list[int]:
    """List, merge, count and write; return the first counters, on which it does not depend.

    What lacks room or is too large is left out. Then the rest serves no purpose, but that is rare,
    and the GPU never waits for the host.
    """
    values, spans, sums, lists, rows, by_tile, counters, deep, _, sizes = part
    device_memset(counters, 0, counters.nbytes)
    kernel = kernels.LIST_WIDE[values.dtype] if sizes.wide else kernels.LIST_NARROW
    shared, tiles = (lists, rows, by_tile, counters), part.runs // THREADS
    kernel[tiles, THREADS](values, scale, spans, sums, *shared, deep)
    for level in _levels(part.runs):
        n_lists = level[-1] - level[-2]
        merge_lists_warp[-(-n_lists // FAN), FAN](*shared, level)
    _count(part)
    if sizes.found:
        _write_to(part.room, part)
    return counters.copy_to_host()[: kernels.USED + 1].tolist()


def _count(part: RunPart, seed: int = 0) -> None:
    """Count the segments by run and tile; `seed`: where one from before the part ends in it."""
    tiles = part.runs // THREADS
    write_kernels.enter_block[1, write_kernels.SCAN_THREADS](part.by_tile, seed)
    write_kernels.count_runs_warp[tiles, THREADS](part.spans, part.lists, part.by_tile)
    write_kernels.offsets_block[1, write_kernels.SCAN_THREADS](part.by_tile, part.counters)


def _write_to(room, part: RunPart) -> None:
    """Write starts, ends and sums of a part's segments, if there is room."""
    tiles, arrays = part.runs // THREADS, (part.spans, part.sums, part.lists, part.by_tile)
    threads = write_kernels.WRITE_THREADS
    write_kernels.write_tile_block[tiles, threads](*arrays, part.counters, room)


def _written(part: RunPart, found: int):
    """Return starts, ends and sums of a part's segments in new memory of the current GPU."""
    room = cuda.device_array(3 * found, np.int64)
    if found:
        _write_to(room, part)
    return room.reshape(3, found)


def search(part: RunPart, scale):
    """Return starts, ends and sums in units, shape (3, k), on the current GPU.

    They lie in the part's room if that is large enough, until the next search.
    """
    part, found = list_part(part, scale)
    if 0 < found <= part.sizes.found:
        return part.room[: 3 * found].reshape(3, found)
    return _written(part, found)


def _search_host(values: NDArray, scale) -> NDArray[np.int64]:
    return search(new_part(cuda.to_device(values)), scale).copy_to_host()


def _open_rows(part: RunPart, number: int, first: int) -> tuple[NDArray[np.int64], int]:
    """Return the open segments of a part that begins at value `first`, and its sum, for `cross`."""
    top = part.lists[part.lists.shape[0] - 1 :].copy_to_host()[0]
    begin, end = top[OFFSET], top[OFFSET] + top[COUNT]
    rows = part.rows[len(_levels(part.runs)) % 2][begin:end].copy_to_host()
    rows[:, [START, END]] += first
    return np.column_stack((np.full(top[COUNT], number), rows)), top[TOTAL]


def _enter(part: RunPart, first: int, crossing: Crossing) -> int:
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
    if len(bounds) > 1:
        return tuple(_in_parts(values, scale, ordinals[: len(bounds)], bounds))
    (found,) = map_gpus(ordinals[:1], partial(_search_host, values), [scale])
    return tuple(found)


def _in_parts(values: NDArray, scale, ordinals, bounds: list[tuple[int, int]]) -> NDArray[np.int64]:
    """Return the segments of values of which each GPU has a part, shape (3, k)."""

    def list_share(number: int, share: tuple[int, int]):
        part, _ = list_part(new_part(cuda.to_device(values[slice(*share)])), scale)
        return part, *_open_rows(part, number, share[0])

    listed = map_gpus(ordinals, list_share, range(len(bounds)), bounds)
    parts, opened, totals = zip(*listed, strict=True)
    crossing = cross(np.concatenate(opened), np.array(totals), 0)

    def write_share(share: tuple[int, int], part: RunPart) -> NDArray[np.int64]:
        _count(part, _enter(part, share[0], crossing))
        found = _written(part, int(part.counters[kernels.FOUND])).copy_to_host()
        found[[START, END]] += share[0]
        return found

    return np.concatenate(map_gpus(ordinals, write_share, bounds, parts), axis=1)
