"""The benchmarks' case sets have the figures that they claim."""

import numpy as np
import pytest

from benchmarks import case_sets
from benchmarks.case_sets import PUBLISHED, SMALL
from gpu_tools import Case, spliced_align


@pytest.fixture(scope="module", params=[PUBLISHED, SMALL], ids=["published", "small"])
def made(request):
    return request.param, case_sets.case_set(request.param)


@pytest.fixture(scope="module")
def published():
    return case_sets.case_set()


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


def test_cases_are_sound(made):
    _, cases = made
    for case in cases:
        case.check()
        assert len(case.exons.unique()) == len(case.exons)
        assert not case.exons.reverse.any()
        assert case.base.codes.max() < 4
        assert case.target.codes.max() < 4


def test_mean_exon_length(published):
    means = [lengths(case).mean() for case in genes(published)]
    assert np.mean(means) == pytest.approx(149.35, rel=0.03)


def test_means_of_targets_a_base(published):
    assert len(published) / len(genes(published)) == pytest.approx(4.20, abs=0.01)


def test_tails_are_long(published):
    for figure in (
        [len(case.base) for case in genes(published)],
        [len(case.exons) for case in genes(published)],
        [len(case.target) for case in published],
    ):
        assert np.median(figure) < 0.9 * np.mean(figure)


def test_long_genes_have_long_targets_and_many_exons(published):
    def correlation(first, second):
        ranks = [np.argsort(np.argsort(values)) for values in (first, second)]
        return np.corrcoef(ranks)[0, 1]

    sizes = [len(case.base) for case in published]
    assert 0.4 < correlation(sizes, [len(case.target) for case in published]) < 0.8
    assert correlation(sizes, [len(case.exons) for case in published]) > 0.8


def test_exons_share_starts_and_ends(published):
    bases = genes(published)
    total = sum(len(case.exons) for case in bases)
    starts = sum(len(np.unique(case.exons.starts)) for case in bases)
    ends = sum(len(np.unique(case.exons.ends)) for case in bases)
    assert starts / total == pytest.approx(0.62, abs=0.03)
    assert ends / total == pytest.approx(0.78, abs=0.03)


def test_targets_are_related_to_their_bases():
    cases = case_sets.case_set(SMALL)
    own = spliced_align(cases, device="cpu")
    targets = [case.target for case in cases[25:] + cases[:25]]
    swapped = [Case(c.base, target, c.exons) for c, target in zip(cases, targets, strict=True)]
    other = spliced_align(swapped, device="cpu")
    assert np.mean([result.identity for result in own]) > 0.6
    assert sum(result.score for result in own) > sum(result.score for result in other)


def test_a_seed_gives_the_same_cases_and_another_seed_others():
    first, again, other = (case_sets.case_set(SMALL, seed) for seed in (1, 1, 2))

    def codes(cases):
        return b"".join(case.base.codes.tobytes() + case.target.codes.tobytes() for case in cases)

    assert codes(first) == codes(again)
    assert codes(first) != codes(other)
    assert [list(a.exons.starts) for a in first] == [list(b.exons.starts) for b in again]


def test_il1rapl1_like():
    case = case_sets.il1rapl1_like()
    case.check()
    assert (len(case.base), len(case.target)) == (2_168_787, 2_355)
    assert len(case.exons.unique()) == 1_878
    assert case.cells == 596_182_380


def test_many_cases_are_distinct_pairs_of_shared_sequences(published):
    many = case_sets.many_cases(published)
    assert len({(case.base.name, case.target.name) for case in many}) == 40_000
    assert len({id(case.target.codes) for case in many}) == len(published)
    assert len({id(case.exons) for case in many}) == len(genes(published))


def test_demo_cases():
    cases = case_sets.demo_cases()
    assert len(cases) == 10
    for case in cases:
        case.check()
        assert len(case.exons.on_strand("+"))
        assert len(case.exons.on_strand("-"))
