"""All maximal scoring segments on a CPU: Ruzzo and Tompa's list for each chunk, then across them.

A segment that is maximal in its chunk is maximal in the whole, unless it is part of one that
crosses an end of the chunk. Those are found among the few segments of each chunk that could grow
(`core.keep_open`), by one more list over all chunks.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import int64, njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.segments import recurrence as core

CHUNK = 1 << 13
SHARES_PER_THREAD = 4
"""More shares than threads, so that a thread that is held up holds up a part of its work only."""
CHUNK_INDEX, START, END, LOW, HIGH = range(5)
"""Columns of the open segments; positions count from the chunk's start, sums too."""

to_units = register_jitable(core.to_units)
push = njit(core.push, nogil=True)
keep_open = njit(core.keep_open, nogil=True)


class Chunks(NamedTuple):
    """The maximal segments of each chunk on its own; positions count from the chunk's start.

    `slots` places a chunk may need are reserved for each; sums are in units.
    """

    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    scores: NDArray[np.int64]
    counts: NDArray[np.int64]
    totals: NDArray[np.int64]
    slots: int


class Crossing(NamedTuple):
    """The maximal segments that cross an end of a chunk, in order; positions count from value 0."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    scores: NDArray[np.int64]


def empty_chunks(n: int) -> Chunks:
    """Return room for the segments of `n` values; pages that stay empty cost nothing."""
    chunks, slots = -(-n // CHUNK), CHUNK // 2
    return Chunks(
        np.empty(chunks * slots, np.int32), np.empty(chunks * slots, np.int32),
        np.empty(chunks * slots, np.int64), np.zeros(chunks, np.int64),
        np.zeros(chunks, np.int64), slots,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def list_chunks(values, scale, first, last, chunks):
    """Fill in the chunks `first` to ``last - 1`` and return their open segments.

    Parameters
    ----------
    values : array of int32, int64, float32 or float64
    scale : int64 or float64
    first, last : int
    chunks : Chunks

    Returns
    -------
    int64 array, shape (k, 5)
        The segments that may grow beyond their chunk.
    """
    local_starts, local_ends, scores = chunks.starts, chunks.ends, chunks.scores
    counts, totals, slots = chunks.counts, chunks.totals, chunks.slots
    prefix = np.empty(CHUNK + 1, np.int64)
    starts, ends = np.empty(slots + 1, np.int32), np.empty(slots + 1, np.int32)
    links = np.empty(slots + 1, np.int32)
    opened, n_open = np.empty((1024, 5), np.int64), 0
    for chunk in range(first, last):
        begin, end = chunk * CHUNK, min((chunk + 1) * CHUNK, len(values))
        total, count = int64(0), 0
        prefix[0] = 0
        for k in range(end - begin):
            value = to_units(values[begin + k], scale)
            total += value
            prefix[k + 1] = total
            if value > 0:
                count = push(prefix, starts, ends, links, 0, count, k, k + 1)
        for k in range(count):
            local_starts[chunk * slots + k] = starts[k]
            local_ends[chunk * slots + k] = ends[k]
            scores[chunk * slots + k] = prefix[ends[k]] - prefix[starts[k]]
        counts[chunk], totals[chunk] = count, total
        kept = keep_open(prefix, starts, ends, 0, count, int64(0), total)
        while n_open + kept > len(opened):
            larger = np.empty((2 * len(opened), 5), np.int64)
            larger[:n_open] = opened[:n_open]
            opened = larger
        for k in range(kept):
            opened[n_open, CHUNK_INDEX] = chunk
            opened[n_open, START], opened[n_open, END] = starts[k], ends[k]
            opened[n_open, LOW], opened[n_open, HIGH] = prefix[starts[k]], prefix[ends[k]]
            n_open += 1
    return opened[:n_open].copy()


@njit(cache=True, nogil=True)
def list_open(prefix):
    """Return which open segments first and last make up each segment that crosses a chunk's end.

    Parameters
    ----------
    prefix : int64 array, shape (2 k,)
        Sums before and after each of the k open segments.

    Returns
    -------
    starts, ends : int64 array
        Indices into `prefix`.
    """
    k_open = len(prefix) // 2
    starts, ends = np.empty(k_open, np.int64), np.empty(k_open, np.int64)
    links = np.empty(k_open, np.int64)
    count = 0
    for k in range(k_open):
        count = push(prefix, starts, ends, links, 0, count, 2 * k, 2 * k + 1)
    # segments of one chunk never merge, so what was merged crosses
    crossing = starts[:count] // 2 != ends[:count] // 2
    return starts[:count][crossing], ends[:count][crossing]


@njit(cache=True, nogil=True)
def _from_value_0(opened, before, chunk):
    """Return sums and positions of open segments' ends, two a segment, from value 0 on."""
    prefix, positions = np.empty(2 * len(opened), np.int64), np.empty(2 * len(opened), np.int64)
    for k in range(len(opened)):
        index = opened[k, CHUNK_INDEX]
        prefix[2 * k] = before[index] + opened[k, LOW]
        prefix[2 * k + 1] = before[index] + opened[k, HIGH]
        positions[2 * k] = chunk * index + opened[k, START]
        positions[2 * k + 1] = chunk * index + opened[k, END]
    return prefix, positions


