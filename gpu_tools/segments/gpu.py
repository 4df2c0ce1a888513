"""Segments and submatrices on GPUs."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import cuda, float32, float64, int32, int64, uint32
from numba.cuda.cudadrv.driver import device_memset
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.dispatch import (
    BufferPool,
    Buffers,
    borrowed_pools,
    map_buffers,
    map_gpus,
)
from gpu_tools.hardware.gpu.intrinsics.words import (
    WARP,
    kadane,
    kadane_above,
    kernel,
    load4,
    shuffle,
    shuffle_up_by,
)
from gpu_tools.segments import runs as core
from gpu_tools.segments import submatrix
from gpu_tools.segments.runs import COUNT, END, FIRST, HIGH, LOW, OFFSET, START
from gpu_tools.segments.submatrix import Oriented, Tile

# The best segment and all maximal segments on GPUs.
#
# The values come in batches. Threads of the host copy several to a GPU at the same time, so that
# the GPU works on one batch while others are on their way.
#
# Best segment: a thread block owns a tile, and each of its threads a run of neighbouring values of
# the tile. They pass through shared memory, so that the threads read whole lines of memory. The
# host finds the position from the summaries of the tiles.
#
# All maximal segments: a thread makes Ruzzo and Tompa's list of a run of values. The lists remain
# on the GPU. Only open segments come back, of which the host finds those that cross an end of a run
# (`gpu_tools.segments.runs`). Then each batch's segments are written where no crossing one is, and
# come back as the result. A column of the lists is a run, so that the lists of neighbouring runs
# lie side by side and the threads of a warp read and write whole lines:
#
# lists : int16, (3, SLOTS, runs): starts and ends, from the start of the run, and links
# sums : int64, (2, SLOTS, runs): sums before and after each segment, from the start of the run
# counts : int32, (runs,): number of segments of a run


_log = logging.getLogger(__name__)

BATCH_BYTES = 512 if simulated() else (1 << 24) - 1
"""Limit of a batch's values, in bytes; pinned arrays are the next power of two."""
RUN_VALUES, TILE_THREADS = (16, 4) if simulated() else (32, 128)
"""Values of a run of the best segment, and the threads of a tile, a run each."""
TILE = RUN_VALUES * TILE_THREADS
NARROW = 2**30 // RUN_VALUES
"""Values below this magnitude cannot overflow 32 bits within a run."""
_STAGED, _SUMMARIES = TILE + TILE_THREADS, (4, 2 * TILE_THREADS)
RUN = 16 if simulated() else 1 << 10
SLOTS = RUN // 2
"""Segments that a run can have: a value that is not positive lies between two of them."""
THREADS = 4 if simulated() else 64
OPEN_PER_RUN = 2 if simulated() else 16
"""Open segments per run for which memory is reserved at first; random values have up to 4."""
RUN_BYTES = SLOTS * (3 * 2 + 2 * 8) + 4
"""Memory of a GPU for the lists of a run."""
MEMORY_DIVISOR = 2
"""The lists take at most the free memory of a GPU divided by this."""
RUN_SUM, OPEN_OFFSET, OPEN_COUNT = range(3)
"""Columns of `by_run`: sum of a run, and index and number of its open segments' rows."""

to_units = cuda.jit(device=True)(core.to_units)
join_summaries = cuda.jit(device=True)(core.join_summaries)
push = cuda.jit(device=True)(core.push)
mark_open = cuda.jit(device=True)(core.mark_open)
first_from = cuda.jit(device=True)(simd.first_from)


