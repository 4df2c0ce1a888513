"""Approximate matching on a GPU by other costs: two parts of the text in the halves of a word.

Cells hold c'(i, j) = c(i, j) - i * deletion, which is never above 0; then a step down is free.
A group of lanes holds the rows of a probe; lane g is g blocks of four text symbols behind lane 0,
and gets the cells above its first row from the lane before by shuffles. A block's four columns
advance side by side, so that a warp need not wait for one cell to begin the next. Rows beyond the
probe's last cost so much to align that they repeat it. Costs of pairs come out of registers where
8 codes suffice, as for DNA, else out of shared memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import cuda, int8, int32, uint32, uint64
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.intrinsics.words import (
    WARP,
    add2,
    kernel,
    min2,
    permute,
    shuffle_up,
    sync_lanes,
)
from gpu_tools.matching.gpu.scan import BLOCK, CODES, append, lower, symbols_at
from gpu_tools.model.scoring import EditCosts

_FEW = CODES[0]
_ROWS = (1, 2, 4, 8, 16, 32)
_ROW_CODES = 1024
"""Rows of a lane times codes, at most: the table of 32 lanes must fit into shared memory."""
_DEAREST = 127
_STEP_SYMBOLS = 4
"""Text symbols of a block, which a lane aligns in a step."""
_RING = 4
"""Blocks for each lane in shared memory: two that come and two that have been, for later lanes."""
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
def _selectors(four_a, four_b, few, codes):
    """Return what selects the costs of four symbols of both parts, 16 bits a symbol."""
    known = (codes - 1) * 0x01010101
    low = uint32(permute(int32(four_a), int32(four_b), int32(0x5140)) & known)
    high = uint32(permute(int32(four_a), int32(four_b), int32(0x7362)) & known)
    if few:  # a nibble is the code, the next one the code's sign
        low = uint32(uint32(low * uint32(0x11)) | uint32(0x80808080))
        high = uint32(uint32(high * uint32(0x11)) | uint32(0x80808080))
    return uint64(uint64(high) << uint64(32)) | uint64(low)


@cuda.jit(device=True)
def _stage(ring, slot, text, at, both, few, codes):
    """Put what selects the costs of eight symbols of both parts into two slots of the ring."""
    (at_a, at_b), (of_a, of_b), half = at, both, uint64(32)
    a = symbols_at(text, at_a, of_a[_FIRST], of_a[_END])
    b = symbols_at(text, at_b, of_b[_FIRST], of_b[_END])
    ring[slot] = _selectors(uint32(a), uint32(b), few, codes)
    ring[slot + 1] = _selectors(uint32(a >> half), uint32(b >> half), few, codes)


@cuda.jit(device=True)
def _looked_up(table, base, selector):
    """Return the costs of both parts' symbols, those of a row from `base` on."""
    first, second = uint32(selector & 255), uint32(uint32(selector) >> uint32(8)) & uint32(255)
    near, far = table[base + first * uint32(WARP)], table[base + second * uint32(WARP)]
    return permute(int32(near), int32(far), int32(0x5410))


@cuda.jit(device=True)
def _cost(pair, table, base, selector, few):
    """Return the costs of both parts' symbols, out of registers where they are few."""
    return permute(pair[0], pair[1], selector) if few else _looked_up(table, base, selector)


@cuda.jit(device=True)
def _cell(diagonal, cost, up, left, insertion):
    """Return `gpu_tools.matching.recurrence.cell` of both parts; a deletion is free."""
    return min2(add2(left, insertion), min2(add2(diagonal, cost), up))


@cuda.jit(device=True)
def _record(bottoms, half, position, part, query, limit, found):
    """Record the ends within the limit in half of the words, which may fall by them."""
    limits, hits, count = found
    for k in range(_STEP_SYMBOLS):
        distance = int32(permute(bottoms[k], int32(0), int32(0xBB32 if half else 0x9910)))
        if distance <= limit and part[_BEGIN] <= position + k < part[_END]:
            append(hits, count, query, position + k + 1, distance)
            limit = lower(limits, query, limit, distance)
    return limit


