"""Weighted costs on a GPU: two parts of the text in the halves of a word, rows spread over lanes.

Cells hold c'(i, j) = c(i, j) - i * deletion, which is never above 0; then a step down is free.
A group of lanes owns the rows of a probe; lane g is g text symbols behind the first, and takes
the cell above its first row from the lane before by a shuffle. Rows beyond the probe's last cost
so much to align that they repeat it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import cuda, int32, uint32, uint64
from numpy.typing import NDArray

from gpu_tools.matching.cuda import BLOCK
from gpu_tools.ptx import WARP, add2, min2, permute, shuffle_up
from gpu_tools.scoring import EditCosts

ROWS = (1, 2, 4, 8, 16, 32)
LONGEST = ROWS[-1] * WARP
_DEAREST = 127
_OTHERS = 0x0505050505050505
"""Code 5 for what lies outside the text."""
_OUTSIDE = 0xD5D5
"""What selects the cost of code 5 for both halves."""
_FIRST, _BEGIN, _END = range(3)


class CostProbes(NamedTuple):
    """Probes of about one length, as the kernel wants them.

    Attributes
    ----------
    numbers : tuple of int
        The probes' numbers.
    rows, lanes : int
        Rows of a lane, lanes of a group.
    warm : int
        Symbols before a position within which every match begins, a multiple of 8.
    costs : ndarray of int32, shape (Q, rows * lanes, 2)
        A byte for each code: cost of the pair less the deletion's.
    insertion : int
    """

    numbers: tuple[int, ...]
    rows: int
    lanes: int
    warm: int
    costs: NDArray[np.int32]
    insertion: int


@cuda.jit(device=True)
def _symbols(text, position, first, end):
    """Return 8 codes, one a byte; 5 outside the part's text."""
    word = uint64(_OTHERS)
    if position + BLOCK > first and position < end:
        word = text[position >> 3]
        before, after = first - position, end - position
        if before > 0:
            outside = uint64(0xFFFFFFFFFFFFFFFF) >> uint64(8 * (BLOCK - before))
            word = (word & ~outside) | (uint64(_OTHERS) & outside)
        if after < BLOCK:
            outside = uint64(0xFFFFFFFFFFFFFFFF) << uint64(8 * after)
            word = (word & ~outside) | (uint64(_OTHERS) & outside)
    return word


