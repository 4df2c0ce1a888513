"""Exact matching on a CPU: one pass over the text for each index, or for each of few probes."""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.matching import index as windows
from gpu_tools.matching.cpu.approximate import split
from gpu_tools.matching.index import MULTIPLIER, SECOND_BIT, Index, Library
from gpu_tools.matching.text_blocks import TextBlock, collect_hits

FEW_PROBES = 8
"""Probes up to which it is faster to compare the text with each one."""
COMPARED = 8
"""Symbols of a probe that are compared in vectors before single symbols are."""
_HITS = 1 << 16


@njit(nogil=True)
def _occurs(codes, start, probe, library):
    """Tell whether a probe occurs at `start`."""
    symbols, bounds, matches, recode, _ = library
    first = bounds[probe]
    for k in range(bounds[probe + 1] - first):
        if not matches[symbols[first + k], recode[codes[start + k]]]:
            return False
    return True


@njit(nogil=True)
def _verify(codes, at, key, index, library, span, hits, count):
    """Record the probes with the window at `at` that occur; return the number of hits so far."""
    slots, bounds = index[6], library[1]
    window_bits = np.uint32(index[0] * index[2])
    whole = np.uint32(np.uint64(2**32 - 1) >> np.uint64(32 - window_bits))
    slot = np.int64(np.uint32(key * MULTIPLIER) >> np.uint32(index[5]))
    while slots[slot, 1] != 0:
        if (key ^ slots[slot, 0]) & slots[slot, 1] & whole == 0:
            probe = np.int64(slots[slot, 2])
            start = at - np.int64(slots[slot, 3])
            length = bounds[probe + 1] - bounds[probe]
            inside = span[0] <= start < span[1] and start + length <= span[2]
            if inside and _occurs(codes, start, probe, library):
                if count < len(hits):
                    hits[count, 0], hits[count, 1] = start, probe
                count += 1
        slot += 1
    return count


@njit(cache=True, nogil=True)
def scan(codes, index, library, span, hits):
    """Find the occurrences of an index's probes."""
    # span: first start, the start after the last one, and the end of the text
    # hits (capacity, 2): start and probe; the result counts those beyond it, too
    window, off_step, bits = index[0], index[1] - 1, np.uint32(index[2])
    shift, filter_bits, recode = np.uint32(index[3]), index[4], library[3]
    other = library[2].shape[1] - 1
    top = np.uint32((window - 1) * index[2])
    key, run, count = np.uint32(0), 0, 0
    for position in range(span[0], span[2]):
        code = recode[codes[position]]
        if code >= other:
            run = 0
            continue
        key = np.uint32(np.uint32(key >> bits) | np.uint32(np.uint32(code) << top))
        run += 1
        at = position + 1 - window
        if at & off_step:
            continue
        hashed = np.uint32(key * MULTIPLIER)
        word = filter_bits[hashed >> shift]
        both = (word >> (hashed & np.uint32(31))) & (
            word >> ((hashed >> SECOND_BIT) & np.uint32(31))
        )
        if both & np.uint32(1) and run >= window:
            count = _verify(codes, at, key, index, library, span, hits, count)
    return count


@njit(cache=True, nogil=True)
def scan_one(codes, symbols, span, hits):
    """Find the occurrences of one pattern without classes, 64 starts at a time."""
    # symbols: the codes that the pattern matches
    # hits (capacity, 1): starts
    m, stop = len(symbols), min(span[1], span[2] - len(symbols) + 1)
    head, zero = min(m, COMPARED), simd.splat(np.uint8(0))
    start, count = span[0], 0
    while start < stop:
        following = min(start + simd.VECTOR_BYTES, stop)
        if start + simd.VECTOR_BYTES + head <= len(codes):
            differ = simd.bit_xor(simd.load(codes, start), simd.splat(symbols[0]))
            for k in range(1, head):
                other = simd.bit_xor(simd.load(codes, start + k), simd.splat(symbols[k]))
                differ = simd.bit_or(differ, other)
            # lanes of 0 are equal; lanes that look negative cost a comparison in vain
            if not simd.any_at_most(differ, zero):
                start = following
                continue
        for position in range(start, following):
            k = 0
            while k < m and codes[position + k] == symbols[k]:
                k += 1
            if k == m:
                if count < len(hits):
                    hits[count, 0] = position
                count += 1
        start = following
    return count


class Searcher:
    """All probes of a search, ready for the CPU."""

    def __init__(self, library: Library, threads: int):
        self.library, self.threads = library, threads
        self.single = _singles(library)
        self.reach = int(np.diff(library.bounds).max()) - 1

    @cached_property
    def indexes(self) -> list[Index]:
        """Indexes that together hold all probes."""
        return windows.indexes(self.library)

    def find(self, text_block: TextBlock) -> NDArray[np.int64]:
        """Return rows of start (in the text block) and probe, in any order."""
        spans = [
            (begin, end, min(end + self.reach, text_range.stop))
            for text_range in text_block.ranges
            for begin, end in split(text_range.begin, text_range.end, self.threads)
        ]
        found = map_on_threads(self.threads, lambda span: self._scan(text_block.codes, span), spans)
        return np.concatenate([np.empty((0, 2), np.int64), *found])

    def _scan(self, codes, span) -> NDArray[np.int64]:
        if self.single:
            parts = []
            for number, symbols in enumerate(self.single):
                starts = collect_hits(partial(scan_one, codes, symbols, span), 1, _HITS)
                parts.append(np.column_stack((starts, np.full(len(starts), number))))
        else:
            arrays = [(tuple(index), tuple(self.library)) for index in self.indexes]
            parts = [collect_hits(partial(scan, codes, *own, span), 2, _HITS) for own in arrays]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _singles(library: Library) -> list[NDArray[np.uint8]]:
    """Return the text codes of each probe, or nothing if probes are many or have classes."""
    few = len(library.bounds) - 1 <= FEW_PROBES
    if not few or library.matches.sum(axis=1)[library.symbols].max() > 1:
        return []
    # the first of the alphabet's codes that becomes each of the library's
    known = np.array([np.argmax(library.recode == code) for code in range(library.n_codes + 1)])
    codes = known[library.matches.argmax(axis=1)[library.symbols]].astype(np.uint8)
    return np.split(codes, library.bounds[1:-1])
