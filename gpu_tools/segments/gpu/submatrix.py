"""The maximum submatrix on GPUs: a thread owns 8 x 8 pairs of lines, whose sums stay in registers.

A block owns a tile of pairs and goes through the steps once; prefix sums pass through shared
memory. Cells are float32 where row sums stay below 2^24 units: scaled by 2^-24, a saturating
addition does addition and maximum at once, exactly, unless a sum reaches 1. That shows in the
result, and the search is done again in integers.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import cuda, float32, int32, int64
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.dispatch import map_gpus
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
from gpu_tools.segments.submatrix import Oriented, Tile

CELLS = 8
"""Lower lines of a thread, and as many upper ones."""
GROUPS = 2 if simulated() else 16
WIDTH = CELLS * GROUPS
THREADS = GROUPS * GROUPS
STEPS = 2 if simulated() else 16
"""Steps that are in shared memory at a time: 16 values a thread, which `_fetch_rows` reads."""
SCAN_THREADS = 4 if simulated() else 256
LIMIT_FLOAT32 = 2**24
PAIR_REGISTERS = 128
"""With more registers a multiprocessor holds only one thread block."""
_ROW = 2 * WIDTH
_STAGED = STEPS * _ROW
_ALIGNMENT = None if simulated() else 16  # bytes; the simulator knows none

to_units = cuda.jit(device=True)(core.to_units)


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
    at = 4 * int32(cuda.threadIdx.x + part * THREADS)
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
    to = 4 * int32(cuda.threadIdx.x + part * THREADS)
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


def _kernel(cell):
    @kernel(cell, registers=PAIR_REGISTERS)
    def best_of_pairs_block(prefix, tiles, bests):
        """Write the largest sum of each thread's pairs."""
        # tiles: number of the first block's tile, and the step from block to block
        stage = cuda.shared.array(_STAGED, cell, alignment=_ALIGNMENT)
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


KERNELS = {np.dtype(str(cell)): _kernel(cell) for cell in (float32, int32, int64)}


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
    parts = cuda.shared.array(THREADS, bests.dtype)
    thread, block = cuda.threadIdx.x, cuda.blockIdx.x
    parts[thread] = bests[block, thread]
    width = THREADS // 2
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
    bests = cuda.device_array((len(tiles), THREADS), cell)
    largest = cuda.device_array(len(tiles), cell)
    KERNELS[cell][len(tiles), THREADS](prefix, (tiles.start, tiles.step), bests)
    largest_block[len(tiles), THREADS](bests, largest)
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
