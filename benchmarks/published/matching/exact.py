"""Exact matching of many patterns as published: Rabin-Karp, rolling and by prefix sums.

Hashes are modulo the prime Q with base D, a primitive root; powers of D come from a table of
period Q - 1. `rolling` and `by_prefixes` look a hash up in a table with open addressing by hash and
length; `rolling_loop` compares it with the hashes of all patterns of the length, one after another,
as the source's parallel Rabin-Karp does. Every hit is verified symbol by symbol. What the
description leaves open: Q = 65521, with which all products fit in 32 bits, a table of at least
eight times as many places as there are patterns, and the symbols' codes raised by 1 (a run of zeros
has a hash of its own).
"""

from __future__ import annotations

import numpy as np
from numba import cuda, int64, uint32
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.matching.gpu import multiprocessors

Q, D = 65521, 17
THREADS = 4 if simulated() else 256
CHUNK = 8 if simulated() else 64
"""Positions of a thread of the rolling search."""
SHARE = 4 if simulated() else 16
"""Symbols of a thread of the prefix sums."""
_STRIDE = SHARE + 1
_STAGED = THREADS * _STRIDE
_Q, _PERIOD, _D, _ONE = uint32(Q), uint32(Q - 1), uint32(D), uint32(1)
_STEP = uint32(pow(D, -THREADS, Q))
"""The power of D from a thread's symbol to its next one in the prefix sums."""


@cuda.jit(device=True)
def _verify(text, place, m, pattern, patterns, hits, count):
    """Compare a pattern with the text, and record it if it occurs."""
    symbols, first, k = patterns[0], patterns[1][pattern], 0
    while k < m and symbols[first + k] == text[place + uint32(k)]:
        k += 1
    if k == m:
        own = cuda.atomic.add(count, 0, 1)
        if own < len(hits):
            hits[own, 0], hits[own, 1] = place, pattern


@cuda.jit(device=True)
def _look_up(text, place, length, hashed, patterns, hits, count):
    """Verify the patterns in the table that have a length and a hash."""
    m, bounds, table = length[0], patterns[1], patterns[2]
    mask = uint32(len(table) - 1)
    slot = uint32(hashed * uint32(31) + m) & mask
    while table[slot] >= 0:
        pattern = table[slot]
        if bounds[pattern + 1] - bounds[pattern] == m:
            _verify(text, place, m, pattern, patterns, hits, count)
        slot = uint32(slot + _ONE) & mask


@cuda.jit(device=True)
def _compare(text, place, length, hashed, patterns, hits, count):
    """Verify the patterns of a length, one after another, that have a hash."""
    hashes, order = patterns[3], patterns[4]
    for k in range(uint32(length[2]), uint32(length[3])):
        if hashes[k] == hashed:
            _verify(text, place, length[0], order[k], patterns, hits, count)


def _rolling(find):
    """Return the parallel Rabin-Karp that finds patterns by their hash in one way."""

    @cuda.jit
    def rolling(text, lengths, patterns, hits, count):
        begin = uint32((cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) * CHUNK)
        for which in range(len(lengths)):
            length = lengths[which]
            m, weight = uint32(length[0]), uint32(length[1])
            end = uint32(min(begin + CHUNK, len(text) - int64(m) + 1))
            hashed = uint32(0)
            if begin < len(text) - int64(m) + 1:
                for k in range(m):
                    code = uint32(text[uint32(begin + k)])
                    hashed = uint32(uint32(hashed * _D + code) + _ONE) % _Q
                find(text, begin, length, hashed, patterns, hits, count)
                for place in range(uint32(begin + _ONE), end):
                    leaving = uint32(text[uint32(place - _ONE)]) + _ONE
                    leaving = uint32(leaving * weight) % _Q
                    entering = uint32(text[uint32(place + m - _ONE)]) + _ONE
                    hashed = uint32(uint32(hashed + _Q - leaving) * _D + entering) % _Q
                    find(text, place, length, hashed, patterns, hits, count)

    return rolling


rolling, rolling_loop = _rolling(_look_up), _rolling(_compare)


@cuda.jit(device=True)
def _power(powers, exponent):
    return powers[uint32(exponent) % _PERIOD]


