"""Introns that lie where the cDNA's gene has one gain points, exactly."""

import numpy as np
import pytest

from gpu_tools import Sequence, SplicedScoring
from gpu_tools.sites.api import SiteCase, site_align
from gpu_tools.sites.cpu import sweep as cpu
from gpu_tools.sites.model import load_sites
from gpu_tools.splicing.target_introns import POINTS, cdna_intron_points
from tests import cases
from tests.oracles import sites as oracle
from tests.sites.test_api import (
    coding_table,
    oracle_table,
    random_coding_text,
    random_table,
    random_target,
    sites_of_chain,
)


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    monkeypatch.setattr(cpu, "BLOCK_LENGTH", 1)
    monkeypatch.setattr(cpu, "ROWS_PER_BLOCK", 3)


def points_of(introns, length):
    """Return the points by definition."""
    found = [0] * (length + 1)
    for at in introns:
        if 0 < at < length:
            for j in range(length + 1):
                points = 4 if j == at else 2 if abs(j - at) <= 3 else 0
                found[j] = max(found[j], points)
    return found


def aligned(base, target, introns, table, scoring):
    target = Sequence("t", Sequence.from_text("t", target).codes, "", introns)
    (result,) = site_align([SiteCase(Sequence.from_text("b", base), target, {"+": table})], scoring)
    return result


def check(rng, base, target, table, scoring, coding=False):
    length = len(target)
    introns = tuple(sorted({int(at) for at in rng.integers(0, length + 1, rng.integers(1, 4))}))
    points = points_of(introns, length)
    assert cdna_intron_points(introns, length).tolist() == points
    sites = oracle_table(table) | ({"coding": True} if coding else {})
    terms = cases.oracle_scoring(scoring)
    result = aligned(base, target, introns, table, scoring)
    assert result.score == oracle.best_with_intron_points(base, target, sites, terms, points)
    if result.score is not None:
        alone = aligned(base, target, (), table, scoring)
        assert result.score_alone <= alone.score <= result.score
        inner = sites_of_chain(table, result.chain)
        text = "".join(base[a:b] for a, b in result.chain)
        part = target[result.target_start : result.target_end]
        most = oracle.global_score(text, part, terms["pair"], terms["gap"])
        assert result.score_alone - inner <= most
    return result


@pytest.mark.parametrize("seed", range(60))
def test_small_cases_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    base = cases.random_text(rng, int(rng.integers(3, 11)))
    target = random_target(rng, base, int(rng.integers(1, 8)))
    scoring = cases.random_site_scoring(rng)
    check(rng, base, target, random_table(rng, len(base)), scoring)


@pytest.mark.parametrize("seed", range(60))
def test_coding_cases_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    base = random_coding_text(rng, 8)[:13]
    target = random_target(rng, base, int(rng.integers(1, 8)))
    scoring = cases.random_site_scoring(rng)
    check(rng, base, target, coding_table(rng, len(base)), scoring, coding=True)


def test_an_intron_lies_where_the_gene_has_one():
    """Both places of the intron are as good without points."""
    exons, intron = ("ACTGACCTGCA" * 3 + "CAGG", "TCAATGCATCGGAC" * 3), "GTAAGT" + "TCTATCT" * 12
    base = exons[0] + intron + "TTTTTCAG" + "GTAAGT" + exons[1]
    target = exons[0] + "GTAAGT" + exons[1]
    table = load_sites("vertebrate").table(Sequence.from_text("b", base).codes)
    at = len(exons[0])
    alone = aligned(base, target, (), table, SplicedScoring())
    assert alone.evidence_points == 0
    for introns, points in (((at,), POINTS[0]), ((at + 3,), POINTS[1]), ((at + 20,), 0)):
        found = aligned(base, target, introns, table, SplicedScoring())
        assert found.chain == alone.chain
        assert found.evidence_points == points
        assert found.score_alone == alone.score
