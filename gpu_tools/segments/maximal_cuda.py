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
from numba import cuda, float32, float64, int32, int64, uint32
from numpy.typing import NDArray

from gpu_tools.device import simulated
from gpu_tools.segments import core
from gpu_tools.segments.gpus import on_each
from gpu_tools.segments.maximal_cpu import Crossing, cross
from gpu_tools.segments.staging import (
    PIECE,
    PIECES,
    RUN,
    STAGED,
    STRIDE,
    THREADS,
    TILE,
    fetch,
    put,
)

NARROW = 2**30 // RUN
"""Values below this magnitude cannot overflow 32 bits within a run."""
WIDE = 2**63 - 1
FAN = 2 if simulated() else 16
"""Lists that one thread merges into one."""
MERGE_THREADS = 2 if simulated() else 32
SCAN_THREADS = 4 if simulated() else 1024
VALUES_PER_ROW = 64
"""Room for open segments is reserved for so many values each; twice what random ones need."""
_SLOTS = RUN // 2
_KEPT = 2 * PIECES * THREADS
START, END, LOW, HIGH = range(4)
OFFSET, COUNT, TOTAL = range(3)
USED, TOO_LARGE = range(2)
CROSS_START, CROSS_END, CROSS_SCORE = range(3)

to_units = cuda.jit(device=True)(core.to_units)
drop_closed = cuda.jit(device=True)(core.drop_closed)
append_open = cuda.jit(device=True)(core.append_open)


@cuda.jit(device=True)
def _as_it_is(value, scale):
    return value


@cuda.jit(device=True)
def _slot(which, piece):
    """Return where a word of the lane's bits stands: starts (0) or last values (1) of a piece."""
    return (which * PIECES + piece) * THREADS + cuda.threadIdx.x


