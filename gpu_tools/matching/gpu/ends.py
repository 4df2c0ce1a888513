"""Where approximate matches end in a text block, on GPUs: which warp scans which part of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numba import cuda as numba_cuda
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.buffer_pool import Buffers
from gpu_tools.hardware.gpu.dispatch import map_gpus
from gpu_tools.matching.cpu.ends import Finder
from gpu_tools.matching.cpu.scan import NUCLEOTIDE_CODES
from gpu_tools.matching.gpu import scan as cuda
from gpu_tools.matching.gpu.scan import CODES, Probes, UnitKernels
from gpu_tools.matching.gpu.weighted_scan import CostKernels, CostProbes
from gpu_tools.matching.hits import NO_HITS
from gpu_tools.matching.text_blocks import TextBlock

LEAST_PART, MOST_PART = 16 if simulated() else 64, 1 << 16
PROBES_PER_LAUNCH = 4096
HITS = 8 if simulated() else 1 << 20


class DeviceFinder:
    """All probes of a search, ready to be scanned on GPUs.

    Parameters
    ----------
    finder : Finder
        Scans on the CPU probes that the kernels do not take: very long ones, those of large costs,
        and all if the patterns tell more than 255 kinds of symbols apart.
    ordinals : tuple of int
        GPUs; each gets as many parts of the text.
    """

    def __init__(self, finder: Finder, ordinals: tuple[int, ...]):
        self.finder, self.ordinals = finder, ordinals
        costs, symbols = finder.costs, np.unique(np.concatenate(self._symbols(finder.numbers)))
        pairs = costs.pair_costs(finder.matches)
        self.recode, chosen = kinds(finder.matches if costs.unit else pairs, symbols)
        few = len(chosen) < CODES[-1]
        if few:
            matches, pairs = finder.matches[:, chosen], pairs[:, chosen]
            self.kernels = UnitKernels(matches) if costs.unit else CostKernels(pairs, costs)
        self.buffers = []
        for ordinal in ordinals:
            with numba_cuda.gpus[ordinal]:
                self.buffers.append(Buffers())
        self.numbers, self.others = [], []
        for number in finder.numbers:
            fits = few and self.kernels.fits(len(finder.probes[number].symbols))
            (self.numbers if fits else self.others).append(number)

    def find(self, text_block: TextBlock) -> NDArray[np.int64]:
        """Return the hits of a text block that are within the limits after it."""
        found = self._found(text_block) if self.numbers else NO_HITS
        tasks = self.finder.tasks(text_block, self.others)
        others = self.finder.scan(text_block.codes, tasks)
        return self.finder.within(np.concatenate([found, others]))

    def _found(self, text_block: TextBlock) -> NDArray[np.int64]:
        """Return what the GPUs find."""
        total = sum(text_range.end - text_range.begin for text_range in text_block.ranges)
        codes = text_block.codes if self.recode is None else self.recode[text_block.codes]
        search = partial(self._run, codes, text_block, list(self._plans(total)))
        return np.concatenate(map_gpus(self.ordinals, search, range(len(self.ordinals))))

    def _plans(self, total: int) -> Iterator[tuple[Probes | CostProbes, int]]:
        """Yield probes of about one length, and the length of the parts they look at."""
        by_length: dict = {}
        for number in self.numbers:
            m = len(self.finder.probes[number].symbols)
            by_length.setdefault(m.bit_length(), []).append(number)
        for numbers in by_length.values():
            for first in range(0, len(numbers), PROBES_PER_LAUNCH):
                yield self._plan(numbers[first : first + PROBES_PER_LAUNCH], total)

    def _plan(self, numbers: list[int], total: int):
        symbols = self._symbols(numbers)
        warm = -(-max(map(self.finder.warm, numbers)) // cuda.BLOCK) * cuda.BLOCK
        at_once = len(self.ordinals) * cuda.multiprocessors() * self.kernels.warps
        load = -(-total * len(numbers) // at_once)
        size, length = plan(self.kernels, max(map(len, symbols)), warm, load)
        return self.kernels.table(numbers, symbols, size, warm), length

    def _symbols(self, numbers):
        return [self.finder.probes[k].symbols for k in numbers]

    def _run(self, codes, text_block: TextBlock, plans, share: int) -> NDArray[np.int64]:
        """Return what the current GPU finds in a share of the parts."""
        found, count, buffers = [NO_HITS], len(self.ordinals), self.buffers[share]
        text = cuda.resident(codes, buffers=buffers)
        begins = [text_range.begin for text_range in text_block.ranges]
        for probes, length in plans:
            parts = _parts(text_block, length)
            assigned = parts[len(parts) * share // count : len(parts) * (share + 1) // count]
            if len(assigned):
                own = np.ascontiguousarray(assigned[:, 1:])
                rows = self._launched(text, own, probes, buffers)
                ranges = np.searchsorted(begins, rows[:, 1] - 1, side="right") - 1
                numbers = np.array(probes.numbers)[rows[:, 0]]
                found.append(np.column_stack((numbers, ranges, rows[:, 1:])))
        return np.concatenate(found)

    def _launched(self, text, parts: NDArray[np.int64], probes, buffers) -> NDArray[np.int64]:
        """Return rows of query, end and distance of one launch; limits fall by what it finds."""
        patterns = [self.finder.probes[k].pattern for k in probes.numbers]
        lifts = self.kernels.lifts(self._symbols(probes.numbers))
        bounds = np.stack([self.finder.limits.of(pattern) for pattern in patterns])
        limits = numba_cuda.to_device((bounds - lifts[:, None]).astype(np.int32))
        rows = launch(self.kernels, text, parts, probes, limits, buffers)
        rows[:, 2] += lifts[rows[:, 0]]
        least = limits.copy_to_host()[:, 0] + lifts
        for pattern, limit in zip(patterns, least.tolist(), strict=True):
            self.finder.limits.lower(pattern, limit)
        # most of what is found while a limit falls is above it in the end
        return rows[rows[:, 2] <= least[rows[:, 0]]]


def kinds(table, symbols) -> tuple[NDArray[np.uint8] | None, NDArray[np.int64]]:
    """Tell which codes of a text differ for some symbols.

    Parameters
    ----------
    table : ndarray, shape (S, C)
        What a symbol and a code have in common.
    symbols : ndarray of uint8
        The symbols that count.

    Returns
    -------
    recode : ndarray of uint8, shape (C,), or None
        The kind of each code; None for the few of nucleotides, which stay as they are.
    chosen : ndarray of int64
        A code of each kind.
    """
    if table.shape[1] == NUCLEOTIDE_CODES:
        return None, np.arange(NUCLEOTIDE_CODES)
    _, chosen, recode = np.unique(table[symbols], axis=1, return_index=True, return_inverse=True)
    return recode.ravel().astype(np.uint8), chosen


def launch(
    kernels, text, parts: NDArray[np.int64], probes, limits, buffers: Buffers
) -> NDArray[np.int64]:
    """Return rows of query, end and distance; the kernel runs again if its buffer is too small."""
    capacity = HITS
    while True:
        hits = buffers.array("hits", capacity, np.int64, width=3)[:capacity]
        count = numba_cuda.to_device(np.zeros(1, np.int32))
        kernels.prepared(text, parts, probes, (limits, hits, count))()
        found = int(count.copy_to_host()[0])
        if found <= capacity:
            return hits[:found].copy_to_host() if found else np.empty((0, 3), np.int64)
        capacity = found


def plan(kernels, m: int, warm: int, load: int) -> tuple[int, int]:
    """Return what a lane holds, of the kernels' sizes, and the length of the parts.

    Much in a lane saves shuffles, but needs many parts, and each part is preceded by its warm-up.

    Parameters
    ----------
    kernels : UnitKernels or CostKernels
    m : int
        Rows of the longest probe.
    warm : int
        Symbols of the warm-up.
    load : int
        Symbols for each warp that the devices can run at once.
    """
    enough = next(
        (k for k, size in enumerate(kernels.sizes) if kernels.lanes_for(m, size) == 1), -1
    )
    sizes = kernels.sizes[: enough + 1] if enough >= 0 else kernels.sizes
    possible = [size for size in sizes if kernels.lanes_for(m, size) <= cuda.WARP]
    for size in reversed(possible):
        # rounded up: with one part more than run at once the time would double
        length = -(-load * kernels.lanes_for(m, size) // (cuda.WARP * kernels.parts))
        if length >= 2 * warm:
            break
    length = min(max(length, LEAST_PART), max(MOST_PART, 8 * warm))
    return size, -(-length // cuda.BLOCK) * cuda.BLOCK


def _parts(text_block: TextBlock, length: int) -> NDArray[np.int64]:
    """Return rows of a range's number, where it begins, and first and last position (exclusive)."""
    rows = []
    for k, text_range in enumerate(text_block.ranges):
        begins = np.arange(text_range.begin, text_range.end, length)
        ends = np.minimum(begins + length, text_range.end)
        fixed = np.full((2, len(begins)), [[k], [text_range.start]])
        rows.append(np.vstack((fixed, begins, ends)).T)
    return np.concatenate(rows)
