"""Lists of runs as those of all values: parts of the values, and threads that share their runs."""

import numpy as np
import pytest

from gpu_tools.segments.maximal import RunSegments, merge_runs
from tests.oracles import segments as oracle

LENGTH = 8


def runs_of(values):
    """Return the segments of runs of a few values, by the oracle's list of each run."""
    runs = [values[k : k + LENGTH] for k in range(0, len(values), LENGTH)]
    prefixes = [np.concatenate(([0], np.cumsum(run))) for run in runs]
    lists = [oracle.maximal_by_list(run.tolist()) for run in runs]
    counts = np.array([len(found) for found in lists])
    rows = [
        (start, end, prefix[start], prefix[end])
        for prefix, found in zip(prefixes, lists, strict=True)
        for start, end, _ in found
    ]
    starts, ends, lows, highs = np.array(rows, np.int64).reshape(-1, 4).T
    totals = np.array([prefix[-1] for prefix in prefixes])
    return RunSegments(
        LENGTH, np.cumsum(counts) - counts, counts, totals,
        starts.astype(np.int32), ends.astype(np.int32), lows.copy(), highs.copy(),
    )  # fmt: skip


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seed", range(20))
def test_parts_of_the_values_give_the_list_of_all(seed, threads):
    rng = np.random.default_rng(seed)
    values = rng.integers(-4 - seed % 3, 5 + seed % 2, int(rng.integers(1, 200)))
    cuts = LENGTH * np.unique(rng.integers(1, len(values) // LENGTH + 2, 2))
    parts = [runs_of(part) for part in np.split(values, cuts) if len(part)]
    found = merge_runs(parts, threads)
    expected = oracle.maximal_by_list(values.tolist())
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected
