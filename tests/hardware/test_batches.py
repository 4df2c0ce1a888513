"""Even batches against all ways to split the cases."""

import itertools
import random

import numpy as np
import pytest

from gpu_tools.hardware.batches import assigned, even_batches, within_limit


def smallest_largest(cells, n_batches):
    """Try all splits of cells into non-empty runs; return the smallest largest sum."""
    cuts = itertools.combinations(range(1, len(cells)), n_batches - 1)
    splits = (list(itertools.pairwise((0, *cut, len(cells)))) for cut in cuts)
    return min(max(sum(cells[a:b]) for a, b in split) for split in splits)


def check(cells, n_batches):
    batches = even_batches(cells, n_batches)
    parts = [cells[part] for part in batches]
    assert [size for part in parts for size in part] == list(cells)
    assert len(parts) == n_batches
    assert all(parts)
    assert max(map(sum, parts)) == smallest_largest(cells, n_batches)


@pytest.mark.parametrize("seed", range(100))
def test_largest_batch_is_as_small_as_it_can_be(seed):
    random = np.random.default_rng(seed)
    cells = random.integers(0, random.choice([1, 2, 10, 10**9]), random.integers(1, 9)).tolist()
    check(cells, int(random.integers(1, len(cells) + 1)))


@pytest.mark.parametrize("cells", [[0], [0, 0, 0], [9, 0, 0], [0, 0, 9], [1, 1, 1, 9]])
def test_cases_without_work_fill_batches_too(cells):
    for n_batches in range(1, len(cells) + 1):
        check(cells, n_batches)


@pytest.mark.parametrize("n_batches", [0, 4])
def test_no_batch_is_empty(n_batches):
    with pytest.raises(ValueError, match="3 cases cannot make"):
        even_batches([1, 2, 3], n_batches)


@pytest.mark.parametrize("seed", range(5))
def test_groups_within_a_limit(seed):
    sizes = random.Random(seed).choices(range(1, 12), k=30)
    groups = list(within_limit(iter(sizes), lambda size: size, 10))
    assert list(itertools.chain(*groups)) == sizes
    assert all(sum(group) <= 10 or len(group) == 1 for group in groups)
    assert all(sum(one) + other[0] > 10 for one, other in itertools.pairwise(groups))


@pytest.mark.parametrize("seed", range(20))
def test_each_case_goes_to_the_gpu_with_the_least_work(seed):
    random = np.random.default_rng(seed)
    cells, count = random.integers(0, 100, random.integers(0, 30)), int(random.integers(1, 5))
    expected, loads = [[] for _ in range(count)], [0] * count
    for k in sorted(range(len(cells)), key=lambda k: -cells[k]):
        least = loads.index(min(loads))
        expected[least].append(k)
        loads[least] += int(cells[k])
    assert [own.tolist() for own in assigned(cells, count)] == expected