@cache
def least_costs(rows: int):
    """Return the kernel for lanes that own `rows` rows each.

    It takes text (uint64, 8 codes each), parts (int64, shape (2 G, 3): where the text begins, first
    and last position, exclusive; neighbours share a group), costs (int32, shape (Q, rows * lanes,
    2)), numbers (int32: lanes, warm-up, steps of the longest part, insertion), and fills least
    (int32, shape (Q, 2 G)) with the least c' of the last row in each part. One warp a block.
    """

    @cuda.jit
    def least_costs_warp(text, parts, costs, numbers, least):
        scratch = cuda.shared.array(WARP, int32)
        near = cuda.local.array(rows, int32)
        far = cuda.local.array(rows, int32)
        column = cuda.local.array(rows, int32)
        lane = int32(cuda.threadIdx.x)
        query = cuda.blockIdx.y
        lanes, warm, steps = numbers[0], numbers[1], numbers[2]
        insertion = int32(numbers[3] * 0x10001)
        own = int32(lane % lanes)
        number = int32(cuda.blockIdx.x * (WARP // lanes) + lane // lanes)
        a = min(2 * number, int32(len(parts) - 2))
        b = a + 1
        start_a = (parts[a, _BEGIN] >> 3 << 3) - warm
        start_b = (parts[b, _BEGIN] >> 3 << 3) - warm
        first_a, end_a, first_b, end_b = (
            parts[a, _FIRST], parts[a, _END], parts[b, _FIRST], parts[b, _END],
        )  # fmt: skip
        for r in range(rows):
            near[r] = costs[query, own * rows + r, 0]
            far[r] = costs[query, own * rows + r, 1]
            column[r] = 0
        selector, bottom, above = int32(_OUTSIDE), int32(0), int32(0)
        word_a, word_b, best = uint64(0), uint64(0), int32(0)
        for step in range(steps):
            selector = shuffle_up(selector, scratch)
            arriving = shuffle_up(bottom, scratch)
            if own == 0:
                if step & 7 == 0:
                    word_a = _symbols(text, start_a + step, first_a, end_a)
                    word_b = _symbols(text, start_b + step, first_b, end_b)
                codes = uint32(uint32(word_a) & uint32(7))
                codes |= uint32(uint32(uint32(word_b) & uint32(7)) << uint32(8))
                selector = int32(uint32(codes * uint32(0x11)) | uint32(0x8080))
                word_a, word_b = uint64(word_a >> uint64(8)), uint64(word_b >> uint64(8))
                arriving = int32(0)
            if step - own == warm:
                best = int32(0)
            diagonal, up = above, arriving
            for r in range(rows):
                left = column[r]
                pair = permute(near[r], far[r], selector)
                up = min2(add2(diagonal, pair), up)
                up = min2(add2(left, insertion), up)
                column[r] = up
                diagonal = left
            above, bottom = arriving, up
            best = min2(best, up)
        if own == lanes - 1 and 2 * number < len(parts):
            least[query, a] = int32(((best & 0xFFFF) ^ 0x8000) - 0x8000)
            least[query, b] = int32(best >> 16)

    return least_costs_warp


class CostKernels(NamedTuple):
    """What `gpu_tools.matching.ends_cuda` needs to know of these kernels.

    Attributes
    ----------
    pairs : ndarray of int32, shape (S, 5)
        Costs of pairs.
    costs : EditCosts
    sizes : tuple of int
        What a lane may own, in rows.
    parts : int
        Parts of a text that a group of lanes works on at once.
    """

    pairs: NDArray[np.int32]
    costs: EditCosts
    sizes: tuple[int, ...] = ROWS
    parts: int = 2

    def fits(self, m: int) -> bool:
        """Tell whether there is a kernel for a probe of m rows."""
        lifted = self.pairs - self.costs.deletion
        small = lifted.min() >= -128 and lifted.max() <= _DEAREST
        return bool(
            small and self.costs.insertion <= _DEAREST and m <= LONGEST
            and m * self.costs.deletion + 128 < 2**15
        )  # fmt: skip

    def lanes_for(self, m: int, size: int) -> int:
        """Return the lanes, a power of two, that hold m rows."""
        return 1 << (-(-m // size) - 1).bit_length()

    def table(self, numbers, symbols, size: int, warm: int) -> CostProbes:
        """Return the tables of probes, given their numbers and symbols."""
        lanes = self.lanes_for(max(map(len, symbols)), size)
        table = np.full((len(symbols), size * lanes, BLOCK), _DEAREST, dtype=np.int8)
        for k, own in enumerate(symbols):
            table[k, : len(own), : self.pairs.shape[1]] = self.pairs[own] - self.costs.deletion
        costs = table.view("<i4").astype(np.int32)
        return CostProbes(tuple(numbers), size, lanes, warm, costs, self.costs.insertion)

    def least(self, text, parts: NDArray[np.int64], probes: CostProbes, symbols):
        """Return the least distance of each probe in each part, as `cuda.least`."""
        even = paired(parts)
        found = cuda.device_array((len(probes.costs), len(even)), np.int32)
        launch(text, even, probes, found)
        whole = np.array([len(own) * self.costs.deletion for own in symbols])
        return found.copy_to_host()[:, : len(parts)] + whole[:, None]


def paired(parts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return parts in even number, the last one twice if need be."""
    return parts if len(parts) % 2 == 0 else np.concatenate((parts, parts[-1:]))


def launch(text, parts: NDArray[np.int64], probes: CostProbes, found) -> None:
    """Run the kernel for parts in even number."""
    prepared(text, parts, probes, found)()


def prepared(text, parts: NDArray[np.int64], probes: CostProbes, found) -> Callable[[], None]:
    """Copy what the kernel needs to the device; return a function that starts it."""
    longest = int((parts[:, _END] - parts[:, _BEGIN]).max()) + probes.warm + BLOCK
    numbers = (probes.lanes, probes.warm, longest + probes.lanes, probes.insertion)
    grid = (-(-len(parts) // (2 * (WARP // probes.lanes))), len(probes.costs))
    kernel = least_costs(probes.rows)[grid, WARP]
    arrays = tuple(map(cuda.to_device, (parts, probes.costs, np.array(numbers, np.int32))))
    return lambda: kernel(text, *arrays, found)
