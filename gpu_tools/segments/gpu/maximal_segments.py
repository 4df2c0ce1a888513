"""All maximal scoring segments on GPUs: a thread makes Ruzzo and Tompa's list of a run of values.

The values come in batches. Threads of the host copy several to a GPU at the same time, so the GPU
lists the runs of one while others are on their way. The lists remain there. Only open segments come
back, of which the host finds those that cross an end of a run (`gpu_tools.segments.maximal`). Then
each batch's segments are written where no crossing one is, and come back as the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba.cuda.cudadrv.driver import device_memset
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.buffer_pool import BufferPool, Buffers, borrowed_pools
from gpu_tools.hardware.gpu.dispatch import map_buffers, map_gpus
from gpu_tools.segments.gpu.batches import batches_of
from gpu_tools.segments.gpu.maximal_kernels import (
    OPEN_COUNT,
    OPEN_OFFSET,
    RUN,
    SLOTS,
    THREADS,
    TOTAL,
    count_remaining_thread,
    list_runs_thread,
    write_runs_thread,
)
from gpu_tools.segments.maximal import (
    END,
    HIGH,
    LOW,
    OFFSET,
    START,
    ResultLayout,
    RunGroup,
    join,
    merge_open,
    run_bounds,
)

OPEN_PER_RUN = 2 if simulated() else 16
"""Open segments that have a place at first; random values have up to 4."""
RUN_BYTES = SLOTS * (3 * 2 + 2 * 8) + 4
"""Memory of a GPU for the lists of a run."""
MEMORY_PART = 2
"""The part of a GPU's free memory that the lists may take."""


class Part(NamedTuple):
    """Neighbouring values whose lists are on a GPU at the same time.

    Attributes
    ----------
    values : ndarray
        On the host.
    first : int
        Position of the first one.
    scale : int64 or float64
    pool : BufferPool
    streams : tuple of Buffers
        Those of the pool that are used.
    """

    values: NDArray
    first: int
    scale: np.int64 | np.float64
    pool: BufferPool
    streams: tuple[Buffers, ...]

    @property
    def runs(self) -> int:
        """How many runs the values have."""
        return _runs(self.values)

    def lists(self) -> tuple:
        """Return lists, sums and counts on the GPU; see `maximal_kernels`."""
        runs, array = self.runs, self.pool.resident.array
        lists = array("segments, lists", 3 * SLOTS * runs, np.int16)[: 3 * SLOTS * runs]
        sums = array("segments, sums", 2 * SLOTS * runs, np.int64)[: 2 * SLOTS * runs]
        counts = array("segments, counts", runs, np.int32)[:runs]
        return lists.reshape(3, SLOTS, runs), sums.reshape(2, SLOTS, runs), counts


