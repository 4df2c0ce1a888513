"""Open segments of runs as those of all values: the whole at once, and groups of runs."""

from itertools import pairwise

import numpy as np
import pytest

from gpu_tools.segments import recurrence as core
from gpu_tools.segments.maximal import END, HIGH, LOW, START, join, merge_open, run_bounds
from tests.oracles import segments as oracle

LENGTH = 8


def lists_of(values):
    """Return the rows of the segments of each run, by the oracle; sums count from value 0."""
    prefix = np.concatenate(([0], np.cumsum(values)))
    lists = []
    for first in range(0, len(values), LENGTH):
        found = oracle.maximal_by_list(values[first : first + LENGTH].tolist())
        bounds = np.array([row[:2] for row in found], np.int64).reshape(-1, 2) + first
        lists.append(np.column_stack((bounds, prefix[bounds])))
    return lists, prefix


def group_of(lists, prefix, first, last):
    """Return the runs `first` to ``last - 1`` taken together."""
    opened = [np.empty((0, 4), np.int64)]
    for run in range(first, last):
        begin, end = run * LENGTH, min((run + 1) * LENGTH, len(prefix) - 1)
        rows, marks = lists[run], np.zeros(len(lists[run]), np.int64)
        lows, highs = rows[:, LOW] - prefix[begin], rows[:, HIGH] - prefix[begin]
        total = prefix[end] - prefix[begin]
        assert core.mark_open(lows, highs, len(rows), total, marks) == marks.sum()
        opened.append(rows[marks != 0])
    rows, begin = np.concatenate(opened), prefix[min(first * LENGTH, len(prefix) - 1)]
    rows[:, LOW:] -= begin
    return merge_open(rows, prefix[min(last * LENGTH, len(prefix) - 1)] - begin)


def all_segments(lists, crossing):
    """Return the segments of runs that lie in no crossing one, and the crossing ones."""
    bounds = run_bounds(crossing, LENGTH, len(lists))
    found = [(row[START], row[END], row[HIGH] - row[LOW]) for row in crossing]
    for run, rows in enumerate(lists):
        low, high = bounds[run] + run * LENGTH
        remaining = rows[(rows[:, START] >= low) & (rows[:, START] < high)]
        found += [(row[START], row[END], row[HIGH] - row[LOW]) for row in remaining]
    return sorted(tuple(map(int, segment)) for segment in found)


@pytest.mark.parametrize("seed", range(60))
def test_groups_give_the_list_of_all(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(-4 - seed % 3, 5 + seed % 2, int(rng.integers(1, 200)))
    lists, prefix = lists_of(values)
    cuts = [0, *sorted(rng.integers(0, len(lists) + 1, seed % 4).tolist()), len(lists)]
    groups = [group_of(lists, prefix, a, b) for a, b in pairwise(cuts)]
    found = all_segments(lists, join(groups))
    assert found == oracle.maximal_by_list(values.tolist())


def test_what_is_open_in_a_group_is_what_its_whole_list_has_open():
    rng = np.random.default_rng(4)
    for _ in range(100):
        values = rng.integers(-4, 5, 5 * LENGTH)
        lists, prefix = lists_of(values)
        whole = np.array(oracle.maximal_by_list(values.tolist()), np.int64).reshape(-1, 3)
        marks = np.zeros(len(whole), np.int64)
        lows, highs = prefix[whole[:, 0]], prefix[whole[:, 1]]
        core.mark_open(lows, highs, len(whole), prefix[-1], marks)
        opened = group_of(lists, prefix, 0, len(lists)).opened
        assert np.array_equal(opened[:, :HIGH], np.column_stack((whole[:, :2], lows))[marks != 0])
