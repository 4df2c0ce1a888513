"""Approximate matching as published: a block of threads a piece of text, a thread a pattern row.

The threads work on an anti-diagonal at a time. What a thread needs from the row above comes

- in `o_asm` through shared memory, with a barrier after each anti-diagonal;
- in `w_scan` by a shuffle, and between warps through one shared word a warp and step, with a
  barrier after each step;
- in `w_shuffle` by a shuffle, and between warps as many values at once as a warp has lanes, with a
  barrier after as many steps.

Pieces overlap by twice the pattern's length. What the description leaves open: the length of the
pieces, chosen so that all resident blocks get one.
"""

from __future__ import annotations

import numpy as np
from numba import cuda, int32, uint32
from numpy.typing import NDArray

from gpu_tools.matching.gpu import multiprocessors

WARP = 32
MOST_ROWS = 1024
_CELLS, _BORDERS = MOST_ROWS + 1, WARP + 1
_ALL = 0xFFFFFFFF
_RING = 128
_ONE = uint32(1)
_DELETION, _INSERTION, _SUBSTITUTION, _PIECE, _OVERLAP = range(5)


@cuda.jit(device=True)
def _cell(diagonal, up, left, equal, costs):
    """Return a cell; every sum is cast, here and below, as numba would go on in 64 bits."""
    deletion, insertion, substitution = costs
    pair = int32(diagonal + (int32(0) if equal else substitution))
    return min(min(pair, int32(up + deletion)), int32(left + insertion))


@cuda.jit(device=True)
def _piece(text, numbers):
    """Return the first symbol of this block's piece, its length, and the costs."""
    piece = numbers[_PIECE]
    begin = max(int32(cuda.blockIdx.x * piece - numbers[_OVERLAP]), int32(0))
    end = min(int32((cuda.blockIdx.x + 1) * piece), int32(len(text)))
    costs = numbers[_DELETION], numbers[_INSERTION], numbers[_SUBSTITUTION]
    return uint32(begin), uint32(end - begin), costs


@cuda.jit
def o_asm(pattern, text, numbers, best):
    """Anti-diagonals in shared memory; ``best[0]`` becomes the least cost."""
    now = cuda.shared.array(_CELLS, int32)
    row, m = uint32(cuda.threadIdx.x), uint32(len(pattern))
    begin, length, costs = _piece(text, numbers)
    own, symbol = int32(int32(row + 1) * costs[0]), pattern[row]
    diagonal = int32(own - costs[0])
    least = own
    now[row + _ONE] = own
    if row == 0:
        now[row] = 0
    cuda.syncthreads()
    column, steps = uint32(uint32(0) - row), uint32(length + m - 1)
    while steps > 0:
        up = now[row]
        cuda.syncthreads()
        if column < length:
            own = _cell(diagonal, up, own, symbol == text[uint32(begin + column)], costs)
            diagonal = up
            now[row + _ONE] = own
            least = min(least, own)
        cuda.syncthreads()
        column, steps = uint32(column + _ONE), uint32(steps - _ONE)
    if row == m - 1:
        cuda.atomic.min(best, 0, least)


@cuda.jit
def w_scan(pattern, text, numbers, best):
    """Shuffles, and one shared word a warp and step; ``best[0]`` becomes the least cost."""
    border = cuda.shared.array(_BORDERS, int32)
    row, m = uint32(cuda.threadIdx.x), uint32(len(pattern))
    lane, warp = row % uint32(WARP), row // uint32(WARP)
    begin, length, costs = _piece(text, numbers)
    own, symbol = int32(int32(row + 1) * costs[0]), pattern[min(row, uint32(m - 1))]
    diagonal = int32(own - costs[0])
    least = own
    if lane == WARP - 1:
        border[warp + _ONE] = own
    if row == 0:
        border[row] = 0
    cuda.syncthreads()
    column, steps = uint32(uint32(0) - row), uint32(length + m - 1)
    while steps > 0:
        up = cuda.shfl_up_sync(_ALL, own, 1)
        if lane == 0:
            up = border[warp]
        cuda.syncthreads()
        if column < length:
            own = _cell(diagonal, up, own, symbol == text[uint32(begin + column)], costs)
            diagonal = up
            least = min(least, own)
        if lane == WARP - 1:
            border[warp + _ONE] = own
        cuda.syncthreads()
        column, steps = uint32(column + _ONE), uint32(steps - _ONE)
    if row == m - 1:
        cuda.atomic.min(best, 0, least)


