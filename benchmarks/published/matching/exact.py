"""Exact matching of many patterns as published: Rabin-Karp, rolling and by prefix sums.

Hashes are modulo the prime Q with base D, a primitive root; powers of D come from a table of
period Q - 1. The patterns lie in a table with open addressing by hash and length; every hit is
verified symbol by symbol. What the description leaves open: Q = 65537, a table eight times as
large as the number of patterns, and the symbols' codes raised by 1 (a run of zeros has a hash of
its own).
"""

from __future__ import annotations

import numpy as np
from numba import cuda, int32, int64
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.matching.gpu import multiprocessors

Q, D = 65537, 3
THREADS = 4 if simulated() else 256
CHUNK = 8 if simulated() else 64
"""Positions of a thread of the rolling search, and symbols of a thread of the prefix sums."""


@cuda.jit(device=True)
def _lookup(text, place, m, hashed, patterns, hits, count):
    """Verify the patterns of a length that have a hash, and record those that occur."""
    symbols, bounds, table = patterns
    slot = (hashed * 31 + m) % len(table)
    while table[slot] >= 0:
        pattern = table[slot]
        first = bounds[pattern]
        if bounds[pattern + 1] - first == m:
            k = 0
            while k < m and symbols[first + k] == text[place + k]:
                k += 1
            if k == m:
                own = cuda.atomic.add(count, 0, 1)
                if own < len(hits):
                    hits[own, 0], hits[own, 1] = place, pattern
        slot = (slot + 1) % len(table)


@cuda.jit
def rolling(text, lengths, patterns, hits, count):
    """Parallel Rabin-Karp: a thread rolls a hash over its positions, once for each length."""
    begin = (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) * CHUNK
    for which in range(len(lengths)):
        m = lengths[which, 0]
        end = min(begin + CHUNK, len(text) - m + 1)
        hashed = int64(0)
        if begin < end:
            for k in range(m):
                hashed = (hashed * D + text[begin + k] + 1) % Q
            _lookup(text, begin, m, hashed, patterns, hits, count)
        for place in range(begin + 1, end):
            leaving = (text[place - 1] + 1) * lengths[which, 1] % Q
            hashed = ((hashed + Q - leaving) * D + text[place + m - 1] + 1) % Q
            _lookup(text, place, m, hashed, patterns, hits, count)


@cuda.jit
def block_sums(text, powers, sums):
    """Sum the terms of each block's symbols modulo Q."""
    partial = cuda.shared.array(THREADS, int32)
    own = int64(0)
    base = cuda.blockIdx.x * THREADS * CHUNK
    for k in range(CHUNK):
        i = base + k * THREADS + cuda.threadIdx.x
        if i < len(text):
            own += (text[i] + 1) * powers[(len(text) - 1 - i) % (Q - 1)]
    partial[cuda.threadIdx.x] = own % Q
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        total = int64(0)
        for k in range(THREADS):
            total += partial[k]
        sums[cuda.blockIdx.x] = total % Q


@cuda.jit
def scan_sums(sums):
    """Turn the blocks' sums into the sums before each block; one block."""
    partial = cuda.shared.array(THREADS, int32)
    share = (len(sums) + THREADS - 1) // THREADS
    begin = cuda.threadIdx.x * share
    end = min(begin + share, len(sums))
    total = int64(0)
    for k in range(begin, end):
        total += sums[k]
    partial[cuda.threadIdx.x] = total % Q
    cuda.syncthreads()
    before = int64(0)
    for k in range(cuda.threadIdx.x):
        before += partial[k]
    for k in range(begin, end):
        value = sums[k]
        sums[k] = before % Q
        before += value


