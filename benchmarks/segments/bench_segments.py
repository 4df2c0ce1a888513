"""Maximum segments and submatrices: whole calls, beside numpy and the sources' designs.

Run ``python -m benchmarks.segments.bench_segments [RECORD.json] [--part gpu] [--tiny]``.
Calls take values of the host's memory. Kernels, and the designs of the sources, work on values that
are on the GPU already. Every result is compared with another way to find it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import record
from benchmarks.timing import kernel_ms, median_ms
from gpu_tools import max_segment, max_segments, max_submatrix

KINDS = {"even": -100, "falling": -130}
"""Smallest value of each kind of random values; the largest is 100."""


def random_values(kind: str, *shape: int):
    """Return random int32."""
    rng = np.random.default_rng(2013)
    return rng.integers(KINDS[kind], 101, shape, dtype=np.int32)


def submatrix_by_rows(matrix) -> int:
    """Return the largest sum by numpy: row by row, all pairs of columns at once."""
    prefix = np.zeros((matrix.shape[0], matrix.shape[1] + 1), np.int32)
    np.cumsum(matrix, axis=1, out=prefix[:, 1:])
    lows, highs = np.triu_indices(prefix.shape[1], 1)
    running = np.zeros(len(lows), np.int32)
    best = np.zeros(len(lows), np.int32)
    for row in prefix:
        running += row[highs]
        running -= row[lows]
        np.maximum(running, 0, out=running)
        np.maximum(best, running, out=best)
    return int(best.max())


def calls(values, matrix, device: str) -> dict:
    """Time the three public functions."""
    return {
        "best_segment_ms": median_ms(lambda: max_segment(values, device=device)),
        "all_segments_ms": median_ms(lambda: max_segments(values, device=device), 3),
        "all_segments": len(max_segments(values, device=device)),
        "submatrix_ms": median_ms(lambda: max_submatrix(matrix, device=device), 3),
    }


def _expect(found, expected) -> None:
    if found != expected:
        raise AssertionError(f"{found} was found instead of {expected}")


def measure(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure all cores of a CPU."""
    n, size = (10**5, 48) if tiny else (10**8, 1024)
    threads = len(os.sched_getaffinity(0))
    matrix = random_values("even", size, size)
    _expect(submatrix_by_rows(matrix), max_submatrix(matrix, device="cpu").score)
    numpy_ms = median_ms(lambda: submatrix_by_rows(matrix), 1)
    for kind in KINDS:
        figures = {"threads": threads, "values": n, "submatrix_size": size}
        figures |= calls(random_values(kind, n), matrix, "cpu")
        yield f"cpu, {kind}", figures | {"submatrix_numpy_ms": numpy_ms}


def measure_gpu(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure GPUs beside the sources' designs."""
    n, sizes = (100, (3,)) if tiny else (10**8, (1024, 4096, 15360))
    for kind in list(KINDS)[: 1 if tiny else None]:
        yield f"segments, {kind}", segments_on_gpu(random_values(kind, n))
    for size in sizes:
        yield f"submatrix {size}", submatrix_on_gpu(random_values("even", size, size))


def segments_on_gpu(values) -> dict:
    """Time the searches for segments, and the kernels of this and of the five-number design."""
    from numba import cuda

    from benchmarks.published import segments_five_numbers as published
    from benchmarks.segments.kernels import best_segment

    found, resident = max_segment(values, device="cuda"), cuda.to_device(values)
    _expect(found, max_segment(values, device="cpu"))
    _expect(published.best_sum(resident), found.score)
    fives = cuda.device_array((published.BLOCKS, 5), np.int32)
    return {
        "values": len(values),
        "best_segment_kernel_ms": kernel_ms(best_segment(resident)),
        "best_segment_ms": median_ms(lambda: max_segment(values, device="cuda")),
        "five_numbers_kernel_ms": kernel_ms(lambda: published.launch(resident, fives)),
        "all_segments_ms": median_ms(lambda: max_segments(values, device="cuda"), 3),
        "all_segments": len(max_segments(values, device="cuda")),
    }


def submatrix_on_gpu(matrix) -> dict:
    """Time the search for the submatrix, and the design with one pair of lines a thread."""
    from numba import cuda

    from benchmarks.published import segments_pair_a_thread as published
    from benchmarks.segments.kernels import prefix_sums, submatrix_search

    search: Callable = submatrix_search(matrix)
    score, (r0, r1, c0, c1) = search()
    _expect(matrix[r0:r1, c0:c1].sum(), score)
    prefix = prefix_sums(matrix)
    _expect(published.best_sum(prefix), score)
    plain = cuda.to_device(np.zeros(prefix.shape[1], np.int32))
    return {
        "resident_ms": median_ms(search, 3),
        "submatrix_ms": median_ms(lambda: max_submatrix(matrix, device="cuda"), 3),
        "pair_a_thread_kernel_ms": kernel_ms(lambda: published.launch(prefix, plain), 1),
    }


if __name__ == "__main__":
    record.main(measure, gpu=measure_gpu)
