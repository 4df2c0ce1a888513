"""Approximate matching on a GPU: the least distance of every probe in every part of the text.

Parts that hold nothing within the limit, nearly all of them, are settled by that; the others are
scanned again on the CPU, which knows the ends. A group of lanes owns the rows of a probe, `words`
words of 32 rows a lane, and works on one part; lane g is g blocks of 8 text symbols behind the
first, and takes the carries of a whole block from the lane before by one shuffle.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import cuda, int32, uint32, uint64
from numpy.typing import NDArray

from gpu_tools.device import simulated
from gpu_tools.ptx import WARP, permute, shuffle_up

ROWS = 32
BLOCK = 8
CODES = 8
WORDS = (1, 2, 4, 8)
"""Words of a lane: few spread a probe over many lanes, many save shuffles."""
LONGEST = WORDS[-1] * ROWS * WARP
_OTHERS = 0x0404040404040404
_FAR = 1 << 30
# columns of the tables of parts and of queries
_FIRST, _BEGIN, _END = range(3)
_LANES, _WARM, _M, _OFFSET = range(4)


@cuda.jit(device=True)
def _symbols(text, position, first, end):
    """Return 8 codes, one a byte; outside the part's text they are 4 or more."""
    word = uint64(_OTHERS)
    if position + BLOCK > first and position < end:
        word = text[position >> 3]
        before, after = first - position, end - position
        if before > 0:
            word |= uint64(_OTHERS) >> uint64(8 * (BLOCK - before))
        if after < BLOCK:
            word |= uint64(_OTHERS) << uint64(8 * after)
    return word


