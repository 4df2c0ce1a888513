"""The published designs of matching against their definitions, on a GPU or the simulator."""

import numpy as np
import pytest

from gpu_tools.hardware.device import simulated
from tests.oracles import matching as oracle

pytestmark = [pytest.mark.cuda, pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")]


@pytest.mark.parametrize("name", ["O-ASM", "w-SCAN", "w-Shuffle"])
@pytest.mark.parametrize("m", (5,) if simulated() else (1, 31, 32, 33, 64, 100, 257))
@pytest.mark.parametrize("costs", [(1, 1, 1), (2, 3, 4)])
def test_least_cost(name, m, costs):
    from benchmarks.published.matching import approximate

    if simulated() and name != "O-ASM":
        pytest.skip("the simulator has no shuffles")
    rng = np.random.default_rng(m)
    text = rng.integers(0, 4, 12 if simulated() else 1500).astype(np.uint8)
    pattern = rng.integers(0, 4, m).astype(np.uint8)
    insertion, deletion, substitution = costs
    column = [i * deletion for i in range(m + 1)]
    least = column[-1]
    for code in text:
        following = [0]
        for i in range(1, m + 1):
            pair = 0 if pattern[i - 1] == code else substitution
            following.append(min(
                column[i - 1] + pair, following[-1] + deletion, column[i] + insertion
            ))  # fmt: skip
        column, least = following, min(least, following[-1])
    assert approximate.Problem(pattern, text, costs).distance(name) == least


@pytest.mark.parametrize("name", ["rolling", "prefix sums"])
def test_occurrences(name):
    from benchmarks.published.matching import exact

    rng = np.random.default_rng(3)
    n, count = (60, 4) if simulated() else (100_000, 300)
    text = rng.integers(0, 2, n).astype(np.uint8)
    patterns = [rng.integers(0, 2, int(rng.integers(3, 12))).astype(np.uint8) for _ in range(count)]
    letters = {str(k): pattern.tobytes() for k, pattern in enumerate(patterns)}
    if simulated():
        rows = oracle.exact(letters, {"t": text.tobytes()}, "bytes")
        expected = sorted((start, int(name)) for name, _, start, _, _ in rows)
    else:
        packed = text.tobytes()
        expected = sorted(
            (start, k)
            for k, pattern in enumerate(letters.values())
            for start in range(n - len(pattern) + 1)
            if packed.startswith(pattern, start)
        )
    assert expected
    assert exact.Problem(patterns, text).occurrences(name) == expected
