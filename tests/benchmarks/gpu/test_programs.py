"""What benchmark programs measure on a GPU, at a tiny size, on a GPU or on numba's simulator."""

import importlib

import pytest
from numba import cuda

from benchmarks.timing import kernel_ms
from gpu_tools.hardware.device import simulated
from tests.benchmarks.test_programs import check

pytestmark = [pytest.mark.cuda, pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")]
PARTS = [
    ("estimate.bench_estimate", "measure_gpu"),
    ("estimate.bench_estimate", "measure_start"),
    ("local.bench_local", "measure_gpu"),
    ("matching.bench_matching", "measure_gpu"),
    ("segments.bench_segments", "measure_gpu"),
    ("sites.bench_sites", "measure_gpu"),
    ("sites.bench_sites", "measure_coding"),
    ("sites.bench_proteins", "measure"),
    ("spliced.bench_spliced", "measure_gpu"),
    ("spliced.bench_spliced", "measure_several"),
]
QUICK = {"matching.bench_matching"}
"""Others take a simulator 10 seconds and more; `tests/gpu.sh` runs them on a GPU."""


@pytest.mark.parametrize(("program", "part"), PARTS, ids=[".".join(pair) for pair in PARTS])
def test_part_at_a_tiny_size(program, part, tmp_path):
    if simulated() and program not in QUICK:
        pytest.skip("takes the simulator long")
    measure = getattr(importlib.import_module(f"benchmarks.{program}"), part)
    check(measure(tiny=True), tmp_path / "record.json")


@cuda.jit
def count_thread(numbers):
    cuda.atomic.add(numbers, 0, 1)


def test_time_of_a_kernel_is_positive():
    numbers = cuda.to_device([0])
    stream, prepared = cuda.stream(), []
    for options in ({}, {"stream": stream}):
        where = options.get("stream", 0)
        start = lambda where=where: count_thread[1, 1, where](numbers)  # noqa: E731
        assert kernel_ms(start, 3, before=lambda: prepared.append(1), **options) > 0
    runs = 2 if simulated() else 4
    assert len(prepared) == 2 * runs
    assert numbers.copy_to_host()[0] == 2 * runs