@cache
def least_words(words: int):
    """Return the kernel for lanes that own `words` words each.

    It takes text (uint64, 8 codes each), parts (int64, shape (P, 3): where the text begins, first
    and last position, exclusive), peq (uint32: for each word of 32 rows, the last row in the
    highest bit, its matches with each of 8 codes), queries (int32, shape (Q, 4): lanes, warm-up in
    symbols, rows, first word in peq), the number of blocks of the longest part, and fills least
    (int32, shape (Q, P)) with the least distance at an end in the part. One warp a block.
    """
    size = words * CODES * WARP

    @cuda.jit
    def least_words_warp(text, parts, peq, queries, blocks, least):
        scratch = cuda.shared.array(WARP, int32)
        table = cuda.shared.array(size, uint32)
        pv = cuda.local.array(words, uint32)
        mv = cuda.local.array(words, uint32)
        lane = int32(cuda.threadIdx.x)
        query = cuda.blockIdx.y
        lanes, m = queries[query, _LANES], queries[query, _M]
        own = int32(lane % lanes)
        number = int32(cuda.blockIdx.x * (WARP // lanes) + lane // lanes)
        part = min(number, int32(len(parts) - 1))
        first, begin, end = parts[part, _FIRST], parts[part, _BEGIN], parts[part, _END]
        start = (begin - queries[query, _WARM]) >> 3 << 3
        pad = lanes * words * ROWS - m
        for w in range(words):
            row = (own * words + w) * ROWS
            for code in range(CODES):
                word = queries[query, _OFFSET] + own * words + w
                table[(w * CODES + code) * WARP + lane] = peq[word * CODES + code]
            # rows above the probe's first match anything: they stay 0
            real = min(max(row + ROWS - pad, 0), ROWS)
            full = uint32(uint32(0xFFFFFFFF) << uint32(min(ROWS - real, ROWS - 1)))
            pv[w] = full if real > 0 else uint32(0)
            mv[w] = uint32(0)
        cuda.syncthreads()
        score, best, carry = int32(m), int32(_FAR), int32(0)
        one, last = uint32(1), uint32(31)
        for step in range(blocks + lanes - 1):
            arriving = uint32(shuffle_up(carry, scratch))
            if own == 0:
                arriving = uint32(0)
            position = start + (step - own) * BLOCK
            if step < own or position >= end:
                continue
            if position <= begin:
                best = int32(_FAR)
            symbols = _symbols(text, position, first, end)
            leaving = uint32(0)
            low, high = uint32(symbols), uint32(symbols >> uint64(32))
            for k in range(BLOCK):
                half = int32(low if k < 4 else high)
                code = uint32(permute(half, int32(0), int32(0x4440 + (k & 3))))
                base = uint32(code * uint32(WARP)) + uint32(lane)
                up = uint32(arriving & one)
                down = uint32(uint32(arriving >> uint32(8)) & one)
                arriving = uint32(arriving >> one)
                for w in range(words):
                    equal = table[base + uint32(w * CODES * WARP)]
                    rising, falling = pv[w], mv[w]
                    vertical = uint32(equal | falling)
                    equal = uint32(equal | down)
                    total = uint32(uint32(equal & rising) + rising)
                    horizontal = uint32(uint32(total ^ rising) | equal)
                    rise = uint32(falling | uint32(~uint32(horizontal | rising)))
                    fall = uint32(rising & horizontal)
                    next_up, next_down = uint32(rise >> last), uint32(fall >> last)
                    rise = uint32(uint32(rise << one) | up)
                    fall = uint32(uint32(fall << one) | down)
                    pv[w] = uint32(fall | uint32(~uint32(vertical | rise)))
                    mv[w] = uint32(rise & vertical)
                    up, down = next_up, next_down
                leaving = uint32(leaving >> one)
                leaving |= uint32(uint32(up << uint32(7)) | uint32(down << uint32(15)))
                score = int32(score + int32(up) - int32(down))
                best = min(best, score)
            carry = int32(leaving)
        if own == lanes - 1 and number < len(parts):
            least[query, number] = best

    return least_words_warp


class Probes(NamedTuple):
    """Probes of about one length, as the kernel wants them."""

    numbers: tuple[int, ...]
    words: int
    lanes: int
    warm: int
    queries: NDArray[np.int32]
    peq: NDArray[np.uint32]


class UnitKernels(NamedTuple):
    """What `gpu_tools.matching.ends_cuda` needs to know of these kernels.

    Attributes
    ----------
    matches : ndarray of bool, shape (S, 5)
        The alphabet's.
    sizes : tuple of int
        What a lane may own, in words.
    parts : int
        Parts of a text that a group of lanes works on at once.
    """

    matches: NDArray[np.bool_]
    sizes: tuple[int, ...] = WORDS
    parts: int = 1

    def fits(self, m: int) -> bool:
        """Tell whether there is a kernel for a probe of m rows."""
        return m <= LONGEST

    def lanes_for(self, m: int, size: int) -> int:
        """Return the lanes, a power of two, that hold m rows."""
        return 1 << (-(-m // (size * ROWS)) - 1).bit_length()

    def table(self, numbers, symbols, size: int, warm: int) -> Probes:
        """Return the tables of probes, given their numbers and symbols."""
        lanes = self.lanes_for(max(map(len, symbols)), size)
        rows = lanes * size * ROWS
        bits = np.ones((len(symbols), rows, CODES), dtype=bool)
        for k, own in enumerate(symbols):
            bits[k, rows - len(own) :] = False
            bits[k, rows - len(own) :, : self.matches.shape[1]] = self.matches[own]
        grouped = bits.reshape(len(symbols), rows // ROWS, ROWS, CODES)
        packed = np.packbits(grouped, axis=2, bitorder="little").transpose(0, 1, 3, 2)
        peq = np.ascontiguousarray(packed).view("<u4").astype(np.uint32).ravel()
        queries = np.array([
            (lanes, warm, len(own), k * rows // ROWS) for k, own in enumerate(symbols)
        ], dtype=np.int32)  # fmt: skip
        return Probes(tuple(numbers), size, lanes, warm, queries, peq)

    def least(self, text, parts: NDArray[np.int64], probes: Probes, symbols):
        """Return the least distance of each probe in each part.

        Parameters
        ----------
        text : device array of uint64
            See `resident`.
        parts : ndarray of int64, shape (P, 3)
            Where the part's text begins, its first position, and the one after its last.
        probes : Probes
        symbols : list of ndarray of uint8
            The probes' symbols.

        Returns
        -------
        ndarray of int32, shape (Q, P)
            Ends up to 7 positions before a part may count as its own.
        """
        found = cuda.device_array((len(symbols), len(parts)), np.int32)
        launch(text, parts, probes, found)
        return found.copy_to_host()


def resident(codes: NDArray[np.uint8], multiple: int = BLOCK):
    """Return a text on the device, 8 codes a word; what pads it matches nothing.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        0 to 3, and 4 for what matches nothing.
    multiple : int
        Pad to a multiple of so many symbols, itself one of 8.
    """
    padded = np.full(-(-len(codes) // multiple) * multiple, 4, dtype=np.uint8)
    padded[: len(codes)] = codes
    return cuda.to_device(padded.view(np.uint64))


def launch(text, parts: NDArray[np.int64], probes: Probes, found) -> None:
    """Run the kernel."""
    prepared(text, parts, probes, found)()


def prepared(text, parts: NDArray[np.int64], probes: Probes, found) -> Callable[[], None]:
    """Copy what the kernel needs to the device; return a function that starts it."""
    longest = int((parts[:, _END] - parts[:, _BEGIN]).max()) + probes.warm
    grid = (-(-len(parts) // (WARP // probes.lanes)), len(probes.queries))
    kernel = least_words(probes.words)[grid, WARP]
    arrays = tuple(map(cuda.to_device, (parts, probes.peq, probes.queries)))
    return lambda: kernel(text, *arrays, longest // BLOCK + 2, found)


def multiprocessors() -> int:
    """Return the multiprocessors of the current device."""
    return 1 if simulated() else cuda.get_current_device().MULTIPROCESSOR_COUNT