@cuda.jit(device=True)
def _load_costs(pairs, table, costs, first, codes):
    """Load the costs of a lane's rows from `first` on to registers and, of many codes, the table.

    `pairs` are the two words of each row.
    """
    near, far = pairs
    lane, rows = int32(cuda.threadIdx.x), len(near)
    for r in range(rows):
        near[r], far[r] = costs[first + r, 0], costs[first + r, 1]
    for k in range(0 if codes == _FEW else rows * codes):
        four = costs[first + k // codes, (k % codes) >> 2]
        table[k * WARP + lane] = int8((four >> (8 * (k & 3))) & 255)


@cuda.jit(device=True)
def _arriving(last, member, scratch):
    """Return the four cells above a lane's first row: those of the lane before, or 0."""
    u0, u1 = shuffle_up(last[0], scratch), shuffle_up(last[1], scratch)
    u2, u3 = shuffle_up(last[2], scratch), shuffle_up(last[3], scratch)
    if member == 0:
        u0, u1, u2, u3 = int32(0), int32(0), int32(0), int32(0)
    return u0, u1, u2, u3


@cuda.jit(device=True)
def _selectors_of(four):
    """Return what selects the costs of each of four symbols, each in the low half of a word."""
    s0, s2 = int32(uint32(four)), int32(uint32(four >> uint64(32)))
    return s0, int32(s0 >> 16), s2, int32(s2 >> 16)


@cuda.jit(device=True)
def _fill_block(column, lane_costs, selectors, arriving, diagonal, constants):
    """Fill a lane's rows of a block, four columns side by side; return the last row.

    Parameters
    ----------
    column : local array of int32
        The column before the block; then the block's last one.
    lane_costs : tuple
        The two words of each row, and the table.
    selectors : tuple of int32
        See `_selectors_of`.
    arriving : tuple of int32
        The row above.
    diagonal : int32
        The cell above the column before.
    constants : tuple
        Insertion cost, in both halves, and codes.
    """
    near, far, table = lane_costs
    insertion, codes = constants
    few = codes == _FEW
    s0, s1, s2, s3 = selectors
    u0, u1, u2, u3 = arriving
    n0, n1, n2, n3 = arriving
    for r in range(len(column)):
        base = uint32(r * codes * WARP) + uint32(cuda.threadIdx.x)
        pair, left = (near[r], far[r]), column[r]
        n0 = _cell(diagonal, _cost(pair, table, base, s0, few), u0, left, insertion)
        n1 = _cell(u0, _cost(pair, table, base, s1, few), u1, n0, insertion)
        n2 = _cell(u1, _cost(pair, table, base, s2, few), u2, n1, insertion)
        n3 = _cell(u2, _cost(pair, table, base, s3, few), u3, n2, insertion)
        u0, u1, u2, u3, diagonal, column[r] = n0, n1, n2, n3, left, n3
    return n0, n1, n2, n3


@cache
def find_costs(rows: int, codes: int):
    """Return the kernel for lanes that hold `rows` rows each, and texts of so many codes.

    Arguments: text (uint64, 8 codes each), parts (int64, shape (2 G, 3): where the text begins,
    first and last position, exclusive; neighbours share a group), costs (int32, shape (Q, rows *
    lanes, codes / 4)), numbers (int32: lanes, warm-up, steps of the longest part, insertion), and
    limits, hits and count as `gpu_tools.matching.gpu.scan.find_words`, for distances c'. One warp
    a block.
    """
    few = codes == _FEW
    size, slots_of_all = 1 if few else rows * codes * WARP, _RING * WARP
    outside = 0xF7F7F7F7F7F7F7F7 if few else (codes - 1) * 0x0101010101010101

    @kernel(rows, codes)
    def find_costs_warp(text, parts, costs, numbers, limits, hits, count):
        scratch = cuda.shared.array(WARP, int32)
        ring = cuda.shared.array(slots_of_all, uint64)
        table = cuda.shared.array(size, int8)
        near = cuda.local.array(rows, int32)
        far = cuda.local.array(rows, int32)
        column = cuda.local.array(rows, int32)
        lane = int32(cuda.threadIdx.x)
        query = cuda.blockIdx.y
        lanes, warm, steps = numbers[0], numbers[1], numbers[2]
        insertion = int32(numbers[3] * 0x10001)
        member = int32(lane % lanes)
        number = int32(cuda.blockIdx.x * (WARP // lanes) + lane // lanes)
        first = min(2 * number, int32(len(parts) - 2))
        of_a, of_b = parts[first], parts[first + 1]
        start_a, start_b = (of_a[_BEGIN] >> 3 << 3) - warm, (of_b[_BEGIN] >> 3 << 3) - warm
        for r in range(rows):
            column[r] = 0
        _load_costs((near, far), table, costs[query], member * rows, codes)
        slots, wrap = uint32((lane - member) * _RING), uint32(lanes * _RING - 1)
        for k in range(_RING):
            ring[lane * _RING + k] = uint64(outside)
        answers = member == lanes - 1 and 2 * number < len(parts)
        limit = limits[query, _CURRENT]
        lift = _both(-limit - 1)
        zero = int32(0)
        above, bottoms = zero, (zero, zero, zero, zero)
        for step in range(steps):
            if step & (2 * lanes - 1) == 0:  # each lane brings two blocks of symbols
                sync_lanes()
                offset = _STEP_SYMBOLS * step + BLOCK * member
                slot = slots + (uint32(step + 2 * member) & wrap)
                at = start_a + offset, start_b + offset
                _stage(ring, slot, text, at, (of_a, of_b), few, codes)
                sync_lanes()
            selectors = _selectors_of(ring[slots + (uint32(step - member) & wrap)])
            arriving = _arriving(bottoms, member, scratch)
            diagonal, above = above, arriving[3]
            bottoms = _fill_block(
                column, (near, far, table), selectors, arriving, diagonal, (insertion, codes)
            )
            least = min2(min2(bottoms[0], bottoms[1]), min2(bottoms[2], bottoms[3]))
            if add2(least, lift) & int32(_SIGNS) != 0 and answers:
                offset = _STEP_SYMBOLS * (step - member)
                found = limits, hits, count
                limit = _record(bottoms, False, start_a + offset, of_a, query, limit, found)
                limit = _record(bottoms, True, start_b + offset, of_b, query, limit, found)
                lift = _both(-limit - 1)

    return find_costs_warp


class CostKernels:
    """What `gpu_tools.matching.gpu.ends` needs to know of these kernels.

    Parameters
    ----------
    pairs : ndarray of int32, shape (S, C)
        Cost of each pair of a pattern symbol and a code; at most 255 codes.
    costs : EditCosts

    Attributes
    ----------
    sizes : tuple of int
        What a lane may hold, in rows.
    parts : int
        Parts of a text that a group of lanes works on at once.
    warps : int
        Warps that keep a multiprocessor busy: one for each of its four schedulers is enough for
        cells of four symbols at a time, and then parts are long against their warm-up.
    """

    parts, warps = 2, 4

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
        """Return the tables of probes from their numbers and symbols."""
        lanes = self.lanes_for(max(map(len, symbols)), size)
        costs = np.full((len(symbols), size * lanes, self.codes), _DEAREST, dtype=np.int8)
        for k, each in enumerate(symbols):
            costs[k, : len(each), : self.pairs.shape[1]] = self.pairs[each] - self.costs.deletion
        words = costs.view("<i4").astype(np.int32)
        return CostProbes(tuple(numbers), size, lanes, warm, words, self.costs.insertion)

    def lifts(self, symbols) -> NDArray[np.int64]:
        """Return what to add to the kernel's distances of each probe."""
        return np.array([len(each) * self.costs.deletion for each in symbols], dtype=np.int64)

    def prepared(self, text, parts: NDArray[np.int64], probes: CostProbes, found) -> Callable:
        """As `gpu_tools.matching.gpu.scan.UnitKernels.prepared`."""
        parts = _paired(parts)
        longest = int((parts[:, _END] - parts[:, _BEGIN]).max()) + probes.warm + BLOCK
        steps = -(-longest // _STEP_SYMBOLS) + probes.lanes
        numbers = (probes.lanes, probes.warm, steps, probes.insertion)
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
