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
from numba import cuda, int32
from numpy.typing import NDArray

from gpu_tools.matching.gpu import multiprocessors

WARP = 32
MOST_ROWS = 1024
_CELLS, _BORDERS = MOST_ROWS + 1, WARP + 1
_ALL = 0xFFFFFFFF
_RING = 128
_DELETION, _INSERTION, _SUBSTITUTION, _PIECE, _OVERLAP = range(5)


@cuda.jit(device=True)
def _cell(diagonal, up, left, equal, costs):
    pair = diagonal + (int32(0) if equal else costs[_SUBSTITUTION])
    return min(min(pair, up + costs[_DELETION]), left + costs[_INSERTION])


@cuda.jit
def o_asm(pattern, text, costs, best):
    """Anti-diagonals in shared memory; ``best[0]`` becomes the least cost."""
    now = cuda.shared.array(_CELLS, int32)
    row, m = int32(cuda.threadIdx.x), int32(len(pattern))
    piece, overlap = costs[_PIECE], costs[_OVERLAP]
    begin = max(int32(cuda.blockIdx.x * piece - overlap), int32(0))
    end = min(int32((cuda.blockIdx.x + 1) * piece), int32(len(text)))
    own, symbol = int32((row + 1) * costs[_DELETION]), pattern[row]
    diagonal = int32(row * costs[_DELETION])
    least = own
    now[row + 1] = own
    if row == 0:
        now[0] = 0
    cuda.syncthreads()
    for step in range(end - begin + m - 1):
        column = int32(step - row)
        inside = column >= 0 and begin + column < end
        up = now[row]
        cuda.syncthreads()
        if inside:
            own = _cell(diagonal, up, own, symbol == text[begin + column], costs)
            diagonal = up
            now[row + 1] = own
            least = min(least, own)
        cuda.syncthreads()
    if row == m - 1:
        cuda.atomic.min(best, 0, least)


@cuda.jit
def w_scan(pattern, text, costs, best):
    """Shuffles, and one shared word a warp and step; ``best[0]`` becomes the least cost."""
    border = cuda.shared.array(_BORDERS, int32)
    row, m = int32(cuda.threadIdx.x), int32(len(pattern))
    lane, warp = int32(row % WARP), int32(row // WARP)
    piece, overlap = costs[_PIECE], costs[_OVERLAP]
    begin = max(int32(cuda.blockIdx.x * piece - overlap), int32(0))
    end = min(int32((cuda.blockIdx.x + 1) * piece), int32(len(text)))
    own, symbol = int32((row + 1) * costs[_DELETION]), pattern[min(row, m - 1)]
    diagonal = int32(row * costs[_DELETION])
    least = own
    if lane == WARP - 1:
        border[warp + 1] = own
    if row == 0:
        border[0] = 0
    cuda.syncthreads()
    for step in range(end - begin + m - 1):
        column = int32(step - row)
        up = cuda.shfl_up_sync(_ALL, own, 1)
        if lane == 0:
            up = border[warp]
        cuda.syncthreads()
        if column >= 0 and begin + column < end:
            own = _cell(diagonal, up, own, symbol == text[begin + column], costs)
            diagonal = up
            least = min(least, own)
        if lane == WARP - 1:
            border[warp + 1] = own
        cuda.syncthreads()
    if row == m - 1:
        cuda.atomic.min(best, 0, least)


@cuda.jit
def w_shuffle(pattern, text, costs, best):
    """Shuffles, and 32 values between warps each 32 steps; ``best[0]`` becomes the least cost."""
    border = cuda.shared.array((_BORDERS, _RING), int32)
    row, m = int32(cuda.threadIdx.x), int32(len(pattern))
    lane, warp = int32(row % WARP), int32(row // WARP)
    piece, overlap = costs[_PIECE], costs[_OVERLAP]
    begin = max(int32(cuda.blockIdx.x * piece - overlap), int32(0))
    end = min(int32((cuda.blockIdx.x + 1) * piece), int32(len(text)))
    own, symbol = int32((row + 1) * costs[_DELETION]), pattern[min(row, m - 1)]
    diagonal = int32(row * costs[_DELETION])
    least = own
    warps = int32(cuda.blockDim.x // WARP)
    phases = (end - begin + WARP - 1) // WARP + 2 * warps
    for phase in range(phases):
        # a warp is two phases behind the one before: 32 steps for its lanes, 32 for the values
        first = int32((phase - 2 * warp) * WARP)
        arriving = int32(0)
        if warp > 0 and first >= 0:
            arriving = border[warp, (first + lane) % _RING]
        if first >= 0:
            for k in range(WARP):
                column = int32(first + k - lane)
                up = cuda.shfl_up_sync(_ALL, own, 1)
                value = cuda.shfl_sync(_ALL, arriving, k)
                if lane == 0:
                    up = value
                if column >= 0 and begin + column < end:
                    own = _cell(diagonal, up, own, symbol == text[begin + column], costs)
                    diagonal = up
                    least = min(least, own)
                    if lane == WARP - 1:
                        border[warp + 1, column % _RING] = own
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
