"""Approximate matching with GPUs: which parts of a piece they look at, and what is left over."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import cuda as numba_cuda
from numpy.typing import NDArray

from gpu_tools.matching import cuda
from gpu_tools.matching.cpu import NUCLEOTIDE_CODES
from gpu_tools.matching.ends import Finder, Hits, Part
from gpu_tools.matching.pieces import Piece

WARPS_PER_MULTIPROCESSOR = 16
LEAST_PART, MOST_PART = 64, 1 << 15
QUERIES_PER_LAUNCH = 4096


class DeviceFinder:
    """All probes of a search, ready to be scanned on GPUs.

    Parameters
    ----------
    finder : Finder
        Scans on the CPU what is left, and probes that the kernels do not take: those of other
        alphabets than dna, and longer ones than `gpu_tools.matching.cuda.LONGEST`.
    ordinals : tuple of int
        GPUs; each gets as many parts of the text.
    """

    def __init__(self, finder: Finder, ordinals: tuple[int, ...]):
        self.finder, self.ordinals = finder, ordinals
        fits = finder.matches.shape[1] == NUCLEOTIDE_CODES and finder.costs.unit
        self.numbers = [
            k for k, p in enumerate(finder.probes) if fits and len(p.symbols) <= cuda.LONGEST
        ]
        taken = set(self.numbers)
        self.others = [k for k in range(len(finder.probes)) if k not in taken]

    def find(self, piece: Piece) -> list[Hits]:
        """Return the hits of a piece that are within the limits after it."""
        left = self._left(piece) if self.numbers else []
        return self.finder.scan(piece.codes, [*left, *self.finder.parts(piece, self.others)])

    def _left(self, piece: Piece) -> list[Part]:
        """Return the parts in which something is within the limits."""
        total = sum(segment.end - segment.begin for segment in piece.segments)
        plans = list(self._plans(total))
        found = []
        with ThreadPoolExecutor(len(self.ordinals)) as drivers:
            for many in drivers.map(lambda k: self._run(piece, plans, k), range(len(self.ordinals))):
                found += many
        for probes, _, least in found:
            for number, row in zip(probes.numbers, least, strict=True):
                pattern = self.finder.probes[number].pattern
                if self.finder.limits.floor[pattern] < self.finder.limits.current[pattern]:
                    self.finder.limits.lower(pattern, int(row.min()))
        return [part for entry in found for part in self._selected(piece, *entry)]

    def _plans(self, total: int) -> Iterator[tuple[cuda.Probes, int]]:
        """Yield probes of about one length, and the length of the parts they look at."""
        by_lanes: dict = {}
        for number in self.numbers:
            m = len(self.finder.probes[number].symbols)
            by_lanes.setdefault(cuda.lanes_for(m, 1), []).append(number)
        for numbers in by_lanes.values():
            for first in range(0, len(numbers), QUERIES_PER_LAUNCH):
                yield self._plan(numbers[first : first + QUERIES_PER_LAUNCH], total)

    def _plan(self, numbers: list[int], total: int) -> tuple[cuda.Probes, int]:
        symbols = [self.finder.probes[k].symbols for k in numbers]
        warm = -(-max(map(self.finder.warm, numbers)) // cuda.BLOCK) * cuda.BLOCK
        at_once = len(self.ordinals) * cuda.multiprocessors() * WARPS_PER_MULTIPROCESSOR
        words, length = _words(max(map(len, symbols)), warm, total * len(numbers) // at_once)
        table = cuda.probes_table(numbers, symbols, self.finder.matches, words, warm)
        return table, length

    def _run(self, piece: Piece, plans, share: int):
        """Run a GPU's share of every plan; return probes, parts and least distances."""
        found = []
        with numba_cuda.gpus[self.ordinals[share]]:
            text = cuda.resident(piece.codes)
            for probes, length in plans:
                parts = _parts(piece, length)
                count = len(self.ordinals)
                own = parts[len(parts) * share // count : len(parts) * (share + 1) // count]
                if len(own):
                    least = cuda.least(text, np.ascontiguousarray(own[:, 1:]), probes)
                    found.append((probes, own, least))
        return found

    def _selected(self, piece: Piece, probes, parts, least) -> Iterator[Part]:
        limits = self.finder.limits.current
        of_query = np.array([limits[self.finder.probes[k].pattern] for k in probes.numbers])
        within = least <= of_query[:, None]
        for column in np.flatnonzero(within.any(axis=0)).tolist():
            segment, _, begin, end = parts[column].tolist()
            queries = tuple(probes.numbers[k] for k in np.flatnonzero(within[:, column]))
            yield Part(piece.segments[segment], begin, end, queries)


def _words(m: int, warm: int, symbols_per_warp: int) -> tuple[int, int]:
    """Return the words of a lane and the length of the parts.

    Many words save shuffles, but need many parts, and each part is preceded by its warm-up.
    """
    for words in sorted(cuda.WORDS, reverse=True):
        lanes = cuda.lanes_for(m, words)
        length = symbols_per_warp * lanes // cuda.WARP
        if lanes <= cuda.WARP and (length >= 2 * warm or words == cuda.WORDS[0]):
            break
        if words > cuda.WORDS[0] and cuda.lanes_for(m, words // 2) > cuda.WARP:
            break
    length = min(max(length, LEAST_PART), max(MOST_PART, 8 * warm))
    return words, -(-length // cuda.BLOCK) * cuda.BLOCK


def _parts(piece: Piece, length: int) -> NDArray[np.int64]:
    """Return rows of segment, where its text begins, and first and last position (exclusive)."""
    rows = []
    for k, segment in enumerate(piece.segments):
        begins = np.arange(segment.begin, segment.end, length)
        ends = np.minimum(begins + length, segment.end)
        fixed = np.full((2, len(begins)), [[k], [segment.start]])
        rows.append(np.vstack((fixed, begins, ends)).T)
    return np.concatenate(rows)
