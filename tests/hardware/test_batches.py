"""Groups within a limit, and shares of GPUs."""

import itertools
import random

import numpy as np
import pytest

from gpu_tools.hardware.threads import assigned, within_limit


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
