"""Exact and approximate matching on GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numba import cuda, int8, int32, int64, uint32, uint64
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.dispatch import Buffers, map_gpus
from gpu_tools.hardware.gpu.intrinsics.words import (
    WARP,
    add2,
    funnel,
    kernel,
    load4,
    min2,
    permute,
    product,
    shuffle_up,
    sync_lanes,
)
from gpu_tools.matching import index as windows
from gpu_tools.matching.approximate import Tables
from gpu_tools.matching.cpu import NUCLEOTIDE_CODES, Finder, Searcher
from gpu_tools.matching.index import BYTE_BITS, FEW_CODE_BITS, FEW_CODES, KEY_BITS
from gpu_tools.matching.text_blocks import NO_HITS, Find, TextBlock

# Approximate matching on GPUs: where every probe ends in every part of a text block.
#
# Unit costs: a group of lanes holds the rows of a probe, `words` words of 32 rows a lane, and works
# on one part. Lane g is g blocks of 8 text symbols behind the first, and gets the carries of a
# whole block from the lane before by one shuffle. The last lane looks at the distances of a block
# again, one by one, only if one of them is within the probe's limit.
#
# Other costs: two parts of the text lie in the halves of a word. Cells hold c'(i, j) = c(i, j) less
# the deletions of the first i symbols, which is never above 0; then a step down is free. Lane g is
# g blocks of four text symbols behind lane 0, and gets the cells above its first row from the lane
# before by shuffles. A block's four columns advance side by side, so that a warp need not wait for
# one cell to begin the next. Rows beyond the probe's last cost so much to align that they repeat
# it. Costs of pairs and of insertions come out of registers where 8 codes suffice, as for DNA, else
# out of shared memory.


LEAST_PART, MOST_PART = 16 if simulated() else 64, 1 << 16
"""Text positions of a part."""
PROBES_PER_LAUNCH = 4096
HITS = 8 if simulated() else 1 << 20
"""Hits for which memory is reserved at first."""
ROWS = 32
BLOCK = 8
CODES = (8, 32, 128, 256)
"""Numbers of codes of a kernel; the last code stands for symbols outside of a part's text."""
_WORD_CODES = 256
"""Limit of a lane's words times codes: the table of 32 lanes must fit into shared memory."""
_WORDS = (1, 2, 4, 8)
"""Words of a lane: few spread a probe over many lanes, many save shuffles."""
_FAR = 1 << 30
# columns of the tables of parts, of queries, and of limits
_FIRST, _BEGIN, _END = range(3)
_LANES, _WARM, _M, _OFFSET = range(4)
_CURRENT, _FLOOR = range(2)
_FEW = CODES[0]
_ROWS = (1, 2, 4, 8, 16, 32)
_ROW_CODES = 1024
"""Limit of a lane's rows times codes: the table of 32 lanes must fit into shared memory."""
_DEAREST = 127
"""Largest cost of an insertion, and of a pair less its symbol's deletion."""
_STEP_SYMBOLS = 4
"""Text symbols of a block, which a lane aligns in a step."""
_RING = 4
"""Blocks for each lane in shared memory: two to come and two past ones, for later lanes."""
_SIGNS = -0x7FFF8000
"""The signs of both halves."""


