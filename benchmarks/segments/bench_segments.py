"""Maximum segments and submatrices: whole calls, beside numpy and the sources' designs.

Run ``python -m benchmarks.segments.bench_segments [RECORD.json] [--part gpu] [--tiny]``.
Calls take values of the host's memory. Kernels, and the designs of the sources, work on values that
are on the GPU already. Every result is compared with another way to find it. Where there are
several GPUs, calls are measured on all of them too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import record
from benchmarks.timing import kernel_ms, median_ms
from gpu_tools import max_segment, max_segments, max_submatrix
from gpu_tools.hardware.device import list_gpus

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


def submatrix_by_columns(matrix) -> int:
    """Return the largest sum by numpy: for each left column all right ones, by running minima."""
    prefix = np.zeros((matrix.shape[0] + 1, matrix.shape[1] + 1), np.int32)
    prefix[1:, 1:] = matrix.cumsum(0).cumsum(1)
    best = 0
    for left in range(matrix.shape[1]):
        sums = prefix[:, left + 1 :] - prefix[:, left : left + 1]
        best = max(best, int((sums - np.minimum.accumulate(sums, axis=0)).max()))
    return best


def calls(values, matrix, device: str) -> dict:
    """Time the three public functions."""
    return {
        "best_segment_ms": median_ms(lambda: max_segment(values, device=device)),
        "all_segments_ms": median_ms(lambda: max_segments(values, device=device), 3),
        "all_segments": len(max_segments(values, device=device)),
        "submatrix_ms": median_ms(lambda: max_submatrix(matrix, device=device), 3),
    }


def by_numpy(matrix, score: int) -> float:
    """Return the time of the faster of two searches in numpy; raise if one finds another sum."""
    times = []
    for search in (submatrix_by_rows, submatrix_by_columns):
        begin = time.perf_counter()
        _expect(search(matrix), score)
        times.append(1e3 * (time.perf_counter() - begin))
    return round(min(times), 4)


def _expect(found, expected) -> None:
    if found != expected:
        raise AssertionError(f"{found} was found instead of {expected}")


def measure(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure all cores of a CPU."""
    n, size = (10**5, 48) if tiny else (10**8, 1024)
    threads = len(os.sched_getaffinity(0))
    matrix = random_values("even", size, size)
    numpy_ms = by_numpy(matrix, max_submatrix(matrix, device="cpu").score)
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
    if (count := len(list_gpus())) > 1:
        values, matrix = random_values("even", n), random_values("even", sizes[-1], sizes[-1])
        for gpus in (1, count):
            device = f"cuda:{','.join(map(str, range(gpus)))}"
            yield f"{gpus} GPUs", calls(values, matrix, device)


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
