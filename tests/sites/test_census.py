"""What training saw."""

import pytest

from gpu_tools.sites.training import census_of, census_rows, train_sites
from tests.sites.cases import annotated, intron

INTRONS = [
    intron(30), intron(40), intron(40), intron(50, ("GC", "AG")), intron(60, ("AT", "AC")),
    intron(70, ("CC", "CC")),
]  # fmt: skip


@pytest.mark.parametrize("strand", "+-")
def test_census(strand):
    record = annotated(INTRONS, strand, copies=2)
    census = census_of([record], n_annotated=14)
    assert census.kinds == {"GT-AG": 3, "GC-AG": 1, "AT-AC": 1, "other": 1}
    assert sorted(census.lengths) == [30, 40, 40, 50, 60, 70]
    assert (census.n_coding, census.n_genes, census.n_introns) == (12, 6, 12)
    content = train_sites([record], "x", "a test")
    rows = {name: (value, share) for name, value, share in census_rows(census, content, [record])}
    assert rows["coding sequences left out"] == (2, "0.1429")
    assert rows["distinct introns GC-AG"] == (1, "0.1667")
    assert [rows[f"intron length {p} %"][0] for p in (0, 50, 100)] == [30, 40, 70]
    assert rows["shortest intron of the model"] == (27, None)
    # all four donors that have GT or GC score alike but for C instead of T
    assert float(rows["mean bits of the donors"][0]) > 1
    assert rows["donors per kb"][0] == content["sites_per_kb"]["donors"]


def test_genes_of_different_strands_do_not_join():
    forward, reverse = annotated(INTRONS[:2]), annotated(INTRONS[:2], "-")
    both = forward.coding + reverse.coding
    assert census_of([type(forward)(forward.sequence, both)], 4).n_genes == 4


def test_warnings():
    few, unusual = census_of([annotated(INTRONS)], 6).warnings()
    assert "only 6 distinct introns" in few
    assert "1 of 6 introns are neither GT-AG nor GC-AG nor AT-AC" in unusual
    assert not list(census_of([annotated([intron(30)] * 200)], 200).warnings())
