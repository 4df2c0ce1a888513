"""The benchmarks' case sets have the figures that they claim."""

import numpy as np
import pytest

from benchmarks import case_sets
from benchmarks.case_sets import PUBLISHED, SMALL


@pytest.fixture(scope="module", params=[PUBLISHED, SMALL], ids=["published", "small"])
def made(request):
    return request.param, case_sets.case_set(request.param)


def genes(cases):
    return list({case.base.name: case for case in cases}.values())


def lengths(case):
    return case.exons.ends - case.exons.starts


def check(values, spread):
    assert min(values) == spread.lowest
    assert max(values) == spread.highest
    assert np.mean(values) == pytest.approx(spread.mean, rel=0.03)


def test_figures(made):
    shape, cases = made
    bases = genes(cases)
    assert (len(cases), len(bases)) == (shape.cases, shape.bases)
    check([len(case.base) for case in bases], shape.base_length)
    check([len(case.exons) for case in bases], shape.exons)
    check([lengths(case).sum() for case in bases], shape.exon_sum)
    check([len(case.target) for case in cases], shape.target_length)
    exons = np.concatenate([lengths(case) for case in bases])
    assert (exons.min(), exons.max()) == shape.exon_length
    per_base = [sum(case.base is other.base for case in cases) for other in bases]
    assert (min(per_base), max(per_base)) == shape.targets_per_base
    for case in cases:
        case.check()
        assert len(case.exons.unique()) == len(case.exons)


def test_il1rapl1_like():
    case = case_sets.il1rapl1_like()
    case.check()
    assert (len(case.base), len(case.target)) == (2_168_787, 2_355)
    assert len(case.exons.unique()) == 1_878
    assert case.cells == 596_182_380
