"""Several chains of a pair in site mode against their definition."""

import numpy as np
import pytest

from gpu_tools import Sequence
from gpu_tools.sites.api import SiteCase, site_align
from gpu_tools.sites.cpu import sweep as cpu
from gpu_tools.splicing.rows import empty_score
from tests import cases
from tests.oracles import best_chains as oracle
from tests.oracles import sites as oracle_sites
from tests.oracles import spliced as oracles
from tests.sites.test_api import (
    coding_table,
    oracle_table,
    random_coding_text,
    random_strands,
    random_table,
    random_target,
    rescored,
)

MOST = 5


@pytest.fixture
def short_blocks(monkeypatch):
    monkeypatch.setattr(cpu, "BLOCK_LENGTH", 1)
    monkeypatch.setattr(cpu, "ROWS_PER_BLOCK", 3)
    monkeypatch.setattr(cpu, "COLUMNS_PER_STRIP", 4)


def check(base, target, tables, scoring, coding=False, **options):
    """Compare the chains of a case with their definition; return how many there are."""
    case = SiteCase(Sequence.from_text("b", base), Sequence.from_text("t", target), tables)
    texts = {"+": base, "-": oracles.reverse_complement(base)}
    chains = {
        strand: {
            chain: points
            for chain, points in oracle_sites.chains(oracle_table(table), len(base)).items()
            if not coding or oracle_sites.translates(texts[strand], chain)
        }
        for strand, table in tables.items()
    }
    terms = cases.oracle_scoring(scoring)
    found = site_align([case], scoring, best=MOST, **options)
    oracle.check_several(
        found, MOST, len(base),
        lambda s, banned: oracle.best_score(texts[s], target, chains.get(s, {}), terms, banned),
        empty_score(case.target.codes, scoring),
        lambda result: rescored(base, target, result, tables[result.strand], scoring),
    )  # fmt: skip
    (alone,) = site_align([case], scoring, **options)
    assert found[0] == alone.changed(rank=1)
    return len(found)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seed", range(12))
def test_chains_by_enumeration(seed, threads, short_blocks):
    print("seed", seed)
    rng, several = np.random.default_rng(seed), 0
    for _ in range(6):
        base = cases.random_text(rng, int(rng.integers(4, 13)))
        target = random_target(rng, base, int(rng.integers(2, 12)))
        scoring = cases.random_site_scoring(rng)
        tables = {s: random_table(rng, len(base)) for s in random_strands(rng)}
        several += check(base, target, tables, scoring, device="cpu", threads=threads) > 1
    assert several


@pytest.mark.parametrize("seed", range(10))
def test_chains_that_translate_by_enumeration(seed, short_blocks):
    print("seed", seed)
    rng, several = np.random.default_rng(500 + seed), 0
    for _ in range(6):
        base = random_coding_text(rng, 8)
        target = random_target(rng, base, int(rng.integers(2, 9)))
        scoring = cases.random_site_scoring(rng)
        tables = {s: coding_table(rng, len(base)) for s in random_strands(rng)}
        several += check(base, target, tables, scoring, coding=True, device="cpu") > 1
    assert several


@pytest.mark.cuda
@pytest.mark.parametrize("coding", [False, True])
def test_the_device_does_not_matter(coding):
    """Without banned pairs a GPU aligns, with them the CPU does."""
    print("seed", int(coding))
    rng = np.random.default_rng(int(coding))
    base = random_coding_text(rng, 12) if coding else cases.random_text(rng, 16)
    target, table = random_target(rng, base, 8), coding_table if coding else random_table
    tables = {s: table(rng, len(base)) for s in ("+" if coding else "+-")}
    made = [SiteCase(Sequence.from_text("b", base), Sequence.from_text("t", target), tables)]
    found = [site_align(made, best=3, device=device) for device in ("cpu", "cuda")]
    assert found[0] == found[1]
    assert len(found[0]) > 1
