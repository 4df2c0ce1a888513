"""Which chains share a locus of the report."""

import numpy as np
import pytest

from gpu_tools.report.findings import clusters, drawn_loci
from tests.report.results import DECOY, GENES, MINUS, PLUS, TARGETS


class Chain:
    """As much of a row as grouping looks at."""

    def __init__(self, start, end):
        self.chain = ((start, end),)
        self.alignment = self


def naive_groups(intervals):
    """Join groups as long as two have members that overlap."""
    groups = [{interval} for interval in intervals]
    while True:
        pairs = [(a, b) for a in groups for b in groups if a is not b
                 and any(x[0] < y[1] and y[0] < x[1] for x in a for y in b)]  # fmt: skip
        if not pairs:
            return {frozenset(group) for group in groups}
        a, b = pairs[0]
        groups.remove(b)
        a |= b


@pytest.mark.parametrize("seed", range(30))
def test_groups_are_those_of_a_naive_definition(seed):
    rng = np.random.default_rng(seed)
    starts = rng.integers(0, 300, 12).tolist()
    intervals = {(start, start + int(rng.integers(1, 40))) for start in starts}
    found = clusters([Chain(*interval) for interval in intervals])
    assert {frozenset(c.chain[0] for c in group) for group in found} == naive_groups(intervals)


def test_accepted_chains_make_the_loci(findings):
    plus, minus = drawn_loci(findings)
    assert (plus.name, minus.name) == (PLUS, MINUS)
    assert plus.interval == (GENES[PLUS][1][0][0], GENES[PLUS][1][-1][1])
    drawn = [(r.alignment.target, r.fields["method"]) for r in plus.rows]
    assert drawn == [("T1", "candidates"), ("T1", "sites"), ("T3", "sites")]
    assert plus.best.alignment.target == TARGETS[0]


def test_a_base_without_accepted_chains_shows_the_best_one(findings):
    none = [row for row in findings.rows if row.fields["accepted"] == "no"]
    (locus,) = drawn_loci(findings._replace(rows=none))
    assert not locus.accepted
    assert locus.interval == DECOY


def test_only_the_best_targets_are_drawn(findings):
    best = next(row for row in findings.rows if row.fields["accepted"] == "yes")
    (locus,) = drawn_loci(findings._replace(rows=[best] * 20))
    assert (len(locus.rows), locus.omitted) == (12, 8)
