"""Spliced alignment: cells a second on one core, all cores and a GPU, beside parasail.

Run ``python benchmarks/bench_spliced.py [RECORD.json]``. Nominal cells are what the sources count,
the sum of the exons' lengths times the target's; computed cells are those that the sweep really
fills, fewer because exons with the same start share their rows.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks import record
from gpu_tools import Case, ExonSet, Sequence, SplicedScoring, spliced_align
from gpu_tools.device import list_gpus
from gpu_tools.errors import DeviceError
from gpu_tools.spliced import cpu
from gpu_tools.spliced.case import prepare

REPEATS = 5


def random_case(rng, base: int, target: int, exons: int, mean_length: float) -> Case:
    """Return a random case whose exons have exponential lengths and distinct starts mostly."""
    starts = rng.integers(0, base - 1, exons)
    lengths = np.maximum(rng.exponential(mean_length, exons).astype(np.int64), 1)
    pairs = zip(starts, np.minimum(starts + lengths, base), strict=True)
    codes = (rng.integers(0, 4, n).astype(np.uint8) for n in (base, target))
    base_codes, target_codes = codes
    return Case(
        Sequence("base", base_codes), Sequence("target", target_codes),
        ExonSet.from_intervals(pairs),
    )  # fmt: skip


def median_seconds(function, repeats: int = REPEATS) -> float:
    """Return the median time of `repeats` calls after one that is not counted."""
    function()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def sweep_one_core(case: Case, scoring: SplicedScoring) -> dict:
    """Time the sweep alone on one thread."""
    program = prepare(case, scoring).programs[0]
    seconds = median_seconds(lambda: cpu.sweep(program, case.target.codes, scoring))
    return _rates(seconds, case.cells, program.n_rows * len(case.target))


def library_call(cases: list[Case], scoring: SplicedScoring, **options) -> dict:
    """Time the public function: packing, sweeps, chains and alignments."""
    seconds = median_seconds(lambda: spliced_align(cases, scoring, **options))
    computed = sum(
        program.n_rows * len(case.target)
        for case in cases
        for program in prepare(case, scoring).programs
    )
    return _rates(seconds, sum(case.cells for case in cases), computed)


def parasail_one_core(case: Case, cells: int) -> dict | None:
    """Time parasail's fastest global kernels on as many cells; None if it is not installed."""
    try:
        import parasail
    except ImportError:
        return None
    target = "".join("ACGT"[code] for code in case.target.codes)
    query = "".join("ACGT"[code] for code in case.base.codes[: len(target)])
    calls = max(cells // (len(target) * len(query)), 1)
    matrix = parasail.matrix_create("ACGT", 1, -1)
    kernels = ("nw_scan_16", "nw_striped_16", "nw_diag_16", "nw_scan_sat", "nw_striped_sat")
    rates = {}
    for name in kernels:
        kernel = getattr(parasail, name)
        seconds = median_seconds(
            lambda kernel=kernel: [kernel(query, target, 2, 2, matrix) for _ in range(calls)], 3
        )
        rates[name] = calls * len(target) * len(query) / seconds / 1e9
    best = max(rates, key=rates.get)
    return {"kernel": best, "gcups": round(rates[best], 3)}


def measure(cells: int = 600_000_000) -> dict:
    """Measure everything that this machine can do, on random cases of about `cells` in all."""
    rng = np.random.default_rng(2014)
    scoring = SplicedScoring()
    exons = max(cells // (150 * 1460 * 8), 2)
    cases = [random_case(rng, 42_181, 1_460, exons, 150) for _ in range(8)]
    figures = {"one_core_sweep": sweep_one_core(cases[0], scoring)}
    figures["parasail_one_core"] = parasail_one_core(cases[0], cases[0].cells)
    figures["library_one_core"] = library_call(cases, scoring, device="cpu", threads=1)
    figures["library_all_cores"] = library_call(cases, scoring, device="cpu")
    try:
        list_gpus()
        figures["library_gpu"] = library_call(cases, scoring, device="cuda")
    except DeviceError:
        pass
    return figures


def _rates(seconds: float, nominal: int, computed: int) -> dict:
    return {
        "seconds": round(seconds, 6),
        "nominal_gcups": round(nominal / seconds / 1e9, 3),
        "computed_gcups": round(computed / seconds / 1e9, 3),
    }


def test_tiny():
    """Every figure is there and positive, at a size that takes no time."""
    for name, figure in measure(cells=3_000_000).items():
        assert figure is None or all(v > 0 for v in figure.values() if not isinstance(v, str)), name


if __name__ == "__main__":
    found = measure()
    for name, figure in found.items():
        print(f"{name}: {figure}")
    if len(sys.argv) > 1:
        record.write(Path(sys.argv[1]), found)