def cross(opened: NDArray[np.int64], totals: NDArray[np.int64], chunk: int = CHUNK) -> Crossing:
    """Find the segments that cross an end of a chunk.

    Parameters
    ----------
    opened : int64 array, shape (k, 5)
        Open segments of all chunks, in order.
    totals : int64 array
        Each chunk's sum.
    chunk : int
        Values of a chunk.

    Returns
    -------
    Crossing
    """
    prefix, positions = _from_value_0(opened, np.cumsum(totals) - totals, chunk)
    starts, ends = list_open(prefix)
    return Crossing(positions[starts], positions[ends], prefix[ends] - prefix[starts])


def bounds(crossing: Crossing, n_chunks: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each chunk where a segment from the left ends and where one to the right starts.

    The bounds count from value 0; without such a segment they are the chunk's own ends or beyond.
    """
    enter = np.zeros(n_chunks, np.int64)
    leave = np.full(n_chunks, np.iinfo(np.int64).max)
    for start, end in zip(crossing.starts, crossing.ends, strict=True):
        first, last = start // CHUNK, (end - 1) // CHUNK
        leave[first] = start
        enter[first + 1 : last + 1] = end
    return enter, leave


@njit(cache=True, nogil=True)
def surviving(chunks, enter, leave, first, last, firsts, counts):
    """Write for chunks `first` to ``last - 1`` which of their own segments cross no end."""
    starts, n_local, slots = chunks.starts, chunks.counts, chunks.slots
    for chunk in range(first, last):
        begin = chunk * CHUNK
        own = starts[chunk * slots : chunk * slots + n_local[chunk]]
        low = np.searchsorted(own, max(enter[chunk] - begin, 0))
        high = np.searchsorted(own, min(leave[chunk] - begin, CHUNK))
        firsts[chunk], counts[chunk] = low, max(high - low, 0)


@njit(cache=True, nogil=True)
def collect(chunks, firsts, counts, offsets, first, last, result):
    """Copy the surviving segments of chunks `first` to ``last - 1`` to their places."""
    local_starts, local_ends, scores = chunks.starts, chunks.ends, chunks.scores
    slots = chunks.slots
    starts, ends, sums = result
    for chunk in range(first, last):
        source, target = chunk * slots + firsts[chunk], offsets[chunk]
        for k in range(counts[chunk]):
            starts[target + k] = chunk * CHUNK + local_starts[source + k]
            ends[target + k] = chunk * CHUNK + local_ends[source + k]
            sums[target + k] = scores[source + k]


def _in_shares(pool: ThreadPoolExecutor, threads: int, count: int, work) -> list:
    """Call ``work(first, last)`` on equal shares of `count`, in order; return what they return."""
    shares = SHARES_PER_THREAD * threads
    bounds = [count * k // shares for k in range(shares + 1)]
    pairs = [(a, b) for a, b in pairwise(bounds) if a < b]
    return list(pool.map(lambda pair: work(*pair), pairs))


def maximal(values: NDArray, scale, threads: int) -> tuple[NDArray[np.int64], ...]:
    """Return starts, ends and sums in units of all maximal scoring segments, in order.

    Parameters
    ----------
    values : array of int32, int64, float32 or float64
    scale : int64 or float64
    threads : int

    Returns
    -------
    tuple of int64 arrays
    """
    chunks = empty_chunks(len(values))
    n_chunks = len(chunks.counts)
    threads = min(threads, n_chunks)
    with ThreadPoolExecutor(threads) as pool:

        def shared(work):
            return _in_shares(pool, threads, n_chunks, work)

        opened = shared(lambda a, b: list_chunks(values, scale, a, b, chunks))
        crossing = cross(np.concatenate(opened), chunks.totals)
        return _put_together(chunks, crossing, shared)


def _put_together(chunks: Chunks, crossing: Crossing, shared) -> tuple[NDArray[np.int64], ...]:
    """Return the segments that cross an end, and those that lie in none of them, in order.

    `shared`: calls ``work(first, last)`` on shares of the chunks.
    """
    n_chunks, starts_in = len(chunks.counts), crossing.starts // CHUNK
    enter, leave = bounds(crossing, n_chunks)
    firsts, counts = np.empty(n_chunks, np.int64), np.empty(n_chunks, np.int64)
    shared(lambda a, b: surviving(chunks, enter, leave, a, b, firsts, counts))
    # a crossing segment stands behind those of the chunk that it starts in
    own = counts + np.bincount(starts_in, minlength=n_chunks)
    offsets = np.cumsum(own) - own
    result = tuple(np.empty(int(own.sum()), np.int64) for _ in range(3))
    shared(lambda a, b: collect(chunks, firsts, counts, offsets, a, b, result))
    places = offsets[starts_in] + counts[starts_in]
    for column, of_crossing in zip(result, crossing, strict=True):
        column[places] = of_crossing
    return result
