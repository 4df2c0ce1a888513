"""Approximate matching on a GPU by other costs: two parts of the text in the halves of a word.

Cells hold c'(i, j) = c(i, j) - i * deletion, which is never above 0; then a step down is free.
A group of lanes owns the rows of a probe; lane g is g text symbols behind the first, and takes
the cell above its first row from the lane before by a shuffle. Rows beyond the probe's last cost
so much to align that they repeat it. Costs of pairs come out of registers where 8 codes suffice,
as for DNA, else out of shared memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import cuda, int8, int32, uint32, uint64
from numpy.typing import NDArray

from gpu_tools.matching.cuda import BLOCK, CODES, append, lower, symbols_at
from gpu_tools.ptx import WARP, add2, kernel, min2, permute, shuffle_up
from gpu_tools.scoring import EditCosts

_FEW = CODES[0]
_ROWS = (1, 2, 4, 8, 16, 32)
_ROW_CODES = 1024
"""Rows of a lane times codes, at most: the table of 32 lanes must fit into shared memory."""
_DEAREST = 127
_OUTSIDE = 0xF7F7
"""What selects the cost of code 7, which lies outside of the text, for both halves."""
_SIGNS = -0x7FFF8000
"""The signs of both halves."""
_FIRST, _BEGIN, _END = range(3)
_CURRENT = 0


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
    costs : ndarray of int32, shape (Q, rows * lanes, codes / 4)
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
def _both(value):
    """Return a word with the value in both halves."""
    return permute(int32(value), int32(0), int32(0x1010))


@cuda.jit(device=True)
def _selector(word_a, word_b, few, codes):
    """Return what selects the costs of the next symbol of both parts."""
    pair = uint32(uint32(word_a) & uint32(codes - 1))
    pair |= uint32(uint32(uint32(word_b) & uint32(codes - 1)) << uint32(8))
    # of few codes a nibble is the code, the next one the code's sign
    return int32(uint32(pair * uint32(0x11)) | uint32(0x8080) if few else pair)


@cuda.jit(device=True)
def _looked_up(table, base, selector):
    """Return the costs of both parts' symbols, those of a row from `base` on."""
    first, second = uint32(selector & 255), uint32(uint32(selector) >> uint32(8))
    near, far = table[base + first * uint32(WARP)], table[base + second * uint32(WARP)]
    return permute(int32(near), int32(far), int32(0x5410))


@cuda.jit(device=True)
def _record(bottom, half, position, part, query, limit, found):
    """Record an end if half of a word is within the limit, which may fall by it."""
    limits, hits, count = found
    distance = int32(permute(bottom, int32(0), int32(0xBB32 if half else 0x9910)))
    if distance > limit or position < part[0] or position >= part[1]:
        return limit
    append(hits, count, query, position + 1, distance)
    return lower(limits, query, limit, distance)


