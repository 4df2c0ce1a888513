"""Introns of splice evidence in site mode: against their definition, in pieces, and on GPUs."""

import numpy as np
import pytest

from gpu_tools.sites.cpu import sweep as cpu
from gpu_tools.sites.table import NO_KIND, SiteTable, TableJunctions
from tests import cases
from tests.sites.test_api import (
    changed,
    check_by_enumeration,
    check_by_programme,
    coding_table,
    random_coding_text,
    random_strands,
    random_table,
    random_target,
)


@pytest.fixture(params=[False, True])
def blocks(request, monkeypatch):
    """Sweep blocks of the usual length, or of few rows."""
    if request.param:
        monkeypatch.setattr(cpu, "BLOCK_LENGTH", 1)
        monkeypatch.setattr(cpu, "ROWS_PER_BLOCK", 3)


def with_junctions(rng, table: SiteTable, most: int = 4, shortest: int = 1) -> SiteTable:
    """Return a table with some introns of their own penalties; several may share a donor."""
    pairs = {
        tuple(sorted(rng.integers(0, table.length + 1, 2).tolist()))
        for _ in range(rng.integers(1, most + 1))
    }
    pairs |= {(donor, int(rng.integers(donor, table.length + 1))) for donor, _ in pairs}
    pairs = sorted(pair for pair in pairs if pair[0] + shortest <= pair[1])
    if not pairs:
        return table
    donors, acceptors = (np.array(each) for each in zip(*pairs, strict=True))
    scores, kinds = [], []
    for name, kind, places in (
        ("inner_entry", "entry_kind", acceptors), ("inner_exit", "exit_kind", donors)
    ):  # fmt: skip
        own, of = getattr(table, name), getattr(table, kind)
        new = [i for i in places.tolist() if own[i] < -(2**40)]
        own[new], of[new] = 0, NO_KIND
        scores.append(own)
        kinds.append(of)
    penalties = rng.integers(-4, 4, len(pairs))
    return changed(
        table, inner_entry=scores[0], inner_exit=scores[1], entry_kind=kinds[0],
        exit_kind=kinds[1], junctions=TableJunctions.of(donors, acceptors, penalties),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(25))
def test_small_cases_by_enumeration(seed, blocks):
    rng = np.random.default_rng(seed)
    base = cases.random_text(rng, int(rng.integers(2, 12)))
    target = random_target(rng, base, int(rng.integers(1, 9)))
    scoring = cases.random_site_scoring(rng)
    tables = {s: with_junctions(rng, random_table(rng, len(base))) for s in random_strands(rng)}
    check_by_enumeration(base, target, tables, scoring)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("seed", range(12))
def test_longer_cases_by_the_recurrence(seed, threads, blocks, monkeypatch):
    """Junctions cross many blocks; rows of their donors are read where blocks are swept again."""
    monkeypatch.setattr(cpu, "COLUMNS_PER_STRIP", 8)
    rng = np.random.default_rng(100 + seed)
    base = cases.random_text(rng, int(rng.integers(40, 90)))
    target = cases.with_tail(rng, random_target(rng, base, int(rng.integers(5, 20))))
    table = with_junctions(rng, random_table(rng, len(base), 0.2), 9)
    check_by_programme(base, target, table, cases.random_site_scoring(rng), threads)


@pytest.mark.parametrize("seed", range(8))
def test_chains_that_translate_by_enumeration(seed, blocks):
    rng = np.random.default_rng(300 + seed)
    used = 0
    for _ in range(8):
        base = random_coding_text(rng, 8)
        target = random_target(rng, base, int(rng.integers(1, 9)))
        scoring = cases.random_site_scoring(rng)
        tables = {s: with_junctions(rng, coding_table(rng, len(base))) for s in random_strands(rng)}
        result = check_by_enumeration(base, target, tables, scoring, coding=True)
        used += result.n_chain > 1
    assert used
