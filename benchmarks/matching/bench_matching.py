"""Approximate and exact matching: beside their peers on one core, and beside the published designs.

Run ``python -m benchmarks.matching.bench_matching [RECORD.json] [--part gpu] [--tiny]``. Peers on
one core are edlib, hyperscan and pyahocorasick. On a GPU the kernels are timed with all data
resident, beside the published designs. Every timed search is compared with another implementation
in the same run. TCUPS counts pattern symbols times text symbols, without warm-up.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks import record
from benchmarks.matching.kernels import (
    BY_SYMBOL,
    WEIGHTED,
    approximate_gpu,
    exact_gpu,
    random_codes,
)
from benchmarks.matching.peers import (
    approximate_one_core,
    exact_one_core,
    many_one_core,
    random_text,
)
from gpu_tools.model.scoring import EditCosts


def measure(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure one core beside the peers."""
    n = 20_000 if tiny else 1 << 23
    rng = np.random.default_rng(2018)
    for m, limit in ((20, 2), (32, 4), (100, 10), (1024, 103), (64, None), (1024, None)):
        name = f"approximate m={m} {'best' if limit is None else f'D={limit}'}"
        yield name, approximate_one_core(rng, n, m, limit)
    yield "approximate K=100 D=2", many_one_core(rng, n, 100)
    for count in (1, 256, 10_000):
        yield f"exact K={count}", exact_one_core(rng, n, count)


def measure_gpu(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure the kernels and the published designs."""
    rng, n, large, exact = np.random.default_rng(2018), 1 << 22, 1 << 30, 1 << 27
    if tiny:
        yield "exact K=1", exact_gpu(rng, random_codes(rng, 64, 4), 4, [12], False)
        yield "unit m=4", approximate_gpu(rng, random_text(rng, 16), 4, EditCosts(), False)
        return
    yield from _exact(rng, exact)
    text = random_text(rng, n)
    for m in (32, 64, 128, 256, 512, 1024):
        yield f"unit m={m}", approximate_gpu(rng, text, m, EditCosts(), True)
    yield "weighted m=1024", approximate_gpu(rng, text, 1024, WEIGHTED, True)
    for m in (32, 256, 1024):
        yield f"by symbol m={m}", approximate_gpu(rng, text, m, BY_SYMBOL, False)
    text = random_text(rng, large)
    for name, costs in (("unit", EditCosts()), ("weighted", WEIGHTED)):
        yield f"{name} m=1024 large", approximate_gpu(rng, text, 1024, costs, False)


def _exact(rng, n: int) -> Iterator[tuple[str, dict]]:
    """Measure exact matching: patterns of one length, as the source has them, and of several."""
    text = random_codes(rng, n, 4)
    for count in (1, 4, 16, 64, 256):
        for m in (10, 20, 30):
            yield f"exact K={count} m={m}", exact_gpu(rng, text, 4, [m] * count, True)
    for symbols, count in ((4, 256), (4, 10_000), (2, 256), (20, 256)):
        text, sizes = random_codes(rng, n, symbols), rng.integers(10, 31, count).tolist()
        yield (
            f"several K={count}, {symbols} symbols",
            exact_gpu(rng, text, symbols, sizes, count < 1000),
        )


if __name__ == "__main__":
    record.main(measure, gpu=measure_gpu)
