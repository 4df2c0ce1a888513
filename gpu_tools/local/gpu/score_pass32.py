"""The score pass on a GPU in 32-bit cells.

The lanes of a warp hold neighbouring rows in registers, and columns stream past.

The matrix is cut into strips of as many rows as a warp owns, and strips into blocks of columns.
Blocks on one anti-diagonal are independent: a launch fills them all, a warp each. A
block reads the row above it from memory and writes its last row there; the state of its lanes is
stored in memory for the next block of the strip. A block is skipped if no score that comes in can
reach the threshold up to the last row or column; then 0 comes out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import cuda, int32, uint32
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.words import WARP, any_lane, kernel, shuffle, shuffle_up
from gpu_tools.local.gpu.packed import NOT_REACHED
from gpu_tools.local.problem import ALL, Problem, Threshold

ROWS = 2 if simulated() else 8
"""Rows of a lane; few in the simulator, so that small tests have strips."""
STRIP = WARP * ROWS
BLOCK = 2 * WARP if simulated() else 512
"""Columns of a block, whole chunks of a warp."""
_TABLE_SIDE = 28
"""Codes of the score table, padding being the last."""
_TABLE = _TABLE_SIDE * _TABLE_SIDE
_PAD = _TABLE_SIDE - 1
_OPEN, _EXTEND = range(2)
_NO_PAIR = -(2**30)
"""Score of padding: below any other, and 32 bits hold its sum with a score."""


class BlockPosition(NamedTuple):
    """The anti-diagonal of blocks that a launch fills, its first strip, and the side of a tile."""

    diagonal: int
    first_strip: int
    side: int


class Pruning32(NamedTuple):
    """Inputs of skipping: does the threshold rise, largest score of a pair, size of the matrix."""

    rises: int
    gain: int
    rows: int
    columns: int


class LaneCells32(NamedTuple):
    """A lane's rows: best scores, gaps of the query, and where each row's scores begin."""

    best: Any
    gaps: Any
    letters: Any


@cuda.jit(device=True)
def _highest(state, row, strip, start):
    """Return the highest score that comes into a lane's part of a block."""
    lane = int32(cuda.threadIdx.x)
    highest = state[strip, 2 * ROWS, 0]
    for c in range(ROWS):
        highest = max(highest, state[strip, c, lane])
    for k in range(lane, int32(BLOCK), int32(WARP)):
        highest = max(highest, row[0, uint32(start + k)])
    return highest


@cuda.jit(device=True)
def _skip(state, row, strip, start):
    """Write 0 for the blocks behind a skipped block."""
    lane = int32(cuda.threadIdx.x)
    for c in range(2 * ROWS + 1):
        state[strip, c, lane] = int32(0)
    for k in range(lane, int32(BLOCK), int32(WARP)):
        row[0, uint32(start + k)] = int32(0)
        row[1, uint32(start + k)] = int32(0)


@cuda.jit(device=True)
def _load(cells, state, query, strip, first_row):
    """Load the state of a lane's rows after the block before."""
    lane = int32(cuda.threadIdx.x)
    for c in range(ROWS):
        cells.best[c] = state[strip, c, lane]
        cells.gaps[c] = state[strip, c + ROWS, lane]
        cells.letters[c] = int32(query[uint32(first_row + c)]) * int32(_TABLE_SIDE)


@cuda.jit(device=True)
def _store(cells, state, strip, above):
    """Store a lane's rows for the next block of the strip; `above` is as lane 0 has it."""
    lane = int32(cuda.threadIdx.x)
    for c in range(ROWS):
        state[strip, c, lane] = cells.best[c]
        state[strip, c + ROWS, lane] = cells.gaps[c]
    if lane == 0:
        state[strip, 2 * ROWS, 0] = above


@cuda.jit(device=True)
def _fill_column(cells, scores, letter, diagonal, above, largest):
    """Fill a lane's rows of a column; return its last best score and gap, and the largest score."""
    # best(i, j) = max(0, best(i-1, j-1) + pair(i, j), gap of query, gap of subject)
    # gap(i, j) = max(best - open, gap - extend) of the cell before or above
    table, opens, extends = scores
    best, gaps, letters = cells
    up, up_gap = above
    for c in range(ROWS):
        pair = int32(diagonal + table[uint32(letters[c] + letter)])
        gap = max(int32(best[c] - opens), int32(gaps[c] - extends))
        up_gap = max(int32(up - opens), int32(up_gap - extends))
        up = max(max(max(pair, gap), int32(0)), up_gap)
        diagonal = best[c]
        best[c] = up
        gaps[c] = gap
        largest = max(largest, up)
    return up, up_gap, largest


@cuda.jit(device=True)
def _raise_tile(most, limits, tile, largest, reached):
    """Raise a tile's largest score and, above the score `reached`, the threshold."""
    if largest > 0:
        cuda.atomic.max(most, tile, largest)
    if largest > reached:
        cuda.atomic.max(limits, 0, largest)


