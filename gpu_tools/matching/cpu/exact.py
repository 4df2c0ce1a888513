"""Exact matching on a CPU: one pass over the text for each index, or for each of few probes."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.matching.cpu.ends import split
from gpu_tools.matching.index import MULTIPLIER, SECOND_BIT, Index, Library, indexes
from gpu_tools.matching.text_blocks import TextBlock

FEW_PROBES = 8
"""Probes up to which it is faster to compare the text with each one."""
COMPARED = 8
"""Symbols of a probe that are compared in vectors; more are rarely needed."""
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
    """Find the occurrences of an index's probes.

    Parameters
    ----------
    codes : ndarray of uint8
        Text.
    index : Index
        As a tuple.
    library : Library
        As a tuple.
    span : tuple of (int, int, int)
        First start, the start after the last one, and where the text ends.
    hits : ndarray of int64, shape (capacity, 2)
        Filled with start and probe.

    Returns
    -------
    int
        Number of hits, also of those beyond the capacity.
    """
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
    """Find the occurrences of one pattern without classes, 64 starts at a time.

    Parameters
    ----------
    codes : ndarray of uint8
        Text.
    symbols : ndarray of uint8, shape (m,)
        The codes that the pattern matches.
    span : tuple of (int, int, int)
        As in `scan`.
    hits : ndarray of int64, shape (capacity,)
        Filled with starts.

    Returns
    -------
    int
        Number of hits, also of those beyond the capacity.
    """
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
            # a lane of 0 is equal; those that look negative are only looked at in vain
            if not simd.any_at_most(differ, zero):
                start = following
                continue
        for position in range(start, following):
            k = 0
            while k < m and codes[position + k] == symbols[k]:
                k += 1
            if k == m:
                if count < len(hits):
                    hits[count] = position
                count += 1
        start = following
    return count


class Searcher:
    """All probes of a search, ready for the CPU.

    Parameters
    ----------
    library : Library
    threads : int
    """

    def __init__(self, library: Library, threads: int):
        self.library, self.threads = library, threads
        self.single = _singles(library)
        self.reach = int(np.diff(library.bounds).max()) - 1

    @cached_property
    def indexes(self) -> list[Index]:
        """Indexes that together hold all probes."""
        return indexes(self.library)

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
            parts = [self._scan_single(codes, k, span) for k in range(len(self.single))]
        else:
            parts = [self._scan_index(codes, index, span) for index in self.indexes]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _scan_single(self, codes, number: int, span) -> NDArray[np.int64]:
        hits = np.empty(_HITS, np.int64)
        count = scan_one(codes, self.single[number], span, hits)
        if count > len(hits):
            hits = np.empty(count, np.int64)
            scan_one(codes, self.single[number], span, hits)
        return np.column_stack((hits[:count], np.full(count, number)))

    def _scan_index(self, codes, index: Index, span) -> NDArray[np.int64]:
        hits = np.empty((_HITS, 2), np.int64)
        count = scan(codes, tuple(index), tuple(self.library), span, hits)
        if count > len(hits):
            hits = np.empty((count, 2), np.int64)
            scan(codes, tuple(index), tuple(self.library), span, hits)
        return hits[:count].copy()


def _singles(library: Library) -> list[NDArray[np.uint8]]:
    """Return the text codes of each probe, if probes are few and have no classes, else nothing."""
    few = len(library.bounds) - 1 <= FEW_PROBES
    if not few or library.matches.sum(axis=1)[library.symbols].max() > 1:
        return []
    # the first of the alphabet's codes that becomes each of the library's
    known = np.array([np.argmax(library.recode == code) for code in range(library.n_codes + 1)])
    codes = known[library.matches.argmax(axis=1)[library.symbols]].astype(np.uint8)
    return np.split(codes, library.bounds[1:-1])
