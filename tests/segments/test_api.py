"""Maximum segments and submatrices on the CPU against their naive definitions."""

import numpy as np
import pytest

from gpu_tools import InputError, max_segment, max_segments, max_submatrices, max_submatrix
from gpu_tools.segments import cpu
from tests.oracles import segments as oracle
from tests.segments import cases


def as_tuple(segment):
    return None if segment is None else (segment.start, segment.end, segment.score)


def as_list(found):
    return list(zip(found.starts.tolist(), found.ends.tolist(), found.scores.tolist(), strict=True))


@pytest.mark.parametrize("values", cases.EDGE_CASES, ids=str)
def test_edge_cases(values):
    assert as_tuple(max_segment(values, device="cpu")) == oracle.best_by_enumeration(values)
    found = as_list(max_segments(values, device="cpu"))
    assert found == oracle.maximal_by_definition(values)


@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("seed", range(30))
def test_random_values(seed, dtype):
    values = cases.random_values(np.random.default_rng(seed), 40).astype(dtype)
    plain = values.tolist()
    assert as_tuple(max_segment(values, device="cpu")) == oracle.best_by_enumeration(plain)
    assert as_list(max_segments(values, device="cpu")) == oracle.maximal_by_list(plain)


def test_worked_example_of_ruzzo_and_tompa():
    values = [4, -5, 3, -3, 1, 2, -2, 2, -2, 1, 5]
    found = max_segments(values, device="cpu")
    assert as_list(found) == [(0, 1, 4), (2, 3, 3), (4, 11, 7)]
    assert as_list(found.ranked()) == [(4, 11, 7), (0, 1, 4), (2, 3, 3)]
    assert as_list(max_segments(values, min_score=4, device="cpu")) == [(0, 1, 4), (4, 11, 7)]


def test_worked_example_of_the_best_segment():
    values = [3, 5, 10, -5, -30, 5, 7, 2, -3, 10, -7, 5]
    assert as_tuple(max_segment(values, device="cpu")) == (5, 10, 21)
    assert as_list(max_segments(values, device="cpu")) == [(0, 3, 18), (5, 10, 21), (11, 12, 5)]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seed", range(12))
def test_segments_across_chunks_and_tiles(seed, threads):
    """Sparse values around the ends of chunks: the oracle skips the zeros between them."""
    values = cases.sparse_values(np.random.default_rng(seed), cpu.RUN, 5)
    assert cpu.TILE < cpu.RUN
    found = as_list(max_segments(values, device="cpu", threads=threads))
    assert found == cases.maximal_of_sparse(values)
    best = max_segment(values, device="cpu", threads=threads)
    assert as_tuple(best) == cases.best_of_sparse(values)


@pytest.mark.parametrize("seed", range(6))
def test_dense_values_in_several_chunks(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(-9, 9 + seed % 3, 2 * cpu.RUN + 100).astype(np.int32)
    found = max_segments(values, device="cpu")
    sums = np.concatenate(([0], values.cumsum(dtype=np.int64)))
    assert np.array_equal(found.scores, sums[found.ends] - sums[found.starts])
    assert (found.starts[1:] >= found.ends[:-1]).all()
    covered = np.zeros(len(values) + 1, np.int64)
    np.add.at(covered, found.starts, 1)
    np.add.at(covered, found.ends, -1)
    assert (covered.cumsum()[:-1][values > 0] == 1).all()
    # reversed values have the mirrored segments
    mirrored = max_segments(values[::-1], device="cpu")
    assert np.array_equal(mirrored.starts[::-1], len(values) - found.ends)
    assert found.scores.max() == oracle.best_by_kadane(values.tolist())
    assert max_segment(values, device="cpu").score == found.scores.max()


def test_widening_segments_stay_open():
    """Every segment could still grow, so that none is left out between the chunks."""
    steps = np.arange(1, 3 * cpu.RUN)
    values = np.where(steps % 2, steps, -steps)
    found = max_segments(values, device="cpu")
    assert len(found) == 3 * cpu.RUN // 2
    joined = max_segments(np.append(values, 4 * cpu.RUN), device="cpu")
    assert as_list(joined)[-1][1] == len(values) + 1
    assert len(joined) == 1 + np.count_nonzero(found.ends <= joined.starts[-1])


@pytest.mark.parametrize("magnitude", [2**21, 2**22 - 1, 2**22, 2**24, 2**31 - 1])
def test_whole_tiles_of_large_integers(magnitude):
    """Where 32 bits do not hold a lane's sum, 64 are taken; the smallest integer included."""
    values = np.full(3 * cpu.TILE, magnitude, np.int32)
    values[cpu.TILE + 5] = -(2**31)
    best = max_segment(values, device="cpu")
    assert best.score == oracle.best_by_kadane(values.tolist())
    assert values[best.start : best.end].sum(dtype=np.int64) == best.score


def test_sums_at_the_limits_of_64_bits():
    limit = 2**63 - 1
    assert max_segment([limit - 1, 1], device="cpu").score == limit
    assert max_segment([-(2**62), limit], device="cpu").score == limit
    for values in ([limit, 1], [-limit, -2]):
        with pytest.raises(InputError, match="sums could exceed 64-bit integers"):
            max_segment(values, device="cpu")


def test_floats_do_not_depend_on_order():
    rng = np.random.default_rng(5)
    values = rng.normal(size=2000)
    best = max_segment(values, device="cpu")
    assert best.score == pytest.approx(values[best.start : best.end].sum(), rel=1e-12)
    mirrored = max_segment(values[::-1], device="cpu")
    assert mirrored.score == best.score
    assert (mirrored.start, mirrored.end) == (2000 - best.end, 2000 - best.start)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1.0, 1e30, 1e300])
