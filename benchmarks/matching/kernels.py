"""Times of the kernels of matching on a GPU that holds all data, beside the published designs."""

from __future__ import annotations

import numpy as np

from benchmarks.timing import kernel_ms
from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.dispatch import Buffers
from gpu_tools.matching import Pattern, PatternSet, match_approximate
from gpu_tools.model.scoring import EditCosts
from gpu_tools.model.sequences import Sequence

WEIGHTED = EditCosts(2, 3, 4)
BY_SYMBOL = EditCosts(
    insertion=[2, 3, 4, 2, 3], deletion=[3 + symbol % 3 for symbol in range(16)],
    table=[[(symbol >> code & 1) ^ 1 and 2 + abs(symbol - code) % 4 for code in range(5)]
           for symbol in range(16)],
)  # fmt: skip
"""Costs of insertions by text code, of deletions by pattern symbol, of pairs by both."""
HITS = 1 << (12 if simulated() else 24)
"""Matches that there is space for."""


def parts_of(n: int, length: int):
    """Return parts of a text as the kernels of approximate matching want them."""
    begins = np.arange(0, n, length)
    return np.column_stack((np.zeros_like(begins), begins, np.minimum(begins + length, n)))


class Approximate:
    """One pattern and one text on the device."""

    def __init__(self, rng, text: Sequence, m: int, costs: EditCosts):
        from gpu_tools.matching import gpu as cuda
        from gpu_tools.matching.approximate import Tables
        from gpu_tools.model.alphabets import ALPHABETS

        self.codes, self.costs = text.codes, costs
        self.pattern = rng.integers(0, 4, m).astype(np.uint8)
        self.symbols = (1 << self.pattern).astype(np.uint8)
        tables = Tables.of(ALPHABETS["dna"].matches, costs)
        self.kernels = cuda.UnitKernels(tables) if costs.unit else cuda.CostKernels(tables)
        # as after the first text block, a best match so far bounds the distance and the warm-up
        sample = Sequence("sample", text.codes[:65_536])
        patterns = PatternSet([Pattern("p", self.symbols)])
        self.bound = match_approximate(patterns, [sample], costs=costs, device="cpu")[0].distance
        self.warm = -(-tables.longest_match(m, self.bound) // 8) * 8

    def measured(self, resident, size: int, length: int) -> tuple[float, int]:
        """Return a kernel's milliseconds, and the best distance that it finds."""
        from numba import cuda

        table = self.kernels.table([0], [self.symbols], size, self.warm)
        lift = int(self.kernels.lifts([self.symbols])[0])
        first = cuda.to_device(np.array([[self.bound - lift, -lift]], dtype=np.int32))
        limits, hits = cuda.device_array_like(first), cuda.device_array((HITS, 3), np.int64)
        outputs = limits, hits, cuda.to_device(np.zeros(1, np.int32))
        parts = parts_of(len(self.codes), length)
        start = self.kernels.prepared(resident, parts, table, outputs)
        milliseconds = kernel_ms(start, before=lambda: limits.copy_to_device(first))
        return milliseconds, int(limits.copy_to_host()[0, 0]) + lift

    def time(self, resident, plans) -> dict:
        """Time the kernel for several plans; all give the same distance."""
        figures, distances = {}, set()
        for size, length in plans:
            milliseconds, distance = self.measured(resident, size, length)
            distances.add(distance)
            cells = len(self.symbols) * len(self.codes)
            figures[f"size {size}, parts of {length}"] = {
                "kernel_ms": milliseconds, "tcups": round(cells / milliseconds / 1e9, 3),
            }  # fmt: skip
        if len(distances) != 1:
            raise AssertionError(f"plans give different distances {distances}")
        return {"distance": distances.pop(), "plans": figures}


def approximate_gpu(rng, text: Sequence, m: int, costs: EditCosts, published: bool) -> dict:
    """Time the kernels, and the published designs on the same problem."""
    from gpu_tools.matching import gpu as cuda

    n = len(text)
    problem, resident = Approximate(rng, text, m, costs), cuda.resident(text.codes)
    load = -(-n // (cuda.multiprocessors() * problem.kernels.warps))
    chosen = cuda.plan(problem.kernels, m, problem.warm, load)
    plans = [chosen]
    for size in problem.kernels.sizes if published else ():
        if problem.kernels.lanes_for(m, size) <= cuda.WARP:
            length = -(-load * problem.kernels.lanes_for(m, size) // (8 * cuda.WARP)) * 8
            if length >= 16 and (size, length) != chosen:
                plans.append((size, length))
    figures = {"n": n, "m": m, "chosen": list(chosen), **problem.time(resident, plans)}
    if published:
        figures["published"] = _published_approximate(problem, figures["distance"])
    return figures


def _published_approximate(problem: Approximate, distance: int) -> dict:
    from benchmarks.published.matching.approximate import KERNELS
    from benchmarks.published.matching.approximate import Problem as Published

    costs = problem.costs
    weights = (costs.insertion, costs.deletion, costs.substitution)
    published, figures = Published(problem.pattern, problem.codes, weights), {}
    for name in KERNELS:
        if published.distance(name) != distance:
            raise AssertionError(f"{name} gives another distance than {distance}")
        figures[name] = kernel_ms(lambda name=name: published.launch(name), 3)
    return figures


def random_codes(rng, n: int, symbols: int) -> Sequence:
    """Return a text of random codes."""
    return Sequence("text", rng.integers(0, symbols, n, dtype=np.uint8))


def _exact_patterns(rng, codes, symbols: int, sizes: list[int]) -> tuple[list, PatternSet]:
    """Return random codes, or copies from a text of many symbols, and the same as patterns."""
    if symbols <= 4:
        own = [rng.integers(0, symbols, m).astype(np.uint8) for m in sizes]
        sets = [Pattern(str(k), (1 << each).astype(np.uint8)) for k, each in enumerate(own)]
        return own, PatternSet(sets)
    places = rng.integers(0, len(codes) - max(sizes), len(sizes)).tolist()
    own = [codes[at : at + m].copy() for at, m in zip(places, sizes, strict=True)]
    return own, PatternSet([Pattern(str(k), each) for k, each in enumerate(own)], "bytes")


def exact_gpu(rng, text: Sequence, symbols: int, sizes: list[int], published: bool) -> dict:
    """Time the exact kernel, and the published designs on the same problem.

    `sizes` are the lengths of the patterns.
    """
    from numba import cuda as numba_cuda

    from benchmarks.published.matching.exact import DESIGNS
    from benchmarks.published.matching.exact import Problem as Published
    from gpu_tools.matching import gpu as cuda
    from gpu_tools.matching import gpu as exact_cuda
    from gpu_tools.matching.cpu import Searcher
    from gpu_tools.matching.index import library

    own, patterns = _exact_patterns(rng, text.codes, symbols, sizes)
    searcher = Searcher(library(patterns.probes(), patterns.matches), 1)
    resident = cuda.resident(text.codes, 16)
    hits = numba_cuda.device_array((HITS, 2), np.int64)
    indexes, total, milliseconds = exact_cuda.on_device(searcher), 0, 0.0
    for on_device in indexes:
        total += len(exact_cuda.search(resident, on_device, Buffers()))
        start = exact_cuda.prepared(resident, on_device, hits, exact_cuda.counters())
        milliseconds += kernel_ms(start)
    figures = {
        "n": len(text), "patterns": len(sizes), "shortest": min(sizes), "longest": max(sizes),
        "symbols": symbols, "matches": total, "kernel_ms": round(milliseconds, 4),
    }  # fmt: skip
    if published:
        problem = Published(own, text.codes, HITS)
        figures["published"] = {}
        for name in DESIGNS:
            if (found := problem.found(name)) != total:
                raise AssertionError(f"{name} finds {found} matches instead of {total}")
            figures["published"][name] = kernel_ms(lambda name=name: problem.launch(name), 3)
    return figures
