"""Approximate matching on a GPU by unit costs: where every probe ends in every part of the text.

A group of lanes holds the rows of a probe, `words` words of 32 rows a lane, and works on one part;
lane g is g blocks of 8 text symbols behind the first, and gets the carries of a whole block from
the lane before by one shuffle. The last lane looks at the distances of a block again, one by one,
only if one of them is within the probe's limit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import cuda, int32, uint32, uint64
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.buffer_pool import Buffers
from gpu_tools.hardware.gpu.intrinsics.words import WARP, kernel, permute, shuffle_up

ROWS = 32
BLOCK = 8
CODES = (8, 32, 128, 256)
"""Codes that a kernel knows; the last one stands for what lies outside of a part's text."""
_WORD_CODES = 256
"""Words of a lane times codes, at most: the table of 32 lanes must fit into shared memory."""
_WORDS = (1, 2, 4, 8)
"""Words of a lane: few spread a probe over many lanes, many save shuffles."""
_FAR = 1 << 30
# columns of the tables of parts, of queries, and of limits
_FIRST, _BEGIN, _END = range(3)
_LANES, _WARM, _M, _OFFSET = range(4)
_CURRENT, _FLOOR = range(2)


@cuda.jit(device=True)
def symbols_at(text, position, first, end):
    """Return 8 codes, one a byte; 255 outside the part's text."""
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
    """Move a word of rows on by a text symbol.

    `equal` has a bit for each row that matches the symbol, `rising` and `falling` one for each that
    differs by 1 from the row above; `up` and `down` tell how the row above the word changes.
    Returns the last four for the next symbol and the next word.
    """
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
    """Take a distance within the limit into account; return the limit from now on."""
    lowered = max(least, limits[query, _FLOOR])
    if lowered < limit:
        limit = min(cuda.atomic.min(limits, (query, _CURRENT), lowered), lowered)
    return limit


@cuda.jit(device=True)
def append(hits, count, query, end, distance):
    """Record an end, as long as the buffer is not full."""
    at = cuda.atomic.add(count, 0, 1)
    if at < len(hits):
        hits[at, 0], hits[at, 1], hits[at, 2] = query, end, distance


@cuda.jit(device=True)
def _record(score, carries, position, part, query, limit, found):
    """Record the ends in a block of symbols that are within the limit, which may fall by them."""
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
    """Load a lane's words: their matches, and the differences of its rows before the text.

    `first` is the first word in `peq`, `top` the lane's first row. Rows below 0 are above the
    probe's first; they match anything, so they stay 0.
    """
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
    """Return a code of a block of symbols, given as its lower and its upper half."""
    half = int32(symbols[0] if k < 4 else symbols[1])
    return uint32(permute(half, int32(0), int32(0x4440 + (k & 3))))


@cuda.jit(device=True)
def _advance_words(lane_words, table, base, codes, up, down):
    """Move a lane's words on by a symbol; return how the row below them changes.

    `base` is the symbol's first element in the table; `up` and `down` tell how the row above
    changes.
    """
    rising, falling = lane_words
    for w in range(len(rising)):
        equal = table[base + uint32(w * codes * WARP)]
        rising[w], falling[w], up, down = _advance(equal, rising[w], falling[w], up, down)
    return up, down


@cache
def find_words(words: int, codes: int):
    """Return the kernel for lanes that hold `words` words each, and texts of so many codes.

    Arguments: text (uint64, 8 codes each), parts (int64, shape (P, 3): where the text begins, first
    and last position, exclusive), peq (uint32: for each word of 32 rows, the last row in the
    highest bit, its matches with each code), queries (int32, shape (Q, 4): lanes, warm-up in
    symbols, rows, first word in peq), the number of blocks of the longest part, and limits (int32,
    shape (Q, 2): the largest distance of interest, which falls by what is found, and the least to
    which it may fall). It fills hits (int64, shape (capacity, 3)) with query, end and distance;
    count (int32, shape (1,)) counts also those beyond the capacity. One warp a block.
    """
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
                limit = _record(before, carry, position, (begin, end), query, limit, found)

    return find_words_warp


class Probes(NamedTuple):
    """Probes of about one length, as the kernel wants them."""

    numbers: tuple[int, ...]
    words: int
    codes: int
    lanes: int
    warm: int
    queries: NDArray[np.int32]
    peq: NDArray[np.uint32]


class UnitKernels:
    """What `gpu_tools.matching.gpu.ends` needs to know of these kernels.

    Parameters
    ----------
    matches : ndarray of bool, shape (S, C)
        Which pattern symbols match which codes; at most 255 codes.

    Attributes
    ----------
    sizes : tuple of int
        What a lane may hold, in words.
    parts : int
        Parts of a text that a group of lanes works on at once.
    warps : int
        Warps that keep a multiprocessor busy.
    """

    parts, warps = 1, 8

    def __init__(self, matches: NDArray[np.bool_]):
        self.matches = matches
        self.codes = next(codes for codes in CODES if codes > matches.shape[1])
        self.sizes = tuple(words for words in _WORDS if words * self.codes <= _WORD_CODES)

    def fits(self, m: int) -> bool:
        """Tell whether there is a kernel for a probe of m rows."""
        return m <= self.sizes[-1] * ROWS * WARP

    def lanes_for(self, m: int, size: int) -> int:
        """Return the lanes, a power of two, that hold m rows."""
        return 1 << (-(-m // (size * ROWS)) - 1).bit_length()

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
        queries = np.array([
            (lanes, warm, len(each), k * rows // ROWS) for k, each in enumerate(symbols)
        ], dtype=np.int32)  # fmt: skip
        return Probes(tuple(numbers), size, self.codes, lanes, warm, queries, peq)

    def lifts(self, symbols) -> NDArray[np.int64]:
        """Return what to add to the kernel's distances of each probe."""
        return np.zeros(len(symbols), dtype=np.int64)

    def prepared(self, text, parts: NDArray[np.int64], probes: Probes, found) -> Callable:
        """Copy what the kernel needs to the device; return a function that starts it.

        Parameters
        ----------
        text : device array of uint64
            See `resident`.
        parts : ndarray of int64, shape (P, 3)
            Where the part's text begins, its first position, and the one after its last.
        probes : Probes
        found : tuple of device arrays
            Limits, hits and count of the kernel.
        """
        longest = int((parts[:, _END] - parts[:, _BEGIN]).max()) + probes.warm
        grid = (-(-len(parts) // (WARP // probes.lanes)), len(probes.queries))
        find = find_words(probes.words, probes.codes)[grid, WARP]
        arrays = tuple(map(cuda.to_device, (parts, probes.peq, probes.queries)))
        return lambda: find(text, *arrays, longest // BLOCK + 2, *found)


def resident(codes: NDArray[np.uint8], multiple: int = BLOCK, buffers: Buffers | None = None):
    """Return a text on the device, 8 codes a word, padded by the code 4.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Of nucleotides 0 to 3, and 4 for what matches nothing.
    multiple : int
        Pad to a multiple of so many symbols, itself one of 8.
    buffers : Buffers, optional
        Whose memory is used, until the next text; without them the text has its own.
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
