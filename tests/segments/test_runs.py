"""All maximal segments from the lists of short runs, in groups of neighbouring runs."""

from itertools import pairwise

import numpy as np
import pytest

from gpu_tools.segments import runs
from tests.oracles import segments as oracle

LENGTH = 8


class NaiveDevice:
    """Runs whose lists come from the oracle; `cuts` are the first runs of the groups."""

    def __init__(self, values, cuts):
        self.values, self.cuts = values, cuts
        self.prefix = np.append(0, np.cumsum(values))
        self.lists = []
        for first in range(0, len(values), LENGTH):
            found = oracle.maximal_by_list(values[first : first + LENGTH].tolist())
            self.lists.append(np.array(found, np.int64).reshape(-1, 3)[:, :2] + first)

    def make_lists(self):
        return [self.group(first, last) for first, last in pairwise(self.cuts)]

    def group(self, first, last):
        ends = np.minimum(np.arange(len(self.lists) + 1) * LENGTH, len(self.values))
        opened = [np.empty((0, 4), np.int64)]
        for run in range(first, last):
            rows = np.column_stack((self.lists[run], self.prefix[self.lists[run]]))
            lows, highs = (rows[:, 2:] - self.prefix[ends[run]]).T
            total, marks = self.prefix[ends[run + 1]] - self.prefix[ends[run]], np.zeros(len(rows))
            assert runs.mark_open(lows, highs, len(rows), total, marks) == marks.sum()
            opened.append(rows[marks != 0] - [0, 0, *2 * [self.prefix[ends[first]]]])
        total = self.prefix[ends[last]] - self.prefix[ends[first]]
        return runs.merge_open(np.concatenate(opened), total)

    def count_remaining(self, bounds):
        bounds = bounds + LENGTH * np.arange(len(bounds))[:, None]
        at = [
            np.searchsorted(rows[:, 0], own) for rows, own in zip(self.lists, bounds, strict=True)
        ]
        return np.array([(first, last - first) for first, last in at])

    def write_remaining(self, layout, columns):
        for rows, (first, count, at) in zip(self.lists, layout, strict=False):
            own = rows[first : first + count]
            sums = self.prefix[own[:, 1]] - self.prefix[own[:, 0]]
            for column, found in zip(columns, (*own.T, sums), strict=True):
                column[at : at + count] = found


@pytest.mark.parametrize("seed", range(100))
def test_groups_of_runs_give_the_list_of_all(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(-4 - seed % 3, 5 + seed % 2, int(rng.integers(1, 200)))
    n_runs = -(-len(values) // LENGTH)
    cuts = [0, *sorted(rng.integers(0, n_runs + 1, seed % 4).tolist()), n_runs]
    own = NaiveDevice(values, cuts)
    device = runs.DeviceRuns(
        n_runs, LENGTH, own.make_lists, own.count_remaining, own.write_remaining
    )
    columns = runs.maximal_segments(device)
    found = list(zip(*(column.tolist() for column in columns), strict=True))
    assert found == oracle.maximal_by_list(values.tolist())