def test_floats_of_any_magnitude(scale):
    values = np.array([1.0, -3.0, 2.0, 4.0, -1.0]) * scale
    best = max_segment(values, device="cpu")
    assert (best.start, best.end) == (2, 4)
    assert best.score == pytest.approx(6 * scale, rel=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused_with_their_place(bad):
    with pytest.raises(InputError, match=r"position 3: value .* is not a finite number"):
        max_segment([1.0, 2.0, bad], device="cpu")
    with pytest.raises(InputError, match="row 2, column 1: value .* is not a finite number"):
        max_submatrix([[1.0, 2.0], [bad, 0.0]], device="cpu")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "no values"),
        ([[1]], "2 dimensions; expected an array of 1"),
        (["a"], "values of type <U1; expected real numbers"),
        (np.array([2**63], np.uint64), "2\\^63 and more"),
    ],
)
def test_what_is_no_sequence_of_numbers_is_refused(values, message):
    with pytest.raises(InputError, match=message):
        max_segment(values, device="cpu")


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32, np.float16, bool])
def test_other_number_types(dtype):
    values = np.array([1, 0, 1, 1], dtype)
    assert as_tuple(max_segment(values, device="cpu")) == (0, 4, 3)


def test_memory_mapped_values_are_read_in_place(tmp_path):
    np.save(tmp_path / "v.npy", np.arange(-5, 6))
    mapped = np.load(tmp_path / "v.npy", mmap_mode="r")
    from gpu_tools.segments.runs import as_numbers

    assert np.shares_memory(as_numbers(mapped, 1), mapped)
    assert as_tuple(max_segment(mapped, device="cpu")) == (5, 11, 15)


@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("seed", range(20))
def test_random_matrices(seed, dtype):
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(1, 9, 2)
    matrix = rng.integers(-5, 5, (rows, columns)).astype(dtype)
    expected = oracle.best_submatrix(matrix.tolist())
    assert cases.as_rectangle(max_submatrix(matrix, device="cpu")) == expected


@pytest.mark.parametrize("factor", [1, 2**28, 2**40])
@pytest.mark.parametrize("shape", [(3, 70), (70, 3), (40, 36)])
def test_matrices_of_several_panels(shape, factor):
    """Sums of 32 and of 64 bits, lines in two panels, either orientation."""
    rng = np.random.default_rng(sum(shape))
    matrix = rng.integers(-3, 3, shape) * factor
    best, rectangle = cases.best_by_numpy(matrix)
    found = max_submatrix(matrix, device="cpu")
    assert found.score == best
    assert cases.as_rectangle(found)[0] == rectangle
    turned = max_submatrix(matrix[::-1, ::-1], device="cpu")
    assert turned.score == best


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
@pytest.mark.parametrize("seed", range(40))
def test_disjoint_submatrices_are_those_of_the_recursion(seed, dtype):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-4, int(rng.integers(1, 6)), rng.integers(1, 8, 2))
    expected = oracle.disjoint_submatrices(matrix.tolist())
    values = (matrix / 4).astype(dtype) if dtype == np.float64 else matrix.astype(dtype)
    scale = 4 if dtype == np.float64 else 1
    found = max_submatrices(values, device="cpu")
    assert [cases.as_rectangle(one) for one in found] == [(at, s / scale) for at, s in expected]
    assert found[:1] == [one for one in [max_submatrix(values, device="cpu")] if one]
    count = int(rng.integers(1, 5))
    assert max_submatrices(values, count=count, device="cpu", threads=2) == found[:count]


@pytest.mark.parametrize("seed", range(10))
def test_disjoint_submatrices_of_one_row_are_segments(seed):
    values = np.random.default_rng(seed).normal(0, 1, 300)  # no two sums are equal
    found = max_submatrices(values[None], device="cpu")
    segments = max_segments(values, device="cpu").ranked()
    # the units of floats are the same, as is the number of values
    assert [(one.column_start, one.column_end, one.score) for one in found] == [
        (segment.start, segment.end, segment.score) for segment in segments
    ]
    turned = max_submatrices(values[:, None], device="cpu")
    assert [one.score for one in turned] == [one.score for one in found]


def test_no_count_of_rectangles():
    with pytest.raises(InputError, match="count 0; expected at least 1"):
        max_submatrices([[1]], count=0, device="cpu")
    assert max_submatrices([[-1, 0]], device="cpu") == []


def test_worked_example_of_the_submatrix():
    """All negative but a block: its sum is that of the block."""
    matrix = np.full((6, 9), -10)
    matrix[1:4, 2:7] = 7
    found = max_submatrix(matrix, device="cpu")
    assert cases.as_rectangle(found) == ((1, 4, 2, 7), 105)
    assert max_submatrix(-np.ones((3, 3)), device="cpu") is None
    assert cases.as_rectangle(max_submatrix([[5]], device="cpu")) == ((0, 1, 0, 1), 5)


def test_ties_between_rectangles():
    matrix = [[0, 1, 0], [0, 0, 0], [1, 0, 1]]
    matrix = np.array(matrix) * 4 - 2  # single cells of 2 at (0, 1), (2, 0) and (2, 2)
    assert cases.as_rectangle(max_submatrix(matrix, device="cpu")) == ((0, 1, 1, 2), 2)
    assert cases.as_rectangle(max_submatrix(matrix.T, device="cpu")) == ((0, 1, 2, 3), 2)
