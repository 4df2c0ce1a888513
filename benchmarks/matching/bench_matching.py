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
from benchmarks.matching.kernels import WEIGHTED, approximate_gpu, exact_gpu
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
        yield "exact K=1", exact_gpu(rng, 64, 1, 4, False)
        yield "unit m=4", approximate_gpu(rng, random_text(rng, 16), 4, EditCosts(), False)
        return
    for count in (1, 256, 10_000):
        yield f"exact K={count}", exact_gpu(rng, exact, count, 4, count < 1000)
    yield "exact K=256, two symbols", exact_gpu(rng, exact, 256, 2, True)
    yield "exact K=256, 20 symbols", exact_gpu(rng, exact, 256, 20, True)
    text = random_text(rng, n)
    for m in (32, 64, 128, 256, 512, 1024):
        yield f"unit m={m}", approximate_gpu(rng, text, m, EditCosts(), True)
    yield "weighted m=1024", approximate_gpu(rng, text, 1024, WEIGHTED, True)
    text = random_text(rng, large)
    for name, costs in (("unit", EditCosts()), ("weighted", WEIGHTED)):
        yield f"{name} m=1024 large", approximate_gpu(rng, text, 1024, costs, False)


if __name__ == "__main__":
    record.main(measure, gpu=measure_gpu)