@cuda.jit(device=True)
def _mark(kept, filled, bits, last, start):
    """Mark a segment and clear those within it.

    Parameters
    ----------
    kept : array of uint32
        Bits of earlier pieces.
    filled : int
        Bit k is set if piece k has any.
    bits : tuple of uint32
        Starts and last values of this piece.
    last, start : int
        Its last value and its start, in the run.

    Returns
    -------
    filled : int
    bits : tuple of uint32
    """
    word, place = start // PIECE, uint32(start % PIECE)
    below = (uint32(1) << place) - uint32(1)
    last_bit = uint32(1) << uint32(last % PIECE)
    if word == last // PIECE:
        return filled, ((bits[0] & below) | (uint32(1) << place), (bits[1] & below) | last_bit)
    kept[_slot(0, word)] &= below | (uint32(1) << place)
    kept[_slot(1, word)] &= below
    between = filled >> (word + 1)
    if between:
        for piece in range(word + 1, last // PIECE):
            kept[_slot(0, piece)] = uint32(0)
            kept[_slot(1, piece)] = uint32(0)
    return filled & ((1 << (word + 1)) - 1), (uint32(0), last_bit)


@cuda.jit(device=True)
def _reserve(counts, used, count):
    """Return where the lane's `count` rows begin, those of all lanes side by side."""
    lane = cuda.threadIdx.x
    counts[lane] = count
    cuda.syncthreads()
    before, total = 0, 0
    for other in range(THREADS):
        before += counts[other] if other < lane else 0
        total += counts[other]
    cuda.syncthreads()
    if lane == 0:
        counts[0] = cuda.atomic.add(used, USED, total)
    cuda.syncthreads()
    return counts[0] + before


def _list_kernel(dtype, cell, unit, limit):
    @cuda.jit
    def list_runs_warp(values, scale, runs, lists, rows, counters):
        """List the maximal segments of the lanes' runs, one tile a block.

        Parameters
        ----------
        values : array of int32, int64, float32 or float64
        scale : int64 or float64
        runs : tuple of array
            Filled in: words, crossing and farthest, see `Part`.
        lists : int64 array, shape (runs, 3)
            Filled in: where a run's open segments stand in `rows`, how many they are, and the
            run's sum.
        rows : int64 array, shape (4, capacity)
            Filled in: open segments; positions from value 0, sums from the run's start.
        counters : int64 array, shape (2,)
            The first is raised by the number of open segments; lists without room are empty. The
            second is set if a value is too large for the cells.
        """
        words, crossing, farthest = runs
        stage = cuda.shared.array(STAGED, dtype)
        kept = cuda.shared.array(_KEPT, uint32)
        counts = cuda.shared.array(THREADS, int64)
        columns = (
            cuda.local.array(_SLOTS, int32), cuda.local.array(_SLOTS, int32),
            cuda.local.array(_SLOTS, cell), cuda.local.array(_SLOTS, cell),
        )  # fmt: skip
        lane, first = cuda.threadIdx.x, int64(cuda.blockIdx.x) * TILE
        whole = first + TILE <= len(values)
        total, state, filled, too_large = cell(0), (0, 0, 0, cell(0)), 0, False
        fetched = fetch(values, first, whole)
        for piece in range(PIECES):
            put(stage, fetched)
            if piece + 1 < PIECES:
                fetched = fetch(values, first + (piece + 1) * PIECE, whole)
            bits = (uint32(0), uint32(0))
            for k in range(PIECE):
                value, before = cell(unit(stage[lane * STRIDE + k], scale)), total
                too_large |= value >= limit or value <= -limit
                total = cell(total + value)
                if value > 0:
                    at = piece * PIECE + k
                    state = drop_closed(columns[LOW], 0, state, before)
                    state, start = append_open(columns, 0, state, (at, at + 1, before, total))
                    filled, bits = _mark(kept, filled, bits, at, start)
            kept[_slot(0, piece)], kept[_slot(1, piece)] = bits
            filled |= (1 if bits[0] | bits[1] else 0) << piece
        state = drop_closed(columns[LOW], 0, state, total)
        if too_large:
            counters[TOO_LARGE] = 1
        for k in range(lane, _KEPT, THREADS):
            words[cuda.blockIdx.x, k] = kept[k]
        run, count = cuda.grid(1), state[2]
        offset = _reserve(counts, counters, count)
        if offset + count > rows.shape[1]:
            count = 0
        for k in range(count):
            rows[START, offset + k] = run * RUN + columns[START][k]
            rows[END, offset + k] = run * RUN + columns[END][k]
            rows[LOW, offset + k], rows[HIGH, offset + k] = columns[LOW][k], columns[HIGH][k]
        lists[run, OFFSET], lists[run, COUNT], lists[run, TOTAL] = offset, count, total
        crossing[run, CROSS_END] = 0
        if lane == 0:
            farthest[cuda.blockIdx.x] = 0

    return list_runs_warp


LIST_NARROW = _list_kernel(int32, int32, _as_it_is, NARROW)
LIST_WIDE = {
    np.dtype(str(kind)): _list_kernel(kind, int64, to_units, WIDE)
    for kind in (int32, int64, float32, float64)
}


@cuda.jit
def merge_lists_thread(level, merged, crossing, farthest):
    """Merge `FAN` neighbouring lists a thread, and tell which segments cross their ends.

    Parameters
    ----------
    level, merged : tuple of array
        Lists, rows and counters of the lists there are and of those to be made, as in
        `list_runs_warp`; sums count from the list's start.
    crossing : int64 array, shape (runs, 3)
        Start, end and sum of a segment beyond its run, by the run that it starts in.
    farthest : int64 array, shape (tiles,)
        Raised to the ends of the segments that start in the tile.
    """
    lists, rows, _ = level
    lists_made, rows_made, counters = merged
    group = cuda.grid(1)
    if group >= lists_made.shape[0]:
        return
    first, last = group * FAN, min((group + 1) * FAN, lists.shape[0])
    size = int64(0)
    for child in range(first, last):
        size += lists[child, COUNT]
    at = cuda.atomic.add(counters, USED, size)
    columns = (rows_made[START], rows_made[END], rows_made[LOW], rows_made[HIGH])
    before, state = int64(0), (0, 0, 0, int64(0))
    for child in range(first, last):
        offset = lists[child, OFFSET]
        for k in range(offset, offset + lists[child, COUNT]):
            end, low, high = rows[END, k], before + rows[LOW, k], before + rows[HIGH, k]
            state = drop_closed(columns[LOW], at, state, low)
            state, start = append_open(columns, at, state, (rows[START, k], end, low, high))
            if start != rows[START, k]:
                run = start // RUN
                crossing[run, CROSS_START], crossing[run, CROSS_END] = start, end
                crossing[run, CROSS_SCORE] = high - columns[LOW][at + state[2] - 1]
                cuda.atomic.max(farthest, start // TILE, end)
        before += lists[child, TOTAL]
    state = drop_closed(columns[LOW], at, state, before)
    lists_made[group, OFFSET], lists_made[group, COUNT] = at, state[2]
    lists_made[group, TOTAL] = before


@cuda.jit
def enter_block(farthest, seed, enters):
    """Write for each tile where the last segment from the left ends; one block.

    Parameters
    ----------
    farthest : int64 array, shape (tiles,)
    seed : int64
        Where a segment from before value 0 ends, 0 if there is none.
    enters : int64 array, shape (tiles,)
        Filled in.
    """
    ends = cuda.shared.array(SCAN_THREADS, int64)
    thread = cuda.threadIdx.x
    share = (len(farthest) + SCAN_THREADS - 1) // SCAN_THREADS
    first, last = thread * share, min((thread + 1) * share, len(farthest))
    largest = int64(0)
    for tile in range(first, last):
        largest = max(largest, farthest[tile])
    ends[thread] = largest
    cuda.syncthreads()
    width = 1
    while width < SCAN_THREADS:
        other = ends[thread - width] if thread >= width else int64(0)
        cuda.syncthreads()
        ends[thread] = max(ends[thread], other)
        cuda.syncthreads()
        width *= 2
    largest = max(seed, ends[thread - 1] if thread > 0 else int64(0))
    for tile in range(first, last):
        enters[tile] = largest
        largest = max(largest, farthest[tile])


@cuda.jit(device=True)
def _ones(first, after):
    """Return a word with the bits `first` to ``after - 1``, of any integers, as far as it goes."""
    low, high = min(max(first, int64(0)), int64(PIECE)), min(max(after, int64(0)), int64(PIECE))
    return uint32((int64(1) << high) - (int64(1) << low)) if low < high else uint32(0)


@cuda.jit
def count_runs_warp(words, crossing, enters, places, counts):
    """Mask what lies in a segment across an end of its run, and count the rest, one tile a block.

    Parameters
    ----------
    words : uint32 array, shape (tiles, words of a tile)
        Masked in place.
    crossing : int64 array, shape (runs, 3)
        Those within others get the end 0.
    enters : int64 array, shape (tiles,)
    places : int32 array, shape (runs,)
        Filled in: segments that start in the tile's earlier runs.
    counts : int64 array, shape (tiles,)
        Filled in: segments that start in the tile.
    """
    ends = cuda.shared.array(THREADS, int64)
    sizes = cuda.shared.array(THREADS, int32)
    lane, tile, run = cuda.threadIdx.x, cuda.blockIdx.x, int64(cuda.grid(1))
    begin = run * RUN
    start, end = crossing[run, CROSS_START], crossing[run, CROSS_END]
    ends[lane] = end
    cuda.syncthreads()
    enter = enters[tile]
    for other in range(lane):
        enter = max(enter, ends[other])
    leave = begin + RUN
    if end > 0 and start < enter:
        crossing[run, CROSS_END] = 0
    elif end > 0:
        leave = start
    size = int32(1 if leave < begin + RUN else 0)
    for piece in range(PIECES):
        position = begin + piece * PIECE
        ones = _ones(enter - position, leave - position)
        starts = words[tile, _slot(0, piece)] & ones
        words[tile, _slot(0, piece)] = starts
        words[tile, _slot(1, piece)] &= ones
        size = int32(size + int32(cuda.popc(starts)))
    sizes[lane] = size
    cuda.syncthreads()
    before = int32(0)
    for other in range(lane):
        before = int32(before + sizes[other])
    places[run] = before
    if lane == THREADS - 1:
        counts[tile] = before + size


@cuda.jit
def offsets_block(counts, offsets):
    """Write the sums of all counts before each one, and behind them the sum of all; one block."""
    sums = cuda.shared.array(SCAN_THREADS, int64)
    thread = cuda.threadIdx.x
    share = (len(counts) + SCAN_THREADS - 1) // SCAN_THREADS
    first, last = thread * share, min((thread + 1) * share, len(counts))
    total = int64(0)
    for tile in range(first, last):
        total += counts[tile]
    sums[thread] = total
    cuda.syncthreads()
    width = 1
    while width < SCAN_THREADS:
        other = sums[thread - width] if thread >= width else int64(0)
        cuda.syncthreads()
        sums[thread] += other
        cuda.syncthreads()
        width *= 2
    before = sums[thread] - total
    for tile in range(first, last):
        offsets[tile] = before
        before += counts[tile]
    if thread == SCAN_THREADS - 1:
        offsets[len(counts)] = before


def _write_kernel(dtype):
    @cuda.jit
    def write_runs_warp(values, scale, runs, places, offsets, result):
        """Write the segments that start in one tile a block: rows of starts, ends and sums."""
        stage = cuda.shared.array(STAGED, dtype)
        words, crossing = runs
        lane, tile, run = cuda.threadIdx.x, cuda.blockIdx.x, int64(cuda.grid(1))
        if offsets[tile] == offsets[tile + 1]:
            return
        first, position, place = int64(tile) * TILE, run * RUN, offsets[tile] + places[run]
        whole, total = first + TILE <= len(values), int64(0)
        fetched = fetch(values, first, whole)
        for piece in range(PIECES):
            put(stage, fetched)
            if piece + 1 < PIECES:
                fetched = fetch(values, first + (piece + 1) * PIECE, whole)
            starts, lasts = words[tile, _slot(0, piece)], words[tile, _slot(1, piece)]
            for k in range(PIECE):
                if starts & uint32(1):
                    result[0, place], total = position, int64(0)
                total += to_units(stage[lane * STRIDE + k], scale)
                position += 1
                if lasts & uint32(1):
                    result[1, place], result[2, place] = position, total
                    place += 1
                starts, lasts = starts >> uint32(1), lasts >> uint32(1)
        if crossing[run, CROSS_END] > 0:
            for column in range(3):
                result[column, place] = crossing[run, column]

    return write_runs_warp


WRITE = {np.dtype(str(kind)): _write_kernel(kind) for kind in (int32, int64, float32, float64)}


class Part(NamedTuple):
    """What is known of neighbouring values on one GPU, all arrays there.

    Parameters
    ----------
    values : array of int32, int64, float32 or float64
    words : uint32 array, shape (tiles, words of a tile)
        Bits of the segments of the runs on their own, by kind, piece and lane.
    crossing : int64 array, shape (runs, 3)
        Start, end and sum of a segment beyond its run, by the run that it starts in; end 0 if
        there is none. One that lies in another one may be among them.
    farthest : int64 array, shape (tiles,)
        The largest end of those that start in the tile, 0 without any.
    """

    values: object
    words: object
    crossing: object
    farthest: object


class Level(NamedTuple):
    """Lists of open segments on a GPU; see `list_runs_warp`."""

    lists: object
    rows: object
    counters: object


def _new_level(n_lists: int, rows) -> Level:
    counters = cuda.to_device(np.zeros(2, np.int64))
    return Level(cuda.device_array((n_lists, 3), np.int64), rows, counters)


def _rows(capacity: int):
    return cuda.device_array((4, max(capacity, 1)), np.int64)


def list_part(values, scale) -> tuple[Part, Level]:
    """List the segments of an array on the current GPU; return them and the one list left."""
    tiles = -(-len(values) // TILE)
    part = Part(
        values, cuda.device_array((tiles, _KEPT), np.uint32),
        cuda.device_array((tiles * THREADS, 3), np.int64), cuda.device_array(tiles, np.int64),
    )  # fmt: skip
    kernel = LIST_NARROW if values.dtype == np.int32 else LIST_WIDE[values.dtype]
    capacity = len(values) // VALUES_PER_ROW + TILE
    while True:
        runs = _new_level(tiles * THREADS, _rows(capacity))
        kernel[tiles, THREADS](values, scale, part[1:], *runs)
        top = _merge_all(part, runs)
        used, too_large = runs.counters.copy_to_host().tolist()
        if not too_large and used <= capacity:
            return part, top
        capacity = max(used, capacity)
        kernel = LIST_WIDE[values.dtype] if too_large else kernel


def _merge_all(part: Part, level: Level) -> Level:
    """Merge lists until one is left."""
    spare = _rows(level.rows.shape[1])
    while level.lists.shape[0] > 1:
        groups = -(-level.lists.shape[0] // FAN)
        merged = _new_level(groups, spare)
        blocks = -(-groups // MERGE_THREADS)
        merge_lists_thread[blocks, MERGE_THREADS](level, merged, part.crossing, part.farthest)
        level, spare = merged, level.rows
    return level


def write_part(part: Part, scale, seed: int = 0):
    """Return starts, ends and sums of a part's segments, shape (3, k), on the current GPU.

    Parameters
    ----------
    part : Part
    scale : int64 or float64
    seed : int
        Where a segment from before the part ends in it, 0 without one.
    """
    values, words, crossing, farthest = part
    tiles, runs = words.shape[0], crossing.shape[0]
    enters, counts = cuda.device_array(tiles, np.int64), cuda.device_array(tiles, np.int64)
    places, offsets = cuda.device_array(runs, np.int32), cuda.device_array(tiles + 1, np.int64)
    enter_block[1, SCAN_THREADS](farthest, seed, enters)
    count_runs_warp[tiles, THREADS](words, crossing, enters, places, counts)
    offsets_block[1, SCAN_THREADS](counts, offsets)
    result = cuda.device_array((3, int(offsets[tiles])), np.int64)
    if result.size:
        arguments = (values, scale, (words, crossing), places, offsets, result)
        WRITE[values.dtype][tiles, THREADS](*arguments)
    return result


def search(values, scale):
    """Return starts, ends and sums in units of an array on the current GPU, there too.

    Parameters
    ----------
    values : device array of int32, int64, float32 or float64
    scale : int64 or float64

    Returns
    -------
    device array of int64, shape (3, k)
    """
    part, _ = list_part(values, scale)
    return write_part(part, scale)


def _open_rows(number: int, first: int, top: Level) -> NDArray[np.int64]:
    """Return the open segments of a part that begins at value `first`, as `cross` takes them."""
    offset, count, _ = top.lists.copy_to_host()[0].tolist()
    rows = top.rows.copy_to_host()[:, offset : offset + count]
    rows[[START, END]] += first
    return np.column_stack((np.full(count, number), rows.T))


def _enter(part: Part, first: int, crossing: Crossing) -> int:
    """Tell a part of the segment that leaves it, and return where one ends in it that enters."""
    last = first + len(part.values)
    for start, end, score in zip(*crossing, strict=True):
        if first <= start < last < end:
            row = np.array([[start - first, end - first, score]])
            run = int(start - first) // RUN
            part.crossing[run : run + 1].copy_to_device(row)
            tile = run // THREADS
            part.farthest[tile : tile + 1].copy_to_device(row[0, 1:2])
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
        part, top = list_part(cuda.to_device(values[slice(*share)]), scale)
        return part, _open_rows(number, share[0], top), top.lists.copy_to_host()[0, TOTAL]

    listed = on_each(ordinals, list_share, range(len(bounds)), bounds)
    parts, opened, totals = zip(*listed, strict=True)
    crossing = cross(np.concatenate(opened), np.array(totals), 0)

    def write_share(share: tuple[int, int], part: Part) -> NDArray[np.int64]:
        found = write_part(part, scale, _enter(part, share[0], crossing)).copy_to_host()
        found[[START, END]] += share[0]
        return found

    return tuple(np.concatenate(on_each(ordinals, write_share, bounds, parts), axis=1))