@cuda.jit
def prefix_sums(text, powers, sums, prefixes):
    """Fill ``prefixes[i + 1]`` with the sum of the first i + 1 terms modulo Q."""
    partial = cuda.shared.array(THREADS, int32)
    before = int64(sums[cuda.blockIdx.x])
    base = cuda.blockIdx.x * THREADS * CHUNK
    for k in range(CHUNK):
        i = base + k * THREADS + cuda.threadIdx.x
        own = int64(0)
        if i < len(text):
            own = (text[i] + 1) * powers[(len(text) - 1 - i) % (Q - 1)] % Q
        partial[cuda.threadIdx.x] = own
        cuda.syncthreads()
        reach = 1
        while reach < THREADS:
            added = int32(0)
            if cuda.threadIdx.x >= reach:
                added = partial[cuda.threadIdx.x - reach]
            cuda.syncthreads()
            partial[cuda.threadIdx.x] = (partial[cuda.threadIdx.x] + added) % Q
            cuda.syncthreads()
            reach *= 2
        if i < len(text):
            prefixes[i + 1] = (before + partial[cuda.threadIdx.x]) % Q
        before += partial[THREADS - 1]
        cuda.syncthreads()


@cuda.jit
def by_prefixes(text, powers, prefixes, lengths, patterns, hits, count):
    """Look up every window of every length, its hash taken from two prefix sums."""
    stride = cuda.gridDim.x * cuda.blockDim.x
    n = len(text)
    for place in range(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x, n, stride):
        for which in range(len(lengths)):
            m = lengths[which, 0]
            if place + m <= n:
                terms = int64(prefixes[place + m]) - prefixes[place] + Q
                # a power of D with a negative exponent is one with its complement to Q - 1
                exponent = (m - n + place) % (Q - 1)
                hashed = terms * powers[exponent] % Q
                _lookup(text, place, m, hashed, patterns, hits, count)


class Problem:
    """Codes of patterns and a text on the device, and space for `capacity` occurrences."""

    def __init__(self, patterns: list[NDArray[np.uint8]], text, capacity: int = 1 << 22):
        sizes = np.array([len(pattern) for pattern in patterns])
        lengths = np.unique(sizes)
        steps = [(m, pow(D, int(m) - 1, Q)) for m in lengths]
        powers = [1]
        for _ in range(Q - 2):
            powers.append(powers[-1] * D % Q)
        self.n, self.count = len(text), cuda.to_device(np.zeros(1, np.int32))
        self.text = cuda.to_device(text)
        self.lengths = cuda.to_device(np.array(steps, dtype=np.int32))
        self.powers = cuda.to_device(np.array(powers, dtype=np.int32))
        self.patterns = tuple(map(cuda.to_device, (
            np.concatenate(patterns), np.concatenate(([0], np.cumsum(sizes))).astype(np.int32),
            _table(patterns),
        )))  # fmt: skip
        self.blocks = -(-self.n // (THREADS * CHUNK))
        self.sums = cuda.device_array(self.blocks, np.int32)
        self.prefixes = cuda.to_device(np.zeros(self.n + 1, np.int32))
        self.hits = cuda.device_array((capacity, 2), np.int64)

    def launch(self, name: str) -> None:
        """Start the kernels of ``rolling`` or ``prefix sums``."""
        if name == "rolling":
            rolling[self.blocks, THREADS](
                self.text, self.lengths, self.patterns, self.hits, self.count
            )
            return
        block_sums[self.blocks, THREADS](self.text, self.powers, self.sums)
        scan_sums[1, THREADS](self.sums)
        prefix_sums[self.blocks, THREADS](self.text, self.powers, self.sums, self.prefixes)
        by_prefixes[multiprocessors() * 8, THREADS](
            self.text, self.powers, self.prefixes, self.lengths, self.patterns, self.hits,
            self.count,
        )  # fmt: skip

    def occurrences(self, name: str) -> list[tuple[int, int]]:
        """Return all (place, pattern), sorted."""
        self.count.copy_to_device(np.zeros(1, np.int32))
        self.launch(name)
        found = self.hits.copy_to_host()[: int(self.count.copy_to_host()[0])]
        return sorted(map(tuple, found.tolist()))


def _table(patterns) -> NDArray[np.int32]:
    """Return the patterns' numbers by hash and length, -1 where there is none."""
    table = np.full(8 * len(patterns), -1, dtype=np.int32)
    for number, pattern in enumerate(patterns):
        hashed = 0
        for code in pattern.tolist():
            hashed = (hashed * D + code + 1) % Q
        slot = (hashed * 31 + len(pattern)) % len(table)
        while table[slot] >= 0:
            slot = (slot + 1) % len(table)
        table[slot] = number
    return table
