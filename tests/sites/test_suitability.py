"""Warnings about models that do not suit."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_tools import Sequence
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.api import SiteCase, tables_of
from gpu_tools.sites.model import load_sites
from gpu_tools.sites.suitability import many_shortest_introns, unusual_site_counts
from gpu_tools.sites.training import sites_per_kb_of

TARGET = Sequence.from_text("t", "ACGT")


def cases_of(model, codes, n=1):
    base = Sequence("b", codes)
    return [SiteCase(base, TARGET, tables_of(base, model, "+"))] * n


def test_site_counts():
    codes = np.random.default_rng(2).integers(0, 4, 8000).astype(np.uint8)
    model = load_sites("fly")
    model = replace(model, sites_per_kb=sites_per_kb_of(model, [codes]))
    assert unusual_site_counts(model, cases_of(model, codes)) is None
    for factor, told in ((1.4, False), (1.6, True), (1 / 1.4, False), (1 / 1.6, True)):
        expected = model.sites_per_kb._replace(donors=model.sites_per_kb.donors * factor)
        other = replace(model, sites_per_kb=expected)
        text = unusual_site_counts(other, cases_of(model, codes, 3))
        assert (text is not None) == told
        assert not told or f"site model fly expects {expected.donors:.0f} and" in text


def test_site_counts_need_known_nucleotides_and_an_expectation():
    codes = np.zeros(8000, dtype=np.uint8)
    model = load_sites("fly")
    assert "0 donors and 0 acceptors per kb" in unusual_site_counts(model, cases_of(model, codes))
    codes[4000:] = OTHER
    assert unusual_site_counts(model, cases_of(model, codes)) is None
    model = replace(model, sites_per_kb=None)
    assert unusual_site_counts(model, cases_of(model, codes * 0)) is None


def result(*introns):
    """Return a chain with introns of some lengths."""
    chain, at = [], 0
    for length in (*introns, 0):
        chain.append((at, at + 10))
        at += 10 + length
    return SplicedAlignment("b", "t", at, 9, 9, None, "-", 5, tuple(chain[::-1]))


@pytest.mark.parametrize(
    ("introns", "told"),
    [
        ([43] * 5, "5 of 5 introns"), ([43] * 4, None), ([46] * 5 + [47] * 44, "5 of 49 introns"),
        ([46] * 5 + [47] * 45, None), ([47] * 50, None), ([], None),
    ],
)  # fmt: skip
def test_short_introns(introns, told):
    model = load_sites("fly")
    assert model.shortest_intron == 43
    results = [result(*introns[k : k + 7]) for k in range(0, len(introns), 7)]
    results.append(replace(result(), chain=()))
    text = many_shortest_introns(model, results)
    assert text is None if told is None else text.startswith(told)