@kernel()
def fill_blocks_warp(symbols, scores, state, row, most, limits, block, pruning):
    """Fill the blocks of one anti-diagonal; a thread block is one warp and fills one of them."""
    # symbols: codes of query and subject, padded to whole strips and blocks
    # scores: the penalties, then the scores by query and subject code, 28 * 28
    # state (strips, 2 * ROWS + 1, WARP): best scores and gaps of the query in each strip's last
    #   column; then the best score above and left of the strip's next block
    # row (2, columns): best scores and gaps of the subject in the last row filled
    # most (tiles down, tiles across): raised to the largest score of each tile
    # limits (1,): threshold, which rises to the best score if only the best alignment is requested
    query, subject = symbols
    table = cuda.shared.array(_TABLE, int32)
    scratch = cuda.shared.array(WARP, int32)
    best = cuda.local.array(ROWS, int32)
    gaps = cuda.local.array(ROWS, int32)
    letters = cuda.local.array(ROWS, int32)
    cells = LaneCells32(best, gaps, letters)
    lane = int32(cuda.threadIdx.x)
    side = block.side
    strip = int32(block.first_strip + cuda.blockIdx.x)
    start = int32(int32(block.diagonal - strip) * int32(BLOCK))
    first_row = int32(strip * int32(STRIP) + lane * int32(ROWS))
    rest = int32(pruning.rows - strip * int32(STRIP)), int32(pruning.columns - start)
    more = pruning.gain * min(rest[0], rest[1])
    reached = limits[0] if pruning.rises else int32(NOT_REACHED)
    if not any_lane(_highest(state, row, strip, start) >= int32(limits[0] - more)):
        _skip(state, row, strip, start)
        return
    opens, extends = scores[uint32(_OPEN)], scores[uint32(_EXTEND)]
    for k in range(lane, int32(_TABLE), int32(WARP)):
        table[k] = scores[uint32(k + 2)]
    cuda.syncthreads()
    _load(cells, state, query, strip, first_row)
    above = shuffle_up(best[ROWS - 1], scratch)
    if lane == 0:
        above = state[strip, 2 * ROWS, 0]
    bottom, bottom_gap, arriving, arriving_gap = int32(0), int32(0), int32(0), int32(0)
    largest = int32(0)
    tile_row = uint32(first_row // side)
    for step in range(int32(0), int32(BLOCK + WARP - 1)):
        chunk = int32(step & int32(WARP - 1))
        if chunk == 0 and step < BLOCK:
            arriving = row[0, uint32(start + step + lane)]
            arriving_gap = row[1, uint32(start + step + lane)]
        up, up_gap = shuffle_up(bottom, scratch), shuffle_up(bottom_gap, scratch)
        top, top_gap = shuffle(arriving, chunk, scratch), shuffle(arriving_gap, chunk, scratch)
        column = int32(step - lane)
        if column >= 0 and column < BLOCK:
            if lane == 0:
                up, up_gap = top, top_gap
            at = int32(start + column)
            letter = int32(subject[uint32(at)])
            diagonal = above
            above = up
            bottom, bottom_gap, largest = _fill_column(
                cells, (table, opens, extends), letter, diagonal, (up, up_gap), largest
            )
            if lane == WARP - 1:
                row[0, uint32(at)] = bottom
                row[1, uint32(at)] = bottom_gap
            if column == BLOCK - 1 or int32((at + int32(1)) & int32(side - int32(1))) == 0:
                _raise_tile(most, limits, (tile_row, uint32(at // side)), largest, reached)
                largest = int32(0)
    _store(cells, state, strip, above)


def score_pass(problem: Problem, side: int, threshold: Threshold = ALL) -> NDArray[np.int32]:
    """Return the largest score of each tile, found on the current GPU; see `ScoreLaunch`."""
    rows, columns = problem.shape
    strips, blocks = -(-rows // STRIP), -(-columns // BLOCK)
    width = blocks * BLOCK
    symbols = _padded(problem.query, strips * STRIP), _padded(problem.subject, width)
    symbols = tuple(map(cuda.to_device, symbols))
    scores = cuda.to_device(_scores(problem))
    limits = cuda.to_device(np.array([threshold.least], dtype=np.int32))
    gain = int(problem.table.max())
    pruning = Pruning32(*map(np.int32, (threshold.only_best, gain, rows, columns)))
    tiles = -(-strips * STRIP // side), -(-width // side)
    state, row, most = (
        cuda.to_device(np.zeros(shape, dtype=np.int32))
        for shape in ((strips, 2 * ROWS + 1, WARP), (2, width), tiles)
    )
    for diagonal in range(strips + blocks - 1):
        first = max(0, diagonal - blocks + 1)
        count = min(diagonal, strips - 1) - first + 1
        block = BlockPosition(*map(np.int32, (diagonal, first, side)))
        fill_blocks_warp[count, WARP](symbols, scores, state, row, most, limits, block, pruning)
    return most.copy_to_host()[: -(-rows // side), : -(-columns // side)]


def _padded(codes: NDArray[np.uint8], length: int) -> NDArray[np.uint8]:
    padded = np.full(length, _PAD, dtype=np.uint8)
    padded[: len(codes)] = codes
    return padded


def _scores(problem: Problem) -> NDArray[np.int32]:
    table = np.full((_TABLE_SIDE, _TABLE_SIDE), _NO_PAIR, dtype=np.int32)
    size = len(problem.table)
    table[:size, :size] = problem.table
    penalties = np.array([problem.gap_open, problem.gap_extend], dtype=np.int32)
    return np.concatenate([penalties, table.ravel()])
