"""All maximal scoring segments on a GPU: a list a thread, merged within the block's tile.

As on the CPU, a tile's own segments are maximal in the whole unless they are part of one that
crosses an end of the tile; those are found by the host among the few that may grow. Segments are
kept as two bits a value, where one starts and where one ends, until their number is known.
"""

from __future__ import annotations

import numpy as np
from numba import cuda, int16, int32, int64, njit, uint32
from numpy.typing import NDArray

from gpu_tools.device import simulated
from gpu_tools.segments import core
from gpu_tools.segments.maximal_cpu import Crossing, cross

WORD = 32
"""Values of a thread, one bit each."""
THREADS = 4 if simulated() else 128
FAN = 2 if simulated() else 8
"""Lists that one thread merges into one."""
TILE = THREADS * WORD
LIST = WORD // 2
SCAN_THREADS = 4 if simulated() else 1024
_PREFIX = (WORD + 1) * THREADS + 1  # a gap before each thread's values: different banks
_LISTS = LIST * THREADS
_WORDS = (2, THREADS)
OFFSET, COUNT = range(2)
ENTER, LEAVE, CROSSING_END, CROSSING_SCORE = range(4)

to_units = cuda.jit(device=True)(core.to_units)
push = cuda.jit(device=True)(core.push)
keep_open = cuda.jit(device=True)(core.keep_open)


@cuda.jit(device=True)
def _slot(index):
    """Return where a prefix index of the tile stands in shared memory."""
    return index + index // WORD


@cuda.jit(device=True)
def _index(slot):
    return slot - slot // (WORD + 1)


@cuda.jit(device=True)
def _scan(value, sums, threads):
    """Return the sum of the values of all threads up to this one; `sums` is shared."""
    thread, width = cuda.threadIdx.x, 1
    while width < threads:
        sums[thread] = value
        cuda.syncthreads()
        if thread >= width:
            value += sums[thread - width]
        cuda.syncthreads()
        width *= 2
    return value


@cuda.jit(device=True)
def _fill_prefix(values, scale, first, prefix, sums):
    """Write the tile's prefix sums to shared memory, those of values behind the last as well."""
    thread = cuda.threadIdx.x
    for k in range(thread, TILE, THREADS):
        here = first + k
        prefix[_slot(k + 1)] = to_units(values[here], scale) if here < len(values) else int64(0)
    cuda.syncthreads()
    total = int64(0)
    for k in range(thread * WORD + 1, (thread + 1) * WORD + 1):
        total += prefix[_slot(k)]
        prefix[_slot(k)] = total
    before = _scan(total, sums, THREADS) - total
    for k in range(thread * WORD + 1, (thread + 1) * WORD + 1):
        prefix[_slot(k)] += before
    if thread == 0:
        prefix[0] = 0
    cuda.syncthreads()


@cuda.jit(device=True)
def _clear(words, start, end):
    """Clear the bits of segments within (start, end), but not its own first and last."""
    for which in range(2):
        low, high = (start + 1, end) if which == 0 else (start, end - 1)
        for word in range(low // WORD, (high - 1) // WORD + 1):
            first, last = max(low - word * WORD, 0), min(high - word * WORD, WORD)
            mask = ((int64(1) << last) - 1) ^ ((int64(1) << first) - 1)
            words[which, word] = uint32(int64(words[which, word]) & ~mask)


@cuda.jit(device=True)
def _list_word(prefix, starts, ends, links, words):
    """List the maximal segments of the thread's own values and mark them; return their number."""
    thread = cuda.threadIdx.x
    base, count = thread * LIST, 0
    for k in range(thread * WORD, (thread + 1) * WORD):
        if prefix[_slot(k + 1)] > prefix[_slot(k)]:
            count = push(
                prefix, starts, ends, links, base, count, int16(_slot(k)), int16(_slot(k + 1))
            )
    first, last = int64(0), int64(0)
    for k in range(base, base + count):
        first |= int64(1) << (_index(starts[k]) - thread * WORD)
        last |= int64(1) << (_index(ends[k]) - 1 - thread * WORD)
    words[0, thread], words[1, thread] = uint32(first), uint32(last)
    return count


@cuda.jit(device=True)
def _merge(prefix, starts, ends, links, words, counts, child, width):
    """Merge the lists of the threads from this one on, `child` threads a list; return the length.

    The result replaces the first list; it never overtakes what is still to be read.
    """
    thread = cuda.threadIdx.x
    base, count = thread * LIST, 0
    for other in range(thread, thread + width, child):
        for k in range(other * LIST, other * LIST + counts[other]):
            count = push(prefix, starts, ends, links, base, count, starts[k], ends[k])
    for k in range(base, base + count):
        start, end = _index(starts[k]), _index(ends[k])
        if start // (WORD * child) != (end - 1) // (WORD * child):
            _clear(words, start, end)
    return count


@cuda.jit
def list_block(values, scale, words, lists, rows, used, totals):
    """List the maximal segments of one tile a block.

    Parameters
    ----------
    values : array of int32, int64, float32 or float64
    scale : int64 or float64
    words : uint32 array, shape (2, tiles * threads)
        Filled in: bits of starts, bits of last values.
    lists : int64 array, shape (tiles, 2)
        Filled in: where the tile's open segments stand in `rows` and how many they are.
    rows : int64 array, shape (capacity, 4)
        Filled in: start, end, sum before and after of open segments, from the tile's start.
    used : int64 array, shape (1,)
        Raised by the number of open segments; more than `rows` holds are not stored.
    totals : int64 array, shape (tiles,)
        Filled in: sums.
    """
    prefix = cuda.shared.array(_PREFIX, int64)
    sums = cuda.shared.array(THREADS, int64)
    starts = cuda.shared.array(_LISTS, int16)
    ends = cuda.shared.array(_LISTS, int16)
    links = cuda.shared.array(_LISTS, int16)
    counts = cuda.shared.array(THREADS, int32)
    bits = cuda.shared.array(_WORDS, uint32)
    thread, tile = cuda.threadIdx.x, cuda.blockIdx.x
    _fill_prefix(values, scale, int64(tile) * TILE, prefix, sums)
    count, width = _list_word(prefix, starts, ends, links, bits), 1
    while True:
        if thread % width == 0:
            low, high = prefix[_slot(thread * WORD)], prefix[_slot((thread + width) * WORD)]
            counts[thread] = keep_open(prefix, starts, ends, thread * LIST, count, low, high)
        cuda.syncthreads()
        if width == THREADS:
            break
        child, width = width, min(width * FAN, THREADS)
        if thread % width == 0:
            count = _merge(prefix, starts, ends, links, bits, counts, child, width)
        cuda.syncthreads()
    for which in range(2):
        words[which, tile * THREADS + thread] = bits[which, thread]
    if thread == 0:
        offset = cuda.atomic.add(used, 0, int64(counts[0]))
        lists[tile, OFFSET], lists[tile, COUNT] = offset, counts[0]
        totals[tile] = prefix[_slot(TILE)]
        for k in range(min(int64(counts[0]), len(rows) - offset)):
            rows[offset + k, 0], rows[offset + k, 1] = _index(starts[k]), _index(ends[k])
            rows[offset + k, 2], rows[offset + k, 3] = prefix[starts[k]], prefix[ends[k]]


@cuda.jit(device=True)
def _surviving(word, position, bound):
    """Return the bits of a word that belong to no segment across an end of the tile."""
    low = min(max(bound[ENTER] - position, int64(0)), int64(WORD))
    high = min(max(bound[LEAVE] - position, int64(0)), int64(WORD))
    if high <= low:
        return int64(0)
    return int64(word) & (((int64(1) << high) - 1) ^ ((int64(1) << low) - 1))


@cuda.jit
def count_block(words, bounds, counts):
    """Count the segments that start in one tile a block."""
    total = cuda.shared.array(1, int32)
    thread, tile = cuda.threadIdx.x, int64(cuda.blockIdx.x)
    if thread == 0:
        total[0] = 1 if bounds[tile, CROSSING_END] > 0 else 0
    cuda.syncthreads()
    position = (tile * THREADS + thread) * WORD
    bits = _surviving(words[0, tile * THREADS + thread], position, bounds[tile])
    cuda.atomic.add(total, 0, int32(cuda.popc(bits)))
    cuda.syncthreads()
    if thread == 0:
        counts[tile] = total[0]


@cuda.jit
def offsets_block(counts, offsets):
    """Write the sums of all counts before each one, and behind them the sum of all; one block."""
    sums = cuda.shared.array(SCAN_THREADS, int64)
    thread = cuda.threadIdx.x
    share = (len(counts) + SCAN_THREADS - 1) // SCAN_THREADS
    first, last = thread * share, min((thread + 1) * share, len(counts))
    total = int64(0)
    for k in range(first, last):
        total += counts[k]
    before = _scan(total, sums, SCAN_THREADS) - total
    for k in range(first, last):
        offsets[k] = before
        before += counts[k]
    if thread == SCAN_THREADS - 1:
        offsets[len(counts)] = before


@cuda.jit
def write_block(values, scale, words, bounds, offsets, result):
    """Write the segments that start in one tile a block: rows of starts, ends and sums."""
    prefix = cuda.shared.array(_PREFIX, int64)
    sums = cuda.shared.array(THREADS, int64)
    lasts = cuda.shared.array(THREADS, int64)
    thread, tile = cuda.threadIdx.x, int64(cuda.blockIdx.x)
    if offsets[tile] == offsets[tile + 1]:
        return
    _fill_prefix(values, scale, tile * TILE, prefix, sums)
    at = tile * THREADS + thread
    bits = _surviving(words[0, at], at * WORD, bounds[tile])
    lasts[thread] = int64(words[1, at])
    count = int64(cuda.popc(bits))
    place = offsets[tile] + _scan(count, sums, THREADS) - count
    while bits != 0:
        start = thread * WORD + int64(cuda.ffs(bits)) - 1
        bits &= bits - 1
        word = thread
        ahead = lasts[word] & ~((int64(1) << (start - thread * WORD)) - 1)
        while ahead == 0:
            word += 1
            ahead = lasts[word]
        end = word * WORD + int64(cuda.ffs(ahead))
        result[0, place], result[1, place] = tile * TILE + start, tile * TILE + end
        result[2, place] = prefix[_slot(end)] - prefix[_slot(start)]
        place += 1
    if thread == 0 and bounds[tile, CROSSING_END] > 0:
        place = offsets[tile + 1] - 1
        result[0, place], result[1, place] = bounds[tile, LEAVE], bounds[tile, CROSSING_END]
        result[2, place] = bounds[tile, CROSSING_SCORE]


def bounds_of(crossing: Crossing, tiles: int) -> NDArray[np.int64]:
    """Return what crosses the ends of each tile, shape (tiles, 4).

    Where a segment from the left ends, where one to the right starts, that one's end (0 if there is
    none) and its sum.
    """
    bounds = np.zeros((tiles, 4), np.int64)
    bounds[:, LEAVE] = np.iinfo(np.int64).max
    first, last = crossing.starts // TILE, (crossing.ends - 1) // TILE
    bounds[first, LEAVE], bounds[first, CROSSING_END] = crossing.starts, crossing.ends
    bounds[first, CROSSING_SCORE] = crossing.scores
    # a segment holds the tiles behind its first one; each starts behind the last tile's begin
    span = last - first
    held = (
        np.repeat(first + 1, span) + np.arange(span.sum()) - np.repeat(span.cumsum() - span, span)
    )
    bounds[held, ENTER] = np.repeat(crossing.ends, span)
    return bounds


def _list(values, scale, capacity: int):
    """Run `list_block`; return the words, and on the host lists, rows, their number and totals."""
    tiles = -(-len(values) // TILE)
    words = cuda.device_array((2, tiles * THREADS), np.uint32)
    lists = cuda.device_array((tiles, 2), np.int64)
    rows = cuda.device_array((capacity, 4), np.int64)
    used, totals = cuda.to_device(np.zeros(1, np.int64)), cuda.device_array(tiles, np.int64)
    list_block[tiles, THREADS](values, scale, words, lists, rows, used, totals)
    n_rows = int(used.copy_to_host()[0])
    if n_rows > capacity:
        return _list(values, scale, n_rows)
    return words, lists.copy_to_host(), rows[:n_rows].copy_to_host(), totals.copy_to_host()


@njit(cache=True, nogil=True)
def _opened(lists, rows):
    """Return the open segments in the order of the tiles, with the tile before each."""
    opened, n_open = np.empty((len(rows), 5), np.int64), 0
    for tile in range(len(lists)):
        offset = lists[tile, OFFSET]
        for k in range(offset, offset + lists[tile, COUNT]):
            opened[n_open, 0] = tile
            for column in range(4):
                opened[n_open, column + 1] = rows[k, column]
            n_open += 1
    return opened


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
    tiles = -(-len(values) // TILE)
    words, lists, rows, totals = _list(values, scale, capacity=max(len(values) // 64, 64))
    crossing = cross(_opened(lists, rows), totals, TILE)
    bounds = cuda.to_device(bounds_of(crossing, tiles))
    counts = cuda.device_array(tiles, np.int32)
    count_block[tiles, THREADS](words, bounds, counts)
    offsets = cuda.device_array(tiles + 1, np.int64)
    offsets_block[1, SCAN_THREADS](counts, offsets)
    result = cuda.device_array((3, int(offsets[tiles])), np.int64)
    if result.size:
        write_block[tiles, THREADS](values, scale, words, bounds, offsets, result)
    return result


def maximal(values: NDArray, scale, ordinal: int) -> tuple[NDArray[np.int64], ...]:
    """Return starts, ends and sums in units of all maximal scoring segments, in order."""
    with cuda.gpus[ordinal]:
        return tuple(search(cuda.to_device(values), scale).copy_to_host())
