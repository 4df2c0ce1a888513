"""Lists of open segments, which GPUs merge, in plain Python against the naive list."""

from itertools import pairwise

import numpy as np
import pytest

from gpu_tools.segments import recurrence as core
from tests.oracles import segments as oracle


def open_list(segments, last):
    """Return the open ones of segments (start, end, sums before and after), and what merged."""
    rows, merged = np.zeros((len(segments), 4), np.int64), []
    state = (0, 0, 0, 0)
    for segment in [*segments, (0, -1, last, last)]:
        state, longer = core.append_open(rows, 0, state, segment)
        merged += [longer[:2]] * (longer != segment)
    return [tuple(row) for row in rows[: state[2]].tolist()], merged


def outermost(segments):
    return sorted(
        (a, b)
        for a, b in set(segments)
        if not any((c, d) != (a, b) and c <= a and b <= d for c, d in segments)
    )


@pytest.mark.parametrize("seed", range(150))
def test_merged_lists_give_the_segments_across_their_ends(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, int(rng.integers(2, 60))).tolist()
    cuts = np.flatnonzero(rng.random(len(values) - 1) < 0.3) + 1
    bounds = [0, *cuts.tolist(), len(values)]
    opened = []
    for first, last in pairwise(bounds):
        sums = np.cumsum([0, *values[first:last]]).tolist()
        rows = [
            (first + k, first + k + 1, sums[k], sums[k + 1])
            for k in range(last - first)
            if values[first + k] > 0
        ]
        before = sum(values[:first])
        kept, _ = open_list(rows, sums[-1])
        opened += [(a, b, before + low, before + high) for a, b, low, high in kept]
    _, crossing = open_list(opened, sum(values))
    expected = [
        (a, b) for a, b, _ in oracle.maximal_by_list(values) if any(a < cut < b for cut in cuts)
    ]
    assert outermost(crossing) == expected