@cuda.jit
def block_sums(text, powers, sums):
    """Sum the terms of each block's symbols modulo Q.

    A thread's first power of D comes from the table; the others are products.
    """
    partial = cuda.shared.array(THREADS, uint32)
    thread, own = uint32(cuda.threadIdx.x), uint32(0)
    base = uint32(cuda.blockIdx.x * THREADS * SHARE)
    power = _power(powers, len(text) - 1 + _PERIOD - (base + thread) % _PERIOD)
    for k in range(SHARE):
        i = uint32(base + uint32(k * THREADS) + thread)
        if i < len(text):
            own = uint32(own + uint32((uint32(text[i]) + _ONE) * power))
        power = uint32(power * _STEP) % _Q
    partial[thread] = own % _Q
    reach = THREADS // 2
    while reach > 0:
        cuda.syncthreads()
        if thread < reach:
            partial[thread] = uint32(partial[thread] + partial[thread + uint32(reach)])
        reach //= 2
    if thread == 0:
        sums[cuda.blockIdx.x] = partial[0] % _Q


@cuda.jit
def scan_sums(sums):
    """Turn the blocks' sums into the sums before each block; one block."""
    partial = cuda.shared.array(THREADS, uint32)
    share = (len(sums) + THREADS - 1) // THREADS
    begin = cuda.threadIdx.x * share
    end = min(begin + share, len(sums))
    total = uint32(0)
    for k in range(begin, end):
        total = uint32(total + sums[k])
    partial[cuda.threadIdx.x] = total % _Q
    cuda.syncthreads()
    before = uint32(0)
    for k in range(cuda.threadIdx.x):
        before = uint32(before + partial[k])
    for k in range(begin, end):
        value = sums[k]
        sums[k] = before % _Q
        before = uint32(before + value)