def resident(codes: NDArray[np.uint8], multiple: int = BLOCK, buffers: Buffers | None = None):
    """Return a text on the device, 8 codes a word, padded by the code 4 to a multiple of symbols.

    With `buffers` its memory is theirs, until the next text.
    """
    size = -(-len(codes) // multiple) * multiple
    text = (buffers or Buffers()).array("text", size, np.uint8)[:size]
    whole = len(codes) // multiple * multiple
    if whole:
        text[:whole].copy_to_device(np.ascontiguousarray(codes[:whole]))
    if whole < len(text):
        rest = np.full(len(text) - whole, 4, dtype=np.uint8)
        rest[: len(codes) - whole] = codes[whole:]
        text[whole:].copy_to_device(rest)
    return text.view(np.uint64)


def multiprocessors() -> int:
    """Return the multiprocessors of the current device."""
    return 1 if simulated() else cuda.get_current_device().MULTIPROCESSOR_COUNT


# ---- unit costs


@cuda.jit(device=True)
def symbols_at(text, position, first, end):
    """Return 8 codes, one per byte; 255 outside the part's text."""
    word = uint64(0xFFFFFFFFFFFFFFFF)
    if position + BLOCK > first and position < end:
        word = text[position >> 3]
        before, after = first - position, end - position
        if before > 0:
            word |= uint64(0xFFFFFFFFFFFFFFFF) >> uint64(8 * (BLOCK - before))
        if after < BLOCK:
            word |= uint64(0xFFFFFFFFFFFFFFFF) << uint64(8 * after)
    return word


@cuda.jit(device=True)
def _advance(equal, rising, falling, up, down):
    """Advance a word of rows by a text symbol; return the last four after it."""
    # a bit per row: equal where it matches the symbol, rising (falling) where it is 1 above (below)
    # the row above; up (down): the row above the word rises (falls) by 1 with the symbol
    one, last = uint32(1), uint32(31)
    vertical = uint32(equal | falling)
    equal = uint32(equal | down)
    total = uint32(uint32(equal & rising) + rising)
    horizontal = uint32(uint32(total ^ rising) | equal)
    rise = uint32(falling | uint32(~uint32(horizontal | rising)))
    fall = uint32(rising & horizontal)
    next_up, next_down = uint32(rise >> last), uint32(fall >> last)
    rise = uint32(uint32(rise << one) | up)
    fall = uint32(uint32(fall << one) | down)
    rising = uint32(fall | uint32(~uint32(vertical | rise)))
    return rising, uint32(rise & vertical), next_up, next_down


@cuda.jit(device=True)
def lower(limits, query, limit, least):
    """Lower the limit of a query to a distance within it; return the new limit."""
    lowered = max(least, limits[query, _FLOOR])
    if lowered < limit:
        limit = min(cuda.atomic.min(limits, (query, _CURRENT), lowered), lowered)
    return limit


@cuda.jit(device=True)
def append(hits, count, query, end, distance):
    """Record an end if the buffer is not full; count it in any case."""
    at = cuda.atomic.add(count, 0, 1)
    if at < len(hits):
        hits[at, 0], hits[at, 1], hits[at, 2] = query, end, distance


@cuda.jit(device=True)
def _record_words(score, carries, position, part, query, limit, found):
    """Record the ends within the limit in a block of symbols; return the limit after them."""
    begin, end = part
    limits, hits, count = found
    least, running = int32(_FAR), score
    for k in range(BLOCK):
        running += (carries >> k & 1) - (carries >> (k + 8) & 1)
        if begin <= position + k < end:
            least = min(least, running)
    if least > limit:
        return limit
    limit = lower(limits, query, limit, least)
    for k in range(BLOCK):
        score += (carries >> k & 1) - (carries >> (k + 8) & 1)
        if begin <= position + k < end and score <= limit:
            append(hits, count, query, position + k + 1, score)
    return limit


@cuda.jit(device=True)
def _load_words(lane_words, table, peq, first, top):
    """Load the matches of a lane's words, and the differences of its rows before the text."""
    # first: the first word in peq; top: the lane's first row. Rows below 0 are above the probe's
    # first; they match anything, so they stay 0
    rising, falling = lane_words
    lane, words = int32(cuda.threadIdx.x), len(rising)
    codes = len(table) // (words * WARP)
    for w in range(words):
        for code in range(codes):
            table[(w * codes + code) * WARP + lane] = peq[(first + w) * codes + code]
        real = min(max(top + (w + 1) * ROWS, 0), ROWS)
        full = uint32(uint32(0xFFFFFFFF) << uint32(min(ROWS - real, ROWS - 1)))
        rising[w] = full if real > 0 else uint32(0)
        falling[w] = uint32(0)


@cuda.jit(device=True)
def _code_of(symbols, k):
    """Return code k of a block of symbols, which consists of its lower and its upper half."""
    half = int32(symbols[0] if k < 4 else symbols[1])
    return uint32(permute(half, int32(0), int32(0x4440 + (k & 3))))


@cuda.jit(device=True)
def _advance_words(lane_words, table, base, codes, up, down):
    """Advance a lane's words by a symbol, whose matches begin at `base` in the table."""
    rising, falling = lane_words
    for w in range(len(rising)):
        equal = table[base + uint32(w * codes * WARP)]
        rising[w], falling[w], up, down = _advance(equal, rising[w], falling[w], up, down)
    return up, down


@cache
def find_words(words: int, codes: int):
    """Return the kernel for lanes of `words` words and texts of `codes` codes; one warp a block."""
    # text (uint64): 8 codes each
    # parts (int64, (P, 3)): start of the text, begin and end of the positions to report
    # peq (uint32): matches of each word of 32 rows with each code, the last row in the highest bit
    # queries (int32, (Q, 4)): lanes, symbols of warm-up, rows, first word in peq
    # blocks: number of blocks of the longest part
    # limits (int32, (Q, 2)): largest distance to report, which falls, and its least value
    # hits (int64, (capacity, 3)): query, end, distance; count counts those beyond it, too
    size, known = words * codes * WARP, (codes - 1) * 0x01010101

    @kernel(words, codes)
    def find_words_warp(text, parts, peq, queries, blocks, limits, hits, count):
        scratch = cuda.shared.array(WARP, int32)
        table = cuda.shared.array(size, uint32)
        pv = cuda.local.array(words, uint32)
        mv = cuda.local.array(words, uint32)
        lane = int32(cuda.threadIdx.x)
        query = cuda.blockIdx.y
        lanes, m = queries[query, _LANES], queries[query, _M]
        member = int32(lane % lanes)
        number = int32(cuda.blockIdx.x * (WARP // lanes) + lane // lanes)
        part = min(number, int32(len(parts) - 1))
        first, begin, end = parts[part, _FIRST], parts[part, _BEGIN], parts[part, _END]
        start = (begin - queries[query, _WARM]) >> 3 << 3
        lane_words = pv, mv
        first_word = queries[query, _OFFSET] + member * words
        top = member * words * ROWS - (lanes * words * ROWS - m)
        _load_words(lane_words, table, peq, first_word, top)
        cuda.syncthreads()
        answers = member == lanes - 1 and number < len(parts)
        score, carry, limit = int32(m), int32(0), limits[query, _CURRENT]
        one = uint32(1)
        for step in range(blocks + lanes - 1):
            arriving = uint32(shuffle_up(carry, scratch))
            if member == 0:
                arriving = uint32(0)
            position = start + (step - member) * BLOCK
            if step < member or position >= end:
                continue
            symbols = symbols_at(text, position, first, end)
            leaving, before, best = uint32(0), score, int32(_FAR)
            low = uint32(symbols) & uint32(known)
            high = uint32(symbols >> uint64(32)) & uint32(known)
            for k in range(BLOCK):
                base = uint32(_code_of((low, high), k) * uint32(WARP)) + uint32(lane)
                up = uint32(arriving & one)
                down = uint32(uint32(arriving >> uint32(8)) & one)
                arriving = uint32(arriving >> one)
                up, down = _advance_words(lane_words, table, base, codes, up, down)
                leaving = uint32(leaving >> one)
                leaving |= uint32(uint32(up << uint32(7)) | uint32(down << uint32(15)))
                score = int32(score + int32(up) - int32(down))
                best = min(best, score)
            carry = int32(leaving)
            if best <= limit and answers and position + BLOCK > begin:
                found = limits, hits, count
                limit = _record_words(before, carry, position, (begin, end), query, limit, found)

    return find_words_warp


class Probes(NamedTuple):
    """Probes of about one length, ready for a kernel."""

    numbers: tuple[int, ...]
    size: int  # of a lane: words of rows, or rows
    lanes: int  # of a group
    warm: int  # symbols before a position within which every match begins, a multiple of 8
    # unit costs: matches of each word of rows with each code, (W,)
    # other costs: a byte for each code, cost of the pair less the deletion's, and in the last row
    #   the cost of the insertion, (Q, rows + 1, codes / 4)
    table: NDArray
    queries: NDArray[np.int32] | None = None  # of unit costs; see `find_words`


class _Kernels:
    """Kernels by the size of a lane, their inputs and launches.

    A group of lanes works on `parts` parts at once; `warps` warps keep a multiprocessor busy.
    """

    parts: int
    warps: int
    rows: int  # of a unit of a lane's size

    def lanes_for(self, m: int, size: int) -> int:
        """Return the lanes, a power of two, that hold m rows."""
        return 1 << (-(-m // (size * self.rows)) - 1).bit_length()


class UnitKernels(_Kernels):
    """Kernels of unit costs."""

    parts, warps, rows = 1, 8, ROWS

    def __init__(self, tables: Tables):
        self.matches = tables.matches
        self.codes = next(codes for codes in CODES if codes > self.matches.shape[1])
        self.sizes = tuple(words for words in _WORDS if words * self.codes <= _WORD_CODES)

    def fits(self, symbols: NDArray[np.uint8]) -> bool:
        """Return whether there is a kernel for a probe."""
        return len(symbols) <= self.sizes[-1] * ROWS * WARP

    def lifts(self, symbols) -> NDArray[np.int64]:
        """Return the number to add to the kernel's distances of each probe."""
        return np.zeros(len(symbols), dtype=np.int64)

    def table(self, numbers, symbols, size: int, warm: int) -> Probes:
        """Return the tables of probes from their numbers and symbols."""
        lanes = self.lanes_for(max(map(len, symbols)), size)
        rows = lanes * size * ROWS
        bits = np.ones((len(symbols), rows, self.codes), dtype=bool)
        for k, each in enumerate(symbols):
            bits[k, rows - len(each) :] = False
            bits[k, rows - len(each) :, : self.matches.shape[1]] = self.matches[each]
        grouped = bits.reshape(len(symbols), rows // ROWS, ROWS, self.codes)
        packed = np.packbits(grouped, axis=2, bitorder="little").transpose(0, 1, 3, 2)
        peq = np.ascontiguousarray(packed).view("<u4").astype(np.uint32).ravel()
        rows_of_query = [
            (lanes, warm, len(each), k * rows // ROWS) for k, each in enumerate(symbols)
        ]
        queries = np.array(rows_of_query, dtype=np.int32)
        return Probes(tuple(numbers), size, lanes, warm, peq, queries)

    def prepared(self, text, parts: NDArray[np.int64], probes: Probes, found) -> Callable:
        """Copy parts and probes to the device; return a function that starts the kernel."""
        longest = int((parts[:, _END] - parts[:, _BEGIN]).max()) + probes.warm
        grid = (-(-len(parts) // (WARP // probes.lanes)), len(probes.queries))
        find = find_words(probes.size, self.codes)[grid, WARP]
        arrays = tuple(map(cuda.to_device, (parts, probes.table, probes.queries)))
        return lambda: find(text, *arrays, longest // BLOCK + 2, *found)


# ---- other costs


@cuda.jit(device=True)
def _both(value):
    """Return a word with the value in both halves."""
    return permute(int32(value), int32(0), int32(0x1010))


@cuda.jit(device=True)
def _selectors(four_a, four_b, few, codes):
    """Return the selectors of the costs of four symbols of both parts, 16 bits a symbol."""
    known = (codes - 1) * 0x01010101
    low = uint32(permute(int32(four_a), int32(four_b), int32(0x5140)) & known)
    high = uint32(permute(int32(four_a), int32(four_b), int32(0x7362)) & known)
    if few:  # a nibble is the code, the next one the code's sign
        low = uint32(uint32(low * uint32(0x11)) | uint32(0x80808080))
        high = uint32(uint32(high * uint32(0x11)) | uint32(0x80808080))
    return uint64(uint64(high) << uint64(32)) | uint64(low)


@cuda.jit(device=True)
def _stage(ring, slot, text, at, both, few, codes):
    """Write the selectors of eight symbols of both parts to two slots of the ring."""
    (at_a, at_b), (of_a, of_b), half = at, both, uint64(32)
    a = symbols_at(text, at_a, of_a[_FIRST], of_a[_END])
    b = symbols_at(text, at_b, of_b[_FIRST], of_b[_END])
    ring[slot] = _selectors(uint32(a), uint32(b), few, codes)
    ring[slot + 1] = _selectors(uint32(a >> half), uint32(b >> half), few, codes)


@cuda.jit(device=True)
def _looked_up(table, base, selector):
    """Return the costs of both parts' symbols in the row whose costs begin at `base`."""
    first, second = uint32(selector & 255), uint32(uint32(selector) >> uint32(8)) & uint32(255)
    near, far = table[base + first * uint32(WARP)], table[base + second * uint32(WARP)]
    return permute(int32(near), int32(far), int32(0x5410))


@cuda.jit(device=True)
def _cost(pair, table, base, selector, few):
    """Return the costs of both parts' symbols, out of registers where they are few."""
    return permute(pair[0], pair[1], selector) if few else _looked_up(table, base, selector)


@cuda.jit(device=True)
def _cell(diagonal, cost, up, left, insertion):
    """Return c'(i, j) of both parts."""
    # c'(i, j) = min(c'(i-1, j-1) + pair(i, j) - deletion(i), c'(i-1, j), c'(i, j-1) + insertion(j))
    return min2(add2(left, insertion), min2(add2(diagonal, cost), up))


@cuda.jit(device=True)
def _record_costs(bottoms, half, position, part, query, limit, found):
    """Record the ends within the limit in a half of the words; return the limit after them."""
    limits, hits, count = found
    for k in range(_STEP_SYMBOLS):
        distance = int32(permute(bottoms[k], int32(0), int32(0xBB32 if half else 0x9910)))
        if distance <= limit and part[_BEGIN] <= position + k < part[_END]:
            append(hits, count, query, position + k + 1, distance)
            limit = lower(limits, query, limit, distance)
    return limit


@cuda.jit(device=True)
def _load_costs(pairs, table, costs, first, codes):
    """Load the costs of a lane's rows and of insertions to registers or, if many, to the table."""
    near, far = pairs
    lane, rows = int32(cuda.threadIdx.x), len(near) - 1
    for r in range(rows + 1):
        row = first + r if r < rows else len(costs) - 1
        near[r], far[r] = costs[row, 0], costs[row, 1]
        for k in range(0 if codes == _FEW else codes):
            four = costs[row, k >> 2]
            table[(r * codes + k) * WARP + lane] = int8((four >> (8 * (k & 3))) & 255)


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
    """Return the selectors of four symbols, each in the low half of a word."""
    s0, s2 = int32(uint32(four)), int32(uint32(four >> uint64(32)))
    return s0, int32(s0 >> 16), s2, int32(s2 >> 16)


@cuda.jit(device=True)
def _fill_block(column, lane_costs, selectors, arriving, diagonal, codes):
    """Fill a lane's rows of a block, four columns side by side; return the last row."""
    # column: the one before the block, then the block's last; diagonal: the cell above the former
    # lane_costs: the two words of each row, and the table; arriving: the row above
    near, far, table = lane_costs
    rows, few, thread = len(column), codes == _FEW, uint32(cuda.threadIdx.x)
    s0, s1, s2, s3 = selectors
    pair, base = (near[rows], far[rows]), uint32(rows * codes * WARP) + thread
    i0, i1 = _cost(pair, table, base, s0, few), _cost(pair, table, base, s1, few)
    i2, i3 = _cost(pair, table, base, s2, few), _cost(pair, table, base, s3, few)
    u0, u1, u2, u3 = arriving
    n0, n1, n2, n3 = arriving
    for r in range(rows):
        base = uint32(r * codes * WARP) + thread
        pair, left = (near[r], far[r]), column[r]
        n0 = _cell(diagonal, _cost(pair, table, base, s0, few), u0, left, i0)
        n1 = _cell(u0, _cost(pair, table, base, s1, few), u1, n0, i1)
        n2 = _cell(u1, _cost(pair, table, base, s2, few), u2, n1, i2)
        n3 = _cell(u2, _cost(pair, table, base, s3, few), u3, n2, i3)
        u0, u1, u2, u3, diagonal, column[r] = n0, n1, n2, n3, left, n3
    return n0, n1, n2, n3


@cache
def find_costs(rows: int, codes: int):
    """Return the kernel for lanes of `rows` rows and texts of `codes` codes; one warp a block."""
    # parts (2 G, 3): as in `find_words`; neighbours share a group
    # costs: see `Probes.table`; numbers: lanes, warm-up, steps of the longest part
    # limits and hits are of distances c'', the rest as in `find_words`
    few = codes == _FEW
    with_insertions, slots_of_all = rows + 1, _RING * WARP
    size = 1 if few else with_insertions * codes * WARP
    outside = 0xF7F7F7F7F7F7F7F7 if few else (codes - 1) * 0x0101010101010101

    @kernel(rows, codes)
    def find_costs_warp(text, parts, costs, numbers, limits, hits, count):
        scratch = cuda.shared.array(WARP, int32)
        ring = cuda.shared.array(slots_of_all, uint64)
        table = cuda.shared.array(size, int8)
        near = cuda.local.array(with_insertions, int32)
        far = cuda.local.array(with_insertions, int32)
        column = cuda.local.array(rows, int32)
        lane = int32(cuda.threadIdx.x)
        query = cuda.blockIdx.y
        lanes, warm, steps = numbers[0], numbers[1], numbers[2]
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
            bottoms = _fill_block(column, (near, far, table), selectors, arriving, diagonal, codes)
            least = min2(min2(bottoms[0], bottoms[1]), min2(bottoms[2], bottoms[3]))
            if add2(least, lift) & int32(_SIGNS) != 0 and answers:
                offset = _STEP_SYMBOLS * (step - member)
                found = limits, hits, count
                limit = _record_costs(bottoms, False, start_a + offset, of_a, query, limit, found)
                limit = _record_costs(bottoms, True, start_b + offset, of_b, query, limit, found)
                lift = _both(-limit - 1)

    return find_costs_warp


class CostKernels(_Kernels):
    """Kernels of other costs."""

    # one warp for each of a multiprocessor's four schedulers is enough for cells of four symbols at
    # a time, and then parts are long against their warm-up
    parts, warps, rows = 2, 4, 1

    def __init__(self, tables: Tables):
        self.tables = tables
        self.codes = next(codes for codes in CODES if codes > len(tables.insertions))
        few = self.codes == _FEW
        self.sizes = tuple(r for r in _ROWS if few or r * self.codes <= _ROW_CODES)

    def fits(self, symbols: NDArray[np.uint8]) -> bool:
        """Return whether there is a kernel for a probe."""
        lifted = self._lifted(symbols)
        small = lifted.min() >= -128 and max(lifted.max(), self.tables.insertions.max()) <= _DEAREST
        small = small and self.tables.whole(symbols) + 128 < 2**15
        return bool(small and len(symbols) <= self.sizes[-1] * WARP)

    def lifts(self, symbols) -> NDArray[np.int64]:
        """Return the number to add to the kernel's distances of each probe."""
        return np.array([self.tables.whole(each) for each in symbols], dtype=np.int64)

    def _lifted(self, symbols: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Return the costs of pairs less their symbol's deletion."""
        return self.tables.pairs[symbols] - self.tables.deletions[symbols, None]

    def table(self, numbers, symbols, size: int, warm: int) -> Probes:
        """Return the tables of probes from their numbers and symbols."""
        lanes = self.lanes_for(max(map(len, symbols)), size)
        costs = np.full((len(symbols), size * lanes + 1, self.codes), _DEAREST, dtype=np.int8)
        known = costs[:, :, : len(self.tables.insertions)]
        known[:, -1] = self.tables.insertions
        for k, each in enumerate(symbols):
            known[k, : len(each)] = self._lifted(each)
        words = costs.view("<i4").astype(np.int32)
        return Probes(tuple(numbers), size, lanes, warm, words)

    def prepared(self, text, parts: NDArray[np.int64], probes: Probes, found) -> Callable:
        """Copy parts and probes to the device; return a function that starts the kernel."""
        parts = _paired(parts)
        longest = int((parts[:, _END] - parts[:, _BEGIN]).max()) + probes.warm + BLOCK
        steps = -(-longest // _STEP_SYMBOLS) + probes.lanes
        numbers = (probes.lanes, probes.warm, steps)
        grid = (-(-len(parts) // (2 * (WARP // probes.lanes))), len(probes.table))
        find = find_costs(probes.size, self.codes)[grid, WARP]
        arrays = tuple(map(cuda.to_device, (parts, probes.table, np.array(numbers, np.int32))))
        return lambda: find(text, *arrays, *found)


def _paired(parts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return an even number of parts, with one more that has no position if need be."""
    if len(parts) % 2 == 0:
        return parts
    first, begin, _ = parts[-1]
    return np.concatenate((parts, [(first, begin, begin)]))


# ---- parts of a text on GPUs


class DeviceFinder:
    """All probes of a search, ready to be scanned on GPUs; each gets as many parts of the text.

    The CPU scans probes that the kernels do not take: very long ones, those of large costs, and all
    if the patterns distinguish more than 255 kinds of symbols.
    """

    def __init__(self, finder: Finder, ordinals: tuple[int, ...]):
        self.finder, self.ordinals = finder, ordinals
        tables, symbols = finder.tables, np.unique(np.concatenate(self._symbols(finder.numbers)))
        self.recode, chosen = kinds(np.vstack((tables.pairs[symbols], tables.insertions)))
        few = len(chosen) < CODES[-1]
        if few:
            tables = tables.of_codes(chosen)
            self.kernels = UnitKernels(tables) if finder.unit else CostKernels(tables)
        self.buffers = map_gpus(ordinals, lambda _: Buffers(), ordinals)
        self.numbers, self.others = [], []
        for number in finder.numbers:
            fits = few and self.kernels.fits(finder.probes[number].symbols)
            (self.numbers if fits else self.others).append(number)

    def find(self, text_block: TextBlock) -> NDArray[np.int64]:
        """Return the hits of a text block that are within the limits after it."""
        found = self._found(text_block) if self.numbers else NO_HITS
        tasks = self.finder.tasks(text_block, self.others)
        others = self.finder.scan(text_block.codes, tasks)
        return self.finder.within(np.concatenate([found, others]))

    def _found(self, text_block: TextBlock) -> NDArray[np.int64]:
        """Return the hits on the GPUs, of all limits."""
        total = sum(text_range.end - text_range.begin for text_range in text_block.ranges)
        codes = text_block.codes if self.recode is None else self.recode[text_block.codes]
        search = partial(self._run, codes, text_block, list(self._plans(total)))
        return np.concatenate(map_gpus(self.ordinals, search, range(len(self.ordinals))))

    def _plans(self, total: int) -> Iterator[tuple[Probes, int]]:
        """Yield probes of about one length, and the length of the parts for them."""
        by_length: dict = {}
        for number in self.numbers:
            m = len(self.finder.probes[number].symbols)
            by_length.setdefault(m.bit_length(), []).append(number)
        for numbers in by_length.values():
            for first in range(0, len(numbers), PROBES_PER_LAUNCH):
                yield self._plan(numbers[first : first + PROBES_PER_LAUNCH], total)

    def _plan(self, numbers: list[int], total: int):
        symbols = self._symbols(numbers)
        warm = -(-max(map(self.finder.warm, numbers)) // BLOCK) * BLOCK
        at_once = len(self.ordinals) * multiprocessors() * self.kernels.warps
        load = -(-total * len(numbers) // at_once)
        size, length = plan(self.kernels, max(map(len, symbols)), warm, load)
        return self.kernels.table(numbers, symbols, size, warm), length

    def _symbols(self, numbers):
        return [self.finder.probes[k].symbols for k in numbers]

    def _run(self, codes, text_block: TextBlock, plans, share: int) -> NDArray[np.int64]:
        """Return the hits of the current GPU in its share of the parts."""
        found, count, buffers = [NO_HITS], len(self.ordinals), self.buffers[share]
        text = resident(codes, buffers=buffers)
        for probes, length in plans:
            parts = _parts(text_block, length)
            assigned = parts[len(parts) * share // count : len(parts) * (share + 1) // count]
            if len(assigned):
                own = np.ascontiguousarray(assigned[:, 1:])
                rows = self._launched(text, own, probes, buffers)
                ranges = text_block.numbers_of(rows[:, 1] - 1)
                numbers = np.array(probes.numbers)[rows[:, 0]]
                found.append(np.column_stack((numbers, ranges, rows[:, 1:])))
        return np.concatenate(found)

    def _launched(self, text, parts: NDArray[np.int64], probes, buffers) -> NDArray[np.int64]:
        """Return query, end and distance of the hits of one launch, and lower the limits."""
        lifts = self.kernels.lifts(self._symbols(probes.numbers))
        bounds = np.stack([self.finder.limits.of(number) for number in probes.numbers])
        limits = cuda.to_device((bounds - lifts[:, None]).astype(np.int32))
        rows = launch(self.kernels, text, parts, probes, limits, buffers)
        rows[:, 2] += lifts[rows[:, 0]]
        least = limits.copy_to_host()[:, 0] + lifts
        for number, limit in zip(probes.numbers, least.tolist(), strict=True):
            self.finder.limits.lower(number, limit)
        # most hits that are found while a limit falls are above it in the end
        return rows[rows[:, 2] <= least[rows[:, 0]]]


def kinds(table) -> tuple[NDArray[np.uint8] | None, NDArray[np.int64]]:
    """Return the kind of each code and a code of each kind: equal columns of a table are one.

    The kinds are None for the few codes of nucleotides, which stay as they are.
    """
    if table.shape[1] == NUCLEOTIDE_CODES:
        return None, np.arange(NUCLEOTIDE_CODES)
    _, chosen, recode = np.unique(table, axis=1, return_index=True, return_inverse=True)
    return recode.ravel().astype(np.uint8), chosen


def launch(
    kernels, text, parts: NDArray[np.int64], probes, limits, buffers: Buffers
) -> NDArray[np.int64]:
    """Return rows of query, end and distance; the kernel runs again if its buffer is too small."""
    capacity = HITS
    while True:
        hits = buffers.array("hits", capacity, np.int64, width=3)[:capacity]
        count = cuda.to_device(np.zeros(1, np.int32))
        kernels.prepared(text, parts, probes, (limits, hits, count))()
        found = int(count.copy_to_host()[0])
        if found <= capacity:
            return hits[:found].copy_to_host() if found else np.empty((0, 3), np.int64)
        capacity = found


def plan(kernels, m: int, warm: int, load: int) -> tuple[int, int]:
    """Return the size of a lane and the length of the parts.

    Large lanes save shuffles, but need many parts, each with its warm-up. `load` is the number of
    text symbols for each warp that the devices can run at once.
    """
    enough = next(
        (k for k, size in enumerate(kernels.sizes) if kernels.lanes_for(m, size) == 1), -1
    )
    sizes = kernels.sizes[: enough + 1] if enough >= 0 else kernels.sizes
    possible = [size for size in sizes if kernels.lanes_for(m, size) <= WARP]
    for size in reversed(possible):
        # rounded up: with one part more than run at once the time would double
        length = -(-load * kernels.lanes_for(m, size) // (WARP * kernels.parts))
        if length >= 2 * warm:
            break
    length = min(max(length, LEAST_PART), max(MOST_PART, 8 * warm))
    return size, -(-length // BLOCK) * BLOCK


def _parts(text_block: TextBlock, length: int) -> NDArray[np.int64]:
    """Return rows of number and start of a range, begin and end of the positions to report."""
    rows = []
    for k, text_range in enumerate(text_block.ranges):
        begins = np.arange(text_range.begin, text_range.end, length)
        ends = np.minimum(begins + length, text_range.end)
        fixed = np.full((2, len(begins)), [[k], [text_range.start]])
        rows.append(np.vstack((fixed, begins, ends)).T)
    return np.concatenate(rows)


# Exact matching on GPUs: a thread looks up the windows that begin in its 16 symbols.
#
# Of patterns with at most 4 different symbols the thread packs its symbols and the 16 that follow
# into 64 bits, else a symbol is a byte; a shift gives the key of each window. The filter lies in
# shared memory. What passes it is compared with the slots of the index, which hold up to 16 symbols
# of a pattern, or 4, in registers; only what is left is verified in memory.


SYMBOLS = 16
THREADS = 4 if simulated() else 256
BLOCKS_PER_MULTIPROCESSOR = {FEW_CODE_BITS: 6, BYTE_BITS: 5}
REGISTERS = {FEW_CODE_BITS: 40, BYTE_BITS: 48}
"""Both by bits of a symbol: the most registers with which so many blocks fit."""
EXACT_HITS = 16 if simulated() else 1 << 20
REGIONS, COUNTER = 8, 64
"""Number of regions of the hits, which blocks use in turn, and elements between their counters.

Blocks with many hits would wait for each other at one counter, or at counters in one line.
"""
_FILTER_WORDS = 1 << (windows.MOST_FILTER_BITS - 5)
_OTHERS = 0x0404040404040404
_MULTIPLIER, _SECOND = int(windows.MULTIPLIER), int(windows.SECOND_BIT)
# numbers of an index
_WINDOW, _SHIFT, _SLOT_SHIFT = range(3)


@cuda.jit(device=True)
def _packed(a, b):
    """Return the 16 codes of two words as 32 bits, the first in the lowest."""
    codes, gather, highest = uint32(0x03030303), uint32(0x01041040), int32(0x0073)
    # the product's highest byte holds the four codes of a half
    first = int32(product(uint32(a) & codes, gather))
    second = int32(product(uint32(a >> uint64(32)) & codes, gather))
    third = int32(product(uint32(b) & codes, gather))
    fourth = int32(product(uint32(b >> uint64(32)) & codes, gather))
    pair, other = permute(first, second, highest), permute(third, fourth, highest)
    return uint32(permute(pair, other, int32(0x5410)) & 0xFFFFFFFF)


@cuda.jit(device=True)
def _others(word):
    """Return a bit for each code of a word, 1 where it matches nothing, the first in the lowest."""
    ones = (word >> uint64(2)) & uint64(0x0101010101010101)
    return (ones * uint64(0x0102040810204080)) >> uint64(56)


@cuda.jit(device=True)
def _four_from(a, b, c, k):
    """Return the four bytes of three words from byte k on, for k below 16."""
    low, high = (a, b) if k < BLOCK else (b, c)
    shift = uint64(8 * (k & 7))
    # in two steps, as no shift may be by 64
    return uint32((low >> shift) | ((high << uint64(1)) << (uint64(63) - shift)))


@cuda.jit(device=True)
def _matches(symbol, code, table, few):
    """Return whether a symbol matches a code; with few codes each is a bit of the symbol."""
    return int32(symbol) >> int32(code) if few else int32(table[symbol, code])


@cuda.jit(device=True)
def _occurs(library, text, start, probe, few):
    """Return whether a probe occurs at `start`."""
    symbols, bounds, table = library
    first = bounds[probe]
    last = bounds[probe + 1] - first - 1
    for k in range(0, last + 1, 4):
        both = int32(1)
        for j in range(4):  # no branch: the loads of four symbols wait for memory together
            at = min(k + j, last)
            both &= _matches(symbols[first + at], text[start + at], table, few)
        if both == 0:
            return False
    return True


@cuda.jit(device=True)
def _record(position, shown, hashed, table, library, text, found, bits):
    """Verify the probes that have the window at a position, and record those that occur."""
    # shown: 32 bits of the text's symbols, and whether some of them match nothing
    (packed, unknown), (slots, slot_shift), (hits, counts) = shown, table, found
    bounds, few = library[1], bits == FEW_CODE_BITS
    region, capacity = cuda.blockIdx.x % REGIONS, len(hits) // REGIONS
    slot = int64(funnel(hashed, uint32(0), slot_shift))
    key, care, probe, offset = load4(slots, slot * 4)
    while care != 0:
        start = int64(position) - int64(offset)
        if (packed ^ key) & care == 0 and start >= 0:
            length = bounds[probe + 1] - bounds[probe]
            if start + int64(length) <= len(text):
                whole = unknown == 0 and int32(cuda.popc(care)) == bits * length
                if whole or _occurs(library, text, start, probe, few):
                    mine = cuda.atomic.add(counts, region * COUNTER, 1)
                    if mine < capacity:
                        hits[region * capacity + mine, 0] = start
                        hits[region * capacity + mine, 1] = probe
        slot += 1
        key, care, probe, offset = load4(slots, slot * 4)


@cache
def find_step(step: int, bits: int):
    """Return the kernel for an index of that step and 2 or 8 bits a symbol."""
    # words (uint64), text (uint8): the same memory, padded to an even number of words; for 2 bits
    #   the codes 0 to 3, and 4 for what matches nothing
    # numbers (int32): symbols of a window, shift of the filter, shift of the slots
    # filter_words, slots: see `Index`; slots are flat
    # symbols (uint8) of all probes: for 2 bits a bit for each code that it matches
    # bounds (int32): where each probe's symbols begin
    # table (uint8): for 8 bits 1 where a symbol, the row, matches a code; else one element
    # hits (int64, (capacity, 2)): start and probe, in `REGIONS` parts
    # counts (int32): that of a region is element ``COUNTER * region``; counts those beyond, too
    few = bits == FEW_CODE_BITS

    @kernel(step, bits, registers=REGISTERS[bits])
    def find_thread(
        words, text, numbers, filter_words, slots, symbols, bounds, table, hits, counts
    ):
        shared_filter = cuda.shared.array(_FILTER_WORDS, uint32)
        for k in range(cuda.threadIdx.x, len(filter_words), cuda.blockDim.x):
            shared_filter[k] = filter_words[k]
        cuda.syncthreads()
        window, n_words = numbers[_WINDOW], uint32(len(words))
        shift, slot_shift = uint32(numbers[_SHIFT]), uint32(numbers[_SLOT_SHIFT])
        multiplier, second = uint32(_MULTIPLIER), uint32(_SECOND)
        mask = uint32(uint32(0xFFFFFFFF) >> uint32(KEY_BITS - bits * window))
        whole = uint32(uint32(0xFFFFFFFF) >> uint32(KEY_BITS - window))
        stride = int32(cuda.gridDim.x * cuda.blockDim.x)
        begin = int32(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)
        for pair in range(begin, int32(n_words >> uint32(1)), stride):
            at = uint32(2) * uint32(pair)
            a, b = words[at], words[at + uint32(1)]
            c, d = uint64(_OTHERS), uint64(_OTHERS)
            if at + uint32(3) < n_words:
                c, d = words[at + uint32(2)], words[at + uint32(3)]
            low, high = _packed(a, b), _packed(c, d)
            found = uint32(0)
            for k in range(0, SYMBOLS, step):
                packed = funnel(low, high, uint32(2 * k)) if few else _four_from(a, b, c, k)
                hashed = product(uint32(packed & mask), multiplier)
                word = shared_filter[funnel(hashed, uint32(0), shift)]
                both = funnel(word, word, hashed) & funnel(
                    word, word, funnel(hashed, uint32(0), second)
                )
                # the bit wanted comes in from above; the first one ends in bit 32 - 16 / step
                found = funnel(found, uint32(both), uint32(1))
            found = funnel(found, uint32(0), uint32(32 - SYMBOLS // step))
            if found == 0:
                continue
            near = _others(a) | (_others(b) << uint64(8))
            far = (_others(c) << uint64(16)) | (_others(d) << uint64(24))
            unknown = uint32(near | far)
            while found != 0:
                k = uint32((int32(cuda.ffs(found)) - int32(1)) * int32(step))
                found &= uint32(found - uint32(1))
                others = funnel(unknown, uint32(0), k) if few else uint32(0)
                if others & whole:
                    continue
                packed = funnel(low, high, uint32(k + k)) if few else _four_from(a, b, c, k)
                hashed = product(uint32(packed & mask), multiplier)
                start, library = int64(pair) * SYMBOLS + int64(k), (symbols, bounds, table)
                of_index, ends = (slots, slot_shift), (hits, counts)
                _record(start, (packed, others), hashed, of_index, library, text, ends, bits)

    return find_thread


class DeviceIndex(NamedTuple):
    """The constants of an index's kernel, and its arrays of the index and of the probes."""

    constants: tuple[int, int]
    arrays: tuple


class DeviceSearcher:
    """All probes of a search, ready for GPUs; each gets as many symbols of a text block."""

    def __init__(self, searcher: Searcher, ordinals: tuple[int, ...]):
        self.searcher, self.ordinals = searcher, ordinals
        self.indexes = map_gpus(ordinals, lambda _: on_device(searcher), ordinals)
        self.buffers = map_gpus(ordinals, lambda _: Buffers(), ordinals)

    def find(self, text_block: TextBlock) -> NDArray[np.int64]:
        """Return rows of start (in the text block) and probe, in any order."""
        codes, recode = text_block.codes, self.searcher.library.recode
        if self.searcher.library.n_codes <= FEW_CODES < len(recode) - 1:
            codes = np.minimum(recode, FEW_CODES)[codes]
        shares = range(len(self.ordinals))
        found = map_gpus(self.ordinals, partial(self._run, codes), shares)
        return self._within(text_block, np.concatenate(found))

    def _run(self, codes, share: int) -> NDArray[np.int64]:
        count, reach = len(self.ordinals), self.searcher.reach
        begin, end = len(codes) * share // count, len(codes) * (share + 1) // count
        buffers, indexes = self.buffers[share], self.indexes[share]
        text = resident(codes[begin : end + reach], 2 * BLOCK, buffers)
        found = np.concatenate([search(text, index, buffers) for index in indexes])
        found[:, 0] += begin
        return found[found[:, 0] < end]

    def _within(self, text_block: TextBlock, rows) -> NDArray[np.int64]:
        """Return the hits that lie within one range and begin at a position to report."""
        ranges, starts = text_block.ranges_of(rows[:, 0]), rows[:, 0]
        ends = starts + np.diff(self.searcher.library.bounds)[rows[:, 1]]
        return rows[(starts >= ranges.begin) & (starts < ranges.end) & (ends <= ranges.stop)]


def on_device(searcher: Searcher) -> list[DeviceIndex]:
    """Copy the indexes of all probes to the current device."""
    library, table = searcher.library, np.zeros((1, 1), np.uint8)
    if library.n_codes <= FEW_CODES:
        bits, made = FEW_CODE_BITS, searcher.indexes
        sets = (library.matches[:, :-1] << np.arange(library.n_codes)).sum(axis=1)
        symbols = sets.astype(np.uint8)[library.symbols]
    else:
        bits, library = BYTE_BITS, windows.in_bytes(library)
        made, symbols = windows.indexes(library, bits), library.symbols
        table = library.matches.astype(np.uint8)
    probes = cuda.to_device(symbols), cuda.to_device(library.bounds.astype(np.int32))
    of_all = (*probes, cuda.to_device(table))
    return [DeviceIndex((index.step, bits), (*_arrays(index), *of_all)) for index in made]


def _arrays(index: windows.Index) -> tuple:
    numbers = np.array((index.window, index.filter_shift, index.slot_shift), np.int32)
    return tuple(map(cuda.to_device, (numbers, index.filter, index.slots.ravel())))


def search(text, index: DeviceIndex, buffers: Buffers) -> NDArray[np.int64]:
    """Return start and probe of the hits in a text; runs again if the buffer is too small."""
    size, most = 0, EXACT_HITS // REGIONS
    while most > size:
        size, counts = most, counters()
        hits = buffers.array("hits", REGIONS * size, np.int64, width=2)[: REGIONS * size]
        prepared(text, index, hits, counts)()
        of_regions = counts.copy_to_host()[::COUNTER]
        most = int(of_regions.max())
    found = [hits[k * size : k * size + n].copy_to_host() for k, n in enumerate(of_regions) if n]
    return np.concatenate([np.empty((0, 2), np.int64), *found])


def counters():
    """Return the kernel's counters on the device."""
    return cuda.to_device(np.zeros(REGIONS * COUNTER, np.int32))


def prepared(text, index: DeviceIndex, hits, counts) -> Callable[[], None]:
    """Return a function that starts the kernel; all arrays are on the device."""
    _, bits = index.constants
    at_once = 1 if simulated() else multiprocessors() * BLOCKS_PER_MULTIPROCESSOR[bits]
    grid = min(at_once, -(-len(text) // (2 * THREADS)))
    find, symbols = find_step(*index.constants)[grid, THREADS], text.view(np.uint8)
    return lambda: find(text, symbols, *index.arrays, hits, counts)


def find_on_gpus(engine: Searcher | Finder, ordinals: tuple[int, ...]) -> Find:
    """Return the function that finds an engine's probes on GPUs."""
    if isinstance(engine, Finder):
        return DeviceFinder(engine, ordinals).find
    return DeviceSearcher(engine, ordinals).find
