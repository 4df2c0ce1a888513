"""A longest intron on the CPU: against its definition, and against tables without one."""

from itertools import pairwise

import numpy as np
import pytest

from gpu_tools import Sequence, SiteCase, SplicedScoring, site_align
from gpu_tools.sites.api import without_longest
from gpu_tools.sites.table import CLOSED, IntronClass, SiteTable
from tests import cases
from tests.sites.test_api import (
    align,
    check_by_enumeration,
    check_by_programme,
    coding_table,
    random_coding_text,
    random_lines,
    random_marks,
    random_table,
    random_target,
    short_blocks,
)

_ = short_blocks


def limited(table: SiteTable, longest: int) -> SiteTable:
    """Return a table whose introns may have `longest` nucleotides, or some more, at most."""
    shortest = max((intron.min_length for intron in table.introns), default=0)
    origin = int(np.random.default_rng(longest).integers(-99, 100))
    return table.changed(longest=max(longest, shortest), origin=origin)


def lengths_of(result) -> list[int]:
    """Return the lengths of a chain's introns."""
    chain = result.chain if result.strand == "+" else result.chain[::-1]
    return [b[0] - a[1] for a, b in pairwise(chain)]


@pytest.mark.parametrize("longest", [2000, 70_001])
def test_no_intron_is_longer_and_all_shorter_ones_are_admitted(longest):
    empty = random_table(np.random.default_rng(1), 1, introns=(IntronClass(0, 30, 1),))
    table = empty.changed(longest=longest, origin=12345)
    exits = np.arange(0, 100_000)
    lengths = 100_000 - exits
    admitted = table.is_short(0, exits, 100_000)
    assert lengths[admitted].max() <= longest
    assert admitted[lengths <= longest - 2 * table.step].all()
    entries = range(100_000, 100_000 + table.step)
    assert all(table.is_short(0, entry - table.surely_short, entry) for entry in entries)
    assert not all(table.is_short(0, entry - table.surely_short - 1, entry) for entry in entries)
    assert table.step <= max(longest // 32, 32)


@pytest.mark.parametrize("seed", range(30))
def test_longest_introns_by_programme(seed, short_blocks):
    """Several classes, with and without rising penalties, over many windows."""
    rng = np.random.default_rng(seed)
    base = cases.random_text(rng, int(rng.integers(40, 120)))
    target, scoring = (
        random_target(rng, base, int(rng.integers(5, 20))),
        cases.random_site_scoring(rng),
    )
    introns = tuple(
        IntronClass(
            k % 2, int(rng.integers(0, 8)), int(rng.integers(-2, 3)),
            random_lines(rng, int(rng.integers(1, 4))),
        )
        for k in range(3)
    )  # fmt: skip
    table = random_table(rng, len(base), 0.4, introns)
    table = limited(table, int(rng.integers(8, 60)))
    result = check_by_programme(base, target, table, scoring)
    assert max(lengths_of(result), default=0) <= table.longest


@pytest.mark.parametrize("seed", range(6))
def test_longest_introns_of_chains_that_translate(seed, short_blocks):
    rng = np.random.default_rng(seed)
    spliced = 0
    for _ in range(8):
        base, scoring = random_coding_text(rng, 12), cases.random_site_scoring(rng)
        target = random_target(rng, base, int(rng.integers(1, 9)))
        table = limited(coding_table(rng, len(base)), int(rng.integers(1, 9)))
        result = check_by_enumeration(base, target, {"+": table}, scoring, coding=True)
        spliced += result.n_chain > 1
    assert spliced


def test_ties_are_those_without_a_longest_intron(short_blocks):
    """The chosen chain is the same wherever the limit admits it."""
    same = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        base = cases.random_text(rng, 100)
        target = random_target(rng, base, 30)
        table = limited(random_table(rng, 100, 0.2), 40)
        free, found = (
            align(base, target, {"+": each}, SplicedScoring()) for each in (table.unlimited, table)
        )
        if max(lengths_of(free), default=0) < 20 and free.n_chain > 1:
            same += 1
            assert found == free
    assert same > 3


@pytest.mark.cuda
@pytest.mark.parametrize("lines", [(), ((0, 4), (1, 8))])
def test_devices_agree_on_a_longest_intron(lines):
    """The best chain of all has an intron of eight nucleotides: too long in one of two cases."""
    scores = [np.full(15, CLOSED) for _ in range(4)]
    for of_kind, place in zip(scores, (0, 11, 3, 14), strict=True):
        of_kind[place] = 2
    marks = random_marks(np.random.default_rng(1), 14)
    table, made = SiteTable(*scores, (IntronClass(0, 1, 1, lines),), marks=marks), []
    base, target = (Sequence.from_text("s", text) for text in ("ACTGGGGGGGGACT", "ACTACT"))
    for longest in (4, 12):
        made.append(SiteCase(base, target, {"+": limited(table, longest)}))
    free = site_align(without_longest(made), device="cpu")
    assert [case.admits(each) for case, each in zip(made, free, strict=True)] == [False, True]
    found = site_align(made, device="cuda", threads=1)
    assert [result.n_chain for result in found] == [1, 2]
    assert found == site_align(made, device="cpu")