def _runs(values: NDArray) -> int:
    return -(-len(values) // RUN)


def _blocks(runs: int) -> int:
    return -(-runs // THREADS)


@njit(cache=True, nogil=True)
def _in_order(rows, by_run, first):
    """Return the rows of open segments, those of the first run first, and the sum of all runs.

    Positions count from value 0, sums from the start of the first run, at value `first`.
    """
    ordered, found, before = np.empty_like(rows), 0, np.int64(0)
    for run in range(len(by_run)):
        begin = by_run[run, OPEN_OFFSET]
        for k in range(begin, begin + by_run[run, OPEN_COUNT]):
            ordered[found, START] = first + run * RUN + rows[k, START]
            ordered[found, END] = first + run * RUN + rows[k, END]
            ordered[found, LOW] = before + rows[k, LOW]
            ordered[found, HIGH] = before + rows[k, HIGH]
            found += 1
        before += by_run[run, TOTAL]
    return ordered, before


@njit(cache=True, nogil=True)
def _unpack(found, first, starts, ends, sums):
    """Fill columns with what `write_runs_thread` found of runs that begin at value `first`."""
    count = len(starts)
    for k in range(count):
        starts[k] = first + (found[k] & 0xFFFFFFFF)
        ends[k] = first + (found[k] >> 32)
        sums[k] = found[count + k]


def list_part(part: Part) -> list[RunGroup]:
    """List the runs of a part, batch by batch; the lists remain on the current GPU."""
    work = partial(_list_batch, part, part.lists())
    return map_buffers(part.streams, work, batches_of(part.values, RUN))


def _list_batch(part: Part, lists: tuple, buffers: Buffers, batch: tuple[int, int]) -> RunGroup:
    first, runs = batch[0] * RUN, batch[1] - batch[0]
    values = buffers.staged("values", part.values[first : batch[1] * RUN])
    rows = buffers.array("rows", OPEN_PER_RUN * runs, np.int64, 4)
    by_run = _list_runs(values, part.scale, batch, lists, buffers, rows)
    n_open = int(by_run[runs, 0])
    if n_open > len(rows):
        rows = buffers.array("rows", n_open, np.int64, 4)
        by_run = _list_runs(values, part.scale, batch, lists, buffers, rows)
    opened = buffers.fetch("rows", rows, 4 * n_open).reshape(-1, 4)
    buffers.stream.synchronize()
    return merge_open(*_in_order(opened, by_run[:runs], part.first + first))


def _list_runs(values, scale, batch, lists, buffers: Buffers, rows) -> NDArray[np.int64]:
    """Launch the kernel for the values of a batch; return what it tells of each run."""
    runs, stream = batch[1] - batch[0], buffers.stream
    by_run = buffers.array("by run", runs + 1, np.int64, 3)[: runs + 1]
    device_memset(by_run, 0, by_run.nbytes, stream)
    launch = list_runs_thread[_blocks(runs), THREADS, stream]
    launch(values, scale, batch[0], *lists, by_run, rows)
    found = buffers.fetch("by run", by_run, 3 * (runs + 1))
    stream.synchronize()
    return found.reshape(-1, 3)


def count_part(part: Part, bounds: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return which segments of each run lie in no crossing one, as `ResultLayout` describes it."""
    resident, (lists, _, counts) = part.pool.resident, part.lists()
    on_gpu = resident.copy("segments, bounds", bounds)
    remaining = resident.array("segments, remaining", part.runs, np.int32, 2)
    launch = count_remaining_thread[_blocks(part.runs), THREADS, resident.stream]
    launch(lists, counts, on_gpu, remaining)
    found = resident.fetch("segments, remaining", remaining, 2 * part.runs)
    resident.stream.synchronize()
    return found.reshape(-1, 2).copy()


def write_part(part: Part, layout: NDArray[np.int64], found: tuple[NDArray, ...]) -> None:
    """Fill starts, ends and sums with the segments of a part that lie in no crossing one.

    `layout`: rows of `ResultLayout` for the runs of the part, and the one behind them.
    """
    resident = part.pool.resident
    arrays = *part.lists()[:2], resident.copy("segments, layout", layout)
    resident.stream.synchronize()
    work = partial(_write_batch, part, arrays, layout[:, OFFSET], found)
    map_buffers(part.streams, work, batches_of(part.values, RUN))


def _write_batch(part: Part, arrays: tuple, offsets, found, buffers: Buffers, batch) -> None:
    begin, end = offsets[batch[0]], offsets[batch[1]]
    if begin == end:
        return
    size = 2 * int(end - begin)
    packed = buffers.array("found", 1 << size.bit_length(), np.int64)
    write_runs_thread[_blocks(batch[1] - batch[0]), THREADS, buffers.stream](*arrays, batch, packed)
    on_host = buffers.fetch("staged", packed, size)
    buffers.stream.synchronize()
    columns = (column[begin:end] for column in found)
    _unpack(on_host, part.first + batch[0] * RUN, *columns)


def _parts(
    values: NDArray, scale, threads: int, share: tuple[int, int], pool: BufferPool
) -> list[Part]:
    """Return a share of the runs by what the memory of the current GPU holds at a time."""
    most = max(pool.free_bytes // MEMORY_PART // RUN_BYTES, 1)
    bounds = [*range(*share, most), share[1]]
    return [
        Part(values[a * RUN : b * RUN], a * RUN, scale, pool, pool.staging[:threads])
        for a, b in pairwise(bounds)
    ]


def _list_parts(parts: list[Part]) -> list[RunGroup]:
    return [group for part in parts for group in list_part(part)]


def _listed(parts: list[Part]) -> Iterator[tuple[Part, slice]]:
    """Yield the parts of a GPU, each with its lists on the GPU, and the numbers of its runs."""
    for part in parts:
        if len(parts) > 1:  # another part's lists took their place
            list_part(part)
        first = part.first // RUN
        yield part, slice(first, first + part.runs)


def maximal(
    values: NDArray, scale, ordinals: tuple[int, ...], threads: int = 1
) -> tuple[NDArray[np.int64], ...]:
    """Return starts, ends and sums in units of all maximal scoring segments, in order.

    Parameters
    ----------
    values : array of int32, int64, float32 or float64
    scale : int64 or float64
    ordinals : tuple of int
        GPUs; each takes an equal share of the values.
    threads : int
        Threads of the CPU that copy values and results.

    Returns
    -------
    tuple of int64 arrays
    """
    runs, n_gpus = _runs(values), len(ordinals)
    shares = list(pairwise(runs * k // n_gpus for k in range(n_gpus + 1)))
    with borrowed_pools(ordinals) as pools:
        own = partial(_parts, values, scale, max(threads // n_gpus, 1))
        parts = map_gpus(ordinals, own, shares, pools)
        groups = map_gpus(ordinals, _list_parts, parts)
        crossing = join([group for each in groups for group in each])
        bounds = run_bounds(crossing, RUN, runs)
        remaining = map_gpus(ordinals, partial(_count_parts, bounds), parts)
        layout = ResultLayout.of(np.concatenate(remaining), bounds, RUN)
        found = layout.columns()
        map_gpus(ordinals, partial(_write_parts, layout.rows, found), parts)
    layout.put(crossing, found)
    return found


def _count_parts(bounds: NDArray[np.int32], parts: list[Part]) -> NDArray[np.int32]:
    remaining = [count_part(part, bounds[runs]) for part, runs in _listed(parts)]
    return np.concatenate([*remaining, np.empty((0, 2), np.int32)])


def _write_parts(table: NDArray[np.int64], found: tuple, parts: list[Part]) -> None:
    for part, runs in _listed(parts):
        write_part(part, table[runs.start : runs.stop + 1], found)