@cuda.jit
def prefix_sums(text, powers, sums, prefixes):
    """Fill ``prefixes[i + 1]`` with the sum of the first i + 1 terms modulo Q.

    A thread adds its terms up in shared memory, and then the sums of the threads before it.
    """
    stage = cuda.shared.array(_STAGED, uint32)
    partial = cuda.shared.array(THREADS, uint32)
    thread, base = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x * THREADS * SHARE)
    power = _power(powers, len(text) - 1 + _PERIOD - (base + thread) % _PERIOD)
    for k in range(SHARE):
        at = uint32(uint32(k * THREADS) + thread)
        term = uint32(0)
        if uint32(base + at) < len(text):
            term = uint32((uint32(text[uint32(base + at)]) + _ONE) * power) % _Q
        stage[uint32(at + at // uint32(SHARE))] = term
        power = uint32(power * _STEP) % _Q
    cuda.syncthreads()
    own = uint32(0)
    for k in range(SHARE):
        place = uint32(thread * uint32(_STRIDE) + uint32(k))
        own = uint32(own + stage[place])
        stage[place] = own
    partial[thread] = own
    reach = 1
    while reach < THREADS:
        cuda.syncthreads()
        added = partial[thread - uint32(reach)] if thread >= reach else uint32(0)
        cuda.syncthreads()
        partial[thread] = uint32(partial[thread] + added)
        reach *= 2
    cuda.syncthreads()
    for k in range(SHARE):
        at = uint32(uint32(k * THREADS) + thread)
        owner = at // uint32(SHARE)
        if uint32(base + at) < len(text):
            before = partial[owner - _ONE] if owner > 0 else uint32(0)
            before = uint32(before + sums[cuda.blockIdx.x])
            total = uint32(before + stage[uint32(at + owner)])
            prefixes[uint32(base + at + _ONE)] = total % _Q


@cuda.jit
def by_prefixes(text, powers, prefixes, lengths, step, patterns, hits, count):
    """Look up every window of every length, its hash taken from two prefix sums.

    `step` is the power of D from a thread's window to its next one.
    """
    stride = uint32(cuda.gridDim.x * cuda.blockDim.x)
    begin = uint32(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)
    for which in range(len(lengths)):
        length = lengths[which]
        m = uint32(length[0])
        # a power of D with a negative exponent is one with its complement to Q - 1
        power = _power(powers, begin % _PERIOD + uint32(length[4]))
        place, end = begin, uint32(max(len(text) - int64(m) + 1, 0))
        while place < end:
            terms = uint32(prefixes[uint32(place + m)] + _Q - prefixes[place]) % _Q
            hashed = uint32(terms * power) % _Q
            _look_up(text, place, length, hashed, patterns, hits, count)
            place = uint32(place + stride)
            power = uint32(power * step) % _Q


DESIGNS = {"rolling, loop": rolling_loop, "rolling": rolling, "prefix sums": None}
"""The published searches; the last one has several kernels."""


class Problem:
    """Codes of patterns and a text on the device, and space for `capacity` occurrences."""

    def __init__(self, patterns: list[NDArray[np.uint8]], text, capacity: int = 1 << 22):
        sizes, n = np.array([len(pattern) for pattern in patterns]), len(text)
        hashes, order = np.array([_hash(pattern) for pattern in patterns]), np.argsort(sizes)
        lengths = [
            (m, pow(D, m - 1, Q), *np.searchsorted(sizes[order], (m, m + 1)), (m - n) % (Q - 1))
            for m in np.unique(sizes).tolist()
        ]
        powers = [1]
        for _ in range(Q - 2):
            powers.append(powers[-1] * D % Q)
        self.n, self.count = n, cuda.to_device(np.zeros(1, np.int32))
        self.text = cuda.to_device(text)
        self.lengths = cuda.to_device(np.array(lengths, dtype=np.int32))
        self.powers = cuda.to_device(np.array(powers, dtype=np.uint32))
        self.patterns = tuple(map(cuda.to_device, (
            np.concatenate(patterns), np.concatenate(([0], np.cumsum(sizes))).astype(np.int32),
            _table(sizes, hashes), hashes[order].astype(np.uint32), order.astype(np.int32),
        )))  # fmt: skip
        self.sums = cuda.device_array(-(-n // (THREADS * SHARE)), np.uint32)
        self.prefixes = cuda.to_device(np.zeros(n + 1, np.uint32))
        self.hits = cuda.device_array((capacity, 2), np.int64)

    def launch(self, name: str) -> None:
        """Start the kernels of one of `DESIGNS`."""
        if kernel := DESIGNS[name]:
            kernel[-(-self.n // (THREADS * CHUNK)), THREADS](
                self.text, self.lengths, self.patterns, self.hits, self.count
            )
            return
        blocks = len(self.sums)
        block_sums[blocks, THREADS](self.text, self.powers, self.sums)
        scan_sums[1, THREADS](self.sums)
        prefix_sums[blocks, THREADS](self.text, self.powers, self.sums, self.prefixes)
        blocks = multiprocessors() * 8
        by_prefixes[blocks, THREADS](
            self.text, self.powers, self.prefixes, self.lengths,
            np.uint32(pow(D, blocks * THREADS, Q)), self.patterns, self.hits, self.count,
        )  # fmt: skip

    def found(self, name: str) -> int:
        """Return the number of occurrences; `hits` has them."""
        self.count.copy_to_device(np.zeros(1, np.int32))
        self.launch(name)
        return int(self.count.copy_to_host()[0])

    def occurrences(self, name: str) -> list[tuple[int, int]]:
        """Return all (place, pattern), sorted."""
        count = self.found(name)
        return sorted(map(tuple, self.hits.copy_to_host()[:count].tolist()))


def _hash(pattern) -> int:
    hashed = 0
    for code in pattern.tolist():
        hashed = (hashed * D + code + 1) % Q
    return hashed


def _table(sizes, hashes) -> NDArray[np.int32]:
    """Return the patterns' numbers by hash and length, -1 where there is none."""
    table = np.full(1 << (8 * len(sizes) - 1).bit_length(), -1, dtype=np.int32)
    for number, (size, hashed) in enumerate(zip(sizes.tolist(), hashes.tolist(), strict=True)):
        slot = (hashed * 31 + size) % len(table)
        while table[slot] >= 0:
            slot = (slot + 1) % len(table)
        table[slot] = number
    return table
