"""Maximum segments and submatrices: beside a plain read of memory, numpy and the sources' designs.

Run ``python -m benchmarks.segments.bench_segments [RECORD.json]``.
On a GPU the values are resident: kernel
times are between events, call times include everything until the positions are known on the host
(all segments: whole calls, with the transfer of values and results). Every result is compared
with another way to find it. Where there are two GPUs both are measured beside one.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numba import njit

from benchmarks import record
from benchmarks.timing import median_seconds
from gpu_tools import max_segment, max_segments, max_submatrix
from gpu_tools.errors import DeviceError
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.device import list_gpus, simulated
from gpu_tools.segments.locate import locate
from gpu_tools.segments.submatrix import orient

REPEATS = 7
ONE = np.int64(1)


def median_ms(function, repeats: int = REPEATS) -> float:
    """Return the median time of some calls after one that is not counted, in milliseconds."""
    return 1e3 * median_seconds(function, repeats)


@njit(nogil=True, cache=True)
def read(values, first, last):
    """Read values with nothing but one vector operation for each vector; return their maximum."""
    lanes = 16
    one = two = three = four = simd.splat(np.int32(0))
    for k in range(first, last - 4 * lanes + 1, 4 * lanes):
        one = simd.maximum(one, simd.load(values, k))
        two = simd.maximum(two, simd.load(values, k + lanes))
        three = simd.maximum(three, simd.load(values, k + 2 * lanes))
        four = simd.maximum(four, simd.load(values, k + 3 * lanes))
    largest = simd.maximum(simd.maximum(one, two), simd.maximum(three, four))
    kept = np.empty(lanes, np.int32)
    simd.store(kept, 0, largest)
    return kept.max()


def read_all(values, threads: int) -> int:
    """Read values on all threads; return the maximum of the whole groups of vectors."""
    bounds = [len(values) * k // threads // 64 * 64 for k in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        return max(pool.map(lambda a, b: read(values, a, b), bounds[:-1], bounds[1:]))


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


def on_cpu(rng, n: int, size: int) -> dict:
    """Measure the CPU path."""
    threads = len(os.sched_getaffinity(0))
    values = rng.integers(-100, 101, n).astype(np.int32)
    figures = {"threads": threads, "values": n}
    figures["read_ms"] = median_ms(lambda: read_all(values, threads))
    figures["best_segment_ms"] = median_ms(lambda: max_segment(values, device="cpu"))
    figures["best_segment_of_read"] = figures["read_ms"] / figures["best_segment_ms"]
    figures["all_segments_ms"] = median_ms(lambda: max_segments(values, device="cpu"), 3)
    figures["all_segments"] = len(max_segments(values, device="cpu"))
    matrix = rng.integers(-100, 101, (size, size)).astype(np.int32)
    figures["submatrix_size"] = size
    figures["submatrix_ms"] = median_ms(lambda: max_submatrix(matrix, device="cpu"))
    score, numpy_ms = max_submatrix(matrix, device="cpu").score, []
    for way in (submatrix_by_rows, submatrix_by_columns):
        begin = time.perf_counter()
        assert way(matrix) == score
        numpy_ms.append(1e3 * (time.perf_counter() - begin))
    figures["submatrix_numpy_ms"] = min(numpy_ms)
    figures["submatrix_times_numpy"] = figures["submatrix_numpy_ms"] / figures["submatrix_ms"]
    return figures


def kernel_ms(launch, repeats: int = REPEATS, launches: int = 1) -> float:
    """Return the median time between two events around a launch, in milliseconds.

    A short kernel is over before Python has launched the next one; it is launched several times in
    a row, which keeps the GPU busy but for the first of them.
    """
    from numba import cuda

    launch()
    times = []
    for _ in range(repeats):
        begin, end = cuda.event(), cuda.event()
        begin.record()
        for _ in range(launches):
            launch()
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(begin, end) / launches)
    return round(statistics.median(times), 4)


def segments_on_gpu(rng, n: int) -> dict:
    """Measure both searches for segments, and the five-number method, on resident values."""
    figures = {"values": n}
    for name, low in (("even", -100), ("falling", -130)):
        values = rng.integers(low, 101, n).astype(np.int32)
        figures[name] = best_on_gpu(values) | all_on_gpu(values)
    return figures


def best_on_gpu(values) -> dict:
    """Measure the search for the best segment, and the five-number method."""
    from numba import cuda

    from benchmarks.published import segments_five_numbers as published
    from gpu_tools.segments.gpu import best_segment

    resident, expected = cuda.to_device(values), max_segment(values, device="cpu")
    tiles = cuda.device_array((-(-len(values) // best_segment.TILE), 4), np.int64)
    kernel = best_segment.KERNELS[resident.dtype]
    fives = cuda.device_array((published.BLOCKS, 5), np.int32)

    def call():
        summaries = best_segment.summarise(resident, ONE).copy_to_host()
        return locate(values, ONE, summaries, best_segment.TILE)

    def launch():
        kernel[len(tiles), best_segment.WARP](resident, ONE, tiles)

    assert call() == (expected.start, expected.end, expected.score)
    assert published.best_sum(resident) == expected.score
    return {
        "best_segment_kernel_ms": kernel_ms(launch, launches=30),
        "best_segment_call_ms": median_ms(call),
        "five_numbers_kernel_ms": kernel_ms(lambda: published.launch(resident, fives), launches=5),
    }


def all_on_gpu(values) -> dict:
    """Measure the search for all maximal segments: whole calls on values of the host."""
    found, expected = (max_segments(values, device=device) for device in ("cuda", "cpu"))
    assert all(map(np.array_equal, (found.starts, found.ends, found.scores),
                   (expected.starts, expected.ends, expected.scores)))  # fmt: skip
    return {
        "all_segments_call_ms": median_ms(lambda: max_segments(values, device="cuda"), 3),
        "all_segments": len(found),
    }


def all_segments_of_seeds(n: int, seeds: int) -> dict:
    """Measure the search for all maximal segments of several random arrays of either kind."""
    figures = {}
    for name, low in (("even", -100), ("falling", -130)):
        many = (np.random.default_rng(seed).integers(low, 101, n) for seed in range(seeds))
        found = [all_on_gpu(values.astype(np.int32)) for values in many]
        figures[name] = {key: [one[key] for one in found] for key in found[0]}
    return figures


def submatrix_on_gpu(rng, sizes) -> dict:
    """Measure the search for the submatrix and one pair a thread, on resident matrices."""
    figures = {}
    for size in sizes:
        matrix = rng.integers(-100, 101, (size, size)).astype(np.int32)
        found = submatrix_of_size(matrix)
        # one difference, one saturating sum and one maximum a pair and step
        steps = size * size * (size + 1) / 2
        found["steps_per_second"] = round(steps / found["kernel_ms"] * 1e3)
        figures[str(size)] = found
    return figures


def submatrix_of_size(matrix) -> dict:
    """Measure the search for the submatrix of one matrix."""
    from numba import cuda

    from benchmarks.published import segments_pair_a_thread as published
    from gpu_tools.segments.gpu import submatrix as submatrix_cuda

    resident, oriented, size = cuda.to_device(matrix), orient(matrix), len(matrix)

    def call():
        loaded = [submatrix_cuda.measure(resident, ONE)]
        return submatrix_cuda.search(oriented, loaded, ONE, (0,))

    on_gpu = submatrix_cuda.measure(resident, ONE)
    prefix = submatrix_cuda.prefix_of(on_gpu, ONE, np.dtype(np.float32))
    tiles = submatrix_cuda.tiles_of(size)
    bests = cuda.device_array((len(tiles), submatrix_cuda.THREADS), np.float32)
    kernel = submatrix_cuda.KERNELS[prefix.dtype]

    def launch():
        kernel[len(tiles), submatrix_cuda.THREADS](prefix, (tiles.start, tiles.step), bests)

    integers = submatrix_cuda.prefix_of(on_gpu, ONE, np.dtype(np.int32))
    plain = cuda.to_device(np.zeros(integers.shape[1], np.int32))
    score, (r0, r1, c0, c1) = call()
    assert published.best_sum(integers) == score == matrix[r0:r1, c0:c1].sum()
    repeats = 1 if size > 8192 else 5
    return {
        "kernel_ms": kernel_ms(launch, 3),
        "call_ms": median_ms(call, 3),
        "pair_a_thread_kernel_ms": kernel_ms(lambda: published.launch(integers, plain), repeats),
        "cpu_agrees": agrees_with_cpu(matrix, score, (r0, r1, c0, c1)) if size <= 4096 else None,
    }


def agrees_with_cpu(matrix, score: int, rectangle: tuple) -> bool:
    """Tell whether the CPU finds the same; it does, or an error is raised."""
    cpu = max_submatrix(matrix, device="cpu")
    where = (cpu.row_start, cpu.row_end, cpu.column_start, cpu.column_end)
    assert (cpu.score, where) == (score, rectangle)
    return True


def best_segment_on(ordinals, values) -> float:
    """Return the time to find the best segment of values that lie on GPUs in equal parts."""
    from numba import cuda

    from gpu_tools.hardware.gpu.dispatch import map_gpus
    from gpu_tools.segments.gpu import best_segment

    tile = best_segment.TILE
    bounds = [tile * (len(values) * k // len(ordinals) // tile) for k in range(len(ordinals))]
    parts = zip(bounds, [*bounds[1:], len(values)], strict=True)
    parts = map_gpus(ordinals, lambda part: cuda.to_device(values[slice(*part)]), parts)

    def call():
        found = map_gpus(
            ordinals, lambda part: best_segment.summarise(part, ONE).copy_to_host(), parts
        )
        return locate(values, ONE, np.concatenate(found), tile)

    expected = max_segment(values, device="cpu")
    assert call() == (expected.start, expected.end, expected.score)
    return median_ms(call)


def submatrix_on(ordinals, matrix) -> tuple[float, tuple]:
    """Return the time to search a matrix that lies on each GPU, and what was found."""
    from numba import cuda

    from gpu_tools.hardware.gpu.dispatch import map_gpus
    from gpu_tools.segments.gpu import submatrix as submatrix_cuda

    oriented = orient(matrix)
    loaded = map_gpus(
        ordinals, lambda _: submatrix_cuda.measure(cuda.to_device(matrix), ONE), ordinals
    )

    def call():
        return submatrix_cuda.search(oriented, loaded, ONE, ordinals)

    return median_ms(call, 3), call()


def on_two_gpus(rng, n: int, size: int) -> dict:
    """Measure the best segment and the submatrix on one and on two GPUs."""
    values = rng.integers(-100, 101, n).astype(np.int32)
    matrix = rng.integers(-100, 101, (size, size)).astype(np.int32)
    one, two = ((0,), (0, 1))
    segment = [best_segment_on(ordinals, values) for ordinals in (one, two)]
    (slow, expected), (fast, found) = (submatrix_on(ordinals, matrix) for ordinals in (one, two))
    assert found == expected
    return {
        "values": n, "best_segment_call_ms": segment,
        "best_segment_ratio": segment[0] / segment[1],
        "submatrix_size": size, "submatrix_call_ms": [slow, fast], "submatrix_ratio": slow / fast,
    }  # fmt: skip


def measure(n: int = 10**8, size: int = 1024, sizes=(1024, 4096, 15360)) -> dict:
    """Measure everything that this machine can do."""
    rng = np.random.default_rng(2013)
    figures = {"cpu": on_cpu(rng, n, size)}
    try:
        n_gpus = len(list_gpus())
    except DeviceError:
        return figures
    if not simulated():
        figures["segments_gpu"] = segments_on_gpu(rng, n)
        figures["all_segments_of_seeds"] = all_segments_of_seeds(n, 3)
        figures["submatrix_gpu"] = submatrix_on_gpu(rng, sizes)
        if n_gpus > 1:
            figures["two_gpus"] = on_two_gpus(rng, n, sizes[-1])
    return figures


def test_tiny():
    """Every figure is there and positive, at a size that takes no time."""
    figures = measure(n=10**6, size=64, sizes=(64,))
    assert all(value > 0 for value in figures["cpu"].values())


if __name__ == "__main__":
    found = measure()
    for name, figure in found.items():
        print(f"{name}: {figure}")
    if len(sys.argv) > 1:
        record.write(Path(sys.argv[1]), found)
