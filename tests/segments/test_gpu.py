"""CUDA and CPU give the same segments and submatrices, on a GPU or on numba's simulator."""

import numpy as np
import pytest

from gpu_tools import max_segment, max_segments, max_submatrices, max_submatrix
from gpu_tools.hardware.device import Device, simulated
from gpu_tools.segments import api
from tests.segments import cases

pytestmark = pytest.mark.cuda
SEEDS = range(2 if simulated() else 40)
LENGTH = 500 if simulated() else 300_000


def long_values(seed, dtype):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, LENGTH))
    drift = int(rng.integers(-3, 4))
    values = rng.integers(-9 + drift, 10 + drift, n).astype(dtype)
    if seed % 4 == 1:  # segments of all lengths, some across many tiles
        values = np.repeat(values[: n // 50 + 1], 50)[:n]
    if seed % 4 == 2 and dtype == "int32":
        values[rng.integers(0, n, 2)] = 2**31 - 1
    return values


def assert_equal(left, right):
    for name in ("starts", "ends", "scores"):
        assert np.array_equal(getattr(left, name), getattr(right, name)), name


def check(values):
    """The best segment and all segments are the same on both devices."""
    cpu, cuda = (
        (max_segment(values, device=d), max_segments(values, device=d)) for d in ("cpu", "cuda")
    )
    assert cuda[0] == cpu[0]
    assert_equal(cuda[1], cpu[1])


@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("seed", SEEDS)
def test_segments(seed, dtype):
    check(long_values(seed, dtype))


def across_all_parts():
    values = np.ones(600 if simulated() else 100_000, np.int32)
    values[[0, 1, -1]] = [1, -5, -5]
    return values


@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize("seed", [1, None] if simulated() else [*range(20), None])
def test_segments_of_several_parts(seed, parts, monkeypatch):
    """As on several GPUs: segments within a part, across one border and across all."""
    devices = {"cpu": Device("cpu"), "cuda": Device("cuda", (0,) * parts)}
    monkeypatch.setattr(api, "resolve", devices.get)
    check(across_all_parts() if seed is None else long_values(seed, "int32"))


def test_lists_that_the_memory_of_the_gpu_does_not_hold_are_made_again(monkeypatch):
    """A fifth of the runs are on the GPU at a time, and batches of a part have one or two runs."""
    from gpu_tools.hardware.gpu.dispatch import BufferPool
    from gpu_tools.segments import gpu as cuda

    values = long_values(8, "int64")
    size = cuda.MEMORY_DIVISOR * cuda.RUN_BYTES
    runs = -(-len(values) // cuda.RUN)
    monkeypatch.setattr(BufferPool, "free_bytes", size * -(-runs // 5))
    monkeypatch.setattr(cuda, "BATCH_BYTES", 16 * cuda.RUN)
    listed = []
    original = cuda.list_part
    monkeypatch.setattr(cuda, "list_part", lambda part: listed.append(part.first) or original(part))
    assert_equal(max_segments(values, device="cuda"), max_segments(values, device="cpu"))
    assert len(listed) == 15
    assert len(set(listed)) == 5


@pytest.mark.parametrize("parts", [2] if simulated() else [2, 3])
@pytest.mark.parametrize("column", [3, 15, 16] if simulated() else [5, 200, 420, 699])
def test_submatrix_of_several_parts(column, parts):
    """As on several GPUs: the best rectangle in one tile or another."""
    from gpu_tools.segments import gpu as submatrix_cuda
    from gpu_tools.segments.submatrix import Oriented

    matrix = np.random.default_rng(column).integers(-9, 0, (2, 17) if simulated() else (300, 700))
    matrix[:, column] = 5
    oriented = Oriented(matrix, False)  # the longer way, for more tiles
    assert len(submatrix_cuda.tiles_of(matrix.shape[1])) >= parts
    found = submatrix_cuda.best_rectangle(oriented, np.int64(1), (0,) * parts)
    assert found == (5 * len(matrix), (0, len(matrix), column, column + 1))


@pytest.mark.parametrize("large", [2**24, 2**31 - 1, -(2**31)])
def test_sums_that_need_64_bits(large):
    values = np.tile(np.array([3, -2, 5, -9], np.int32), 20)
    values[[17, 50]] = large, 7
    check(values)


@pytest.mark.parametrize("values", cases.EDGE_CASES[:: 4 if simulated() else 1], ids=str)
def test_edge_cases(values):
    check(values)


def test_segments_that_stay_open():
    """Every segment may grow beyond the end of its run."""
    steps = np.arange(1, 250 if simulated() else 200_000)
    values = np.append(np.where(steps % 2, steps, -steps), [2 * len(steps)])
    check(values)
    check(values[:-1])


MATRICES = [
    ((5, 3), 1, "int32"), ((4, 7), 1, "int64"), ((7, 2), 2**22, "int32"),
    ((4, 5), 2**40, "int64"), ((5, 5), 0.1, "float64"), ((2, 3), 0.1, "float32"),
    ((3, 3), 2**29, "int32"),
]  # fmt: skip
LARGE = [
    ((700, 300), 1, "int32"), ((300, 700), 1, "int32"), ((257, 260), 2**14, "int32"),
    ((129, 400), 2**40, "int64"), ((200, 200), 0.1, "float64"), ((333, 127), 0.1, "float32"),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "factor", "dtype"), MATRICES + ([] if simulated() else LARGE))
def test_submatrix(shape, factor, dtype):
    """Cells of all three types, either orientation, ends of tiles."""
    rng = np.random.default_rng(sum(shape))
    matrix = (rng.integers(-9, 9, shape) * factor).astype(dtype)
    assert max_submatrix(matrix, device="cuda") == max_submatrix(matrix, device="cpu")


@pytest.mark.parametrize("seed", [3] if simulated() else range(8))
def test_disjoint_submatrices(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-7, 5, (3, 4) if simulated() else rng.integers(2, 60, 2))
    matrix = matrix * 0.1 if seed % 2 else matrix
    on_cpu = max_submatrices(matrix, device="cpu")
    assert max_submatrices(matrix, device="cuda") == on_cpu
    assert len(on_cpu) > 1
    assert max_submatrices(matrix, count=2, device="cuda") == on_cpu[:2]


def test_small_parts_of_a_matrix_are_searched_on_the_cpu(monkeypatch):
    from gpu_tools.segments import api, gpu

    matrix = np.random.default_rng(4).integers(-7, 5, (3, 4) if simulated() else (40, 50))
    searched, best_rectangle = [], gpu.best_rectangle
    monkeypatch.setattr(api, "LEAST_OF_A_GPU", 2**25)
    monkeypatch.setattr(
        gpu, "best_rectangle",
        lambda own, *more, **named: searched.append(own) or best_rectangle(own, *more, **named),
    )  # fmt: skip
    assert max_submatrices(matrix, device="cuda") == max_submatrices(matrix, device="cpu")
    assert len(searched) == 1


def test_sums_beyond_float32_are_searched_in_integers():
    """A sum of 2^24 and more saturates; the search is then done again, in int32."""
    from numba import cuda

    from gpu_tools.segments import gpu as submatrix_cuda

    matrix = np.full((3, 3), 2**22)
    on_gpu = submatrix_cuda.measure(cuda.to_device(matrix), np.int64(1))
    assert on_gpu.cells == [np.float32, np.int32]
    assert max_submatrix(matrix, device="cuda").score == 9 * 2**22
    matrix = np.diag([2**24 - 2, 0, 1])
    assert max_submatrix(matrix, device="cuda").score == 2**24 - 1


def test_no_positive_value():
    assert max_segment([-1, 0], device="cuda") is None
    assert len(max_segments([-1, 0], device="cuda")) == 0
    assert max_submatrix([[-1, 0]], device="cuda") is None


def test_the_kernels_do_the_work(monkeypatch):
    from gpu_tools.segments import gpu

    called = []

    def spy(name):
        original = getattr(gpu, name)
        monkeypatch.setattr(gpu, name, lambda *inputs: called.append(name) or original(*inputs))

    spy("summarise")
    spy("list_part")
    spy("search")
    max_segment([1, 2], device="cuda")
    max_segments([1, 2], device="cuda")
    max_submatrix([[1, 2]], device="cuda")
    assert called == ["summarise", "list_part", "search"]
