"""Maximum segments and submatrices: whole calls, beside numpy and the sources' designs.

Run ``python -m benchmarks.segments.bench_segments [RECORD.json] [--part gpu|disjoint] [--tiny]``.
Calls take values of the host's memory. Kernels, and the designs of the sources, work on values that
are on the GPU already. Every result is compared with another way to find it.

On a GPU there are ten sizes of each problem, with standard deviations, on one GPU and on all that
there are; what branches cost where neighbouring threads take different ones; and disjoint
submatrices.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import record
from benchmarks.timing import call_seconds, kernel_ms, kernel_seconds, median_ms, spread_ms
from gpu_tools import max_segment, max_segments, max_submatrices, max_submatrix
from gpu_tools.hardware.device import list_gpus

KINDS = {"even": -100, "falling": -130}
"""Smallest value of each kind of random values; the largest is 100."""
LENGTHS = tuple(digit * 10**power for power in (5, 6, 7) for digit in (1, 2, 5)) + (10**8,)
SIDES = tuple(1024 * k for k in (1, 2, 3, 4, 5, 6, 8, 10, 12, 15))
"""Numbers of values, and of rows and columns of matrices, on a GPU."""
RUNS = {1: 10, 2: 5}
"""Runs of each time by the number of dimensions."""
SIGNS = {"random": (-100, 101), "all positive": (1, 101), "all negative": (-100, 0)}
"""Ranges of the values of a matrix: threads of random ones take different branches."""


def random_values(kind: str, *shape: int):
    """Return random int32."""
    return values_between(KINDS[kind], 101, *shape)


def values_between(low: int, high: int, *shape: int):
    """Return random int32 from `low` to before `high`."""
    return np.random.default_rng(2013).integers(low, high, shape, dtype=np.int32)


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
    """Measure ten sizes of both problems, branches, and disjoint submatrices."""
    lengths, sides = ((100,), (3,)) if tiny else (LENGTHS, SIDES)
    for n in lengths:
        yield f"segment, even {n}", segment_of_size(random_values("even", n))
    if not tiny:
        yield f"segment, falling {n}", segment_of_size(random_values("falling", n))
    for size in sides:
        yield f"submatrix {size}", submatrix_of_size(random_values("even", size, size))
    for signs, ends in SIGNS.items():
        yield f"branches, {signs}", branches(values_between(*ends, *[3 if tiny else 4096] * 2))
    yield from measure_disjoint(tiny)


def measure_disjoint(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure disjoint submatrices alone."""
    for size, count in ((4, None),) if tiny else ((32, None), (256, 1), (256, 100), (1024, 30)):
        named = f"{count} of {size}" if count else f"all of {size}"
        yield f"disjoint, {named}", disjoint(random_values("even", size, size), count)


def segment_of_size(values) -> dict:
    """Time the search for the best segment, its kernel and the five-number design's.

    Of the most values also the search for all segments.
    """
    from numba import cuda

    from benchmarks.published import segments_five_numbers as published
    from benchmarks.segments.kernels import best_segment

    resident, runs = cuda.to_device(values), RUNS[1]
    _expect(published.best_sum(resident), max_segment(values, device="cuda:0").score)
    fives = cuda.device_array((published.BLOCKS, 5), np.int32)
    found = {
        "size": len(values),
        "kernel": spread_ms(kernel_seconds(best_segment(resident), runs)),
        "published": spread_ms(kernel_seconds(lambda: published.launch(resident, fives), runs)),
        **_on_gpus(lambda device: max_segment(values, device=device), runs),
    }
    if len(values) == LENGTHS[-1]:
        found["all_segments_ms"] = median_ms(lambda: max_segments(values, device="cuda"), 3)
        found["all_segments"] = len(max_segments(values, device="cuda"))
    return found


def submatrix_of_size(matrix) -> dict:
    """Time the search for the best submatrix, and the design with a pair of lines a thread."""
    from numba import cuda

    from benchmarks.published import segments_pair_a_thread as published
    from benchmarks.segments.kernels import prefix_sums, submatrix_search

    search, prefix = submatrix_search(matrix), prefix_sums(matrix)
    score, (r0, r1, c0, c1) = search()
    _expect(matrix[r0:r1, c0:c1].sum(), score)
    _expect(published.best_sum(prefix), score)
    plain, runs = cuda.to_device(np.zeros(prefix.shape[1], np.int32)), RUNS[2]
    return {
        "size": len(matrix),
        "kernel": spread_ms(call_seconds(search, runs)),
        "published": spread_ms(kernel_seconds(lambda: published.launch(prefix, plain), 3)),
        **_on_gpus(lambda device: max_submatrix(matrix, device=device), runs),
    }


def _on_gpus(call: Callable[[str], object], runs: int) -> dict:
    """Return times of a call on the first GPU, and on all if there are several."""
    count = len(list_gpus())
    found = {"call": spread_ms(call_seconds(lambda: call("cuda:0"), runs))}
    if count > 1:
        every = f"cuda:{','.join(map(str, range(count)))}"
        _expect(call(every), call("cuda:0"))
        found |= {"gpus": count, "call_all": spread_ms(call_seconds(lambda: call(every), runs))}
    return found


def branches(matrix) -> dict:
    """Time the published submatrix kernel with maxima and with branches, and the search."""
    from numba import cuda

    from benchmarks.published import segments_pair_a_thread as published
    from benchmarks.segments.kernels import prefix_sums, submatrix_search

    search, prefix = submatrix_search(matrix), prefix_sums(matrix)
    plain = cuda.to_device(np.zeros(prefix.shape[1], np.int32))
    found, expected = {"size": len(matrix)}, (search() or (0,))[0]
    for step in published.KERNELS:
        _expect(published.best_sum(prefix, step), expected)
        found[f"{step}_ms"] = kernel_ms(lambda step=step: published.launch(prefix, plain, step), 3)
    return found | {"search_ms": median_ms(search, 3)}


def disjoint(matrix, count: int | None) -> dict:
    """Time the search for disjoint submatrices on a GPU and on the CPU; both find the same."""
    calls = {
        device: lambda device=device: max_submatrices(matrix, count=count, device=device)
        for device in ("cuda", "cpu")
    }
    found = calls["cuda"]()
    _expect(found, calls["cpu"]())
    times = {f"{device}_ms": median_ms(call, 1) for device, call in calls.items()}
    return {"size": len(matrix), "found": len(found), **times}


if __name__ == "__main__":
    record.main(measure, gpu=measure_gpu, disjoint=measure_disjoint)
