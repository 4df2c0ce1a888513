"""Approximate matching with GPUs: which parts of a piece they look at, and what is left over."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import cuda as numba_cuda
from numpy.typing import NDArray

from gpu_tools.device import simulated
from gpu_tools.matching import cuda
from gpu_tools.matching.cpu import NUCLEOTIDE_CODES
from gpu_tools.matching.cuda import Probes, UnitKernels
from gpu_tools.matching.cuda_costs import CostKernels, CostProbes
from gpu_tools.matching.ends import Finder, Hits, Part
from gpu_tools.matching.pieces import Piece

WARPS_PER_MULTIPROCESSOR = 8
LEAST_PART, MOST_PART = 16 if simulated() else 64, 1 << 16
QUERIES_PER_LAUNCH = 4096
SAMPLE = 1024


class DeviceFinder:
    """All probes of a search, ready to be scanned on GPUs.

    Parameters
    ----------
    finder : Finder
        Scans on the CPU what is left, and probes that the kernels do not take: those of other
        alphabets than dna, very long ones, and large costs.
    ordinals : tuple of int
        GPUs; each gets as many parts of the text.
    """

    def __init__(self, finder: Finder, ordinals: tuple[int, ...]):
        self.finder, self.ordinals = finder, ordinals
        costs, matches = finder.costs, finder.matches
        pairs = costs.pair_costs(matches)
        self.kernels = UnitKernels(matches) if costs.unit else CostKernels(pairs, costs)
        nucleotides = matches.shape[1] == NUCLEOTIDE_CODES
        self.numbers, self.others = [], []
        for number, probe in enumerate(finder.probes):
            fits = nucleotides and self.kernels.fits(len(probe.symbols))
            (self.numbers if fits else self.others).append(number)

    def find(self, piece: Piece) -> list[Hits]:
        """Return the hits of a piece that are within the limits after it."""
        left = self._left(piece) if self.numbers else []
        return self.finder.scan(piece.codes, [*left, *self.finder.parts(piece, self.others)])

    def _left(self, piece: Piece) -> list[Part]:
        """Return the parts in which something is within the limits."""
        self._bound(piece)
        total = sum(segment.end - segment.begin for segment in piece.segments)
        plans = list(self._plans(total))
        found = []
        with ThreadPoolExecutor(len(self.ordinals)) as drivers:
            for many in drivers.map(
                lambda k: self._run(piece, plans, k), range(len(self.ordinals))
            ):
                found += many
        for probes, _, least in found:
            for number, row in zip(probes.numbers, least, strict=True):
                pattern = self.finder.probes[number].pattern
                if self.finder.limits.floor[pattern] < self.finder.limits.current[pattern]:
                    self.finder.limits.lower(pattern, int(row.min()))
        return [part for entry in found for part in self._selected(piece, *entry)]

    def _bound(self, piece: Piece) -> None:
        """Lower limits that may fall by what a sample holds: it shortens the warm-up."""
        segment, limits = piece.segments[0], self.finder.limits
        end = min(segment.end, segment.begin + SAMPLE)
        falling = [
            k for k in self.numbers
            if limits.floor[self.finder.probes[k].pattern]
            < limits.current[self.finder.probes[k].pattern]
        ]  # fmt: skip
        self.finder.scan(piece.codes, [Part(segment, segment.begin, end, (k,)) for k in falling])

    def _plans(self, total: int) -> Iterator[tuple[Probes | CostProbes, int]]:
        """Yield probes of about one length, and the length of the parts they look at."""
        by_lanes: dict = {}
        for number in self.numbers:
            m = len(self.finder.probes[number].symbols)
            by_lanes.setdefault(m.bit_length(), []).append(number)
        for numbers in by_lanes.values():
            for first in range(0, len(numbers), QUERIES_PER_LAUNCH):
                yield self._plan(numbers[first : first + QUERIES_PER_LAUNCH], total)

    def _plan(self, numbers: list[int], total: int):
        symbols = self._symbols(numbers)
        warm = -(-max(map(self.finder.warm, numbers)) // cuda.BLOCK) * cuda.BLOCK
        at_once = len(self.ordinals) * cuda.multiprocessors() * WARPS_PER_MULTIPROCESSOR
        load = total * len(numbers) // at_once
        size, length = plan(self.kernels, max(map(len, symbols)), warm, load)
        return self.kernels.table(numbers, symbols, size, warm), length

    def _symbols(self, numbers):
        return [self.finder.probes[k].symbols for k in numbers]

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
                    symbols = self._symbols(probes.numbers)
                    bounds = np.ascontiguousarray(own[:, 1:])
                    least = self.kernels.least(text, bounds, probes, symbols)
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


def plan(kernels, m: int, warm: int, load: int) -> tuple[int, int]:
    """Return what a lane owns, of the kernels' sizes, and the length of the parts.

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
        length = load * kernels.lanes_for(m, size) // (cuda.WARP * kernels.parts)
        if length >= 2 * warm:
            break
    length = min(max(length, LEAST_PART), max(MOST_PART, 8 * warm))
    return size, -(-length // cuda.BLOCK) * cuda.BLOCK


def _parts(piece: Piece, length: int) -> NDArray[np.int64]:
    """Return rows of segment, where its text begins, and first and last position (exclusive)."""
    rows = []
    for k, segment in enumerate(piece.segments):
        begins = np.arange(segment.begin, segment.end, length)
        ends = np.minimum(begins + length, segment.end)
        fixed = np.full((2, len(begins)), [[k], [segment.start]])
        rows.append(np.vstack((fixed, begins, ends)).T)
    return np.concatenate(rows)
