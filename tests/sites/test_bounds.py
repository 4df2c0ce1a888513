"""What the limits of site mode's cells are made of, against loops over all boundaries."""

import numpy as np
import pytest

from gpu_tools.sites.bounds import best_sites, coding_chain, simple_chain
from gpu_tools.sites.table import CLOSED, IntronClass, SiteTable
from tests.sites.test_api import STOPS, random_scores


def random_ends(rng, length: int):
    """Return scores of first entries or last exits, sometimes open everywhere."""
    scores = random_scores(rng, length, 0.3)
    return np.where(scores == CLOSED, -3, scores) if rng.random() < 0.4 else scores


def exons(table, gap, follows):
    """Yield the values of exons that end at the first last exit that may follow their entry."""
    first, last = table.first_entry, table.last_exit
    for start in np.flatnonzero(first != CLOSED).tolist():
        end = next((e for e in follows(start) if last[e] != CLOSED), None)
        if end is not None:
            yield int(first[start] + last[end]) + gap * (end - start)


@pytest.mark.parametrize("seed", range(40))
def test_simple_and_coding_chains(seed):
    rng = np.random.default_rng(seed)
    m, gap = int(rng.integers(1, 60)), int(rng.integers(-4, 3))
    codes = rng.choice(5, m, p=[0.3, 0.15, 0.2, 0.3, 0.05]).astype(np.uint8)
    closed = np.full(m + 1, CLOSED)
    ends = random_ends(rng, m), random_ends(rng, m)
    table = SiteTable(ends[0], closed, closed, ends[1], (IntronClass(0, 0, 1),), stops=STOPS)
    if table.has_chain():
        found = exons(table, gap, lambda start: range(start + 1, m + 1))
        assert simple_chain(table, gap) == max(found)

    def in_frame(start):
        is_stop = [bool(STOPS[tuple(codes[k : k + 3])]) for k in range(start, m - 2, 3)]
        if len(is_stop) < 2 or is_stop[0]:
            return
        for k in range(2, len(is_stop) + 1):
            yield start + 3 * k
            if is_stop[k - 1]:
                return

    found = list(exons(table, gap, in_frame))
    largest = table.largest_scores()
    none = min(gap, 0) * m - largest[0] - largest[3]
    assert coding_chain(table, codes, gap) == max(found, default=none)


@pytest.mark.parametrize("seed", range(20))
def test_best_sites(seed):
    rng = np.random.default_rng(seed)
    m, shortest, penalty = (int(n) for n in rng.integers([1, 0, -4], [40, 6, 4]))
    scores = random_ends(rng, m), *(random_scores(rng, m, 0.3) for _ in range(2))
    table = SiteTable(*scores, random_ends(rng, m), (IntronClass(0, shortest, penalty),))
    first, acceptors, donors, last = (
        np.where(s == CLOSED, -(10**6), s).tolist() for s in table.scores
    )
    gained = max(-penalty, 0)  # by a part that begins within an intron
    inside, outside, best, left = 0, gained, gained, []
    for i in range(m + 1):
        left.append(max(inside + donors[i] - penalty, gained))
        best = max(best, inside + last[i])
        outside = max([outside, *left[: max(i - shortest + 1, 0)]])
        inside = max(inside, outside + acceptors[i], first[i])
        best = max(best, inside, outside)
    assert best_sites(table) == best
