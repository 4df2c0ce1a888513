"""CUDA and CPU find the same alignments, on a GPU or on numba's simulator."""

import numpy as np
import pytest

from gpu_tools import AffineScoring, local_align
from gpu_tools.hardware.device import list_gpus, simulated
from gpu_tools.hardware.gpu.dispatch import Buffers
from gpu_tools.local.gpu import packed as cuda_packed
from gpu_tools.local.gpu import score_pass as cuda
from gpu_tools.local.problem import ALL, SearchSizes, Threshold, make_problem
from tests.local import cases

pytestmark = pytest.mark.cuda
LONGEST = 22 if simulated() else 3000
SIDE = 8 if simulated() else 64
PROTEIN = "ARNDCQEGHILKMFPSTWYVBZX*UOJ"


def packed(problem, rows=cuda_packed.ROWS[0], threshold=ALL):
    """Return the bounds of a launch of the packed kernel."""
    launch = cuda.ScoreLaunch(Buffers(), *cases.batch_of(problem, SIDE, threshold), rows)
    launch.run()
    return cases.bounds_of(launch.results(), problem, SIDE)


def wide(problem, side, threshold=ALL):
    """Return the bounds of the 32-bit kernel."""
    found = cuda.score_pass32(*cases.batch_of(problem, side, threshold))
    return cases.bounds_of(found, problem, side)


def in_bands(problem, ordinals, **options):
    """Return the bounds of a matrix cut into bands."""
    batch, tiles = cases.batch_of(problem, SIDE)
    buffers = [Buffers() for _ in ordinals]
    found = cuda.in_bands(batch, tiles, cuda_packed.ROWS[0], ordinals, buffers, **options)
    return cases.bounds_of(found, problem, SIDE)


def largest_scores(problem, side):
    """Return each tile's largest score, cell by cell."""
    gaps = problem.gap_open, problem.gap_extend
    return cases.tile_scores(problem.query, problem.subject, problem.table, gaps, side)