@cuda.jit
def w_shuffle(pattern, text, numbers, best):
    """Shuffles, and 32 values between warps each 32 steps; ``best[0]`` becomes the least cost."""
    border = cuda.shared.array((_BORDERS, _RING), int32)
    row, m = uint32(cuda.threadIdx.x), uint32(len(pattern))
    lane, warp = row % uint32(WARP), row // uint32(WARP)
    begin, length, costs = _piece(text, numbers)
    own, symbol = int32(int32(row + 1) * costs[0]), pattern[min(row, uint32(m - 1))]
    diagonal = int32(own - costs[0])
    least = own
    warps = int32(cuda.blockDim.x // WARP)
    phases = int32((length + WARP - 1) // WARP) + 2 * warps
    for phase in range(phases):
        # a warp is two phases behind the one before: 32 steps for its lanes, 32 for the values
        first = int32((int32(phase) - 2 * int32(warp)) * WARP)
        if first >= 0:
            arriving, leaving = int32(0), int32(0)
            if warp > 0:
                place = uint32(uint32(first + WARP) + lane) % uint32(_RING)
                arriving = border[warp, place]
            column, k = uint32(uint32(first) - lane), uint32(0)
            while k < WARP:
                up = cuda.shfl_up_sync(_ALL, own, 1)
                value = cuda.shfl_sync(_ALL, arriving, k)
                if lane == 0:
                    up = value
                if column < length:
                    own = _cell(diagonal, up, own, symbol == text[uint32(begin + column)], costs)
                    diagonal = up
                    least = min(least, own)
                value = cuda.shfl_sync(_ALL, own, WARP - 1)
                if lane == k:
                    leaving = value
                column, k = uint32(column + _ONE), uint32(k + _ONE)
            # the last lane is 31 columns behind the first
            place = uint32(uint32(first + 1) + lane) % uint32(_RING)
            border[warp + _ONE, place] = leaving
        cuda.syncthreads()
    if row == m - 1:
        cuda.atomic.min(best, 0, least)


KERNELS = {"O-ASM": o_asm, "w-SCAN": w_scan, "w-Shuffle": w_shuffle}


class Problem:
    """Codes of a pattern and a text on the device; costs of insertion, deletion, substitution."""

    def __init__(self, pattern: NDArray[np.uint8], text: NDArray[np.uint8], costs=(1, 1, 1)):
        m, n = len(pattern), len(text)
        if m > MOST_ROWS:
            raise ValueError(f"{m} rows; a block has {MOST_ROWS}")
        insertion, deletion, substitution = costs
        overlap = m + m * deletion // insertion
        resident = multiprocessors() * max(2048 // max(-(-m // WARP) * WARP, WARP), 1)
        piece = max(-(-n // min(resident, multiprocessors() * 32)), 1)
        numbers = (deletion, insertion, substitution, piece, overlap)
        self.m, self.blocks = m, -(-n // piece)
        self.arrays = tuple(map(cuda.to_device, (
            pattern.astype(np.uint8), text.astype(np.uint8), np.array(numbers, np.int32),
        )))  # fmt: skip
        self.best = cuda.device_array(1, np.int32)

    def launch(self, name: str) -> None:
        """Start a kernel; its result is lowered into `best`."""
        threads = self.m if name == "O-ASM" else -(-self.m // WARP) * WARP
        KERNELS[name][self.blocks, threads](*self.arrays, self.best)

    def distance(self, name: str) -> int:
        """Return the least cost."""
        self.best.copy_to_device(np.array([2**30], np.int32))
        self.launch(name)
        return int(self.best.copy_to_host()[0])