def batches_of(values: NDArray, length: int) -> list[tuple[int, int]]:
    """Return first and end (exclusive) of the runs, or tiles, of each batch."""
    runs = -(-len(values) // length)
    size = max(BATCH_BYTES // (length * values.itemsize), 1)
    return [(first, min(first + size, runs)) for first in range(0, runs, size)]


@cuda.jit(device=True)
def _put(stage, at, four):
    """Write four values of a run to shared memory."""
    # the runs begin in different banks
    to = uint32(uint32(at) + uint32(at) // uint32(RUN_VALUES))
    stage[to], stage[uint32(to + 1)] = four[0], four[1]
    stage[uint32(to + 2)], stage[uint32(to + 3)] = four[2], four[3]


@cuda.jit(device=True)
def _fill_stage(stage, values, first):
    """Copy a tile to shared memory, with zeros behind the last value."""
    thread, step = int32(cuda.threadIdx.x), int32(4 * TILE_THREADS)
    if first + TILE <= len(values):
        # four loads are under way before the first one is needed
        for at in range(int32(4 * thread), int32(TILE), int32(4 * step)):
            two = int32(at + step)
            three, four = int32(two + step), int32(two + 2 * step)
            fetched = load4(values, first + at), load4(values, first + two)
            more = load4(values, first + three), load4(values, first + four)
            _put(stage, at, fetched[0])
            _put(stage, two, fetched[1])
            _put(stage, three, more[0])
            _put(stage, four, more[1])
    else:
        for k in range(thread, TILE, TILE_THREADS):
            value = values[first + k] if first + k < len(values) else values.dtype.type(0)
            stage[k + k // RUN_VALUES] = value


def _sum_up_in(kind, is_float=False):
    @cuda.jit(device=True)
    def sum_up(stage, begin, scale):
        """Return the summary of a run, and the bits by which its values differ from their signs."""
        total, prefix, suffix, best = kind(0), kind(0), kind(0), kind(0)
        bits = kind(0)
        at, end = uint32(begin), uint32(begin + RUN_VALUES)
        while at < end:  # a range has more instructions
            value = stage[at]
            at = uint32(at + 1)
            value = kind(to_units(value, scale)) if is_float else kind(value)
            bits = kind(bits | kind(value ^ kind(value >> kind(31))))
            total = kind(total + value)
            suffix = max(kind(suffix + value), kind(0))
            prefix, best = max(prefix, total), max(best, suffix)
        return (int64(total), int64(prefix), int64(suffix), int64(best)), bits

    return sum_up


@cuda.jit(device=True)
def _join_block(four, parts):
    """Join the summaries of all threads; the result is valid in thread 0."""
    thread, below, width = int32(cuda.threadIdx.x), int32(0), int32(TILE_THREADS)
    for k in range(4):
        parts[k, thread] = four[k]
    while width > 1:
        cuda.syncthreads()
        left, above = int32(below + 2 * thread), int32(below + width + thread)
        width = int32(width // 2)
        if thread < width:
            one = (parts[0, left], parts[1, left], parts[2, left], parts[3, left])
            right = int32(left + 1)
            two = (parts[0, right], parts[1, right], parts[2, right], parts[3, right])
            four = join_summaries(one, two)
            for k in range(4):
                parts[k, above] = four[k]
        below = int32(below + 2 * width)
    return four


def _tile_kernel(dtype):
    sum_up_narrow, sum_up = _sum_up_in(int32), _sum_up_in(int64, dtype in (float32, float64))
    narrow = dtype == int32

    @kernel(dtype)
    def summarise_block(values, scale, summaries):
        """Write the summary of one tile per block, shape (tiles, 4)."""
        stage = cuda.shared.array(_STAGED, dtype)
        parts = cuda.shared.array(_SUMMARIES, int64)
        thread = int32(cuda.threadIdx.x)
        begin = int32(thread * int32(RUN_VALUES + 1))
        _fill_stage(stage, values, int64(cuda.blockIdx.x) * TILE)
        cuda.syncthreads()
        if narrow:
            four, bits = sum_up_narrow(stage, begin, scale)
            if bits >= NARROW:
                four, _ = sum_up(stage, begin, scale)
        else:
            four, _ = sum_up(stage, begin, scale)
        four = _join_block(four, parts)
        if thread == 0:
            for k in range(4):
                summaries[cuda.blockIdx.x, k] = four[k]

    return summarise_block


KERNELS = {np.dtype(str(kind)): _tile_kernel(kind) for kind in (int32, int64, float32, float64)}


def summarise(values, scale, found, stream=0) -> None:
    """Launch the kernel that writes the summaries of an array's tiles to `found`."""
    tiles = -(-len(values) // TILE)
    KERNELS[values.dtype][tiles, TILE_THREADS, stream](values, scale, found)


def best_segment(
    values: NDArray, scale, ordinals: tuple[int, ...], threads: int = 1
) -> tuple[int, int, int] | None:
    """Return start, end and sum of the best segment, None if no sum is positive.

    `threads` of the host copy the values. That takes longest, and on several GPUs no less time.
    """
    if len(ordinals) > 1:
        _log.info("best segment: GPU %d alone, as copies to several take no less time", ordinals[0])
    batches = [values[a * TILE : b * TILE] for a, b in batches_of(values, TILE)]

    def work(pool: BufferPool) -> list[NDArray[np.int64]]:
        return map_buffers(pool.staging[:threads], partial(_summarise_batch, scale), batches)

    with borrowed_pools(ordinals[:1]) as pools:
        (found,) = map_gpus(ordinals[:1], work, pools)
    return core.locate(values, scale, np.concatenate(found), TILE)


def _summarise_batch(scale, buffers: Buffers, values: NDArray) -> NDArray[np.int64]:
    tiles = -(-len(values) // TILE)
    found = buffers.array("summaries", tiles, np.int64, 4)
    summarise(buffers.staged("values", values), scale, found, buffers.stream)
    on_host = buffers.fetch("summaries", found, 4 * tiles)
    buffers.stream.synchronize()
    return on_host.reshape(-1, 4).copy()


@kernel()
def list_runs_thread(values, scale, first_run, lists, sums, counts, by_run, rows):
    """List the maximal segments of one run per thread, and collect the open ones."""
    # first_run: column of the first run of the values
    # by_run (runs + 1, 3): the first element of the last row counts the open segments, from 0
    # rows (k, 4): the open segments run by run, the runs in any order; positions and sums count
    #   from the start of the run; those of a run that does not fit are omitted
    run = cuda.grid(1)
    n_runs = len(by_run) - 1
    if run >= n_runs:
        return
    column, begin = first_run + run, int64(run) * RUN
    starts, ends, links = lists[0, :, column], lists[1, :, column], lists[2, :, column]
    lows, highs = sums[0, :, column], sums[1, :, column]
    total, count = int64(0), 0
    for k in range(min(RUN, len(values) - begin)):
        value = to_units(values[begin + k], scale)
        if value > 0:
            segment = (k, k + 1, total, total + value)
            count = push((starts, ends, lows, highs, links), count, segment)
        total += value
    n_open = mark_open(lows, highs, count, total, links)
    at = cuda.atomic.add(by_run, (n_runs, 0), n_open)
    counts[column] = count
    by_run[run, RUN_SUM], by_run[run, OPEN_OFFSET], by_run[run, OPEN_COUNT] = total, at, n_open
    if at + n_open > len(rows):
        return
    for k in range(count):
        if links[k]:
            rows[at, START], rows[at, END] = starts[k], ends[k]
            rows[at, LOW], rows[at, HIGH] = lows[k], highs[k]
            at += 1


@kernel()
def count_remaining_thread(lists, counts, bounds, remaining):
    """Write first index and number of the segments within the bounds of one run per thread."""
    run = cuda.grid(1)
    if run >= len(counts):
        return
    starts = lists[0, : counts[run], run]
    first = first_from(starts, bounds[run, 0])
    remaining[run, FIRST] = first
    remaining[run, COUNT] = first_from(starts, bounds[run, 1]) - first


@kernel()
def write_runs_thread(lists, sums, layout, runs, found):
    """Write the segments of one run per thread that lie in no crossing segment."""
    # runs: first and end (exclusive) of the runs to write
    # found: the positions of all their segments, then the sums; positions count from the first
    #   run, the start in the low 32 bits and the end in the high ones
    first_run, last_run = runs
    run = first_run + cuda.grid(1)
    if run >= last_run:
        return
    before, begin = layout[first_run, OFFSET], (run - first_run) * int64(RUN)
    size, at = layout[last_run, OFFSET] - before, layout[run, OFFSET] - before
    first = layout[run, FIRST]
    for k in range(first, first + layout[run, COUNT]):
        found[at] = (begin + lists[1, k, run]) << 32 | (begin + lists[0, k, run])
        found[size + at] = sums[1, k, run] - sums[0, k, run]
        at += 1


class Part(NamedTuple):
    """Neighbouring values whose lists are on a GPU at the same time."""

    values: NDArray  # on the host
    first: int  # position of the first one
    scale: np.int64 | np.float64
    pool: BufferPool
    streams: tuple[Buffers, ...]  # those of the pool that are used

    @property
    def runs(self) -> int:
        """Number of runs of the values."""
        return _runs(self.values)

    def lists(self) -> tuple:
        """Return lists, sums and counts on the GPU."""
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
        before += by_run[run, RUN_SUM]
    return ordered, before


@njit(cache=True, nogil=True)
def _unpack(found, first, starts, ends, sums):
    """Fill columns from the output of `write_runs_thread` for runs that begin at value `first`."""
    count = len(starts)
    for k in range(count):
        starts[k] = first + (found[k] & 0xFFFFFFFF)
        ends[k] = first + (found[k] >> 32)
        sums[k] = found[count + k]


def list_part(part: Part) -> list[core.RunGroup]:
    """List the runs of a part, batch by batch; the lists remain on the current GPU."""
    work = partial(_list_batch, part, part.lists())
    return map_buffers(part.streams, work, batches_of(part.values, RUN))


def _list_batch(
    part: Part, lists: tuple, buffers: Buffers, batch: tuple[int, int]
) -> core.RunGroup:
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
    return core.merge_open(*_in_order(opened, by_run[:runs], part.first + first))


def _list_runs(values, scale, batch, lists, buffers: Buffers, rows) -> NDArray[np.int64]:
    """List the runs of a batch and return `by_run`."""
    runs, stream = batch[1] - batch[0], buffers.stream
    by_run = buffers.array("by run", runs + 1, np.int64, 3)[: runs + 1]
    device_memset(by_run, 0, by_run.nbytes, stream)
    launch = list_runs_thread[_blocks(runs), THREADS, stream]
    launch(values, scale, batch[0], *lists, by_run, rows)
    found = buffers.fetch("by run", by_run, 3 * (runs + 1))
    stream.synchronize()
    return found.reshape(-1, 3)


def count_part(part: Part, bounds: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return first index and number of the segments within the bounds, for each run of a part."""
    resident, (lists, _, counts) = part.pool.resident, part.lists()
    on_gpu = resident.copy("segments, bounds", bounds)
    remaining = resident.array("segments, remaining", part.runs, np.int32, 2)
    launch = count_remaining_thread[_blocks(part.runs), THREADS, resident.stream]
    launch(lists, counts, on_gpu, remaining)
    found = resident.fetch("segments, remaining", remaining, 2 * part.runs)
    resident.stream.synchronize()
    return found.reshape(-1, 2).copy()


def write_part(part: Part, layout: NDArray[np.int64], found: core.Columns) -> None:
    """Write the segments of a part that lie in no crossing one, by the layout of its runs."""
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
    """Split a share of the runs into parts that fit into the memory of the current GPU."""
    most = max(pool.free_bytes // MEMORY_DIVISOR // RUN_BYTES, 1)
    bounds = [*range(*share, most), share[1]]
    return [
        Part(values[a * RUN : b * RUN], a * RUN, scale, pool, pool.staging[:threads])
        for a, b in pairwise(bounds)
    ]


def _list_parts(parts: list[Part]) -> list[core.RunGroup]:
    return [group for part in parts for group in list_part(part)]


def _listed(parts: list[Part]) -> Iterator[tuple[Part, slice]]:
    """Yield the parts of a GPU, each with its lists on the GPU, and the indices of its runs."""
    for part in parts:
        if len(parts) > 1:  # another part's lists took their place
            list_part(part)
        first = part.first // RUN
        yield part, slice(first, first + part.runs)


def maximal(values: NDArray, scale, ordinals: tuple[int, ...], threads: int = 1) -> core.Columns:
    """Return starts, ends and sums of all maximal scoring segments, in order.

    Each GPU takes an equal share of the values; `threads` of the host copy values and results.
    """
    n_runs, n_gpus = _runs(values), len(ordinals)
    shares = list(pairwise(n_runs * k // n_gpus for k in range(n_gpus + 1)))
    with borrowed_pools(ordinals) as pools:
        split = partial(_parts, values, scale, max(threads // n_gpus, 1))
        parts = map_gpus(ordinals, split, shares, pools)

        def make_lists() -> list[core.RunGroup]:
            return [group for found in map_gpus(ordinals, _list_parts, parts) for group in found]

        def count_remaining(bounds: NDArray[np.int32]) -> NDArray[np.int32]:
            return np.concatenate(map_gpus(ordinals, partial(_count_parts, bounds), parts))

        def write_remaining(layout: NDArray[np.int64], columns: core.Columns) -> None:
            map_gpus(ordinals, partial(_write_parts, layout, columns), parts)

        device = core.DeviceRuns(n_runs, RUN, make_lists, count_remaining, write_remaining)
        return core.maximal_segments(device)


def _count_parts(bounds: NDArray[np.int32], parts: list[Part]) -> NDArray[np.int32]:
    remaining = [count_part(part, bounds[runs]) for part, runs in _listed(parts)]
    return np.concatenate([*remaining, np.empty((0, 2), np.int32)])


def _write_parts(layout: NDArray[np.int64], columns: core.Columns, parts: list[Part]) -> None:
    for part, runs in _listed(parts):
        write_part(part, layout[runs.start : runs.stop + 1], columns)


# The maximum submatrix on GPUs: a thread owns 8 x 8 pairs of lines, whose sums stay in registers.
#
# A block owns a tile of pairs and goes through the steps once; prefix sums pass through shared
# memory. Cells are float32 where row sums stay below 2^24 units: scaled by 2^-24, a saturating
# addition does addition and maximum at once, exactly, unless a sum reaches 1. That shows in the
# result, and the search is done again in integers.


CELLS = 8
"""Lower lines of a thread, and as many upper ones."""
GROUPS = 2 if simulated() else 16
WIDTH = CELLS * GROUPS
PAIR_THREADS = GROUPS * GROUPS
STEPS = 2 if simulated() else 16
"""Steps that are in shared memory at a time: 16 values a thread, which `_fetch_rows` reads."""
SCAN_THREADS = 4 if simulated() else 256
LIMIT_FLOAT32 = 2**24
PAIR_REGISTERS = 128
"""With more registers a multiprocessor holds only one thread block."""
_ROW = 2 * WIDTH
_STAGED_SUMS = STEPS * _ROW
_ALIGNMENT = None if simulated() else 16  # bytes; the simulator knows none


class LoadedMatrix(NamedTuple):
    """A matrix on one GPU."""

    steps: object  # the values
    cells: list[np.dtype]  # types of cells to try, in this order
    prefix: object  # memory for the prefix sums in cells of the first type


def cell_types(positive: NDArray[np.int64], negative: NDArray[np.int64]) -> list[np.dtype]:
    """Return the types to try, the fastest first; the last one cannot overflow.

    `positive` and `negative` are the sums of the values of either sign of each step.
    """
    fits = max(int(positive.sum()), -int(negative.sum())) < submatrix.LIMIT_INT32
    safe = np.dtype(np.int32 if fits else np.int64)
    narrow = max(positive.max(), -negative.min()) < LIMIT_FLOAT32
    return [np.dtype(np.float32), safe] if narrow else [safe]


@kernel()
def sums_by_sign_block(steps, scale, sums):
    """Write the sums of the positive and of the negative values of one step per block."""
    parts = cuda.shared.array(SCAN_THREADS, int64)
    thread, step = cuda.threadIdx.x, cuda.blockIdx.x
    for sign in range(2):
        total = int64(0)
        for line in range(thread, steps.shape[1], SCAN_THREADS):
            value = to_units(steps[step, line], scale)
            total += value if (value < 0) == (sign == 1) else int64(0)
        parts[thread] = total
        cuda.syncthreads()
        if thread == 0:
            for other in range(1, SCAN_THREADS):
                total += parts[other]
            sums[step, sign] = total
        cuda.syncthreads()


@cuda.jit(device=True)
def _units_at(steps, scale, line):
    """Return the value of the block's step at a line, 0 behind the last one."""
    step = cuda.blockIdx.x
    return to_units(steps[step, line], scale) if line < steps.shape[1] else int64(0)


@cuda.jit(device=True)
def _put_sums(prefix, line, value, before, cell_scale, lines):
    """Write the sums up to the lanes' lines; return the lane's, and the last lane's."""
    scratch = cuda.shared.array(WARP, int64)
    lane, distance = cuda.threadIdx.x, 1
    while distance < WARP:
        left = shuffle_up_by(value, distance, scratch)
        value += left if lane >= distance else int64(0)
        distance *= 2
    value += before
    if line < lines:
        prefix[cuda.blockIdx.x, line + 1] = value * cell_scale
    return value, shuffle(value, WARP - 1, scratch)


@kernel()
def prefix_warp(steps, scale, cell_scale, prefix):
    """Write the prefix sums of one step per block, and behind the last line the smallest of them.

    No pair gains by a line of these. Four lines of memory are loaded at once.
    """
    lane, lines, total, smallest = cuda.threadIdx.x, steps.shape[1], int64(0), int64(0)
    if lane == 0:
        prefix[cuda.blockIdx.x, 0] = 0
    for line in range(lane, lines + lane, 4 * WARP):
        one, two = _units_at(steps, scale, line), _units_at(steps, scale, line + WARP)
        three = _units_at(steps, scale, line + 2 * WARP)
        four = _units_at(steps, scale, line + 3 * WARP)
        value, total = _put_sums(prefix, line, one, total, cell_scale, lines)
        smallest = min(smallest, value)
        value, total = _put_sums(prefix, line + WARP, two, total, cell_scale, lines)
        smallest = min(smallest, value)
        value, total = _put_sums(prefix, line + 2 * WARP, three, total, cell_scale, lines)
        smallest = min(smallest, value)
        value, total = _put_sums(prefix, line + 3 * WARP, four, total, cell_scale, lines)
        smallest = min(smallest, value)
    scratch = cuda.shared.array(WARP, int64)
    for other in range(WARP):
        smallest = min(smallest, shuffle(smallest, other, scratch))
    for index in range(lines + 1 + lane, prefix.shape[1], WARP):
        prefix[cuda.blockIdx.x, index] = smallest * cell_scale


@cuda.jit(device=True)
def _fetch_four(prefix, begin, part, first_low, first_high):
    """Return four neighbouring prefix sums of the thread's `part` of the next steps."""
    at = 4 * int32(cuda.threadIdx.x + part * PAIR_THREADS)
    step, column = begin + at // _ROW, at % _ROW
    column += first_low if column < WIDTH else first_high - WIDTH
    return load4(prefix[min(step, prefix.shape[0] - 1)], column)


@cuda.jit(device=True)
def _fetch_rows(prefix, begin, first_low, first_high):
    """Return the thread's share of the prefix sums of the next `STEPS` steps."""
    return (
        _fetch_four(prefix, begin, 0, first_low, first_high),
        _fetch_four(prefix, begin, 1, first_low, first_high),
        _fetch_four(prefix, begin, 2, first_low, first_high),
        _fetch_four(prefix, begin, 3, first_low, first_high),
    )


@cuda.jit(device=True)
def _put_four(stage, part, four):
    to = 4 * int32(cuda.threadIdx.x + part * PAIR_THREADS)
    stage[to], stage[to + 1], stage[to + 2], stage[to + 3] = four


@cuda.jit(device=True)
def _put_rows(stage, fetched):
    """Write what the thread fetched to shared memory."""
    _put_four(stage, 0, fetched[0])
    _put_four(stage, 1, fetched[1])
    _put_four(stage, 2, fetched[2])
    _put_four(stage, 3, fetched[3])


def tile_groups(number, groups):
    """Return the lower and the upper group of `WIDTH` line indices that a tile pairs.

    A tile that pairs a group with itself has half the pairs. These tiles come last, so that all
    multiprocessors finish at about the same time.
    """
    low = number - groups * (groups - 1) // 2
    if low >= 0:
        return low, low
    high = int(math.sqrt(2.0 * number + 0.25) + 0.5)  # high (high - 1) / 2 tiles come before
    return number - high * (high - 1) // 2, high


_tile_groups = cuda.jit(device=True)(tile_groups)


def _pairs_kernel(cell):
    @kernel(cell, registers=PAIR_REGISTERS)
    def best_of_pairs_block(prefix, tiles, bests):
        """Write the largest sum of each thread's pairs."""
        # tiles: number of the first block's tile, and the step from block to block
        stage = cuda.shared.array(_STAGED_SUMS, cell, alignment=_ALIGNMENT)
        thread = int32(cuda.threadIdx.x)
        number = tiles[0] + int64(cuda.blockIdx.x) * tiles[1]
        low_group, high_group = _tile_groups(number, prefix.shape[1] // WIDTH)
        first_low, first_high = int32(low_group * WIDTH), int32(high_group * WIDTH)
        at_low = int32((thread // GROUPS) * CELLS)
        at_high = int32((thread % GROUPS) * CELLS)
        distance = (first_high + at_high) - (first_low + at_low)
        at_high = int32(at_high + WIDTH)
        none = cell(0)
        two = (none, none)
        four = two + two
        best = four + four
        some = best + best + best + best
        running = some + some
        n_steps = prefix.shape[0]
        fetched = _fetch_rows(prefix, int32(0), first_low, first_high)
        for begin in range(0, n_steps, STEPS):
            cuda.syncthreads()
            _put_rows(stage, fetched)
            cuda.syncthreads()
            if begin + STEPS < n_steps:  # loaded while the present ones are worked on
                fetched = _fetch_rows(prefix, int32(begin + STEPS), first_low, first_high)
            for row in range(min(STEPS, n_steps - begin)):
                low, high = int32(row * _ROW + at_low), int32(row * _ROW + at_high)
                if distance > 0:
                    lows = load4(stage, low) + load4(stage, low + 4)
                    highs = load4(stage, high) + load4(stage, high + 4)
                    running, best = kadane(running, best, lows, highs)
                elif distance == 0:
                    lows = load4(stage, low) + load4(stage, low + 4)
                    running, best = kadane_above(running, best, lows, lows)
        largest = best[0]
        for value in best:
            largest = max(largest, value)
        bests[cuda.blockIdx.x, thread] = largest

    return best_of_pairs_block


PAIR_KERNELS = {np.dtype(str(cell)): _pairs_kernel(cell) for cell in (float32, int32, int64)}


@kernel()
def columns_thread(prefix, firsts, unit, columns):
    """Copy twice `CELLS` neighbouring columns of the prefix sums, in units; a step per thread."""
    step = cuda.grid(1)
    if step < prefix.shape[0]:
        for which in range(2):
            for k in range(CELLS):
                columns[which, step, k] = int64(prefix[step, firsts[which] + k] * unit)


def tiles_of(n_lines: int) -> range:
    """Return the numbers of the tiles of pairs; see `tile_groups`."""
    groups = n_lines // WIDTH + 1
    return range(groups * (groups + 1) // 2)


def measure(steps, scale) -> LoadedMatrix:
    """Choose cells for a matrix on the current GPU, and reserve memory for its prefix sums."""
    n_steps, n_lines = steps.shape
    sums = cuda.device_array((n_steps, 2), np.int64)
    sums_by_sign_block[n_steps, SCAN_THREADS](steps, scale, sums)
    cells = cell_types(*sums.copy_to_host().T)
    width = (n_lines // WIDTH + 1) * WIDTH
    return LoadedMatrix(steps, cells, cuda.device_array((n_steps, width), cells[0]))


def prefix_of(gpu: LoadedMatrix, scale, cell: np.dtype):
    """Return the prefix sums across the lines as cells, on the current GPU."""
    prefix = gpu.prefix
    if prefix.dtype != cell:
        prefix = cuda.device_array(prefix.shape, cell)
    prefix_warp[gpu.steps.shape[0], WARP](gpu.steps, scale, cell_scale(cell), prefix)
    return prefix


def cell_scale(cell: np.dtype) -> np.int64 | np.float32:
    """Return a cell's value of one unit."""
    return np.float32(1 / LIMIT_FLOAT32) if cell.kind == "f" else np.int64(1)


@kernel()
def largest_block(bests, largest):
    """Write the largest element of one row per block."""
    parts = cuda.shared.array(PAIR_THREADS, bests.dtype)
    thread, block = cuda.threadIdx.x, cuda.blockIdx.x
    parts[thread] = bests[block, thread]
    width = PAIR_THREADS // 2
    while width > 0:
        cuda.syncthreads()
        if thread < width:
            parts[thread] = max(parts[thread], parts[thread + width])
        width //= 2
    if thread == 0:
        largest[block] = parts[0]


class TileSums(NamedTuple):
    """The largest sums of the tiles of one GPU, in cells."""

    tiles: range
    prefix: object  # prefix sums, on the GPU
    bests: object  # (tiles, threads): largest sums of the threads' pairs, on the GPU
    largest: NDArray  # (tiles,), on the host


def search_tiles(gpu: LoadedMatrix, tiles: range, scale, cell: np.dtype) -> TileSums:
    """Search some tiles on the current GPU."""
    prefix = prefix_of(gpu, scale, cell)
    bests = cuda.device_array((len(tiles), PAIR_THREADS), cell)
    largest = cuda.device_array(len(tiles), cell)
    PAIR_KERNELS[cell][len(tiles), PAIR_THREADS](prefix, (tiles.start, tiles.step), bests)
    largest_block[len(tiles), PAIR_THREADS](bests, largest)
    return TileSums(tiles, prefix, bests, largest.copy_to_host())


def shares_of(n_lines: int, n_gpus: int) -> list[range]:
    """Assign the tiles to GPUs in turn, at least one tile to each."""
    tiles = tiles_of(n_lines)
    n_gpus = min(n_gpus, len(tiles))
    return [tiles[k::n_gpus] for k in range(n_gpus)]


def best_rectangle(
    oriented: Oriented, scale, ordinals: tuple[int, ...]
) -> tuple[int, tuple[int, int, int, int]] | None:
    """Return the largest sum and the first rectangle that has it; None if no sum is positive.

    Each GPU has the whole matrix and takes every n-th tile.
    """
    ordinals = ordinals[: len(shares_of(oriented.n_lines, len(ordinals)))]
    steps = np.ascontiguousarray(oriented.steps)
    loaded = map_gpus(ordinals, lambda _: measure(cuda.to_device(steps), scale), ordinals)
    return search(oriented, loaded, scale, ordinals)


def search(oriented: Oriented, loaded: list[LoadedMatrix], scale, ordinals: tuple[int, ...]):
    """Search a matrix that has been loaded onto each of some GPUs; see `best_rectangle`."""
    shares = shares_of(oriented.n_lines, len(loaded))
    for cell in loaded[0].cells:
        search_share = partial(search_tiles, scale=scale, cell=cell)
        found = map_gpus(ordinals, search_share, loaded, shares)
        best = max(share.largest.max() for share in found)
        if cell.kind != "f" or best < 1:
            break
    if best <= 0:
        return None
    total = int(best * LIMIT_FLOAT32) if cell.kind == "f" else int(best)
    parts = map_gpus(ordinals, partial(_tiles_with, best=best), found)
    tiles = [tile for part in parts for tile in part]
    return total, submatrix.first_rectangle(tiles, oriented, total)


def _tiles_with(share: TileSums, best) -> list[Tile]:
    """Return the threads' tiles that reach `best`."""
    found, groups = [], share.prefix.shape[1] // WIDTH
    for block in np.flatnonzero(share.largest == best).tolist():
        low_group, high_group = tile_groups(share.tiles[block], groups)
        for thread in np.flatnonzero(share.bests[block].copy_to_host() == best).tolist():
            low = low_group * WIDTH + thread // GROUPS * CELLS
            high = high_group * WIDTH + thread % GROUPS * CELLS
            lows, highs = _columns(share.prefix, (low, high))
            found.append(Tile(low, lows, high, highs))
    return found


def _columns(prefix, firsts: tuple[int, int]) -> NDArray[np.int64]:
    """Return `CELLS` columns from either first one, in units, shape (2, steps, cells)."""
    columns = cuda.device_array((2, prefix.shape[0], CELLS), np.int64)
    unit = np.int64(1) if prefix.dtype.kind != "f" else np.float32(LIMIT_FLOAT32)
    blocks = -(-prefix.shape[0] // SCAN_THREADS)
    columns_thread[blocks, SCAN_THREADS](prefix, firsts, unit, columns)
    return columns.copy_to_host()