def assert_bounds(found, problem, side):
    """Bounds are the largest scores of tiles, or near by in the row; padding near by may add."""
    exact = largest_scores(problem, side)
    near = largest_scores(problem, cuda_packed.UNROLLED)
    near = np.maximum.reduceat(near, np.arange(0, len(near), side // cuda_packed.UNROLLED), axis=0)
    assert found.shape == exact.shape
    assert found.max() == exact.max()
    assert (found >= exact).all()
    step = side // cuda_packed.UNROLLED
    around = exact.copy()
    around[:, 1:] = np.maximum(around[:, 1:], near[:, step - 1 :: step][:, : exact.shape[1] - 1])
    around[:, :-1] = np.maximum(around[:, :-1], near[:, step::step])
    rows, columns = problem.shape
    far = slice(rows // side), slice(max(columns - cuda_packed.UNROLLED, 0) // side)
    assert (found[far] <= around[far]).all()


def random_problem(seed, longest=LONGEST, **fixed):
    rng = np.random.default_rng(seed)
    scoring = cases.random_scoring(rng, **fixed)
    query, subject = cases.sequences(*cases.random_pair(rng, longest), scoring)
    return make_problem(query.codes, subject.codes, scoring)


@pytest.mark.parametrize("seed", range(2 if simulated() else 40))
def test_wide_score_pass(seed):
    rng = np.random.default_rng(seed)
    scoring = cases.protein_scoring(rng) if seed % 3 == 0 else cases.random_scoring(rng)
    texts = cases.random_pair(rng, LONGEST, PROTEIN if seed % 3 == 0 else "ACGTN")
    query, subject = cases.sequences(*texts, scoring)
    problem = make_problem(query.codes, subject.codes, scoring)
    side = 4 if simulated() else 64
    assert (wide(problem, side) == largest_scores(problem, side)).all()


@pytest.mark.parametrize("rows", cuda_packed.ROWS)
@pytest.mark.parametrize("seed", range(1 if simulated() else 12))
def test_packed_score_pass(seed, rows):
    problem = random_problem(seed)
    assert_bounds(packed(problem, rows), problem, SIDE)


@pytest.mark.parametrize("rows", cuda_packed.ROWS)
@pytest.mark.parametrize("seed", range(1 if simulated() else 4))
def test_base_moves_up_and_down(seed, rows, monkeypatch):
    """Related sequences, whose scores outgrow the range, then unrelated ones."""
    if simulated():
        monkeypatch.setattr(cuda_packed, "LARGEST", 740)
    length, tail = (40, 10) if simulated() else (6000, 9000)
    rng = np.random.default_rng(seed)
    query = rng.integers(0, 4, length).astype(np.uint8)
    subject = np.concatenate([query, rng.integers(0, 4, tail).astype(np.uint8)])
    scoring = AffineScoring(10, -1, 1, 1) if simulated() else AffineScoring(6, -2, 12, 2)
    problem = make_problem(query, subject, scoring)
    assert largest_scores(problem, SIDE).max() > cuda_packed.score_range(problem, rows).limit
    assert_bounds(packed(problem, rows), problem, SIDE)


@pytest.mark.parametrize("rows", cuda_packed.ROWS)
def test_no_score_without_a_match(rows):
    """Not even where two gaps cost less than a mismatch, which the cells' tilt hides."""
    query, subject = np.zeros(9, dtype=np.uint8), np.ones(11, dtype=np.uint8)
    problem = make_problem(query, subject, AffineScoring(4, -5, 1, 1))
    assert not packed(problem, rows).any()


@pytest.mark.parametrize("peers", [True, False])
@pytest.mark.parametrize("seed", range(1 if simulated() else 10))
def test_bands_of_rows_as_if_on_two_gpus(seed, peers):
    """Two launches, one after the other, each with half of the strips."""
    problem = random_problem(seed, 20 if simulated() else 9000)
    found = in_bands(problem, (0, 0), is_direct=lambda writer, reader: peers)
    assert (found == packed(problem)).all()


@pytest.mark.skipif(simulated(), reason="the simulator has one GPU")
def test_bands_of_rows_on_all_gpus():
    """As many launches at once as there are GPUs, each of which waits for another one's cells."""
    ordinals = tuple(gpu.ordinal for gpu in list_gpus())
    problem = random_problem(11, 40_000)
    found = in_bands(problem, ordinals)
    assert (found == packed(problem)).all()


def related_problem(seed, length, scoring, letters=4):
    """Two sequences with some symbols different, a gap, and an odd end each."""
    rng = np.random.default_rng(seed)
    query = rng.integers(0, letters, length).astype(np.uint8)
    changes = rng.random(length) < (0.1, 0.02, 0.3)[seed % 3]
    other = rng.integers(0, letters, length).astype(np.uint8)
    subject = np.append(np.where(changes, other, query), other[: length // 4]).astype(np.uint8)
    subject = np.delete(subject, slice(length // 2, length // 2 + length // 50))
    return make_problem(np.append(other[: length // 5], query), subject, scoring)


def thresholds_of(problem):
    """Yield thresholds: only the best alignment, known or not, or all down to a score."""
    most, _ = cases.largest_on_the_way(problem)
    yield from (Threshold(1, True), Threshold(most, True))
    yield from (Threshold(most, False), Threshold(most // 2, False))


@pytest.mark.parametrize("rows", [*cuda_packed.ROWS, None])
@pytest.mark.parametrize("seed", range(1 if simulated() else 12))
def test_cells_below_the_threshold_are_skipped(seed, rows):
    """Beside skipped cells scores are as high as they are; rows of the packed kernel, or none."""
    scoring = AffineScoring(5, -4, 2, 2) if seed % 2 else AffineScoring(4, -1, 3, 1)
    problem = related_problem(seed, 14 if simulated() else 5000, scoring)

    def bounds(threshold):
        if rows is None:
            return wide(problem, SIDE, threshold)
        return packed(problem, rows, threshold)

    whole, shares = bounds(ALL), []
    every = list(thresholds_of(problem))
    for threshold in every[1 + seed :][:1] if simulated() else every:
        found = bounds(threshold)
        shares.append((found < whole).mean())
        assert (found <= whole).all()
        assert found.max() == whole.max()
        cases.assert_bounds_of_interest(found, problem, SIDE, threshold)
    assert max(shares) > 0.1


@pytest.mark.parametrize("seed", range(1 if simulated() else 20))
def test_the_best_alignments_alone(seed):
    """With k = 2 nothing is left out, so that the second one can be found."""
    sizes = SearchSizes(words_on_gpu=1, **({"smallest_tile": 8} if simulated() else {}))
    scoring = AffineScoring(5, -4, 2, 2) if seed % 2 else AffineScoring(4, -1, 3, 1)
    length = 12 if simulated() else 50_000 if seed < 3 else 4000
    problem = related_problem(100 + seed, length, scoring)
    several = cases.searched(problem, scoring, k=2)
    least = several[-1].score + 1
    every = {"k": 1}, {"k": 9, "min_score": least}, {"k": 1, "strands": "+-"}
    for options in every[:1] if simulated() else every:
        found = cases.searched(problem, scoring, "cuda", sizes=sizes, **options)
        assert found == several[:1]


@pytest.mark.parametrize("seed", range(1 if simulated() else 20))
def test_alignments(seed):
    sizes = SearchSizes(4, 4) if simulated() else SearchSizes()
    rng = np.random.default_rng(1000 + seed)
    scoring = cases.random_scoring(rng)
    query, subject = cases.sequences(*cases.random_pair(rng, LONGEST), scoring)
    problem = make_problem(query.codes, subject.codes, scoring)
    cpu, gpu = (
        cases.searched(problem, scoring, device, threads, k=40, sizes=sizes)
        for device, threads in (("cpu", 1), ("cuda", 4))
    )
    assert gpu == cpu
    assert gpu


def test_the_kernel_does_the_work(monkeypatch):
    runs = []
    original = cuda.ScoreLaunch.run
    monkeypatch.setattr(cuda.ScoreLaunch, "run", lambda own: runs.append(own) or original(own))
    scoring = cases.random_scoring(np.random.default_rng(0))
    local_align([cases.sequences("ACGT", "ACGT", scoring)], scoring, device="cuda")
    assert len(runs) == 1