@cache
def find_costs(rows: int, codes: int):
    """Return the kernel for lanes that own `rows` rows each, and texts of so many codes.

    It takes text (uint64, 8 codes each), parts (int64, shape (2 G, 3): where the text begins, first
    and last position, exclusive; neighbours share a group), costs (int32, shape (Q, rows * lanes,
    codes / 4)), numbers (int32: lanes, warm-up, steps of the longest part, insertion), and limits,
    hits and count as `gpu_tools.matching.cuda.find_words`, for distances c'. One warp a block.
    """
    few = codes == _FEW
    size = 1 if few else rows * codes * WARP

    @kernel(rows, codes)
    def find_costs_warp(text, parts, costs, numbers, limits, hits, count):
        scratch = cuda.shared.array(WARP, int32)
        table = cuda.shared.array(size, int8)
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
        bounds_a, bounds_b = (parts[a, _BEGIN], end_a), (parts[b, _BEGIN], end_b)
        for r in range(rows):
            column[r] = 0
            near[r] = costs[query, own * rows + r, 0]
            far[r] = costs[query, own * rows + r, 1]
        for k in range(0 if few else rows * codes):
            four = costs[query, own * rows + k // codes, (k % codes) >> 2]
            table[k * WARP + lane] = int8((four >> (8 * (k & 3))) & 255)
        answers = own == lanes - 1 and 2 * number < len(parts)
        limit = limits[query, _CURRENT]
        lift = _both(-limit - 1)
        selector = int32(_OUTSIDE if few else (codes - 1) * 0x101)
        bottom, above, word_a, word_b = int32(0), int32(0), uint64(0), uint64(0)
        for step in range(steps):
            selector = shuffle_up(selector, scratch)
            arriving = shuffle_up(bottom, scratch)
            if own == 0:
                if step & 7 == 0:
                    word_a = symbols_at(text, start_a + step, first_a, end_a)
                    word_b = symbols_at(text, start_b + step, first_b, end_b)
                selector = _selector(word_a, word_b, few, codes)
                word_a, word_b = uint64(word_a >> uint64(8)), uint64(word_b >> uint64(8))
                arriving = int32(0)
            diagonal, up = above, arriving
            for r in range(rows):
                left = column[r]
                if few:
                    cost = permute(near[r], far[r], selector)
                else:
                    cost = _looked_up(table, uint32(r * codes * WARP) + uint32(lane), selector)
                up = min2(add2(diagonal, cost), up)
                up = min2(add2(left, insertion), up)
                column[r] = up
                diagonal = left
            above, bottom = arriving, up
            if add2(bottom, lift) & int32(_SIGNS) != 0 and answers:
                at_a, at_b = start_a + (step - own), start_b + (step - own)
                found = limits, hits, count
                limit = _record(bottom, False, at_a, bounds_a, query, limit, found)
                limit = _record(bottom, True, at_b, bounds_b, query, limit, found)
                lift = _both(-limit - 1)

    return find_costs_warp


class CostKernels:
    """What `gpu_tools.matching.ends_cuda` needs to know of these kernels.

    Parameters
    ----------
    pairs : ndarray of int32, shape (S, C)
        Cost of each pair of a pattern symbol and a code; at most 255 codes.
    costs : EditCosts

    Attributes
    ----------
    sizes : tuple of int
        What a lane may own, in rows.
    parts : int
        Parts of a text that a group of lanes works on at once.
    """

    parts = 2

    def __init__(self, pairs: NDArray[np.int32], costs: EditCosts):
        self.pairs, self.costs = pairs, costs
        self.codes = next(codes for codes in CODES if codes > pairs.shape[1])
        few = self.codes == _FEW
        self.sizes = tuple(r for r in _ROWS if few or r * self.codes <= _ROW_CODES)

    def fits(self, m: int) -> bool:
        """Tell whether there is a kernel for a probe of m rows."""
        lifted = self.pairs - self.costs.deletion
        small = lifted.min() >= -128 and lifted.max() <= _DEAREST
        return bool(
            small and self.costs.insertion <= _DEAREST and m <= self.sizes[-1] * WARP
            and m * self.costs.deletion + 128 < 2**15
        )  # fmt: skip

    def lanes_for(self, m: int, size: int) -> int:
        """Return the lanes, a power of two, that hold m rows."""
        return 1 << (-(-m // size) - 1).bit_length()

    def table(self, numbers, symbols, size: int, warm: int) -> CostProbes:
        """Return the tables of probes, given their numbers and symbols."""
        lanes = self.lanes_for(max(map(len, symbols)), size)
        costs = np.full((len(symbols), size * lanes, self.codes), _DEAREST, dtype=np.int8)
        for k, own in enumerate(symbols):
            costs[k, : len(own), : self.pairs.shape[1]] = self.pairs[own] - self.costs.deletion
        words = costs.view("<i4").astype(np.int32)
        return CostProbes(tuple(numbers), size, lanes, warm, words, self.costs.insertion)

    def lifts(self, symbols) -> NDArray[np.int64]:
        """Return what to add to the kernel's distances of each probe."""
        return np.array([len(own) * self.costs.deletion for own in symbols], dtype=np.int64)

    def prepared(self, text, parts: NDArray[np.int64], probes: CostProbes, found) -> Callable:
        """As `gpu_tools.matching.cuda.UnitKernels.prepared`."""
        parts = _paired(parts)
        longest = int((parts[:, _END] - parts[:, _BEGIN]).max()) + probes.warm + BLOCK
        numbers = (probes.lanes, probes.warm, longest + probes.lanes, probes.insertion)
        grid = (-(-len(parts) // (2 * (WARP // probes.lanes))), len(probes.costs))
        find = find_costs(probes.rows, self.codes)[grid, WARP]
        arrays = tuple(map(cuda.to_device, (parts, probes.costs, np.array(numbers, np.int32))))
        return lambda: find(text, *arrays, *found)


def _paired(parts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return parts in even number, the last one without any position if need be."""
    if len(parts) % 2 == 0:
        return parts
    first, begin, _ = parts[-1]
    return np.concatenate((parts, [(first, begin, begin)]))
