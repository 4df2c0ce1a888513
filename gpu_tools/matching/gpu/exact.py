"""Exact matching on GPUs: a thread looks up the windows that begin in its 16 symbols.

Of patterns with at most 4 different symbols the thread packs its symbols and the 16 that follow
into 64 bits, else a symbol is a byte; a shift gives the key of each window. The filter lies in
shared memory. What passes it is compared with the slots of the index, which hold up to 16 symbols
of a pattern, or 4, in registers; only what is left is verified in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numba import cuda, int32, int64, uint32, uint64
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.dispatch import Buffers, map_gpus
from gpu_tools.hardware.gpu.intrinsics.words import funnel, kernel, load4, permute, product
from gpu_tools.matching import index as windows
from gpu_tools.matching.cpu.exact import Searcher
from gpu_tools.matching.gpu import approximate
from gpu_tools.matching.index import BYTE_BITS, FEW_CODE_BITS, FEW_CODES, KEY_BITS
from gpu_tools.matching.text_blocks import TextBlock

SYMBOLS = 16
THREADS = 4 if simulated() else 256
BLOCKS_PER_MULTIPROCESSOR = {FEW_CODE_BITS: 6, BYTE_BITS: 5}
REGISTERS = {FEW_CODE_BITS: 40, BYTE_BITS: 48}
"""Both by bits of a symbol: the most registers with which so many blocks fit."""
HITS = 16 if simulated() else 1 << 20
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
    low, high = (a, b) if k < approximate.BLOCK else (b, c)
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
        self.indexes: list[list[DeviceIndex]] = []
        self.buffers: list[Buffers] = []
        for ordinal in ordinals:
            with cuda.gpus[ordinal]:
                self.indexes.append(on_device(searcher))
                self.buffers.append(Buffers())

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
        text = approximate.resident(codes[begin : end + reach], 2 * approximate.BLOCK, buffers)
        found = np.concatenate([search(text, index, buffers) for index in indexes])
        found[:, 0] += begin
        return found[found[:, 0] < end]

    def _within(self, text_block: TextBlock, rows) -> NDArray[np.int64]:
        """Return the hits that lie within one range and begin at a position to report."""
        table = np.array([(s.start, s.begin, s.end, s.stop) for s in text_block.ranges])
        ranges = table[np.searchsorted(table[:, 0], rows[:, 0], side="right") - 1]
        ends = rows[:, 0] + np.diff(self.searcher.library.bounds)[rows[:, 1]]
        inside = (rows[:, 0] >= ranges[:, 1]) & (rows[:, 0] < ranges[:, 2])
        return rows[inside & (ends <= ranges[:, 3])]


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
    size, most = 0, HITS // REGIONS
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
    at_once = 1 if simulated() else approximate.multiprocessors() * BLOCKS_PER_MULTIPROCESSOR[bits]
    grid = min(at_once, -(-len(text) // (2 * THREADS)))
    find, symbols = find_step(*index.constants)[grid, THREADS], text.view(np.uint8)
    return lambda: find(text, symbols, *index.arrays, hits, counts)
